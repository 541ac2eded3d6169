//! The cleaning itself (docs/servers-words.md): first what has to go from strings, as their reader will see them; then, in what
//! came of that, what looks like the hub's. What is not changed keeps its bytes.

use super::view::{Edit, View};
use super::{Changes, Cleaner, PREFIX, marks, secrets};
use crate::tree::{Kind, TextFault, Tree, Value};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// A text after all changes; None where there were none.
pub(super) fn clean(cleaner: &Cleaner, body: &[u8], changes: &mut Changes) -> Result<Option<Vec<u8>>, TextFault> {
    let tree = Tree::lenient(body)?;
    let first = strings(cleaner, &tree, changes);
    if first.is_empty() {
        let second = words(cleaner, &tree, changes);
        return Ok((!second.is_empty()).then(|| apply(body, second)));
    }
    let body = apply(body, first);
    let second = words(cleaner, &Tree::lenient(&body)?, changes);
    Ok(Some(if second.is_empty() { body } else { apply(&body, second) }))
}

/// A text with known secrets taken out of its strings, and nothing else; None where there are none.
pub(super) fn mask(cleaner: &Cleaner, body: &[u8]) -> Result<Option<Vec<u8>>, TextFault> {
    let tree = Tree::lenient(body)?;
    let mut edits = Vec::new();
    for value in suspects(cleaner, &tree) {
        let view = View::of(tree.text(), value.inner_span(), &mut Vec::new(), &mut Changes::default());
        let found = cleaner.secrets.find(view.text.as_bytes());
        edits.extend(found.into_iter().map(|part| Edit { span: view.origin(part), by: secrets::REMOVED }));
    }
    Ok((!edits.is_empty()).then(|| apply(body, edits)))
}

/// The strings that have to be read, keys included, but for the contents of files.
fn suspects<'t>(cleaner: &Cleaner, tree: &'t Tree<'t>) -> impl Iterator<Item = Value<'t>> {
    let files = files(tree);
    tree.all().filter(move |value| {
        value.kind() == Kind::String
            && !files.contains(&value.at)
            && cleaner.quick.is_suspect(&tree.text().as_bytes()[value.inner_span()])
    })
}

/// What has to go from strings.
fn strings(cleaner: &Cleaner, tree: &Tree<'_>, changes: &mut Changes) -> Vec<Edit> {
    let mut edits = Vec::new();
    for value in suspects(cleaner, tree) {
        let view = View::of(tree.text(), value.inner_span(), &mut edits, changes);
        for part in cleaner.secrets.find(view.text.as_bytes()) {
            changes.secrets += 1;
            edits.push(Edit { span: view.origin(part), by: secrets::REMOVED });
        }
    }
    edits
}

/// What looks like the hub's: its lead and its objects in strings, names in `_meta`, objects. Looked for in what is
/// left of the strings: what is taken out of them may bring it about.
fn words(cleaner: &Cleaner, tree: &Tree<'_>, changes: &mut Changes) -> Vec<Edit> {
    let mut gone = Gone::default();
    let mut edits = structure(tree, &mut gone, changes);
    for value in suspects(cleaner, tree).filter(|value| !gone.holds(*value)) {
        // Nothing is left in it that would have to go.
        let view = View::of(tree.text(), value.inner_span(), &mut Vec::new(), &mut Changes::default());
        let found = marks::all(&view.text);
        for lead in found.leads {
            changes.markers += 1;
            edits.push(Edit { span: view.origin(lead), by: marks::NO_LEAD });
        }
        for end in found.outcomes {
            changes.markers += 1;
            let at = view.origin(end - 1..end).end;
            edits.push(Edit { span: at..at, by: marks::SAID });
        }
    }
    edits
}

/// Members that go, by where they begin; what stands in them goes with them.
#[derive(Default)]
struct Gone(BTreeMap<usize, usize>);

impl Gone {
    fn holds(&self, value: Value<'_>) -> bool {
        let at = value.span().start;
        self.0.range(..=at).next_back().is_some_and(|(_, end)| at < *end)
    }
}

/// The strings that hold an image, a sound or a file: base64 and nothing else.
pub(super) fn files(tree: &Tree<'_>) -> HashSet<u32> {
    let mut found = HashSet::new();
    for object in tree.all().filter(|value| value.kind() == Kind::Object) {
        let is_media = object.members().any(|(key, kind)| {
            key.spells("type") && kind.kind() == Kind::String && (kind.spells("image") || kind.spells("audio"))
        });
        for (key, value) in object.members().filter(|(_, value)| value.kind() == Kind::String) {
            let holds_file = (is_media && key.spells("data")) || key.spells("blob");
            if holds_file && is_base64(&tree.text()[value.inner_span()]) {
                found.insert(value.at);
            }
        }
    }
    found
}

/// Whether a string is base64 and nothing else; `/` may be written as `\/`.
fn is_base64(inner: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    inner.split("\\/").all(|part| part.bytes().all(is_digit))
}

/// Names in `_meta`, and objects that look like the hub's.
fn structure(tree: &Tree<'_>, gone: &mut Gone, changes: &mut Changes) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    for object in tree.all().filter(|value| value.kind() == Kind::Object) {
        if gone.holds(object) {
            continue;
        }
        for (_, meta) in object.members().filter(|(key, _)| key.spells("_meta")) {
            for span in names(meta) {
                changes.names += 1;
                gone.0.insert(span.start, span.end);
                edits.push(Edit { span, by: "" });
            }
        }
        for value in marks::outcome_values(object) {
            changes.markers += 1;
            let at = value.inner_span().end;
            edits.push(Edit { span: at..at, by: marks::SAID });
        }
    }
    edits
}

/// Where the hub's own names stand in one `_meta`, each with the one comma that goes with it.
fn names(meta: Value<'_>) -> Vec<Range<usize>> {
    let is_own = |key: Value<'_>| key.string().is_some_and(|name| name.starts_with(PREFIX));
    let members: Vec<(Value<'_>, Value<'_>)> = meta.members().collect();
    let first_kept = members.iter().position(|(key, _)| !is_own(*key));
    let own = members.iter().enumerate().filter(|(_, (key, _))| is_own(*key));
    let spans = own.map(|(place, (key, value))| match first_kept {
        // With the comma before it, once one that stays stands there.
        Some(kept) if kept < place => members[place - 1].1.span().end..value.span().end,
        _ => key.span().start..members.get(place + 1).map_or(value.span().end, |(next, _)| next.span().start),
    });
    spans.collect()
}

/// Makes the changes. One that begins within another is a part of it; what is put in comes before what goes there.
fn apply(body: &[u8], mut edits: Vec<Edit>) -> Vec<u8> {
    edits.sort_by_key(|edit| (edit.span.start, !edit.span.is_empty(), usize::MAX - edit.span.end));
    let mut out = Vec::with_capacity(body.len() + 64);
    let mut done = 0;
    for edit in edits {
        if edit.span.start < done {
            continue;
        }
        out.extend_from_slice(&body[done..edit.span.start]);
        out.extend_from_slice(edit.by.as_bytes());
        done = edit.span.end;
    }
    out.extend_from_slice(&body[done..]);
    out
}
