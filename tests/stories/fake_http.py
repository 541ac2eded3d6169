#!/usr/bin/env python3
"""A scripted MCP server over Streamable HTTP for the stories. Prints its URL, answers GET /log with all it received.

Usage: fake_http.py [--port N] [--era legacy|modern] [--forget-after N] [--lose-new 1] [--auth VALUE]
                    [--redirect URL] [--deaf-ms N] [--listen-only 1]
"""
import json
import select
import socket
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FLAGS = dict(zip(sys.argv[1::2], sys.argv[2::2]))
ERA = FLAGS.get("--era", "legacy")
FORGET_AFTER = int(FLAGS.get("--forget-after", "0"))
STREAM = "text/event-stream"
lock = threading.RLock()
log = []
tools_added = []
written = []
sessions = {}
streams = []
began = time.monotonic()


def tool(name, properties=None, reads=True):
    entry = {"name": name, "inputSchema": {"type": "object", "properties": properties or {}}}
    if reads:
        entry["annotations"] = {"readOnlyHint": True}
    return entry


def tools():
    named = [tool(name, {"text": {"type": "string"}}) for name in
             ["echo", "never", "endless", "huge", "broken", "html", "announce", "progress", "end_listen", "odd_status"]]
    mirrored = {"region": {"type": "string", "x-mcp-header": "Region"}, "n": {"type": "integer", "x-mcp-header": "N"}}
    return named + [tool("mirrored", mirrored), tool("broken_write", reads=False), tool("late_write", reads=False),
                    tool("status_write", {"status": {"type": "integer"}}, reads=False),
                    tool("cut", {"how": {"type": "string"}}), tool("cut_write", {"how": {"type": "string"}}, reads=False)] + tools_added


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def note(self, **more):
        with lock:
            log.append({"headers": {k.lower(): v for k, v in self.headers.items()}, **more})

    def reply(self, status, body=b"", kind="application/json", **fields):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if body:
            self.send_header("Content-Type", kind)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def result(self, id, value, **fields):
        if ERA == "modern":
            value = {"resultType": "complete", **value}
        self.reply(200, {"jsonrpc": "2.0", "id": id, "result": value}, **fields)

    def error(self, status, id, code, message):
        self.reply(status, {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})

    def text(self, id, words):
        self.result(id, {"content": [{"type": "text", "text": words}]})

    def begin_stream(self):
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", STREAM)
        self.send_header("Connection", "close")
        self.end_headers()

    def event(self, message):
        self.wfile.write(b"data: " + json.dumps(message).encode() + b"\n\n")
        self.wfile.flush()

    def hold(self, what):
        """Keeps the connection until the other side closes it."""
        select.select([self.connection], [], [])
        self.note(closed=what)

    def do_GET(self):
        if self.path == "/log":
            with lock:
                return self.reply(200, log)
        self.note(http="GET")
        session = self.headers.get("Mcp-Session-Id")
        if ERA == "modern" or session not in sessions:
            return self.reply(405 if ERA == "modern" else 404)
        self.begin_stream()
        with lock:
            streams.append(self)
        self.hold("stream")

    def do_DELETE(self):
        self.note(http="DELETE")
        self.reply(200)

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        message = json.loads(self.rfile.read(length))
        self.note(http="POST", path=self.path, body=message)
        if time.monotonic() - began < int(FLAGS.get("--deaf-ms", "0")) / 1000:
            return self.reply(503, b"warming up", "text/plain")
        if "--redirect" in FLAGS:
            return self.reply(307, Location=FLAGS["--redirect"])
        if "--auth" in FLAGS and self.headers.get("Authorization") != FLAGS["--auth"]:
            return self.reply(401, WWW_Authenticate='Bearer realm="fake"')
        method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
        if ERA == "modern":
            return self.modern(method, id, params)
        if method == "initialize":
            with lock:
                session = "s%d" % (len(sessions) + 1)
                sessions[session] = 0
            version = params["protocolVersion"]
            return self.result(id, {"protocolVersion": version, "serverInfo": {"name": "fake", "version": "1"},
                                    "capabilities": {"tools": {"listChanged": True}, "logging": {}}},
                               Mcp_Session_Id=session)
        session = self.headers.get("Mcp-Session-Id")
        if session is None:
            return self.reply(400, b"Bad Request: no valid session ID", "text/plain")
        if session != "s1" and "--lose-new" in FLAGS:
            return self.reply(404)
        with lock:
            if session == "s1" and FORGET_AFTER and sessions[session] >= FORGET_AFTER:
                return self.reply(404, b"no such session", "text/plain")
            sessions[session] += method == "tools/call"
        if id is None:
            return self.reply(202)
        self.handle_method(method, id, params)

    def modern(self, method, id, params):
        version = (params.get("_meta") or {}).get("io.modelcontextprotocol/protocolVersion")
        if version is None or version != self.headers.get("MCP-Protocol-Version"):
            return self.error(400, id, -32022, "unsupported version")
        if self.headers.get("Mcp-Method") != method:
            return self.error(400, id, -32020, "Mcp-Method is not the method")
        if method == "tools/call" and self.headers.get("Mcp-Name") != params["name"]:
            return self.error(400, id, -32020, "Mcp-Name is not the name")
        if method == "server/discover":
            return self.result(id, {"supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private",
                                    "capabilities": {"tools": {"listChanged": True}}})
        if method == "subscriptions/listen":
            self.begin_stream()
            self.listen_id = id
            with lock:
                streams.append(self)
            return self.hold("listen")
        self.handle_method(method, id, params)

    def handle_method(self, method, id, params):
        if method == "tools/list":
            hints = {"ttlMs": 0, "cacheScope": "private"} if ERA == "modern" else {}
            return self.result(id, {"tools": tools(), **hints})
        if method == "logging/setLevel":
            return self.result(id, {})
        if method != "tools/call":
            return self.error(404 if ERA == "modern" else 200, id, -32601, "unknown method")
        name, arguments = params["name"], params.get("arguments")
        if name == "never":
            self.begin_stream()
            self.hold("never")
        elif name == "endless":
            self.begin_stream()
            self.endless(b"data: ")
        elif name == "huge":
            self.close_connection = True
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.endless(b'{"jsonrpc":"2.0","result":"')
        elif name in ("broken", "broken_write"):
            self.begin_stream()
            self.event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}})
        elif name in ("cut", "cut_write"):
            self.cut(id, arguments["how"])
        elif name == "late_write":
            # A cancel does not stop it.
            time.sleep(0.4)
            with lock:
                written.append(arguments)
            self.text(id, "%d written" % len(written))
        elif name == "html":
            self.reply(200, b"<html>welcome</html>", "text/html")
        elif name == "odd_status":
            self.reply(500, b"out of luck", "text/plain")
        elif name == "status_write":
            # It was acted upon before that was said.
            self.reply(arguments["status"], b"oops", "text/plain", Location="/done")
        elif name == "progress":
            self.begin_stream()
            token = (params.get("_meta") or {}).get("progressToken")
            for n in range(3):
                self.event({"jsonrpc": "2.0", "method": "notifications/progress",
                            "params": {"progressToken": token, "progress": n + 1}})
            value = {"content": [{"type": "text", "text": "done"}]}
            self.event({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", **value}})
        elif name == "announce":
            tools_added.append(tool("added_%d" % len(tools_added)))
            with lock:
                for stream in streams:
                    meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": getattr(stream, "listen_id", None)}}
                    try:
                        stream.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": meta})
                    except OSError:
                        pass
            self.text(id, "announced")
        elif name == "end_listen":
            tools_added.append(tool("added_%d" % len(tools_added)))
            with lock:
                for stream in streams:
                    stream.connection.shutdown(socket.SHUT_RDWR)
                streams.clear()
            self.text(id, "ended")
        else:
            self.text(id, json.dumps(arguments))

    def cut(self, id, how):
        """Half an answer, and the end of the connection."""
        self.close_connection = True
        value = {"content": [{"type": "text", "text": "the first half of what would have been said"}]}
        whole = json.dumps({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", **value}}).encode()
        is_stream = how.startswith("stream")
        if is_stream:
            whole = b"data: " + whole + b"\n\n"
        self.send_response(200)
        self.send_header("Content-Type", STREAM if is_stream else "application/json")
        if how.endswith("chunked"):
            self.send_header("Transfer-Encoding", "chunked")
        elif how.endswith("length"):
            self.send_header("Content-Length", str(len(whole)))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        head = b"%x\r\n" % len(whole) if how.endswith("chunked") else b""
        self.wfile.write(head + whole[:len(whole) // 2])
        self.wfile.flush()
        if how.startswith("reset"):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            # The other end hears of it as soon as nobody here has the socket any more.
            self.rfile.close()
            self.wfile.close()
            self.connection.close()

    def endless(self, head):
        chunk = b"x" * (1 << 20)
        try:
            self.wfile.write(head)
            while True:
                self.wfile.write(chunk)
        except OSError:
            self.note(closed="endless")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


server = Server(("127.0.0.1", int(FLAGS.get("--port", "0"))), Handler)
print("http://127.0.0.1:%d/mcp" % server.server_port, flush=True)
server.serve_forever()
