-- All steps at once, for a database that is new: what they leave, word for word. A test compares both.
PRAGMA application_id = 0x43475445;
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE names(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE catalogs(
    server TEXT NOT NULL, launch TEXT NOT NULL, at INTEGER NOT NULL, version TEXT NOT NULL,
    server_info TEXT NOT NULL, capabilities TEXT NOT NULL, instructions TEXT,
    tools TEXT, prompts TEXT, resources TEXT, templates TEXT, hashes BLOB,
    UNIQUE(server, launch)
) STRICT;
CREATE TABLE eras(
    server TEXT NOT NULL, launch TEXT NOT NULL, version TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY(server, launch)
) STRICT, WITHOUT ROWID;
CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE facets(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind INTEGER NOT NULL, client INTEGER NOT NULL, server INTEGER NOT NULL, item INTEGER NOT NULL,
    definition INTEGER NOT NULL, method INTEGER NOT NULL, effect INTEGER NOT NULL, outcome INTEGER NOT NULL,
    detail INTEGER NOT NULL, fields TEXT NOT NULL,
    UNIQUE(kind, client, server, item, definition, method, effect, outcome, detail, fields)
) STRICT;
CREATE TABLE blocks(
    block INTEGER PRIMARY KEY, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, facets BLOB NOT NULL
) STRICT;
CREATE VIRTUAL TABLE facet_words USING fts5(words, content='', contentless_delete=1, tokenize='unicode61');
CREATE TABLE audit(
    seq INTEGER PRIMARY KEY, call INTEGER NOT NULL, facet INTEGER NOT NULL, at INTEGER NOT NULL,
    args_bytes INTEGER NOT NULL, result_bytes INTEGER NOT NULL,
    checked_us INTEGER NOT NULL, held_us INTEGER NOT NULL, queued_us INTEGER NOT NULL,
    ran_us INTEGER NOT NULL, answered_us INTEGER NOT NULL,
    stranger BLOB NOT NULL, shape BLOB NOT NULL, chain BLOB NOT NULL
) STRICT;
CREATE INDEX audit_call ON audit(call) WHERE call > 0;
CREATE TABLE calls(
    call INTEGER PRIMARY KEY, state INTEGER NOT NULL, intent INTEGER NOT NULL,
    client TEXT, session TEXT, server TEXT, launch TEXT, tool TEXT, name TEXT,
    definition BLOB, asked BLOB, sent BLOB, key BLOB, policy BLOB,
    effect INTEGER, tier INTEGER, rule TEXT, why TEXT,
    asked_at INTEGER, expires_at INTEGER, decided_at INTEGER, decided_by TEXT, reason TEXT, scope INTEGER,
    outcome INTEGER, ended_at INTEGER, arguments BLOB, edited BLOB
, method INTEGER, task TEXT) STRICT;
CREATE TABLE results(
    id INTEGER PRIMARY KEY, call INTEGER NOT NULL UNIQUE, bytes INTEGER NOT NULL, sealed BLOB NOT NULL
) STRICT;
CREATE TABLE pin_texts(id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE TABLE pins(
    id INTEGER PRIMARY KEY, server TEXT NOT NULL, launch TEXT NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL,
    hash BLOB NOT NULL, effect INTEGER NOT NULL, at INTEGER NOT NULL, how INTEGER NOT NULL,
    UNIQUE(server, launch, kind, name, hash)
) STRICT;
CREATE TABLE grants(
    client TEXT NOT NULL, server TEXT NOT NULL, launch TEXT NOT NULL, tool TEXT NOT NULL, session TEXT NOT NULL,
    definition BLOB NOT NULL, effect INTEGER NOT NULL, at INTEGER NOT NULL, by TEXT NOT NULL DEFAULT '', call INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY(client, server, launch, tool, session, definition)
) STRICT, WITHOUT ROWID;
CREATE TABLE payloads(seq INTEGER PRIMARY KEY, arguments BLOB, result BLOB) STRICT;
INSERT INTO sqlite_sequence VALUES('facets', 0);
