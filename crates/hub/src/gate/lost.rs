//! Results that their host never received (rules.md 22): the identical call gets them instead of running again; once,
//! for a while, in the same session, and only while that session saw no later write of the same server. What outlives the hub is written by `owed`.

use super::index;
use super::tally::Tally;
use contract::Hash;
use frame::Answer;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use store::{CallNumber, Method};
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
    since: Instant,
    life: Duration,
    end_of_it: RefCell<End>,
    /// Rings when it has ended.
    pub end: Notify,
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
    /// Its name in the aggregate: the audit knows it by that, too.
    pub tool: Rc<str>,
    pub session: Rc<str>,
    pub asked: Hash,
    pub ended_ms: u64,
    pub life: Duration,
}

impl LostResults {
    /// Remembers one.
    pub(crate) fn put(&self, which: Which, end: End) -> Rc<Lost> {
        let tool = index::thing_of(&which.client, &which.server, Method::ToolCall, &which.tool);
        self.enter(Lost {
            call: which.call,
            tool,
            client: which.client,
            name: which.tool,
            server: which.server,
            session: which.session,
            asked: which.asked,
            ended_ms: which.ended_ms,
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

    /// The one that answers this call, taken out where it has ended.
    pub(crate) fn find(&self, client: &str, server: &str, tool: &str, asked: Hash) -> Option<Rc<Lost>> {
        self.drop_where(|other| !other.is_alive());
        let tool = index::thing_of(client, server, Method::ToolCall, tool);
        let all = self.all.borrow();
        all.iter().rev().find(|lost| lost.tool == tool && lost.asked == asked).cloned()
    }
    /// It has been told, or must not be any more.
    pub(crate) fn forget(&self, lost: &Lost) {
        self.drop_where(|other| std::ptr::eq(other, lost));
    }
    /// This session has received another write result of that server: what it repeats from now on it means. Gives those
    /// that nobody will be told of now.
    pub(crate) fn seen(&self, session: &str, server: &str) -> Vec<Rc<Lost>> {
        if self.all.borrow().is_empty() {
            return Vec::new();
        }
        self.drop_where(|other| *other.session == *session && *other.server == *server)
    }
    /// Whether any of this tool's results was lost.
    pub(crate) fn has_any(&self, client: &str, server: &str, tool: &str) -> bool {
        self.tools.has(|| index::thing_of(client, server, Method::ToolCall, tool))
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
