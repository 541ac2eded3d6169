#!/usr/bin/env python3
"""A scripted MCP server for the stories: each tool is one way in which real servers misbehave.

Usage: fake.py [--discover modern|exit|silent|invalid] [--tools N --page N] [--list hang|exit|null|late|once|deep|flood] [--name NAME]
               [--heavy N] [--tool ONLY] [--count FILE] [--asks LINES]
With --count it has the prompt `count` and the resource `fake://count`, and writes a line to FILE for each that it gives.
"""
import json
import os
import signal
import sys

FLAGS = dict(zip(sys.argv[1::2], sys.argv[2::2]))
OUT = sys.stdout.buffer
DISCOVER = FLAGS.get("--discover", "unknown")
COUNT = int(FLAGS.get("--tools", "0"))
HEAVY = int(FLAGS.get("--heavy", "0"))
PAGE = int(FLAGS.get("--page", "0"))
COUNTED = FLAGS.get("--count")
CURSOR = 'a="/+{}'
UNICODE = "naïve ≤ 読 🛠"
extra_tools = []
saw = []


def write(text):
    OUT.write(text.encode() if isinstance(text, str) else text)
    OUT.flush()


def send(message):
    write(json.dumps(message, ensure_ascii=False) + "\n")


def result(id, value):
    send({"jsonrpc": "2.0", "id": id, "result": value})


def error(id, code, message):
    send({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})


def text(id, words, **more):
    result(id, {"content": [{"type": "text", "text": words}], **more})


def tool(name, properties=None, **more):
    schema = {"type": "object", "properties": properties or {}}
    return {"name": name, "description": "does " + name, "inputSchema": schema,
            "annotations": {"readOnlyHint": True}, **more}


NAMES = ["echo", "noise", "bytewise", "spam", "twice", "odd_null_error", "odd_no_message", "odd_big_code",
         "odd_no_version", "odd_not_object", "broken_line", "long_line", "endless", "bye", "add_tool", "same_list",
         "env", "burst", "seen", "never", "shout", "unknown_fields"]


def heavy(n):
    words = ["word %d" % word for word in range(6000)]
    shapes = [{"one": {"enum": words}}, {"one": {"type": "string"}}]
    shape = shapes[n] if n < 2 else {"p%d" % p: {"type": "string", "description": "x" * 180} for p in range(50)}
    return tool("heavy_%d" % n, shape, **({"description": "D" * 200_000} if n == 1 else {}))


def tools():
    if "--tool" in FLAGS:
        return [tool(FLAGS["--tool"])]
    many = [heavy(n) for n in range(HEAVY)] + [tool("tool_%03d" % n) for n in range(COUNT)]
    named = [tool(name, {"text": {"type": "string"}, "count": {"type": "integer"}}) for name in NAMES]
    write_tool = tool("write")
    del write_tool["annotations"]
    vendor = tool("vendor", {"x": {"type": "number", "maximum": 9007199254740993}})
    vendor["x-vendor"] = {"z": 1, "a": [1.0, 1e2]}
    vendor["execution"] = {"taskSupport": "optional"}
    asks = tool("ask", {"n": {"type": "integer"}})
    del asks["annotations"]
    return many + named + [write_tool, vendor] + extra_tools + ([asks] if "--asks" in FLAGS else [])


def listed(params):
    entries = tools()
    if not PAGE:
        return {"tools": entries}
    start = 0
    cursor = (params or {}).get("cursor")
    if cursor:
        start = int(cursor[len('a="/+'):])
    page = {"tools": entries[start:start + PAGE]}
    if start + PAGE < len(entries):
        page["nextCursor"] = CURSOR.format(start + PAGE)
    return page


def call(id, params):
    name = params["name"]
    arguments = params.get("arguments")
    meta = params.get("_meta") or {}
    token = meta.get("progressToken")
    if name == "ask":
        if params.get("requestState") != "s" or "inputResponses" not in params:
            form = {"mode": "form", "message": "which?", "requestedSchema": {"type": "object", "properties": {}}}
            result(id, {"resultType": "input_required", "requestState": "s",
                        "inputRequests": {"a": {"method": "elicitation/create", "params": form}}})
        else:
            with open(FLAGS["--asks"], "a", encoding="utf-8") as file:
                file.write(json.dumps(arguments) + "\n")
            more = {key: value for key, value in params.items() if key not in ("name", "arguments", "_meta")}
            text(id, json.dumps(more, sort_keys=True))
    elif name == "echo":
        text(id, json.dumps(arguments, ensure_ascii=False))
    elif name == "noise":
        write("Widget Server v1.2 ready\n\n")
        write('{"level":"info","msg":"connected"}\n[1,2]\n42\n\x00\xff\n'.encode("latin-1"))
        text(id, "after the noise")
    elif name == "bytewise":
        line = json.dumps({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": UNICODE}]}},
                          ensure_ascii=False) + "\n"
        for byte in line.encode():
            write(bytes([byte]))
    elif name == "spam":
        for _ in range(8):
            sys.stderr.buffer.write(b"\xff\xfe noise \x1b[31m " * 2048)
        sys.stderr.buffer.write(b"x" * 200_000 + b"\n")
        sys.stderr.buffer.flush()
        text(id, "spammed")
    elif name == "twice":
        text(id, "first")
        text(id, "second")
        text(9_999_999, "nobody asked")
    elif name == "odd_null_error":
        send({"jsonrpc": "2.0", "id": id, "error": None, "result": {"content": [{"type": "text", "text": "fine"}]}})
    elif name == "odd_no_message":
        send({"jsonrpc": "2.0", "id": id, "error": {"code": -5}})
    elif name == "odd_big_code":
        send({"jsonrpc": "2.0", "id": id, "error": {"code": 99999999999, "message": "big"}})
    elif name == "odd_no_version":
        send({"id": id, "result": {"content": []}})
    elif name == "odd_not_object":
        send({"jsonrpc": "2.0", "id": id, "result": [1, 2]})
    elif name == "broken_line":
        write('{"jsonrpc":"2.0","id":%s,"result":{"content":[\n' % json.dumps(id))
    elif name == "long_line":
        write('{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' % json.dumps(id))
        chunk = b"x" * (1 << 20)
        for _ in range(int(arguments.get("count", 20))):
            OUT.write(chunk)
        write('"}]}}\n')
    elif name == "endless":
        chunk = b"y" * (1 << 20)
        for _ in range(int(arguments.get("count", 1024))):
            OUT.write(chunk)
        OUT.flush()
    elif name == "bye":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "add_tool":
        extra_tools.append(tool("added_%d" % len(extra_tools)))
        for _ in range(5):
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        text(id, "added")
    elif name == "same_list":
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        text(id, "nothing changed")
    elif name == "env":
        fds = sorted(int(fd) for fd in os.listdir("/proc/self/fd"))
        text(id, json.dumps({"env": dict(os.environ), "fds": fds}))
    elif name == "burst":
        for n in range(int(arguments.get("count", 200))):
            send({"jsonrpc": "2.0", "method": "notifications/progress",
                  "params": {"progressToken": token, "progress": n + 1,
                             **({"message": arguments["message"]} if "message" in arguments else {})}})
        text(id, "done")
    elif name == "seen":
        text(id, json.dumps(saw))
    elif name == "never":
        pass
    elif name == "shout":
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "warning", "data": "loud"}})
        text(id, "shouted")
    elif name == "unknown_fields":
        write('{"jsonrpc":"2.0","id":%s,"result":{"zebra":1e2,"content":[{"type":"new","n":12345678901234567890123.0}],'
              '"apple":{"b":1,"a":2}}}\n' % json.dumps(id))
    elif name == "write" or name == "vendor" or name.startswith("tool_") or name.startswith(("added_", "heavy_")):
        text(id, name)
    else:
        error(id, -32602, "unknown tool")


def main():
    modern, lists = False, 0
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method, id, params = message.get("method"), message.get("id"), message.get("params")
        saw.append({key: message[key] for key in ("id", "method", "params") if key in message})
        del saw[:-50]
        if method == "server/discover":
            if DISCOVER == "exit":
                sys.exit(1)
            elif DISCOVER == "silent":
                continue
            elif DISCOVER == "modern":
                modern = True
                result(id, {"resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0,
                            "cacheScope": "private", "capabilities": {"tools": {"listChanged": True}}})
            else:
                error(id, -32602 if DISCOVER == "invalid" else -32601, "unknown method")
        elif method == "initialize":
            if FLAGS.get("--list") == "flood":
                # More than any pipe and buffer between holds the answers to, before it reads on.
                for n in range(100_000):
                    OUT.write(b'{"jsonrpc":"2.0","id":"flood %d","method":"roots/list"}\n' % n)
            result(id, {"protocolVersion": params["protocolVersion"],
                        "capabilities": {"tools": {"listChanged": True}, "logging": {},
                                         **({"prompts": {}, "resources": {}} if COUNTED else {})},
                        "serverInfo": {"name": FLAGS.get("--name", "fake"), "version": "1"},
                        "instructions": "Be kind."})
        elif method == "tools/list":
            if FLAGS.get("--list") == "hang":
                continue
            if FLAGS.get("--list") == "exit":
                sys.exit(3)
            if FLAGS.get("--list") == "null":
                result(id, {"tools": None})
                continue
            lists += 1
            if FLAGS.get("--list") == "late" and lists == 1:
                error(id, -32000, "not ready yet")
                continue
            if FLAGS.get("--list") == "once" and lists > 1:
                continue
            if FLAGS.get("--list") == "deep":
                deep = '{"name":"deep","inputSchema":{"type":"object","x":%s}}' % ("[" * 1000 + "]" * 1000)
                entries = [json.dumps(tool("echo")), deep, json.dumps(tool("seen"))]
                write('{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}\n' % (json.dumps(id), ",".join(entries)))
                continue
            page = listed(params)
            if modern:
                page = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **page}
            result(id, page)
        elif method == "tools/call":
            call(id, params)
        elif COUNTED and method == "prompts/list":
            result(id, {"prompts": [{"name": "count"}]})
        elif COUNTED and method == "resources/list":
            result(id, {"resources": [{"uri": "fake://count", "name": "count"}]})
        elif COUNTED and method in ("prompts/get", "resources/read"):
            with open(COUNTED, "a") as lines:
                lines.write(method + "\n")
            message = {"role": "user", "content": {"type": "text", "text": "counted"}}
            entry = {"uri": "fake://count", "text": "counted"}
            result(id, {"messages": [message]} if method == "prompts/get" else {"contents": [entry]})
        elif method == "ping":
            result(id, {})
        elif method == "logging/setLevel":
            result(id, {})
        elif id is not None:
            error(id, -32601, "unknown method")


main()
