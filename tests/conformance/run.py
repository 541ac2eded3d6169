"""The official suite against the fixture, directly and through the hub; what is lost on the way.

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
# Each revision with the fixture held to its own era: legacy in front of legacy, modern in front of modern.
PAIRS = (("2025-11-25", "legacy"), ("2026-07-28", "modern"))
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


def expected():
    """(revision, scenario, check or None) -> reason. One loss a line: revision, scenario[/check], reason."""
    losses = {}
    for line in EXPECTED.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            revision, what, reason = line.split(None, 2)
            scenario, _, check = what.partition("/")
            losses[(revision, scenario, check or None)] = reason
    return losses


def count(results, status):
    return sum(1 for rows in results.values() for state, _ in rows.values() if state == status)


def told(name, results):
    failed = [scenario for scenario, rows in results.items() if any(state == "FAILURE" for state, _ in rows.values())]
    print(f"  {name}: {len(results) - len(failed)} of {len(results)} scenarios without a failure; "
          f"checks: {count(results, 'SUCCESS')} passed, {count(results, 'FAILURE')} failed, {count(results, 'WARNING')} warned", flush=True)
    return failed


def compare(revision, direct, through, known, used):
    """What passes directly and not through the hub: (known with a reason, unexpected)."""
    reasons, unexpected = {}, []
    for scenario, rows in direct.items():
        here = through.get(scenario, {})
        for (check, nth), (status, _) in rows.items():
            now, why = here.get((check, nth), ("absent", ""))
            if status != "SUCCESS" or now == "SUCCESS":
                continue
            key = next((key for key in ((revision, scenario, check), (revision, scenario, None)) if key in known), None)
            if key:
                used.add(key)
                reasons.setdefault(known[key], set()).add(scenario)
            else:
                unexpected.append(f"{revision} {scenario}/{check}#{nth}: passes directly, {now} through the hub: {why}")
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
    fixtures = {era: Fixture(options.fixture, era) for _, era in PAIRS}
    servers = {}
    for era, fixture in fixtures.items():
        servers[f"{era}-stdio"] = {"command": options.fixture, "args": ["--era", era]}
        servers[f"{era}-http"] = {"url": fixture.url}
    hub = Hub(options.callgate, home, servers)
    try:
        hub.serve()
        hub.wait_ready()
        address = re.match(r"http://[^:/]+:(\d+)(/.*)", hub.endpoint["mcp_url"])
        forwarder = Forwarder(int(address[1]), hub.token())
        for revision, era in PAIRS:
            print(f"\n{revision}, the fixture held to the {era} era  ({time.monotonic() - started:.0f} s)", flush=True)
            direct = suite.run(f"{era}-direct", fixtures[era].url, revision)
            for scenario in told("directly", direct):
                print(f"    fails directly: {scenario}")
            for carrier in ("stdio", "http"):
                view = f"http://127.0.0.1:{forwarder.port}{address[2]}/s/{era}-{carrier}"
                through = suite.run(f"{era}-{carrier}", view, revision)
                told(f"through the hub, which reaches it over {carrier}", through)
                reasons, unexpected = compare(revision, direct, through, known, used)
                for reason, scenarios in sorted(reasons.items()):
                    print(f"    known loss, {reason}: {', '.join(sorted(scenarios))}")
                lost += [f"{line} (server over {carrier})" for line in unexpected]
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
