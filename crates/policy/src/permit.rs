//! The permit: a value without which nothing is sent to a server. It holds the very bytes that may be sent,
//! so that there is nothing to compare and nothing else that could go out.

use crate::grant::{Binding, Grant, Stale};
use crate::{Effect, Judgement, Then};
use bytes::Bytes;
use contract::Hash;
use std::rc::Rc;

/// What is asked for, as the server will get it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The client's identity.
    pub client: Rc<str>,
    /// The client's session.
    pub session: Rc<str>,
    /// The server's key in the config.
    pub server: Rc<str>,
    /// Hash of how the server is launched.
    pub launch: Rc<str>,
    /// The protocol method.
    pub method: Rc<str>,
    /// The server's own name of the tool or prompt; a resource's URI; else the method.
    pub tool: Rc<str>,
    /// Effect class of what is asked for.
    pub effect: Effect,
    /// Hash of its definition as of now, where it has one.
    pub definition: Option<Hash>,
    /// Digest of the arguments as they are sent, where one was computed.
    pub digest: Option<Hash>,
    /// Version of the rules that judged; recorded, compared with nothing.
    pub policy: Hash,
    /// The params object with the server's own names in it.
    pub params: Bytes,
}

/// Leave to send one request once. Made only by [`decide`], [`remembered`] and [`redeem`].
///
/// It can't be made by hand:
/// ```compile_fail
/// let forged = policy::Permit { request: todo!() };
/// ```
/// nor copied:
/// ```compile_fail
/// fn twice(permit: policy::Permit) -> [policy::Permit; 2] {
///     [permit.clone(), permit]
/// }
/// ```
/// nor pointed at something else:
/// ```compile_fail
/// fn redirect(permit: &mut policy::Permit, other: policy::Request) {
///     permit.request = other;
/// }
/// ```
/// and an approval alone is none, as today's rules are asked once more:
/// ```compile_fail
/// fn shortcut(request: policy::Request, binding: &policy::Binding) -> policy::Permit {
///     policy::redeem(request, binding, 0).unwrap()
/// }
/// ```
/// What the examples above must not do, this one may:
/// ```
/// fn spend(permit: policy::Permit) -> policy::Request {
///     permit.spend()
/// }
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
    /// A person must be asked, or must have been.
    Ask(Request),
    /// It is refused.
    Deny(Request),
}

/// Turns what the rules say into leave to send.
pub fn decide(request: Request, judgement: &Judgement) -> Verdict {
    match judgement.then() {
        Then::Allow => Verdict::Allow(Permit { request }),
        Then::Ask => Verdict::Ask(request),
        Then::Deny => Verdict::Deny(request),
    }
}

/// Leave by an approval that was to be remembered: for a call that is asked about, where the grant covers it and the
/// rules of today let an approval be remembered so far.
///
/// # Errors
/// The request, where the grant does not cover it.
pub fn remembered(request: Request, judgement: &Judgement, grant: &Grant) -> Result<Permit, Box<Request>> {
    let is_asked = judgement.then() == Then::Ask;
    if is_asked && grant.scope() <= judgement.most() && grant.covers(&request) {
        Ok(Permit { request })
    } else {
        Err(Box::new(request))
    }
}

/// Leave by an approval of this very call, judged once more by today's rules.
///
/// # Errors
/// The request, and why the approval is not enough.
pub fn redeem(
    request: Request,
    judgement: &Judgement,
    binding: &Binding,
    now_ms: u64,
) -> Result<Permit, (Box<Request>, Stale)> {
    match binding.check(&request, judgement, now_ms) {
        Ok(()) => Ok(Permit { request }),
        Err(stale) => Err((Box::new(request), stale)),
    }
}
