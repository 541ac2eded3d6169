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

/// The same of a task, whose client is not on the line.
const TASK_BADGE: &str =
    "it was approved; its server has asked its client something first, and it goes on when that has answered";

/// What a server gave with its question, to be given back as it is, and what the client of a task has answered so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    state: Option<Bytes>,
    requests: Option<Bytes>,
    answers: Vec<(String, Bytes)>,
    /// Everything was answered: the next leg may go.
    is_answered: bool,
}

/// The question that an answer is; None: it is an end.
pub(crate) fn of(answer: &Answer) -> Option<Question> {
    let Answer::Result { era: Era::Modern, body } = answer else { return None };
    let body = body.join();
    let [kind, state, requests] = object::pick(&body, ["resultType", "requestState", "inputRequests"]);
    let is_question = object::text(&body[kind?]).as_deref() == Some("input_required");
    let part = |range: Option<std::ops::Range<usize>>| range.map(|range| body.slice(range));
    let (state, requests) = (part(state), part(requests));
    is_question.then(|| Question { state, requests, answers: Vec::new(), is_answered: false })
}

impl Question {
    /// What the params of the next leg have for it; nothing where they answer another one.
    pub(crate) fn reply(&self, params: &frame::Params) -> Vec<(&'static str, Bytes)> {
        if params.get("requestState") != self.state {
            return Vec::new();
        }
        REPLY.iter().filter_map(|name| Some((*name, params.get(name)?))).collect()
    }

    /// Takes over what the client of a task answers; what was not asked is left out. True: that was all.
    pub(crate) fn answer(&mut self, responses: &Bytes) -> bool {
        for (key, value) in members_of(responses) {
            if self.asks(&key) {
                self.answers.retain(|(known, _)| *known != key);
                self.answers.push((key, value));
            }
        }
        self.is_answered = self.open().is_empty();
        self.is_answered
    }
    pub(crate) fn is_answered(&self) -> bool {
        self.is_answered
    }
    fn asks(&self, key: &str) -> bool {
        self.requests.as_ref().is_some_and(|requests| members_of(requests).iter().any(|(asked, _)| asked == key))
    }
    /// What is not answered yet.
    fn open(&self) -> Vec<(String, Bytes)> {
        let mut all = self.requests.as_ref().map(members_of).unwrap_or_default();
        all.retain(|(key, _)| !self.answers.iter().any(|(known, _)| known == key));
        all
    }
    /// The same as a JSON object.
    pub(crate) fn requests(&self) -> String {
        written(&self.open())
    }
    /// Members of the params of a task's next leg, each with a comma before it.
    pub(crate) fn members(&self) -> String {
        let responses = self.requests.as_ref().map(|_| format!(",\"inputResponses\":{}", written(&self.answers)));
        let state = self.state.as_ref().map(|state| format!(",\"requestState\":{}", String::from_utf8_lossy(state)));
        responses.into_iter().chain(state).collect()
    }
}

/// The members of an object, their names read.
fn members_of(object: &Bytes) -> Vec<(String, Bytes)> {
    let one =
        |member: object::Member| Some((object::text(&object[member.key])?.into_owned(), object.slice(member.value)));
    object::members(object).filter_map(one).collect()
}

fn written(members: &[(String, Bytes)]) -> String {
    let one = |(key, value): &(String, Bytes)| format!("{}:{}", object::quote(key), String::from_utf8_lossy(value));
    format!("{{{}}}", members.iter().map(one).collect::<Vec<_>>().join(","))
}

/// The run of a case ended with a question to its client. False: it is none of which the next leg would be known.
pub(crate) fn asked(core: &Rc<Core>, case: &Rc<Case>, answer: &Answer) -> bool {
    if case.state() != CallState::Intent || case.row().method != Method::ToolCall {
        return false;
    }
    let Some(question) = of(answer) else { return false };
    if case.is_task() {
        // Its client has as long as a person had.
        let expire = u64::try_from(core.gate.settings().expire.as_millis()).unwrap_or(u64::MAX / 2);
        case.note(|row| row.expires_ms = now_ms() + expire);
    }
    let is_approved = {
        let row = case.row();
        row.scope.is_some() && row.expires_ms > now_ms() || row.task.is_some()
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
    *case.badge.borrow_mut() = Some(if case.is_task() { TASK_BADGE } else { BADGE }.to_owned());
    case.note(|_| {});
    core.ledger.save_call(case.row().clone());
    core.queue_changed();
    let (core, case) = (Rc::clone(core), Rc::clone(case));
    task::spawn("hold an approval", async move { super::hold::watch(&core, &case).await });
    true
}
