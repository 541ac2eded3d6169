-- Values of calls, sealed; the audit row of that number holds their hashes and goes with them.
CREATE TABLE payloads(seq INTEGER PRIMARY KEY, arguments BLOB, result BLOB) STRICT;
