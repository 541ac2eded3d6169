"""The way of a waiting call, measured at both doors: asked → visible to a person, decided → answered. Used by scripts/bench."""

import json
import socket
import statistics
import subprocess
import threading
import time


class Door:
    """The person's door: HTTP over operator.sock, by hand, so that nothing stands between."""

    def __init__(self, path):
        self.path = str(path)

    def connect(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.path)
        return connection.makefile("rwb", buffering=0)

    def operation(self, name, body):
        text = json.dumps(body).encode()
        with self.connect() as stream:
            head = f"POST /op/{name} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
            stream.write(head.encode() + f"Content-Length: {len(text)}\r\n\r\n".encode() + text)
            answer = b""
            while piece := stream.read(65536):
                answer += piece
        return json.loads(answer.split(b"\r\n\r\n", 1)[1])

    def listen(self, heard):
        """Calls `heard` at each word of a call that waits; a thread of its own."""

        def follow():
            with self.connect() as stream:
                stream.write(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
                rest = b""
                while piece := stream.read(65536):
                    now = time.perf_counter()
                    rest = (rest + piece)[-4096:]
                    # Not the word that the queue has become empty.
                    if b'"approvals","waiting":1' in piece:
                        heard(now)

        threading.Thread(target=follow, daemon=True).start()


def measure(command, home, env, calls):
    """Figures of so many calls of s0's writing tool, each approved for itself."""
    door, seen = Door(home / "run" / "operator.sock"), threading.Event()
    times = {}

    def heard(now):
        times.setdefault("visible", now)
        seen.set()

    door.listen(heard)
    host = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def say(message):
        host.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        host.stdin.flush()

    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    say({"id": 0, "method": "initialize", "params": about})
    host.stdout.readline()
    visible, answered = [], []
    for number in range(1, calls + 1):
        times.clear()
        seen.clear()
        asked = time.perf_counter()
        say({"id": number, "method": "tools/call", "params": {"name": "s0__append_line", "arguments": {"text": str(number)}}})
        if not seen.wait(10):
            return {"failed": "a waiting call was not told"}
        visible.append((times["visible"] - asked) * 1000)
        waiting = []
        while not waiting:
            waiting = [it for it in door.operation("approval.list", {})["approvals"] if it["state"] == "waiting"]
        decision = {"id": waiting[0]["id"], "digest": waiting[0]["digest"], "remember": "once"}
        decided = time.perf_counter()
        door.operation("approval.approve", decision)
        while json.loads(host.stdout.readline()).get("id") != number:
            pass
        answered.append((time.perf_counter() - decided) * 1000)
    host.kill()
    host.wait()
    return {"visible_ms": statistics.median(visible), "answered_ms": statistics.median(answered)}
