//! What a person's approval covers: one call, bound to everything that was shown, or a tool for a client while
//! nothing about it changes. Never more than was said, never another client's.

use crate::{Effect, Judgement, Request, Scope, Then, Tier};
use contract::{CallId, Hash};

/// An approval that is remembered: this tool of this server for this client, while its definition and its launch
/// command stay and its effect is not raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The client's identity.
    pub client: Box<str>,
    /// The server's key in the config.
    pub server: Box<str>,
    /// Hash of how the server is launched.
    pub launch: Box<str>,
    /// The server's own name of the tool.
    pub tool: Box<str>,
    /// Hash of the tool's definition.
    pub definition: Hash,
    /// Effect class that the tool had.
    pub effect: Effect,
    /// The only session that it is for.
    pub session: Option<Box<str>>,
    /// When it was given, in milliseconds since 1970.
    pub at_ms: u64,
    /// Who gave it; empty where that is not known.
    pub by: Box<str>,
    /// The call that was approved with it; None where that is not known.
    pub call: Option<CallId>,
}

/// What the approval of one call is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The client's identity.
    pub client: Box<str>,
    /// The server's key in the config.
    pub server: Box<str>,
    /// Hash of how the server is launched.
    pub launch: Box<str>,
    /// The server's own name of the tool or prompt; a resource's URI; else the method.
    pub tool: Box<str>,
    /// Hash of its definition, where it has one.
    pub definition: Option<Hash>,
    /// Digest of the arguments as the client asked: what a retry is recognised by.
    pub asked: Hash,
    /// Digest of the arguments as they are sent: the same, or as the person edited them.
    pub sent: Hash,
    /// Version of the rules that asked; recorded, compared with nothing.
    pub policy: Hash,
    /// Effect class that was shown.
    pub effect: Effect,
    /// Tier that was shown.
    pub tier: Tier,
    /// The rule that asked; empty where none did.
    pub rule: Box<str>,
    /// When it expires, in milliseconds since 1970.
    pub expires_ms: u64,
}

/// Why an approval does not permit a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    /// Today's rules deny it.
    #[error("the rules deny it now")]
    Denied,
    /// It was not used in time.
    #[error("the approval has expired")]
    Expired,
    /// Another client asks.
    #[error("the approval was given to another client")]
    Client,
    /// Another server, or one that is launched in another way.
    #[error("the server was replaced or is launched in another way")]
    Server,
    /// Another tool, or none.
    #[error("the approval was given for another tool")]
    Tool,
    /// The tool's definition is another one.
    #[error("the tool's definition has changed")]
    Definition,
    /// The arguments are others than the approved ones.
    #[error("the arguments are not the approved ones")]
    Arguments,
    /// Today's rules take it for more than what was shown.
    #[error("the rules are stricter now than when it was approved")]
    Stricter,
}

impl Stale {
    /// Whether nobody need be asked once more.
    pub fn is_final(self) -> bool {
        match self {
            Stale::Denied | Stale::Expired => true,
            Stale::Client | Stale::Server | Stale::Tool | Stale::Definition | Stale::Arguments | Stale::Stricter => {
                false
            }
        }
    }
}

impl Grant {
    /// How wide it is.
    pub fn scope(&self) -> Scope {
        if self.session.is_some() { Scope::Session } else { Scope::Tool }
    }
    /// Whether this request is for what was granted, as it was then.
    pub fn covers(&self, request: &Request) -> bool {
        *self.client == *request.client
            && *self.server == *request.server
            && *self.launch == *request.launch
            && *self.tool == *request.tool
            && request.definition == Some(self.definition)
            && request.effect <= self.effect
            && self.session.as_deref().is_none_or(|session| *session == *request.session)
    }
}

impl Binding {
    pub(crate) fn check(&self, request: &Request, judgement: &Judgement, now_ms: u64) -> Result<(), Stale> {
        let asks_anew = judgement.then() == Then::Ask && judgement.rule().is_some_and(|rule| **rule != *self.rule);
        let checks = [
            (judgement.then() != Then::Deny, Stale::Denied),
            (now_ms < self.expires_ms, Stale::Expired),
            (*self.client == *request.client, Stale::Client),
            (*self.server == *request.server && *self.launch == *request.launch, Stale::Server),
            (*self.tool == *request.tool, Stale::Tool),
            (request.definition == self.definition, Stale::Definition),
            (request.digest == Some(self.sent), Stale::Arguments),
            (request.effect <= self.effect && judgement.tier() <= self.tier && !asks_anew, Stale::Stricter),
        ];
        checks.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, stale)| Err(stale))
    }
}
