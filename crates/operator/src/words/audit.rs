//! The log of everything that was asked and done.

use super::{PinCode, Tail};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Which rows; an absent or empty field is no condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields, default)]
pub struct AuditFilter {
    /// Exact name of the client.
    #[ts(optional = nullable)]
    pub client: Option<String>,
    /// Key of the server.
    #[ts(optional = nullable)]
    pub server: Option<String>,
    /// Tool, prompt or resource: the server's own name, or the name in the aggregate.
    #[ts(optional = nullable)]
    pub tool: Option<String>,
    /// Any of these outcomes.
    pub outcomes: Vec<String>,
    /// Any of these kinds of rows.
    pub kinds: Vec<String>,
    /// From this time on, in milliseconds since 1970.
    #[ts(optional = nullable)]
    pub since_ms: Option<u64>,
    /// Before this time.
    #[ts(optional = nullable)]
    pub until_ms: Option<u64>,
    /// Words that must all be in the row.
    #[ts(optional = nullable)]
    pub text: Option<String>,
}

const fn hundred() -> u32 {
    100
}

/// One page of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct AuditQuery {
    /// Which rows.
    #[serde(default)]
    pub filter: AuditFilter,
    /// Only rows before this one.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub before: Option<u64>,
    /// How many at most; 1,000 is the most.
    #[serde(default = "hundred")]
    pub limit: u32,
}

/// One row. Arguments are names, types, sizes and keyed hashes; values never.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AuditRow {
    /// Its place in the log.
    pub seq: u64,
    /// The call it belongs to, or empty.
    pub call: String,
    /// What it tells.
    pub kind: String,
    /// When it was written.
    pub at_ms: u64,
    /// Who asked.
    pub client: String,
    /// Key of the server.
    pub server: String,
    /// Tool, prompt or resource, by the server's own name; size and keyed hash of a name that matched nothing.
    pub tool: String,
    /// Hash of the definition, or empty.
    pub definition: String,
    /// The protocol method, or empty.
    pub method: String,
    /// `read`, `write`, `destructive`, or empty.
    pub effect: String,
    /// How it ended, or empty.
    pub outcome: String,
    /// Name of the rule that decided.
    pub rule: Option<String>,
    /// Why it was decided so.
    pub why: Option<String>,
    /// Who decided, where a person did.
    pub by: Option<String>,
    /// The reason that was given.
    pub reason: Option<String>,
    /// Bytes of the arguments.
    pub arguments_bytes: u64,
    /// Bytes of the result.
    pub result_bytes: u64,
    /// Microseconds of checks and rules, without waiting for a person.
    pub checked_us: u64,
    /// Microseconds of waiting for a person.
    pub held_us: u64,
    /// Microseconds of waiting for the server, its lane, the disk.
    pub queued_us: u64,
    /// Microseconds at the server.
    pub ran_us: u64,
    /// Microseconds from its answer to the client's having it.
    pub answered_us: u64,
    /// Each argument: name, type, size, keyed hash.
    pub arguments: Vec<String>,
    /// More, as JSON text, or empty.
    pub detail: String,
    /// Values that were kept with it, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional = nullable)]
    pub values: Option<AuditValue>,
}

/// Rows, the latest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AuditPage {
    /// The rows.
    pub rows: Vec<AuditRow>,
    /// The next page begins before this row; None: there is none.
    pub before: Option<u64>,
    /// What this answer cannot show, each a sentence: a part that cannot be read is never an empty page.
    pub blind: Vec<String>,
}

/// Names one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct AuditCall {
    /// Its id.
    pub call: String,
}

/// Everything that the log has of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AuditTrail {
    /// The call.
    pub call: String,
    /// Its rows, oldest first.
    pub rows: Vec<AuditRow>,
}

/// Opens the values that are kept of one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct AuditOpen {
    /// Its id.
    pub call: String,
    /// The PIN, where one is set.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub pin: Option<PinCode>,
}

/// Values that were kept with one row of a call.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AuditValue {
    /// The row.
    pub seq: u64,
    /// The arguments as they were sent, as JSON text, known secrets masked.
    pub arguments: Option<String>,
    /// The result as it was passed on, as JSON text.
    pub result: Option<String>,
}

impl std::fmt::Debug for AuditValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuditValue").field("seq", &self.seq).finish_non_exhaustive()
    }
}

/// All that is kept of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AuditValues {
    /// The call.
    pub call: String,
    /// Oldest first; empty where nothing was kept.
    pub values: Vec<AuditValue>,
}

/// The end of the log as it grows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct AuditTail {
    /// Which rows.
    #[serde(default)]
    pub filter: AuditFilter,
    /// How many of the last rows; at most 1,000.
    #[serde(default)]
    pub lines: u32,
    /// What comes after them.
    #[serde(default)]
    pub tail: Tail,
}

/// What a check of the whole log has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AuditReport {
    /// Whether the log is whole.
    pub whole: bool,
    /// What is wrong, in a sentence; None: nothing.
    pub broken: Option<String>,
    /// The row at which it is wrong.
    pub broken_row: Option<u64>,
    /// First row.
    pub first: u64,
    /// Last row.
    pub last: u64,
    /// Rows that were checked.
    pub rows: u64,
    /// Row of the anchor outside the log.
    pub anchored: Option<u64>,
    /// Rows that say that rows before them may be missing.
    pub gaps: Vec<u64>,
    /// Rows in which a person accepted that an older anchor was lost.
    pub epochs: Vec<u64>,
    /// What this check cannot see, each a sentence.
    pub blind: Vec<String>,
    /// Where a person can accept the log as it is (a restored backup): what to accept.
    pub accept: Option<String>,
}

/// Accepts a log that no longer reaches its anchor, exactly as it was reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct AuditAccept {
    /// What the report gave to accept.
    pub accept: String,
    /// The PIN, where one is set.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub pin: Option<PinCode>,
}

/// The log goes on from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AuditAccepted {
    /// The row that says so.
    pub epoch: u64,
}

/// Rows to take away with the values that are kept, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct AuditTake {
    /// Which rows.
    #[serde(default)]
    pub filter: AuditFilter,
    /// The PIN, where one is set.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub pin: Option<PinCode>,
}

/// Rows to take away, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct AuditExport {
    /// Which rows.
    #[serde(default)]
    pub filter: AuditFilter,
}
