//! A copy of a schema with some of its keywords left out and others put in. What stays, stays in its place.

use super::shape::Part;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// A member of a subschema: a keyword, or a name below it.
pub(super) type Member<'s> = (&'s str, Option<&'s str>);

/// What is to be changed, subschema by subschema. A subschema is known by where it lies in memory.
#[derive(Default)]
pub(super) struct Rewrite<'s> {
    gone: HashMap<*const Value, Vec<Member<'s>>>,
    put: HashMap<*const Value, Vec<(&'s str, String, Value)>>,
}

impl<'s> Rewrite<'s> {
    /// Leaves members of a subschema out.
    pub(super) fn leave_out(&mut self, part: &Part<'s>, members: impl IntoIterator<Item = Member<'s>>) {
        self.gone.entry(std::ptr::from_ref(part.value)).or_default().extend(members);
    }

    /// Puts a keyword of our own where `keyword` stands.
    pub(super) fn put(&mut self, part: &Part<'s>, keyword: &'s str, name: String, value: Value) {
        self.put.entry(std::ptr::from_ref(part.value)).or_default().push((keyword, name, value));
    }

    /// The changed copy; None where nothing is changed. Goes as deep as the schema, which is bounded.
    pub(super) fn of(&self, root: &Value) -> Option<Value> {
        (!self.gone.is_empty() || !self.put.is_empty()).then(|| self.value(root))
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::Array(values) => values.iter().map(|value| self.value(value)).collect(),
            Value::Object(members) => {
                let place = std::ptr::from_ref(value);
                let gone = self.gone.get(&place).map_or(&[][..], Vec::as_slice);
                let put = self.put.get(&place).map_or(&[][..], Vec::as_slice);
                let mut kept = Map::new();
                for (key, value) in members {
                    if !gone.contains(&(key.as_str(), None)) {
                        kept.insert(key.clone(), self.below(key, value, gone));
                    }
                    for (_, name, value) in put.iter().filter(|(keyword, ..)| keyword == key) {
                        kept.insert(name.clone(), value.clone());
                    }
                }
                Value::Object(kept)
            }
            other => other.clone(),
        }
    }

    fn below(&self, key: &str, value: &Value, gone: &[Member<'_>]) -> Value {
        match value {
            Value::Object(members) if gone.iter().any(|(keyword, name)| *keyword == key && name.is_some()) => {
                let kept = members.iter().filter(|(name, _)| !gone.contains(&(key, Some(name.as_str()))));
                kept.map(|(name, value)| (name.clone(), self.value(value))).collect()
            }
            value => self.value(value),
        }
    }
}
