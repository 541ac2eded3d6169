//! Says what is wrong with arguments in words that a model can act on: where, what is expected, what is allowed and
//! what comes nearest. Speaks of the schema only, never shows a value that was given.

use crate::schema::{Compiled, NOT_LISTED, NOT_THE_ONE, Wanting};
use crate::tree::{self, Kind, push_segment};
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde::Serialize;
use serde_json::Value;

/// Most problems told at once.
const MAX_PROBLEMS: usize = 20;
/// Most allowed values listed.
const MAX_ALLOWED: usize = 50;
/// Longest text of one part in characters.
const MAX_TEXT: usize = 300;

/// One thing that is wrong with arguments.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// JSON pointer of the argument; empty for the whole.
    pub path: String,
    /// What is wrong, to be read after the argument's name.
    pub problem: String,
    /// What the schema wants there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// All values or names that the schema allows there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<Value>>,
    /// The allowed value or name that is most like the given one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Value>,
}

impl Problem {
    /// A problem of the value at a JSON pointer.
    pub fn new(path: impl Into<String>, problem: impl Into<String>) -> Problem {
        let (path, problem) = (short(path.into()), short(problem.into()));
        Problem { path, problem, expected: None, allowed: None, nearest: None }
    }
    /// A problem of the arguments as a whole.
    pub fn whole(problem: impl Into<String>) -> Problem {
        Problem::new("", problem)
    }

    /// The problem in one line for a person.
    pub fn sentence(&self) -> String {
        match self.path.as_str() {
            "" => format!("the arguments: {}", self.problem),
            path => format!("{path}: {}", self.problem),
        }
    }
    /// What was meant, most likely.
    pub(crate) fn meaning(mut self, name: &str) -> Problem {
        self.nearest = Some(Value::from(short(name.to_owned())));
        self
    }
    fn expecting(mut self, expected: impl Into<String>) -> Problem {
        self.expected = Some(short(expected.into()));
        self
    }
    fn allowing(mut self, allowed: Vec<Value>, given: Option<&str>) -> Problem {
        self.nearest = given.and_then(|given| nearest(given, &allowed)).cloned();
        if allowed.len() <= MAX_ALLOWED && allowed.iter().all(|value| value.to_string().len() <= MAX_TEXT) {
            self.allowed = Some(allowed);
        }
        self
    }
}

/// All problems of a value that failed its check, in the order of the schema.
pub(crate) fn describe(errors: &[ValidationError<'_>], checked: tree::Value<'_>, schema: &Compiled) -> Vec<Problem> {
    let told = Told { checked, schema: schema.schema() };
    let mut problems = Vec::new();
    for error in errors {
        told.add(error, &mut problems);
        if problems.len() > MAX_PROBLEMS {
            problems.truncate(MAX_PROBLEMS);
            problems.push(Problem::whole("has more problems than are listed"));
            break;
        }
    }
    problems
}

struct Told<'t> {
    checked: tree::Value<'t>,
    schema: Value,
}

impl Told<'_> {
    fn add(&self, error: &ValidationError<'_>, problems: &mut Vec<Problem>) {
        use ValidationErrorKind as Kinds;
        let path = error.instance_path().as_str();
        let is = |text: &str| Problem::new(path, text);
        problems.push(match error.kind() {
            Kinds::AdditionalProperties { unexpected } | Kinds::UnevaluatedProperties { unexpected } => {
                problems.extend(unexpected.iter().map(|name| self.unknown(error, name)));
                return;
            }
            Kinds::Required { property } => self.missing(error, property.as_str().unwrap_or_default()),
            Kinds::Type { kind } => self.wrong_type(path, &type_words(kind)),
            Kinds::Enum { options } => {
                let allowed = options.as_array().cloned().unwrap_or_default();
                is(NOT_LISTED).allowing(allowed, self.given(path).as_deref())
            }
            Kinds::Constant { expected_value } => is(NOT_THE_ONE).allowing(vec![(**expected_value).clone()], None),
            Kinds::AnyOf { context } | Kinds::OneOfNotValid { context } => {
                return self.alternatives(path, context, problems);
            }
            Kinds::OneOfMultipleValid { .. } => is("fits more than one of the alternatives that exclude each other"),
            Kinds::Pattern { pattern } => is("does not match the pattern").expecting(pattern.as_str()),
            Kinds::MinLength { limit } => is("is too short").expecting(format!("at least {limit} characters")),
            Kinds::MaxLength { limit } => is("is too long").expecting(format!("at most {limit} characters")),
            Kinds::MinItems { limit } => is("has too few items").expecting(format!("at least {limit}")),
            Kinds::MaxItems { limit } => is("has too many items").expecting(format!("at most {limit}")),
            Kinds::AdditionalItems { limit } => is("has too many items").expecting(format!("at most {limit}")),
            Kinds::MinProperties { limit } => is("has too few members").expecting(format!("at least {limit}")),
            Kinds::MaxProperties { limit } => is("has too many members").expecting(format!("at most {limit}")),
            Kinds::UniqueItems => is("has the same item twice"),
            Kinds::Contains => is("holds no item, or too few or many, of the kind that it must hold"),
            Kinds::PropertyNames { .. } => is("has a member whose name is not allowed"),
            Kinds::FalseSchema => is("is not allowed here"),
            Kinds::Not { .. } => is("is of a form that is not allowed"),
            Kinds::Custom { message, keyword } => match Wanting::read(message) {
                Some(wanting) => is(wanting.problem).expecting(wanting.expected),
                None => is(&format!("breaks the schema's keyword {keyword}")),
            },
            other => is(&format!("breaks the schema's keyword {}", other.keyword())),
        });
    }

    fn wrong_type(&self, path: &str, expected: &str) -> Problem {
        let found = self.checked.at_pointer(path).map_or("another kind", |value| with_article(value.kind()));
        Problem::new(path, format!("has the wrong type, is {found}")).expecting(expected)
    }

    fn unknown(&self, error: &ValidationError<'_>, name: &str) -> Problem {
        let mut path = error.instance_path().as_str().to_owned();
        push_segment(&mut path, name);
        let names = self.beside(error).and_then(|schema| schema.get("properties")?.as_object());
        let names = names.map(|names| names.keys().map(|name| Value::from(name.as_str())).collect());
        Problem::new(path, "is not a known argument").allowing(names.unwrap_or_default(), Some(name))
    }

    fn missing(&self, error: &ValidationError<'_>, name: &str) -> Problem {
        let mut path = error.instance_path().as_str().to_owned();
        push_segment(&mut path, name);
        let problem = Problem::new(path, "is missing");
        let schema = self.beside(error).and_then(|schema| schema.get("properties")?.get(name));
        let problem = match schema.and_then(wanted) {
            Some(expected) => problem.expecting(expected),
            None => problem,
        };
        let allowed = schema.and_then(|schema| match (schema.get("enum"), schema.get("const")) {
            (Some(options), _) => options.as_array().cloned(),
            (None, Some(only)) => Some(vec![only.clone()]),
            (None, None) => None,
        });
        match allowed {
            Some(allowed) => problem.allowing(allowed, None),
            None => problem,
        }
    }

    /// The subschema whose keyword refused.
    fn beside(&self, error: &ValidationError<'_>) -> Option<&Value> {
        let (above, _) = error.schema_path().as_str().rsplit_once('/')?;
        self.schema.pointer(above)
    }

    fn given(&self, path: &str) -> Option<String> {
        Some(self.checked.at_pointer(path)?.string()?.into_owned())
    }

    /// Tells what is wrong with the one alternative that was meant, where that can be told.
    fn alternatives(&self, path: &str, context: &[Vec<ValidationError<'static>>], problems: &mut Vec<Problem>) {
        let is_here = |error: &&ValidationError<'_>| error.instance_path().as_str() == path;
        let is_other = |branch: &&Vec<ValidationError<'static>>| {
            branch.iter().filter(is_here).any(|error| {
                matches!(error.kind(), ValidationErrorKind::Type { .. } | ValidationErrorKind::FalseSchema)
            }) || branch.iter().any(|error| match error.kind() {
                ValidationErrorKind::Constant { .. } => true,
                ValidationErrorKind::Custom { message, .. } => Wanting::read(message).is_some_and(|w| w.is_constant()),
                _ => false,
            })
        };
        let mut meant = context.iter().filter(|branch| !is_other(branch));
        if let (Some(branch), None) = (meant.next(), meant.next()) {
            branch.iter().for_each(|error| self.add(error, problems));
            return;
        }
        let types: Vec<String> = context
            .iter()
            .flatten()
            .filter(is_here)
            .filter_map(|error| match error.kind() {
                ValidationErrorKind::Type { kind } => Some(type_words(kind)),
                _ => None,
            })
            .collect();
        if types.len() == context.len() {
            return problems.push(self.wrong_type(path, &types.join(" or ")));
        }
        problems.push(Problem::new(path, "fits none of the alternatives"));
    }
}

/// What a subschema wants, in a word.
fn wanted(schema: &Value) -> Option<String> {
    match schema.get("type")? {
        Value::String(word) => Some(word.clone()),
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")),
        _ => None,
    }
}

fn type_words(kind: &TypeKind) -> String {
    let word = |kind: &JsonType| kind.to_string();
    match kind {
        TypeKind::Single(kind) => word(kind),
        TypeKind::Multiple(kinds) => kinds.iter().map(|kind| word(&kind)).collect::<Vec<_>>().join(" or "),
    }
}

/// A kind of value as it is spoken of.
pub(crate) const fn with_article(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::True | Kind::False => "a boolean",
        Kind::Number => "a number",
        Kind::String => "a string",
        Kind::Array => "an array",
        Kind::Object => "an object",
    }
}

fn short(text: String) -> String {
    if text.chars().count() <= MAX_TEXT { text } else { text.chars().take(MAX_TEXT - 1).chain(['…']).collect() }
}

/// The allowed text most like the given one, if it is like it at all.
fn nearest<'v>(given: &str, allowed: &'v [Value]) -> Option<&'v Value> {
    let folded = fold(given);
    if folded.len() > 64 {
        return None;
    }
    let texts = allowed.iter().take(1000).filter_map(|value| Some((value, fold(value.as_str()?))));
    let near = texts.map(|(value, text)| (distance(&folded, &text), value)).min_by_key(|&(distance, _)| distance);
    near.filter(|&(distance, _)| distance <= (folded.len() / 3).max(1)).map(|(_, value)| value)
}

/// Letters and digits only, small: how names are misspelled most often.
fn fold(text: &str) -> Vec<char> {
    text.chars().filter(|c| c.is_alphanumeric()).take(65).flat_map(char::to_lowercase).collect()
}

/// How many letters must be put in, taken out or changed.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(x != y)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row.last().copied().unwrap_or(0)
}
