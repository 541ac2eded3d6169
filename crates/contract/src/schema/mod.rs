//! A tool's input schema, compiled once so that arguments can be checked against it. Bounded before it is compiled,
//! never loads a reference from anywhere, and says which patterns it does not check.

mod bounds;
mod declared;
mod exact;
mod patterns;
mod rewrite;
mod shape;

use crate::fuel::Prices;
use crate::instance::Received;
use crate::tree::{Kind, TextFault, Tree};
use crate::visible;
pub(crate) use bounds::{NOT_LISTED, NOT_THE_ONE, Wanting};
use declared::Declared;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, Keyword, PatternOptions, Retrieve, ValidationError, ValidationOptions, Validator};
use rewrite::Rewrite;
use serde_json::Value;
use shape::Shape;
use std::sync::Arc;

/// Largest schema in bytes.
pub const MAX_BYTES: usize = 256 << 10;
/// Most values and keys in one schema.
const MAX_VALUES: usize = 40_000;
/// Deepest schema; the compiler goes down as deep.
const MAX_DEPTH: usize = 96;

/// Why a schema can't be used. The tool is then not callable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFault {
    /// No text that everybody reads in the same way.
    #[error("the schema can't be read: {0}")]
    Unreadable(#[from] TextFault),
    /// Over a bound of size.
    #[error("the schema is too large: {0}")]
    TooLarge(&'static str),
    /// Neither an object nor `true` or `false`.
    #[error("the schema is no JSON object")]
    NoObject,
    /// `$schema` names a dialect that is not supported.
    #[error("its dialect {0:?} is not one of JSON Schema 2020-12, 2019-09, draft 7, 6 and 4")]
    Dialect(String),
    /// A `$ref` that leads out of the schema, or nowhere.
    #[error("its reference {0:?} leads out of the schema or nowhere; nothing is ever loaded")]
    Reference(String),
    /// A `$ref` that is relative to an `$id` outside of the schema.
    #[error("one of its references leads out of the schema or nowhere; nothing is ever loaded")]
    Elsewhere,
    /// References in a circle, each at the same value.
    #[error("its references go in a circle that never ends")]
    Endless,
    /// More subschemas at one value than are ever checked.
    #[error("its parts multiply to more than can be checked")]
    Multiplies,
    /// Refused by the rules of its dialect.
    #[error("the schema is not valid: {0}")]
    Invalid(String),
}

/// A schema ready for checking. Cheap to share between threads.
#[derive(Debug)]
pub struct Compiled {
    pub(crate) validator: Validator<Received>,
    /// Its text, for saying what is expected.
    source: Box<str>,
    skipped: Box<[String]>,
    pub(crate) prices: Prices,
    /// The names that it declares.
    pub(crate) declared: Declared,
    /// Longest chain of subschemas at one value: what one level of arguments takes of the stack.
    pub(crate) chain: usize,
}

impl Compiled {
    /// Compiles the raw text of an `inputSchema`. May take milliseconds for a large one: not for the relay thread.
    ///
    /// # Errors
    /// Why the schema can't be used.
    pub fn compile(raw: &[u8]) -> Result<Compiled, SchemaFault> {
        if raw.len() > MAX_BYTES {
            return Err(SchemaFault::TooLarge("more than 256 KiB"));
        }
        let tree = Tree::read(raw)?;
        if tree.len() > MAX_VALUES {
            return Err(SchemaFault::TooLarge("more than 40,000 values"));
        }
        if tree.depth() > MAX_DEPTH {
            return Err(SchemaFault::TooLarge("nested deeper than 96 levels"));
        }
        if !matches!(tree.root().kind(), Kind::Object | Kind::True | Kind::False) {
            return Err(SchemaFault::NoObject);
        }
        let mut schema: Value = serde_json::from_str(tree.text())
            .map_err(|fault| SchemaFault::Invalid(visible_text(&fault.to_string())))?;
        let draft = dialect(&mut schema)?;
        let shape = Shape::read(&schema)?;
        let mut rewrite = Rewrite::default();
        let sorted = patterns::sort_out(&shape, &mut rewrite);
        exact::keep_digits(&schema, &tree, &shape, draft, &mut rewrite);
        let names = shape.parts.iter().filter_map(|part| part.schema.get("patternProperties")?.as_object());
        let tried_per_name = names.map(serde_json::Map::len).max().unwrap_or(0) as u64;
        let prices =
            Prices { visit: 1 + shape.in_place / 32, byte: sorted.byte_price.saturating_mul(tried_per_name.max(1)) };
        let chain = shape.chain;
        let rewritten = rewrite.of(&schema);
        let options = exact::with_keywords(bounds::with_keywords(options(patterns::MAX_SIZE)));
        let built = options.with_draft(draft).build(rewritten.as_ref().unwrap_or(&schema));
        Ok(Compiled {
            validator: built.map_err(|fault| refused(&fault))?,
            declared: Declared::of(&schema),
            source: tree.text().into(),
            skipped: sorted.skipped.into(),
            prices,
            chain,
        })
    }

    /// The patterns that are not checked, made visible; where there are some the tool is *partly checked*.
    pub fn skipped_patterns(&self) -> &[String] {
        &self.skipped
    }

    /// The schema as it was given, parsed again: only refusals ask for it.
    pub(crate) fn schema(&self) -> Value {
        serde_json::from_str(&self.source).unwrap_or(Value::Null)
    }
}

/// What the compiler refuses, in words of our own: its text speaks of its own making.
fn refused(fault: &ValidationError<'_>) -> SchemaFault {
    match fault.kind() {
        ValidationErrorKind::Referencing(_) => SchemaFault::Elsewhere,
        _ => {
            let path = fault.instance_path().to_string();
            let place = if path.is_empty() { "its root".to_owned() } else { visible_text(&path) };
            SchemaFault::Invalid(format!("what stands at {place} is not allowed by its dialect"))
        }
    }
}

/// Takes `$schema` away and tells what it says.
fn dialect(schema: &mut Value) -> Result<Draft, SchemaFault> {
    let Some(named) = schema.as_object_mut().and_then(|members| members.shift_remove("$schema")) else {
        return Ok(Draft::Draft202012);
    };
    let unknown = || SchemaFault::Dialect(visible_text(named.as_str().unwrap_or("no text")));
    let uri = named.as_str().ok_or_else(unknown)?;
    let plain = uri.trim_end_matches('#').trim_end_matches('/');
    let plain = plain.strip_prefix("https://").or_else(|| plain.strip_prefix("http://"));
    match plain.and_then(|rest| rest.strip_prefix("json-schema.org/")) {
        Some("draft/2020-12/schema" | "schema") => Ok(Draft::Draft202012),
        Some("draft/2019-09/schema") => Ok(Draft::Draft201909),
        Some("draft-07/schema") => Ok(Draft::Draft7),
        Some("draft-06/schema") => Ok(Draft::Draft6),
        Some("draft-04/schema") => Ok(Draft::Draft4),
        _ => Err(unknown()),
    }
}

/// How a schema is compiled.
type Options<'i> = ValidationOptions<'i, Arc<dyn Retrieve>, Received>;
/// A keyword of our own, ready for checking.
type Own = Box<dyn for<'i> Keyword<'i, Received>>;

/// How everything is compiled: linear patterns of a bounded size, nothing loaded, `format` and content keywords are
/// notes and no assertions in every dialect.
fn options<'i>(pattern_size: usize) -> Options<'i> {
    jsonschema::options_for::<Received>()
        .with_pattern_options(PatternOptions::regex().size_limit(pattern_size).dfa_size_limit(1 << 20))
        .should_validate_formats(false)
        .without_content_media_type_support("application/json")
        .without_content_encoding_support("base64")
}

/// Text of a server, short and with everything hidden made visible.
fn visible_text(text: &str) -> String {
    let shown = visible::escape(text);
    if shown.chars().count() <= 200 {
        return shown.into_owned();
    }
    shown.chars().take(199).chain(['…']).collect()
}
