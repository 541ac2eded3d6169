//! What keeps a call from running that no decision about it changes: its server is not there or does not run, or does not
//! offer it any more. Words for a person who looks at it or approves it; nothing is decided here.

use super::task;
use crate::backend::Backend;
use crate::core::Core;
use crate::thing::Thing;
use contract::visible::escape;
use policy::Then;
use store::{CallRecord, Method};
use upstream::State;

/// Why what waits could not run now whoever approves it, and what ends that; None where nothing keeps it.
pub(crate) fn why(core: &Core, row: &CallRecord) -> Option<String> {
    let Some(backend) = core.backend(&row.server) else {
        return Some(format!("there is no server `{}` in the config any more", escape(&row.server)));
    };
    server(&backend).or_else(|| offer(core, &backend, row))
}

/// The same of all that a server offers.
pub(crate) fn server(backend: &Backend) -> Option<String> {
    let key = escape(backend.key()).into_owned();
    if backend.rules().disabled {
        return Some(format!("its server `{key}` is disabled (callgate server enable {key})"));
    }
    if let Some(problem) = backend.problem() {
        return Some(format!("its server `{key}` cannot be run: {}", escape(problem)));
    }
    let (state, reason, _) = backend.server()?.state();
    let because = reason.map(|reason| format!(": {}", escape(&reason))).unwrap_or_default();
    match state {
        State::Stopped | State::Starting { .. } | State::Ready => None,
        State::Halted => Some(format!("its server `{key}` was stopped by a person (callgate server start {key})")),
        State::Failing { .. } => {
            Some(format!("its server `{key}` does not start{because} (callgate server show {key})"))
        }
        State::Unusable => Some(format!("its server `{key}` cannot be run{because} (callgate server show {key})")),
    }
}

/// What is asked for is not offered any more, or a rule keeps it from everybody.
fn offer(core: &Core, backend: &Backend, row: &CallRecord) -> Option<String> {
    let gone = |what: &str| Some(format!("its server `{}` lists no such {what} any more", escape(backend.key())));
    match row.method {
        Method::ToolCall => match task::tool(core, row) {
            Some(Thing::Tool(tool)) => {
                let standing = core.gate.standing(&tool);
                let judgement = standing.always().filter(|judgement| judgement.then() == Then::Deny)?;
                Some(judgement.sentence())
            }
            _ if backend.is_listed() => gone("tool"),
            _ => None,
        },
        Method::PromptGet if backend.is_listed() => {
            let shelf = backend.shelf();
            let is_there = shelf.prompts.iter().any(|entry| entry.read.own == row.tool);
            if is_there { None } else { gone("prompt") }
        }
        _ => None,
    }
}
