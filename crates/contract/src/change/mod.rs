//! What changed in a definition since a person approved it, and which of it raises the risk (docs/servers-words.md). Plain data
//! for terminals and windows: hidden characters are visible in it, and nothing in it is to be rendered.

mod lines;
mod loosened;
mod texts;
mod walk;

use crate::finding::Finding;
use crate::hash::Hash;
use crate::scan::{self, Kind};
use crate::tree::{self, Tree};
use crate::visible;
use serde::Serialize;
use walk::{Field, Part, Step};

/// Most raises and lines told; what is beyond is said in one more.
const MAX_RAISES: usize = 50;
const MAX_LINES: usize = 2000;
/// Longest quotation in a sentence, in characters.
const MAX_TEXT: usize = 160;

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
    /// Nothing changed that anybody has to look at: the same hash as an approved version, or only orders of lists and
    /// values that approved versions have had at the same place.
    pub same: bool,
    /// What raises the risk; empty = a calm change.
    pub raised: Vec<Raise>,
    /// The differences to the nearest approved version.
    pub lines: Vec<DiffLine>,
    /// Which of the approved versions is the nearest: that with the fewest differences, of several the newest.
    pub nearest: usize,
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

/// Compares a definition with all versions that were approved, the newest last; without any, everything is new and
/// nothing is raised but what the scan flags. `is_tool` says whether a word is the name of a tool of any server.
/// Costs next to nothing where the hash is that of an approved version.
pub fn compare(approved: &[Version<'_>], now: Version<'_>, is_tool: &dyn Fn(&str) -> bool) -> Change {
    if let Some(nearest) = approved.iter().rposition(|version| version.hash == now.hash) {
        return Change { same: true, nearest, ..Change::default() };
    }
    let tree = match Tree::read(now.raw) {
        Ok(tree) => tree,
        Err(fault) => {
            let raise = Raise { place: String::new(), sentence: format!("can't be read: {fault}") };
            return Change { raised: vec![raise], ..Change::default() };
        }
    };
    // A version that can't be read any more has no values that could be known.
    let read = approved.iter().enumerate().filter_map(|(at, version)| Some((at, Tree::read(version.raw).ok()?)));
    let (places, known): (Vec<usize>, Vec<Tree<'_>>) = read.unzip();
    let (nearest, parts) = nearest(&known, &tree);
    let nearest = places.get(nearest).copied().unwrap_or_default();
    let mut change = Change { same: parts.is_empty() && !known.is_empty(), nearest, ..Change::default() };
    if change.same {
        return change;
    }
    let mut raised = Raised { raised: &mut change.raised };
    if !known.is_empty() {
        let texts = texts::Known::read(&known, &tree, is_tool);
        for part in &parts {
            raised.part(part, &texts);
        }
    }
    raised.flagged(approved, now, kind_of(&tree));
    change.lines = lines::of(&parts);
    if change.lines.len() > MAX_LINES {
        let more = format!("… {} more lines", change.lines.len() - MAX_LINES);
        change.lines.truncate(MAX_LINES);
        let words = vec![Word { text: more, changed: false }];
        change.lines.push(DiffLine { place: String::new(), side: Side::Now, words });
    }
    change
}

/// Which of the versions differs least, and where.
fn nearest<'t>(known: &'t [Tree<'t>], now: &'t Tree<'t>) -> (usize, Vec<Part<'t>>) {
    let mut order: Vec<&Tree<'t>> = known.iter().collect();
    let mut best = (known.len().saturating_sub(1), walk::parts(&order, now));
    for at in (0..known.len().saturating_sub(1)).rev() {
        if best.1.is_empty() {
            break;
        }
        // The one that is compared with stands last; the others tell what is no change.
        order.clear();
        order.extend(
            known.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, tree)| tree).chain([&known[at]]),
        );
        let parts = walk::parts(&order, now);
        if parts.len() < best.1.len() {
            best = (at, parts);
        }
    }
    best
}

/// Text of a server, short and with everything hidden made visible.
fn short(text: &str) -> String {
    let shown = visible::escape(text);
    match shown.char_indices().nth(MAX_TEXT) {
        Some((at, _)) => format!("{}…", &shown[..at]),
        None => shown.into_owned(),
    }
}

/// What a definition is of, by the member that names it.
fn kind_of(tree: &Tree<'_>) -> Kind {
    let has = |key: &str| tree.root().get(key).is_some();
    match tree.root().kind() {
        tree::Kind::String => Kind::Instructions,
        _ if has("inputSchema") => Kind::Tool,
        _ if has("uriTemplate") => Kind::Template,
        _ if has("uri") => Kind::Resource,
        _ => Kind::Prompt,
    }
}

struct Raised<'c> {
    raised: &'c mut Vec<Raise>,
}

impl Raised<'_> {
    fn add(&mut self, place: &str, sentence: impl Into<String>) {
        let raise = Raise { place: visible::escape(place).into_owned(), sentence: sentence.into() };
        if self.raised.len() < MAX_RAISES && !self.raised.contains(&raise) {
            self.raised.push(raise);
        }
    }

    fn part(&mut self, part: &Part<'_>, texts: &texts::Known<'_>) {
        match part.field {
            Field::Meta => self.add("/_meta", "its _meta changed, which people do not see but models and programs do"),
            Field::Icons => self.add("/icons", "its icon changed"),
            Field::Hint => {
                if let Some(sentence) = loosened::hint(part) {
                    self.add(&part.path, sentence);
                }
            }
            Field::Input => {
                if let Some(sentence) = loosened::keyword(part) {
                    self.add(&part.path, sentence);
                }
            }
            Field::Other => {}
        }
        if part.steps.last() != Some(&Step::Reference) {
            texts.added(part, &mut |place, sentence| self.add(place, sentence));
        }
    }

    /// What the scan finds now and did not find in any approved version.
    fn flagged(&mut self, approved: &[Version<'_>], now: Version<'_>, kind: Kind) {
        let found = scan::scan(now.raw, kind);
        if found.is_empty() {
            return;
        }
        let known: Vec<Finding> = approved.iter().flat_map(|version| scan::scan(version.raw, kind)).collect();
        for finding in found.iter().filter(|finding| !known.iter().any(|old| old.kind == finding.kind)) {
            self.add(&finding.place, format!("is flagged: {}", finding.sentence()));
        }
    }
}
