#!/usr/bin/env python3
"""A scripted MCP server whose definitions stand in a file that the story changes.

Usage: changing.py DEFINITIONS LINES

DEFINITIONS: {"instructions"?, "tools": [...] or "turns": [[...], ...] for one list after the other, "prompts"?: [...], "results"?: {TOOL: RESULT}, "answers"?: {METHOD:
{"result" or "error"}}, "says"?: {TOOL: {"stderr"?, "stdout"?}}}, read anew for each request.
Each call appends its tool and arguments to LINES, and what else came with it, and the whole message as it came to LINES.raw; `n` of -1 ends the process then; with `until` it
answers when there is a file of that name. The tool `announce` says that the tools have changed and answers then.
"""
import json
import os
import sys
import time

FILE, LINES = sys.argv[1:3]
# One for each time that the tools were listed.
listed = []


def definitions():
    with open(FILE, encoding="utf-8") as file:
        return json.load(file)


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def call(params):
    with open(LINES, "a", encoding="utf-8") as file:
        rest = {key: value for key, value in params.items() if key not in ("name", "arguments", "_meta")}
        rest.update((key, value) for key, value in params.get("_meta", {}).items() if key != "progressToken")
        more = " beside it " + json.dumps(rest) if rest else ""
        file.write(params["name"] + " " + json.dumps(params["arguments"], sort_keys=True) + more + "\n")
    if params["arguments"].get("n") == -1:
        os._exit(1)
    while not os.path.exists(params["arguments"].get("until", FILE)):
        time.sleep(0.01)
    for stream, said in definitions().get("says", {}).get(params["name"], {}).items():
        out = getattr(sys, stream)
        out.write(said + "\n")
        out.flush()
    if params["name"] == "announce":
        send({"method": "notifications/tools/list_changed"})
    fixed = definitions().get("results", {}).get(params["name"])
    return fixed or {"content": [{"type": "text", "text": "ran " + params["name"]}]}


def answer(method, params):
    known = definitions()
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}}
        if "prompts" in known:
            capabilities["prompts"] = {}
        if "resources/list" in known.get("answers", {}):
            capabilities.update(resources={}, completions={})
        about = {"protocolVersion": "2025-11-25", "capabilities": capabilities,
                 "serverInfo": {"name": "changing", "version": "1"}}
        return {**about, **({"instructions": known["instructions"]} if "instructions" in known else {})}
    if method == "tools/list":
        listed.append(1)
        turns = known.get("turns") or [known["tools"]]
        return {"tools": turns[(len(listed) - 1) % len(turns)]}
    if method == "prompts/list":
        return {"prompts": known.get("prompts", [])}
    if method == "prompts/get":
        return {"messages": [{"role": "user", "content": {"type": "text", "text": "prompt " + params["name"]}}]}
    return call(params) if method == "tools/call" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    fixed = definitions().get("answers", {}).get(message["method"])
    if fixed is not None:
        send({"id": message["id"], **fixed})
        continue
    if message["method"] == "tools/call":
        with open(LINES + ".raw", "a", encoding="utf-8") as file:
            file.write(line)
    found = answer(message["method"], message.get("params") or {})
    if found is None:
        send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
    else:
        send({"id": message["id"], "result": found})
