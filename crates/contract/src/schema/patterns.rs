//! Takes the patterns out of a schema that the linear engine lacks, so that everything else is still checked
//! (docs/policy.md). What would refuse more without them (`not`, `oneOf`, `if`) goes with them: never a call refused
//! for a pattern that nobody looked at.

use super::rewrite::{Member, Rewrite};
use super::shape::{Part, Shape};
use super::{options, visible_text};
use serde_json::{Value, json};
use std::collections::HashSet;

/// Most patterns, and most bytes of them, in one schema; further ones are left out.
const MAX_PATTERNS: usize = 256;
const MAX_BYTES: usize = 32 << 10;
/// After so many that the engine lacks or that are too large, the others are left out untried: each may take a
/// millisecond.
const MAX_UNFIT: usize = 32;
/// Largest compiled size in bytes, and the steps that one byte of text then costs.
const SIZES: [(usize, u64); 3] = [(8 << 10, 4), (64 << 10, 32), (512 << 10, 256)];
/// Largest compiled size of all patterns of one schema together.
const MAX_COMPILED: usize = 4 << 20;
/// The bound that the whole schema is compiled with.
pub(super) const MAX_SIZE: usize = SIZES[2].0;

/// What is left out of a schema, and what the rest costs.
pub(super) struct Sorted {
    /// The patterns that are not checked.
    pub(super) skipped: Vec<String>,
    /// Steps for one byte of a string.
    pub(super) byte_price: u64,
}

/// Tries every pattern of a schema.
pub(super) fn sort_out<'s>(shape: &Shape<'s>, rewrite: &mut Rewrite<'s>) -> Sorted {
    let mut trial = Trial::default();
    let mut partial = Vec::new();
    let mut loosened = false;
    for (index, part) in shape.parts.iter().enumerate() {
        let before = trial.skipped.len();
        if let Some(pattern) = part.schema.get("pattern").and_then(Value::as_str)
            && !trial.fits(pattern, json!({ "pattern": pattern }))
        {
            rewrite.leave_out(part, [("pattern", None)]);
        }
        if let Some(Value::Object(patterns)) = part.schema.get("patternProperties") {
            for pattern in patterns.keys() {
                if !trial.fits(pattern, json!({ "patternProperties": { pattern: true } })) {
                    // Names that it would have matched must not count as additional ones.
                    let gone = [("patternProperties", Some(pattern.as_str())), ("additionalProperties", None)];
                    rewrite.leave_out(part, gone);
                    loosened = true;
                }
            }
        }
        if trial.skipped.len() > before {
            partial.push(index);
        }
    }
    if !trial.skipped.is_empty() {
        spread(shape, partial, rewrite, &mut loosened);
    }
    if loosened {
        for part in &shape.parts {
            rewrite.leave_out(part, [("unevaluatedProperties", None), ("unevaluatedItems", None)]);
        }
    }
    Sorted { skipped: trial.skipped, byte_price: trial.byte_price }
}

/// Follows the parts that check less than they say up to those that would refuse more for it.
fn spread<'s>(shape: &Shape<'s>, mut open: Vec<usize>, rewrite: &mut Rewrite<'s>, loosened: &mut bool) {
    let mut leads_here: Vec<Vec<(&str, usize)>> = vec![Vec::new(); shape.parts.len()];
    for (index, part) in shape.parts.iter().enumerate() {
        for &(keyword, target) in part.in_place.iter().chain(&part.below) {
            leads_here[target].push((keyword, index));
        }
    }
    let mut known: HashSet<usize> = open.iter().copied().collect();
    while let Some(index) = open.pop() {
        for &(keyword, above) in &leads_here[index] {
            let part = &shape.parts[above];
            let members = turned(part, keyword);
            if !members.is_empty() {
                *loosened = true;
                rewrite.leave_out(part, members);
            }
            if known.insert(above) {
                open.push(above);
            }
        }
    }
}

/// The keywords of a part that refuse more where what `keyword` leads to accepts more.
fn turned<'s>(part: &Part<'s>, keyword: &'s str) -> Vec<Member<'s>> {
    match keyword {
        "not" | "oneOf" => vec![(keyword, None)],
        "if" => vec![("if", None), ("then", None), ("else", None)],
        "contains" if part.schema.contains_key("maxContains") => vec![("maxContains", None)],
        _ => Vec::new(),
    }
}

#[derive(Default)]
struct Trial {
    tried: usize,
    bytes: usize,
    compiled: usize,
    byte_price: u64,
    skipped: Vec<String>,
}

impl Trial {
    fn fits(&mut self, pattern: &str, schema: Value) -> bool {
        self.tried += 1;
        self.bytes += pattern.len();
        if self.tried <= MAX_PATTERNS && self.bytes <= MAX_BYTES && self.skipped.len() < MAX_UNFIT {
            for (size, price) in SIZES {
                if self.compiled + size <= MAX_COMPILED && options(size).build(&schema).is_ok() {
                    self.compiled += size;
                    self.byte_price = self.byte_price.max(price);
                    return true;
                }
            }
        }
        self.skipped.push(visible_text(pattern));
        false
    }
}
