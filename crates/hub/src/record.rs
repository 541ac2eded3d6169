//! What is written down of a call, and when: one row for a read at its end; for anything else an intent that is
//! durable before the call goes on, a flight mark before its first byte, and an end. The relay's side of the store.

mod audit;
mod jobs;

pub use audit::Audit;
pub(crate) use audit::grant_in_words;

use crate::agent::SeatCore;
use crate::backend::Backend;
use crate::road::Ending;
use crate::views::millis;
use bytes::Bytes;
use contract::answer::Changes;
use contract::outcome::Code;
use contract::{CallId, Hash};
use policy::Effect;
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use store::{CallNumber, CallRecord, Detail, Item, Kind, Mark, Method, Outcome, Repetition, Stages, Subject};
use tokio::time::Instant;

/// What a call is about.
pub(crate) struct About {
    pub item: Option<Subject>,
    pub method: Method,
    pub effect: Effect,
}

/// The record of one call while it is on its way.
pub struct Record {
    call: CallNumber,
    at_ms: u64,
    client: Subject,
    server: Subject,
    about: About,
    arguments: Option<Bytes>,
    received: Instant,
    checked: Option<Instant>,
    sent: Option<Instant>,
    mark: Option<Mark>,
    is_announced: bool,
    /// What was decided and why.
    verdict: Option<Subject>,
    /// How long a person took.
    held_us: u32,
    /// What was done to its result, a JSON object.
    looked: Option<String>,
    /// Session and digest by which a repetition of it is known, should the hub die.
    repetition: Option<(Rc<str>, Hash)>,
}

impl Record {
    /// Begins a call's record.
    pub(crate) fn begin(seat: &SeatCore, backend: &Backend, about: About, received: Instant) -> Record {
        let audit = &seat.core.ledger;
        let call = audit.next_call();
        Record {
            call,
            at_ms: millis(SystemTime::now()),
            client: seat.subject.clone(),
            server: backend.subject(audit),
            about,
            arguments: None,
            received,
            checked: None,
            sent: None,
            mark: None,
            is_announced: false,
            verdict: None,
            held_us: 0,
            looked: None,
            repetition: None,
        }
    }
    /// The same of a call that has a record of its own: its number, and the time that a person took.
    pub(crate) fn of_case(mut self, row: &CallRecord) -> Record {
        self.call = row.call;
        if row.decided_ms > 0 {
            // Human time has its own clock: it is checked from when it was claimed.
            self.received = Instant::now();
        }
        let held_ms = row.decided_ms.saturating_sub(row.asked_ms);
        self.held_us = u32::try_from(held_ms.saturating_mul(1000)).unwrap_or(u32::MAX);
        self
    }
    /// An identical call in this session is a repetition of it.
    pub(crate) fn repeated_by(&mut self, session: &Rc<str>, asked: Option<Hash>) {
        self.repetition = asked.map(|asked| (Rc::clone(session), asked));
    }
    /// Digest of the arguments as asked, where it was made.
    pub(crate) fn asked(&self) -> Option<Hash> {
        self.repetition.as_ref().map(|(_, asked)| *asked)
    }
    /// What was decided and why, for its rows.
    pub(crate) fn judged(&mut self, verdict: Option<Subject>) {
        self.verdict = verdict;
    }
    /// What was done to its result.
    pub(crate) fn looked(&mut self, changes: &Changes, broken: usize) {
        let mut detail = format!("{{\"changed\":{}", changes.object());
        if broken > 0 {
            detail.push_str(&format!(",\"output_problems\":{broken}"));
        }
        detail.push('}');
        self.looked = Some(detail);
    }
    /// What it is about.
    pub(crate) fn about(&self) -> (Option<Subject>, Method) {
        (self.about.item.clone(), self.about.method)
    }
    /// Its number in the audit.
    pub(crate) fn number(&self) -> CallNumber {
        self.call
    }
    /// Whether its bytes were handed to the server.
    pub(crate) fn was_sent(&self) -> bool {
        self.sent.is_some()
    }
    /// The arguments as they will be sent; only their shape is ever stored.
    pub(crate) fn arguments(&mut self, arguments: Bytes) {
        self.arguments = Some(arguments);
    }
    /// The call's id as people and agents see it.
    pub fn id(&self) -> CallId {
        CallId::new(self.call.0)
    }

    fn entry(&self, kind: Kind) -> store::Entry<'_> {
        let now = Instant::now();
        let checked = self.checked.unwrap_or(now);
        let sent = self.sent.unwrap_or(now);
        let mut entry = store::Entry::new(self.call, kind, self.at_ms);
        entry.client = Some(&self.client);
        entry.server = Some(&self.server);
        entry.item = self.about.item.as_ref().map_or(Item::None, Item::Known);
        entry.method = self.about.method;
        entry.effect = Some(self.about.effect);
        entry.arguments = self.arguments.as_ref();
        let repetition = self.repetition.as_ref().filter(|_| kind == Kind::Intent);
        entry.repetition = repetition.map(|(session, asked)| Repetition { session, asked: *asked });
        entry.detail = self.verdict.as_ref().map_or(Detail::None, Detail::Known);
        entry.stages = Stages {
            checked: micros(checked.duration_since(self.received)),
            held: self.held_us,
            queued: micros(sent.saturating_duration_since(checked)),
            ran: micros(now.saturating_duration_since(sent)),
            answered: 0,
        };
        entry
    }
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

pub(crate) fn outcome(ending: Ending, was_sent: bool) -> Outcome {
    match ending {
        Ending::Ok => Outcome::Ok,
        Ending::ToolError => Outcome::ToolError,
        Ending::RpcError => Outcome::RpcError,
        Ending::Code(Code::Cancelled) if !was_sent => Outcome::NotSent,
        Ending::Code(code) => of_code(code),
    }
}

pub(crate) fn of_code(code: Code) -> Outcome {
    match code {
        Code::InvalidArguments => Outcome::InvalidArguments,
        Code::UnknownTool => Outcome::UnknownTool,
        Code::Denied => Outcome::Denied,
        Code::ApprovalExpired => Outcome::ApprovalExpired,
        Code::DefinitionChanged => Outcome::DefinitionChanged,
        Code::Quarantined => Outcome::Quarantined,
        Code::IdempotencyConflict => Outcome::IdempotencyConflict,
        Code::OutcomeUnknown => Outcome::OutcomeUnknown,
        Code::AlreadyRan => Outcome::AlreadyRan,
        Code::Timeout => Outcome::Timeout,
        Code::ServerUnavailable => Outcome::ServerUnavailable,
        Code::ServerCrashed => Outcome::ServerCrashed,
        Code::InvalidResult => Outcome::InvalidResult,
        Code::ResultTooLarge => Outcome::ResultTooLarge,
        Code::QueueFull => Outcome::QueueFull,
        Code::SecretUnavailable => Outcome::SecretUnavailable,
        Code::AuditUnavailable => Outcome::AuditUnavailable,
        Code::Cancelled => Outcome::Cancelled,
    }
}
