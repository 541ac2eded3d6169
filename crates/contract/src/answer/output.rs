//! A result against the `outputSchema` that its tool promised, and JSON that a server wrote into a text. Nothing is
//! repaired here: what a server answered is passed on or refused.

use crate::judge::{self, Effort, Judged};
use crate::problem::{self, Problem};
use crate::schema::Compiled;
use crate::tree::{Kind, Tree, Value};
use std::borrow::Cow;

/// What the check of a result came to.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputCheck {
    /// It is what the schema says.
    Fits,
    /// It says that it is an error: no schema holds for it.
    IsError,
    /// It is no end but a question to the client: no schema holds for it either.
    Interim,
    /// It breaks the schema, or has no `structuredContent` at all; all problems at once.
    Breaks(Vec<Problem>),
}

/// The check took more steps than were allowed. After [`Effort::QUICK`] try [`Effort::LONG`] on another thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the result takes more steps to check against the schema than are allowed")]
pub struct Costly;

/// Checks the result of a `tools/call` against its tool's output schema. Problems name places in
/// `structuredContent` and never quote a value.
///
/// # Errors
/// [`Costly`]
pub fn check_output(result: &[u8], schema: &Compiled, effort: Effort) -> Result<OutputCheck, Costly> {
    let broken = |problem: &str| Ok(OutputCheck::Breaks(vec![Problem::whole(problem)]));
    let tree = match Tree::read(result) {
        Ok(tree) => tree,
        Err(fault) => return broken(fault.to_string().trim_start_matches("it ")),
    };
    if tree.root().get("isError").and_then(Value::boolean) == Some(true) {
        return Ok(OutputCheck::IsError);
    }
    if tree.root().get("resultType").and_then(Value::string).as_deref() == Some("input_required") {
        return Ok(OutputCheck::Interim);
    }
    let Some(content) = tree.root().get("structuredContent").filter(|content| content.kind() != Kind::Null) else {
        return broken("is missing, though the tool has an output schema");
    };
    match judge::judge(content, schema, effort) {
        Judged::Fits => Ok(OutputCheck::Fits),
        Judged::Breaks(errors) => Ok(OutputCheck::Breaks(problem::describe(&errors, content, schema))),
        Judged::Wrong(problem) => Ok(OutputCheck::Breaks(vec![problem])),
        Judged::Costly => Err(Costly),
    }
}

/// JSON that stands in a text, apart from what is around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inner<'t> {
    /// The JSON object or array as it stands in the text.
    pub json: &'t str,
}

/// The JSON object or array that a text holds: the whole text, or the whole of one fenced block in it.
pub fn inner(text: &str) -> Option<Inner<'_>> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}');
    let json = if text.starts_with(['{', '[']) { text } else { fenced(text)? };
    let tree = Tree::of(Cow::Borrowed(json)).ok()?;
    matches!(tree.root().kind(), Kind::Object | Kind::Array).then_some(Inner { json })
}

/// What stands between the only two fences of a text.
fn fenced(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```")?;
    let (block, after) = rest.split_once("```")?;
    let block = block.strip_prefix("json").unwrap_or(block).trim();
    (block.starts_with(['{', '[']) && !after.contains("```")).then_some(block)
}
