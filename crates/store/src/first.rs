//! The first start in a folder: its keys and an empty database, each whole before it stands in its place. A crash on
//! the way leaves keys without a database, which the next start takes, or nothing.

use crate::chain::Keys;
use crate::places::{self, Draft};
use crate::seal::Seal;
use crate::{StoreFault, schema};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// Makes the database, and with it the keys that are not there yet. All of it is durable together at the end: one wait
/// for the disk per file, and one for their folder.
pub(crate) fn make(
    dir: &Path,
    database: &Path,
    new_key: Option<[u8; 32]>,
    seal: Option<Seal>,
) -> Result<Seal, StoreFault> {
    let mut drafts = Vec::new();
    if let Some(key) = new_key {
        drafts.push(Keys::draft(dir, &key)?);
    }
    let seal = match seal {
        Some(seal) => seal,
        None => {
            let (seal, draft) = Seal::draft(dir)?;
            drafts.push(draft);
            seal
        }
    };
    // The last: where it stands, all others do.
    drafts.push(empty(database)?);
    places::put(drafts)?;
    Ok(seal)
}

/// A database with its tables and nothing in them.
fn empty(path: &Path) -> Result<Draft, StoreFault> {
    let draft = Draft::new(path, b"")?;
    let failed = |doing| StoreFault::sql(path, doing);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = Connection::open_with_flags(draft.path(), flags).map_err(failed("opening"))?;
    // Nobody else has it, and nobody misses it before it is whole.
    conn.execute_batch("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;")
        .map_err(failed("setting up"))?;
    schema::make(&conn, path)?;
    conn.execute_batch("PRAGMA journal_mode=WAL;").map_err(failed("setting up"))?;
    conn.close().map_err(|(_, error)| failed("closing")(error))?;
    Ok(draft)
}
