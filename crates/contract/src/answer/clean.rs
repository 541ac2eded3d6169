//! The cleaning itself (rules.md 9): strings first, as their reader will see them; then, in what came of that, names in
//! `_meta` and objects that look like the hub's. What is not changed keeps its bytes.

use super::view::{Edit, View};
use super::{Changes, Cleaner, LEAD, PREFIX, marks, secrets};
use crate::tree::{Kind, TextFault, Tree, Value};
use std::collections::HashSet;
use std::ops::Range;

/// A text after all changes; None where there were none.
pub(super) fn clean(cleaner: &Cleaner, body: &[u8], changes: &mut Changes) -> Result<Option<Vec<u8>>, TextFault> {
    let tree = Tree::lenient(body)?;
    let first = strings(cleaner, &tree, changes);
    if first.is_empty() {
        let second = structure(&tree, changes);
        return Ok((!second.is_empty()).then(|| apply(body, second)));
    }
    let body = apply(body, first);
    let second = structure(&Tree::lenient(&body)?, changes);
    Ok(Some(if second.is_empty() { body } else { apply(&body, second) }))
}

/// What is to be changed in strings, keys included, but for the contents of files.
fn strings(cleaner: &Cleaner, tree: &Tree<'_>, changes: &mut Changes) -> Vec<Edit> {
    let files = files(tree);
    let mut edits = Vec::new();
    for value in tree.all().filter(|value| value.kind() == Kind::String && !files.contains(&value.at)) {
        let inner = value.inner_span();
        if !cleaner.quick.is_suspect(&tree.text().as_bytes()[inner.clone()]) {
            continue;
        }
        let view = View::of(tree.text(), inner, &mut edits, changes);
        let mut replace = |part: Range<usize>, by| edits.push(Edit { span: view.origin(part), by });
        for part in cleaner.secrets.find(&view.text) {
            changes.secrets += 1;
            replace(part, secrets::REMOVED);
        }
        for at in marks::leads(&view.text) {
            changes.markers += 1;
            replace(at..at + LEAD.len(), marks::NO_LEAD);
        }
        for end in marks::outcomes(&view.text) {
            changes.markers += 1;
            let at = view.origin(end - 1..end).end;
            edits.push(Edit { span: at..at, by: marks::SAID });
        }
    }
    edits
}

/// The strings that hold an image, a sound or a file: base64 and nothing else.
fn files(tree: &Tree<'_>) -> HashSet<u32> {
    let mut found = HashSet::new();
    let is_base64 = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=\\".contains(&byte));
    for object in tree.all().filter(|value| value.kind() == Kind::Object) {
        let is_media = object.members().any(|(key, kind)| {
            key.spells("type") && kind.kind() == Kind::String && (kind.spells("image") || kind.spells("audio"))
        });
        for (key, value) in object.members().filter(|(_, value)| value.kind() == Kind::String) {
            let holds_file = (is_media && key.spells("data")) || key.spells("blob");
            if holds_file && is_base64(&value.source()[1..value.source().len() - 1]) {
                found.insert(value.at);
            }
        }
    }
    found
}

/// What is to be changed outside of strings: names in `_meta`, and objects that look like the hub's.
fn structure(tree: &Tree<'_>, changes: &mut Changes) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    for object in tree.all().filter(|value| value.kind() == Kind::Object) {
        // What is in something that goes, goes with it.
        if edits.iter().any(|edit| edit.span.contains(&object.span().start)) {
            continue;
        }
        for (_, meta) in object.members().filter(|(key, _)| key.spells("_meta")) {
            let own = names(meta);
            changes.names += narrow(own.len());
            edits.extend(own.into_iter().map(|span| Edit { span, by: "" }));
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

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
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
