//! What a person asks and says about calls: words between the person's door and the gate. `Send`, plain values.

use crate::operate::Checked;
pub use contract::change::{DiffLine, Side};
pub use contract::{CallId, Hash};
pub use policy::{CallState, RuleFinding, RuleSource, Scope, Then, Tier};
pub use store::{CallRecord, Method};

use serde::{Deserialize, Serialize};

/// A decision about a waiting call.
#[derive(Clone, Debug)]
pub struct Said {
    /// Which: the id of its call.
    pub id: String,
    /// Digest of the arguments that were shown; another one is another call.
    pub digest: Option<Hash>,
    /// What is to be done.
    pub decision: Decision,
    /// Who says so, and where, for people.
    pub by: String,
}

/// What is to be done with a waiting call.
#[derive(Clone, Debug)]
pub enum Decision {
    /// It may run.
    Approve {
        /// Other arguments in place of those that were asked for, a JSON object.
        arguments: Option<String>,
        /// What it is remembered for; None: what is usual for its tool.
        scope: Option<Scope>,
    },
    /// It may not.
    Deny {
        /// Why; the agent reads it.
        reason: Option<String>,
    },
}

/// A decision that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// Id of the call.
    pub id: String,
    /// `approved`, `denied` or `expired`.
    pub state: CallState,
    /// Who decided, and where.
    pub by: String,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// What an approval is remembered for.
    pub scope: Option<Scope>,
    /// The reason that was given.
    pub reason: String,
    /// Whether the arguments were changed.
    pub edited: bool,
    /// Whether somebody waits for it, so that it runs at once.
    pub runs: bool,
    /// What keeps it from running now, whoever approves it.
    #[serde(default)]
    pub keeps: Option<String>,
    /// Why a denial, which holds all the same, could not be written down.
    #[serde(default)]
    pub unwritten: Option<String>,
}

/// The answer to a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Yours(Decided),
    /// Another one came before it and holds.
    Anothers(Decided),
    /// The same of a call that waits for nothing any more.
    Past(Decided),
}

/// A call that waits, or is approved and waits for its client.
#[derive(Clone)]
pub struct WaitingCall {
    /// Its record, arguments included.
    pub record: CallRecord,
    /// Identical requests that wait now.
    pub waiters: u32,
    /// Whether the client's name is only its own word.
    pub unverified: bool,
    /// The most that an approval may be remembered for.
    pub most: Scope,
    /// Why it waits once more although it was approved.
    pub again: Option<String>,
    /// What keeps it from running now, whoever approves it.
    pub keeps: Option<String>,
    /// How the tool's definition stands against what was approved.
    pub definition: EntryState,
    /// Description of the tool.
    pub description: Option<String>,
    /// Its input schema.
    pub schema: Option<String>,
}

impl std::fmt::Debug for WaitingCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WaitingCall").field("record", &self.record).finish_non_exhaustive()
    }
}

/// Something that a person has allowed once and that holds for calls to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// The call that was approved with it; None where that is not known any more.
    pub call: Option<CallId>,
    /// The client's identity.
    pub client: String,
    /// Key of the server.
    pub server: String,
    /// The server's own name of the tool.
    pub tool: String,
    /// Its name in the aggregate; None where its server does not list it.
    pub name: Option<String>,
    /// What it could do when it was approved.
    pub effect: policy::Effect,
    /// What it covers; `once`: the approved call itself, which has not run.
    pub scope: Scope,
    /// When it was given, in milliseconds since 1970.
    pub at_ms: u64,
    /// Who gave it; empty where that is not known.
    pub by: String,
    /// Until when; None: until something changes.
    pub until_ms: Option<u64>,
    /// Why it does not let anything through any more.
    pub lapsed: Option<String>,
}

/// What was taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// What held until now.
    pub forgotten: Vec<Remembered>,
    /// Why it could not be written down, so that a restart may forget it.
    pub unwritten: Option<String>,
}

/// What a person takes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forget {
    /// What was approved with these calls.
    With(Vec<String>),
    /// All of it.
    All,
}

/// Whether all calls that may change something are held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Since when, in milliseconds since 1970; None: they are not.
    pub since_ms: Option<u64>,
    /// Who said so.
    pub by: String,
}

/// The answer to a pause and to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paused {
    /// How it is now.
    pub pause: Pause,
    /// Why the pause, which holds all the same, could not be written down.
    pub unwritten: Option<String>,
}

/// A server of which so many calls were denied that further ones that would ask are refused for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rest {
    /// Whose calls.
    pub client: String,
    /// The server's key.
    pub server: String,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    /// Until when.
    pub until_ms: u64,
    /// How many were denied within a minute.
    pub denials: u32,
}

/// What a person found out about a call with an unknown outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It ran.
    Ran,
    /// It did not.
    NotRan,
}

/// What to explain.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Name of a tool; None: all of them, each without arguments.
    pub tool: Option<String>,
    /// The arguments as JSON text.
    pub arguments: Option<String>,
    /// The client that would ask.
    pub client: Option<String>,
}

/// How the rules see one call of one tool.
#[derive(Clone, Debug)]
pub struct Explained {
    /// Name in the aggregate.
    pub name: String,
    /// Key of its server.
    pub server: String,
    /// The server's own name of it.
    pub tool: String,
    /// What it may do.
    pub effect: policy::Effect,
    /// How often it asks.
    pub tier: Tier,
    /// What made it so.
    pub tier_why: String,
    /// What is done.
    pub then: Then,
    /// The deciding rule.
    pub rule: Option<String>,
    /// Why, in a sentence.
    pub why: String,
    /// The rule's own words.
    pub reason: Option<String>,
    /// The most that an approval may be remembered for.
    pub most: Scope,
    /// Whether it depends on the arguments or on who asks.
    pub depends: bool,
    /// Whether hosts do not see it at all.
    pub unlisted: bool,
    /// How far its calls can be checked.
    pub checked: Checked,
    /// What is remembered for this client.
    pub remembered: Option<Scope>,
}

/// How an entry stands against what was approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryState {
    /// What was approved.
    Approved,
    /// Never seen before.
    New,
    /// Another text, without a raised risk.
    Changed,
    /// Withheld until a person has looked at it.
    Blocked,
}

/// One definition that waits for a review.
#[derive(Clone, Debug)]
pub struct EntryReview {
    /// `launch`, `instructions`, `tool`, `prompt`, `resource`, `template`.
    pub kind: String,
    /// The server's own name of it.
    pub name: String,
    /// Name in the aggregate.
    pub exposed: Option<String>,
    /// How it stands.
    pub state: EntryState,
    /// What a tool may do now.
    pub effect: Option<policy::Effect>,
    /// What it could do when it was approved.
    pub effect_before: Option<policy::Effect>,
    /// How often a tool asks.
    pub tier: Option<Tier>,
    /// What the scan found.
    pub flags: Vec<String>,
    /// How the change raises the risk.
    pub raised: Vec<String>,
    /// What changed.
    pub lines: Vec<DiffLine>,
    /// The whole text, where there is nothing to compare it with.
    pub whole: Option<String>,
    /// Hash that approves it alone.
    pub hash: String,
}

/// All that waits of one server.
#[derive(Clone, Debug)]
pub struct ServerReview {
    /// Its key.
    pub server: String,
    /// Hash that approves exactly what is listed here.
    pub hash: String,
    /// Milliseconds since 1970.
    pub seen_ms: u64,
    /// The definitions, those that are withheld first.
    pub entries: Vec<EntryReview>,
    /// Definitions that are as approved.
    pub unchanged: u32,
    /// Whether nothing of the server reaches a host before the review.
    pub blocked: bool,
}

/// What was approved.
#[derive(Clone, Debug)]
pub struct Approved {
    /// Key of the server.
    pub server: String,
    /// The server's own names.
    pub entries: Vec<String>,
    /// What of it still waits.
    pub left: u32,
}

/// The policy as it is, and what is odd about it.
#[derive(Clone, Debug)]
pub struct Policy {
    /// `auto`, `allow`, `ask` or `deny`.
    pub default: String,
    /// Hash of default and rules.
    pub version: Hash,
    /// The rules, each with how much of today's catalog its patterns name.
    pub rules: Vec<(RuleSource, u32)>,
    /// What never counts, or counts by accident.
    pub findings: Vec<RuleFinding>,
    /// How the config would loosen what was accepted; it waits for a person.
    pub held: Vec<String>,
    /// Hash that lets it.
    pub held_hash: Option<Hash>,
}
