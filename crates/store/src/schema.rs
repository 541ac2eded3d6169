//! The tables. Migrations are forward only: a published step is never edited, a new one is appended.

use crate::StoreFault;
use rusqlite::Connection;
use rusqlite_migration::{M, Migrations};
use std::path::Path;

/// `CGTE`, so that tools and we ourselves know whose file it is.
const APPLICATION: i64 = 0x4347_5445;

const STEPS: &[M<'static>] = &[
    M::up(include_str!("schema/1_begin.sql")),
    M::up(include_str!("schema/2_calls_facets.sql")),
    M::up(include_str!("schema/3_payloads.sql")),
];

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
