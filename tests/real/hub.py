"""A hub in a home of its own with all the real servers, and what the system says of its processes."""

import json
import os
import pathlib
import signal
import subprocess
import time

# Long enough for a machine that is busy with other work; nothing waits that long on a quiet one.
LIMIT = 150


def wait_until(what, probe, limit=LIMIT):
    """Asks until there is an answer; fails after the limit."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        if found := probe():
            return found
        time.sleep(0.05)
    raise TimeoutError(f"{what}: not within {limit} s")


def parents():
    """The parent of every living process."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if fields[0] not in "ZX":
                found[int(entry.name)] = int(fields[1])
    return found


def below(pid):
    """All living processes below one."""
    tree, all_parents = [pid], parents()
    for at in tree:
        tree.extend(child for child, parent in all_parents.items() if parent == at)
    return tree[1:]


class Hub:
    """One home; `serve` may be called again after `kill`."""

    def __init__(self, binary, home, servers, held=None):
        self.binary, self.home, self.process = binary, pathlib.Path(home), None
        self.servers = servers
        self.env = dict(os.environ, CALLGATE_HOME=str(self.home), NO_COLOR="1")
        policy = {"default": "allow", "rules": [{"tools": [held], "then": "ask"}] if held else []}
        # This run is both: the parent of its hosts, and the person.
        policy["approval"] = {"fromHostTree": True}
        (self.home / "callgate.jsonc").write_text(json.dumps({"mcpServers": servers, "policy": policy}, indent=2))

    def serve(self):
        """Starts it and waits for its ready line."""
        out = open(self.home / "serve.err", "ab")
        self.process = subprocess.Popen(
            [self.binary, "serve", "--json"],
            env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=out, text=True, start_new_session=True,
        )
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the hub did not start: {(self.home / 'serve.err').read_text()}")
        self.endpoint = json.loads(line)

    def command(self, *args):
        """A command of the person; its document."""
        done = subprocess.run([self.binary, *args, "--json"], env=self.env, capture_output=True, text=True, timeout=LIMIT)
        if done.returncode != 0:
            raise RuntimeError(f"{args}: {done.stderr}")
        return json.loads(done.stdout)

    def states(self):
        return {server["name"]: server for server in self.command("status")["servers"]}

    def wait_ready(self):
        """Until every server is ready."""

        def ready():
            states = self.states()
            return len(states) == len(self.servers) and all(it["state"] == "ready" for it in states.values())

        try:
            wait_until("all servers ready", ready)
        except TimeoutError as error:
            late = [f"{name} is {it['state']} ({it['reason']})" for name, it in self.states().items() if it["state"] != "ready"]
            raise TimeoutError(f"{error}: {'; '.join(late)}") from None

    def started(self):
        """The processes that were started for servers: the children of the guard."""
        guards = [pid for pid, parent in parents().items() if parent == self.process.pid]
        return [pid for pid, parent in parents().items() if parent in guards]

    def token(self):
        return pathlib.Path(self.endpoint["token_file"]).read_text().strip()

    def kill(self):
        """Like a crash."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """Asks it to stop; its exit code."""
        if self.process is None or self.process.poll() is not None:
            return None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
