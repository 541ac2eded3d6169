//! What must survive a restart: one SQLite file and the committer thread.
