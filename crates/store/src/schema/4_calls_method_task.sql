-- What a record is a request for, and the id by which its client asks for its end.
ALTER TABLE calls ADD COLUMN method INTEGER;
ALTER TABLE calls ADD COLUMN task TEXT;
UPDATE calls SET method = 1 WHERE client IS NOT NULL;
