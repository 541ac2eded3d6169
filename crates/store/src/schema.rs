//! The tables. Migrations are forward only: a published step is never edited, a new one is appended, and what all of them
//! leave is written down once more for databases that are new.

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

/// What the steps leave behind, made at once: a first start waits for it.
const WHOLE: &str = include_str!("schema/whole.sql");

/// Makes the tables of a database that is new and not in use yet.
pub(crate) fn make(conn: &Connection, path: &Path) -> Result<(), StoreFault> {
    let script = format!("BEGIN;{WHOLE}PRAGMA user_version = {};COMMIT;", STEPS.len());
    conn.execute_batch(&script).map_err(StoreFault::sql(path, "making the tables"))
}

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

    /// A new database is what an old one has become, so that there is one kind only.
    #[test]
    #[allow(clippy::unwrap_used)]
    fn a_new_database_is_what_all_steps_leave() {
        let all = |conn: &Connection| {
            let mut found = Vec::new();
            for table in ["sqlite_schema", "meta", "sqlite_sequence", "facet_words_config", "facet_words_data"] {
                let columns = if table == "sqlite_schema" { "type, name, tbl_name, sql" } else { "*" };
                let mut select = conn.prepare(&format!("SELECT {columns} FROM {table} ORDER BY 1, 2")).unwrap();
                let width = select.column_count();
                let rows = select.query_map([], |row| {
                    (0..width).map(|at| row.get::<_, rusqlite::types::Value>(at)).collect::<Result<Vec<_>, _>>()
                });
                found.push((table.to_owned(), rows.unwrap().map(Result::unwrap).collect::<Vec<_>>()));
            }
            for pragma in ["user_version", "application_id", "page_size", "encoding", "auto_vacuum"] {
                let value =
                    conn.pragma_query_value(None, pragma, |row| row.get::<_, rusqlite::types::Value>(0)).unwrap();
                found.push((pragma.to_owned(), vec![vec![value]]));
            }
            found
        };
        let mut stepped = Connection::open_in_memory().unwrap();
        Migrations::from_slice(STEPS).to_latest(&mut stepped).unwrap();
        let made = Connection::open_in_memory().unwrap();
        make(&made, Path::new("")).unwrap();
        assert_eq!(all(&made), all(&stepped));
        check(&made, Path::new("")).unwrap();
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
