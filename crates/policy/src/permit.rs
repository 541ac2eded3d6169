//! The permit: a value without which nothing is sent to a server. It holds the very bytes that may be sent,
//! so that there is nothing to compare and nothing else that could go out.

use crate::Effect;
use bytes::Bytes;

/// What is asked for, as the server will get it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The client's identity.
    pub client: std::rc::Rc<str>,
    /// The server's key in the config.
    pub server: std::rc::Rc<str>,
    /// The protocol method.
    pub method: std::rc::Rc<str>,
    /// Effect class of what is asked for.
    pub effect: Effect,
    /// The params object with the server's own names in it.
    pub params: Bytes,
}

/// Leave to send one request once. Not `Clone`, made only by [`decide`].
///
/// ```compile_fail
/// let forged = policy::Permit { request: todo!() };
/// ```
#[derive(Debug)]
pub struct Permit {
    request: Request,
}

impl Permit {
    /// What it allows.
    pub fn request(&self) -> &Request {
        &self.request
    }
    /// Uses it up for the request that it allows.
    pub fn spend(self) -> Request {
        self.request
    }
}

/// The answer to one request.
#[derive(Debug)]
pub enum Verdict {
    /// It may be sent.
    Allow(Permit),
}

/// Judges one request. The only policy so far is `{"default": "allow"}`: the config refuses every other one.
pub fn decide(request: Request) -> Verdict {
    Verdict::Allow(Permit { request })
}
