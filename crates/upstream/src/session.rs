//! One connection to one server: sends requests and notices in the server's own form, keeps what waits for an answer,
//! ends what is late. Knows the era of the server, not why anything is asked.

use crate::mirror::{Mirrored, name_of};
use crate::waiter::{Failure, Waiter};
use crate::wired::{Errand, Listener, Wired};
use bytes::Bytes;
use frame::{Era, Origin, Rope, Version, object};
use rustc_hash::FxHashMap;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;
use wire::era::{legacy_server, modern_server};
use wire::http::{FailureKind, HttpLink};
use wire::link::{Link, Message, SendFault, Text};

pub(crate) struct Pending {
    pub waiter: Box<dyn Waiter>,
    pub deadline: Instant,
    pub budget: Duration,
    /// A request of the hub's own: not counted as a running call.
    pub own: bool,
    /// What to send once more if the server had forgotten the session.
    pub errand: Option<Errand>,
}

/// What is counted of a server's odd behaviour.
#[derive(Debug, Default)]
pub struct Counters {
    /// Lines that were no messages.
    pub noise: Cell<u64>,
    /// Answers nobody waited for.
    pub stray: Cell<u64>,
}

pub(crate) struct Session {
    link: OnceCell<Wired>,
    pub(crate) open: Cell<bool>,
    /// What kind of failure the latest one was.
    pub(crate) trouble: Cell<Option<FailureKind>>,
    /// Rings when the link has ended by itself or has said its last word after [`Session::close`].
    pub(crate) gone: Notify,
    pub(crate) mirrored: RefCell<Mirrored>,
    pub(crate) era: Cell<Era>,
    pub(crate) pending: RefCell<FxHashMap<u64, Pending>>,
    pub(crate) counters: Rc<Counters>,
    pub(crate) listener: Weak<dyn Listener>,
    /// Wakes the sweep for deadlines when something has a nearer one than it waits for.
    pub(crate) busy: Notify,
    awaited: Cell<Option<Instant>>,
    own_origin: Origin,
    /// Whether the server has been asked to tell of changed lists.
    pub(crate) listening: Cell<bool>,
}

/// What of a request the transport must know.
struct Shape<'a> {
    id: u64,
    method: &'a str,
    name: Option<&'a str>,
    headers: &'a [(String, String)],
    own: bool,
}

impl Session {
    pub(crate) fn new(counters: Rc<Counters>, listener: Weak<dyn Listener>) -> Rc<Session> {
        Rc::new(Session {
            link: OnceCell::new(),
            open: Cell::new(true),
            trouble: Cell::new(None),
            gone: Notify::new(),
            mirrored: RefCell::default(),
            era: Cell::new(Era::Legacy),
            pending: RefCell::default(),
            counters,
            listener,
            busy: Notify::new(),
            awaited: Cell::new(None),
            own_origin: modern_server::own_origin(env!("CARGO_PKG_VERSION")),
            listening: Cell::new(false),
        })
    }

    /// Gives it its connection; once.
    pub(crate) fn plug(&self, link: Wired) {
        let _ = self.link.set(link);
    }

    pub(crate) fn http(&self) -> Option<&HttpLink> {
        match self.link.get() {
            Some(Wired::Http(link)) => Some(link),
            Some(Wired::Pipes(_)) | None => None,
        }
    }

    pub(crate) fn is_http(&self) -> bool {
        self.http().is_some()
    }

    /// The revision to speak from now on, for a transport that says it beside the messages.
    pub(crate) fn set_version(&self, version: Version) {
        if let Some(link) = self.http() {
            link.set_version(version);
        }
    }

    /// What kind of failure of the transport the latest one was, since this was last asked.
    pub(crate) fn trouble(&self) -> Option<FailureKind> {
        self.trouble.take()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.get()
    }

    /// Calls of clients that are running.
    pub(crate) fn running(&self) -> usize {
        self.pending.borrow().values().filter(|pending| !pending.own).count()
    }

    /// Sends a client's request in the server's own form.
    pub(crate) fn request(&self, id: u64, errand: Errand, budget: Duration, mut waiter: Box<dyn Waiter>) {
        // A second sending is of the same call, which is already written down as sent.
        if !errand.is_second && !waiter.sending() {
            return waiter.done(Err(Failure::Unavailable("the call could not be written down".into())));
        }
        let token = errand.wants_progress.then_some(id);
        let policy::Request { method, params: asked, .. } = &errand.request;
        let (mut name, mut headers) = (None, Vec::new());
        let params = match self.era.get() {
            Era::Legacy => legacy_server::params(asked, token),
            Era::Modern => {
                if self.is_http() {
                    name = name_of(method, asked);
                    headers = if &**method == "tools/call" { self.mirrored.borrow().fields(asked) } else { headers };
                }
                modern_server::params(asked, token, &errand.origin)
            }
        };
        let method = Rc::clone(method);
        let errand = Some(errand).filter(|errand| self.is_http() && !errand.is_second);
        let shape = Shape { id, method: &method, name: name.as_deref(), headers: &headers, own: false };
        self.dispatch(&shape, &params, budget, waiter, errand);
    }

    /// Sends a request of the hub's own. `modern` tells which form; the era may not be known yet.
    pub(crate) fn own_request(
        &self,
        id: u64,
        method: &str,
        params: &Bytes,
        era: Era,
        budget: Duration,
        waiter: Box<dyn Waiter>,
    ) {
        let params = match era {
            Era::Legacy => params.clone().into(),
            Era::Modern => modern_server::params(params, None, &self.own_origin),
        };
        let shape = Shape { id, method, name: None, headers: &[], own: true };
        self.dispatch(&shape, &params, budget, waiter, None);
    }

    fn dispatch(
        &self,
        shape: &Shape<'_>,
        params: &Rope,
        budget: Duration,
        waiter: Box<dyn Waiter>,
        errand: Option<Errand>,
    ) {
        let &Shape { id, method, name, headers, own } = shape;
        let message = Message { id: Some(id), method, name, headers, text: Text::Params(params) };
        // Entered before the bytes leave: a fast server's first notice must find it.
        let deadline = Instant::now() + budget;
        self.pending.borrow_mut().insert(id, Pending { waiter, deadline, budget, own, errand });
        if let Err(fault) = self.send(&message) {
            let entry = self.pending.borrow_mut().remove(&id);
            if let Some(entry) = entry {
                entry.waiter.done(Err(match fault {
                    SendFault::Full => Failure::Full,
                    SendFault::Closed => Failure::Unavailable("its connection has just ended".into()),
                }));
            }
        } else if self.awaited.get().is_none_or(|awaited| deadline < awaited) {
            self.awaited.set(Some(deadline));
            self.busy.notify_one();
        }
    }

    pub(crate) fn send(&self, message: &Message<'_>) -> Result<(), SendFault> {
        match self.link.get() {
            Some(wired) if self.open.get() => wired.link().send(message),
            _ => Err(SendFault::Closed),
        }
    }

    /// Sends a notification. What a server does not take is lost like on any full pipe.
    pub(crate) fn notify(&self, method: &str, params: Option<&Bytes>) -> Result<(), SendFault> {
        let params = params.cloned().map(Rope::from).unwrap_or_default();
        self.send(&Message { id: None, method, name: None, headers: &[], text: Text::Params(&params) })
    }

    /// Takes the waiter of one request back and tells the server that nobody waits any more.
    pub(crate) fn cancel(&self, id: u64, reason: &str) -> Option<Box<dyn Waiter>> {
        let entry = self.pending.borrow_mut().remove(&id)?;
        self.tell_cancelled(id, reason);
        Some(entry.waiter)
    }

    /// Tells the server that nobody waits for a request, and goes on waiting for its answer, as long as it was allowed
    /// to take. Over HTTP in the modern era the end of the stream is the cancel, and with it the answer is gone.
    pub(crate) fn cancel_and_listen(&self, id: u64, reason: &str) -> bool {
        if self.http().is_some_and(|link| self.era.get() == Era::Modern || link.holds(id)) {
            return false;
        }
        match self.pending.borrow_mut().get_mut(&id) {
            // Nobody wants it to be sent once more, whatever comes.
            Some(pending) => pending.errand = None,
            None => return false,
        }
        self.notify_cancelled(id, reason);
        true
    }

    fn notify_cancelled(&self, id: u64, reason: &str) {
        let params = format!("{{\"requestId\":{id},\"reason\":{}}}", object::quote(reason)).into();
        // Whoever does not read is not cancelled; its deadline ends it.
        let _ = self.notify("notifications/cancelled", Some(&params));
    }

    /// Forgets a request of the hub's own whose answer nobody waits for any more.
    pub(crate) fn forget(&self, id: u64) {
        // On pipes the answer comes all the same, and is to be known for what it is.
        if let Some(link) = self.http() {
            self.pending.borrow_mut().remove(&id);
            link.abandon(id);
        }
    }

    fn tell_cancelled(&self, id: u64, reason: &str) {
        if let (Some(link), Era::Modern) = (self.http(), self.era.get()) {
            // The end of its stream says it.
            return link.abandon(id);
        }
        self.notify_cancelled(id, reason);
        if let Some(wired) = self.link.get() {
            wired.link().abandon(id);
        }
    }

    /// The next deadline of anything that waits.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.awaited.set(self.pending.borrow().values().map(|pending| pending.deadline).min());
        self.awaited.get()
    }

    /// Ends everything whose deadline has passed.
    pub(crate) fn expire(&self, now: Instant) {
        let late: Vec<u64> =
            self.pending.borrow().iter().filter(|(_, pending)| pending.deadline <= now).map(|(&id, _)| id).collect();
        for id in late {
            let entry = self.pending.borrow_mut().remove(&id);
            if let Some(entry) = entry {
                // `initialize` must not be cancelled; the hub's own requests end with the connection.
                if !entry.own {
                    self.tell_cancelled(id, "timed out");
                }
                entry.waiter.done(Err(Failure::Timeout(entry.budget.as_secs())));
            }
        }
    }

    /// Ends a connection that has failed, and everything that waits on it.
    pub(crate) fn close(&self, why: &str) {
        self.end(&Failure::Crashed(why.to_owned()));
    }

    /// Ends the connection and, with this failure, everything that waits on it.
    pub(crate) fn end(&self, failure: &Failure) {
        if self.open.replace(false)
            && let Some(wired) = self.link.get()
        {
            wired.link().close();
        }
        self.fail_all(failure, |_| true);
    }

    pub(crate) fn fail_all(&self, failure: &Failure, which: impl Fn(&Pending) -> bool) {
        let all: Vec<Pending> =
            self.pending.borrow_mut().extract_if(|_, pending| which(pending)).map(|(_, pending)| pending).collect();
        for pending in all {
            pending.waiter.done(Err(failure.clone()));
        }
    }
}
