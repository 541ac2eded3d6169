#!/usr/bin/env python3
"""Checks the audit log of a Callgate data folder as docs/audit-format.md describes it. Shares no code with Callgate.
Stop the hub first, or copy callgate.db with its -wal file. Exit code 0: whole, 1: broken."""

import hashlib
import hmac
import pathlib
import sqlite3
import sys


def number(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out) + bytes([n])


def field(value):
    if isinstance(value, int):
        return number(value)
    raw = value.encode() if isinstance(value, str) else value
    return number(len(raw)) + raw


COLUMNS = """seq call kind at client server item definition method effect outcome args_bytes result_bytes
checked_us held_us queued_us ran_us answered_us stranger shape detail""".split()


def main(folder):
    key = bytes.fromhex((folder / "audit.key").read_text().strip())
    anchored, anchor = (folder / "audit.anchor").read_text().split()
    db = sqlite3.connect(f"file:{folder / 'callgate.db'}?mode=ro", uri=True)
    names = dict(db.execute("SELECT id, text FROM names"))
    names[0] = ""
    before, expected, seen = bytes(32), 1, None
    for *values, chain in db.execute(f"SELECT {', '.join(COLUMNS)}, chain FROM audit ORDER BY seq"):
        if values[0] != expected:
            return f"rows {expected} to {values[0] - 1} are missing"
        values[4:8] = [names.get(name, "\0missing") for name in values[4:8]]
        if any(isinstance(value, int) and value < 0 for value in values):
            return f"row {expected} was changed"
        row = b"\x01" + b"".join(field(value) for value in values)
        before = hmac.new(key, before + row, hashlib.sha256).digest()
        if before != chain:
            return f"row {expected} was changed, or the one before it"
        if expected == int(anchored):
            seen = before.hex()
        expected += 1
    if seen is None:
        return f"the log ends at row {expected - 1}, but row {anchored} was anchored"
    if seen != anchor:
        return f"row {anchored} is another one than was anchored"
    print(f"whole: {expected - 1} rows, anchored at {anchored}")


if __name__ == "__main__":
    problem = main(pathlib.Path(sys.argv[1]))
    if problem:
        sys.exit(problem)
