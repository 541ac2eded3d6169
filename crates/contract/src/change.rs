//! What changed in a definition since a person approved it, and which of it raises the risk (rules.md 15). Plain data
//! for terminals and windows: hidden characters are visible in it, and nothing in it is to be rendered.

use crate::hash::Hash;
use serde::Serialize;

/// One version of a definition: a JSON text and its definition hash.
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    /// Over the whole text.
    pub hash: Hash,
    /// The text as the server sent it. A server's instructions: as a JSON string.
    pub raw: &'a [u8],
}

/// What became of a definition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Nothing changed that anybody has to look at: the same hash as an approved version, or only orders and values
    /// that approved versions have had.
    pub same: bool,
    /// What raises the risk; empty = a calm change.
    pub raised: Vec<Raise>,
    /// The differences to the newest approved version.
    pub lines: Vec<DiffLine>,
}

/// One thing that raises the risk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Raise {
    /// JSON pointer of what changed.
    pub place: String,
    /// What it is, in a sentence without hidden characters.
    pub sentence: String,
}

/// One line of a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    /// JSON pointer of the value that it belongs to.
    pub place: String,
    /// Which side it stands on.
    pub side: Side,
    /// Its words, with everything hidden made visible.
    pub words: Vec<Word>,
}

/// Which version a line stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// In both, for orientation.
    Both,
    /// In the approved one only.
    Approved,
    /// In the new one only.
    Now,
}

/// A run of characters of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Word {
    /// The characters.
    pub text: String,
    /// Whether the other side does not have it.
    pub changed: bool,
}

/// Compares a definition with all versions that were approved, the newest last. `is_tool` says whether a word is the
/// name of a tool of any server.
pub fn compare(approved: &[Version<'_>], now: Version<'_>, _is_tool: &dyn Fn(&str) -> bool) -> Change {
    let same = approved.iter().any(|version| version.hash == now.hash);
    let raised = Raise { place: String::new(), sentence: "it is not the approved one".to_owned() };
    Change { same, raised: if same { Vec::new() } else { vec![raised] }, lines: Vec::new() }
}
