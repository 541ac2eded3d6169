# A host: starts the adapter named by its arguments and passes its own lines on to it. A line that begins with `!` is a
# command (a JSON list) that it runs as its child, as an agent's shell tool does; a line `-` ends the adapter.
import json
import os
import subprocess
import sys
import threading

os.setsid()
adapter = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
turn = threading.Lock()


def say(line):
    with turn:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


def pump():
    for line in adapter.stdout:
        say(line)


threading.Thread(target=pump, daemon=True).start()
for line in sys.stdin.buffer:
    if line.startswith(b"!"):
        ran = subprocess.run(json.loads(line[1:]), stdin=subprocess.DEVNULL, capture_output=True, text=True)
        document = {"ran": {"code": ran.returncode, "out": ran.stdout, "err": ran.stderr}}
        say(json.dumps(document).encode() + b"\n")
    elif line == b"-\n":
        adapter.kill()
        adapter.wait()
    else:
        adapter.stdin.write(line)
        adapter.stdin.flush()
