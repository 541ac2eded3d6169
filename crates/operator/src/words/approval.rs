//! Calls that wait for a person.

use super::{Decision, Effect, PinState, Remembered, Rest, Scope, Tier};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// How an approval stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// Nobody has decided.
    Waiting,
    /// Approved, and not run yet: its client has to call again.
    Approved,
    /// Approved and under way.
    Running,
    /// Approved and answered.
    Done,
    /// Refused by a person.
    Denied,
    /// Nobody decided in time, or nobody called again.
    Expired,
    /// It ran or not: nobody knows; a person settles it.
    Unknown,
}

impl ApprovalState {
    /// All of them.
    pub const ALL: [ApprovalState; 7] = [
        ApprovalState::Waiting,
        ApprovalState::Approved,
        ApprovalState::Running,
        ApprovalState::Done,
        ApprovalState::Denied,
        ApprovalState::Expired,
        ApprovalState::Unknown,
    ];
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            ApprovalState::Waiting => "waiting",
            ApprovalState::Approved => "approved",
            ApprovalState::Running => "running",
            ApprovalState::Done => "done",
            ApprovalState::Denied => "denied",
            ApprovalState::Expired => "expired",
            ApprovalState::Unknown => "unknown",
        }
    }
}

/// Those that wait, or those that do not any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalPart {
    /// Those that wait, then those that are approved and not called again yet.
    #[default]
    Queue,
    /// Those that were decided or expired, the latest first, as the log tells of them.
    Decided,
}

const fn fifty() -> u32 {
    50
}

/// Which approvals; an absent field is no condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct ApprovalFilter {
    /// Those of one server only.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub server: Option<String>,
    /// Those of one client only.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub client: Option<String>,
    /// Which part of them.
    #[serde(default)]
    pub part: ApprovalPart,
    /// Decided ones: only those before this row of the log.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub before: Option<u64>,
    /// Decided ones: how many at most; 200 is the most.
    #[serde(default = "fifty")]
    pub limit: u32,
}

impl Default for ApprovalFilter {
    fn default() -> ApprovalFilter {
        ApprovalFilter { server: None, client: None, part: ApprovalPart::Queue, before: None, limit: fifty() }
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalKind {
    /// A call of a tool.
    Tool,
    /// A prompt.
    Prompt,
    /// The content of a resource.
    Resource,
    /// A method that the hub does not know.
    Method,
}

impl ApprovalKind {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            ApprovalKind::Tool => "tool",
            ApprovalKind::Prompt => "prompt",
            ApprovalKind::Resource => "resource",
            ApprovalKind::Method => "method",
        }
    }
}

/// One request that waits, at a glance. Identical ones that wait are one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Approval {
    /// Its id, as the agent was told it.
    pub id: String,
    /// The call that began it.
    pub call: String,
    /// How it stands.
    pub state: ApprovalState,
    /// Who asks; names that are known in different ways are different clients: `h1`, `h1 (unverified)`, `h1 (token …)`.
    pub client: String,
    /// Whether the client's name is only its own word.
    pub unverified: bool,
    /// Key of the server, as the person named it.
    pub server: String,
    /// What is asked for.
    pub kind: ApprovalKind,
    /// The server's own name of it; of a resource as much as its server has listed.
    pub tool: String,
    /// Its name in the aggregate.
    pub name: String,
    /// Whether its client holds it as a task: it runs by itself as soon as it is approved.
    pub task: bool,
    /// What it may do to the world.
    #[ts(type = "\"read\" | \"write\" | \"destructive\"")]
    pub effect: Effect,
    /// How often this tool asks.
    pub tier: Tier,
    /// Name of the rule that asks; None: the tier does.
    pub rule: Option<String>,
    /// Why it asks, in a sentence.
    pub why: String,
    /// The most that an approval of it may be remembered for.
    pub most: Scope,
    /// When it was asked.
    pub asked_ms: u64,
    /// When it expires, undecided or not called again.
    pub expires_ms: u64,
    /// Identical calls that wait for the same decision, this one among them; 0 where nobody waits any more.
    pub waiters: u32,
    /// Beginning of the arguments as JSON text, at most 400 characters.
    pub preview: String,
    /// Bytes of the arguments.
    pub arguments_bytes: u64,
    /// `sha256:` and hex of the arguments that a decision is about, keyed: it names them, and tells nothing of them.
    pub digest: String,
    /// `sha256:` and hex over the tool's definition.
    pub definition_hash: Option<String>,
    /// How that definition stands against what was approved.
    pub definition: PinState,
    /// How often this client's calls of this tool were decided or expired before, as far as the log reaches.
    pub asked_before: u32,
    /// How often that was denied.
    pub denied_before: u32,
    /// Whether a person has changed the arguments.
    pub edited: bool,
    /// Why it waits once more although it was approved: today's rules are stricter, or a person took that back.
    pub again: Option<String>,
    /// What keeps it from running now, whoever approves it, and what ends that. An older hub does not say.
    #[serde(default)]
    pub keeps: Option<String>,
    /// Its arguments cannot be opened any more: it can only be denied. An older hub does not say.
    #[serde(default)]
    pub unreadable: bool,
}

/// The queue, longest waiting first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ApprovalList {
    /// Those that wait, then those that are approved and not called again yet.
    pub approvals: Vec<Approval>,
    /// Whether decisions need the PIN.
    pub pin_set: bool,
    /// Since when all risky calls are held; None: they are not.
    pub paused_since_ms: Option<u64>,
    /// The next page of decided ones begins before this row of the log; None: there is none.
    pub before: Option<u64>,
    /// Servers whose calls are refused where they would ask.
    #[serde(default)]
    pub resting: Vec<Rest>,
}

/// Names one approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct ApprovalId {
    /// Its id, or the id of its call.
    pub id: String,
}

/// One approval with everything that a decision is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ApprovalDetail {
    /// At a glance.
    pub approval: Approval,
    /// The arguments as JSON text: the very bytes that would be sent. Empty once it does not wait any more.
    pub arguments: String,
    /// Each argument by name, type, size and keyed hash, where its values are kept no longer.
    pub fields: Vec<String>,
    /// What the client asked for, as JSON text, where a person has changed it since.
    pub original: Option<String>,
    /// Description of the tool as the server sent it.
    pub description: Option<String>,
    /// Input schema of the tool as JSON text.
    pub schema: Option<String>,
    /// What changed in the definition since it was approved, in sentences.
    pub changes: Vec<String>,
    /// What is remembered already of this client and tool. An older hub does not say.
    #[serde(default)]
    pub remembered: Vec<Remembered>,
    /// The decision, once there is one.
    pub decision: Option<Decision>,
    /// How its call ended, in the log's word, once it has.
    pub outcome: Option<String>,
    /// When.
    pub ended_ms: Option<u64>,
}
