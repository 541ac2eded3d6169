"""Real servers and real client libraries against one hub. Prints every check and a summary; exit code 1 when one failed.

    run.py --callgate BINARY --packages FOLDER --node NODE"""

import argparse
import http.server
import json
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import cases as table
import inspector
from hub import LIMIT, Hub, below, parents, wait_until

HERE = pathlib.Path(__file__).resolve().parent
STARTED = time.monotonic()


class Tally:
    """What was checked so far."""

    def __init__(self):
        self.passed, self.failed = 0, []

    def take(self, who, verdict, name, why=""):
        if verdict == "ok":
            self.passed += 1
            print(f"  ok      {who}: {name}", flush=True)
        else:
            self.failed.append(f"{who}: {name}: {why}")
            print(f"  FAILED  {who}: {name}: {why}", flush=True)

    def check(self, who, name, holds, why=""):
        self.take(who, "ok" if holds else "failed", name, why)


def headline(text):
    print(f"\n{text}  ({time.monotonic() - STARTED:.0f} s)", flush=True)


class Page(http.server.BaseHTTPRequestHandler):
    """The page that the fetch server reads: on this machine, nothing else is reached."""

    def do_GET(self):
        body = table.PAGE.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Client:
    """A client program: a process that says one JSON line for each thing that happens."""

    def __init__(self, who, command, env):
        self.who = who
        self.process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.words, self.errors = queue.Queue(), []
        threading.Thread(target=self.read, daemon=True).start()
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.words.put(json.loads(line))
        self.words.put(None)

    def hear(self, limit=LIMIT):
        """The next word, None at its end."""
        try:
            return self.words.get(timeout=limit)
        except queue.Empty:
            raise TimeoutError(f"{self.who} is silent: {''.join(self.errors)[-500:]}") from None

    def tell(self, word):
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def expect(self, verdict):
        word = self.hear()
        if word is None or word["verdict"] != verdict:
            raise RuntimeError(f"{self.who}: {verdict} expected, {word} came: {''.join(self.errors)[-500:]}")

    def to_end(self, tally):
        """Everything up to its end goes into the tally."""
        while word := self.hear():
            tally.take(self.who, word["verdict"], word["name"], word["why"])
        self.ended(tally)

    def ended(self, tally):
        code = self.process.wait(LIMIT)
        tally.check(self.who, "ends cleanly", code == 0, f"exit {code}: {''.join(self.errors)[-700:]}")

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()


class Run:
    def __init__(self, options, home):
        self.options, self.home, self.tally = options, home, Tally()
        packages = pathlib.Path(options.packages)
        self.npm, self.python = packages / "npm", packages / "python" / "bin" / "python"
        table.prepare(home)
        servers = table.servers(home, self.npm, packages / "python", packages / "python-older")
        self.hub = Hub(options.callgate, home, servers, table.HELD)
        self.page = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
        threading.Thread(target=self.page.serve_forever, daemon=True).start()
        self.cases = table.expectations(home, f"http://127.0.0.1:{self.page.server_address[1]}/page")
        (home / "cases.json").write_text(json.dumps(self.cases))

    def env(self):
        return dict(
            self.hub.env, CALLGATE=self.options.callgate, CALLGATE_NPM=str(self.npm),
            CALLGATE_URL=self.hub.endpoint["mcp_url"], CALLGATE_TOKEN=self.hub.token(),
        )

    def client(self, mode, sdk, over, line):
        program = {
            "python": [self.python, HERE / "python_sdk.py"],
            "typescript": [self.options.node, HERE / "typescript_sdk.mjs"],
            "tasks": [self.options.node, HERE / "typescript_tasks.mjs"],
        }
        command = [*map(str, program[sdk]), mode, over, line, str(self.home / "cases.json")]
        return Client(f"{sdk} {line} over {over}", command, self.env())

    def serve(self):
        headline("one hub, eight real servers")
        self.hub.serve()
        self.hub.wait_ready()
        for name, server in self.hub.states().items():
            print(f"  {name}: {server['tools']} tools, speaks {server['version']}")
        # Two generations of the protocol behind one endpoint, or this run shows less than it says.
        versions = {server["version"] for server in self.hub.states().values()}
        self.tally.check("hub", "holds servers of both eras", {"2025-11-25", "2026-07-28"} <= versions, versions)

    def clients(self):
        for sdk, lines in (("python", ("auto", "legacy")), ("typescript", ("client", "sdk"))):
            headline(f"the {sdk} SDK")
            for line in lines:
                for over in ("stdio", "http"):
                    self.client("check", sdk, over, line).to_end(self.tally)
        headline("the typescript SDK with its tasks package")
        for over in ("stdio", "http"):
            self.tasks(self.client("check", "tasks", over, "client"))
        headline("the Inspector's command line")
        for verdict, name, why in inspector.run(self.hub, self.options.node, self.npm, self.cases, self.home, self.env()):
            self.tally.take("inspector", verdict, name, why)

    def tasks(self, client):
        """Its calls wait: the person decides whenever the client says so."""
        while word := client.hear():
            if word["verdict"] in ("approve", "deny"):
                waiting = self.hub.command("approval", "list")["approvals"][0]["id"]
                how = ["--remember", "once"] if word["verdict"] == "approve" else ["--reason", self.cases["held"]["reason"]]
                self.hub.command("approval", word["verdict"], waiting, *how)
            else:
                self.tally.take(client.who, word["verdict"], word["name"], word["why"])
        client.ended(self.tally)

    def hosts(self):
        """Three hosts attached, ten calls each at once; then the hub is killed under them."""
        headline("three hosts, ten calls each at once")
        kinds = [("python", "stdio", "auto"), ("typescript", "stdio", "sdk"), ("python", "http", "legacy")]
        hosts = [self.client("hold", sdk, over, line) for sdk, over, line in kinds]
        try:
            for host in hosts:
                host.expect("attached")
            self.ten_each(hosts)
            self.one_each()
            restarts = [name for name, it in self.hub.states().items() if it["restarts"]]
            self.tally.check("hub", "no server was started twice", not restarts, restarts)
            self.killed(hosts[:2])
        finally:
            for host in hosts:
                host.close()

    def ten_each(self, hosts):
        for host in hosts:
            host.tell("go")
        for host in hosts:
            self.heard(host)

    def one_each(self):
        """However many hosts call, a server that runs is one process of the guard."""
        running = [it["pid"] for it in self.hub.states().values() if it["state"] != "stopped"]
        started = self.hub.started()
        self.tally.check("hub", "one process per server", sorted(running) == sorted(started), f"{running} and {started}")

    def heard(self, host):
        word = host.hear()
        self.tally.take(host.who, *((word["verdict"], word["name"], word["why"]) if word else ("failed", "answers", "it ended")))

    def killed(self, hosts):
        headline("the hub is killed under load, with a server behind npx")
        for host in hosts:
            host.tell("open")
        for host in hosts:
            host.expect("open")
        tree = below(self.hub.process.pid)
        self.tally.check("hub", "npx, a shell and node below the guard", len(tree) >= len(self.hub.servers) + 3, tree)
        killed = time.monotonic()
        self.hub.kill()
        left = []

        def gone():
            left[:] = set(tree) & set(parents())
            return not left

        try:
            wait_until("the end of everything below the hub", gone, 3)
        except TimeoutError:
            pass
        self.tally.check("hub", f"no process left {time.monotonic() - killed:.1f} s after kill -9", not left, left)
        for host in hosts:
            self.heard(host)
        self.hub.serve()
        self.tally.check("hub", "starts clean after it", not self.hub.command("status")["config_problems"])
        self.ten_each(hosts)
        self.one_each()

    def stop(self):
        headline("stopping")
        if self.hub.process is None:
            return
        tree = below(self.hub.process.pid)
        code = self.hub.stop()
        left = set(tree) & set(parents())
        self.tally.check("hub", "stops cleanly", code == 0, f"exit {code}")
        self.tally.check("hub", "leaves no process at its end", not left, left)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("callgate", "packages", "node"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--keep", action="store_true", help="keep the home, to look at its logs")
    options = parser.parse_args()
    home = pathlib.Path(tempfile.mkdtemp(prefix="callgate-real-"))
    run = Run(options, home)
    try:
        run.serve()
        run.clients()
        run.hosts()
    except (RuntimeError, TimeoutError, OSError) as error:
        run.tally.take("run", "failed", "goes through", error)
    finally:
        try:
            run.stop()
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            run.tally.take("hub", "failed", "stops", error)
        run.page.shutdown()
        if options.keep or run.tally.failed:
            print(f"\nits home with the logs: {home}")
        else:
            shutil.rmtree(home, ignore_errors=True)
    for failed in run.tally.failed:
        print(f"FAILED  {failed}")
    print(f"\n{run.tally.passed} passed, {len(run.tally.failed)} failed  ({time.monotonic() - STARTED:.0f} s)")
    sys.exit(1 if run.tally.failed else 0)


main()
