//! Finds the places at which a definition differs from an approved one, down to single keywords and texts. What
//! some approved version had at the same place is no difference, nor is another order of what has none.

use crate::canonical::{self, Numbers};
use crate::hash::Hash;
use crate::tree::{Kind, Tree, Value, push_segment};
use rustc_hash::FxHashMap;

/// Lists whose order means nothing.
const UNORDERED: [&str; 5] = ["required", "enum", "type", "default", "examples"];

/// One place at which two versions differ.
pub(super) struct Part<'t> {
    /// Its JSON pointer.
    pub(super) path: String,
    /// What stands there in the approved version that it is compared with.
    pub(super) old: Option<Value<'t>>,
    /// What stands there now.
    pub(super) new: Option<Value<'t>>,
    /// What kind of member it is in.
    pub(super) field: Field,
    /// What the segments of the path lead to within a schema.
    pub(super) steps: Vec<Step>,
}

impl Part<'_> {
    /// The last segments of the path, the last one first.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.path.rsplit('/')
    }
    /// The last segment of the path.
    pub(super) fn key(&self) -> &str {
        self.keys().next().unwrap_or_default()
    }
}

/// The members of a definition that are judged in their own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// `_meta`
    Meta,
    /// `icons`
    Icons,
    /// A hint in `annotations`.
    Hint,
    /// Within `inputSchema`, where a looser keyword raises.
    Input,
    Other,
}

/// What a segment of a path leads to within a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A subschema.
    Schema,
    /// Subschemas by names.
    Names,
    /// Subschemas of which one must fit.
    Either,
    /// Subschemas that must all fit.
    All,
    /// Something under which what is accepted may turn around.
    Condition,
    /// A keyword that is judged by its value, or a part of it.
    Keyword,
    /// A keyword that says nothing of values, or a part of it: texts, defaults, examples.
    Note,
    /// A keyword by which schemas find each other.
    Reference,
}

impl Step {
    /// Where the next segment leads.
    fn next(before: Option<Step>, segment: &str) -> Step {
        match before {
            None | Some(Step::Names | Step::Either | Step::All) => Step::Schema,
            Some(Step::Schema) => Step::of_keyword(segment),
            Some(inner) => inner,
        }
    }

    fn of_keyword(keyword: &str) -> Step {
        match keyword {
            "properties" | "patternProperties" | "$defs" | "definitions" => Step::Names,
            "anyOf" | "oneOf" => Step::Either,
            "allOf" => Step::All,
            "items"
            | "prefixItems"
            | "contains"
            | "propertyNames"
            | "additionalProperties"
            | "additionalItems"
            | "unevaluatedProperties"
            | "unevaluatedItems"
            | "contentSchema" => Step::Schema,
            "not" | "if" | "then" | "else" | "dependentSchemas" | "dependentRequired" | "dependencies" => {
                Step::Condition
            }
            "$ref" | "$dynamicRef" | "$recursiveRef" | "$schema" | "$id" | "id" | "$anchor" | "$dynamicAnchor" => {
                Step::Reference
            }
            "title" | "description" | "default" | "examples" | "example" | "$comment" | "deprecated" | "readOnly"
            | "writeOnly" => Step::Note,
            _ => Step::Keyword,
        }
    }
}

/// All places at which `now` differs from the last of the approved versions.
pub(super) fn parts<'t>(approved: &[&'t Tree<'t>], now: &'t Tree<'t>) -> Vec<Part<'t>> {
    let side = |tree: &'t Tree<'t>| Side { digests: Digests::of(tree), value: Some(tree.root()) };
    let then: Vec<Side<'t>> = approved.iter().copied().map(side).collect();
    let now = side(now);
    let mut walk = Walk {
        digests: then.iter().map(|side| &side.digests).collect(),
        now: &now.digests,
        is_resource: approved.last().is_some_and(|version| version.root().get("uri").is_some()),
        parts: Vec::new(),
        path: String::new(),
        steps: Vec::new(),
    };
    let then: Vec<Place<'t>> = then.iter().map(|side| Place { value: side.value, was_above: false }).collect();
    walk.differ(&then, now.value, Field::Other);
    walk.parts
}

struct Side<'t> {
    digests: Digests,
    value: Option<Value<'t>>,
}

/// What an approved version has at a place.
#[derive(Clone, Copy)]
struct Place<'t> {
    value: Option<Value<'t>>,
    /// Whether it has that in which the place is.
    was_above: bool,
}

struct Walk<'w, 't> {
    digests: Vec<&'w Digests>,
    now: &'w Digests,
    is_resource: bool,
    parts: Vec<Part<'t>>,
    path: String,
    steps: Vec<Step>,
}

impl<'t> Walk<'_, 't> {
    /// As deep as a text may be nested, which is bounded.
    fn differ(&mut self, then: &[Place<'t>], new: Option<Value<'t>>, field: Field) {
        if self.is_no_change(then, new) {
            return;
        }
        let old = then.last().and_then(|place| place.value);
        match (old, new) {
            (Some(old), Some(new)) if (old.kind(), new.kind()) == (Kind::Object, Kind::Object) => {
                self.objects(then, Some(new), field);
            }
            (Some(old), Some(new))
                if (old.kind(), new.kind()) == (Kind::Array, Kind::Array) && !self.is_unordered() =>
            {
                self.lists(then, old, new, field);
            }
            // Each hint is judged by itself, also where all come or go at once.
            (_, new) if self.path == "/annotations" => self.objects(then, new, field),
            (old, new) => {
                self.parts.push(Part { path: self.path.clone(), old, new, field, steps: self.steps.clone() });
            }
        }
    }

    fn is_unordered(&self) -> bool {
        UNORDERED.contains(&self.path.rsplit('/').next().unwrap_or_default())
    }

    /// Whether some approved version had this: the same value, or nothing in something that it had.
    fn is_no_change(&self, then: &[Place<'t>], new: Option<Value<'t>>) -> bool {
        let now = new.map(|value| self.now.get(value));
        then.iter().zip(&self.digests).any(|(place, digests)| match (place.value, now) {
            (Some(value), Some(now)) => digests.get(value) == now,
            (None, None) => place.was_above,
            _ => false,
        })
    }

    fn objects(&mut self, then: &[Place<'t>], new: Option<Value<'t>>, field: Field) {
        let all: Vec<Vec<(String, Value<'t>)>> = then.iter().map(|place| members(place.value)).collect();
        let names: Vec<FxHashMap<&str, Value<'t>>> = all.iter().map(|members| by_name(members)).collect();
        let new = members(new);
        let new_names = by_name(&new);
        let none = Vec::new();
        let old = all.last().unwrap_or(&none);
        let old_names = names.last();
        let come = new.iter().filter(|(key, _)| old_names.is_none_or(|names| !names.contains_key(key.as_str())));
        for (key, _) in old.iter().chain(come) {
            let at = |(place, names): (&Place<'t>, &FxHashMap<&str, Value<'t>>)| Place {
                value: names.get(key.as_str()).copied(),
                was_above: place.value.is_some(),
            };
            let places: Vec<Place<'t>> = then.iter().zip(&names).map(at).collect();
            self.step(key, &places, new_names.get(key.as_str()).copied(), field);
        }
    }

    fn step(&mut self, segment: &str, then: &[Place<'t>], new: Option<Value<'t>>, field: Field) {
        let (length, steps) = (self.path.len(), self.steps.len());
        let above_is = |path: &str| self.path == path;
        let field = match segment {
            "_meta" if above_is("") => Field::Meta,
            "icons" if above_is("") => Field::Icons,
            "inputSchema" if above_is("") => Field::Input,
            hint if above_is("/annotations") && hint.ends_with("Hint") => Field::Hint,
            _ => field,
        };
        push_segment(&mut self.path, segment);
        if field == Field::Input {
            self.steps.push(Step::next(self.steps.last().copied(), segment));
        }
        // Sizes and times of resources are new at every listing.
        let varies = self.is_resource && matches!(self.path.as_str(), "/size" | "/annotations/lastModified");
        if !varies {
            self.differ(then, new, field);
        }
        self.path.truncate(length);
        self.steps.truncate(steps);
    }

    /// Elements that are equal at both ends are passed over; the others are compared in their order.
    fn lists(&mut self, then: &[Place<'t>], old: Value<'t>, new: Value<'t>, field: Field) {
        let Some(digests) = self.digests.last() else { return };
        let (old, new): (Vec<_>, Vec<_>) = (old.elements().collect(), new.elements().collect());
        let is_same = |(old, new): &(&Value<'t>, &Value<'t>)| digests.get(**old) == self.now.get(**new);
        let start = old.iter().zip(&new).take_while(is_same).count();
        let most = old.len().min(new.len()) - start;
        let end = old.iter().rev().zip(new.iter().rev()).take(most).take_while(is_same).count();
        let (old_end, new_end) = (old.len() - end, new.len() - end);
        let older: Vec<Vec<Value<'t>>> =
            then.iter().map(|place| place.value.into_iter().flat_map(Value::elements).collect()).collect();
        for place in start..old_end.max(new_end) {
            let at = |(there, elements): (&Place<'t>, &Vec<Value<'t>>)| Place {
                value: elements.get(place).copied(),
                was_above: there.value.is_some(),
            };
            let mut places: Vec<Place<'t>> = then.iter().zip(&older).map(at).collect();
            if let Some(newest) = places.last_mut() {
                newest.value = (place < old_end).then(|| old[place]);
            }
            self.step(&place.to_string(), &places, (place < new_end).then(|| new[place]), field);
        }
    }
}

fn members(value: Option<Value<'_>>) -> Vec<(String, Value<'_>)> {
    let members = value.into_iter().flat_map(Value::members);
    members.map(|(key, value)| (key.string().unwrap_or_default().into_owned(), value)).collect()
}

fn by_name<'m, 't>(members: &'m [(String, Value<'t>)]) -> FxHashMap<&'m str, Value<'t>> {
    members.iter().map(|(key, value)| (key.as_str(), *value)).collect()
}

/// What every value of a text is, the order of lists that have none left out: equal where nothing differs.
struct Digests(Vec<Hash>);

impl Digests {
    fn of(tree: &Tree<'_>) -> Digests {
        let mut digests = Digests(vec![Hash::from_bytes([0; 32]); tree.len()]);
        digests.fill(tree.root(), "");
        digests
    }

    fn get(&self, value: Value<'_>) -> Hash {
        self.0[value.at as usize]
    }

    /// As deep as a text may be nested, which is bounded.
    fn fill(&mut self, value: Value<'_>, key: &str) -> Hash {
        let mut text = Vec::new();
        match value.kind() {
            Kind::Array => {
                let mut elements: Vec<Hash> = value.elements().map(|element| self.fill(element, "")).collect();
                if UNORDERED.contains(&key) {
                    elements.sort_unstable();
                }
                text.push(b'[');
                elements.iter().for_each(|element| text.extend_from_slice(element.as_bytes()));
            }
            Kind::Object => {
                let mut members: Vec<(Hash, Hash)> = value
                    .members()
                    .map(|(name, value)| {
                        let name = name.string().unwrap_or_default();
                        (Hash::of(name.as_bytes()), self.fill(value, &name))
                    })
                    .collect();
                members.sort_unstable();
                text.push(b'{');
                for (name, value) in members {
                    text.extend_from_slice(name.as_bytes());
                    text.extend_from_slice(value.as_bytes());
                }
            }
            _ => canonical::write(value, Numbers::Exact, &mut text),
        }
        let digest = Hash::of(&text);
        self.0[value.at as usize] = digest;
        digest
    }
}
