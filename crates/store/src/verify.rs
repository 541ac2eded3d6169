//! Proves that the log is whole, or says which row breaks it. Reads in pieces, so that it never holds up the
//! committer's checkpoints.

use crate::anchor::{Anchor, Trust};
use crate::chain::{KEY_FILE, Keys, Link};
use crate::reader::{Reader, Stored, read_lines};
use crate::{Kind, ReadFault, StoreFault};
use rusqlite::types::Value;
use serde::{Deserialize, Serialize};

/// The first thing that is wrong with the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "problem", rename_all = "snake_case")]
pub enum Break {
    /// This row is not what was written, or the row before it is not.
    Changed {
        /// Which row.
        row: u64,
    },
    /// Rows are missing before this one.
    Missing {
        /// The row that should come next.
        expected: u64,
        /// The row that does.
        found: u64,
    },
    /// The log ends before the row that was anchored: its end was cut off, or an older file was put in its place.
    CutOff {
        /// The anchored row.
        anchored: u64,
        /// The last row.
        last: u64,
    },
    /// The anchored row is there, whole in its chain, but is another one: the log was written anew with the key.
    OtherHistory {
        /// The anchored row.
        anchored: u64,
    },
    /// There is no anchor file.
    AnchorAbsent,
}

/// What a check of the whole log found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// First row.
    pub first: u64,
    /// Last row.
    pub last: u64,
    /// Rows that were checked.
    pub rows: u64,
    /// What is wrong; None: nothing.
    pub broken: Option<Break>,
    /// Row of the anchor.
    pub anchored: Option<u64>,
    /// Rows that tell that rows before them may be missing.
    pub gaps: Vec<u64>,
    /// Rows in which a person accepted that an older anchor was lost.
    pub epochs: Vec<u64>,
    /// What this check can't see, in words.
    pub blind: Vec<String>,
}

/// Rows read at once.
const PIECE: u64 = 4096;

impl Reader {
    /// Walks the whole chain and demands the anchor's row. Blocks: some seconds per million rows.
    pub fn verify(&self) -> Result<Findings, ReadFault> {
        let keys = Keys::read(&self.dir)?.ok_or_else(|| StoreFault::KeyAbsent { path: self.dir.join(KEY_FILE) })?;
        // Before the rows: an anchor that is set while we read would seem to be cut off.
        let anchor = Anchor::read(&self.dir)?;
        let mut findings = Findings { anchored: anchor.map(|anchor| anchor.row), ..Findings::default() };
        let mut walk = Walk { before: [0; 32], next: 1, anchored: None, room: Vec::new() };
        loop {
            let from = Value::Integer(findings.last as i64);
            let rows =
                read_lines(&self.conn, &format!("WHERE audit.seq > ? ORDER BY audit.seq LIMIT {PIECE}"), &[from])?;
            if rows.is_empty() {
                break;
            }
            for row in rows {
                findings.note(&row);
                let broken = walk.step(&row, &keys, anchor);
                findings.broken = findings.broken.take().or(broken);
            }
        }
        if findings.broken.is_none() {
            findings.broken = match Trust::judge(anchor, findings.last, walk.anchored) {
                Trust::Whole => None,
                Trust::AnchorAbsent => Some(Break::AnchorAbsent),
                Trust::Behind { anchored, last } => Some(Break::CutOff { anchored, last }),
                Trust::Differs { anchored } => Some(Break::OtherHistory { anchored }),
            };
        }
        findings.say_what_is_unseen();
        Ok(findings)
    }
}

struct Walk {
    before: Link,
    next: u64,
    anchored: Option<Link>,
    room: Vec<u8>,
}

impl Walk {
    fn step(&mut self, row: &Stored, keys: &Keys, anchor: Option<Anchor>) -> Option<Break> {
        let expected = std::mem::replace(&mut self.next, row.seq + 1);
        let link = row.line().link(&keys.chain, &self.before, &mut self.room);
        let stored = row.link();
        // Goes on from what is stored, so that one changed row is one break.
        self.before = stored.unwrap_or(link);
        if anchor.is_some_and(|anchor| anchor.row == row.seq) {
            self.anchored = Some(self.before);
        }
        if row.seq != expected {
            return Some(Break::Missing { expected, found: row.seq });
        }
        (stored != Some(link)).then_some(Break::Changed { row: row.seq })
    }
}

impl Findings {
    fn note(&mut self, row: &Stored) {
        if self.rows == 0 {
            self.first = row.seq;
        }
        self.rows += 1;
        self.last = row.seq;
        if row.kind == Kind::Gap.code() {
            self.gaps.push(row.seq);
        }
        if row.kind == Kind::Epoch.code() {
            self.epochs.push(row.seq);
        }
    }

    fn say_what_is_unseen(&mut self) {
        let (last, anchored) = (self.last, self.anchored.unwrap_or(0));
        if last != anchored {
            self.blind.push(format!("whether rows after {last} were cut off: the anchor is of row {anchored}"));
        } else {
            self.blind.push(format!("whether rows of less than 10 s after {last} were cut off"));
        }
        if !self.gaps.is_empty() {
            self.blind.push("reads of up to 20 ms before each gap row".to_owned());
        }
        self.blind.push("a log written anew, with its anchor, by somebody who has the audit key".to_owned());
    }
}
