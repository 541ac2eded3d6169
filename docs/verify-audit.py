#!/usr/bin/env python3
"""Checks the audit log of a Callgate data folder as docs/audit-format.md describes it. Shares no code with Callgate.
Stop the hub first, or copy callgate.db with its -wal file. Exit code 0: whole, 1: broken."""

import hashlib
import hmac
import json
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


ROW = """seq call facet at args_bytes result_bytes checked_us held_us queued_us ran_us answered_us stranger shape chain""".split()
FACET = """id kind client server item definition method effect outcome detail""".split()
CUT, VALUES = 20, 41


def kept(db, seq):
    """What a row of kept values has to name: the hashes of what is sealed, zeros for what is not there."""
    sealed = db.execute("SELECT arguments, result FROM payloads WHERE seq = ?", (seq,)).fetchone()
    return sealed and b"".join(bytes(32) if text is None else hashlib.sha256(text).digest() for text in sealed)


def main(folder):
    key = bytes.fromhex((folder / "audit.key").read_text().strip())
    anchored, anchor = (folder / "audit.anchor").read_text().split()
    db = sqlite3.connect(f"file:{folder / 'callgate.db'}?mode=ro", uri=True)
    names = dict(db.execute("SELECT id, text FROM names"))
    names[0] = ""
    facets = {}
    for number_, *facet in db.execute(f"SELECT {', '.join(FACET)} FROM facets"):
        facet[1:5] = [names.get(name) for name in facet[1:5]]
        facet[8] = names.get(facet[8])
        facets[number_] = facet
    base = db.execute("SELECT value FROM meta WHERE key = 'base'").fetchone()
    row, link = base[0].split() if base else (0, "00" * 32)
    before, expected, seen, cut = bytes.fromhex(link), int(row) + 1, None, None
    rows = db.execute(f"SELECT {', '.join(ROW)} FROM audit WHERE seq > ? ORDER BY seq", (int(row),))
    for seq, call, facet, at, args, result, *clocks, stranger, shape, chain in rows:
        if seq != expected:
            return f"rows {expected} to {seq - 1} are missing"
        kind, client, server, item, definition, method, effect, outcome, detail = facets.get(facet) or [None] * 9
        values = [seq, call, kind, at, client, server, item, definition, method, effect, outcome]
        values += [args, result, *clocks, stranger, shape, detail]
        if any(value is None or isinstance(value, int) and value < 0 for value in values):
            return f"row {expected} was changed"
        encoded = b"\x01" + b"".join(field(value) for value in values)
        before = hmac.new(key, before + encoded, hashlib.sha256).digest()
        if before != chain:
            return f"row {expected} was changed, or the one before it"
        if seq == int(anchored):
            seen = before.hex()
        if kind == CUT:
            cut = detail
        if kind == VALUES and kept(db, seq) != shape:
            return f"the values that row {seq} names are gone or others"
        expected += 1
    if seen is None:
        return f"the log ends at row {expected - 1}, but row {anchored} was anchored"
    named = json.loads(cut) if cut else {}
    if base and (str(named.get("row")), named.get("hash")) != (row, link):
        return f"the log begins after row {row}, but no row says that it was cut there"
    if seen != anchor:
        return f"row {anchored} is another one than was anchored"
    print(f"whole: rows {int(row) + 1} to {expected - 1}, anchored at {anchored}")


if __name__ == "__main__":
    problem = main(pathlib.Path(sys.argv[1]))
    if problem:
        sys.exit(problem)
