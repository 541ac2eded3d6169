//! Whether a change lets more through than before: a hint that promised less harm, a keyword of the input schema that
//! was stricter. What can't be told counts as looser.

use super::walk::{Part, Step};
use crate::decimal;
use crate::tree::{Kind, Value};
use std::cmp::Ordering;
use std::collections::HashSet;

/// What a changed hint raises, in a sentence.
pub(super) fn hint(part: &Part<'_>) -> Option<&'static str> {
    let told = |value: Option<Value<'_>>| value.and_then(Value::boolean);
    let (old, new) = (told(part.old), told(part.new));
    match part.key() {
        "readOnlyHint" => (old == Some(true)).then_some("no longer says that it only reads"),
        "destructiveHint" if new == Some(true) => Some("now says that it may destroy"),
        "destructiveHint" => (old == Some(false)).then_some("no longer says that it destroys nothing"),
        "openWorldHint" if new == Some(true) => Some("now says that it reaches beyond its own data"),
        "openWorldHint" => (old == Some(false)).then_some("no longer says that it keeps to its own data"),
        _ => None,
    }
}

/// What a change within the input schema loosens, in a sentence.
pub(super) fn keyword(part: &Part<'_>) -> Option<String> {
    if part.steps.contains(&Step::Condition) {
        return Some(format!("the condition {} changed, which may let more through", part.key()));
    }
    let above = part.steps.len().checked_sub(2).map(|place| part.steps[place]);
    match (part.steps.last()?, above) {
        (Step::Note, _) => None,
        (Step::Reference, _) => reference(part),
        (Step::Keyword, Some(Step::Schema)) => value(part),
        (Step::Keyword, _) => Some(format!("{} changed", part.key())),
        (Step::Schema, Some(Step::Names)) => {
            let holder = part.keys().nth(1).unwrap_or_default();
            (holder == "patternProperties" && part.new.is_none()).then(|| "a rule for names was taken away".to_owned())
        }
        (Step::Schema, Some(Step::Either)) => part.new.is_some().then(|| "one more alternative is accepted".to_owned()),
        (Step::Schema, Some(Step::All)) => part.old.is_some().then(|| "one condition less must hold".to_owned()),
        (Step::Schema, _) => subschema(part),
        (Step::Names, _) if matches!(part.key(), "properties" | "$defs" | "definitions") => None,
        (Step::Names | Step::Either | Step::All, _) => {
            part.old.is_some().then(|| format!("{} was taken away", part.key()))
        }
        (Step::Condition, _) => None,
    }
}

fn reference(part: &Part<'_>) -> Option<String> {
    let is_followed = matches!(part.key(), "$ref" | "$dynamicRef" | "$recursiveRef" | "$schema");
    (is_followed && part.old.is_some()).then(|| format!("{} leads elsewhere", part.key()))
}

/// A subschema under `items`, `additionalProperties` and the like that came, went or became another kind.
fn subschema(part: &Part<'_>) -> Option<String> {
    let accepts_all =
        |value: Value<'_>| value.kind() == Kind::True || (value.kind() == Kind::Object && value.count() == 0);
    match (part.old, part.new) {
        (None, _) => None,
        (Some(old), _) if accepts_all(old) => None,
        (Some(_), Some(new)) if new.kind() == Kind::False => None,
        (Some(old), _) if old.kind() == Kind::False => Some(format!("{} now lets more through", part.key())),
        (Some(_), _) => Some(format!("{} no longer checks what it checked", part.key())),
    }
}

/// A keyword that is judged by its value.
fn value(part: &Part<'_>) -> Option<String> {
    let key = part.key();
    let old = part.old?;
    let Some(new) = part.new else { return Some(format!("{key} was taken away")) };
    let looser = || Some(format!("{key} lets more through"));
    match key {
        "required" => {
            let gone: Vec<String> = texts(old).difference(&texts(new)).cloned().collect();
            named("no longer required", gone)
        }
        "enum" => named("newly allowed", sources(new).difference(&sources(old)).cloned().collect()),
        "type" => {
            let old = texts(old);
            let was_allowed = |kind: &String| old.contains(kind) || (kind == "integer" && old.contains("number"));
            named("newly allowed type", texts(new).into_iter().filter(|kind| !was_allowed(kind)).collect())
        }
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" | "minContains" => {
            if is_at_most(old, new) { None } else { looser() }
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" | "maxContains" => {
            if is_at_most(new, old) { None } else { looser() }
        }
        "uniqueItems" => (old.boolean() == Some(true)).then(looser).flatten(),
        _ => Some(format!("{key} changed, which may let more through")),
    }
}

fn named(what: &str, mut all: Vec<String>) -> Option<String> {
    all.sort_unstable();
    let most = 5.min(all.len());
    let more = if all.len() > most { format!(" and {} more", all.len() - most) } else { String::new() };
    let shown: Vec<String> = all[..most].iter().map(|name| super::short(name)).collect();
    (!all.is_empty()).then(|| format!("{what}: {}{more}", shown.join(", ")))
}

/// The strings of a list, or a string by itself.
fn texts(value: Value<'_>) -> HashSet<String> {
    let one = value.string().into_iter();
    one.chain(value.elements().filter_map(Value::string)).map(|text| text.into_owned()).collect()
}

fn sources(value: Value<'_>) -> HashSet<String> {
    value.elements().map(|element| element.source().to_owned()).collect()
}

/// Whether a number is surely no more than another.
fn is_at_most(a: Value<'_>, b: Value<'_>) -> bool {
    let are_numbers = a.kind() == Kind::Number && b.kind() == Kind::Number;
    are_numbers && decimal::compare(a.source(), b.source()).is_some_and(Ordering::is_le)
}
