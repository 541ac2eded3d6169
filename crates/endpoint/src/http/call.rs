//! One running exchange of a client of this door: its place in the answer, its ticket in the hub, and how it ends.
//! It ends exactly once: by its answer, by a cancel, or because its place in the hub is gone.

use super::delivery::{Delivery, failure, response, status};
use super::place::{Place, Running};
use bytes::Bytes;
use frame::object::{quote, text};
use frame::{Answer, Ask, Era, Level, Origin, Params, Progress, Receipt, Reply, Rope};
use http::StatusCode;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wire::era::{legacy_host, modern_host};

/// An id as a key: `7` and `"7"` are two, however a string is spelled.
pub fn id_key(id: &Bytes) -> Bytes {
    match text(id) {
        Some(plain) if id.contains(&b'\\') => quote(&plain).into(),
        _ => id.clone(),
    }
}

/// One request as it goes to the hub.
pub struct Question {
    /// Raw id.
    pub id: Bytes,
    /// The method.
    pub method: Rc<str>,
    /// Its params.
    pub params: Params,
    /// The client's raw progress token.
    pub token: Option<Bytes>,
    /// Who asks.
    pub origin: Rc<Origin>,
}

/// The running exchanges of one session, or of one token's stateless requests.
pub struct Calls {
    /// Only of a session: a stateless client's ids mean nothing beyond one request.
    by_id: RefCell<FxHashMap<Bytes, Rc<Call>>>,
    running: Cell<usize>,
    max: usize,
}

/// Why a request is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Crowded {
    /// The client's own bound is reached.
    #[error("too many requests of this client are running")]
    Full,
    /// Its id is in use.
    #[error("a request with this id is still running")]
    SameId,
}

impl Calls {
    /// At most `max` at one time.
    pub fn new(max: usize) -> Rc<Calls> {
        Rc::new(Calls { by_id: RefCell::default(), running: Cell::new(0), max })
    }

    /// How many are running.
    pub fn running(&self) -> usize {
        self.running.get()
    }

    /// The running one of that id.
    pub fn get(&self, id: &Bytes) -> Option<Rc<Call>> {
        self.by_id.borrow().get(&id_key(id)).cloned()
    }

    /// Asks the hub. The answer goes to `delivery`, maybe before this returns.
    pub fn ask(
        self: &Rc<Self>,
        place: &dyn Place,
        question: Question,
        delivery: &Rc<Delivery>,
    ) -> Result<Rc<Call>, Crowded> {
        if self.running.get() >= self.max {
            return Err(Crowded::Full);
        }
        let era = question.origin.version.era();
        let key = (era == Era::Legacy).then(|| id_key(&question.id));
        if key.as_ref().is_some_and(|key| self.by_id.borrow().contains_key(key)) {
            return Err(Crowded::SameId);
        }
        let ask = Ask {
            method: question.method.clone(),
            params: question.params,
            origin: question.origin.clone(),
            wants_progress: question.token.is_some(),
        };
        let call = Rc::new(Call {
            id: question.id,
            key,
            delivery: delivery.clone(),
            calls: self.clone(),
            ticket: RefCell::new(None),
            over: Cell::new(false),
        });
        self.running.set(self.running.get() + 1);
        if let Some(key) = &call.key {
            self.by_id.borrow_mut().insert(key.clone(), call.clone());
        }
        let answerer =
            Answerer { call: call.clone(), method: question.method, origin: question.origin, token: question.token };
        let ticket = place.ask(ask, Box::new(answerer));
        if !call.over.get() {
            call.ticket.replace(Some(ticket));
        }
        Ok(call)
    }
}

/// One of them.
pub struct Call {
    id: Bytes,
    key: Option<Bytes>,
    delivery: Rc<Delivery>,
    calls: Rc<Calls>,
    ticket: RefCell<Option<Box<dyn Running>>>,
    over: Cell<bool>,
}

impl Call {
    /// The client has lost interest: nothing more is said about this request.
    pub fn cancel(&self) {
        let ticket = self.ticket.take();
        if self.settle(None, None)
            && let Some(ticket) = ticket
        {
            ticket.cancel();
        }
    }

    /// Ends it; false where it has ended already.
    fn settle(&self, answer: Option<(StatusCode, Rope)>, receipt: Option<Receipt>) -> bool {
        if self.over.replace(true) {
            // Nothing is said any more.
            receipt.into_iter().for_each(Receipt::lost);
            return false;
        }
        self.calls.running.set(self.calls.running.get().saturating_sub(1));
        if let Some(key) = &self.key {
            self.calls.by_id.borrow_mut().remove(key);
        }
        // A ticket may hold what holds this call.
        drop(self.ticket.take());
        match (answer, receipt) {
            (Some(answer), Some(receipt)) => self.delivery.deliver(answer, receipt),
            (answer, _) => self.delivery.finish(answer),
        }
        true
    }
}

/// Takes the hub's answers to one request.
struct Answerer {
    call: Rc<Call>,
    method: Rc<str>,
    origin: Rc<Origin>,
    token: Option<Bytes>,
}

impl Reply for Answerer {
    fn progress(&mut self, progress: &Progress) {
        let Some(token) = self.token.as_ref().filter(|_| !self.call.over.get()) else { return };
        let mut text = Rope::from("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":");
        text.push(progress.params.slice(..progress.token.start));
        text.push(token.clone());
        text.push(progress.params.slice(progress.token.end..));
        text.push_static("}");
        self.call.delivery.note(&text);
    }

    fn log(&mut self, level: Level, params: &Bytes) {
        let wanted = match (self.origin.version.era(), self.origin.level.get()) {
            (_, Some(least)) => level >= least,
            // A legacy client that has said nothing gets what servers say by default.
            (Era::Legacy, None) => level >= Level::Info,
            (Era::Modern, None) => false,
        };
        if wanted && !self.call.over.get() {
            self.call.delivery.note(&log_notice(params));
        }
    }

    fn is_there(&self) -> bool {
        !self.call.delivery.is_closed()
    }

    fn done(self: Box<Self>, answer: Answer) {
        self.end(answer, None);
    }

    fn deliver(self: Box<Self>, answer: Answer, receipt: Receipt) {
        self.end(answer, Some(receipt));
    }
}

impl Answerer {
    fn end(&self, answer: Answer, receipt: Option<Receipt>) {
        let era = self.origin.version.era();
        let out = match era {
            Era::Legacy => legacy_host::answer(answer, &self.method),
            Era::Modern => modern_host::answer(answer, &self.method),
        };
        self.call.settle(Some((status(era, &out), response(&self.call.id, &out))), receipt);
    }
}

impl Drop for Answerer {
    fn drop(&mut self) {
        if !self.call.over.get() {
            let text = failure(&self.call.id, -32603, "the session ended before the answer came");
            self.call.settle(Some((StatusCode::OK, text)), None);
        }
    }
}

/// A `notifications/message` with these params.
pub fn log_notice(params: &Bytes) -> Rope {
    let mut text = Rope::from("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":");
    text.push(params.clone());
    text.push_static("}");
    text
}
