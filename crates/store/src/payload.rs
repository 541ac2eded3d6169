//! Values of calls that a person wants to look up later: sealed, named by their hashes in a row of the chain, gone with
//! that row. Nothing opens them but the seal's key.

use crate::committer::Values;
use crate::line::Line;
use crate::seal::{Column, Seal};
use crate::stored::Stored;
use crate::writer::Writer;
use crate::{AuditRecord, CallNumber, Kind, ReadFault, Reader, jobs};
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

/// What was kept of one call.
#[derive(Clone, PartialEq, Eq)]
pub struct Opened {
    /// The row that names it.
    pub seq: u64,
    /// The arguments as they were sent, known secrets masked.
    pub arguments: Option<Vec<u8>>,
    /// The result as it was passed on.
    pub result: Option<Vec<u8>>,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("seq", &self.seq).finish_non_exhaustive()
    }
}

type Sealed = (Option<Vec<u8>>, Option<Vec<u8>>);

/// Seals values, and writes the row that names them.
pub(crate) fn save(conn: &Connection, writer: &mut Writer, seal: &Seal, values: &Values) -> rusqlite::Result<()> {
    let call = values.note.call;
    let sealed = |column, plain: Option<&[u8]>| plain.map(|plain| seal.seal(call, column, plain)).transpose();
    let (arguments, result) = (values.arguments.0.as_deref(), values.result.0.as_deref());
    let both = (sealed(Column::KeptArguments, arguments)?, sealed(Column::KeptResult, result)?);
    let size = |plain: Option<&[u8]>| plain.map_or(0, |plain| plain.len() as u64);
    let shape = hashes(&both);
    let (args_bytes, result_bytes) = (size(arguments), size(result));
    writer.line(conn, Line { args_bytes, result_bytes, shape: &shape, ..jobs::note_line(&values.note) })?;
    conn.prepare_cached("INSERT INTO payloads(seq, arguments, result) VALUES(?, ?, ?)")?
        .execute(params![writer.tip.seq as i64, both.0, both.1])
        .map(drop)
}

/// SHA-256 of each sealed text, zeros for one that is not there.
fn hashes((arguments, result): &Sealed) -> [u8; 64] {
    let mut hashes = [0; 64];
    for (place, text) in hashes.chunks_exact_mut(32).zip([arguments, result]) {
        if let Some(text) = text {
            place.copy_from_slice(&Sha256::digest(text));
        }
    }
    hashes
}

fn sealed(conn: &Connection, seq: u64) -> rusqlite::Result<Option<Sealed>> {
    conn.prepare_cached("SELECT arguments, result FROM payloads WHERE seq = ?")?
        .query_row([seq as i64], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

/// Whether what is sealed is what the row names.
pub(crate) fn fits(conn: &Connection, row: &Stored) -> rusqlite::Result<bool> {
    Ok(sealed(conn, row.seq)?.is_some_and(|both| hashes(&both)[..] == *row.shape))
}

impl Reader {
    /// What was kept of a call, oldest first; empty where nothing was.
    ///
    /// # Errors
    /// What is there cannot be read, is not what its row names, or cannot be opened.
    pub fn values(&self, call: CallNumber) -> Result<Vec<Opened>, ReadFault> {
        self.opened(call, |_| true)
    }

    /// What was kept with this row; None where nothing was.
    ///
    /// # Errors
    /// So as of a call.
    pub fn value(&self, row: &AuditRecord) -> Result<Option<Opened>, ReadFault> {
        let Some(call) = CallNumber::parse(&row.call) else { return Ok(None) };
        Ok(self.opened(call, |seq| seq == row.seq)?.pop())
    }

    fn opened(&self, call: CallNumber, wants: impl Fn(u64) -> bool) -> Result<Vec<Opened>, ReadFault> {
        let damaged = || ReadFault::Sealed { what: "the values" };
        let mut all = Vec::new();
        let is_it = |row: &&Stored| row.text.kind == Kind::Values.code() && wants(row.seq);
        for row in self.stored_of(call)?.iter().filter(is_it) {
            let seal = Seal::read(&self.dir)?.ok_or_else(damaged)?;
            let both = sealed(&self.conn, row.seq)?.filter(|both| hashes(both)[..] == *row.shape);
            let (arguments, result) = both.ok_or_else(damaged)?;
            let open = |column, text: Option<Vec<u8>>| {
                text.map(|text| seal.open(call, column, &text).ok_or_else(damaged)).transpose()
            };
            all.push(Opened {
                seq: row.seq,
                arguments: open(Column::KeptArguments, arguments)?,
                result: open(Column::KeptResult, result)?,
            });
        }
        Ok(all)
    }
}
