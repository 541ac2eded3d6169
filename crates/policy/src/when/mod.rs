//! Conditions of rules, in CEL. A condition can neither run long nor fill memory, whatever the arguments are: its
//! text, the arguments that it is shown and the steps of a judgement are all bounded, and what goes over a bound has
//! no answer, which is never "allowed".

mod eval;
mod expr;
mod fault;
mod lower;
mod number;
mod pattern;
mod steps;
mod value;

pub(crate) use expr::Reads;
pub(crate) use steps::Steps;

use contract::json::{Json, View};
use eval::{Run, Situation};
use expr::Expr;
use fault::{Fault, Problem};
use value::Value;

/// Longest arguments in bytes that conditions are shown.
const MAX_ARGUMENTS: usize = 256 << 10;

/// A compiled condition.
#[derive(Debug)]
pub(crate) struct When {
    expr: Expr,
    reads: Reads,
}

/// What a condition says of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is true.
    Holds,
    /// It is false, or asks for a field that is not there.
    Not,
    /// It can't be judged: why.
    Failed(String),
}

/// What is known of the thing that is asked for, apart from the call.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) tool: Box<str>,
    pub(crate) server: Box<str>,
    pub(crate) effect: &'static str,
    pub(crate) annotations: Box<[u8]>,
}

impl When {
    /// Reads a condition.
    pub(crate) fn compile(text: &str) -> Result<When, Vec<String>> {
        lower::lower(text).map(|(expr, reads)| When { expr, reads })
    }
    /// What it depends on.
    pub(crate) fn reads(&self) -> &Reads {
        &self.reads
    }
    /// Whether it says the same of every call of one thing.
    pub(crate) fn is_settled(&self) -> bool {
        !self.reads.args && !self.reads.host
    }
}

/// Judges conditions of one call, in order, until `each` has heard enough.
pub(crate) fn judge<'w>(
    conditions: impl Iterator<Item = (usize, &'w When)> + Clone,
    subject: &Subject,
    host: &str,
    arguments: &[u8],
    mut each: impl FnMut(usize, Outcome) -> bool,
) {
    let steps = Steps::new();
    let read = |what: fn(&Reads) -> bool, name, text| {
        let is_read = conditions.clone().any(|(_, when)| what(when.reads()));
        if is_read { object(name, text, &steps) } else { Err(Problem::Unreadable(name)) }
    };
    let args = read(|reads| reads.args, "arguments", arguments);
    let annotations = read(|reads| reads.annotations, "annotations", &subject.annotations);
    let of = Situation {
        args: args.as_ref().map(Json::root).map_err(|problem| *problem),
        annotations: annotations.as_ref().map(Json::root).map_err(|problem| *problem),
        tool: &subject.tool,
        server: &subject.server,
        host,
        effect: subject.effect,
    };
    for (rule, when) in conditions {
        let value = Run { of: &of, steps: &steps, reads: &when.reads, locals: Vec::new() }.value(&when.expr);
        let outcome = match value {
            Ok(Value::Boolean(true)) => Outcome::Holds,
            Ok(Value::Boolean(false)) | Err(Fault::Absent) => Outcome::Not,
            Ok(other) => Outcome::Failed(format!("it gives {} instead of true or false", other.kind())),
            Err(Fault::Broken(problem)) => Outcome::Failed(problem.to_string()),
        };
        if !each(rule, outcome) {
            break;
        }
    }
}

/// Reads an object; nothing is an empty one.
fn object<'a>(name: &'static str, text: &'a [u8], steps: &Steps) -> Result<Json<'a>, Problem> {
    if text.len() > MAX_ARGUMENTS {
        return Err(Problem::Length(name));
    }
    steps.search(text.len())?;
    let json = Json::read(if text.is_empty() { b"{}" } else { text }).map_err(|_| Problem::Unreadable(name))?;
    if matches!(json.root().view(), View::Object) { Ok(json) } else { Err(Problem::Unreadable(name)) }
}
