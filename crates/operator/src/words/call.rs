//! Calls that the hub keeps a record of, and the hold of all risky ones.

use super::{Effect, PinCode};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// How a call stands (docs/approvals.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum CallStanding {
    /// It may have run or not; a person has to settle it.
    Unknown,
    /// Its key is taken, nothing else has happened.
    Reserved,
    /// It waits for a person.
    Waiting,
    /// Approved, and not run yet.
    Approved,
    /// Under way.
    Running,
    /// It has ended.
    Settled,
    /// Refused by a person.
    Denied,
    /// Nobody decided in time.
    Expired,
    /// It did not run; nothing is kept of it, and its key is free.
    Freed,
}

impl CallStanding {
    /// All of them, unknown ones first.
    pub const ALL: [CallStanding; 9] = [
        CallStanding::Unknown,
        CallStanding::Reserved,
        CallStanding::Waiting,
        CallStanding::Approved,
        CallStanding::Running,
        CallStanding::Settled,
        CallStanding::Denied,
        CallStanding::Expired,
        CallStanding::Freed,
    ];
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            CallStanding::Unknown => "unknown",
            CallStanding::Reserved => "reserved",
            CallStanding::Waiting => "waiting",
            CallStanding::Approved => "approved",
            CallStanding::Running => "running",
            CallStanding::Settled => "settled",
            CallStanding::Denied => "denied",
            CallStanding::Expired => "expired",
            CallStanding::Freed => "freed",
        }
    }
}

const fn hundred() -> u32 {
    100
}

/// Which calls; an absent field is no condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct CallFilter {
    /// Those of one server only.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub server: Option<String>,
    /// Only calls that stand so; empty: any.
    #[serde(default)]
    pub standing: Vec<CallStanding>,
    /// How many at most; 1,000 is the most.
    #[serde(default = "hundred")]
    pub limit: u32,
}

/// One call of which a record is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Call {
    /// Its id.
    pub call: String,
    /// How it stands.
    pub standing: CallStanding,
    /// Who asked.
    pub client: String,
    /// Key of the server.
    pub server: String,
    /// The server's own name of the tool.
    pub tool: String,
    /// Name of the tool in the aggregate.
    pub name: String,
    /// What it may do to the world.
    #[ts(type = "\"read\" | \"write\" | \"destructive\"")]
    pub effect: Effect,
    /// When it was asked.
    pub asked_ms: u64,
    /// When it ended, or was found to be unknown; 0 where neither.
    pub ended_ms: u64,
    /// How it ended, as the audit says it; empty where it did not.
    pub outcome: String,
    /// Whether it has an idempotency key.
    pub keyed: bool,
    /// Whether its result is still there to be replayed.
    pub has_result: bool,
    /// Why nobody knows, or who settled it: a sentence.
    pub note: Option<String>,
}

/// Calls, unknown ones first, then the latest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CallList {
    /// The calls.
    pub calls: Vec<Call>,
    /// How many there are in all under this filter.
    pub total: u64,
    /// How many of all calls are unknown, whatever the filter.
    pub unknown: u64,
}

/// What a person has found out about an unknown call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// It ran: it will not run again under its key.
    Ran,
    /// It did not run: its key is free.
    NotRan,
}

impl Finding {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Finding::Ran => "ran",
            Finding::NotRan => "not_ran",
        }
    }
}

/// Settles an unknown call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct CallSettle {
    /// The call.
    pub call: String,
    /// What was found out.
    pub finding: Finding,
    /// The PIN, where one is set.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub pin: Option<PinCode>,
}

/// A call that is settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CallSettled {
    /// The call as it stands now.
    pub call: Call,
    /// What was found out.
    pub finding: Finding,
}

/// Ends the hold of all risky calls, or the rest of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// The PIN, where one is set.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub pin: Option<PinCode>,
    /// Key of a server whose calls are refused where they would ask: ends only that.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub server: Option<String>,
}

/// A server of which a person denied so many calls of a client that further ones that would ask are refused for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Rest {
    /// Its key.
    pub server: String,
    /// Whose calls.
    pub client: String,
    /// Since when.
    pub since_ms: u64,
    /// Until when.
    pub until_ms: u64,
    /// How many were denied within a minute.
    pub denials: u32,
}

/// Whether all risky calls are held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PauseState {
    /// Since when; None: they are not.
    pub paused_since_ms: Option<u64>,
    /// Who said so.
    pub by: Option<String>,
    /// Calls that wait for a person now.
    pub waiting: u32,
    /// Servers whose calls are refused where they would ask.
    #[serde(default)]
    pub resting: Vec<Rest>,
    /// Why the pause, which holds all the same, could not be written down yet.
    #[serde(default)]
    pub unwritten: Option<String>,
}
