//! A call's arguments: read once from the received text, checked against the tool's schema, repaired where the rule
//! allows it (docs/servers-words.md). What is right is never written anew: a repair replaces its own bytes and no others.

use crate::hash::{self, Hash};
use crate::judge::{self, Judged};
use crate::problem::{self, Problem};
use crate::schema::Compiled;
use crate::tree::{Kind, TextFault, Tree, Value};
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use std::borrow::Cow;
use std::ops::Range;

/// How often what a repair has brought to light is repaired again.
const MAX_ROUNDS: usize = 3;
pub use crate::judge::Effort;

/// A repair that was made, for the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// JSON pointer of what was repaired; empty for the whole.
    pub path: String,
    /// What it was.
    pub kind: RepairKind,
}

/// The repairs that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairKind {
    /// `arguments` was blank text or the text `null`: taken as `{}`.
    BlankText,
    /// `arguments` was an object as JSON text.
    WholeText,
    /// An array or object within was given as JSON text.
    FieldText,
}

/// Why arguments are not passed on.
#[derive(Clone, Debug, PartialEq)]
pub enum Unfit {
    /// They break the schema; all problems at once.
    Invalid(Vec<Problem>),
    /// More steps than the effort allowed. After [`Effort::QUICK`] try [`Effort::LONG`] on another thread; after
    /// that refuse the call.
    Costly,
}

impl Unfit {
    fn whole(problem: impl Into<String>) -> Unfit {
        Unfit::Invalid(vec![Problem::whole(problem)])
    }
    /// The problems to be told.
    pub fn into_problems(self) -> Vec<Problem> {
        match self {
            Unfit::Invalid(problems) => problems,
            Unfit::Costly => vec![Problem::whole("takes more steps to check against the schema than are allowed")],
        }
    }
}

/// The arguments of one call: always a JSON object.
#[derive(Debug)]
pub struct Arguments<'a> {
    tree: Tree<'a>,
    repairs: Vec<Repair>,
}

impl<'a> Arguments<'a> {
    /// Reads `arguments` as received. Absent, `null` and blank text are `{}`; an object as JSON text is that object.
    ///
    /// # Errors
    /// Where it is anything else, or can be read in two ways.
    pub fn read(raw: Option<&'a [u8]>) -> Result<Arguments<'a>, Unfit> {
        let Some(raw) = raw else { return Ok(Arguments::empty(Vec::new())) };
        let tree = Tree::read(raw).map_err(|fault| unreadable(&fault))?;
        match tree.root().kind() {
            Kind::Object => Ok(Arguments { tree, repairs: Vec::new() }),
            Kind::Null => Ok(Arguments::empty(Vec::new())),
            Kind::String => Arguments::from_text(tree.root().string().unwrap_or_default().into_owned()),
            other => Err(Unfit::whole(format!("must be an object, is {}", problem::with_article(other)))),
        }
    }

    fn empty(repairs: Vec<Repair>) -> Arguments<'a> {
        Arguments { tree: Tree::empty_object(), repairs }
    }

    fn from_text(text: String) -> Result<Arguments<'a>, Unfit> {
        let repair = |kind| vec![Repair { path: String::new(), kind }];
        if text.trim().is_empty() {
            return Ok(Arguments::empty(repair(RepairKind::BlankText)));
        }
        match Tree::of(Cow::Owned(text)) {
            Ok(tree) if tree.root().kind() == Kind::Object => {
                Ok(Arguments { tree, repairs: repair(RepairKind::WholeText) })
            }
            Ok(tree) if tree.root().kind() == Kind::Null => Ok(Arguments::empty(repair(RepairKind::BlankText))),
            Ok(_) | Err(TextFault::Syntax(_)) => Err(Unfit::whole("must be an object, is text that holds none")),
            Err(fault) => Err(unreadable(&fault)),
        }
    }

    /// The JSON object to be sent: the received bytes but for repairs.
    pub fn text(&self) -> &str {
        self.tree.root().source()
    }
    /// What was repaired so far.
    pub fn repairs(&self) -> &[Repair] {
        &self.repairs
    }
    /// The digest of them as they now are; `leave_out` names the idempotency-key argument.
    pub fn digest(&self, leave_out: Option<&str>) -> Hash {
        hash::of_arguments(self.tree.root(), leave_out)
    }
    /// An argument that is a string.
    pub fn string(&self, name: &str) -> Option<Cow<'_, str>> {
        self.tree.root().get(name)?.string()
    }

    /// Checks them against the schema; array and object fields that were given as JSON text are repaired where the
    /// schema wants such a value and takes no string there.
    ///
    /// # Errors
    /// [`Unfit`]; what was repaired by then stays repaired.
    pub fn check(&mut self, schema: &Compiled, effort: Effort) -> Result<(), Unfit> {
        for round in 0..=MAX_ROUNDS {
            let root = self.tree.root();
            let edits: Vec<Edit> = match judge::judge(root, schema, effort) {
                Judged::Fits => {
                    let disguised = schema.declared.disguised(root);
                    return if disguised.is_empty() { Ok(()) } else { Err(Unfit::Invalid(disguised)) };
                }
                Judged::Costly => return Err(Unfit::Costly),
                Judged::Wrong(problem) => return Err(Unfit::Invalid(vec![problem])),
                Judged::Breaks(errors) => {
                    let repairs = if round < MAX_ROUNDS { &errors[..] } else { &[] };
                    let edits: Vec<Edit> = repairs.iter().filter_map(|error| Edit::of(error, root)).collect();
                    if edits.is_empty() {
                        return Err(Unfit::Invalid(problem::describe(&errors, root, schema)));
                    }
                    edits
                }
            };
            self.replace(edits)?;
        }
        Err(Unfit::Costly)
    }

    fn replace(&mut self, mut edits: Vec<Edit>) -> Result<(), Unfit> {
        edits.sort_by_key(|edit| edit.span.start);
        edits.dedup_by_key(|edit| edit.span.start);
        let text = self.tree.text();
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for edit in edits {
            out.push_str(&text[at..edit.span.start]);
            out.push_str(&edit.text);
            at = edit.span.end;
            self.repairs.push(Repair { path: edit.path, kind: RepairKind::FieldText });
        }
        out.push_str(&text[at..]);
        // Each part was read by itself; together they can only be nested too deep.
        self.tree = Tree::of(Cow::Owned(out)).map_err(|fault| unreadable(&fault))?;
        Ok(())
    }
}

/// A string to be replaced by the JSON text that it holds.
struct Edit {
    path: String,
    span: Range<usize>,
    text: String,
}

impl Edit {
    fn of(error: &ValidationError<'_>, root: Value<'_>) -> Option<Edit> {
        let path = error.instance_path().as_str();
        let mut wanted = Vec::new();
        if !only_types(error, path, &mut wanted) || wanted.contains(&Kind::String) {
            return None;
        }
        let value = root.at_pointer(path)?;
        let text = value.string()?.trim().to_owned();
        let kind = Tree::of(Cow::Borrowed(&text)).ok()?.root().kind();
        let fits = matches!(kind, Kind::Array | Kind::Object) && wanted.contains(&kind);
        fits.then(|| Edit { path: path.to_owned(), span: value.span(), text })
    }
}

/// Whether the value at `path` is refused for its type and nothing else, in every alternative; adds the wanted ones.
fn only_types(error: &ValidationError<'_>, path: &str, wanted: &mut Vec<Kind>) -> bool {
    if error.instance_path().as_str() != path {
        return false;
    }
    match error.kind() {
        ValidationErrorKind::Type { kind: TypeKind::Single(kind) } => wanted.extend(kind_of(*kind)),
        ValidationErrorKind::Type { kind: TypeKind::Multiple(kinds) } => {
            wanted.extend(kinds.iter().filter_map(kind_of))
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            return context
                .iter()
                .all(|branch| !branch.is_empty() && branch.iter().all(|error| only_types(error, path, wanted)));
        }
        _ => return false,
    }
    true
}

fn kind_of(kind: JsonType) -> Option<Kind> {
    match kind {
        JsonType::Array => Some(Kind::Array),
        JsonType::Object => Some(Kind::Object),
        JsonType::String => Some(Kind::String),
        _ => None,
    }
}

fn unreadable(fault: &TextFault) -> Unfit {
    Unfit::whole(fault.to_string().trim_start_matches("it "))
}
