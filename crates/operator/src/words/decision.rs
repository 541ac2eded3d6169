//! What a person decides about a waiting call. Every decision names the digest that was shown: other arguments are
//! another decision.

use super::{PinCode, Scope};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Approves one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// Id of the approval.
    pub id: String,
    /// The digest that was shown.
    pub digest: String,
    /// Other arguments in place of those that were asked for, as JSON text; the hub checks them anew.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub args: Option<String>,
    /// For how long it holds; absent: what is usual for the tool, which is until it changes where it asks once.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub remember: Option<Scope>,
    /// The PIN, where one is set.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub pin: Option<PinCode>,
}

/// Denies one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct Deny {
    /// Id of the approval.
    pub id: String,
    /// The digest that was shown.
    pub digest: String,
    /// Why; the agent reads it.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub reason: Option<String>,
    /// The PIN, where one is set.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub pin: Option<PinCode>,
}

/// What became of a waiting call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// It may run.
    Approved,
    /// It may not.
    Denied,
    /// Nobody said anything in time, which denies it.
    Expired,
}

impl DecisionKind {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            DecisionKind::Approved => "approved",
            DecisionKind::Denied => "denied",
            DecisionKind::Expired => "expired",
        }
    }
}

/// A decision that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Decision {
    /// Id of the approval.
    pub id: String,
    /// Its call.
    pub call: String,
    /// What was decided.
    pub kind: DecisionKind,
    /// Who decided, and where: for people.
    pub by: String,
    /// When.
    pub at_ms: u64,
    /// For how long an approval holds.
    pub remember: Option<Scope>,
    /// The reason that was given.
    pub reason: Option<String>,
    /// Whether the arguments were changed.
    pub edited: bool,
}

/// Whose decision holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Winner {
    /// The one that was just sent.
    You,
    /// Another one that came before it.
    Another,
}

/// What happens to the call now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Follows {
    /// Its client waits: it runs at once.
    Runs,
    /// Its client does not wait any more: it runs when that calls again.
    NextCall,
    /// Nothing.
    Nothing,
}

/// The answer to a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Decided {
    /// Whose decision holds.
    pub winner: Winner,
    /// The decision that holds.
    pub decision: Decision,
    /// What happens now.
    pub follows: Follows,
    /// What keeps it from running now, and what ends that. An older hub does not say.
    #[serde(default)]
    pub keeps: Option<String>,
    /// Why a denial, which holds all the same, could not be written down yet.
    #[serde(default)]
    pub unwritten: Option<String>,
}

/// Sets, changes or removes the PIN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct PinChange {
    /// The PIN so far; absent where none is set.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub old: Option<PinCode>,
    /// The PIN from now on; absent: none.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub new: Option<PinCode>,
}

/// Whether a PIN is set now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PinStatus {
    /// Whether decisions need it.
    pub pin_set: bool,
}
