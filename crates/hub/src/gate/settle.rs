//! How a case ends: freed, settled, or unknown. A key keeps what its call ended with, for a retry; the hub itself never
//! repeats a call that may have run.

use super::case::Case;
use super::index::SettledKey;
use super::lost::End;
use super::meet::{self, Request};
use super::moves::{self, Move};
use super::{interim, now_ms, owed, receipt};
use crate::core::Core;
use crate::operate::Refusal as Refused;
use crate::record;
use crate::thing::Thing;
use bytes::Bytes;
use contract::outcome::{Code, Refusal, Told, tell};
use contract::{CallId, Hash};
use frame::{Answer, Era, Rope};
use policy::{CallState, Effect, Event, Leave};
use std::rc::Rc;
use store::{CallNumber, CallRecord, Job, Outcome};
use tokio::time::{Instant, timeout_at};
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

/// The run of a case ended with this answer; nothing to do where it has failed already.
pub(crate) fn settled(core: &Rc<Core>, case: &Rc<Case>, answer: &Answer, outcome: Outcome) {
    if interim::asked(core, case, answer) {
        return;
    }
    case.ran();
    case.under_way.set(false);
    if case.state() != CallState::Intent || !meet::step(case, Event::End) {
        return;
    }
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
    let result = packed(answer);
    // Until it is in the store it is found here.
    core.gate.index.unwritten(row.call, Some(result.clone()));
    let written = core.ledger.written(Job::EndCall { call: row.call, outcome, ended_ms, result: Some(result) });
    let core = Rc::clone(core);
    task::spawn("write a result", async move {
        if let Err(cause) = written.await {
            tracing::error!(%cause, call = %CallId::new(row.call.0), "a result could not be kept; a retry is told that it ran");
        }
        core.gate.index.unwritten(row.call, None);
    });
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

/// A retry of a settled key gets what the call ended with.
pub(crate) fn replay(request: Request, settled: SettledKey) {
    let core = Rc::clone(&request.seat.core);
    if !settled.has_result {
        return already_ran(request, &settled);
    }
    let unwritten = core.gate.index.is_unwritten(settled.call);
    task::spawn("replay a result", async move {
        let stored = match unwritten {
            Some(stored) => Some(stored),
            None => core.ledger.result(settled.call).await,
        };
        let stored = stored.and_then(|stored| unpacked(&stored));
        let Some(answer) = stored else { return already_ran(request, &settled) };
        let record = request.thing.record(&request.seat, request.received);
        core.ledger.replayed(&record, settled.call, settled.outcome);
        request.reply.done(beside(answer, &[Told::Replayed]));
    });
}

fn already_ran(request: Request, settled: &SettledKey) {
    let at = super::hold::moment(settled.ended_ms);
    let message = format!(
        "A call with this key ran already (call {}, ended {at}); its result is no longer kept. It is not run again; \
         running it again needs a new key.",
        CallId::new(settled.call.0)
    );
    meet::refuse(request, Code::AlreadyRan, &message);
}

/// A server's result with something told beside it; what cannot be read as a result stays as it is.
pub(crate) fn beside(answer: Answer, told: &[Told<'_>]) -> Answer {
    match answer {
        Answer::Result { era, body } => {
            let text = body.join();
            let body = tell(&text, told).map_or(text, Bytes::from).into();
            Answer::Result { era, body }
        }
        error @ Answer::Error(_) => error,
    }
}

/// An answer as it is stored: its form in one byte, then its text.
pub(crate) fn packed(answer: &Answer) -> Bytes {
    let (form, text) = match answer {
        Answer::Result { era: Era::Legacy, body } => (b'L', body.join()),
        Answer::Result { era: Era::Modern, body } => (b'M', body.join()),
        Answer::Error(error) => (b'E', error.join()),
    };
    let mut out = Vec::with_capacity(text.len() + 1);
    out.push(form);
    out.extend_from_slice(&text);
    out.into()
}

pub(crate) fn unpacked(stored: &Bytes) -> Option<Answer> {
    let (form, body) = (*stored.first()?, Rope::from(stored.slice(1..)));
    Some(match form {
        b'L' => Answer::Result { era: Era::Legacy, body },
        b'M' => Answer::Result { era: Era::Modern, body },
        b'E' => Answer::Error(body),
        _ => return None,
    })
}

/// An identical call of one whose reply was lost is answered by that one's result (rules.md 22).
pub(crate) fn recall(request: Request, asked: Hash) {
    let core = Rc::clone(&request.seat.core);
    let Thing::Tool(tool) = &request.thing else { return meet::go_on(request) };
    let (client, server) = (&**request.seat.identity.id(), &**tool.backend.key());
    let found = core.gate.lost.find(client, server, &tool.read.exposed, asked);
    let is_gone = |session: &str| !core.seats().iter().any(|seat| *seat.identity.session == *session);
    let found = found.filter(|lost| *lost.session == *request.seat.identity.session || is_gone(&lost.session));
    let Some(lost) = found else { return meet::go_on(request) };
    let patience = core.gate.settings().hold;
    task::spawn("wait for a lost result", async move {
        let deadline = Instant::now() + patience;
        let end = loop {
            let ended = lost.end.notified();
            match lost.state() {
                End::Open => {}
                end => break end,
            }
            if timeout_at(deadline, ended).await.is_err() {
                break lost.state();
            }
        };
        core.gate.lost.forget(&lost);
        let answer = match end {
            End::Answered(answer) => Some(answer),
            End::Stored => core.ledger.result(lost.call).await.and_then(|stored| unpacked(&stored)),
            End::NotSent => return meet::go_on(request),
            End::Unanswered => {
                owed::over(&core, &[lost]);
                let message = "An identical call was sent before and no answer came, so that nobody knows whether it \
                               ran. It was not run again. Check first; calling once more runs it again.";
                return meet::refuse(request, Code::OutcomeUnknown, message);
            }
            End::Open | End::Unknown => None,
        };
        if let Some(answer) = answer {
            let record = request.thing.record(&request.seat, request.received);
            core.ledger.replayed(&record, lost.call, Outcome::Ok);
            let at = super::hold::moment(lost.ended_ms);
            let told = beside(answer.clone(), &[Told::Lost(&at)]);
            return request.reply.deliver(told, receipt::again(&core, lost, answer));
        }
        owed::over(&core, &[lost]);
        let message = "An identical call was sent before and its client stopped waiting for it; whether it ran is not \
                       known. It was not run again. Check first; calling once more runs it again.";
        meet::refuse(request, Code::OutcomeUnknown, message);
    });
}
