//! The anchor: row number and link of an audit row, in a file outside the database. Written only after a
//! FULL commit that covers its row, and never over an anchor that the log doesn't reach.

use crate::chain::{Link, hex, unhex};
use crate::{StoreFault, places};
use std::fmt;
use std::path::Path;

/// File inside the data folder: `ROW HEX\n`.
pub(crate) const ANCHOR_FILE: &str = "audit.anchor";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub row: u64,
    pub link: Link,
}

impl Anchor {
    pub(crate) fn read(dir: &Path) -> Result<Option<Anchor>, StoreFault> {
        let path = dir.join(ANCHOR_FILE);
        let Some(content) = places::read_private(&path)? else { return Ok(None) };
        let anchor = std::str::from_utf8(&content).ok().and_then(Anchor::parse);
        anchor.map(Some).ok_or(StoreFault::Unreadable { path })
    }

    /// Reads `ROW HEX`.
    pub(crate) fn parse(text: &str) -> Option<Anchor> {
        let (row, link) = text.trim().split_once(' ')?;
        Some(Anchor { row: row.parse().ok()?, link: unhex(link.as_bytes())? })
    }

    pub(crate) fn write(&self, dir: &Path) -> Result<(), StoreFault> {
        places::replace_private(&dir.join(ANCHOR_FILE), format!("{self}\n").as_bytes())
    }
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.row, hex(&self.link))
    }
}

/// Whether the log is the one that was last anchored. Anything but `Whole` stays until a person accepts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The anchor's row is there (or this is the very first run).
    Whole,
    /// There are rows but no anchor file.
    AnchorAbsent,
    /// The log ends before the anchor's row: rows were cut off, or an older file was put in its place.
    Behind {
        /// Row named by the anchor.
        anchored: u64,
        /// Last row in the log.
        last: u64,
    },
    /// The anchor's row is there, but it is another one.
    Differs {
        /// Row named by the anchor.
        anchored: u64,
    },
}

impl Trust {
    /// Judges the anchor against the log: its last row, and the link of the anchor's row if that is there.
    pub(crate) fn judge(anchor: Option<Anchor>, last: u64, found: Option<Link>) -> Trust {
        match (anchor, found) {
            // The first anchor is written right after the first row: a crash between the two is no loss.
            (None, _) if last <= 1 => Trust::Whole,
            (None, _) => Trust::AnchorAbsent,
            (Some(anchor), None) => Trust::Behind { anchored: anchor.row, last },
            (Some(anchor), Some(link)) if link == anchor.link => Trust::Whole,
            (Some(anchor), Some(_)) => Trust::Differs { anchored: anchor.row },
        }
    }
}
