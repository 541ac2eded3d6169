//! The record of one call that outlives the call: a taken key, a waiting question, a decision, a result to replay.
//! Its argument values are plain here only; on disk they are sealed.

use crate::{CallNumber, Method, Outcome};
use bytes::Bytes;
use contract::Hash;
use policy::{CallState, Effect, Scope, Tier};
use std::fmt;

/// How long the record of a call that has a key or is a task is kept after its end, in ms: 24 h, the least that a key
/// lives.
pub const KEYS_KEPT_MS: u64 = 24 * 60 * 60 * 1000;
/// How long the record of a call that was denied or expired is kept after that, in ms. Its key is free at once.
pub const REFUSALS_KEPT_MS: u64 = 24 * 60 * 60 * 1000;
/// Most bytes of sealed results in all; the oldest go first, their records stay.
pub const MOST_RESULT_BYTES: u64 = 256 * 1024 * 1024;

/// One call, as it stands.
#[derive(Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// Its number.
    pub call: CallNumber,
    /// Where it stands.
    pub state: CallState,
    /// The client's identity.
    pub client: String,
    /// The session in which it was asked.
    pub session: String,
    /// The server's key in the config.
    pub server: String,
    /// Hash of how the server is launched.
    pub launch: String,
    /// What is asked for: a call of a tool, a prompt, a resource, or another method.
    pub method: Method,
    /// The server's own name of it; a resource's URI or template; else the method.
    pub tool: String,
    /// Its name in the aggregate.
    pub name: String,
    /// Hash of the definition by which it was judged.
    pub definition: Option<Hash>,
    /// Digest of the arguments as asked: what attaching compares.
    pub asked: Option<Hash>,
    /// Digest of the arguments as they are sent: what the permit binds.
    pub sent: Option<Hash>,
    /// Hash of the idempotency key.
    pub key: Option<Hash>,
    /// The id of the task that its client was told; it runs by itself once it is approved, and its end is kept.
    pub task: Option<String>,
    /// Version of the policy.
    pub policy: Option<Hash>,
    /// Effect class.
    pub effect: Effect,
    /// How often such a tool asks.
    pub tier: Tier,
    /// Name of the rule that decided, or empty.
    pub rule: String,
    /// Why it was decided so.
    pub why: String,
    /// When it was asked, in milliseconds since 1970. So all times here; 0 is never.
    pub asked_ms: u64,
    /// When it can no longer be decided or redeemed.
    pub expires_ms: u64,
    /// When it was decided or, if nobody knew what became of it, settled by a person.
    pub decided_ms: u64,
    /// Who decided, or empty.
    pub decided_by: String,
    /// The reason given, or empty.
    pub reason: String,
    /// What the approval was remembered for; None: not approved.
    pub scope: Option<Scope>,
    /// How it ended.
    pub outcome: Outcome,
    /// When it ended: ran, was denied, expired.
    pub ended_ms: u64,
    /// The arguments as asked, JSON text. Erased when it is settled, denied or expired.
    pub arguments: Option<Bytes>,
    /// The arguments as a person changed them. Erased alike.
    pub edited: Option<Bytes>,
    /// Whether its result can be had from the [`Vault`](crate::Vault). Found by the store, not given to it.
    pub has_result: bool,
    /// Its arguments are there but can't be unsealed: it can be shown and denied, never run. Found by the store.
    pub is_unreadable: bool,
}

impl CallRecord {
    /// Nobody has decided about it any more.
    pub fn undecided(&mut self) {
        self.decided_ms = 0;
        self.decided_by.clear();
        self.scope = None;
    }
    /// A record of a call that was just asked: reserved, nothing known of it but who asks for what.
    pub fn new(call: CallNumber, client: &str, server: &str, tool: &str, asked_ms: u64) -> CallRecord {
        CallRecord {
            call,
            state: CallState::Reserved,
            client: client.to_owned(),
            session: String::new(),
            server: server.to_owned(),
            launch: String::new(),
            method: Method::ToolCall,
            tool: tool.to_owned(),
            name: String::new(),
            definition: None,
            asked: None,
            sent: None,
            key: None,
            task: None,
            policy: None,
            effect: Effect::Write,
            tier: Tier::Once,
            rule: String::new(),
            why: String::new(),
            asked_ms,
            expires_ms: 0,
            decided_ms: 0,
            decided_by: String::new(),
            reason: String::new(),
            scope: None,
            outcome: Outcome::None,
            ended_ms: 0,
            arguments: None,
            edited: None,
            has_result: false,
            is_unreadable: false,
        }
    }

    /// Whether its change must survive a power loss before anybody is told of it (docs/audit-format.md).
    pub(crate) fn must_be_durable(&self) -> bool {
        match self.state {
            CallState::Reserved | CallState::Intent | CallState::Freed => false,
            CallState::Settled => !self.decided_by.is_empty(),
            CallState::Waiting | CallState::Approved | CallState::Denied | CallState::Expired | CallState::Unknown => {
                true
            }
        }
    }
}

/// Without argument values, names of people or reasons: it may end up in a log.
impl fmt::Debug for CallRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallRecord")
            .field("call", &self.call)
            .field("state", &self.state)
            .field("client", &self.client)
            .field("server", &self.server)
            .field("tool", &self.tool)
            .field("outcome", &self.outcome)
            .field("has_result", &self.has_result)
            .field("is_unreadable", &self.is_unreadable)
            .finish_non_exhaustive()
    }
}
