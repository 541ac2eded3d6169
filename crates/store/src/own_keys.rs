//! Whether the key files are those that this database was written with. Never takes another key for the right one, and
//! never lets one be lost in silence.

use crate::chain::{KEY_FILE, Keys, hex};
use crate::kept::{meta, set_meta};
use crate::seal::Seal;
use crate::{CallNumber, CallRecord, StoreFault, open};
use contract::Hash;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::Path;

/// Settings of `meta`: which keys the database was written with.
const AUDIT: &str = "audit_key";
const SEAL: &str = "seal_key";

/// What is sealed and cannot be opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sealed {
    /// The key with which it was sealed is gone, or another one lies in its place.
    pub key_is_lost: bool,
    /// Calls that wait, or are approved, and whose arguments cannot be opened.
    pub calls: Vec<CallNumber>,
}

impl Sealed {
    /// Whether all that is sealed can be opened.
    pub fn is_whole(&self) -> bool {
        !self.key_is_lost && self.calls.is_empty()
    }

    /// What its row in the log tells, as JSON.
    pub(crate) fn detail(&self) -> String {
        let why = match self.key_is_lost {
            true => "seal.key is gone or another one: what was sealed before cannot be opened any more",
            false => "sealed arguments cannot be opened: they were changed, or their key was",
        };
        let calls: Vec<String> = self.calls.iter().take(32).map(ToString::to_string).collect();
        serde_json::json!({ "why": why, "calls": self.calls.len(), "first": calls }).to_string()
    }
}

/// Refuses another audit key than that of this database: the chain would break without a word.
pub(crate) fn check(conn: &Connection, keys: &Keys, dir: &Path) -> Result<(), StoreFault> {
    let known = meta(conn, AUDIT).map_err(StoreFault::sql(&open::database(dir), "reading which key it has"))?;
    match known.is_none_or(|known| known == hex(&keys.mark())) {
        true => Ok(()),
        false => Err(StoreFault::KeyOther { path: dir.join(KEY_FILE) }),
    }
}

/// What cannot be opened with this key, of a database that was used before.
pub(crate) fn sealed(conn: &Connection, seal: Option<&Seal>, calls: &[CallRecord]) -> rusqlite::Result<Sealed> {
    let key_is_lost = match (meta(conn, SEAL)?, seal) {
        (Some(known), seal) => seal.is_none_or(|seal| hex(&seal.mark()) != known),
        (None, Some(_)) => false,
        // Older than these marks: lost, where anything was sealed.
        (None, None) => {
            let any = "SELECT EXISTS(SELECT 1 FROM calls WHERE arguments IS NOT NULL) OR EXISTS(SELECT 1 FROM results)
                OR EXISTS(SELECT 1 FROM payloads)";
            conn.query_row(any, [], |row| row.get(0))?
        }
    };
    let calls = calls.iter().filter(|record| record.is_unreadable).map(|record| record.call).collect();
    Ok(Sealed { key_is_lost, calls })
}

/// From now on it is written with these.
pub(crate) fn note(conn: &Connection, keys: &Keys, seal: &Seal) -> rusqlite::Result<()> {
    set_meta(conn, AUDIT, &hex(&keys.mark()))?;
    set_meta(conn, SEAL, &hex(&seal.mark()))
}

/// Digests that an earlier version wrote plainly are keyed. Once: `meta` tells whether they are plain.
pub(crate) fn key_digests(conn: &mut Connection, keys: &Keys) -> rusqlite::Result<()> {
    let plain = conn.query_row("SELECT 1 FROM meta WHERE key = 'digests'", [], |_| Ok(())).optional()?;
    if plain.is_none() {
        return Ok(());
    }
    let transaction = conn.transaction()?;
    for column in ["asked", "sent", "key"] {
        let mut select = transaction.prepare(&format!("SELECT call, {column} FROM calls WHERE {column} NOT NULL"))?;
        let rows = select.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, [u8; 32]>(1)?)))?;
        let rows: Vec<(i64, [u8; 32])> = rows.collect::<Result<_, _>>()?;
        let mut update = transaction.prepare(&format!("UPDATE calls SET {column} = ? WHERE call = ?"))?;
        for (call, plain) in rows {
            update.execute(params![keys.keyed(Hash::from_bytes(plain)).as_bytes(), call])?;
        }
    }
    transaction.execute("DELETE FROM meta WHERE key = 'digests'", [])?;
    transaction.commit()
}
