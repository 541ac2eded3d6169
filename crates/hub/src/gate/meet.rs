//! The first question about a call: has it been asked before? By its key, or by being the same as one that waits for a
//! person. Comes before the schema check, so that a retry never turns into a second, altered call (rules.md 4).

use super::case::{Asker, Case};
use super::index::{self, Holder};
use super::{now_ms, settle};
use crate::abort::{self, Point};
use crate::agent::SeatCore;
use crate::ask::{self, Pending, To};
use crate::catalog::ToolEntry;
use bytes::Bytes;
use contract::outcome::{Code, Refusal};
use contract::{Arguments, Hash};
use frame::{Answer, Ask, Reply, object};
use policy::{CallState, Event};
use std::rc::Rc;
use store::{CallRecord, Job, Outcome};
use tokio::time::Instant;
use upstream::task;

/// The `_meta` member that carries a key.
const KEY_META: &str = "dev.callgate/idempotencyKey";
/// Longest key in bytes: a longer one is no key but a payload.
const LONGEST_KEY: usize = 512;

/// A request for a tool, before anything is known of it.
pub(crate) struct Request {
    pub seat: Rc<SeatCore>,
    pub ticket: u64,
    pub ask: Ask,
    pub reply: Box<dyn Reply>,
    pub received: Instant,
    pub tool: Rc<ToolEntry>,
}

/// Looks it up and goes on with it, or answers it.
pub(crate) fn meet(request: Request) {
    let gate = &request.seat.core.gate;
    let (client, server) = (&*request.seat.identity.name, &**request.tool.backend.key());
    let key = match key(&request.ask, &request.tool) {
        Ok(key) => key,
        Err(problem) => return refuse(request, Code::InvalidArguments, problem),
    };
    let tool = &*request.tool.read.tool.name;
    if key.is_none() && !gate.index.has_open(client, server, tool) && !gate.lost.has_any(client, server, tool) {
        return go_on(request);
    }
    if !gate.is_settled() {
        return when_settled(request);
    }
    let raw = request.ask.params.get("arguments");
    let Some(asked) = digest_of(raw.as_ref(), &request.tool) else { return go_on(request) };
    let Some(key) = key else { return alike(request, asked) };
    let key = index::key_of(client, server, tool, &key);
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
    let Request { seat, ticket, ask, reply, received, tool } = request;
    let arguments = ask.params.get("arguments");
    ask::check(Pending { seat, ticket, ask, tool, received, arguments, to: To::Reply(reply) });
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
    let backend = &request.tool.backend;
    let (client, tool) = (&*request.seat.identity.name, &*request.tool.read.tool.name);
    let alike = index::likeness(client, backend.key(), &backend.rules().launch_hash, tool, asked);
    match gate.index.of_likeness(&alike) {
        // Somebody waits for this very execution; that one more wants the same is another wish.
        Some(case) if case.state() == CallState::Intent && case.waiters() > 0 => go_on(request),
        Some(case) => join(case, request),
        None => settle::recall(request, asked),
    }
}

fn reserve(request: Request, key: Hash, asked: Hash) {
    let case = Case::new(CallRecord { key: Some(key), ..row_of(&request.seat, &request.tool, asked) });
    let gate = &request.seat.core.gate;
    gate.index.enter(&case);
    case.under_way.set(true);
    abort::at(Point::Reserved, &request.tool.read.tool.name);
    let arguments = request.ask.params.get("arguments");
    let (ticket, ask, received) = (request.ticket, request.ask.clone(), request.received);
    let (seat, tool) = (Rc::clone(&request.seat), Rc::clone(&request.tool));
    attach(&case, request);
    ask::check(Pending { seat, ticket, ask, tool, received, arguments, to: To::Case(case) });
}

/// The record of a call that nothing is known of yet.
pub(crate) fn row_of(seat: &SeatCore, tool: &ToolEntry, asked: Hash) -> CallRecord {
    let backend = &tool.backend;
    let (client, own) = (&seat.identity.name, &tool.read.tool.name);
    CallRecord {
        session: seat.identity.session.to_string(),
        launch: backend.rules().launch_hash.to_string(),
        name: tool.read.exposed.clone(),
        definition: Some(tool.read.stands_for),
        asked: Some(asked),
        effect: tool.read.effect,
        ..CallRecord::new(seat.core.ledger.next_call(), client, backend.key(), own, now_ms())
    }
}

/// The same call again, by key or by likeness.
fn join(case: Rc<Case>, request: Request) {
    match case.state() {
        CallState::Denied | CallState::Expired => {
            // The retry finds the decision, once; the next one is a new question.
            let answer = super::decide::verdict_of(&case, &request.tool);
            request.seat.core.gate.index.leave(&case);
            request.seat.core.ledger.job(Job::DropCall(case.call()));
            let record = ask::record(&request.seat, &request.tool, request.received);
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
            attach(&case, request);
            if !case.under_way.get() && !case.is_deciding.get() {
                super::decide::claim(&case);
            }
        }
    }
}

/// Lets a request wait for the end of a case.
pub(crate) fn attach(case: &Rc<Case>, request: Request) {
    let Request { seat, ticket, ask, reply, received, tool } = request;
    case.attach(Asker { seat: Rc::downgrade(&seat), ticket, ask, reply, tool, received, notices: 0 });
}

/// Answers a request without a case of its own.
pub(crate) fn refuse(request: Request, code: Code, message: &str) {
    let Request { seat, reply, tool, received, .. } = request;
    let record = ask::record(&seat, &tool, received);
    seat.core.ledger.refused(&record, code);
    let refusal = Refusal::new(code, message).of_call(record.id());
    reply.done(Answer::result(refusal.tool_result(tool.output())));
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

/// The digest of raw arguments; None where they cannot be read, which the check will say.
pub(crate) fn digest_of(raw: Option<&Bytes>, tool: &ToolEntry) -> Option<Hash> {
    let named = &tool.backend.rules().idempotency_argument;
    let leave_out = tool.read.tool.takes(named).then_some(&**named);
    Some(Arguments::read(raw.map(|raw| &raw[..])).ok()?.digest(leave_out))
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
