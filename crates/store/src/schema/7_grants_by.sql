-- Who gave a remembered approval, and with which call.
ALTER TABLE grants ADD COLUMN by TEXT NOT NULL DEFAULT '';
ALTER TABLE grants ADD COLUMN call INTEGER NOT NULL DEFAULT 0;
