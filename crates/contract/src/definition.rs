//! Reads one entry of a server's lists: the few facts that the hub decides by, and where its schemas lie in the
//! text. Never rewrites an entry, and a bad one costs only itself, with a reason in plain words.

use crate::hash::{self, Hash};
use crate::names;
use crate::tree::{Kind, TextFault, Tree, Value};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Largest definition of one tool, prompt, resource or template in bytes; ten times the largest one seen.
pub const MAX_BYTES: usize = 1 << 20;
/// Longest URI, URI template or prompt name in bytes.
const MAX_NAME: usize = 2048;

/// Formats of URLs.
const URL_FORMATS: [&str; 6] = ["uri", "url", "iri", "uri-reference", "iri-reference", "uri-template"];
/// Words in names of arguments that hold URLs.
const URL_WORDS: [&str; 8] = ["url", "urls", "uri", "uris", "href", "link", "webhook", "endpoint"];

/// Why an entry is left out of the catalog.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionFault {
    /// Over [`MAX_BYTES`].
    #[error("its definition has {0} bytes, more than {MAX_BYTES}")]
    TooLarge(usize),
    /// No text that everybody reads in the same way.
    #[error("its definition can't be read: {0}")]
    Unreadable(#[from] TextFault),
    /// Not an object.
    #[error("its definition is no JSON object")]
    NoObject,
    /// The member that names it is absent or empty.
    #[error("it has no {0}")]
    Unnamed(&'static str),
    /// A tool's name outside the protocol's characters.
    #[error("its name {0:?} is not made of 1 to 128 letters, digits, '_', '-' and '.'")]
    IllegalName(String),
    /// A name or URI over the bound.
    #[error("its {0} is longer than {MAX_NAME} bytes")]
    LongName(&'static str),
    /// A member of another kind than the protocol says.
    #[error("its {member} is not {wanted}")]
    WrongKind {
        /// The member, as a path with dots.
        member: &'static str,
        /// What the protocol wants there.
        wanted: &'static str,
    },
}

/// A tool's annotations about its effects, as the server gave them: assertions, never facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hints {
    /// `readOnlyHint`
    pub read_only: Option<bool>,
    /// `destructiveHint`
    pub destructive: Option<bool>,
    /// `idempotentHint`; never permits a repeat.
    pub idempotent: Option<bool>,
    /// `openWorldHint`
    pub open_world: Option<bool>,
}

/// Who a tool is meant for (`_meta.ui.visibility`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Visibility {
    /// Models, and apps too: the default.
    #[default]
    Model,
    /// Only the app's frame: callable, but not for a model's tool array.
    AppOnly,
}

/// A tool as its server defines it. Ranges are places in the text that was read. It can be kept beside that text: as
/// long as [`READING`](crate::READING) is the same, reading the text again would give the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// The server's own name for it.
    pub name: Box<str>,
    /// Its title, else its annotations' title.
    pub title: Option<Box<str>>,
    /// Its description.
    pub description: Option<Box<str>>,
    /// What it says of its effects.
    pub hints: Hints,
    /// Where the value of `name` lies.
    pub name_at: Range<usize>,
    /// Where the value of `_meta` lies.
    pub meta_at: Option<Range<usize>>,
    /// Where the brace lies that ends the definition.
    pub end_at: usize,
    /// Where the value of `annotations` lies, for rules that ask for more than the hints.
    pub annotations: Option<Range<usize>>,
    /// Where the value of `inputSchema` lies.
    pub input_schema: Range<usize>,
    /// Where the value of `outputSchema` lies.
    pub output_schema: Option<Range<usize>>,
    /// Names of the arguments: the keys of `inputSchema.properties`.
    pub parameters: Box<[Box<str>]>,
    /// Whether some argument, at any depth, is a URL by its name or its `format`.
    pub takes_url: bool,
    /// Who it is meant for.
    pub visibility: Visibility,
    /// Members that are `null` though the protocol wants them absent; some clients refuse a whole list for one.
    pub nulls: Box<[Box<str>]>,
    /// Over `{inputSchema, outputSchema}`.
    #[serde(with = "hash::stored")]
    pub schema_hash: Hash,
    /// Over the whole definition.
    #[serde(with = "hash::stored")]
    pub definition_hash: Hash,
}

impl Tool {
    /// Reads one entry of a `tools` array.
    ///
    /// # Errors
    /// Why this entry is left out.
    pub fn read(raw: &[u8]) -> Result<Tool, DefinitionFault> {
        let tree = open(raw)?;
        let root = tree.root();
        let name = named(root, "name")?;
        if !names::is_tool_name(&name) {
            return Err(DefinitionFault::IllegalName(crate::visible::escape(&name).chars().take(140).collect()));
        }
        let annotations = member(root, "annotations", Kind::Object, "annotations", "an object")?;
        let input = root.get("inputSchema").ok_or(DefinitionFault::Unnamed("inputSchema"))?;
        if input.kind() != Kind::Object || !input.get("type").is_some_and(|kind| is_text(kind, "object")) {
            let wanted = "an object with \"type\": \"object\"";
            return Err(DefinitionFault::WrongKind { member: "inputSchema", wanted });
        }
        let properties = member(input, "properties", Kind::Object, "inputSchema.properties", "an object")?;
        let output = root.get("outputSchema").filter(|schema| schema.kind() != Kind::Null);
        if output.is_some_and(|schema| !matches!(schema.kind(), Kind::Object | Kind::True | Kind::False)) {
            return Err(DefinitionFault::WrongKind { member: "outputSchema", wanted: "a JSON Schema" });
        }
        let (schema_hash, definition_hash) = hash::of_tool(root);
        let title = text(root, "title", "title")?;
        let inner_title = annotations.map(|object| text(object, "title", "annotations.title")).transpose()?.flatten();
        Ok(Tool {
            name,
            title: title.or(inner_title),
            description: text(root, "description", "description")?,
            hints: annotations.map(hints).transpose()?.unwrap_or_default(),
            name_at: root.get("name").map(Value::span).unwrap_or_default(),
            meta_at: root.get("_meta").map(Value::span),
            end_at: root.span().end - 1,
            annotations: annotations.map(Value::span),
            input_schema: input.span(),
            output_schema: output.map(Value::span),
            parameters: properties.map(keys).unwrap_or_default(),
            takes_url: takes_url(input),
            visibility: visibility(root),
            nulls: nulls(root),
            schema_hash,
            definition_hash,
        })
    }

    /// Whether all places it tells lie in a text of so many bytes; it may come from a damaged file.
    pub fn lies_within(&self, bytes: usize) -> bool {
        let places = [Some(&self.name_at), Some(&self.input_schema), self.meta_at.as_ref()];
        let more = [self.annotations.as_ref(), self.output_schema.as_ref()];
        let mut all = places.into_iter().chain(more).flatten();
        self.end_at < bytes && all.all(|place| place.start <= place.end && place.end <= self.end_at)
    }
    /// Whether its schema names an argument so.
    pub fn takes(&self, argument: &str) -> bool {
        self.parameters.iter().any(|name| **name == *argument)
    }
}

/// An entry that is known by one name and has no schema: a prompt (`name`), a resource (`uri`) or a resource
/// template (`uriTemplate`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The server's own name for it.
    pub name: Box<str>,
    /// Over the whole definition.
    pub definition_hash: Hash,
}

impl Listed {
    /// Reads one entry of a `prompts` array.
    ///
    /// # Errors
    /// Why this entry is left out.
    pub fn prompt(raw: &[u8]) -> Result<Listed, DefinitionFault> {
        Listed::read(raw, "name")
    }
    /// Reads one entry of a `resources` array.
    ///
    /// # Errors
    /// Why this entry is left out.
    pub fn resource(raw: &[u8]) -> Result<Listed, DefinitionFault> {
        Listed::read(raw, "uri")
    }
    /// Reads one entry of a `resourceTemplates` array.
    ///
    /// # Errors
    /// Why this entry is left out.
    pub fn template(raw: &[u8]) -> Result<Listed, DefinitionFault> {
        Listed::read(raw, "uriTemplate")
    }

    fn read(raw: &[u8], key: &'static str) -> Result<Listed, DefinitionFault> {
        let tree = open(raw)?;
        let root = tree.root();
        let name = named(root, key)?;
        if name.len() > MAX_NAME {
            return Err(DefinitionFault::LongName(key));
        }
        Ok(Listed { name, definition_hash: hash::of_definition(root) })
    }
}

fn open(raw: &[u8]) -> Result<Tree<'_>, DefinitionFault> {
    if raw.len() > MAX_BYTES {
        return Err(DefinitionFault::TooLarge(raw.len()));
    }
    let tree = Tree::read(raw)?;
    if tree.root().kind() == Kind::Object { Ok(tree) } else { Err(DefinitionFault::NoObject) }
}

fn named(root: Value<'_>, key: &'static str) -> Result<Box<str>, DefinitionFault> {
    match text(root, key, key)? {
        Some(name) if !name.is_empty() => Ok(name),
        _ => Err(DefinitionFault::Unnamed(key)),
    }
}

/// A member that is of one kind, absent or null.
fn member<'t>(
    object: Value<'t>,
    key: &str,
    kind: Kind,
    path: &'static str,
    wanted: &'static str,
) -> Result<Option<Value<'t>>, DefinitionFault> {
    match object.get(key) {
        None => Ok(None),
        Some(value) if value.kind() == Kind::Null => Ok(None),
        Some(value) if value.kind() == kind => Ok(Some(value)),
        Some(_) => Err(DefinitionFault::WrongKind { member: path, wanted }),
    }
}

fn text(object: Value<'_>, key: &str, path: &'static str) -> Result<Option<Box<str>>, DefinitionFault> {
    let value = member(object, key, Kind::String, path, "a string")?;
    Ok(value.and_then(Value::string).map(|text| text.into_owned().into()))
}

fn flag(object: Value<'_>, key: &str, path: &'static str) -> Result<Option<bool>, DefinitionFault> {
    match object.get(key) {
        Some(value) if value.kind() != Kind::Null => {
            let wanted = "true or false";
            value.boolean().map(Some).ok_or(DefinitionFault::WrongKind { member: path, wanted })
        }
        _ => Ok(None),
    }
}

fn hints(annotations: Value<'_>) -> Result<Hints, DefinitionFault> {
    Ok(Hints {
        read_only: flag(annotations, "readOnlyHint", "annotations.readOnlyHint")?,
        destructive: flag(annotations, "destructiveHint", "annotations.destructiveHint")?,
        idempotent: flag(annotations, "idempotentHint", "annotations.idempotentHint")?,
        open_world: flag(annotations, "openWorldHint", "annotations.openWorldHint")?,
    })
}

fn visibility(root: Value<'_>) -> Visibility {
    let list = root.get("_meta").and_then(|meta| meta.get("ui")?.get("visibility"));
    match list {
        Some(list) if list.kind() == Kind::Array && !list.elements().any(|who| is_text(who, "model")) => {
            Visibility::AppOnly
        }
        _ => Visibility::Model,
    }
}

fn is_text(value: Value<'_>, text: &str) -> bool {
    value.kind() == Kind::String && value.spells(text)
}

fn keys(object: Value<'_>) -> Box<[Box<str>]> {
    object.members().filter_map(|(key, _)| Some(key.string()?.into_owned().into())).collect()
}

/// Whether a schema names an argument that is a URL, or gives one such a format.
fn takes_url(schema: Value<'_>) -> bool {
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        for (key, inner) in value.members() {
            let key = key.string().unwrap_or_default();
            let is_url = match &*key {
                "format" => inner.string().is_some_and(|format| URL_FORMATS.contains(&&*format)),
                "properties" => inner.members().any(|(name, _)| speaks_of_url(&name.string().unwrap_or_default())),
                _ => false,
            };
            if is_url {
                return true;
            }
            open.push(inner);
        }
        open.extend(value.elements());
    }
    false
}

/// Whether one of the words of a name in snake, kebab or camel case is one for URLs.
fn speaks_of_url(name: &str) -> bool {
    let mut word = String::new();
    let mut before = ' ';
    // A last separator ends the last word.
    for c in name.chars().chain(['_']) {
        let begins = c.is_uppercase() && !before.is_uppercase();
        if (begins || !c.is_alphabetic()) && !word.is_empty() {
            if URL_WORDS.contains(&&*word) {
                return true;
            }
            word.clear();
        }
        if c.is_alphabetic() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    false
}

fn nulls(root: Value<'_>) -> Box<[Box<str>]> {
    root.members()
        .filter(|(_, value)| value.kind() == Kind::Null)
        .filter_map(|(key, _)| Some(key.string()?.into_owned().into()))
        .collect()
}
