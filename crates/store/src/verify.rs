//! Proves that the log is whole, or says which row breaks it. Reads in pieces, so that it never holds up the
//! committer's checkpoints.

use crate::anchor::{Anchor, Trust};
use crate::blocks::{Told, block_of, first_of};
use crate::chain::{KEY_FILE, Keys, Link, hex};
use crate::reader::Reader;
use crate::stored::Stored;
use crate::{Kind, ReadFault, StoreFault, cut, kept, payload};
use rusqlite::Connection;
use rusqlite::types::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// The log ends before the row that was anchored, and the file knows of later rows: its end was cut off.
    CutOff {
        /// The anchored row.
        anchored: u64,
        /// The last row.
        last: u64,
    },
    /// The log ends before the row that was anchored and is whole by itself: an older file was put in its place, such
    /// as a backup.
    RolledBack {
        /// The anchored row.
        anchored: u64,
        /// The last row.
        last: u64,
    },
    /// The log begins later than any row says that it was cut: its beginning was removed.
    FalseBase {
        /// The row before the first one.
        base: u64,
    },
    /// The anchored row is there, whole in its chain, but is another one: an older file was put in its place and went
    /// on, or the log was written anew with the key.
    OtherHistory {
        /// The anchored row.
        anchored: u64,
    },
    /// There is no anchor file.
    AnchorAbsent,
}

impl Break {
    /// Whether the log may be a restored backup.
    pub fn is_rollback(&self) -> bool {
        matches!(self, Break::RolledBack { .. } | Break::OtherHistory { .. } | Break::AnchorAbsent)
    }

    /// The row at which the log is wrong.
    pub fn row(&self) -> Option<u64> {
        match *self {
            Break::Changed { row } => Some(row),
            Break::Missing { expected, .. } => Some(expected),
            Break::CutOff { last, .. } | Break::RolledBack { last, .. } => Some(last),
            Break::FalseBase { base } => Some(base),
            Break::OtherHistory { anchored } => Some(anchored),
            Break::AnchorAbsent => None,
        }
    }
}

impl std::fmt::Display for Break {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Break::Changed { row } => write!(f, "row {row} is not what was written, or the row before it is not"),
            Break::Missing { expected, found } => {
                write!(f, "rows are missing: after row {} comes row {found}", expected.saturating_sub(1))
            }
            Break::CutOff { anchored, last } => {
                write!(f, "the end was cut off: the log ends at row {last}, but row {anchored} was written")
            }
            Break::RolledBack { anchored, last } => write!(
                f,
                "an older file is in its place (a restored backup?): it ends at row {last}, but row {anchored} was written"
            ),
            Break::FalseBase { base } => {
                write!(f, "the rows up to {base} are missing, and no row says that they were removed for their age")
            }
            Break::OtherHistory { anchored } => write!(
                f,
                "row {anchored} is another one than was anchored: a restored backup went on, or the log was written anew"
            ),
            Break::AnchorAbsent => f.write_str("there are rows, but the file of their anchor is missing"),
        }
    }
}

/// What a check of the whole log found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// First row that was checked.
    pub first: u64,
    /// Rows up to this one were removed for their age; 0: none were.
    pub cut: u64,
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
    /// Where only the anchor is missed, so that a person can accept the log as it is
    /// ([`Job::AcceptEpoch`](crate::Job)): names that anchor, and stays the same while the log grows.
    pub accept: Option<String>,
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
        let base = kept::base(&self.conn)?;
        let start = base.unwrap_or(Anchor { row: 0, link: [0; 32] });
        (findings.cut, findings.last) = (start.row, start.row);
        let mut walk = Walk { before: start.link, next: start.row + 1, anchored: None, cut: None, room: Vec::new() };
        let mut index = Index::default();
        loop {
            let from = Value::Integer(findings.last as i64);
            let rest = format!("WHERE seq > ? ORDER BY seq LIMIT {PIECE}");
            let rows = self.facets.borrow_mut().rows(&self.conn, &rest, &[from])?;
            if rows.is_empty() {
                break;
            }
            for row in rows {
                findings.note(&row);
                let mut broken = walk.step(&row, &keys, anchor);
                if broken.is_none() && row.text.kind == Kind::Values.code() && !payload::fits(&self.conn, &row)? {
                    broken = Some(Break::Changed { row: row.seq });
                }
                findings.broken = findings.broken.take().or(broken);
                index.step(&self.conn, &row)?;
            }
        }
        if findings.broken.is_none() {
            let known = kept::meta(&self.conn, "anchored")?.and_then(|row| row.parse().ok()).unwrap_or(0);
            // The base is named by the last cut, and by it alone.
            let is_false_base = base.is_some() && base != walk.cut;
            findings.broken = match Trust::judge(anchor, findings.last, walk.anchored) {
                Trust::Behind { anchored, last } if known > last => Some(Break::CutOff { anchored, last }),
                _ if is_false_base => Some(Break::FalseBase { base: start.row }),
                Trust::Whole => None,
                Trust::AnchorAbsent => Some(Break::AnchorAbsent),
                Trust::Behind { anchored, last } => Some(Break::RolledBack { anchored, last }),
                Trust::Differs { anchored } => Some(Break::OtherHistory { anchored }),
            };
        }
        findings.accept = match findings.broken {
            Some(
                Break::CutOff { .. } | Break::RolledBack { .. } | Break::OtherHistory { .. } | Break::AnchorAbsent,
            ) => Some(anchor.map_or("none".to_owned(), |it| format!("{}-{}", it.row, &hex(&it.link)[..16]))),
            Some(Break::Changed { .. } | Break::Missing { .. } | Break::FalseBase { .. }) | None => None,
        };
        findings.say_what_is_unseen();
        if let Some(block) = index.wrong {
            let first = first_of(block).max(1);
            let what = "the index of searches does not fit the rows from";
            findings
                .blind
                .push(format!("whether filters show all rows: {what} {first} on; a list without filters does"));
        }
        Ok(findings)
    }
}

struct Walk {
    before: Link,
    next: u64,
    anchored: Option<Link>,
    /// What the last row of a cut names.
    cut: Option<Anchor>,
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
        if row.text.kind == Kind::Cut.code() {
            self.cut = cut::named(&row.text.detail);
        }
        if row.seq != expected {
            return Some(Break::Missing { expected, found: row.seq });
        }
        (stored != Some(link)).then_some(Break::Changed { row: row.seq })
    }
}

/// Compares what is told of each full block with its rows.
#[derive(Default)]
struct Index {
    block: Option<u64>,
    seen: BTreeMap<i64, u64>,
    /// The first and the last time in it.
    times: Option<(u64, u64)>,
    wrong: Option<u64>,
}

impl Index {
    fn step(&mut self, conn: &Connection, row: &Stored) -> rusqlite::Result<()> {
        let block = block_of(row.seq);
        if let Some(full) = self.block.replace(block).filter(|full| *full != block) {
            let (seen, times) = (std::mem::take(&mut self.seen), self.times.take());
            let fits = |told: Told| told.facets().eq(seen) && times == Some((told.first_at, told.last_at));
            // A block of which nothing is told is searched row by row.
            if Told::of(conn, full)?.is_some_and(|told| !fits(told)) {
                self.wrong.get_or_insert(full);
            }
        }
        *self.seen.entry(row.facet).or_default() += 1;
        let (first, last) = self.times.unwrap_or((row.at, row.at));
        self.times = Some((first.min(row.at), last.max(row.at)));
        Ok(())
    }
}

impl Findings {
    fn note(&mut self, row: &Stored) {
        if self.rows == 0 {
            self.first = row.seq;
        }
        self.rows += 1;
        self.last = row.seq;
        if row.text.kind == Kind::Gap.code() {
            self.gaps.push(row.seq);
        }
        if row.text.kind == Kind::Epoch.code() {
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
        self.blind.push("an end that was cut off, or an older file, together with an anchor that fits it".to_owned());
        self.blind.push("a log written anew, with its anchor, by somebody who has the audit key".to_owned());
    }
}
