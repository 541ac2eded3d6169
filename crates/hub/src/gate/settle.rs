//! How a case ends: freed, settled, or unknown. A key keeps what its call ended with, for a retry; the hub itself never
//! repeats a call that may have run.

use super::case::Case;
use super::index::SettledKey;
use super::meet;
use super::moves::{self, Move};
use super::{interim, now_ms, retold};
use crate::core::Core;
use crate::operate::Refusal as Refused;
use crate::record;
use bytes::Bytes;
use contract::outcome::Refusal;
use contract::{CallId, Hash};
use frame::Answer;
use policy::{CallState, Effect, Event, Leave};
use std::rc::Rc;
use store::{CallNumber, CallRecord, Job, Outcome};
use tokio::time::Instant;
use upstream::{Failure, task};

/// A call of a case was refused before anything was sent: its key is free.
pub(crate) fn refused(core: &Core, case: &Rc<Case>, refusal: &Refusal) {
    let event = if case.state() == CallState::Approved { Event::Forbid } else { Event::Refuse };
    if case.is_task() && event == Event::Forbid {
        return unrun(core, case, event, refusal);
    }
    meet::step(case, event);
    drop_row(core, case);
}

/// A task ends without having run; its client finds out why when it asks.
pub(crate) fn unrun(core: &Core, case: &Rc<Case>, event: Event, refusal: &Refusal) {
    case.under_way.set(false);
    if !meet::step(case, event) {
        return;
    }
    case.note(|row| {
        row.outcome = record::of_code(refusal.error);
        row.reason.clone_from(&refusal.message);
        row.ended_ms = now_ms();
        row.arguments = None;
        row.edited = None;
    });
    case.set_written(false);
    let written = core.ledger.put_call(case.row().clone(), None);
    core.gate.index.leave(case);
    core.queue_changed();
    let case = Rc::clone(case);
    task::spawn("write down why a task ends", async move {
        if let Err(cause) = written.await {
            tracing::error!(%cause, call = %case.id(), "the end of a task could not be written; a restart may run it");
        }
        case.set_written(true);
    });
}

pub(super) fn drop_row(core: &Core, case: &Case) {
    core.gate.index.leave(case);
    core.gate.index.leave_task(case);
    case.under_way.set(false);
    core.ledger.job(Job::DropCall(case.call()));
    core.queue_changed();
}

/// The run of a case ended without an answer of its server, which is told as `refusal`.
pub(crate) fn failed(core: &Rc<Core>, case: &Rc<Case>, failure: &Failure, refusal: &Refusal) {
    let is_read = case.row().effect == Effect::Read;
    if failure.was_sent() && is_read && case.is_task() {
        // What it is told ends it like an answer.
        return;
    }
    case.ran();
    case.under_way.set(false);
    if !failure.was_sent() {
        given_back(core, case, refusal);
    } else if is_read {
        // A read changes nothing by running twice.
        meet::step(case, Event::End);
        drop_row(core, case);
    } else {
        unknown(core, case);
    }
}

/// Surely not sent: the key is free, and an approval can be used again. A task has nobody who would use it.
pub(crate) fn given_back(core: &Rc<Core>, case: &Rc<Case>, refusal: &Refusal) {
    let is_alive = {
        let row = case.row();
        row.scope.is_some() && row.expires_ms > now_ms() || row.task.is_some()
    };
    let leave = if is_alive { Leave::Person } else { Leave::Rules };
    case.ran();
    case.under_way.set(false);
    if !meet::step(case, Event::NotSent(leave)) {
        return;
    }
    if case.is_task() {
        unrun(core, case, Event::Withdraw, refusal);
    } else if case.state() == CallState::Approved {
        core.ledger.save_call(case.row().clone());
        let (core, case) = (Rc::clone(core), Rc::clone(case));
        task::spawn("hold an approval", async move { super::hold::watch(&core, &case).await });
    } else {
        drop_row(core, case);
    }
}

/// The run of a case ended with this answer, and this is all of it where it is over the bound; nothing to do where it has
/// failed already.
pub(crate) fn settled(core: &Rc<Core>, case: &Rc<Case>, (answer, whole): (&Answer, Option<Bytes>), outcome: Outcome) {
    if interim::asked(core, case, answer) {
        return;
    }
    case.ran();
    case.under_way.set(false);
    if case.state() != CallState::Intent || !meet::step(case, Event::End) {
        return;
    }
    retold::leave(core, case, answer);
    let row = case.row().clone();
    if row.key.is_none() && row.task.is_none() {
        // Its end row in the audit takes the record away.
        core.gate.index.leave(case);
        return core.queue_changed();
    }
    let ended_ms = now_ms();
    let since = Instant::now();
    core.gate.index.sweep(since);
    let asked = row.asked.unwrap_or_else(|| Hash::of(b""));
    core.gate.index.settle(case, SettledKey { call: row.call, asked, outcome, has_result: true, ended_ms, since });
    case.note(|row| {
        (row.outcome, row.ended_ms, row.has_result) = (outcome, ended_ms, true);
        row.arguments = None;
        row.edited = None;
    });
    let result = whole.unwrap_or_else(|| retold::packed(answer));
    retold::keep(core, row.call, (outcome, ended_ms), result);
}

/// It was sent, and nobody knows whether it ran: a person has to settle it.
fn unknown(core: &Core, case: &Rc<Case>) {
    if !meet::step(case, Event::Lost) {
        return;
    }
    case.note(|row| {
        row.outcome = Outcome::OutcomeUnknown;
        row.ended_ms = now_ms();
        row.arguments = None;
        row.edited = None;
    });
    core.ledger.save_call(case.row().clone());
    core.queue_changed();
}

/// A person says what became of a call with an unknown outcome.
pub(crate) async fn settle(core: &Rc<Core>, id: &str, ran: Event, by: &str) -> Result<CallRecord, Refused> {
    let call = id.parse::<CallId>().ok().map(|id| CallNumber(id.row()));
    let case = call.and_then(|call| core.gate.index.of_call(call));
    let missing =
        || Refused::new("unknown_call", format!("no call `{id}` waits to be settled")).then("callgate call list");
    let case = case.filter(|case| case.state() == CallState::Unknown && !case.is_deciding.get()).ok_or_else(missing)?;
    let outcome = if ran == Event::Ran { Outcome::Ran } else { Outcome::NotRan };
    moves::make(core, &case, Move { event: ran, by, grant: None }, |row| row.outcome = outcome).await?;
    let row = case.row().clone();
    match (row.state, row.key, row.asked) {
        (CallState::Settled, None, _) if row.task.is_some() => core.gate.index.leave(&case),
        (CallState::Settled, Some(_), Some(asked)) => {
            let ended_ms = row.decided_ms;
            let since = Instant::now();
            let settled = SettledKey { call: row.call, asked, outcome, has_result: false, ended_ms, since };
            core.gate.index.settle(&case, settled);
        }
        _ => drop_row(core, &case),
    }
    core.queue_changed();
    Ok(row)
}
