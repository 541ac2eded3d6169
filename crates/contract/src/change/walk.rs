//! Finds the places at which a definition differs from the newest approved one, down to single keywords and texts. What
//! some approved version had at the same place is no difference, nor is another order of what has none.

use crate::canonical::{self, Numbers};
use crate::tree::{Kind, Tree, Value, push_segment};
use rustc_hash::FxHashMap;

/// Lists whose order means nothing.
const UNORDERED: [&str; 5] = ["required", "enum", "type", "default", "examples"];

/// One place at which two versions differ.
pub(super) struct Part<'t> {
    /// Its JSON pointer.
    pub(super) path: String,
    /// What stands there in the newest approved version.
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

/// All places at which `now` differs from the newest of the approved versions.
pub(super) fn parts<'t>(approved: &'t [Tree<'t>], now: &'t Tree<'t>) -> Vec<Part<'t>> {
    let mut walk = Walk { approved, parts: Vec::new(), path: String::new(), steps: Vec::new() };
    walk.differ(approved.last().map(Tree::root), Some(now.root()), Field::Other);
    walk.parts
}

struct Walk<'t> {
    approved: &'t [Tree<'t>],
    parts: Vec<Part<'t>>,
    path: String,
    steps: Vec<Step>,
}

impl<'t> Walk<'t> {
    /// As deep as a text may be nested, which is bounded.
    fn differ(&mut self, old: Option<Value<'t>>, new: Option<Value<'t>>, field: Field) {
        if self.is_no_change(old, new) {
            return;
        }
        match (old, new) {
            (Some(old), Some(new)) if (old.kind(), new.kind()) == (Kind::Object, Kind::Object) => {
                self.objects(Some(old), Some(new), field);
            }
            (Some(old), Some(new))
                if (old.kind(), new.kind()) == (Kind::Array, Kind::Array) && !self.is_unordered() =>
            {
                self.lists(old, new, field);
            }
            // Each hint is judged by itself, also where all come or go at once.
            (old, new) if self.path == "/annotations" => self.objects(old, new, field),
            (old, new) => {
                self.parts.push(Part { path: self.path.clone(), old, new, field, steps: self.steps.clone() });
            }
        }
    }

    fn key(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    fn is_unordered(&self) -> bool {
        UNORDERED.contains(&self.key())
    }

    /// Equal, or as it was in some approved version.
    fn is_no_change(&self, old: Option<Value<'_>>, new: Option<Value<'_>>) -> bool {
        if let (Some(old), Some(new)) = (old, new)
            && old.source() == new.source()
        {
            return true;
        }
        let Some(now) = new.map(|value| free_of_order(value, self.key())) else {
            return self.approved.iter().any(|version| self.had_none(version));
        };
        let is_it = |version: &Tree<'_>| {
            let then = version.root().at_pointer(&self.path);
            then.is_some_and(|then| free_of_order(then, self.key()) == now)
        };
        self.approved.iter().any(is_it)
    }

    /// Whether a version had nothing here, but that in which it would have stood.
    fn had_none(&self, version: &Tree<'_>) -> bool {
        let above = self.path.rsplit_once('/').map(|(above, _)| above);
        version.root().at_pointer(&self.path).is_none()
            && above.is_some_and(|above| version.root().at_pointer(above).is_some())
    }

    fn objects(&mut self, old: Option<Value<'t>>, new: Option<Value<'t>>, field: Field) {
        let members = |value: Option<Value<'t>>| -> Vec<(String, Value<'t>)> {
            let members = value.into_iter().flat_map(Value::members);
            members.map(|(key, value)| (key.string().unwrap_or_default().into_owned(), value)).collect()
        };
        let (old, new) = (members(old), members(new));
        let old_names: FxHashMap<&str, Value<'t>> = old.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        let new_names: FxHashMap<&str, Value<'t>> = new.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        for (key, value) in &old {
            self.step(key, Some(*value), new_names.get(key.as_str()).copied(), field);
        }
        for (key, value) in new.iter().filter(|(key, _)| !old_names.contains_key(key.as_str())) {
            self.step(key, None, Some(*value), field);
        }
    }

    fn step(&mut self, segment: &str, old: Option<Value<'t>>, new: Option<Value<'t>>, field: Field) {
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
        if !self.varies_by_itself() {
            self.differ(old, new, field);
        }
        self.path.truncate(length);
        self.steps.truncate(steps);
    }

    /// Sizes and times of resources, which are new at every listing.
    fn varies_by_itself(&self) -> bool {
        let is_resource = || self.approved.last().is_some_and(|version| version.root().get("uri").is_some());
        matches!(self.path.as_str(), "/size" | "/annotations/lastModified") && is_resource()
    }

    /// Elements that are equal at both ends are passed over; the others are compared in their order.
    fn lists(&mut self, old: Value<'t>, new: Value<'t>, field: Field) {
        let texts =
            |list: Value<'t>| -> Vec<Vec<u8>> { list.elements().map(|value| free_of_order(value, "")).collect() };
        let (old_texts, new_texts) = (texts(old), texts(new));
        let start = old_texts.iter().zip(&new_texts).take_while(|(old, new)| old == new).count();
        let most = old.count().min(new.count()) - start;
        let backwards = old_texts.iter().rev().zip(new_texts.iter().rev());
        let end = backwards.take(most).take_while(|(old, new)| old == new).count();
        let (old, new): (Vec<_>, Vec<_>) = (old.elements().collect(), new.elements().collect());
        let (old_end, new_end) = (old.len() - end, new.len() - end);
        for place in start..old_end.max(new_end) {
            let old = (place < old_end).then(|| old[place]);
            let new = (place < new_end).then(|| new[place]);
            self.step(&place.to_string(), old, new, field);
        }
    }
}

/// The canonical text of a value, with the lists whose order means nothing in order.
fn free_of_order(value: Value<'_>, key: &str) -> Vec<u8> {
    let joined = |open: u8, parts: Vec<Vec<u8>>, close: u8| {
        let mut text = vec![open];
        for (place, part) in parts.into_iter().enumerate() {
            if place > 0 {
                text.push(b',');
            }
            text.extend(part);
        }
        text.push(close);
        text
    };
    match value.kind() {
        Kind::Array => {
            let mut elements: Vec<Vec<u8>> = value.elements().map(|element| free_of_order(element, "")).collect();
            if UNORDERED.contains(&key) {
                elements.sort_unstable();
            }
            joined(b'[', elements, b']')
        }
        Kind::Object => {
            let member = |(name, value): (Value<'_>, Value<'_>)| {
                let mut text = Vec::new();
                canonical::write(name, Numbers::Exact, &mut text);
                text.push(b':');
                text.extend(free_of_order(value, &name.string().unwrap_or_default()));
                text
            };
            let mut members: Vec<Vec<u8>> = value.members().map(member).collect();
            members.sort_unstable();
            joined(b'{', members, b'}')
        }
        _ => {
            let mut text = Vec::new();
            canonical::write(value, Numbers::Exact, &mut text);
            text
        }
    }
}
