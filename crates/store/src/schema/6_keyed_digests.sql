-- Digests and keys of calls are keyed from here on; those that are there are plain until the program, which has the key,
-- has gone over them.
INSERT INTO meta(key, value) SELECT 'digests', 'plain' WHERE EXISTS(SELECT 1 FROM calls);
