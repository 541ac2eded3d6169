//! What is written down of a call, and when: one row for a read at its end; for anything else an intent that is
//! durable before the call goes on, a flight mark before its first byte, and an end. The relay's side of the store.

use crate::agent::SeatCore;
use crate::backend::Backend;
use crate::catalog::ToolEntry;
use crate::catalog::facts::Known;
use crate::catalog::read::ReadTool;
use crate::catalog::remembered;
use crate::gate::meet;
use crate::road::Ending;
use crate::views::millis;
use bytes::Bytes;
use contract::answer::Changes;
use contract::outcome::Code;
use contract::{CallId, Hash};
use policy::Effect;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use store::{
    AuditState, CallNumber, CallRecord, Committer, Detail, Due, Flight, Handed, Item, Job, Kind, Ledger, Mark, Method,
    Note, Outcome, Stages, Subject, Told, Vault,
};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use upstream::{Listing, task};

/// Rows of reads are handed over at most this late.
const PACE: Duration = Duration::from_millis(20);

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
}

impl Record {
    /// Begins a call's record.
    pub(crate) fn begin(seat: &SeatCore, backend: &Backend, about: About, received: Instant) -> Record {
        let audit = &seat.core.ledger;
        let call = audit.ledger.borrow_mut().next_call();
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
    /// Its number in the audit.
    pub(crate) fn number(&self) -> CallNumber {
        self.call
    }
    /// Whether its bytes were handed to the server.
    pub(crate) fn was_sent(&self) -> bool {
        self.sent.is_some()
    }
    /// The digest of its arguments.
    pub(crate) fn digest(&self, tool: &ToolEntry) -> Option<Hash> {
        meet::digest_of(self.arguments.as_ref(), tool)
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

type Durable = Box<dyn FnOnce(bool)>;

/// The relay's ear and mouth to the committer.
pub struct Audit {
    ledger: RefCell<Ledger>,
    flight: RefCell<Flight>,
    committer: Committer,
    vault: Vault,
    waiting: RefCell<FxHashMap<CallNumber, Durable>>,
    stalled: RefCell<VecDeque<Box<dyn FnOnce()>>>,
    soon: Notify,
    now: Notify,
    state: Cell<AuditState>,
}

impl Audit {
    /// Over an open store. Must be called inside a `LocalSet`.
    pub fn new(ledger: Ledger, flight: Flight, committer: Committer, vault: Vault) -> Rc<Audit> {
        let state = committer.state();
        let audit = Rc::new(Audit {
            ledger: RefCell::new(ledger),
            flight: RefCell::new(flight),
            committer,
            vault,
            waiting: RefCell::default(),
            stalled: RefCell::default(),
            soon: Notify::new(),
            now: Notify::new(),
            state: Cell::new(state),
        });
        task::spawn("audit pace", pace(Rc::clone(&audit)));
        task::spawn("audit intents", hurry(Rc::clone(&audit)));
        audit
    }

    /// `ok`, or why the log cannot be written.
    pub fn state(&self) -> String {
        match self.state.get() {
            AuditState::Ok => "ok".into(),
            AuditState::Unavailable(cause) => cause.to_string(),
        }
    }

    /// What the committer said, passed on to the relay thread.
    pub fn told(&self, told: Told) {
        match told {
            Told::Settled(all) => {
                for settled in all {
                    let waiting = self.waiting.borrow_mut().remove(&settled.call);
                    if let Some(then) = waiting {
                        then(settled.result.is_ok());
                    }
                }
            }
            Told::Room => {
                self.flush();
                while !self.ledger.borrow().is_full() {
                    let next = self.stalled.borrow_mut().pop_front();
                    match next {
                        Some(next) => next(),
                        None => break,
                    }
                }
            }
            Told::State(state) => self.state.set(state),
        }
    }

    /// Runs `then` now, or when the log has room for what will have to be told of it.
    pub(crate) fn when_room(&self, then: impl FnOnce() + 'static) {
        if self.ledger.borrow().is_full() {
            self.stalled.borrow_mut().push_back(Box::new(then));
        } else {
            then();
        }
    }

    pub(crate) fn subject(&self, name: &str) -> Subject {
        self.ledger.borrow_mut().subject(name)
    }

    pub(crate) fn tool_subject(&self, read: &ReadTool) -> Subject {
        let fields: Vec<&str> = read.tool.parameters.iter().map(|name| &**name).collect();
        self.ledger.borrow_mut().tool(&read.exposed, &read.tool.definition_hash.to_string(), &fields)
    }

    /// Registers why calls were let through.
    pub(crate) fn detail(&self, rule: Option<&str>, why: &str) -> Subject {
        let mut detail = serde_json::Map::new();
        detail.extend(rule.map(|rule| ("rule".to_owned(), rule.into())));
        detail.insert("why".into(), why.into());
        self.ledger.borrow_mut().detail(&serde_json::Value::Object(detail).to_string())
    }

    /// Hands over what was collected, without waiting for the next time.
    pub(crate) fn settle(&self) {
        if self.flush() != Handed::All {
            tracing::error!("the last audit rows could not be handed over");
        }
    }

    fn flush(&self) -> Handed {
        self.ledger.borrow_mut().flush()
    }

    fn due(&self, due: Due) {
        match due {
            Due::Already => {}
            Due::Soon => self.soon.notify_one(),
            Due::Now => self.now.notify_one(),
        }
    }

    /// Writes the intent; `then` is told whether it is durable.
    pub(crate) fn intent(&self, record: &mut Record, then: impl FnOnce(bool) + 'static) {
        record.checked = Some(Instant::now());
        record.is_announced = true;
        self.waiting.borrow_mut().insert(record.call, Box::new(then));
        let due = self.ledger.borrow_mut().push(&record.entry(Kind::Intent));
        self.due(due);
    }

    /// The bytes of the call are about to leave. False: they must not.
    pub(crate) fn sending(&self, record: &mut Record) -> bool {
        let now = Instant::now();
        record.checked.get_or_insert(now);
        record.sent = Some(now);
        if record.is_announced {
            match self.flight.borrow_mut().mark(record.call) {
                Ok(mark) => record.mark = Some(mark),
                Err(fault) => {
                    tracing::error!(%fault, "a call was not sent");
                    return false;
                }
            }
        }
        true
    }

    /// Writes the end of a call: its only row, where it has no intent.
    pub(crate) fn end(&self, record: &mut Record, ending: Ending, result_bytes: usize) {
        let mark = record.mark.take();
        let kind = if record.is_announced { Kind::End } else { Kind::Read };
        let looked = record.looked.take();
        let mut entry = record.entry(kind);
        if let Some(looked) = &looked {
            entry.detail = Detail::Text(looked);
        }
        entry.outcome = outcome(ending, record.sent.is_some());
        entry.result_bytes = result_bytes as u64;
        let due = match mark {
            Some(mark) => self.ledger.borrow_mut().push_end(&entry, mark),
            None => self.ledger.borrow_mut().push(&entry),
        };
        self.due(due);
    }

    /// Writes that a call was refused before anything was sent.
    pub(crate) fn refused(&self, record: &Record, code: Code) {
        let mut entry = record.entry(Kind::Refused);
        entry.outcome = of_code(code);
        let due = self.ledger.borrow_mut().push(&entry);
        self.due(due);
    }

    /// Writes that a call named something that is in no list, and returns its id.
    pub(crate) fn stranger(&self, seat: &SeatCore, name: &str, code: Code) -> CallId {
        let call = self.ledger.borrow_mut().next_call();
        let mut entry = store::Entry::new(call, Kind::Refused, millis(SystemTime::now()));
        entry.client = Some(&seat.subject);
        entry.item = Item::Stranger(name);
        entry.method = Method::ToolCall;
        entry.outcome = of_code(code);
        let due = self.ledger.borrow_mut().push(&entry);
        self.due(due);
        CallId::new(call.0)
    }

    /// The number of a new call.
    pub(crate) fn next_call(&self) -> CallNumber {
        self.ledger.borrow_mut().next_call()
    }

    /// Writes that a retry was answered by what call `of` had ended with.
    pub(crate) fn replayed(&self, record: &Record, of: CallNumber, outcome: Outcome) {
        let detail = format!("{{\"of\":\"{}\"}}", CallId::new(of.0));
        let mut entry = record.entry(Kind::Replayed);
        entry.outcome = outcome;
        entry.detail = Detail::Text(&detail);
        let due = self.ledger.borrow_mut().push(&entry);
        self.due(due);
    }

    /// A row about a call record.
    pub(crate) fn case_note(&self, row: &CallRecord, kind: Kind, outcome: Outcome) -> Note {
        let mut detail = serde_json::Map::new();
        let mut say = |key: &str, text: &str| {
            if !text.is_empty() {
                detail.insert(key.into(), text.into());
            }
        };
        say("state", row.state.as_str());
        say("rule", &row.rule);
        say("why", &row.why);
        say("by", &row.decided_by);
        say("scope", row.scope.map_or("", policy::Scope::as_str));
        say("asked", &row.asked.map(|hash| hash.to_string()).unwrap_or_default());
        say("sent", &row.sent.map(|hash| hash.to_string()).unwrap_or_default());
        say("policy", &row.policy.map(|hash| hash.to_string()).unwrap_or_default());
        Note {
            kind,
            at_ms: millis(SystemTime::now()),
            call: row.call,
            client: row.client.clone(),
            server: row.server.clone(),
            item: row.name.clone(),
            definition: row.definition.map(|hash| hash.to_string()).unwrap_or_default(),
            method: Method::ToolCall,
            effect: Some(row.effect),
            outcome,
            detail: serde_json::Value::Object(detail).to_string(),
        }
    }

    /// What is too large to be read at start.
    pub(crate) fn vault(&self) -> Vault {
        self.vault.clone()
    }
    /// What a call with a key ended with; None where its body is no longer kept, or cannot be read.
    pub(crate) fn result(&self, call: CallNumber) -> impl Future<Output = Option<Bytes>> + use<> {
        let vault = self.vault.clone();
        let reading = tokio::task::spawn_blocking(move || vault.result(call));
        async move {
            match reading.await {
                Ok(Ok(result)) => result,
                Ok(Err(fault)) => {
                    tracing::error!(%fault, "a result that is kept cannot be read");
                    None
                }
                Err(_) => None,
            }
        }
    }

    /// Writes that a setting was changed, in a sentence, and by whom.
    pub(crate) fn setting(&self, which: &str, what: &str, by: &str) {
        let detail = serde_json::json!({ "change": what, "by": by }).to_string();
        let note = Note { item: which.into(), detail, ..Note::new(Kind::Setting, millis(SystemTime::now())) };
        self.job(Job::Note(note));
    }

    /// Remembers an approval and waits for its commit.
    pub(crate) fn remember_grant(&self, grant: policy::Grant) -> impl Future<Output = Result<(), String>> + use<> {
        let detail = serde_json::json!({ "scope": grant.scope().as_str() }).to_string();
        let note = Note {
            client: grant.client.to_string(),
            server: grant.server.to_string(),
            item: grant.tool.to_string(),
            definition: grant.definition.to_string(),
            effect: Some(grant.effect),
            detail,
            ..Note::new(Kind::Grant, grant.at_ms)
        };
        self.written(Job::Remember { grant, note: Some(note) })
    }

    /// Hands over a job in its order among the rows; nobody waits for it.
    pub(crate) fn job(&self, job: Job) {
        let due = self.ledger.borrow_mut().submit(job, None);
        self.due(due);
    }
    /// Writes a call record; nobody waits for it.
    pub(crate) fn save_call(&self, record: CallRecord) {
        self.job(Job::PutCall { record: Box::new(record), note: None });
    }
    /// Writes a call record and waits for its commit; the error says why there is none.
    pub(crate) fn put_call(
        &self,
        record: CallRecord,
        note: Option<Note>,
    ) -> impl Future<Output = Result<(), String>> + use<> {
        self.written(Job::PutCall { record: Box::new(record), note })
    }
    /// The same of any job. It is in the queue when this returns.
    pub(crate) fn written(&self, job: Job) -> impl Future<Output = Result<(), String>> + use<> {
        let (tell, told) = oneshot::channel();
        let done = move |result: Result<(), store::JobFault>| {
            // Whoever asked may have gone.
            let _ = tell.send(result.map_err(|fault| fault.to_string()));
        };
        let due = self.ledger.borrow_mut().submit(job, Some(Box::new(done)));
        self.due(due);
        async move { told.await.unwrap_or_else(|_| Err("the committer is gone".into())) }
    }

    /// Remembers a server's lists and era for the next start.
    pub(crate) fn remember(&self, backend: &Backend, listing: &Listing, known: &Known) {
        let (era, snapshot) = remembered::rows(backend, listing, known);
        self.committer.submit(Job::SaveEra(era), None);
        self.committer.submit(Job::SaveSnapshot(Box::new(snapshot)), None);
    }
}

async fn pace(audit: Rc<Audit>) {
    loop {
        audit.soon.notified().await;
        tokio::time::sleep(PACE).await;
        // Full or gone shows at the next call.
        let _ = audit.flush();
    }
}

async fn hurry(audit: Rc<Audit>) {
    loop {
        audit.now.notified().await;
        if audit.flush() == Handed::Gone {
            let waiting: Vec<Durable> = audit.waiting.borrow_mut().drain().map(|(_, then)| then).collect();
            for then in waiting {
                then(false);
            }
        }
    }
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
