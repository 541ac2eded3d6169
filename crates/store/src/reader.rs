//! Reading the audit beside the committer, for the person's door. Its connection can't write.

use crate::search::{Order, Plan};
use crate::stored::{Facets, Stored};
use crate::{CallNumber, Filter, Kind, Method, Outcome, ReadFault, args, batch, open};
use rusqlite::Connection;
use rusqlite::types::Value;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// One audit row for a person's eyes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// Its place in the log.
    pub seq: u64,
    /// The call it belongs to (`c3-17`), or empty.
    pub call: String,
    /// What is told; `kind 99` where a newer version wrote it.
    pub kind: String,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Who asked.
    pub client: String,
    /// Which server.
    pub server: String,
    /// Which tool, prompt or resource; `(12 B #0a1b…)` for a name that matched nothing.
    pub item: String,
    /// Hash of the tool's definition.
    pub definition: String,
    /// How it was asked.
    pub method: String,
    /// `read`, `write`, `destructive`, or empty.
    pub effect: String,
    /// How it ended, or empty.
    pub outcome: String,
    /// Bytes of the arguments.
    pub args_bytes: u64,
    /// Bytes of the result.
    pub result_bytes: u64,
    /// µs until the verdict.
    pub checked_us: u64,
    /// µs of waiting for a person.
    pub held_us: u64,
    /// µs of waiting for the server, its lane, the intent.
    pub queued_us: u64,
    /// µs at the server.
    pub ran_us: u64,
    /// µs until the client had the answer.
    pub answered_us: u64,
    /// Each argument: name, type, size, keyed hash.
    pub arguments: Vec<String>,
    /// More, as JSON text, or empty.
    pub detail: String,
}

impl From<&Stored> for AuditRecord {
    fn from(row: &Stored) -> AuditRecord {
        let word = |known: Option<&'static str>, what: &str, code: u64| match known {
            Some(known) => known.to_owned(),
            None => format!("{what} {code}"),
        };
        let text = &row.text;
        let item = match row.stranger.split_first_chunk::<4>() {
            Some((length, tag)) => format!("({} B #{})", u32::from_le_bytes(*length), crate::chain::hex(tag)),
            None => text.item.clone(),
        };
        let [checked_us, held_us, queued_us, ran_us, answered_us] = row.stages;
        AuditRecord {
            seq: row.seq,
            call: if row.call == 0 { String::new() } else { CallNumber(row.call).to_string() },
            kind: word(Kind::from_code(text.kind).map(Kind::as_str), "kind", text.kind),
            at_ms: row.at,
            client: text.client.clone(),
            server: text.server.clone(),
            item,
            definition: text.definition.clone(),
            method: word(Method::from_code(text.method).map(Method::as_str), "method", text.method),
            effect: batch::effect_word(text.effect).to_owned(),
            outcome: word(Outcome::from_code(text.outcome).map(Outcome::as_str), "outcome", text.outcome),
            args_bytes: row.args_bytes,
            result_bytes: row.result_bytes,
            checked_us,
            held_us,
            queued_us,
            ran_us,
            answered_us,
            // Of kept values it is their hashes.
            arguments: if text.kind == Kind::Values.code() { Vec::new() } else { args::describe(&row.shape) },
            detail: text.detail.clone(),
        }
    }
}

/// Most rows of a page, and rows that a stream reads at once.
const PAGE: usize = 1000;

/// A read-only look at the store.
pub struct Reader {
    pub(crate) conn: Connection,
    pub(crate) dir: PathBuf,
    pub(crate) facets: RefCell<Facets>,
}

impl Reader {
    /// Opens a store that a hub has opened before. Never makes or changes a file.
    pub fn open(dir: &Path) -> Result<Reader, ReadFault> {
        Ok(Reader { conn: open::read_only(dir)?, dir: dir.to_owned(), facets: RefCell::default() })
    }

    /// Up to `limit` rows (1,000 at most), newest first unless `after` is given.
    pub fn page(&self, filter: &Filter, limit: u32) -> Result<Vec<AuditRecord>, ReadFault> {
        let order = if filter.after.is_some() { Order::Oldest } else { Order::Newest };
        let mut plan = Plan::of(&self.conn, filter, order)?;
        let limit = PAGE.min(limit as usize);
        Ok(if limit == 0 { Vec::new() } else { self.fetch(&mut plan, limit)? })
    }

    fn fetch(&self, plan: &mut Plan, most: usize) -> rusqlite::Result<Vec<AuditRecord>> {
        let mut records = Vec::new();
        for seq in plan.next(&self.conn, most)? {
            let rows = self.facets.borrow_mut().rows(&self.conn, "WHERE seq = ?", &[Value::Integer(seq as i64)])?;
            records.extend(rows.iter().map(AuditRecord::from));
        }
        Ok(records)
    }

    /// All rows of a filter, oldest first, a piece at a time: in bounded memory, and without holding up the committer.
    /// Rows that are written meanwhile do not count.
    pub fn stream(&self, filter: &Filter) -> Result<Stream<'_>, ReadFault> {
        let plan = Plan::of(&self.conn, filter, Order::Oldest)?;
        Ok(Stream { reader: self, plan, piece: Vec::new().into_iter(), has_ended: false })
    }

    pub(crate) fn stored_of(&self, call: CallNumber) -> Result<Vec<Stored>, ReadFault> {
        let rest = "WHERE call = ? AND call > 0 ORDER BY seq LIMIT 1000";
        Ok(self.facets.borrow_mut().rows(&self.conn, rest, &[Value::Integer(call.0 as i64)])?)
    }

    /// All rows of one call, oldest first.
    pub fn call(&self, call: CallNumber) -> Result<Vec<AuditRecord>, ReadFault> {
        let filter = Filter { call: Some(call), after: Some(0), ..Filter::default() };
        self.page(&filter, u32::MAX)
    }
}

/// Rows as they are read; the first fault ends it.
pub struct Stream<'r> {
    reader: &'r Reader,
    plan: Plan,
    piece: std::vec::IntoIter<AuditRecord>,
    has_ended: bool,
}

impl Iterator for Stream<'_> {
    type Item = Result<AuditRecord, ReadFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(record) = self.piece.next() {
            return Some(Ok(record));
        }
        if self.has_ended {
            return None;
        }
        match self.reader.fetch(&mut self.plan, PAGE) {
            Ok(piece) => {
                self.has_ended = piece.is_empty();
                self.piece = piece.into_iter();
                self.piece.next().map(Ok)
            }
            Err(error) => {
                self.has_ended = true;
                Some(Err(error.into()))
            }
        }
    }
}
