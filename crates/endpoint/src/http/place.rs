//! What this door needs of the hub, as traits, so that tests can put a scripted hub behind it.

use bytes::Bytes;
use frame::{Answer, Ask, Level, Origin, Reply};
use hub::agent::{AgentHandle, Description, Identity, Notices, Seat, Ticket, UnknownView, View, Watched};
use std::rc::Rc;

/// Lets clients in.
pub trait Hub {
    /// As [`AgentHandle::knows`].
    fn knows(&self, view: &View) -> bool;
    /// As [`AgentHandle::join`].
    ///
    /// # Errors
    /// There is no such view.
    fn join(&self, identity: Identity, view: View, notices: Rc<dyn Notices>) -> Result<Box<dyn Place>, UnknownView>;
}

/// A client's place in the hub; dropping it cancels what runs.
pub trait Place {
    /// As [`Seat::describe`].
    fn describe(&self) -> Description;
    /// As [`Seat::input_schema`].
    fn input_schema(&self, tool: &str) -> Option<Bytes>;
    /// As [`Seat::set_level`].
    fn set_level(&self, level: Option<Level>);
    /// As [`Seat::watch`].
    ///
    /// # Errors
    /// As there.
    fn watch(&self, origin: &Origin, filter: &Bytes, tell: Rc<dyn Fn(&str)>) -> Result<Watched, Answer>;
    /// As [`Seat::ask`].
    fn ask(&self, ask: Ask, reply: Box<dyn Reply>) -> Box<dyn Running>;
}

/// A running exchange; dropping it does nothing.
pub trait Running {
    /// As [`Ticket::cancel`].
    fn cancel(&self);
}

impl Hub for AgentHandle {
    fn knows(&self, view: &View) -> bool {
        AgentHandle::knows(self, view)
    }
    fn join(&self, identity: Identity, view: View, notices: Rc<dyn Notices>) -> Result<Box<dyn Place>, UnknownView> {
        AgentHandle::join(self, identity, view, notices).map(|seat| Box::new(seat) as Box<dyn Place>)
    }
}

impl Place for Seat {
    fn describe(&self) -> Description {
        Seat::describe(self)
    }
    fn input_schema(&self, tool: &str) -> Option<Bytes> {
        Seat::input_schema(self, tool)
    }
    fn set_level(&self, level: Option<Level>) {
        Seat::set_level(self, level);
    }
    fn watch(&self, origin: &Origin, filter: &Bytes, tell: Rc<dyn Fn(&str)>) -> Result<Watched, Answer> {
        Seat::watch(self, origin, filter, tell)
    }
    fn ask(&self, ask: Ask, reply: Box<dyn Reply>) -> Box<dyn Running> {
        Box::new(Seat::ask(self, ask, reply))
    }
}

impl Running for Ticket {
    fn cancel(&self) {
        Ticket::cancel(self);
    }
}
