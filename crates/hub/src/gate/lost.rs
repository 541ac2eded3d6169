//! Results that their host never received (docs/approvals.md): the identical call gets them instead of running again; once,
//! for a while, in the same session, and only while that session saw no later write of the same server. What outlives the hub is written by `owed`.

use super::index;
use super::tally::Tally;
use contract::Hash;
use frame::Answer;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use store::{CallNumber, CallRecord, Method};
use tokio::sync::Notify;
use tokio::time::Instant;

/// Results that are kept; the oldest goes first.
const MOST: usize = 256;
/// Bytes of one result that are kept at most.
const LARGEST: usize = 4 << 20;

/// One call whose reply was lost.
pub(crate) struct Lost {
    pub call: CallNumber,
    /// Who asked, for which tool of which server by its name in the aggregate: see [`index::thing_of`].
    pub tool: Hash,
    pub client: Rc<str>,
    /// The tool's name in the aggregate.
    pub name: Rc<str>,
    pub server: Rc<str>,
    pub session: Rc<str>,
    pub asked: Hash,
    pub ended_ms: u64,
    pub why: Why,
    pub place: Kept,
    since: Instant,
    life: Duration,
    end_of_it: RefCell<End>,
    /// Rings when it has ended.
    pub end: Notify,
}

/// Where it is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// In memory only: a key or a task has a record of its own, a read changes nothing by running again.
    Memory,
    /// Also in the store, by a record that is made for that.
    Store,
}

/// Why its client has not had its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It could not be delivered.
    Undelivered,
    /// It was told that its call waits for a person, and to call again.
    SentAway,
}

/// What became of it.
#[derive(Clone)]
pub(crate) enum End {
    /// It may still run.
    Open,
    /// The server answered.
    Answered(Answer),
    /// The server answered an earlier hub; the store has the answer.
    Stored,
    /// Nobody will ever know, or the answer is too large to be kept.
    Unknown,
    /// Nobody will ever know, because no answer came; its client was told so.
    Unanswered,
    /// It ran under an earlier hub, and its answer was not kept; nobody knows whether it left.
    Ran,
    /// It surely did not run.
    NotSent,
}

impl End {
    /// The end with this answer, as far as it is kept.
    pub(crate) fn of(answer: Option<Answer>) -> End {
        let size = |answer: &Answer| match answer {
            Answer::Result { body, .. } => body.len(),
            Answer::Error(error) => error.len(),
        };
        answer.filter(|answer| size(answer) <= LARGEST).map_or(End::Unknown, End::Answered)
    }
}

impl Lost {
    /// What became of it so far.
    pub(crate) fn state(&self) -> End {
        self.end_of_it.borrow().clone()
    }
    /// It has ended so.
    pub(crate) fn ended(&self, end: End) {
        *self.end_of_it.borrow_mut() = end;
        self.end.notify_waiters();
    }
    fn is_alive(&self) -> bool {
        self.since.elapsed() < self.life
    }
}

/// All of them, oldest first.
#[derive(Default)]
pub(crate) struct LostResults {
    all: RefCell<Vec<Rc<Lost>>>,
    tools: Tally,
}

/// Which call was lost.
pub(crate) struct Which {
    pub call: CallNumber,
    pub client: Rc<str>,
    pub server: Rc<str>,
    pub method: Method,
    /// Its name in the aggregate: the audit knows it by that, too.
    pub tool: Rc<str>,
    pub session: Rc<str>,
    pub asked: Hash,
    pub ended_ms: u64,
    pub why: Why,
    pub place: Kept,
    pub life: Duration,
}

impl Which {
    /// The call of this record; None where nothing tells its repetition.
    pub(crate) fn of_record(row: &CallRecord, life: Duration) -> Option<Which> {
        Some(Which {
            call: row.call,
            client: row.client.as_str().into(),
            server: row.server.as_str().into(),
            method: row.method,
            tool: row.name.as_str().into(),
            session: row.session.as_str().into(),
            asked: row.asked?,
            ended_ms: row.ended_ms,
            why: Why::Undelivered,
            place: Kept::Store,
            life,
        })
    }
}

/// Who asks what has been asked before.
pub(crate) struct Repetition<'a> {
    /// See [`index::thing_of`], by the name in the aggregate.
    pub thing: Hash,
    pub asked: Hash,
    pub session: &'a str,
}

impl LostResults {
    /// Remembers one.
    pub(crate) fn put(&self, which: Which, end: End) -> Rc<Lost> {
        let tool = index::thing_of(&which.client, &which.server, which.method, &which.tool);
        self.enter(Lost {
            call: which.call,
            tool,
            client: which.client,
            name: which.tool,
            server: which.server,
            session: which.session,
            asked: which.asked,
            ended_ms: which.ended_ms,
            why: which.why,
            place: which.place,
            since: Instant::now(),
            life: which.life,
            end_of_it: RefCell::new(end),
            end: Notify::new(),
        })
    }
    /// The reply that was to make up for it was lost as well.
    pub(crate) fn put_back(&self, lost: &Lost, answer: Answer) {
        self.enter(Lost {
            client: Rc::clone(&lost.client),
            name: Rc::clone(&lost.name),
            server: Rc::clone(&lost.server),
            session: Rc::clone(&lost.session),
            since: Instant::now(),
            end_of_it: RefCell::new(End::of(Some(answer))),
            end: Notify::new(),
            ..*lost
        });
    }
    fn enter(&self, lost: Lost) -> Rc<Lost> {
        let lost = Rc::new(lost);
        self.tools.add(lost.tool);
        self.all.borrow_mut().push(Rc::clone(&lost));
        self.drop_where(|other| !other.is_alive());
        while self.all.borrow().len() > MOST {
            let oldest = self.all.borrow().first().map(|lost| lost.call);
            self.drop_where(|other| Some(other.call) == oldest);
        }
        lost
    }

    /// The one that answers this call: of its own session, or of one that is gone.
    pub(crate) fn find(&self, of: &Repetition<'_>, is_gone: impl Fn(&str) -> bool) -> Option<Rc<Lost>> {
        self.drop_where(|other| !other.is_alive());
        let all = self.all.borrow();
        let same = || all.iter().rev().filter(|lost| lost.tool == of.thing && lost.asked == of.asked);
        let own = same().find(|lost| *lost.session == *of.session);
        own.or_else(|| same().find(|lost| is_gone(&lost.session))).cloned()
    }
    /// This session has been told in another way what that call ended with.
    pub(crate) fn told(&self, session: &str, call: CallNumber) {
        if !self.all.borrow().is_empty() {
            self.drop_where(|other| *other.session == *session && other.call == call);
        }
    }
    /// It has been told, or must not be any more.
    pub(crate) fn forget(&self, lost: &Lost) {
        self.drop_where(|other| std::ptr::eq(other, lost));
    }
    /// This session has received the result of a write of that server: what it repeats of other calls from now on it
    /// means. Gives those that nobody will be told of now.
    pub(crate) fn seen(&self, session: &str, server: &str, call: CallNumber) -> Vec<Rc<Lost>> {
        if self.all.borrow().is_empty() {
            return Vec::new();
        }
        self.drop_where(|other| *other.session == *session && *other.server == *server && other.call != call)
    }
    /// Whether any result of this was lost; `thing` as for [`LostResults::find`].
    pub(crate) fn has_any(&self, thing: impl FnOnce() -> Hash) -> bool {
        self.tools.has(thing)
    }

    fn drop_where(&self, is_it: impl Fn(&Lost) -> bool) -> Vec<Rc<Lost>> {
        let gone: Vec<Rc<Lost>> = self.all.borrow_mut().extract_if(.., |lost| is_it(lost)).collect();
        for lost in &gone {
            lost.end.notify_waiters();
            self.tools.take(lost.tool);
        }
        gone
    }
}
