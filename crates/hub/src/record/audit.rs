//! The relay's ear and mouth to the committer: rows of calls, handed over in time; what is to wait for a commit waits here.

use super::{Record, of_code, outcome};
use crate::agent::SeatCore;
use crate::catalog::read::ReadTool;
use crate::config::Payloads;
use crate::road::Ending;
use crate::views::millis;
use contract::outcome::Code;
use contract::{CallId, Hash};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use store::{
    AuditState, CallNumber, Committer, Detail, Due, Flight, Handed, Item, Kind, Ledger, Method, Outcome, Subject, Told,
    Vault,
};
use tokio::sync::Notify;
use tokio::time::Instant;
use upstream::task;

/// Rows of reads are handed over at most this late.
const PACE: Duration = Duration::from_millis(20);

type Durable = Box<dyn FnOnce(bool)>;

/// The relay's ear and mouth to the committer.
pub struct Audit {
    pub(super) ledger: RefCell<Ledger>,
    flight: RefCell<Flight>,
    pub(super) committer: Committer,
    pub(super) vault: Vault,
    waiting: RefCell<FxHashMap<CallNumber, Durable>>,
    stalled: RefCell<VecDeque<Box<dyn FnOnce()>>>,
    soon: Notify,
    now: Notify,
    state: Cell<AuditState>,
    /// Which values of calls are kept.
    pub(super) payloads: Cell<Payloads>,
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
            payloads: Cell::new(Payloads::None),
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

    /// What stands for a hash of values in records, rows and before people.
    pub(crate) fn keyed(&self, plain: Hash) -> Hash {
        self.ledger.borrow().keyed(plain)
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

    /// The same where there is more to tell: by which remembered approval, whose and since when; what was repaired.
    pub(crate) fn detail_of(
        &self,
        rule: Option<&str>,
        why: &str,
        grant: Option<&policy::Grant>,
        repaired: Option<&str>,
    ) -> Subject {
        let mut detail = serde_json::Map::new();
        detail.extend(rule.map(|rule| ("rule".to_owned(), rule.into())));
        let sentences =
            [Some(why.to_owned()), grant.map(grant_in_words), repaired.map(|repaired| format!("repaired: {repaired}"))];
        let sentences: Vec<String> = sentences.into_iter().flatten().collect();
        detail.insert("why".into(), sentences.join("; ").into());
        if let Some(grant) = grant {
            detail.insert("scope".into(), grant.scope().as_str().into());
            detail.insert("granted_ms".into(), grant.at_ms.into());
            detail.extend(grant.call.map(|call| ("approval".to_owned(), call.to_string().into())));
            if !grant.by.is_empty() {
                detail.insert("by".into(), (*grant.by).into());
            }
        }
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

    pub(super) fn due(&self, due: Due) {
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
        let looked = record.looked.take().map(|looked| with(record.verdict.as_ref().map(Subject::text), looked));
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
}

/// What was decided and what was found in the result, both JSON objects, as one.
fn with(verdict: Option<&str>, looked: String) -> String {
    let begun = verdict.and_then(|verdict| verdict.strip_suffix('}')).filter(|begun| begun.len() > 1);
    begun.map_or(looked.clone(), |begun| format!("{begun},{}", &looked[1..]))
}

/// An approval that is remembered, as rows tell of it.
pub(crate) fn grant_in_words(grant: &policy::Grant) -> String {
    let what = match grant.scope() {
        policy::Scope::Session => "this session",
        policy::Scope::Tool | policy::Scope::Once => "this client and tool",
    };
    let of = grant.call.map(|call| format!(" with {call}")).unwrap_or_default();
    format!("approved{of} for {what} at {}", crate::gate::hold::moment(grant.at_ms))
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
