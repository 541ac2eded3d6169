//! What a session is made of besides itself: its link, who is told what it hears, what it carries for clients.

use crate::session::Session;
use crate::waiter::Waiter;
use bytes::Bytes;
use frame::{Fault, Frame, Level, Origin};
use std::rc::{Rc, Weak};
use wire::http::HttpLink;
use wire::link::{Inbox, Link};
use wire::stdio::StdioLink;

/// What a session tells its server's owner.
pub(crate) trait Listener {
    /// One of the lists may have changed.
    fn list_changed(&self, list: List);
    /// A log message that belongs to no request.
    fn log(&self, level: Level, params: &Bytes);
    /// A line on stdout that is no message.
    fn noise(&self, head: &[u8]);
    /// The connection has ended, or is of no more use.
    fn ended(&self, end: End);
    /// A request that has certainly not run, because the server had forgotten the session: it may be sent once more.
    fn again(&self, id: u64, errand: Errand, waiter: Box<dyn Waiter>);
}

/// Why a connection, or its session, is of no more use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It broke.
    Broken(String),
    /// The server wants credentials that it was not given.
    SignIn,
    /// The server has forgotten the session; the connection itself can be used.
    Forgotten,
}

/// The connection, as far as it differs.
pub(crate) enum Wired {
    /// Two pipes.
    Pipes(StdioLink),
    /// Streamable HTTP.
    Http(HttpLink),
}

impl Wired {
    pub(crate) fn link(&self) -> &dyn Link {
        match self {
            Wired::Pipes(link) => link,
            Wired::Http(link) => link,
        }
    }
}

/// Keeps a link from keeping its session alive.
pub(crate) struct Ear(pub Weak<Session>);

impl Inbox for Ear {
    fn message(&self, frame: Frame, during: Option<u64>) {
        if let Some(session) = self.0.upgrade() {
            session.message(frame, during);
        }
    }
    fn noise(&self, fault: Fault, text: &Bytes) {
        if let Some(session) = self.0.upgrade() {
            session.noise(fault, text);
        }
    }
    fn too_long(&self, head: &[u8], length: u64) {
        if let Some(session) = self.0.upgrade() {
            session.too_long(head, length);
        }
    }
    fn failed(&self, id: u64, why: &str, sent: bool) {
        if let Some(session) = self.0.upgrade() {
            session.failed(id, why, sent);
        }
    }
    fn session_lost(&self) {
        if let Some(session) = self.0.upgrade() {
            session.session_lost();
        }
    }
    fn closed(&self, why: &str) {
        if let Some(session) = self.0.upgrade() {
            session.closed(why);
        }
    }
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

/// A client's request that was permitted, in the hub's form.
pub(crate) struct Errand {
    pub request: policy::Request,
    pub origin: Rc<Origin>,
    pub wants_progress: bool,
    /// It was sent before and has certainly not run; it is not sent a third time.
    pub is_second: bool,
}
