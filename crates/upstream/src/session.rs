//! One connection to one server after another: gives out ids, matches answers, keeps order, answers what the
//! server asks of the hub itself. Knows the era of the server, not why anything is asked.

use crate::waiter::{Failure, Waiter};
use bytes::Bytes;
use frame::{Answer, Era, Fault, Frame, Kind, Level, Origin, Progress, Rope, object, own_id};
use rustc_hash::FxHashMap;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;
use wire::era::{legacy_server, modern_server};
use wire::link::{Inbox, Link, Message, SendFault};

/// What a session tells its server's owner.
pub(crate) trait Listener {
    /// One of the lists may have changed.
    fn list_changed(&self, list: List);
    /// A log message that belongs to no request.
    fn log(&self, level: Level, params: &Bytes);
    /// A line on stdout that is no message.
    fn noise(&self, head: &[u8]);
    /// The connection has ended.
    fn ended(&self, why: &str);
    /// The remote side has forgotten the session.
    fn session_lost(&self);
}

/// The lists of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// `tools/list`
    Tools,
    /// `prompts/list`
    Prompts,
    /// `resources/list` and `resources/templates/list`
    Resources,
}

struct Pending {
    waiter: Box<dyn Waiter>,
    deadline: Instant,
    budget: Duration,
    /// A request of the hub's own: not counted as a running call.
    own: bool,
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
    link: OnceCell<Box<dyn Link>>,
    open: Cell<bool>,
    pub(crate) era: Cell<Era>,
    pending: RefCell<FxHashMap<u64, Pending>>,
    counters: Rc<Counters>,
    listener: Weak<dyn Listener>,
    /// Wakes the sweep for deadlines when something begins to wait.
    pub(crate) busy: Notify,
    own_origin: Origin,
    /// Whether the server has been asked to tell of changed lists.
    pub(crate) listening: Cell<bool>,
}

/// One request as the session sends it.
pub(crate) struct Request<'a> {
    pub id: u64,
    pub method: &'a str,
    pub params: &'a Bytes,
    pub origin: &'a Origin,
    pub wants_progress: bool,
    pub budget: Duration,
}

/// What of a request the transport must know.
struct Shape<'a> {
    id: u64,
    method: &'a str,
    name: Option<&'a str>,
    own: bool,
}

impl Session {
    pub(crate) fn new(counters: Rc<Counters>, listener: Weak<dyn Listener>) -> Rc<Session> {
        Rc::new(Session {
            link: OnceCell::new(),
            open: Cell::new(true),
            era: Cell::new(Era::Legacy),
            pending: RefCell::default(),
            counters,
            listener,
            busy: Notify::new(),
            own_origin: modern_server::own_origin(env!("CARGO_PKG_VERSION")),
            listening: Cell::new(false),
        })
    }

    /// Gives it its connection; once.
    pub(crate) fn plug(&self, link: Box<dyn Link>) {
        let _ = self.link.set(link);
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.get()
    }

    /// Calls of clients that are running.
    pub(crate) fn running(&self) -> usize {
        self.pending.borrow().values().filter(|pending| !pending.own).count()
    }

    /// Sends a client's request in the server's own form.
    pub(crate) fn request(&self, request: Request<'_>, waiter: Box<dyn Waiter>) {
        let token = request.wants_progress.then_some(request.id);
        let params = match self.era.get() {
            Era::Legacy => legacy_server::params(request.params, token),
            Era::Modern => modern_server::params(request.params, token, request.origin),
        };
        let name = name_of(request.method, request.params);
        let shape = Shape { id: request.id, method: request.method, name: name.as_deref(), own: false };
        self.dispatch(&shape, &params, request.budget, waiter);
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
        self.dispatch(&Shape { id, method, name: None, own: true }, &params, budget, waiter);
    }

    fn dispatch(&self, shape: &Shape<'_>, params: &Rope, budget: Duration, mut waiter: Box<dyn Waiter>) {
        let &Shape { id, method, name, own } = shape;
        let mut text = Rope::new();
        text.push(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{},\"params\":", object::quote(method)).into());
        text.append(params);
        text.push_static("}");
        let message = Message { id: Some(id), method, name, headers: &[], text: &text };
        if !waiter.sending() {
            return waiter.done(Err(Failure::Unavailable("the call could not be written down".into())));
        }
        // Entered before the bytes leave: a fast server's first notice must find it.
        let deadline = Instant::now() + budget;
        let was_idle = {
            let mut pending = self.pending.borrow_mut();
            pending.insert(id, Pending { waiter, deadline, budget, own });
            pending.len() == 1
        };
        if let Err(fault) = self.send(&message) {
            let entry = self.pending.borrow_mut().remove(&id);
            if let Some(entry) = entry {
                entry.waiter.done(Err(match fault {
                    SendFault::Full => Failure::Full,
                    SendFault::Closed => Failure::Unavailable("its connection has just ended".into()),
                }));
            }
        } else if was_idle {
            self.busy.notify_one();
        }
    }

    fn send(&self, message: &Message<'_>) -> Result<(), SendFault> {
        match self.link.get() {
            Some(link) if self.open.get() => link.send(message),
            _ => Err(SendFault::Closed),
        }
    }

    /// Sends a notification.
    pub(crate) fn notify(&self, method: &str, params: Option<&Bytes>) {
        let mut text = Rope::from(format!("{{\"jsonrpc\":\"2.0\",\"method\":{}", object::quote(method)));
        if let Some(params) = params {
            text.push_static(",\"params\":");
            text.push(params.clone());
        }
        text.push_static("}");
        // A notice that a server does not take is lost like on any full pipe.
        let _ = self.send(&Message { id: None, method, name: None, headers: &[], text: &text });
    }

    /// Takes the waiter of one request back and tells the server that nobody waits any more.
    pub(crate) fn cancel(&self, id: u64, reason: &str) -> Option<Box<dyn Waiter>> {
        let entry = self.pending.borrow_mut().remove(&id)?;
        self.tell_cancelled(id, reason);
        Some(entry.waiter)
    }

    fn tell_cancelled(&self, id: u64, reason: &str) {
        let params = format!("{{\"requestId\":{id},\"reason\":{}}}", object::quote(reason)).into();
        self.notify("notifications/cancelled", Some(&params));
        if let Some(link) = self.link.get() {
            link.abandon(id);
        }
    }

    /// The next deadline of anything that waits.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.pending.borrow().values().map(|pending| pending.deadline).min()
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

    /// Ends the connection and everything that waits on it.
    pub(crate) fn close(&self, why: &str) {
        if let (true, Some(link)) = (self.open.replace(false), self.link.get()) {
            link.close();
        }
        self.fail_all(why);
    }

    fn fail_all(&self, why: &str) {
        let all: Vec<Pending> = self.pending.borrow_mut().drain().map(|(_, pending)| pending).collect();
        for pending in all {
            pending.waiter.done(Err(Failure::Crashed(why.to_owned())));
        }
    }

    fn answered(&self, frame: &Frame) {
        let id = own_id(&frame.id());
        let entry = id.and_then(|id| self.pending.borrow_mut().remove(&id));
        let Some(entry) = entry else {
            self.counters.stray.set(self.counters.stray.get() + 1);
            return;
        };
        let body = frame.body().unwrap_or_default();
        entry.waiter.done(match frame.kind() {
            Kind::Error => Ok(Answer::Error(sound_error(body))),
            _ if body.first() == Some(&b'{') => Ok(Answer::Result { era: self.era.get(), body: body.into() }),
            _ => Err(Failure::Unreadable("its result is no object")),
        });
    }

    fn progressed(&self, params: &Bytes) {
        let [token] = object::pick(params, ["progressToken"]);
        let Some(token) = token else { return };
        let Some(id) = own_id(&params[token.clone()]) else { return };
        // Taken out while it is told, so that whatever it does cannot meet a borrowed map.
        let entry = self.pending.borrow_mut().remove(&id);
        let Some(mut entry) = entry else { return };
        entry.deadline = Instant::now() + entry.budget;
        entry.waiter.progress(&Progress { params: params.clone(), token });
        self.pending.borrow_mut().insert(id, entry);
    }

    fn logged(&self, params: &Bytes, during: Option<u64>) {
        let [level] = object::pick(params, ["level"]);
        let level = level.and_then(|range| object::text(&params[range]).and_then(|name| Level::parse(&name)));
        let level = level.unwrap_or(Level::Info);
        let owner = during.or_else(|| self.only_call());
        let entry = owner.and_then(|id| Some((id, self.pending.borrow_mut().remove(&id)?)));
        if let Some((id, mut entry)) = entry {
            entry.waiter.log(level, params);
            self.pending.borrow_mut().insert(id, entry);
        } else if let Some(listener) = self.listener.upgrade() {
            listener.log(level, params);
        }
    }

    /// The one call that is running, when it is the only one: then what the server says without naming a call is about it.
    fn only_call(&self) -> Option<u64> {
        let pending = self.pending.borrow();
        let mut calls = pending.iter().filter(|(_, pending)| !pending.own).map(|(&id, _)| id);
        let first = calls.next();
        if calls.next().is_some() { None } else { first }
    }

    fn asked(&self, frame: &Frame) {
        let id = frame.id();
        let mut text = Rope::from("{\"jsonrpc\":\"2.0\",\"id\":");
        text.push(id);
        if frame.method() == "ping" {
            text.push_static(",\"result\":{}}");
        } else {
            // Nothing of the kind was declared; a plain answer keeps the server from waiting.
            text.push_static(",\"error\":{\"code\":-32601,\"message\":\"the hub does not offer this\"}}");
        }
        let _ = self.send(&Message { id: None, method: "", name: None, headers: &[], text: &text });
    }
}

impl Inbox for Session {
    fn message(&self, frame: Frame, during: Option<u64>) {
        match frame.kind() {
            Kind::Response | Kind::Error => self.answered(&frame),
            Kind::Request => self.asked(&frame),
            Kind::Notification => {
                let params = frame.params();
                let changed = |list| {
                    if let Some(listener) = self.listener.upgrade() {
                        listener.list_changed(list);
                    }
                };
                match &*frame.method() {
                    "notifications/progress" => self.progressed(&params),
                    "notifications/message" => self.logged(&params, during),
                    "notifications/tools/list_changed" => changed(List::Tools),
                    "notifications/prompts/list_changed" => changed(List::Prompts),
                    "notifications/resources/list_changed" => changed(List::Resources),
                    _ => {}
                }
            }
        }
    }

    fn noise(&self, fault: Fault, head: &[u8]) {
        let id = fault.id.as_deref().and_then(own_id).filter(|_| !fault.has_method);
        let entry = id.and_then(|id| self.pending.borrow_mut().remove(&id));
        if let Some(entry) = entry {
            return entry.waiter.done(Err(Failure::Unreadable("it is malformed")));
        }
        self.counters.noise.set(self.counters.noise.get() + 1);
        if let Some(listener) = self.listener.upgrade() {
            listener.noise(head);
        }
    }

    fn too_long(&self, head: &[u8], length: u64) {
        let [id] = object::pick(head, ["id"]);
        let id = id.and_then(|range| own_id(&head[range]));
        let entry = id.and_then(|id| self.pending.borrow_mut().remove(&id));
        match entry {
            Some(entry) => entry.waiter.done(Err(Failure::TooLarge(length))),
            None => {
                self.counters.noise.set(self.counters.noise.get() + 1);
                if let Some(listener) = self.listener.upgrade() {
                    listener.noise(format!("a line of {length} bytes was dropped").as_bytes());
                }
            }
        }
    }

    fn failed(&self, id: u64, why: &str, sent: bool) {
        let entry = self.pending.borrow_mut().remove(&id);
        if let Some(entry) = entry {
            let why = why.to_owned();
            entry.waiter.done(Err(if sent { Failure::Crashed(why) } else { Failure::Unavailable(why) }));
        }
    }

    fn session_lost(&self) {
        if let Some(listener) = self.listener.upgrade() {
            listener.session_lost();
        }
    }

    fn closed(&self, why: &str) {
        self.open.set(false);
        // The owner first: it knows how the process ended and closes with the better reason.
        if let Some(listener) = self.listener.upgrade() {
            listener.ended(why);
        } else {
            self.fail_all(why);
        }
    }
}

/// What `Mcp-Name` carries for a method.
fn name_of(method: &str, params: &Bytes) -> Option<String> {
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return None,
    };
    let [name] = object::pick(params, [key]);
    object::text(&params[name?]).map(String::from)
}

/// An error object that every client library can read: integer code within 32 bits, message a string.
fn sound_error(error: Bytes) -> Rope {
    if error.first() == Some(&b'{') {
        let [code, message] = object::pick(&error, ["code", "message"]);
        let code = code.and_then(|range| std::str::from_utf8(&error[range]).ok()?.parse::<i32>().ok());
        let message = message.is_some_and(|range| error[range.start] == b'"');
        if code.is_some() && message {
            return error.into();
        }
    }
    let mut out = Rope::from(
        "{\"code\":-32603,\"message\":\"the server sent an error without a usable code or message\",\"data\":",
    );
    out.push(error);
    out.push_static("}");
    out
}
