//! One server for as long as its config entry lives: its state, its queue while it is not ready, its calls.
//! The driver in `drive` moves it; everything here is plain functions on the relay thread.

use crate::listing::Listing;
use crate::own::Ignored;
use crate::session::{Counters, Session};
use crate::spec::Spec;
use crate::stopping::Stopping;
use crate::waiter::{Failure, Waiter};
use crate::wired::{End, Errand, List};
use crate::{Parts, drive, task};
use bytes::Bytes;
use frame::{Era, Level, Origin, Version};
use policy::Permit;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Requests that may wait for a server to become ready.
const QUEUE: usize = 256;

/// Where a server stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Not running; the next call starts it.
    Stopped,
    /// Not running until a person starts it.
    Halted,
    /// Being started. Package runners may be downloading.
    Starting {
        /// Whether its command is a package runner.
        installs: bool,
    },
    /// Connected and listed.
    Ready,
    /// It failed; calls fail at once until the next try.
    Failing {
        /// Failures in a row.
        failures: u32,
        /// When the next try may begin.
        until: Instant,
    },
    /// It cannot run at all as configured.
    Unusable,
}

/// What the owner is told. Called on the relay thread; must not block.
pub trait Watcher {
    /// The state or its reason changed.
    fn state_changed(&self);
    /// Its lists were read and differ from the last ones, or were read for the first time.
    fn listed(&self, listing: Rc<Listing>);
    /// A log message that belongs to no call.
    fn log(&self, level: Level, params: &Bytes);
}

struct Queued {
    id: u64,
    errand: Errand,
    deadline: Instant,
    waiter: Box<dyn Waiter>,
}

/// One server.
pub struct Server {
    pub(crate) name: Rc<str>,
    pub(crate) spec: Spec,
    pub(crate) parts: Rc<Parts>,
    pub(crate) watcher: Rc<dyn Watcher>,
    state: RefCell<(State, Option<String>, SystemTime)>,
    pub(crate) session: RefCell<Option<Rc<Session>>>,
    queue: RefCell<VecDeque<Queued>>,
    next_id: Cell<u64>,
    pub(crate) counters: Rc<Counters>,
    /// Wakes the driver: something below has changed.
    pub(crate) wake: Notify,
    pub(crate) wanted: Cell<bool>,
    pub(crate) halted: Cell<bool>,
    /// A person wants it now: no waiting after a failure.
    pub(crate) impatient: Cell<bool>,
    pub(crate) over: Cell<bool>,
    /// Why it was stopped last.
    pub(crate) stopping: Cell<Stopping>,
    pub(crate) ended: RefCell<Option<End>>,
    /// When a modern server is asked again to tell of changes, after it stopped doing so.
    pub(crate) listen_again: Cell<Option<Instant>>,
    pub(crate) listen_failures: Cell<u32>,
    pub(crate) stale: RefCell<Vec<List>>,
    /// Whether lists are being read again.
    pub(crate) relisting: Cell<bool>,
    /// Lists that could not be read: what was known of them stays, and they are asked for again.
    pub(crate) unread: RefCell<Vec<List>>,
    pub(crate) memory: Cell<Option<Era>>,
    pub(crate) listing: RefCell<Option<Rc<Listing>>>,
    pub(crate) version: Cell<Option<Version>>,
    pub(crate) pid: Cell<Option<u32>>,
    pub(crate) program: RefCell<Option<String>>,
    pub(crate) starts: Cell<u32>,
    level: Cell<Option<Level>>,
    driver: RefCell<Option<JoinHandle<()>>>,
}

/// A request on its way; the handle to take it back.
#[derive(Clone)]
pub struct Call {
    server: Weak<Server>,
    id: u64,
}

impl Call {
    /// Takes the request back: its waiter is returned unused, the server is told where it had been sent.
    pub fn cancel(&self, reason: &str) -> Option<Box<dyn Waiter>> {
        let server = self.server.upgrade()?;
        let place = server.queue.borrow().iter().position(|queued| queued.id == self.id);
        if let Some(place) = place {
            return server.queue.borrow_mut().remove(place).map(|queued| queued.waiter);
        }
        let session = server.session.borrow().clone();
        session.and_then(|session| session.cancel(self.id, reason))
    }
    /// Tells the server that nobody waits any more, but takes its answer all the same should it come. False where that
    /// cannot be: it has not been sent, or its transport ends the answer with the cancel.
    pub fn cancel_and_listen(&self, reason: &str) -> bool {
        let session = self.server.upgrade().and_then(|server| server.session.borrow().clone());
        session.is_some_and(|session| session.cancel_and_listen(self.id, reason))
    }
}

impl Server {
    /// A server that is not running yet. Must be called inside a `LocalSet`. `memory` is the era it spoke last, `known`
    /// what it listed last.
    pub fn new(
        spec: Spec,
        parts: Rc<Parts>,
        watcher: Rc<dyn Watcher>,
        memory: Option<Era>,
        known: Option<Rc<Listing>>,
    ) -> Rc<Server> {
        let eager = spec.eager;
        let server = Rc::new(Server {
            name: spec.name.as_str().into(),
            spec,
            parts,
            watcher,
            state: RefCell::new((State::Stopped, None, SystemTime::now())),
            session: RefCell::default(),
            queue: RefCell::default(),
            next_id: Cell::new(1),
            counters: Rc::default(),
            wake: Notify::new(),
            relisting: Cell::new(false),
            wanted: Cell::new(eager),
            halted: Cell::new(false),
            impatient: Cell::new(false),
            over: Cell::new(false),
            stopping: Cell::new(Stopping::Halt),
            ended: RefCell::default(),
            listen_again: Cell::new(None),
            listen_failures: Cell::new(0),
            stale: RefCell::default(),
            unread: RefCell::default(),
            memory: Cell::new(memory),
            listing: RefCell::new(known),
            version: Cell::new(None),
            pid: Cell::new(None),
            program: RefCell::default(),
            starts: Cell::new(0),
            level: Cell::new(None),
            driver: RefCell::default(),
        });
        let driver = task::spawn("server", drive::run(Rc::clone(&server)));
        *server.driver.borrow_mut() = Some(driver);
        server
    }

    /// Its key in the config.
    pub fn name(&self) -> &Rc<str> {
        &self.name
    }
    /// What it was made from.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }
    /// Where it stands, why, and since when.
    pub fn state(&self) -> (State, Option<String>, SystemTime) {
        self.state.borrow().clone()
    }
    /// What is counted of its odd behaviour: noise lines, stray answers.
    pub fn counters(&self) -> (u64, u64) {
        (self.counters.noise.get(), self.counters.stray.get())
    }
    /// The revision spoken with it, once known.
    pub fn version(&self) -> Option<Version> {
        self.version.get()
    }
    /// Process id of its child.
    pub fn pid(&self) -> Option<u32> {
        self.pid.get()
    }
    /// Absolute path of its program, once resolved.
    pub fn program(&self) -> Option<String> {
        self.program.borrow().clone()
    }
    /// What it listed last.
    pub fn listing(&self) -> Option<Rc<Listing>> {
        self.listing.borrow().clone()
    }
    /// The last lines of its stderr, at most `lines`, made visible.
    pub fn last_words(&self, lines: usize) -> Vec<String> {
        self.parts.last_words(&self.name, lines)
    }
    /// Where its log is written.
    pub fn log_file(&self) -> Option<String> {
        self.parts.log_file(&self.name)
    }
    /// How often it was started.
    pub fn starts(&self) -> u32 {
        self.starts.get()
    }
    /// Calls running, and calls that wait for it to become ready.
    pub fn load(&self) -> (usize, usize) {
        let running = self.session.borrow().as_ref().map_or(0, |session| session.running());
        (running, self.queue.borrow().len())
    }

    /// Starts it, if it isn't running; a person's word ends a halt and a waiting time.
    pub fn start(&self) {
        self.halted.set(false);
        self.wanted.set(true);
        self.impatient.set(true);
        self.wake.notify_one();
    }

    /// Whether it can be called now.
    pub fn is_ready(&self) -> bool {
        self.state.borrow().0 == State::Ready
    }
    /// Whether it has said that its lists changed and they have not been read since: what is known of it is out of date.
    pub fn is_changing(&self) -> bool {
        self.relisting.get() || !self.stale.borrow().is_empty()
    }

    /// Wants it to be listed once; unlike [`Server::start`] it respects a halt and a waiting time.
    pub fn want(&self) {
        if !self.halted.get() {
            self.wanted.set(true);
            self.wake.notify_one();
        }
    }

    /// Stops it until a person starts it again.
    pub fn halt(&self, why: Stopping) {
        self.stopping.set(why);
        self.halted.set(true);
        self.wanted.set(false);
        self.wake.notify_one();
    }

    /// Stops it for good. Returns when no process of it is left.
    pub async fn retire(&self, why: Stopping) {
        self.halt(why);
        self.over.set(true);
        self.wake.notify_one();
        let driver = self.driver.borrow_mut().take();
        if let Some(driver) = driver {
            // A driver that panicked has left nothing to wait for.
            let _ = driver.await;
        }
        self.fail_queue(&self.stopped());
    }

    /// The lowest level of log messages that anybody wants outside of calls.
    pub fn set_level(&self, level: Option<Level>) {
        if self.level.replace(level) != level {
            self.send_level();
        }
    }

    pub(crate) fn send_level(&self) {
        let (Some(level), Some(session)) = (self.level.get(), self.session.borrow().clone()) else { return };
        let logs = self
            .listing
            .borrow()
            .as_ref()
            .is_some_and(|listing| frame::object::get(&listing.capabilities, "logging").is_some());
        if session.era.get() == Era::Legacy && logs {
            let params = format!("{{\"level\":\"{}\"}}", level.as_str()).into();
            let budget = self.spec.call_timeout;
            session.own_request(self.id(), "logging/setLevel", &params, Era::Legacy, budget, Box::new(Ignored));
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.next_id.replace(self.next_id.get() + 1)
    }

    /// Sends what the permit allows: at once when the server is ready, else when it has become so.
    /// The waiter may be called before this returns.
    pub fn send(
        self: &Rc<Self>,
        permit: Permit,
        origin: Rc<Origin>,
        wants_progress: bool,
        waiter: Box<dyn Waiter>,
    ) -> Call {
        let id = self.id();
        let call = Call { server: Rc::downgrade(self), id };
        let errand = Errand { request: permit.spend(), origin, wants_progress, is_second: false };
        self.dispatch(id, errand, waiter);
        call
    }

    /// When it is tried again by itself after a failure; None: it is not failing, or the next call tries it.
    pub fn next_try(&self) -> Option<Instant> {
        match self.state.borrow().0 {
            State::Failing { until, .. } if self.wanted.get() => Some(until),
            _ => None,
        }
    }

    /// Sends now, keeps it until the server is ready, or ends it.
    pub(crate) fn dispatch(&self, id: u64, errand: Errand, waiter: Box<dyn Waiter>) {
        // One whose end is known waits for the driver to see to it: nobody may be there, or nobody who knows us.
        let session = self.session.borrow().clone().filter(|session| session.is_open());
        let session = session.filter(|_| self.ended.borrow().is_none());
        let state = self.state.borrow().clone();
        match (state.0, session) {
            (State::Ready, Some(session)) => {
                session.request(id, errand, self.spec.call_timeout, waiter);
            }
            (State::Halted, _) => {
                let why = format!("the server `{}` {}", self.name, self.stopping.get());
                waiter.done(Err(Failure::Unavailable(why)));
            }
            (State::Unusable, _) => waiter.done(Err(Failure::Unavailable(self.sentence(state.1)))),
            (State::Failing { until, .. }, _) if until > Instant::now() => {
                waiter.done(Err(Failure::Unavailable(self.sentence(state.1))));
            }
            _ => self.enqueue(Queued { id, errand, deadline: self.patience(), waiter }),
        }
    }

    fn patience(&self) -> Instant {
        Instant::now() + self.spec.start_timeout.max(Duration::from_secs(1))
    }

    fn sentence(&self, reason: Option<String>) -> String {
        let reason = reason.unwrap_or_else(|| "it is not running".into());
        format!("the server `{}` is not available: {reason}", self.name)
    }

    fn enqueue(&self, queued: Queued) {
        if self.queue.borrow().len() == QUEUE {
            return queued.waiter.done(Err(Failure::Full));
        }
        self.queue.borrow_mut().push_back(queued);
        self.want();
        self.wake.notify_one();
    }

    /// Sends everything that waited for the server to become ready.
    pub(crate) fn release_queue(&self) {
        loop {
            let queued = self.queue.borrow_mut().pop_front();
            let session = self.session.borrow().clone();
            let (Some(queued), Some(session)) = (queued, session) else { return };
            session.request(queued.id, queued.errand, self.spec.call_timeout, queued.waiter);
        }
    }

    pub(crate) fn fail_queue(&self, reason: &str) {
        let all: Vec<Queued> = self.queue.borrow_mut().drain(..).collect();
        for queued in all {
            queued.waiter.done(Err(Failure::Unavailable(self.sentence(Some(reason.to_owned())))));
        }
    }

    /// The earliest deadline of a queued request.
    pub(crate) fn queue_deadline(&self) -> Option<Instant> {
        self.queue.borrow().front().map(|queued| queued.deadline)
    }

    /// Ends queued requests that have waited too long.
    pub(crate) fn expire_queue(&self, now: Instant) {
        loop {
            let late = {
                let mut queue = self.queue.borrow_mut();
                if queue.front().is_none_or(|queued| queued.deadline > now) {
                    return;
                }
                queue.pop_front()
            };
            if let Some(late) = late {
                let state = self.state.borrow().1.clone();
                let reason = state.unwrap_or_else(|| "it is still starting".into());
                late.waiter.done(Err(Failure::Unavailable(self.sentence(Some(reason)))));
            }
        }
    }

    pub(crate) fn enter(&self, state: State, reason: Option<String>) {
        // What the server said last may stand in it.
        let reason = reason.map(|reason| self.parts.logs.server(&self.name).redact(&reason).into_owned());
        {
            let mut place = self.state.borrow_mut();
            if place.0 == state && place.1 == reason {
                return;
            }
            *place = (state, reason, SystemTime::now());
        }
        self.watcher.state_changed();
    }
}
