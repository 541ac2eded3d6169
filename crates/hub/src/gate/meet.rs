//! The first question about a call: has it been asked before? By its key, or by being the same as one that waits for a
//! person. Comes before the schema check, so that a retry never turns into a second, altered call (docs/approvals.md).

use super::apart::LONG;
use super::case::{Asker, Case};
use super::index::{self, Holder};
use super::{hold, now_ms, retold};
use crate::abort::{self, Point};
use crate::agent::SeatCore;
use crate::ask::{self, Pending, To};
use crate::catalog::ToolEntry;
use crate::thing::{self, Thing};
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
    let (client, server) = (&**request.seat.identity.id(), &**request.thing.backend().key());
    // Keys are those of calls.
    let key = match &request.thing {
        Thing::Other(_) => None,
        Thing::Tool(tool) => match key(&request.ask, tool) {
            Ok(key) => key,
            Err(problem) => return refuse(request, Code::InvalidArguments, problem),
        },
    };
    let (method, label, shown) = (request.thing.method(), &**request.thing.label(), request.thing.shown());
    let lost = gate.lost.has_any(|| index::thing_of(client, server, method, shown));
    if key.is_none() && !lost && !gate.index.has_open(client, server, method, label) {
        return go_on(request);
    }
    if !gate.is_settled() {
        return when_settled(request);
    }
    let raw = request.thing.arguments(&request.ask.params);
    if raw.as_ref().is_none_or(|raw| raw.len() < LONG) {
        let asked = request.thing.digest(raw.as_ref(), ledger);
        return met(request, key, asked);
    }
    let leave_out: Option<Box<str>> = request.thing.tool().and_then(|tool| thing::left_out(tool)).map(Into::into);
    task::spawn("digest of long arguments", async move {
        let digesting = tokio::task::spawn_blocking(move || thing::plain_digest(raw.as_ref(), leave_out.as_deref()));
        match digesting.await {
            Ok(plain) => {
                let asked = plain.map(|plain| request.seat.core.ledger.keyed(plain));
                met(request, key, asked);
            }
            // Never on without its key.
            Err(_) => {
                refuse(request, Code::InvalidArguments, "The arguments could not be read. Nothing was executed.");
            }
        }
    });
}

/// Its digest is known; None where it cannot be read, which the check will say.
fn met(request: Request, key: Option<Key>, asked: Option<Hash>) {
    let Some(asked) = asked else { return go_on(request) };
    let Some(key) = key else { return alike(request, asked) };
    let (gate, ledger) = (&request.seat.core.gate, &request.seat.core.ledger);
    let (client, server) = (&**request.seat.identity.id(), &**request.thing.backend().key());
    let label = &**request.thing.label();
    let key = ledger.keyed(index::key_of(client, server, label, &key));
    match gate.index.of_key(&key) {
        None => unknown_key(request, key, asked),
        Some(Holder::Live(case)) if case.row().asked == Some(asked) => join(case, request),
        Some(Holder::Settled(settled)) if settled.asked == asked => retold::replay(request, settled),
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
    ask::check(Pending { seat, ticket, ask, thing, received, arguments, repaired: None, to: To::Reply(reply) });
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

/// A call like this one that waits for a person.
pub(crate) fn waiting_alike(request: &Request, asked: Hash) -> Option<Rc<Case>> {
    like(request, asked).filter(|case| case.state() == CallState::Waiting && case.key().is_none())
}

fn alike(request: Request, asked: Hash) {
    match like(&request, asked) {
        // A key makes it another call, but for who left that one.
        Some(case) if case.key().is_some() && !is_owed(&case, &request) => retold::recall(request, asked, None),
        // Somebody waits for this very execution and nobody left it who would repeat it; one more wants the same: that
        // is another wish.
        Some(case) if case.state() == CallState::Intent && case.is_wanted() && !case.was_left() => go_on(request),
        Some(case) => join(case, request),
        None => retold::recall(request, asked, None),
    }
}

/// A key that nobody holds: of a new call, or of a retry of one that had none.
fn unknown_key(request: Request, key: Hash, asked: Hash) {
    match like(&request, asked) {
        Some(case) if case.key().is_none() && is_owed(&case, &request) => match case.state() {
            _ if case.is_deciding.get() => when_decided(case, request),
            CallState::Waiting | CallState::Approved | CallState::Intent => {
                let core = &request.seat.core;
                case.note(|row| row.key = Some(key));
                core.gate.index.enter_key(key, &case);
                core.ledger.save_call(case.row().clone());
                join(case, request);
            }
            _ => join(case, request),
        },
        _ => retold::recall(request, asked, Some(key)),
    }
}

/// A case that this request is like.
fn like(request: &Request, asked: Hash) -> Option<Rc<Case>> {
    let alike = index::likeness_of(request.seat.identity.id(), &request.thing, asked);
    request.seat.core.gate.index.of_likeness(&alike)
}

fn is_owed(case: &Case, request: &Request) -> bool {
    case.owes(&request.seat.identity.session, retold::is_gone(&request.seat.core))
}

/// A decision is being written down, with the record as it stands: nothing else of it changes meanwhile.
fn when_decided(case: Rc<Case>, request: Request) {
    task::spawn("wait for a decision to be written", async move {
        loop {
            let decided = case.decided.notified();
            if !case.is_deciding.get() {
                return meet(request);
            }
            decided.await;
        }
    });
}

/// A call that was not asked before.
pub(crate) fn begin(request: Request, asked: Hash, key: Option<Hash>) {
    match key {
        Some(key) => reserve(request, key, asked),
        None => go_on(request),
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
    ask::check(Pending { seat, ticket, ask, thing, received, arguments, repaired: None, to: To::Case(case) });
}

/// The record of a call that nothing is known of yet.
pub(crate) fn row_of(seat: &SeatCore, thing: &Thing, asked: Hash) -> CallRecord {
    let backend = thing.backend();
    let client = seat.identity.id();
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
    let session = &request.seat.identity.session;
    match case.state() {
        CallState::Denied | CallState::Expired => {
            // Each retry finds the decision, once; the next one is a new question.
            let refusal = super::decide::verdict_of(&case);
            let answer = request.thing.refused(&refusal);
            if case.is_told(session) {
                retold::over(&request.seat.core, &case, refusal);
                request.seat.core.ledger.job(Job::DropCall(case.call()));
            }
            let record = request.thing.record(&request.seat, request.received);
            let outcome = if case.state() == CallState::Expired { Outcome::ApprovalExpired } else { Outcome::Denied };
            request.seat.core.ledger.replayed(&record, case.call(), outcome);
            request.reply.done(answer);
        }
        CallState::Unknown => {
            if case.key().is_some() {
                case.came_back(session, retold::is_gone(&request.seat.core));
                let message = "A call with this key was sent and nobody knows whether it ran. It is not run again; a \
                               person has to settle it.";
                return refuse(request, Code::OutcomeUnknown, message);
            }
            // As where nobody had to approve it: each client is told once (docs/approvals.md).
            let message = "An identical call was sent and nobody knows whether it ran. It was not run again. Check \
                           first; calling once more asks for it anew.";
            if case.is_told(session) {
                retold::part(&request.seat.core, &case, Refusal::new(Code::OutcomeUnknown, message));
            }
            refuse(request, Code::OutcomeUnknown, message);
        }
        CallState::Settled | CallState::Freed => go_on(request),
        CallState::Reserved | CallState::Intent => attach(&case, request),
        CallState::Waiting => {
            let core = Rc::clone(&request.seat.core);
            attach(&case, request);
            if case.is_written() && case.is_free() {
                // What let it wait may be over since its client was told that it is pending.
                hold::reconsider(&core, &case);
            }
        }
        CallState::Approved => {
            let core = Rc::clone(&request.seat.core);
            attach(&case, request);
            if case.is_free() {
                super::decide::claim(&core, &case);
            }
        }
    }
}

/// Lets a request wait for the end of a case.
pub(crate) fn attach(case: &Rc<Case>, request: Request) {
    let Request { seat, ticket, ask, reply, received, thing } = request;
    let session = Rc::clone(&seat.identity.session);
    case.came_back(&session, retold::is_gone(&seat.core));
    case.attach(Asker { seat: Rc::downgrade(&seat), session, ticket, ask, reply, thing, received, notices: 0 });
}

/// Answers a request without a case of its own.
pub(crate) fn refuse(request: Request, code: Code, message: &str) {
    let Request { seat, reply, thing, received, .. } = request;
    let record = thing.record(&seat, received);
    seat.core.ledger.refused(&record, code);
    reply.done(thing.refused(&Refusal::new(code, message).of_call(record.id())));
}

/// The key of a call: of `_meta`, or of the argument that the tool's schema has for it. Null is none.
fn key(ask: &Ask, tool: &ToolEntry) -> Result<Option<Key>, &'static str> {
    let read = |raw: Option<Bytes>| raw.filter(|raw| &raw[..] != b"null").map(|raw| Key::read(&raw)).transpose();
    let told = read(ask.params.get("_meta").and_then(|meta| object::get(&meta, KEY_META)))?;
    let named = &tool.backend.rules().idempotency_argument;
    let argued = tool.read.tool.takes(named).then(|| ask.params.get("arguments")).flatten();
    let argued = read(argued.and_then(|arguments| object::get(&opened(arguments), named)))?;
    match (told, argued) {
        (Some(told), Some(argued)) if told != argued => {
            Err("The call has two different idempotency keys, one in its arguments and one in `_meta`. Nothing was \
                 executed.")
        }
        (told, argued) => Ok(told.or(argued)),
    }
}

/// Arguments that are an object as JSON text are that object (docs/servers-words.md); what they hold is looked up before they are
/// repaired.
fn opened(arguments: Bytes) -> Bytes {
    match object::text(&arguments) {
        Some(text) => Bytes::copy_from_slice(text.as_bytes()),
        None => arguments,
    }
}

/// An idempotency key as its client gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// A text.
    Text(String),
    /// An integer, by its source text: `5` is not the text `"5"`.
    Integer(String),
}

impl Key {
    fn read(raw: &[u8]) -> Result<Key, &'static str> {
        let bad = "An idempotency key is a text of 1 to 512 bytes, or an integer. Nothing was executed.";
        let key = match object::text(raw) {
            Some(text) => Key::Text(text.into_owned()),
            None => {
                let digits = raw.strip_prefix(b"-").unwrap_or(raw);
                let is_integer = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
                let text = is_integer.then(|| String::from_utf8_lossy(raw).into_owned());
                Key::Integer(text.ok_or(bad)?)
            }
        };
        let (Key::Text(text) | Key::Integer(text)) = &key;
        if (1..=LONGEST_KEY).contains(&text.len()) { Ok(key) } else { Err(bad) }
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
