//! The first question about a call: has it been asked before? By its key, or by being the same as one that waits for a
//! person. Comes before the schema check, so that a retry never turns into a second, altered call (rules.md 4).

use super::case::{Asker, Case};
use super::index::{self, Holder};
use super::{now_ms, settle};
use crate::abort::{self, Point};
use crate::agent::SeatCore;
use crate::ask::{self, Pending, To};
use crate::catalog::ToolEntry;
use crate::thing::Thing;
use bytes::Bytes;
use contract::Hash;
use contract::outcome::{Code, Refusal};
use frame::{Ask, Reply, object};
use policy::{CallState, Event};
use std::rc::Rc;
use store::{CallRecord, Job, Outcome};
use tokio::time::Instant;
use upstream::task;

/// The `_meta` member that carries a key.
const KEY_META: &str = "dev.callgate/idempotencyKey";
/// Longest key in bytes: a longer one is no key but a payload.
const LONGEST_KEY: usize = 512;

/// A request, before anything is known of it.
pub(crate) struct Request {
    pub seat: Rc<SeatCore>,
    pub ticket: u64,
    pub ask: Ask,
    pub reply: Box<dyn Reply>,
    pub received: Instant,
    pub thing: Thing,
}

/// Looks it up and goes on with it, or answers it.
pub(crate) fn meet(request: Request) {
    let (gate, ledger) = (&request.seat.core.gate, &request.seat.core.ledger);
    let (client, server) = (&*request.seat.identity.name, &**request.thing.backend().key());
    // Keys and lost results are those of calls.
    let (key, lost) = match &request.thing {
        Thing::Other(_) => (None, false),
        Thing::Tool(tool) => match key(&request.ask, tool) {
            Ok(key) => (key, gate.lost.has_any(client, server, tool.own_name())),
            Err(problem) => return refuse(request, Code::InvalidArguments, problem),
        },
    };
    let (method, label) = (request.thing.method(), &**request.thing.label());
    if key.is_none() && !lost && !gate.index.has_open(client, server, method, label) {
        return go_on(request);
    }
    if !gate.is_settled() {
        return when_settled(request);
    }
    let raw = request.thing.arguments(&request.ask.params);
    let Some(asked) = request.thing.digest(raw.as_ref(), ledger) else { return go_on(request) };
    let Some(key) = key else { return alike(request, asked) };
    let key = ledger.keyed(index::key_of(client, server, label, &key));
    match gate.index.of_key(&key) {
        None => reserve(request, key, asked),
        Some(Holder::Live(case)) if case.row().asked == Some(asked) => join(case, request),
        Some(Holder::Settled(settled)) if settled.asked == asked => settle::replay(request, settled),
        Some(_) => refuse(
            request,
            Code::IdempotencyConflict,
            "This idempotency key was used with other arguments. Nothing was executed. Use a new key for another call.",
        ),
    }
}

/// Without a case: the usual road.
pub(crate) fn go_on(request: Request) {
    let Request { seat, ticket, ask, reply, received, thing } = request;
    let arguments = thing.arguments(&ask.params);
    ask::check(Pending { seat, ticket, ask, thing, received, arguments, to: To::Reply(reply) });
}

/// What the last run left open is being settled: a matter of milliseconds, at start only.
fn when_settled(request: Request) {
    let core = Rc::clone(&request.seat.core);
    task::spawn("wait for the last run to be settled", async move {
        loop {
            let news = core.gate.settling.notified();
            if core.gate.is_settled() {
                return meet(request);
            }
            news.await;
        }
    });
}

fn alike(request: Request, asked: Hash) {
    let gate = &request.seat.core.gate;
    let (backend, thing) = (request.thing.backend(), &request.thing);
    let what = (thing.method(), &**thing.label());
    let client = &*request.seat.identity.name;
    let alike = index::likeness(client, backend.key(), &backend.rules().launch_hash, what, asked);
    match gate.index.of_likeness(&alike) {
        // Somebody waits for this very execution; that one more wants the same is another wish.
        Some(case) if case.state() == CallState::Intent && case.is_wanted() => go_on(request),
        Some(case) => join(case, request),
        None => settle::recall(request, asked),
    }
}

fn reserve(request: Request, key: Hash, asked: Hash) {
    let case = Case::new(CallRecord { key: Some(key), ..row_of(&request.seat, &request.thing, asked) });
    let gate = &request.seat.core.gate;
    gate.index.enter(&case);
    case.under_way.set(true);
    abort::at(Point::Reserved, request.thing.label());
    let arguments = request.thing.arguments(&request.ask.params);
    let (ticket, ask, received) = (request.ticket, request.ask.clone(), request.received);
    let (seat, thing) = (Rc::clone(&request.seat), request.thing.clone());
    attach(&case, request);
    ask::check(Pending { seat, ticket, ask, thing, received, arguments, to: To::Case(case) });
}

/// The record of a call that nothing is known of yet.
pub(crate) fn row_of(seat: &SeatCore, thing: &Thing, asked: Hash) -> CallRecord {
    let backend = thing.backend();
    let client = &seat.identity.name;
    CallRecord {
        session: seat.identity.session.to_string(),
        launch: backend.rules().launch_hash.to_string(),
        method: thing.method(),
        name: thing.shown().to_owned(),
        definition: Some(thing.definition()),
        asked: Some(asked),
        effect: thing.effect(),
        ..CallRecord::new(seat.core.ledger.next_call(), client, backend.key(), thing.label(), now_ms())
    }
}

/// The same call again, by key or by likeness.
fn join(case: Rc<Case>, request: Request) {
    match case.state() {
        CallState::Denied | CallState::Expired => {
            // The retry finds the decision, once; the next one is a new question.
            let answer = request.thing.refused(&super::decide::verdict_of(&case));
            request.seat.core.gate.index.leave(&case);
            request.seat.core.ledger.job(Job::DropCall(case.call()));
            let record = request.thing.record(&request.seat, request.received);
            let outcome = if case.state() == CallState::Expired { Outcome::ApprovalExpired } else { Outcome::Denied };
            request.seat.core.ledger.replayed(&record, case.call(), outcome);
            request.reply.done(answer);
        }
        CallState::Unknown => {
            let message = "An identical call was sent and nobody knows whether it ran. It is not run again by itself; \
                           a person has to settle it.";
            refuse(request, Code::OutcomeUnknown, message);
        }
        CallState::Settled | CallState::Freed => go_on(request),
        CallState::Reserved | CallState::Waiting | CallState::Intent => attach(&case, request),
        CallState::Approved => {
            let core = Rc::clone(&request.seat.core);
            attach(&case, request);
            if !case.under_way.get() && !case.is_deciding.get() {
                super::decide::claim(&core, &case);
            }
        }
    }
}

/// Lets a request wait for the end of a case.
pub(crate) fn attach(case: &Rc<Case>, request: Request) {
    let Request { seat, ticket, ask, reply, received, thing } = request;
    case.attach(Asker { seat: Rc::downgrade(&seat), ticket, ask, reply, thing, received, notices: 0 });
}

/// Answers a request without a case of its own.
pub(crate) fn refuse(request: Request, code: Code, message: &str) {
    let Request { seat, reply, thing, received, .. } = request;
    let record = thing.record(&seat, received);
    seat.core.ledger.refused(&record, code);
    reply.done(thing.refused(&Refusal::new(code, message).of_call(record.id())));
}

/// The key of a call: of `_meta`, or of the argument that the tool's schema has for it.
fn key(ask: &Ask, tool: &ToolEntry) -> Result<Option<String>, &'static str> {
    let named = &tool.backend.rules().idempotency_argument;
    let text = |raw: Bytes| object::text(&raw).map(|text| text.into_owned());
    let told = ask.params.get("_meta").and_then(|meta| object::get(&meta, KEY_META));
    let argued = tool.read.tool.takes(named).then(|| ask.params.get("arguments")).flatten();
    let argued = argued.and_then(|arguments| object::get(&arguments, named));
    match told.or(argued).and_then(text) {
        Some(key) if key.len() > LONGEST_KEY => {
            Err("The idempotency key is longer than 512 bytes. Nothing was executed.")
        }
        Some(key) if !key.is_empty() => Ok(Some(key)),
        _ => Ok(None),
    }
}

/// The step of a case that cannot be refused where it is taken; a refusal is a fault of this crate and leaves it be.
pub(crate) fn step(case: &Case, event: Event) -> bool {
    match case.step(event) {
        Ok(_) => true,
        Err(unfit) => {
            tracing::error!(call = %case.id(), %unfit, "a call record refused a step");
            false
        }
    }
}
