//! How a task stands, as its client is told: `tasks/get` and `notifications/tasks` say the same. Says nothing that a crash
//! would undo, and never names a command that decides.

use super::case::Case;
use super::{decide, hold, retold, task};
use crate::core::Core;
use bytes::Bytes;
use contract::outcome::{Code, Output, Refusal};
use frame::object::{self, quote};
use frame::{Answer, Era};
use policy::CallState;
use std::rc::Rc;
use store::{CallRecord, KEYS_KEPT_MS, Outcome};

/// How often a client is asked to look, in ms.
const POLL_MS: u64 = 2_000;

/// One look at a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stand {
    /// The members of the task object, without the braces around them.
    pub members: String,
    /// Whether it has ended.
    pub is_over: bool,
}

impl Stand {
    /// The answer to `tasks/get`.
    pub(crate) fn answer(&self) -> Answer {
        Answer::result(format!("{{\"resultType\":\"complete\",{}}}", self.members))
    }

    fn open(row: &CallRecord, message: &str) -> Stand {
        Stand { members: members(row, "working", message, ""), is_over: false }
    }
    /// `more` begins with a comma.
    fn over(row: &CallRecord, status: &str, message: &str, more: &str) -> Stand {
        Stand { members: members(row, status, message, more), is_over: true }
    }
    fn refused(core: &Core, row: &CallRecord, refusal: &Refusal) -> Stand {
        let result = complete(Era::Legacy, refusal.tool_result(output(core, row)).into());
        Stand::over(row, "completed", &refusal.message, &format!(",\"result\":{result}"))
    }
}

/// What a client is told in place of its call's result.
pub(crate) fn begun(row: &CallRecord) -> String {
    format!("{{\"resultType\":\"task\",{}}}", members(row, "working", &sentence(row), ""))
}

/// How it stands; None where that has to be [`read`] from the store.
pub(crate) fn now(core: &Core, case: &Case) -> Option<Stand> {
    let row = case.row();
    Some(match row.state {
        CallState::Settled => return None,
        // Told when it can no longer be undone.
        CallState::Denied if !case.is_written() => Stand::open(&row, "It is ending."),
        CallState::Denied if row.outcome == Outcome::Cancelled => {
            Stand::over(&row, "cancelled", "Its client took it back. Nothing was executed.", "")
        }
        CallState::Denied | CallState::Expired => Stand::refused(core, &row, &decide::verdict_of(case)),
        CallState::Unknown => {
            let message =
                "It was sent and nobody knows whether it ran. It is not run again; a person has to settle it.";
            Stand::refused(core, &row, &Refusal::new(Code::OutcomeUnknown, message).of_call(case.id()))
        }
        CallState::Approved if case.awaits_answer() => {
            let requests = case.question.borrow().as_ref().map(super::interim::Question::requests).unwrap_or_default();
            let message = "Its server asks its client something first: answer with tasks/update.";
            Stand {
                members: members(&row, "input_required", message, &format!(",\"inputRequests\":{requests}")),
                is_over: false,
            }
        }
        CallState::Reserved | CallState::Waiting | CallState::Approved | CallState::Intent | CallState::Freed => {
            Stand::open(&row, &sentence(&row))
        }
    })
}

/// How it stands, with what it ended with.
pub(crate) async fn read(core: &Rc<Core>, case: &Rc<Case>) -> Stand {
    if let Some(stand) = now(core, case) {
        return stand;
    }
    let row = case.row().clone();
    match retold::kept(core, row.call, &row.client, &row.server).await {
        Some(Answer::Result { era, body }) => {
            Stand::over(&row, "completed", "It ran.", &format!(",\"result\":{}", complete(era, body.join())))
        }
        Some(Answer::Error(error)) => {
            let error = format!(",\"error\":{}", text(&error.join()));
            Stand::over(&row, "failed", "Its server answered with an error.", &error)
        }
        None => {
            let message = "It ran; what it gave is not kept. It is not run again.";
            Stand::refused(core, &row, &Refusal::new(Code::AlreadyRan, message).of_call(case.id()))
        }
    }
}

/// A result in the form that its call would have had in this era: it says itself what it is.
fn complete(era: Era, body: Bytes) -> String {
    if era == Era::Modern && object::get(&body, "resultType").is_some() {
        return text(&body);
    }
    text(&object::Edit::new().set("resultType", "\"complete\"").apply(&body).join())
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a refusal of it may carry: nothing structured where the tool is not known any more.
fn output(core: &Core, row: &CallRecord) -> Output {
    task::tool(core, row).map_or(Output::Declared, |thing| thing.tool().map_or(Output::Free, |tool| tool.output()))
}

fn members(row: &CallRecord, status: &str, message: &str, more: &str) -> String {
    let since = row.asked_ms;
    let updated = since.max(row.decided_ms).max(row.ended_ms);
    // While nobody has decided it lives as long as it waits; what it ended with is kept for a day.
    let until = if row.state == CallState::Waiting { row.expires_ms } else { updated + KEYS_KEPT_MS };
    format!(
        "\"taskId\":{},\"status\":\"{status}\",\"statusMessage\":{},\"createdAt\":\"{}\",\"lastUpdatedAt\":\"{}\",\
         \"ttlMs\":{},\"pollIntervalMs\":{POLL_MS}{more}",
        quote(row.task.as_deref().unwrap_or_default()),
        quote(message),
        hold::moment(since),
        hold::moment(updated),
        until.saturating_sub(since),
    )
}

/// How a task stands that has not ended.
fn sentence(row: &CallRecord) -> String {
    let id = contract::CallId::new(row.call.0);
    match row.state {
        CallState::Waiting | CallState::Reserved => {
            format!(
                "Waiting for a person to decide (approval {id}). Not executed yet; it runs by itself once approved."
            )
        }
        CallState::Approved => format!("Approved (approval {id}); it is about to run."),
        _ => "It is running.".to_owned(),
    }
}
