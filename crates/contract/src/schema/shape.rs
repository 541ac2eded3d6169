//! What a schema can make a validator do, told before it is compiled: which subschemas look at the same value
//! (in place) and which at a part of it. Finds references that lead elsewhere, loops that never end and schemas
//! that multiply. Never recursive, and never follows a reference out of the schema.

use super::SchemaFault;
use serde_json::Value;
use std::collections::HashMap;

/// Most subschemas that may look at one value, references followed.
const MAX_IN_PLACE: u64 = 10_000;
/// Longest chain of subschemas that lead from one to the next at the same value.
const MAX_CHAIN: usize = 32;
/// Most schemas with an `$id` of their own in one schema, and most ways that lead from one subschema to another: what
/// compiling takes grows with both.
const MAX_RESOURCES: usize = 256;
const MAX_WAYS: usize = 100_000;
/// Dialects that the validator knows by itself; a reference to one is no way out.
const META: [&str; 2] = ["https://json-schema.org/draft/", "http://json-schema.org/draft-"];

/// Keywords whose subschemas look at the same value.
const IN_PLACE: [&str; 10] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies", "extends"];
/// Keywords whose subschemas look at parts of the value.
const BELOW: [&str; 11] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "contentSchema",
];
/// Keywords whose value is an object of subschemas by names that are no keywords.
const BY_NAME: [&str; 4] = ["properties", "patternProperties", "dependentSchemas", "dependencies"];
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// One reachable subschema.
pub(crate) struct Part<'s> {
    /// The subschema as it stands in the whole one.
    pub(crate) value: &'s Value,
    /// Its keywords.
    pub(crate) schema: &'s serde_json::Map<String, Value>,
    /// Subschemas that look at the same value, and the keyword that leads there.
    pub(crate) in_place: Vec<(&'s str, usize)>,
    /// Subschemas that look at parts of the value, and the keyword that leads there.
    pub(crate) below: Vec<(&'s str, usize)>,
}

/// All reachable subschemas, the root first.
pub(crate) struct Shape<'s> {
    pub(crate) parts: Vec<Part<'s>>,
    /// Most subschemas that look at one value.
    pub(crate) in_place: u64,
    /// Longest chain of them.
    pub(crate) chain: usize,
}

impl<'s> Shape<'s> {
    /// Walks a schema that is a JSON object.
    ///
    /// # Errors
    /// Where it leads elsewhere, never ends or multiplies.
    pub(crate) fn read(root: &'s Value) -> Result<Shape<'s>, SchemaFault> {
        let names = Names::read(root);
        if names.resources.len() > MAX_RESOURCES {
            return Err(SchemaFault::TooLarge("more than 256 schemas with an $id"));
        }
        let mut walk = Walk { root, names, known: HashMap::new(), parts: Vec::new(), ways: 0 };
        walk.part(root);
        let mut next = 0;
        while next < walk.parts.len() {
            walk.follow(next)?;
            next += 1;
        }
        let (in_place, chain) = weigh(&walk.parts)?;
        Ok(Shape { parts: walk.parts, in_place, chain })
    }
}

struct Walk<'s> {
    root: &'s Value,
    names: Names<'s>,
    known: HashMap<*const Value, usize>,
    parts: Vec<Part<'s>>,
    ways: usize,
}

impl<'s> Walk<'s> {
    /// The number of a subschema; None for `true`, `false` and what is no schema.
    fn part(&mut self, value: &'s Value) -> Option<usize> {
        let schema = value.as_object()?;
        let next = self.parts.len();
        let place = *self.known.entry(std::ptr::from_ref(value)).or_insert(next);
        if place == next {
            self.parts.push(Part { value, schema, in_place: Vec::new(), below: Vec::new() });
        }
        Some(place)
    }

    fn follow(&mut self, index: usize) -> Result<(), SchemaFault> {
        for (keyword, value) in self.parts[index].schema {
            let keyword = keyword.as_str();
            let is_reference = REFERENCES.contains(&keyword);
            let in_place = is_reference || IN_PLACE.contains(&keyword);
            if !in_place && !BELOW.contains(&keyword) {
                continue;
            }
            let targets: Vec<&Value> = match value {
                value if is_reference => self.targets(keyword, value)?,
                Value::Object(members) if BY_NAME.contains(&keyword) => members.values().collect(),
                Value::Array(values) => values.iter().collect(),
                value => vec![value],
            };
            self.ways += targets.len();
            if self.ways > MAX_WAYS {
                return Err(SchemaFault::Multiplies);
            }
            for target in targets {
                let Some(target) = self.part(target) else { continue };
                let part = &mut self.parts[index];
                if in_place { &mut part.in_place } else { &mut part.below }.push((keyword, target));
            }
        }
        Ok(())
    }

    /// Every subschema that a reference may mean: rather one too many than one too few.
    fn targets(&self, keyword: &str, value: &'s Value) -> Result<Vec<&'s Value>, SchemaFault> {
        let elsewhere = || SchemaFault::Reference(value.as_str().unwrap_or("no text").chars().take(200).collect());
        let reference = value.as_str().ok_or_else(elsewhere)?;
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if META.iter().any(|meta| base.starts_with(meta)) {
            return Ok(Vec::new());
        }
        let fragment = decode(fragment);
        let mut bases: Vec<&'s Value> = self.names.resources.iter().map(|&(_, value)| value).collect();
        if base.is_empty() || bases.is_empty() {
            bases.push(self.root);
        }
        if !base.is_empty() && self.names.resources.is_empty() {
            return Err(elsewhere());
        }
        let mut found: Vec<&'s Value> = Vec::new();
        if fragment.is_empty() {
            found.extend(bases);
        } else if fragment.starts_with('/') {
            found.extend(bases.into_iter().filter_map(|base| base.pointer(&fragment)));
        }
        let named = self.names.anchors.iter().filter(|(name, _)| *name == fragment);
        found.extend(named.map(|&(_, value)| value));
        if keyword == "$recursiveRef" {
            found.extend(self.names.recursive.iter().copied());
        }
        if found.is_empty() { Err(elsewhere()) } else { Ok(found) }
    }
}

/// The names that references may use, wherever they stand.
#[derive(Default)]
struct Names<'s> {
    resources: Vec<(&'s str, &'s Value)>,
    anchors: Vec<(&'s str, &'s Value)>,
    recursive: Vec<&'s Value>,
}

impl<'s> Names<'s> {
    fn read(root: &'s Value) -> Names<'s> {
        let mut names = Names::default();
        let mut open = vec![root];
        while let Some(value) = open.pop() {
            match value {
                Value::Array(values) => open.extend(values),
                Value::Object(members) => {
                    for (key, inner) in members {
                        match (key.as_str(), inner) {
                            ("$id" | "id", Value::String(id)) => match id.strip_prefix('#') {
                                Some(anchor) => names.anchors.push((anchor, value)),
                                None => names.resources.push((id, value)),
                            },
                            ("$anchor" | "$dynamicAnchor", Value::String(name)) => names.anchors.push((name, value)),
                            ("$recursiveAnchor", Value::Bool(true)) => names.recursive.push(value),
                            _ => {}
                        }
                    }
                    open.extend(members.values());
                }
                _ => {}
            }
        }
        names
    }
}

/// Percent-decodes a fragment; bytes that make no UTF-8 make no pointer.
fn decode(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let pair = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()).filter(|_| first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The most subschemas that look at one value, and the longest chain of them.
fn weigh(parts: &[Part<'_>]) -> Result<(u64, usize), SchemaFault> {
    // A part is weighed when everything that it leads to in place has been.
    let mut waits: Vec<usize> = parts.iter().map(|part| part.in_place.len()).collect();
    let mut leads_here: Vec<Vec<usize>> = vec![Vec::new(); parts.len()];
    for (index, part) in parts.iter().enumerate() {
        part.in_place.iter().for_each(|&(_, target)| leads_here[target].push(index));
    }
    let own = |part: &Part<'_>| {
        1 + IN_PLACE.iter().filter_map(|key| part.schema.get(*key)?.as_array()).map(Vec::len).sum::<usize>()
    };
    let mut weights: Vec<(u64, usize)> = parts.iter().map(|part| (own(part) as u64, 1)).collect();
    let mut ready: Vec<usize> = (0..parts.len()).filter(|&index| waits[index] == 0).collect();
    let mut weighed = 0;
    while let Some(index) = ready.pop() {
        weighed += 1;
        let (weight, chain) = weights[index];
        if weight > MAX_IN_PLACE || chain > MAX_CHAIN {
            return Err(SchemaFault::Multiplies);
        }
        for &above in &leads_here[index] {
            let (sum, longest) = &mut weights[above];
            *sum = sum.saturating_add(weight);
            *longest = (*longest).max(chain + 1);
            waits[above] -= 1;
            if waits[above] == 0 {
                ready.push(above);
            }
        }
    }
    if weighed < parts.len() {
        return Err(SchemaFault::Endless);
    }
    let most = weights.iter().map(|&(weight, _)| weight).max().unwrap_or(1);
    let chain = weights.iter().map(|&(_, chain)| chain).max().unwrap_or(1);
    Ok((most, chain))
}
