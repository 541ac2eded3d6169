-- A facet is what many audit rows have in common. Rows refer to it; filters and full-text search look in it first.
CREATE TABLE facets(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind INTEGER NOT NULL, client INTEGER NOT NULL, server INTEGER NOT NULL, item INTEGER NOT NULL,
    definition INTEGER NOT NULL, method INTEGER NOT NULL, effect INTEGER NOT NULL, outcome INTEGER NOT NULL,
    detail INTEGER NOT NULL, fields TEXT NOT NULL,
    UNIQUE(kind, client, server, item, definition, method, effect, outcome, detail, fields)
) STRICT;
-- What is told of each full block of 512 rows; those of before are told of when nothing else is to be done.
CREATE TABLE blocks(
    block INTEGER PRIMARY KEY, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, facets BLOB NOT NULL
) STRICT;
CREATE VIRTUAL TABLE facet_words USING fts5(words, content='', contentless_delete=1, tokenize='unicode61');

ALTER TABLE audit RENAME TO audit_1;
DROP INDEX audit_call;
CREATE TABLE audit(
    seq INTEGER PRIMARY KEY, call INTEGER NOT NULL, facet INTEGER NOT NULL, at INTEGER NOT NULL,
    args_bytes INTEGER NOT NULL, result_bytes INTEGER NOT NULL,
    checked_us INTEGER NOT NULL, held_us INTEGER NOT NULL, queued_us INTEGER NOT NULL,
    ran_us INTEGER NOT NULL, answered_us INTEGER NOT NULL,
    stranger BLOB NOT NULL, shape BLOB NOT NULL, chain BLOB NOT NULL
) STRICT;
INSERT OR IGNORE INTO names(text) SELECT DISTINCT detail FROM audit_1 WHERE detail <> '';
INSERT INTO facets(kind, client, server, item, definition, method, effect, outcome, detail, fields)
    SELECT DISTINCT kind, client, server, item, definition, method, effect, outcome,
        coalesce((SELECT id FROM names WHERE text = detail AND detail <> ''), 0), '' FROM audit_1;
INSERT INTO audit SELECT seq, call,
        (SELECT id FROM facets WHERE facets.kind = audit_1.kind AND facets.client = audit_1.client
            AND facets.server = audit_1.server AND facets.item = audit_1.item
            AND facets.definition = audit_1.definition AND facets.method = audit_1.method
            AND facets.effect = audit_1.effect AND facets.outcome = audit_1.outcome
            AND facets.detail =
                coalesce((SELECT id FROM names WHERE text = audit_1.detail AND audit_1.detail <> ''), 0)),
        at, args_bytes, result_bytes, checked_us, held_us, queued_us, ran_us, answered_us, stranger, shape, chain
    FROM audit_1;
DROP TABLE audit_1;
CREATE INDEX audit_call ON audit(call) WHERE call > 0;

-- Open intents, and records of calls: those have a client.
ALTER TABLE calls RENAME TO calls_1;
CREATE TABLE calls(
    call INTEGER PRIMARY KEY, state INTEGER NOT NULL, intent INTEGER NOT NULL,
    client TEXT, session TEXT, server TEXT, launch TEXT, tool TEXT, name TEXT,
    definition BLOB, asked BLOB, sent BLOB, key BLOB, policy BLOB,
    effect INTEGER, tier INTEGER, rule TEXT, why TEXT,
    asked_at INTEGER, expires_at INTEGER, decided_at INTEGER, decided_by TEXT, reason TEXT, scope INTEGER,
    outcome INTEGER, ended_at INTEGER, arguments BLOB, edited BLOB
) STRICT;
INSERT INTO calls(call, state, intent) SELECT call, state, intent FROM calls_1;
DROP TABLE calls_1;
CREATE TABLE results(
    id INTEGER PRIMARY KEY, call INTEGER NOT NULL UNIQUE, bytes INTEGER NOT NULL, sealed BLOB NOT NULL
) STRICT;

CREATE TABLE pins(
    id INTEGER PRIMARY KEY, server TEXT NOT NULL, launch TEXT NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL,
    hash BLOB NOT NULL, effect INTEGER NOT NULL, at INTEGER NOT NULL, how INTEGER NOT NULL,
    UNIQUE(server, launch, kind, name)
) STRICT;
CREATE TABLE pin_texts(id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE TABLE grants(
    client TEXT NOT NULL, server TEXT NOT NULL, launch TEXT NOT NULL, tool TEXT NOT NULL, session TEXT NOT NULL,
    definition BLOB NOT NULL, effect INTEGER NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY(client, server, launch, tool, session)
) STRICT, WITHOUT ROWID;
ALTER TABLE catalogs ADD COLUMN hashes BLOB;
