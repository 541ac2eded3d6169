//! One request that has a record of its own: it waits for a person, has a key, is a task. Many askers may hang on it; it
//! runs at most once. Which state may follow which is `policy::next`'s word, never decided here.

use super::interim::Question;
use super::lost::{Kept, Why};
use super::receipt::{self, Asked};
use super::still::Still;
use super::{index, task};
use crate::agent::SeatCore;
use crate::ask::{Pending, To};
use crate::core::Core;
use crate::road::Run;
use crate::thing::Thing;
use bytes::Bytes;
use contract::{CallId, Hash};
use frame::{Answer, Ask, Level, Progress, Reply};
use policy::{CallState, Event, Judgement, Unfit};
use std::cell::{Cell, Ref, RefCell};
use std::rc::{Rc, Weak};
use store::{CallNumber, CallRecord};
use tokio::sync::Notify;
use tokio::time::Instant;

/// Those who left one case and are remembered; the earliest go first.
const MOST_OWED: usize = 256;

/// Somebody who waits for the end of a case.
pub(crate) struct Asker {
    pub seat: Weak<SeatCore>,
    pub session: Rc<str>,
    /// Its place among the seat's exchanges.
    pub ticket: u64,
    pub ask: Ask,
    pub reply: Box<dyn Reply>,
    pub thing: Thing,
    /// When its request came.
    pub received: Instant,
    /// Notices of waiting that it was given.
    pub notices: u32,
}

/// A call record while it lives.
pub(crate) struct Case {
    row: RefCell<CallRecord>,
    askers: RefCell<Vec<Asker>>,
    /// Those who wait no more and were not told how it ended: who of them calls again means this.
    owed: RefCell<Vec<(Rc<str>, Why)>>,
    /// Whether there ever was one.
    was_left: Cell<bool>,
    /// The one execution.
    run: RefCell<Option<Rc<Run>>>,
    /// Whether a request is on its way through the checks for it.
    pub under_way: Cell<bool>,
    /// Whether a decision is being made durable; the second decision is told who was first.
    pub is_deciding: Cell<bool>,
    /// Whether its row is in the database: before that nobody is told of it.
    is_written: Cell<bool>,
    /// Whether an identical call is another one although this one is still on record.
    pub is_apart: Cell<bool>,
    /// What was said of it when it was last judged.
    pub judgement: RefCell<Option<Judgement>>,
    /// What held its kind when a person approved it, and did not keep the person from it.
    pub knew: RefCell<Vec<Still>>,
    /// What its server asked when a leg of it ran last.
    pub question: RefCell<Option<Question>>,
    /// What the client of a task said that it can do, as long as this hub lives.
    pub capabilities: RefCell<Option<Bytes>>,
    /// When it was first found to have ended.
    pub ended: Cell<Option<Instant>>,
    /// What was repaired of its arguments as they were asked.
    pub repaired: RefCell<Option<Rc<str>>>,
    /// Why it waits once more, or although it was approved.
    pub badge: RefCell<Option<String>>,
    /// Rings at whatever changes what a hold has to do.
    pub news: Notify,
    /// Rings when a decision has been made, or could not be written down.
    pub decided: Notify,
    /// Rings at whatever changes how it stands.
    pub change: Notify,
}

impl Case {
    pub(crate) fn new(row: CallRecord) -> Rc<Case> {
        Rc::new(Case {
            row: RefCell::new(row),
            askers: RefCell::default(),
            owed: RefCell::default(),
            was_left: Cell::new(false),
            run: RefCell::default(),
            under_way: Cell::new(false),
            is_deciding: Cell::new(false),
            is_written: Cell::new(false),
            is_apart: Cell::new(false),
            judgement: RefCell::default(),
            knew: RefCell::default(),
            question: RefCell::default(),
            capabilities: RefCell::default(),
            ended: Cell::new(None),
            repaired: RefCell::default(),
            badge: RefCell::default(),
            news: Notify::new(),
            decided: Notify::new(),
            change: Notify::new(),
        })
    }

    pub(crate) fn call(&self) -> CallNumber {
        self.row.borrow().call
    }
    pub(crate) fn id(&self) -> CallId {
        CallId::new(self.call().0)
    }
    pub(crate) fn state(&self) -> CallState {
        self.row.borrow().state
    }
    /// Whether it is neither on its way to run nor being decided.
    pub(crate) fn is_free(&self) -> bool {
        !self.under_way.get() && !self.is_deciding.get()
    }
    pub(crate) fn row(&self) -> Ref<'_, CallRecord> {
        self.row.borrow()
    }
    /// Changes what is written of it; the state only goes through [`Case::step`].
    pub(crate) fn note(&self, change: impl FnOnce(&mut CallRecord)) {
        change(&mut self.row.borrow_mut());
        self.change.notify_waiters();
    }
    pub(crate) fn is_written(&self) -> bool {
        self.is_written.get()
    }
    pub(crate) fn set_written(&self, written: bool) {
        self.is_written.set(written);
        self.change.notify_waiters();
    }
    /// Takes a step; refused steps change nothing.
    pub(crate) fn step(&self, event: Event) -> Result<CallState, Unfit> {
        let mut row = self.row.borrow_mut();
        row.state = policy::next(row.state, event)?;
        drop(row);
        self.news.notify_one();
        self.change.notify_waiters();
        Ok(self.state())
    }

    /// No decision is being made any more: those who wait for that look again.
    pub(crate) fn decision_over(&self) {
        self.is_deciding.set(false);
        self.decided.notify_waiters();
        self.news.notify_one();
    }

    /// The bytes that run: as a person edited them, or as they were asked.
    pub(crate) fn arguments(&self) -> Option<Bytes> {
        let row = self.row.borrow();
        row.edited.clone().or_else(|| row.arguments.clone())
    }
    /// What it asks for, as its client sees it.
    pub(crate) fn thing(&self) -> Hash {
        let row = self.row.borrow();
        index::thing_of(&row.client, &row.server, row.method, &row.tool)
    }
    pub(crate) fn is_task(&self) -> bool {
        self.row.borrow().task.is_some()
    }
    /// Whether it is a task whose server waits for its client's word, which is not there.
    pub(crate) fn awaits_answer(&self) -> bool {
        self.is_task() && self.question.borrow().as_ref().is_some_and(|question| !question.is_answered())
    }
    /// Whether it runs as soon as it may: somebody waits, or its client holds it as a task.
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiters() > 0 || self.is_task()
    }
    pub(crate) fn key(&self) -> Option<Hash> {
        self.row.borrow().key
    }

    /// One more who waits. Its seat knows where to find it when it loses interest.
    pub(crate) fn attach(self: &Rc<Self>, asker: Asker) {
        if let Some(seat) = asker.seat.upgrade() {
            seat.enter_case(asker.ticket, self);
            // So that its rows can name the arguments that the tool knows.
            asker.thing.subject(&seat.core.ledger);
        }
        self.askers.borrow_mut().push(asker);
        self.news.notify_one();
    }
    pub(crate) fn waiters(&self) -> usize {
        self.let_go();
        self.askers.borrow().len()
    }
    /// Whoever has gone without a word waits no more (docs/approvals.md); what runs already goes on to its end for it.
    fn let_go(&self) {
        if matches!(self.state(), CallState::Waiting | CallState::Approved) && self.run().is_none() {
            for gone in self.take(|asker| !asker.reply.is_there()) {
                self.owe(&gone.session, Why::Undelivered);
            }
        }
    }
    /// The first of those who wait, to ask with; it stays among them as the one whose request runs. A task asks for
    /// itself where nobody waits.
    pub(crate) fn first(self: &Rc<Self>, core: &Rc<Core>) -> Option<Pending> {
        self.let_go();
        let askers = self.askers.borrow();
        let first = askers.iter().find_map(|asker| {
            Some(Pending {
                seat: asker.seat.upgrade()?,
                ticket: asker.ticket,
                ask: asker.ask.clone(),
                thing: asker.thing.clone(),
                received: asker.received,
                arguments: self.arguments(),
                repaired: self.repaired.borrow().clone(),
                to: To::Case(Rc::clone(self)),
            })
        });
        first.or_else(|| task::pending(core, self))
    }
    /// Those for whom `is_it` holds; they wait no more.
    pub(crate) fn take(&self, is_it: impl Fn(&Asker) -> bool) -> Vec<Asker> {
        let taken: Vec<Asker> = self.askers.borrow_mut().extract_if(.., |asker| is_it(asker)).collect();
        for asker in &taken {
            asker.leave();
        }
        taken
    }
    pub(crate) fn each(&self, mut visit: impl FnMut(&mut Asker)) {
        self.askers.borrow_mut().iter_mut().for_each(&mut visit);
    }
    /// An asker has lost interest: its place goes, the case stays. What was not sent yet for nobody else is not sent.
    pub(crate) fn detach(&self, seat: &SeatCore, ticket: u64) {
        let is_it = |asker: &Asker| asker.ticket == ticket && std::ptr::eq(asker.seat.as_ptr(), seat);
        let gone: Vec<Asker> = self.askers.borrow_mut().extract_if(.., |asker| is_it(asker)).collect();
        for asker in gone {
            self.owe(&asker.session, Why::Undelivered);
        }
        self.news.notify_one();
        if let (false, Some(run)) = (self.is_wanted(), self.run()) {
            run.withdraw();
        }
    }
    /// What was said of it when it was last judged.
    pub(crate) fn judged(&self, judgement: &Judgement) {
        *self.judgement.borrow_mut() = Some(judgement.clone());
    }

    pub(crate) fn runs(&self, run: &Rc<Run>) {
        *self.run.borrow_mut() = Some(Rc::clone(run));
    }
    pub(crate) fn run(&self) -> Option<Rc<Run>> {
        self.run.borrow().clone()
    }
    pub(crate) fn ran(&self) {
        self.run.borrow_mut().take();
    }

    /// This session waits no more and is not told how it ends.
    pub(crate) fn owe(&self, session: &Rc<str>, why: Why) {
        let mut owed = self.owed.borrow_mut();
        if owed.len() >= MOST_OWED {
            owed.remove(0);
        }
        owed.push((Rc::clone(session), why));
        self.was_left.set(true);
    }
    /// Whether somebody ever stopped waiting without being told: an identical call beside its run is a retry.
    pub(crate) fn was_left(&self) -> bool {
        self.was_left.get()
    }
    /// Whether this session's identical call is a retry: it left, or another one that is gone.
    pub(crate) fn owes(&self, session: &str, is_gone: impl Fn(&str) -> bool) -> bool {
        self.owed.borrow().iter().any(|(left, _)| **left == *session || is_gone(left))
    }
    /// One that left is back: this session, else one that is gone.
    pub(crate) fn came_back(&self, session: &str, is_gone: impl Fn(&str) -> bool) {
        let mut owed = self.owed.borrow_mut();
        let own = owed.iter().position(|(left, _)| **left == *session);
        if let Some(at) = own.or_else(|| owed.iter().position(|(left, _)| is_gone(left))) {
            owed.remove(at);
        }
    }
    /// One of those that left need not be told any more: this session, else whoever left last. Whether that was the last.
    pub(crate) fn is_told(&self, session: &str) -> bool {
        let mut owed = self.owed.borrow_mut();
        let own = owed.iter().position(|(left, _)| **left == *session);
        if let Some(at) = own.or_else(|| owed.len().checked_sub(1)) {
            owed.remove(at);
        }
        owed.is_empty()
    }
    /// Whether nobody has left who is still to be told.
    pub(crate) fn is_told_to_all(&self) -> bool {
        self.owed.borrow().is_empty()
    }
    /// Those that left, for whoever tells them from now on.
    pub(crate) fn take_owed(&self) -> Vec<(Rc<str>, Why)> {
        self.owed.take()
    }

    /// The answer of its run, which may have changed something, for everybody who waits; who does not get it finds it
    /// again.
    pub(crate) fn deliver(&self, answer: &Answer) {
        let (call, asked) = (self.call(), self.row().asked);
        let place = if self.key().is_some() || self.is_task() { Kept::Memory } else { Kept::Store };
        for asker in self.take(|_| true) {
            let Some(seat) = asker.seat.upgrade() else { continue };
            let Thing::Tool(tool) = &asker.thing else {
                asker.reply.done(answer.clone());
                continue;
            };
            let receipt = receipt::of(&seat, tool, call, (Asked::Digest(asked), place), answer);
            asker.reply.deliver(answer.clone(), receipt);
        }
    }
    /// The same answer for everybody who waits.
    pub(crate) fn answer(&self, answer: &Answer) {
        for asker in self.take(|_| true) {
            asker.reply.done(answer.clone());
        }
    }
}

impl Asker {
    /// The seat forgets it.
    fn leave(&self) {
        if let Some(seat) = self.seat.upgrade() {
            seat.leave(self.ticket);
        }
    }
}

/// Hands what a server says of a case to all who wait for it; the end goes through the journal first.
pub(crate) struct Fan(pub Rc<Case>);

impl Reply for Fan {
    fn progress(&mut self, progress: &Progress) {
        self.0.each(|asker| asker.reply.progress(progress));
    }
    fn log(&mut self, level: Level, params: &Bytes) {
        self.0.each(|asker| asker.reply.log(level, params));
    }
    fn done(self: Box<Self>, answer: Answer) {
        self.0.answer(&answer);
    }
}
