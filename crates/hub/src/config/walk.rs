//! Compares the tree of a file with the schema of the keys and lists every fault with its place. What is left of the
//! tree after that, without the faulty parts, always fits the types in `keys`.

use super::foreign;
use super::nearest::nearest;
use super::problem::Problem;
use super::source::Source;
use super::template::Template;
use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::Ranged;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

/// What a walk has found.
pub(super) struct Walked<'a> {
    source: &'a Source<'a>,
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
    /// Byte offset of each key or array element in the file, by key path.
    offsets: FxHashMap<String, usize>,
}

/// Walks the whole file. The value is an object in any case.
pub(super) fn walk<'a>(source: &'a Source<'a>, root: &Node<'_>, schema: &Value) -> (Walked<'a>, Value) {
    let mut walked = Walked { source, problems: Vec::new(), warnings: Vec::new(), offsets: FxHashMap::default() };
    let value = walked.node(root, schema, "").unwrap_or_else(|| Value::Object(Map::new()));
    (walked, value)
}

impl Walked<'_> {
    /// Whether the file has something at that key path, right or wrong.
    pub(super) fn has(&self, key_path: &str) -> bool {
        self.offsets.contains_key(key_path)
    }

    /// A fault at a key path that the file has.
    pub(super) fn problem(&mut self, key_path: &str, message: impl Into<String>) {
        let problem = self.at(key_path, message.into());
        self.problems.push(problem);
    }

    /// Something to know about a key path that the file has.
    pub(super) fn warn(&mut self, key_path: &str, message: impl Into<String>) {
        let warning = self.at(key_path, message.into());
        self.warnings.push(warning);
    }

    fn at(&self, key_path: &str, message: String) -> Problem {
        self.source.problem(self.offsets.get(key_path).copied().unwrap_or(0), key_path, message)
    }

    fn wrong(&mut self, offset: usize, key_path: &str, message: String) {
        self.problems.push(self.source.problem(offset, key_path, message));
    }

    fn node(&mut self, node: &Node<'_>, schema: &Value, path: &str) -> Option<Value> {
        let start = node.range().start;
        let Some(kind) = Kind::of(schema) else { return Some(any(node)) };
        match (kind, node) {
            (Kind::Object, Node::Object(object)) => Some(self.object(object, schema, path)),
            (Kind::List, Node::Array(array)) => {
                let items = schema.get("items").unwrap_or(&Value::Null);
                let elements = array.elements.iter().enumerate().filter_map(|(at, element)| {
                    let path = format!("{path}[{at}]");
                    self.offsets.insert(path.clone(), element.range().start);
                    self.node(element, items, &path)
                });
                Some(Value::Array(elements.collect()))
            }
            (Kind::Text, Node::StringLit(text)) => self.text(&text.value, start, schema, path),
            (Kind::Choice(words), Node::StringLit(text)) => {
                if words.contains(&&*text.value) {
                    return Some(text.value.as_ref().into());
                }
                let meant = nearest(&text.value, words.iter().copied()).map(|word| format!("; did you mean `{word}`?"));
                let message = format!("must be {}{}", one_of(&words), meant.unwrap_or_default());
                self.wrong(start, path, message);
                None
            }
            (Kind::Flag, Node::BooleanLit(flag)) => Some(flag.value.into()),
            (Kind::Whole, Node::NumberLit(number)) => match (number.value.parse::<i64>(), range(schema)) {
                (Ok(number), (min, max)) if (min..=max).contains(&number) => Some(number.into()),
                (_, (min, max)) => {
                    self.wrong(start, path, format!("must be a whole number from {min} to {max}"));
                    None
                }
            },
            (kind, node) => {
                self.wrong(start, path, format!("must be {}, not {}", kind.words(), name_of(node)));
                None
            }
        }
    }

    fn object(&mut self, object: &Object<'_>, schema: &Value, path: &str) -> Value {
        let known = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties").filter(|others| others.is_object());
        let open = schema.get("additionalProperties").is_none_or(|others| others == &Value::Bool(true));
        let mut first_lines: FxHashMap<&str, u32> = FxHashMap::default();
        let mut out = Map::new();
        for property in &object.properties {
            let name = property.name.as_str();
            let start = property.range.start;
            let here = join(path, name);
            let line = self.source.position(start).0;
            if let Some(first) = first_lines.get(name) {
                self.wrong(start, &here, format!("duplicate key, first on line {first}"));
                continue;
            }
            first_lines.insert(name, line);
            self.offsets.insert(here.clone(), start);
            if let Some(ignored) = known.and_then(|known| known.get(name)).and_then(|key| key.get(foreign::IGNORED)) {
                self.warn(&here, ignored.as_str().unwrap_or_default());
                continue;
            }
            let value = match known.and_then(|known| known.get(name)).or(others) {
                Some(schema) => self.node(&property.value, schema, &here),
                None if open => Some(any(&property.value)),
                None => {
                    let message = unknown(name, path, known);
                    self.wrong(start, &here, message);
                    None
                }
            };
            if let Some(value) = value {
                out.insert(name.to_owned(), value);
            }
        }
        Value::Object(out)
    }

    fn text(&mut self, text: &str, start: usize, schema: &Value, path: &str) -> Option<Value> {
        if text.is_empty() && schema.get("minLength").and_then(Value::as_u64).is_some_and(|least| least > 0) {
            self.wrong(start, path, "must not be empty".into());
            return None;
        }
        if text.contains('\0') {
            self.wrong(start, path, "must not contain a NUL character".into());
            return None;
        }
        if schema.get("x-substitutions").is_some()
            && let Err(malformed) = Template::try_from(text.to_owned())
        {
            // Inside a text without escapes the place of the `$` itself can be shown.
            let plain = self.source.text.get(start + 1..).is_some_and(|raw| raw.starts_with(text));
            let offset = if plain { start + 1 + malformed.offset } else { start };
            self.wrong(offset, path, malformed.message);
            return None;
        }
        Some(text.into())
    }
}

/// What a schema asks for.
enum Kind<'a> {
    Object,
    List,
    Text,
    Choice(Vec<&'a str>),
    Flag,
    Whole,
}

impl<'a> Kind<'a> {
    /// None: anything will do.
    fn of(schema: &'a Value) -> Option<Kind<'a>> {
        if let Some(words) = choices(schema) {
            return Some(Kind::Choice(words));
        }
        match schema.get("type")?.as_str()? {
            "object" => Some(Kind::Object),
            "array" => Some(Kind::List),
            "string" => Some(Kind::Text),
            "boolean" => Some(Kind::Flag),
            "integer" => Some(Kind::Whole),
            _ => None,
        }
    }

    fn words(&self) -> String {
        match self {
            Kind::Object => "an object".into(),
            Kind::List => "a list".into(),
            Kind::Text => "a text".into(),
            Kind::Choice(words) => one_of(words),
            Kind::Flag => "true or false".into(),
            Kind::Whole => "a whole number".into(),
        }
    }
}

/// The words that a schema allows, where it allows words.
pub(super) fn choices(schema: &Value) -> Option<Vec<&str>> {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return words.iter().map(Value::as_str).collect();
    }
    if let Some(word) = schema.get("const").and_then(Value::as_str) {
        return Some(vec![word]);
    }
    let choices = schema.get("oneOf")?.as_array()?;
    let words: Option<Vec<Vec<&str>>> = choices.iter().map(choices_of).collect();
    words.map(|words| words.concat())
}

fn choices_of(schema: &Value) -> Option<Vec<&str>> {
    choices(schema)
}

/// Least and greatest number that a schema allows.
pub(super) fn range(schema: &Value) -> (i64, i64) {
    let bound = |key| schema.get(key).and_then(Value::as_i64);
    (bound("minimum").unwrap_or(i64::MIN), bound("maximum").unwrap_or(i64::MAX))
}

/// A key path one step further down: `mcpServers.files`, quoted where the name is no plain word.
pub(super) fn join(path: &str, name: &str) -> String {
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-$".contains(&b));
    let name = if plain { name.to_owned() } else { Value::from(name).to_string() };
    if path.is_empty() { name } else { format!("{path}.{name}") }
}

fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [only] => only.clone(),
        [] => "nothing".into(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

fn unknown(name: &str, path: &str, known: Option<&Map<String, Value>>) -> String {
    if path.is_empty()
        && let Some(advice) = foreign::root_advice(name)
    {
        return format!("unknown key: {advice}");
    }
    let Some(known) = known else { return "unknown key".into() };
    if path.is_empty() && is_server(name, known) {
        return "unknown key: server entries stand inside `mcpServers`".into();
    }
    let own = known.iter().filter(|(_, schema)| schema.get(foreign::IGNORED).is_none()).map(|(key, _)| key.as_str());
    if let Some(key) = nearest(name, own) {
        return format!("unknown key; did you mean `{key}`?");
    }
    for (outer, schema) in known {
        if schema.get("properties").and_then(|inner| inner.get(name)).is_some() {
            return format!("unknown key here; it belongs into `{outer}`");
        }
    }
    "unknown key".into()
}

/// Whether a key at the root is one of a server entry: an entry was pasted without its name.
fn is_server(name: &str, known: &Map<String, Value>) -> bool {
    let entry = known.get("mcpServers").and_then(|servers| servers.pointer("/additionalProperties/properties"));
    entry.is_some_and(|entry| entry.get(name).is_some())
}

fn name_of(node: &Node<'_>) -> &'static str {
    match node {
        Node::StringLit(_) => "a text",
        Node::NumberLit(_) => "a number",
        Node::BooleanLit(_) => "true or false",
        Node::Object(_) => "an object",
        Node::Array(_) => "a list",
        Node::NullKeyword(_) => "null",
    }
}

/// A part that nobody looks into; only its presence counts.
pub(super) fn any(node: &Node<'_>) -> Value {
    match node {
        Node::StringLit(text) => text.value.as_ref().into(),
        Node::NumberLit(number) => number.value.parse().map_or(Value::Null, Value::Number),
        Node::BooleanLit(flag) => flag.value.into(),
        Node::Object(object) => {
            Value::Object(object.properties.iter().map(|p| (p.name.as_str().to_owned(), any(&p.value))).collect())
        }
        Node::Array(array) => Value::Array(array.elements.iter().map(any).collect()),
        Node::NullKeyword(_) => Value::Null,
    }
}
