//! What the requests to one server share: the revision that is spoken and, with `initialize`, the session.

use super::headers;
use super::target::Target;
use frame::{Era, Version};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use std::cell::{Cell, RefCell};

/// The state of one link's session.
#[derive(Default)]
pub struct Session {
    version: Cell<Option<Version>>,
    id: RefCell<Option<HeaderValue>>,
    /// Counts sessions, so that what belongs to an earlier one is known.
    generation: Cell<u32>,
    /// Whether a request has been answered in this session: only then can it be *forgotten*.
    proven: Cell<bool>,
}

/// In which session a request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    generation: u32,
    has_id: bool,
}

/// What a 404 means for the session it was sent in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The server has forgotten it, and this is the first to find out.
    Now,
    /// It was already known to be gone.
    Known,
    /// Nothing: there is no session, or it never worked.
    None,
}

impl Session {
    pub fn set_version(&self, version: Version) {
        self.version.set(Some(version));
    }
    pub fn is_modern(&self) -> bool {
        self.version.get().is_some_and(|version| version.era() == Era::Modern)
    }
    pub fn has_id(&self) -> bool {
        self.id.borrow().is_some()
    }

    /// A new session begins with the answer to `initialize`.
    pub fn begin(&self, answer: &HeaderMap) {
        let id = answer.get(headers::SESSION).cloned().map(|mut id| {
            id.set_sensitive(true);
            id
        });
        self.forget();
        *self.id.borrow_mut() = id;
    }
    pub fn ticket(&self) -> Ticket {
        Ticket { generation: self.generation.get(), has_id: self.has_id() }
    }
    pub fn is_current(&self, ticket: Ticket) -> bool {
        ticket.generation == self.generation.get()
    }
    /// A request of this session was answered.
    pub fn prove(&self, ticket: Ticket) {
        if self.is_current(ticket) {
            self.proven.set(true);
        }
    }
    /// A request of this session was answered with 404.
    pub fn lose(&self, ticket: Ticket) -> Loss {
        if !ticket.has_id {
            Loss::None
        } else if !self.is_current(ticket) {
            Loss::Known
        } else if self.proven.get() {
            self.forget();
            Loss::Now
        } else {
            Loss::None
        }
    }
    /// Ends the session here; gives its id.
    pub fn forget(&self) -> Option<HeaderValue> {
        self.generation.set(self.generation.get().wrapping_add(1));
        self.proven.set(false);
        self.id.borrow_mut().take()
    }

    /// The fields that say in which revision and session a request belongs.
    pub fn mark(&self, headers: &mut HeaderMap) {
        if let Some(version) = self.version.get() {
            headers.insert(headers::VERSION, HeaderValue::from_static(version.as_str()));
        }
        if !self.is_modern()
            && let Some(id) = &*self.id.borrow()
        {
            headers.insert(headers::SESSION, id.clone());
        }
    }
}

/// The fields of every POST to a server: those configured, and ours in their place.
pub fn fields(target: &Target) -> HeaderMap {
    let ours: [(HeaderName, &'static str); 3] = [
        (header::ACCEPT, "application/json, text/event-stream"),
        (header::ACCEPT_ENCODING, "identity"),
        (header::CONTENT_TYPE, headers::JSON),
    ];
    let mut headers = target.headers.clone();
    for (name, value) in ours {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::USER_AGENT).or_insert(HeaderValue::from_static(super::USER_AGENT));
    headers
}
