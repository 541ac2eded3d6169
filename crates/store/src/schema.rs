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
    M::up(include_str!("schema/3_approved_texts.sql")),
    M::up(include_str!("schema/4_calls_method_task.sql")),
    M::up(include_str!("schema/5_payloads.sql")),
    M::up(include_str!("schema/6_keyed_digests.sql")),
    M::up(include_str!("schema/7_grants_by.sql")),
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

    /// What version 2 held fast stays, one text of each entry, and has room for more.
    #[test]
    #[allow(clippy::unwrap_used)]
    fn pins_and_grants_of_version_2_are_carried_over() {
        let mut conn = Connection::open_in_memory().unwrap();
        let steps = Migrations::from_slice(STEPS);
        steps.to_version(&mut conn, 2).unwrap();
        conn.execute_batch(
            "INSERT INTO pins VALUES(7, 'shop', 'sha256:1', 1, 'a', zeroblob(32), 2, 5, 1);
             INSERT INTO pins VALUES(9, 'shop', 'sha256:1', 1, 'b', zeroblob(32), 2, 6, 2);
             INSERT INTO pin_texts VALUES(7, '{}'), (9, '[]');
             INSERT INTO grants VALUES('cursor', 'shop', 'sha256:1', 'a', '', zeroblob(32), 2, 5);",
        )
        .unwrap();
        steps.to_latest(&mut conn).unwrap();
        let text = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
        let pins = "SELECT group_concat(name || text || effect || at || how) FROM pins JOIN pin_texts USING(id)";
        assert_eq!(text(pins), "a{}251,b[]262");
        assert_eq!(text("SELECT client || server || tool || effect || at || by || call FROM grants"), "cursorshopa250");
        conn.execute_batch(
            "INSERT INTO pins SELECT NULL, server, launch, kind, name, randomblob(32), effect, at, how FROM pins;
             INSERT INTO grants SELECT client, server, launch, tool, session, randomblob(32), effect, at, by, call
                FROM grants;",
        )
        .unwrap();
        assert_eq!(text("SELECT count(*) || '' FROM pins"), "4");
        assert_eq!(text("SELECT count(*) || '' FROM grants"), "2");
    }
}
