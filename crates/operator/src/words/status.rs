//! The hub at a glance.

use super::{Rest, Server};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// An input or output without content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// The hub at a glance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Status {
    /// Process id.
    pub pid: u32,
    /// Version of the binary.
    pub version: String,
    /// When it was started.
    pub started_ms: u64,
    /// Address for HTTP hosts; None when HTTP is off or refused.
    pub mcp_url: Option<String>,
    /// Why HTTP is refused, if so.
    pub http_problem: Option<String>,
    /// Problems of the config file that lies on disk but is not applied.
    pub config_problems: Vec<String>,
    /// All servers, by name.
    pub servers: Vec<Server>,
    /// All attached hosts, longest first.
    pub hosts: Vec<Attached>,
    /// State of the audit log: `ok` or what is wrong.
    pub audit: String,
    /// What the watchdog over the hub's main thread has seen. An older hub does not say.
    #[serde(default)]
    pub relay: Relay,
    /// Results of tools and resources that were not looked at for orders to the model since the hub began. An older hub does not say.
    #[serde(default)]
    pub unlooked: u64,
    /// What waits for a person. An older hub does not say.
    #[serde(default)]
    pub waiting: Waiting,
    /// Servers whose calls are refused where they would ask. An older hub does not say.
    #[serde(default)]
    pub resting: Vec<Rest>,
    /// What the config on disk would loosen. An older hub does not say.
    #[serde(default)]
    pub held: HeldConfig,
    /// For how many more minutes the PIN is locked after too many wrong tries. An older hub does not say.
    #[serde(default)]
    pub pin_locked_minutes: Option<u64>,
}

/// What the config on disk would let run without a person beyond what was accepted: until a person accepts it too, the
/// earlier rules hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HeldConfig {
    /// Each a sentence; empty: nothing is held.
    pub changes: Vec<String>,
    /// `sha256:` and hex: accepts exactly that, as the hash of the target `@policy`.
    pub hash: Option<String>,
}

/// What waits for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Waiting {
    /// Calls to be decided.
    pub approvals: u32,
    /// Calls that may have run or not, to be settled.
    pub unknown: u32,
    /// Definitions to be reviewed.
    pub definitions: u32,
    /// Since when all risky calls are held; None: they are not.
    pub paused_since_ms: Option<u64>,
}

/// Turns that kept the hub's main thread for too long, and so everybody who is attached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Relay {
    /// How many since the hub began.
    pub slow: u64,
    /// The longest of them in microseconds.
    pub longest_us: u64,
    /// What had it.
    pub longest: Option<String>,
}

/// An attached host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Attached {
    /// Its identity.
    pub name: String,
    /// Whether the name is only its own word.
    pub unverified: bool,
    /// `stdio`, `socket` or `http`.
    pub transport: String,
    /// Protocol revision that it speaks.
    pub version: Option<String>,
    /// Since when.
    pub since_ms: u64,
    /// Calls made.
    pub calls: u64,
}

/// The hub takes no more calls and is about to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Stopping {
    /// Process id of the hub that is ending.
    pub pid: u32,
}
