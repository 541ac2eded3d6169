"""What `bench` and `profile` share: the load generator, a hub in a home of its own, the sample server behind HTTP."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
LOAD = str(TARGET / "release" / "load")
CALLGATE = str(TARGET / "release" / "callgate")
PIN = ["taskset", "-c", "0"]
# A gate with everything that may stand on the road: tiers, fifty rules that miss, a condition that is judged each time.
RULES = [{"name": f"miss {n}", "tools": [f"other{n}__*"], "then": "ask"} for n in range(50)] + [
    {"name": "known", "tools": ["*__echo", "*__append_line"], "when": "!has(args.text) || args.text != 'never'", "then": "allow"},
]
OFF = {"default": "allow"}
ON = {"default": "auto", "rules": RULES}
# Each call waits for a person.
ASKS = {"default": "ask", "approval": {"fromHostTree": True}}
# Servers of the hub whose writes are measured together.
SPREAD = 16


def run_load(*args, home=None, pinned=False):
    """One measurement; its figures, or the text of its failure."""
    env = dict(os.environ, **({"CALLGATE_HOME": str(home)} if home else {}))
    command = (PIN if pinned else []) + [LOAD, *map(str, args)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        return {"failed": done.stderr.strip().splitlines()[0] if done.stderr.strip() else "no reason given"}
    figures = json.loads(done.stdout)
    if figures.get("bad"):
        figures["failed"] = f"{figures['bad']} bad answers: {figures['sample_of_bad']}"
    return figures


class Hub:
    """A hub with so many servers of so many tools, in a home of its own."""

    def __init__(self, servers, tools, pinned=False, policy=OFF):
        self.servers, self.tools, self.pinned, self.process = servers, tools, pinned, None
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="callgate-bench-"))
        # Not beside the config, whose folder is watched.
        (self.home / "lines").mkdir()
        entries = {
            f"s{n}": {
                "command": LOAD,
                "args": ["sample-server", "--name", f"s{n}", "--total", str(tools), "--file", str(self.home / "lines" / str(n))],
                "start": "eager",
            }
            for n in range(servers)
        }
        config = {"mcpServers": entries, "policy": policy}
        (self.home / "callgate.jsonc").write_text(json.dumps(config, indent=2))

    @property
    def socket(self):
        return self.home / "run" / "agent.sock"

    def serve(self):
        return (PIN if self.pinned else []) + [CALLGATE, "serve"]

    def start(self, kill=None, each=False):
        """Starts it and waits until all tools are listed, and until each server has answered a call if that is asked for;
        the figures of the start."""
        args = ["--expect", self.servers * self.tools, "--socket", self.socket]
        if kill:
            args += ["--kill", kill]
        if each:
            args += [word for n in range(self.servers) for word in ("--each", f"s{n}__echo")]
        started = run_load("start", *args, "--", *self.serve(), home=self.home, pinned=self.pinned)
        self.process = started.get("pid")
        return started

    def endpoint(self):
        """What the hub tells when all is open: it answers agents a moment before, and an earlier hub's may lie there."""
        path = self.home / "run" / "endpoint.json"
        for _ in range(500):
            told = json.loads(path.read_text()) if path.exists() else {}
            if told.get("pid") == self.process:
                return told
            time.sleep(0.01)
        raise OSError("the hub does not tell where it is")

    def pid(self):
        return self.endpoint()["pid"]

    def server_pid(self, name):
        env = dict(os.environ, CALLGATE_HOME=str(self.home))
        shown = subprocess.run([CALLGATE, "server", "show", name, "--json"], env=env, capture_output=True, check=True)
        return json.loads(shown.stdout)["server"]["pid"]

    def load(self, *args, over="stdio"):
        pid = ["--pid", f"hub={self.pid()}"]
        if over == "http":
            at = self.endpoint()
            token = pathlib.Path(at["token_file"]).read_text().strip()
            return run_load(*args, *pid, "--url", at["mcp_url"], "--token", token, home=self.home, pinned=self.pinned)
        mode = "copy" if over == "copying" else "lend"
        return run_load(*args, *pid, "--", CALLGATE, "stdio", "--host", "bench", "--mode", mode, home=self.home, pinned=self.pinned)

    def rest(self):
        """Ends it in order; its home stays."""
        try:
            pid = self.pid()
            os.kill(pid, signal.SIGTERM)
            for _ in range(500):
                if not pathlib.Path(f"/proc/{pid}/stat").exists() or ") Z " in pathlib.Path(f"/proc/{pid}/stat").read_text():
                    break
                time.sleep(0.01)
        except (OSError, ValueError, KeyError):
            pass

    def stop(self):
        self.rest()
        shutil.rmtree(self.home, ignore_errors=True)


class DirectHttp:
    """The sample server behind HTTP."""

    def __init__(self, pinned=False, total=10):
        command = (PIN if pinned else []) + [LOAD, "sample-server", "--total", str(total), "--http", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def stop(self):
        self.process.kill()
        self.process.wait()
