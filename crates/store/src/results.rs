//! Results that a retry with the same key is answered with: sealed, bounded in all, the oldest evicted first. Inside
//! the caller's transaction; after a rollback `forget` must be called.

use crate::seal::{Column, Seal};
use crate::{CallNumber, MOST_RESULT_BYTES};
use rusqlite::{Connection, OptionalExtension, params};

/// How much is stored.
pub(crate) struct Results {
    most: u64,
    /// None: to be read.
    total: Option<u64>,
}

impl Default for Results {
    fn default() -> Results {
        Results { most: MOST_RESULT_BYTES, total: None }
    }
}

impl Results {
    #[cfg(test)]
    pub(crate) fn limit(&mut self, most: u64) {
        self.most = most;
    }

    /// After a rollback.
    pub(crate) fn forget(&mut self) {
        self.total = None;
    }

    /// Lets go of the result of a call.
    pub(crate) fn remove(&mut self, conn: &Connection, call: CallNumber) -> rusqlite::Result<()> {
        let mut remove = conn.prepare_cached("DELETE FROM results WHERE call = ? RETURNING bytes")?;
        let bytes = remove.query_row([call.0 as i64], |row| row.get::<_, i64>(0)).optional()?;
        self.total = self.total.map(|total| total.saturating_sub(bytes.unwrap_or(0) as u64));
        Ok(())
    }

    /// Seals and keeps a result; one that is over the bound by itself is not kept.
    pub(crate) fn save(
        &mut self,
        conn: &Connection,
        seal: &Seal,
        call: CallNumber,
        result: &[u8],
    ) -> rusqlite::Result<()> {
        let sealed = seal.seal(call, Column::Result, result)?;
        let bytes = sealed.len() as u64;
        if bytes > self.most {
            return Ok(());
        }
        self.remove(conn, call)?;
        let mut total = self.total.map_or_else(|| stored(conn), Ok)?;
        while total + bytes > self.most {
            let oldest = conn
                .prepare_cached("DELETE FROM results WHERE id = (SELECT min(id) FROM results) RETURNING bytes")?
                .query_row([], |row| row.get::<_, i64>(0))
                .optional()?;
            let Some(oldest) = oldest else { break };
            total = total.saturating_sub(oldest as u64);
        }
        conn.prepare_cached("INSERT INTO results(call, bytes, sealed) VALUES(?, ?, ?)")?.execute(params![
            call.0 as i64,
            bytes as i64,
            sealed
        ])?;
        self.total = Some(total + bytes);
        Ok(())
    }
}

fn stored(conn: &Connection) -> rusqlite::Result<u64> {
    conn.query_row("SELECT coalesce(sum(bytes), 0) FROM results", [], |row| row.get::<_, i64>(0)).map(|sum| sum as u64)
}
