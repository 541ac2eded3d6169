"""The official suite against the fixture, directly and through the hub; what is lost on the way. The suite only speaks
HTTP: `callgate stdio` is asked everything by an SDK instead.

    run.py --callgate BINARY --fixture BINARY --packages FOLDER --node NODE"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from forwarder import Forwarder

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "real"))
from hub import Hub  # noqa: E402

EXPECTED = HERE.parent / "conformance-expected.txt"
SUITE = "npm/node_modules/@modelcontextprotocol/conformance/dist/index.js"
# The revision that the suite asks for by its era, and the line of the TypeScript SDK that speaks it.
REVISIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
SDKS = {"legacy": "sdk", "modern": "client"}
LIMIT = 600


class Suite:
    """Runs of the suite, each with a folder of its own for its reports."""

    def __init__(self, options, out):
        self.node, self.main, self.out = options.node, f"{options.packages}/{SUITE}", out

    def run(self, name, url, revision):
        """scenario -> {(check, occurrence): (status, message)}, from the suite's own reports."""
        folder = self.out / name
        command = [self.node, self.main, "server", "--url", url, "-o", str(folder), "--requirements", revision]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        (self.out / f"{name}.log").write_text(done.stdout + done.stderr)
        results = {}
        for report in sorted(folder.glob("server-*/checks.json")):
            scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*$", "", report.parent.name)
            rows = results.setdefault(scenario, {})
            for check in json.loads(report.read_text()):
                count = 1 + sum(1 for name, _ in rows if name == check["id"])
                rows[(check["id"], count)] = (check["status"], (check.get("errorMessage") or "")[:200])
        for scenario in re.findall(r"^Failed to run scenario (\S+?):", done.stdout + done.stderr, re.M):
            results.setdefault(scenario, {})[(scenario, 1)] = ("FAILURE", "the scenario threw")
        if not results:
            sys.exit(f"{name}: the suite ran nothing: {(done.stdout + done.stderr)[-500:]}")
        return results


class StdioDoor:
    """The same questions of an SDK over stdio: to the fixture itself, and through `callgate stdio`."""

    def __init__(self, options, hub):
        self.options, self.env = options, hub.env

    def run(self, era, *command):
        """item -> {(item, 1): (status, answer)}, so that it compares like a scenario with one check."""
        script = [self.options.node, HERE / "stdio_door.mjs", f"{self.options.packages}/npm", SDKS[era], *command]
        done = subprocess.run(script, env=self.env, capture_output=True, text=True, timeout=LIMIT)
        if done.returncode != 0 or not done.stdout:
            sys.exit(f"over stdio: {command}: {done.stderr[-500:]}")
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        return {it["what"]: json.dumps({key: it.get(key) for key in ("result", "error")}) for it in answers}

    def compared(self, era):
        """The direct answers as passed, and those through the hub as passed where they are the same."""
        direct = self.run(era, self.options.fixture, "--era", era)
        through = self.run(era, self.options.callgate, "stdio", "--server", f"{era}-stdio")
        row = lambda what, same, why: {(what, 1): ("SUCCESS" if same else "FAILURE", why)}
        return (
            {what: row(what, True, "") for what in direct},
            {what: row(what, through.get(what) == text, f"{through.get(what)} and not {text}"[:400]) for what, text in direct.items()},
        )


def expected():
    """(run, scenario, check or None) -> reason. One loss a line: run, scenario[/check], reason."""
    losses = {}
    for line in EXPECTED.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            run, what, reason = line.split(None, 2)
            scenario, _, check = what.partition("/")
            losses[(run, scenario, check or None)] = reason
    return losses


def count(results, status):
    return sum(1 for rows in results.values() for state, _ in rows.values() if state == status)


def told(name, results):
    failed = [scenario for scenario, rows in results.items() if any(state == "FAILURE" for state, _ in rows.values())]
    print(f"  {name}: {len(results) - len(failed)} of {len(results)} scenarios without a failure; "
          f"checks: {count(results, 'SUCCESS')} passed, {count(results, 'FAILURE')} failed, {count(results, 'WARNING')} warned", flush=True)
    return failed


def compare(run, direct, through, known, used):
    """What passes directly and not through the hub: (known with a reason, unexpected)."""
    reasons, unexpected = {}, []
    for scenario, rows in direct.items():
        here = through.get(scenario, {})
        for (check, nth), (status, _) in rows.items():
            now, why = here.get((check, nth), ("absent", ""))
            if status != "SUCCESS" or now == "SUCCESS":
                continue
            key = next((key for key in ((run, scenario, check), (run, scenario, None)) if key in known), None)
            if key:
                used.add(key)
                reasons.setdefault(known[key], set()).add(scenario)
            else:
                unexpected.append(f"{run} {scenario}/{check}#{nth}: passes directly, {now} through the hub: {why}")
    return reasons, unexpected


class Fixture:
    """The fixture over HTTP."""

    def __init__(self, binary, era):
        command = [binary, "--http", "0", "--era", era]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def stop(self):
        self.process.kill()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("callgate", "fixture", "packages", "node"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--keep", action="store_true", help="keep the suite's own reports")
    options = parser.parse_args()
    started = time.monotonic()
    home = pathlib.Path(tempfile.mkdtemp(prefix="callgate-conformance-"))
    suite, known, used, lost = Suite(options, home / "reports"), expected(), set(), []
    suite.out.mkdir()
    fixtures = {era: Fixture(options.fixture, era) for era in REVISIONS}
    servers = {}
    for era, fixture in fixtures.items():
        servers[f"{era}-stdio"] = {"command": options.fixture, "args": ["--era", era]}
        servers[f"{era}-http"] = {"url": fixture.url}
    hub = Hub(options.callgate, home, servers)

    def judge(run, direct, through, where):
        reasons, unexpected = compare(run, direct, through, known, used)
        for reason, scenarios in sorted(reasons.items()):
            print(f"    known loss, {reason}: {', '.join(sorted(scenarios))}")
        lost.extend(f"{line} ({where})" for line in unexpected)

    def headline(text):
        print(f"\n{text}  ({time.monotonic() - started:.0f} s)", flush=True)

    try:
        hub.serve()
        hub.wait_ready()
        address = re.match(r"http://[^:/]+:(\d+)(/.*)", hub.endpoint["mcp_url"])
        forwarder = Forwarder(int(address[1]), hub.token())
        # While nobody has changed the lists of the servers behind the hub yet.
        for era in REVISIONS:
            headline(f"the {SDKS[era]} line of the SDK through callgate stdio, in front of a {era} server")
            direct, through = StdioDoor(options, hub).compared(era)
            print(f"  {count(through, 'SUCCESS')} of {len(direct)} answers are the same as directly", flush=True)
            judge(f"stdio+{era}", direct, through, "through callgate stdio")
        for era, revision in REVISIONS.items():
            headline(f"{revision} in front of a {era} server")
            direct = suite.run(f"{era}-direct", fixtures[era].url, revision)
            for scenario in told("directly", direct):
                print(f"    fails directly: {scenario}")
            other = next(it for it in REVISIONS if it != era)
            # In front of the other era, with the same measure: what a server of the host's own era would give directly.
            for server_era, run in ((era, revision), (other, f"{revision}+{other}")):
                if server_era != era:
                    headline(f"{revision} in front of a {server_era} server")
                for carrier in ("stdio", "http"):
                    view = f"http://127.0.0.1:{forwarder.port}{address[2]}/s/{server_era}-{carrier}"
                    through = suite.run(f"{era}-in-front-of-{server_era}-{carrier}", view, revision)
                    told(f"through the hub, which reaches it over {carrier}", through)
                    judge(run, direct, through, f"server over {carrier}")
    finally:
        hub.stop()
        for fixture in fixtures.values():
            fixture.stop()
        if options.keep or lost:
            print(f"\nreports and logs: {home}")
        else:
            shutil.rmtree(home, ignore_errors=True)
    for key in sorted((key for key in known if key not in used), key=str):
        print(f"no longer lost, take it out of {EXPECTED.name}: {' '.join(filter(None, key))}")
    for line in lost:
        print(f"LOST  {line}")
    print(f"\n{len(lost)} checks lost unexpectedly  ({time.monotonic() - started:.0f} s)")
    sys.exit(3 if lost else 0)


main()
