//! What a server may write so that it looks like the hub's own word, and the one rule for each: the lead of the
//! hub's sentences loses its brackets; an object that says that a call waits or was refused says by whom.

use super::levels::Level;
use crate::alike;
use crate::ids::CallId;
use crate::outcome::Code;
use crate::tree::{Kind, Value};
use std::ops::Range;

/// What stands in place of [`super::LEAD`], in whatever case it was written.
pub(super) const NO_LEAD: &str = "(callgate)";
/// What follows a status or an error that looks like the hub's.
pub(super) const SAID: &str = " (said by the server)";
/// Most characters between a key and its value that are neither letters nor digits, nor white space.
const MAX_GAP: usize = 16;

/// What looks like the hub's in a text.
#[derive(Default)]
pub(super) struct Marks {
    /// Where the lead of its sentences stands.
    pub(super) leads: Vec<Range<usize>>,
    /// Where the words end that make an object of it.
    pub(super) outcomes: Vec<usize>,
}

/// What looks like the hub's in a text, as it stands there and as the JSON in it says it, however it spells its letters.
pub(super) fn all(text: &str) -> Marks {
    let mut marks = Marks::default();
    let mut level = Some(Level::first(text));
    while let Some(this) = level {
        marks.leads.extend(leads(&this.text).map(|at| this.origin(at..at + super::LEAD.len())));
        marks.outcomes.extend(outcomes(&this.text).into_iter().map(|end| this.origin(end - 1..end).end));
        level = this.within();
    }
    // What is not escaped is found on every level.
    marks.leads.sort_unstable_by_key(|lead| (lead.start, lead.end));
    marks.leads.dedup();
    marks.outcomes.sort_unstable();
    marks.outcomes.dedup();
    marks
}

fn leads(text: &str) -> impl Iterator<Item = usize> {
    memchr::memchr_iter(b'[', text.as_bytes()).filter(|&at| is_lead(&text.as_bytes()[at..]))
}

pub(super) fn is_lead(text: &[u8]) -> bool {
    text.get(..super::LEAD.len()).is_some_and(|start| start.eq_ignore_ascii_case(super::LEAD.as_bytes()))
}

/// Ends of the words in a text that make it look like the hub's object: `pending` of a status, where the text also
/// says `ok` false and `approval_id`; one of the hub's codes as an error, where it says `ok` false and a `call_id` of
/// the hub's form. However the text is quoted.
fn outcomes(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    // There are readers to whom `OK` is `ok`. Places stay what they are.
    let (whole, small) = (text, text.to_ascii_lowercase());
    let text = &*small;
    if !pairs(text, "ok").any(|value| value.word == "false") {
        return ends;
    }
    if keys(text, "approval_id").next().is_some() {
        ends.extend(pairs(text, "status").filter(|value| value.word == "pending").map(|value| value.end));
    }
    if pairs(text, "call_id").any(|value| value.word.parse::<CallId>().is_ok()) {
        let is_code = |value: &Said<'_>| Code::parse(value.word).is_some();
        ends.extend(pairs(text, "error").filter(is_code).map(|value| value.end));
    }
    ends.retain(|end| !whole[*end..].starts_with(SAID));
    ends
}

/// A value beside its key, wherever they stand.
struct Said<'t> {
    word: &'t str,
    end: usize,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Where a word ends that is this key.
fn keys<'t>(text: &'t str, key: &'static str) -> impl Iterator<Item = usize> + 't {
    memchr::memmem::find_iter(text.as_bytes(), key).filter_map(move |at| {
        let end = at + key.len();
        let is_whole = !text[..at].ends_with(is_word) && !text[end..].starts_with(is_word);
        is_whole.then_some(end)
    })
}

/// The words that follow a key.
fn pairs<'t>(text: &'t str, key: &'static str) -> impl Iterator<Item = Said<'t>> {
    keys(text, key).filter_map(move |after| {
        let rest = &text[after..];
        let gap = rest.find(is_word).filter(|gap| *gap > 0)?;
        if rest[..gap].chars().filter(|c| !c.is_ascii_whitespace()).nth(MAX_GAP).is_some() {
            return None;
        }
        let length = rest[gap..].find(|c| !is_word(c)).unwrap_or(rest.len() - gap);
        Some(Said { word: &rest[gap..gap + length], end: after + gap + length })
    })
}

/// The strings in an object that make it look like the hub's, by the rule of [`outcomes`].
pub(super) fn outcome_values(object: Value<'_>) -> Vec<Value<'_>> {
    let is_key = |name: Value<'_>, key: &str| name.spells(key) || name.string().is_some_and(|name| alike(&name, key));
    let all = |key: &'static str| object.members().filter(move |(name, _)| is_key(*name, key)).map(|(_, value)| value);
    let strings = |key: &'static str| all(key).filter(|value| value.kind() == Kind::String);
    let mut found = Vec::new();
    if !all("ok").any(|value| value.kind() == Kind::False) {
        return found;
    }
    if all("approval_id").next().is_some() {
        found.extend(strings("status").filter(|value| is_word_of(*value, |word| word == "pending")));
    }
    if strings("call_id").any(|value| is_word_of(value, |word| word.parse::<CallId>().is_ok())) {
        found.extend(strings("error").filter(|value| is_word_of(*value, |word| Code::parse(word).is_some())));
    }
    found
}

/// Whether a string is such a word, in whatever case.
fn is_word_of(value: Value<'_>, is_it: impl Fn(&str) -> bool) -> bool {
    value.string().is_some_and(|text| is_it(&text.to_ascii_lowercase()))
}
