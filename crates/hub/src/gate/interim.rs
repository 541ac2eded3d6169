//! A call whose server asks its client for more before it does it (`input_required` of 2026-07-28): its legs are one call.
//! The leave of the first one holds for the next, a key stays with it, and of what its client says beside the arguments
//! only the answer to that question goes along.

use super::case::Case;
use super::{meet, now_ms, settle};
use crate::core::Core;
use bytes::Bytes;
use frame::{Answer, Era, object};
use policy::{CallState, Event, Leave};
use std::rc::Rc;
use store::Method;
use upstream::task;

/// Members of a leg that answer what the one before was asked.
const REPLY: [&str; 2] = ["inputResponses", "requestState"];

/// Why an approval waits that was used already.
const BADGE: &str = "it was approved; its server has asked its client something first, and the answer goes on with it";

/// What a server gave with its question, to be given back as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    state: Option<Bytes>,
}

/// The question that an answer is; None: it is an end.
pub(crate) fn of(answer: &Answer) -> Option<Question> {
    let Answer::Result { era: Era::Modern, body } = answer else { return None };
    let body = body.join();
    let [kind, state] = object::pick(&body, ["resultType", "requestState"]);
    let is_question = object::text(&body[kind?]).as_deref() == Some("input_required");
    is_question.then(|| Question { state: state.map(|range| body.slice(range)) })
}

impl Question {
    /// What the params of the next leg have for it; nothing where they answer another one.
    pub(crate) fn reply(&self, params: &frame::Params) -> Vec<(&'static str, Bytes)> {
        if params.get("requestState") != self.state {
            return Vec::new();
        }
        REPLY.iter().filter_map(|name| Some((*name, params.get(name)?))).collect()
    }
}

/// The run of a case ended with a question to its client. False: it is none of which the next leg would be known.
pub(crate) fn asked(core: &Rc<Core>, case: &Rc<Case>, answer: &Answer) -> bool {
    if case.state() != CallState::Intent || case.is_task() || case.row().method != Method::ToolCall {
        return false;
    }
    let Some(question) = of(answer) else { return false };
    let is_approved = {
        let row = case.row();
        row.scope.is_some() && row.expires_ms > now_ms()
    };
    let leave = if is_approved { Leave::Person } else { Leave::Rules };
    case.ran();
    case.under_way.set(false);
    if !meet::step(case, Event::Interim(leave)) {
        return true;
    }
    if case.state() != CallState::Approved {
        settle::drop_row(core, case);
        return true;
    }
    *case.question.borrow_mut() = Some(question);
    *case.badge.borrow_mut() = Some(BADGE.to_owned());
    core.ledger.save_call(case.row().clone());
    core.queue_changed();
    let (core, case) = (Rc::clone(core), Rc::clone(case));
    task::spawn("hold an approval", async move { super::hold::watch(&core, &case).await });
    true
}
