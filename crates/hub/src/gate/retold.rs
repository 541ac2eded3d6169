//! What was told before and is told again: the result of a key, a reply that its client has not had (docs/approvals.md), a no
//! of a moment ago. Never runs anything.

use super::case::Case;
use super::index::{self, SettledKey};
use super::lost::{End, Kept, Lost, Repetition, Which, Why};
use super::meet::{self, Request};
use super::pages::Readable;
use super::{now_ms, owed, receipt};
use crate::ask::Pending;
use crate::core::Core;
use crate::thing::Thing;
use bytes::Bytes;
use contract::outcome::{Code, Refusal, Told, tell, tell_error};
use contract::{CallId, Hash};
use frame::{Answer, Era, Rope};
use policy::{CallState, Effect};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;
use store::{CallNumber, CallRecord, Job, Method, Outcome};
use tokio::time::{Instant, timeout_at};
use upstream::task;

/// How long after a no was told it answers identical calls that would ask once more: they are beside the one that was
/// told, or come from a program that does not read.
const BESIDE: Duration = Duration::from_secs(1);
/// How long one who calls again waits at least for a call that may still run.
const JOINED: Duration = Duration::from_secs(5);
/// So many of them are remembered; the oldest go first.
const MOST_NOES: usize = 256;

/// What was denied, not decided in time, or of which nobody knows whether it ran, and told a moment ago.
#[derive(Default)]
pub(crate) struct Noes(RefCell<VecDeque<(Hash, Refusal, Instant)>>);

impl Noes {
    fn put(&self, alike: Hash, refusal: Refusal) {
        let mut all = self.0.borrow_mut();
        all.push_back((alike, refusal, Instant::now()));
        if all.len() > MOST_NOES {
            all.pop_front();
        }
    }
    fn find(&self, alike: impl FnOnce() -> Option<Hash>) -> Option<Refusal> {
        let mut all = self.0.borrow_mut();
        all.retain(|(.., since)| since.elapsed() < BESIDE);
        if all.is_empty() {
            return None;
        }
        let alike = alike()?;
        all.iter().find(|(other, ..)| *other == alike).map(|(_, refusal, _)| refusal.clone())
    }
}

/// A no has been told to all who are to be told: it answers what comes beside them, and then is forgotten.
pub(crate) fn over(core: &Core, case: &Case, refusal: Refusal) {
    part(core, case, refusal);
    core.gate.index.leave(case);
}

/// The same of a case that stays on record.
pub(crate) fn part(core: &Core, case: &Case, refusal: Refusal) {
    // What a client took back itself is not held out to it.
    if let Some(alike) = index::alike(case).filter(|_| refusal.error != Code::Cancelled) {
        core.gate.noes.put(alike, refusal);
    }
    core.gate.index.part(case);
}

/// The no of a moment ago to the identical call of this client; `asked` is its digest.
pub(crate) fn denied(call: &Pending, asked: Option<Hash>) -> Option<Refusal> {
    let alike = || Some(index::likeness_of(call.seat.identity.id(), &call.thing, asked?));
    call.seat.core.gate.noes.find(alike)
}

/// Whether no client of this session is there.
pub(crate) fn is_gone(core: &Core) -> impl Fn(&str) -> bool {
    |session| !core.seats().iter().any(|seat| *seat.identity.session == *session)
}

/// A case has ended with this answer: who left before and was not told finds it when he calls again.
pub(crate) fn leave(core: &Core, case: &Case, answer: &Answer) {
    let (owed, row) = (case.take_owed(), case.row());
    let Some(backend) = core.backend(&row.server) else { return };
    let is_call = row.method == Method::ToolCall && row.effect != Effect::Read;
    let mut place = if is_call && row.key.is_none() && row.task.is_none() { Kept::Store } else { Kept::Memory };
    for (session, why) in owed {
        let Some(which) = Which::of_record(&row, backend.rules().replay_lost) else { return };
        owed::put(core, Which { session, why, place, ended_ms: now_ms(), ..which }, Some(answer.clone()));
        // One call has one record.
        place = Kept::Memory;
    }
}

/// Keeps what a call with a key, or a task, ended with.
pub(crate) fn keep(core: &Rc<Core>, call: CallNumber, (outcome, ended_ms): (Outcome, u64), result: Bytes) {
    // Until it is in the store it is found here.
    core.gate.index.unwritten(call, Some(result.clone()));
    let written = core.ledger.written(Job::EndCall { call, outcome, ended_ms, result: Some(result) });
    let core = Rc::clone(core);
    task::spawn("write a result", async move {
        if let Err(cause) = written.await {
            tracing::error!(%cause, call = %CallId::new(call.0), "a result could not be kept; a retry is told that it ran");
        }
        core.gate.index.unwritten(call, None);
    });
}

/// A retry of a settled key gets what the call ended with.
pub(crate) fn replay(request: Request, settled: SettledKey) {
    let core = Rc::clone(&request.seat.core);
    if !settled.has_result {
        return already_ran(request, &settled);
    }
    task::spawn("replay a result", async move {
        let (client, server) = (request.seat.identity.id(), request.thing.backend().key());
        let Some(answer) = kept(&core, settled.call, client, server).await else {
            return already_ran(request, &settled);
        };
        let record = request.thing.record(&request.seat, request.received);
        core.ledger.replayed(&record, settled.call, settled.outcome);
        core.gate.lost.told(&request.seat.identity.session, settled.call);
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

/// A server's answer with something told beside it; what cannot be read stays as it is.
fn beside(answer: Answer, told: &[Told<'_>]) -> Answer {
    match answer {
        Answer::Result { era, body } => {
            let text = body.join();
            let body = tell(&text, told).map_or(text, Bytes::from).into();
            Answer::Result { era, body }
        }
        Answer::Error(error) => {
            let text = error.join();
            Answer::Error(tell_error(&text, told).map_or(text, Bytes::from).into())
        }
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

/// The same of a result over the bound: whoever is told of it gets the first piece.
pub(crate) fn packed_whole(era: Era, result: &Bytes) -> Bytes {
    let form = if era == Era::Legacy { b'l' } else { b'm' };
    [&[form][..], result].concat().into()
}

/// What a call ended with, as far as it is kept: of what is over the bound the first piece, and the rest can be read once
/// more.
pub(crate) async fn kept(core: &Rc<Core>, call: CallNumber, client: &str, server: &str) -> Option<Answer> {
    let stored = match core.gate.index.is_unwritten(call) {
        Some(stored) => stored,
        None => core.ledger.result(call).await?,
    };
    let (form, body) = (*stored.first()?, stored.slice(1..));
    let era = match form {
        b'l' => Era::Legacy,
        b'm' => Era::Modern,
        _ => return unpacked(form, body.into()),
    };
    let most = core.backend(server)?.rules().results.max_bytes;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    if body.len() <= most {
        return Some(Answer::Result { era, body: body.into() });
    }
    let result = tokio::task::spawn_blocking(move || Readable::of(&body, most)).await.ok()?;
    let first = core.gate.pages.keep(CallId::new(call.0), &client.into(), result, most);
    Some(Answer::Result { era, body: first.into() })
}

fn unpacked(form: u8, body: Rope) -> Option<Answer> {
    Some(match form {
        b'L' => Answer::Result { era: Era::Legacy, body },
        b'M' => Answer::Result { era: Era::Modern, body },
        b'E' => Answer::Error(body),
        _ => return None,
    })
}

/// An identical call of one whose reply was lost is answered by that one's result, whatever key either has
/// (docs/approvals.md). `key` is one that nobody holds: it stands for that call from then on. What finds nothing goes on as
/// a new call.
pub(crate) fn recall(request: Request, asked: Hash, key: Option<Hash>) {
    let core = Rc::clone(&request.seat.core);
    let thing = index::thing_of(
        request.seat.identity.id(),
        request.thing.backend().key(),
        request.thing.method(),
        request.thing.shown(),
    );
    let of = Repetition { thing, asked, session: &request.seat.identity.session };
    let Some(lost) = core.gate.lost.find(&of, is_gone(&core)) else { return meet::begin(request, asked, key) };
    let patience = core.gate.settings().hold.max(JOINED);
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
        if matches!(end, End::Open) {
            // Whoever calls again joins it again, until its server has answered or its time is over.
            let message = "An identical call was sent before, its client stopped waiting for it, and no answer has come yet. \
                           It was not run again. Call again with the same arguments later to get its result.";
            return meet::refuse(request, Code::OutcomeUnknown, message);
        }
        if key.is_some_and(|key| core.gate.index.of_key(&key).is_some()) {
            // Another retry with the same key was first.
            return meet::meet(request);
        }
        core.gate.lost.forget(&lost);
        let end = match end {
            End::Stored => kept(&core, lost.call, &lost.client, &lost.server).await.map_or(End::Unknown, End::Answered),
            end => end,
        };
        match end {
            End::Answered(answer) => tell_again(request, asked, key, lost, answer),
            End::NotSent => meet::begin(request, asked, key),
            End::Unanswered => {
                owed::over(&core, &[lost]);
                let message = "An identical call was sent before and no answer came, so that nobody knows whether it \
                               ran. It was not run again. Check first; calling once more runs it again.";
                meet::refuse(request, Code::OutcomeUnknown, message);
            }
            End::Ran => {
                let at = super::hold::moment(lost.ended_ms);
                owed::over(&core, &[lost]);
                let message = format!(
                    "An identical call ran already and ended {at}; whether its answer arrived is not known, and it is not \
                     kept. It was not run again. Check first; calling once more runs it again."
                );
                meet::refuse(request, Code::AlreadyRan, &message);
            }
            End::Unknown | End::Open | End::Stored => {
                owed::over(&core, &[lost]);
                let message = "An identical call was sent before and its client stopped waiting for it; whether it ran \
                               is not known. It was not run again. Check first; calling once more runs it again.";
                meet::refuse(request, Code::OutcomeUnknown, message);
            }
        }
    });
}

fn tell_again(request: Request, asked: Hash, key: Option<Hash>, lost: Rc<Lost>, answer: Answer) {
    let core = Rc::clone(&request.seat.core);
    let record = request.thing.record(&request.seat, request.received);
    core.ledger.replayed(&record, lost.call, Outcome::Ok);
    if let Some(key) = key {
        adopt(&request, (key, asked), record.number(), &answer);
    }
    let at = super::hold::moment(lost.ended_ms);
    let told = match (&request.thing, key, lost.why) {
        // Their results have no place for a text.
        (Thing::Other(_), ..) => Told::Replayed,
        (Thing::Tool(_), Some(_), _) => Told::Adopted(&at),
        (Thing::Tool(_), None, Why::Undelivered) => Told::Lost(&at),
        (Thing::Tool(_), None, Why::SentAway) => Told::Waited(&at),
    };
    let told = beside(answer.clone(), &[told]);
    request.reply.deliver(told, receipt::again(&core, lost, answer));
}

/// From now on this key is settled with that answer, also for a later hub.
fn adopt(request: &Request, (key, asked): (Hash, Hash), call: CallNumber, answer: &Answer) {
    let core = &request.seat.core;
    let (outcome, ended_ms, since) = (Outcome::Ok, now_ms(), Instant::now());
    core.gate.index.keep(key, SettledKey { call, asked, outcome, has_result: true, ended_ms, since });
    core.ledger.save_call(CallRecord {
        call,
        key: Some(key),
        state: CallState::Settled,
        outcome,
        ended_ms,
        ..meet::row_of(&request.seat, &request.thing, asked)
    });
    keep(core, call, (outcome, ended_ms), packed(answer));
}
