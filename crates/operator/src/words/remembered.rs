//! What people have allowed that holds for calls to come, and taking it back.

use super::{Effect, Scope};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Which of it; an absent field is no condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct RememberedFilter {
    /// That of one server only.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub server: Option<String>,
    /// That of one client only.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub client: Option<String>,
}

/// One approval that holds for calls to come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Remembered {
    /// The call that was approved with it, by which it is forgotten; None where an earlier build did not keep that.
    pub call: Option<String>,
    /// Whose calls.
    pub client: String,
    /// Whether the client's name is only its own word.
    pub unverified: bool,
    /// Key of the server, as the person named it.
    pub server: String,
    /// The server's own name of the tool.
    pub tool: String,
    /// Its name in the aggregate; the server's own one where it is not listed.
    pub name: String,
    /// What it could do when it was approved.
    #[ts(type = "\"read\" | \"write\" | \"destructive\"")]
    pub effect: Effect,
    /// What it covers; `once`: the approved call itself, which has not run yet.
    pub scope: Scope,
    /// When it was given.
    pub since_ms: u64,
    /// Who gave it; None where that is not known.
    pub by: Option<String>,
    /// Until when; None: until the tool or its launch changes, or it is forgotten.
    pub until_ms: Option<u64>,
    /// Why it lets nothing through any more, as things stand now.
    pub lapsed: Option<String>,
}

/// All of it, the latest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RememberedList {
    /// The approvals.
    pub remembered: Vec<Remembered>,
}

/// Takes approvals back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct Forget {
    /// Those that were given with these calls; none of them is taken back where there is nothing to forget of one.
    #[serde(default)]
    pub ids: Vec<String>,
    /// All there are, in place of naming them.
    #[serde(default)]
    pub all: bool,
}

/// What was taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Forgotten {
    /// What held until now. Of those for one call, that call waits for a person again.
    pub forgotten: Vec<Remembered>,
    /// Why it could not be written down: it holds no more, but a restart of the hub may forget that.
    #[serde(default)]
    pub unwritten: Option<String>,
}
