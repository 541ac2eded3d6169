//! What is too large to be read at start: results that can be replayed, texts that were approved. Read only; blocks,
//! so it is for the blocking pool.

use crate::seal::{Column, Seal};
use crate::{CallNumber, PinKind, ReadFault, open, pin};
use bytes::Bytes;
use contract::Hash;
use rusqlite::{Connection, OptionalExtension};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A read-only look at sealed results and approved texts. Cheap to clone, for any thread.
#[derive(Clone)]
pub struct Vault(Arc<Inner>);

struct Inner {
    dir: PathBuf,
    conn: Mutex<Option<Connection>>,
}

impl Vault {
    /// Of a store that was opened before. Opens no file before it is asked.
    pub fn new(dir: &Path) -> Vault {
        Vault(Arc::new(Inner { dir: dir.to_owned(), conn: Mutex::new(None) }))
    }

    fn with<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, ReadFault> {
        // Reading leaves nothing half done: a panic of another thread harms nobody.
        let mut conn = self.0.conn.lock().unwrap_or_else(PoisonError::into_inner);
        let conn = match &mut *conn {
            Some(conn) => conn,
            None => conn.insert(open::read_only(&self.0.dir)?),
        };
        Ok(read(conn)?)
    }

    /// The result of a call with a key; None where its body was evicted, or there never was one.
    ///
    /// # Errors
    /// Where it is there but can't be read or unsealed.
    pub fn result(&self, call: CallNumber) -> Result<Option<Bytes>, ReadFault> {
        let sealed = self.with(|conn| {
            conn.prepare_cached("SELECT sealed FROM results WHERE call = ?")?
                .query_row([call.0 as i64], |row| row.get::<_, Vec<u8>>(0))
                .optional()
        })?;
        let Some(sealed) = sealed else { return Ok(None) };
        let plain = Seal::read(&self.0.dir)?.and_then(|seal| seal.open(call, Column::Result, &sealed));
        plain.map(|plain| Some(plain.into())).ok_or(ReadFault::Sealed { what: "the result" })
    }

    /// The approved texts of an entry with their hashes, the newest last; empty where there is none.
    ///
    /// # Errors
    /// Where it can't be read.
    pub fn approved(
        &self,
        server: &str,
        launch: &str,
        kind: PinKind,
        name: &str,
    ) -> Result<Vec<(Hash, String)>, ReadFault> {
        self.with(|conn| pin::texts(conn, server, launch, kind, name))
    }
}
