//! The names of arguments that a schema declares, so that one in other letters is told from an argument of its own:
//! readers that take `Env` for `env` would see what neither the schema nor a rule has seen.

use crate::problem::Problem;
use crate::tree::{Kind, Value as Given, push_segment};
use rustc_hash::FxHashMap;
use serde_json::Value;

/// Deepest level of arguments whose names are looked at.
const MAX_DEPTH: usize = 8;
/// Most schemas looked into; what is beyond has no names.
const MAX_PARTS: usize = 4_000;
/// Most problems told at once.
const MAX_PROBLEMS: usize = 20;

/// The names that an object may have, with what is declared within each; or those of an array's elements.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    names: FxHashMap<Box<str>, Declared>,
    elements: Option<Box<Declared>>,
}

/// What one value's schema says, its alternatives and references to itself included.
#[derive(Default)]
struct Level<'s> {
    parts: Vec<&'s Value>,
    properties: Vec<(&'s str, &'s Value)>,
    items: Vec<&'s Value>,
}

impl Declared {
    /// Reads a schema.
    pub(crate) fn of(schema: &Value) -> Declared {
        let mut left = MAX_PARTS;
        Declared::within(&[schema], schema, MAX_DEPTH, &mut left).unwrap_or_default()
    }

    /// None: there is too much of it. Then nothing is said of names there, rather than something wrong.
    fn within(schemas: &[&Value], root: &Value, depth: usize, left: &mut usize) -> Option<Declared> {
        let mut level = Level::default();
        for schema in schemas {
            level.add(schema, root, left)?;
        }
        let mut declared = Declared::default();
        let Some(depth) = depth.checked_sub(1) else { return Some(declared) };
        let mut inner: FxHashMap<&str, Vec<&Value>> = FxHashMap::default();
        for (name, schema) in level.properties {
            inner.entry(name).or_default().push(schema);
        }
        for (name, schemas) in inner {
            let within = Declared::within(&schemas, root, depth, left).unwrap_or_default();
            declared.names.insert(name.into(), within);
        }
        if !level.items.is_empty() {
            declared.elements = Declared::within(&level.items, root, depth, left).map(Box::new);
        }
        Some(declared)
    }

    /// The names given that are declared ones in other letters.
    pub(crate) fn disguised(&self, given: Given<'_>) -> Vec<Problem> {
        let mut problems = Vec::new();
        self.look(given, "", &mut problems);
        problems
    }

    fn look(&self, given: Given<'_>, path: &str, problems: &mut Vec<Problem>) {
        match given.kind() {
            Kind::Object if !self.names.is_empty() => {
                for (key, value) in given.members() {
                    let key = key.string().unwrap_or_default();
                    let within = |path: &str| {
                        let mut path = path.to_owned();
                        push_segment(&mut path, &key);
                        path
                    };
                    if let Some(declared) = self.names.get(&*key) {
                        if !declared.is_empty() {
                            declared.look(value, &within(path), problems);
                        }
                    } else if let Some(meant) = self.meant(&key)
                        && problems.len() < MAX_PROBLEMS
                    {
                        let problem = "is an argument's name in other letters; names have to be spelled exactly";
                        problems.push(Problem::new(within(path), problem).meaning(meant));
                    }
                }
            }
            Kind::Array => {
                let Some(declared) = self.elements.as_deref().filter(|declared| !declared.is_empty()) else { return };
                for (place, element) in given.elements().enumerate() {
                    declared.look(element, &format!("{path}/{place}"), problems);
                }
            }
            _ => {}
        }
    }

    fn is_empty(&self) -> bool {
        self.names.is_empty() && self.elements.is_none()
    }

    fn meant(&self, key: &str) -> Option<&str> {
        let folded = fold(key);
        self.names.keys().find(|name| fold(name) == folded).map(|name| &**name)
    }
}

impl<'s> Level<'s> {
    fn add(&mut self, schema: &'s Value, root: &'s Value, left: &mut usize) -> Option<()> {
        let Some(members) = schema.as_object() else { return Some(()) };
        // References may go in a circle.
        if self.parts.iter().any(|part| std::ptr::eq(*part, schema)) {
            return Some(());
        }
        self.parts.push(schema);
        *left = left.checked_sub(1)?;
        self.properties.extend(
            members
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .map(|(name, schema)| (name.as_str(), schema)),
        );
        self.items.extend(members.get("items").filter(|items| items.is_object()));
        for key in ["allOf", "anyOf", "oneOf"] {
            for part in members.get(key).and_then(Value::as_array).into_iter().flatten() {
                self.add(part, root, left)?;
            }
        }
        for key in ["if", "then", "else"] {
            if let Some(part) = members.get(key) {
                self.add(part, root, left)?;
            }
        }
        let reference = members.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
        match reference.and_then(|pointer| root.pointer(pointer)) {
            Some(part) => self.add(part, root, left),
            None => Some(()),
        }
    }
}

/// Equal for texts that differ in the case of letters only, the long s and the Kelvin sign included.
fn fold(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}
