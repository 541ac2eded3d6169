-- Several approved texts of one entry, the newest with the highest id.
ALTER TABLE pins RENAME TO pins_2;
CREATE TABLE pins(
    id INTEGER PRIMARY KEY, server TEXT NOT NULL, launch TEXT NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL,
    hash BLOB NOT NULL, effect INTEGER NOT NULL, at INTEGER NOT NULL, how INTEGER NOT NULL,
    UNIQUE(server, launch, kind, name, hash)
) STRICT;
INSERT INTO pins SELECT id, server, launch, kind, name, hash, effect, at, how FROM pins_2;
DROP TABLE pins_2;
-- So of remembered approvals: each stands for the definition that was shown.
ALTER TABLE grants RENAME TO grants_2;
CREATE TABLE grants(
    client TEXT NOT NULL, server TEXT NOT NULL, launch TEXT NOT NULL, tool TEXT NOT NULL, session TEXT NOT NULL,
    definition BLOB NOT NULL, effect INTEGER NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY(client, server, launch, tool, session, definition)
) STRICT, WITHOUT ROWID;
INSERT INTO grants SELECT client, server, launch, tool, session, definition, effect, at FROM grants_2;
DROP TABLE grants_2;
