//! The tables. Migrations are forward only: a published step is never edited, a new one is appended.

use crate::StoreFault;
use rusqlite::Connection;
use rusqlite_migration::{M, Migrations};
use std::path::Path;

/// `CGTE`, so that tools and we ourselves know whose file it is.
const APPLICATION: i64 = 0x4347_5445;

const STEPS: &[M<'static>] = &[M::up(
    "PRAGMA application_id = 0x43475445;
    CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE names(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE audit(
        seq INTEGER PRIMARY KEY, call INTEGER NOT NULL, kind INTEGER NOT NULL, at INTEGER NOT NULL,
        client INTEGER NOT NULL, server INTEGER NOT NULL, item INTEGER NOT NULL, definition INTEGER NOT NULL,
        method INTEGER NOT NULL, effect INTEGER NOT NULL, outcome INTEGER NOT NULL,
        args_bytes INTEGER NOT NULL, result_bytes INTEGER NOT NULL,
        checked_us INTEGER NOT NULL, held_us INTEGER NOT NULL, queued_us INTEGER NOT NULL,
        ran_us INTEGER NOT NULL, answered_us INTEGER NOT NULL,
        stranger BLOB NOT NULL, shape BLOB NOT NULL, detail TEXT NOT NULL, chain BLOB NOT NULL
    ) STRICT;
    CREATE INDEX audit_call ON audit(call) WHERE call > 0;
    CREATE TABLE calls(call INTEGER PRIMARY KEY, state INTEGER NOT NULL, intent INTEGER NOT NULL) STRICT;
    CREATE TABLE catalogs(
        server TEXT NOT NULL, launch TEXT NOT NULL, at INTEGER NOT NULL, version TEXT NOT NULL,
        server_info TEXT NOT NULL, capabilities TEXT NOT NULL, instructions TEXT,
        tools TEXT, prompts TEXT, resources TEXT, templates TEXT,
        UNIQUE(server, launch)
    ) STRICT;
    CREATE TABLE eras(
        server TEXT NOT NULL, launch TEXT NOT NULL, version TEXT NOT NULL, at INTEGER NOT NULL,
        PRIMARY KEY(server, launch)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;",
)];

/// Refuses other programs' files and those of newer versions, before anything is changed.
pub(crate) fn check(conn: &Connection, path: &Path) -> Result<(), StoreFault> {
    let reading = || StoreFault::sql(path, "reading the schema version");
    let number = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0));
    let version = number("PRAGMA user_version").map_err(reading())?;
    let tables = number("SELECT count(*) FROM sqlite_schema").map_err(reading())?;
    let application = number("PRAGMA application_id").map_err(reading())?;
    let ours = if version == 0 && tables == 0 { 0 } else { APPLICATION };
    if application != ours {
        return Err(StoreFault::Foreign { path: path.to_owned() });
    }
    let known = STEPS.len() as i64;
    if version > known {
        return Err(StoreFault::TooNew { path: path.to_owned(), found: version, known });
    }
    Ok(())
}

/// Brings the tables to this version.
pub(crate) fn migrate(conn: &mut Connection, path: &Path) -> Result<(), StoreFault> {
    Migrations::from_slice(STEPS).to_latest(conn).map_err(|error| match error {
        rusqlite_migration::Error::RusqliteError { err, .. } => StoreFault::sql(path, "migrating")(err),
        _ => StoreFault::Foreign { path: path.to_owned() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::unwrap_used)]
    fn steps_are_valid() {
        Migrations::from_slice(STEPS).validate().unwrap();
    }
}
