//! Words that decisions, the store and people share: how often a tool asks, how long an approval is remembered,
//! and where a call's record stands. Words only: what follows from them is decided elsewhere in this crate.

use crate::Effect;
use contract::Hash;
use serde::{Deserialize, Serialize};

/// How often a tool asks a person where no rule names it (rules.md 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Never.
    Quiet,
    /// Once per client and tool, until the definition or the launch command changes.
    Once,
    /// At every call; at most remembered for the session.
    Each,
}

impl Tier {
    /// The word in commands, files and the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Tier::Quiet => "quiet",
            Tier::Once => "once",
            Tier::Each => "each",
        }
    }
}

/// How long an approval is remembered; a later one covers those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// For this call only.
    Once,
    /// For calls of the same tool in the same session.
    Session,
    /// For calls of the same tool while its definition and launch command stay.
    Tool,
}

impl Scope {
    /// The word in commands, files and the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Once => "once",
            Scope::Session => "session",
            Scope::Tool => "tool",
        }
    }
}

/// Where the record of a call stands (rules.md 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallState {
    /// Its key is taken, nothing is decided yet.
    Reserved,
    /// A person is asked.
    Waiting,
    /// A person said yes; the next identical call claims it.
    Approved,
    /// Announced: it may have been sent.
    Intent,
    /// It ran to its end.
    Settled,
    /// A rule or a person said no.
    Denied,
    /// Nobody decided, or nobody came back, in time.
    Expired,
    /// It may have run, and nobody knows; a person settles it.
    Unknown,
    /// Nothing is left to remember: its key can be used again.
    Freed,
}

impl CallState {
    /// The word in commands and the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            CallState::Reserved => "reserved",
            CallState::Waiting => "waiting",
            CallState::Approved => "approved",
            CallState::Intent => "intent",
            CallState::Settled => "settled",
            CallState::Denied => "denied",
            CallState::Expired => "expired",
            CallState::Unknown => "unknown",
            CallState::Freed => "freed",
        }
    }
}

/// A remembered approval: what it covers, and nothing else (threat T58).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The client's identity.
    pub client: Box<str>,
    /// The server's key in the config.
    pub server: Box<str>,
    /// Hash of how it is launched.
    pub launch: Box<str>,
    /// The tool's own name.
    pub tool: Box<str>,
    /// Hash of the definition that was shown.
    pub definition: Hash,
    /// Effect class that was shown: a raised one is not covered.
    pub effect: Effect,
    /// Only in this session; None: in all.
    pub session: Option<Box<str>>,
    /// Milliseconds since 1970.
    pub at_ms: u64,
}
