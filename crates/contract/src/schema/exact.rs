//! The digits of a schema's own numbers, where its parsed form would round them: they are kept beside it, under names
//! that no schema can use for anything of its own.

use super::bounds::{NOT_LISTED, NOT_THE_ONE, Wanting};
use super::rewrite::Rewrite;
use super::shape::Shape;
use super::{Options, Own};
use crate::canonical::{self, Numbers};
use crate::decimal;
use crate::instance::{Received, Seen};
use crate::tree::{self, Kind, Tree};
use jsonschema::paths::Location;
use jsonschema::{Draft, Keyword, ValidationError};
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::collections::HashMap;

/// What our own names begin with. Those of a schema that begin so are left out.
const MARK: &str = "\0exact ";
const BOUNDS: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
/// From here on whole numbers are no longer what a double is printed as, and the validator compares them as doubles
/// where one is written with a dot.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// Notes the digits that would be lost.
pub(super) fn keep_digits<'s>(
    root: &'s Value,
    text: &Tree<'_>,
    shape: &Shape<'s>,
    draft: Draft,
    rewrite: &mut Rewrite<'s>,
) {
    for part in &shape.parts {
        let foreign = part.schema.keys().filter(|name| name.starts_with(MARK));
        let foreign: Vec<_> = foreign.map(|name| (name.as_str(), None)).collect();
        if !foreign.is_empty() {
            rewrite.leave_out(part, foreign);
        }
    }
    let is_plain = |source: &str| source.len() <= 15 && decimal::small(source).is_some();
    if text.all().all(|value| value.kind() != Kind::Number || is_plain(value.source())) {
        return;
    }
    let texts = texts(root, text);
    for part in &shape.parts {
        let Some(given) = texts.get(&std::ptr::from_ref(part.value)) else { continue };
        for (keyword, value) in part.schema {
            let Some(source) = given.get(keyword) else { continue };
            if BOUNDS.contains(&keyword.as_str()) && is_lost(value, source, Loss::OfDigits) {
                rewrite.put(part, keyword, format!("{MARK}{keyword}"), source.source().into());
            }
            let is_value = match keyword.as_str() {
                // Draft 4 has no `const`.
                "const" => draft != Draft::Draft4,
                "enum" => value.is_array(),
                _ => false,
            };
            if is_value && is_lost(value, source, Loss::OfEquality) {
                rewrite.leave_out(part, [(keyword.as_str(), None)]);
                rewrite.put(part, keyword, format!("{MARK}{keyword}"), source.source().into());
            }
        }
    }
}

/// The texts of all objects in a schema, whose `$schema` has been taken away.
fn texts<'t>(root: &Value, text: &'t Tree<'_>) -> HashMap<*const Value, tree::Value<'t>> {
    let mut texts = HashMap::new();
    let mut open = vec![(root, text.root())];
    while let Some((value, source)) = open.pop() {
        match value {
            Value::Array(values) => open.extend(values.iter().zip(source.elements())),
            Value::Object(members) => {
                texts.insert(std::ptr::from_ref(value), source);
                let mut inner = members.iter().peekable();
                for (name, source) in source.members() {
                    if let Some((_, value)) = inner.next_if(|(key, _)| name.spells(key)) {
                        open.push((value, source));
                    }
                }
            }
            _ => {}
        }
    }
    texts
}

/// What is looked for in a number that was parsed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// Another value.
    OfDigits,
    /// That, or one that the validator would hold equal to another.
    OfEquality,
}

/// Whether any number in a parsed value is no longer what its text says.
fn is_lost(value: &Value, source: tree::Value<'_>, loss: Loss) -> bool {
    match value {
        Value::Number(number) => {
            let is_rounded = decimal::compare(source.source(), &number.to_string()) != Some(Ordering::Equal);
            let is_large = number.as_f64().is_some_and(|double| double.abs() >= MAX_WHOLE);
            is_rounded || (loss == Loss::OfEquality && is_large)
        }
        Value::Array(values) => {
            values.iter().zip(source.elements()).any(|(value, source)| is_lost(value, source, loss))
        }
        Value::Object(members) => {
            members.values().zip(source.members()).any(|(value, (_, source))| is_lost(value, source, loss))
        }
        _ => false,
    }
}

/// The text of a keyword's number, with every digit.
pub(super) fn text_of(parent: &Map<String, Value>, keyword: &str, value: &Value) -> Box<str> {
    let kept = parent.get(&format!("{MARK}{keyword}")).and_then(Value::as_str);
    kept.map_or_else(|| value.to_string().into(), Into::into)
}

/// `const` and `enum` of numbers with more digits than are parsed.
struct Among {
    problem: &'static str,
    /// As the schema says.
    text: Box<str>,
    /// By value.
    allowed: Vec<Vec<u8>>,
}

impl Among {
    fn new(problem: &'static str, value: &Value) -> Among {
        let text = value.as_str().unwrap_or_default();
        let by_value = |value| {
            let mut out = Vec::new();
            canonical::write(value, Numbers::ByValue, &mut out);
            out
        };
        // It stood in a schema that was read, and is no longer than that.
        let tree = Tree::read(text.as_bytes()).unwrap_or_else(|_| Tree::empty_object());
        let allowed = match problem {
            NOT_LISTED => tree.root().elements().map(by_value).collect(),
            _ => vec![by_value(tree.root())],
        };
        Among { problem, text: text.into(), allowed }
    }
}

impl<'i> Keyword<'i, Received> for Among {
    fn validate(&self, instance: Seen<'i>) -> Result<(), ValidationError<'i>> {
        let wanting = Wanting { problem: self.problem, expected: &self.text };
        if self.is_valid(instance) { Ok(()) } else { Err(wanting.error()) }
    }
    fn is_valid(&self, instance: Seen<'i>) -> bool {
        // Without fuel it does not matter.
        instance.by_value().is_none_or(|given| self.allowed.contains(&given))
    }
}

/// Adds what is checked by the kept digits.
pub(super) fn with_keywords(options: Options<'_>) -> Options<'_> {
    options
        .with_keyword(format!("{MARK}const"), |_, value, _: Location| {
            Ok(Box::new(Among::new(NOT_THE_ONE, value)) as Own)
        })
        .with_keyword(format!("{MARK}enum"), |_, value, _: Location| Ok(Box::new(Among::new(NOT_LISTED, value)) as Own))
}
