//! How every operation says that it was not done.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Why an operation was not done: a code for programs, a message and a next step for people. Never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// Stable word, e.g. `unknown_server`.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do next, where there is something.
    pub next: Option<String>,
}

/// Codes that front ends act on. Every other code is only shown.
pub mod code {
    /// The PIN is set and was not given.
    pub const PIN_REQUIRED: &str = "pin_required";
    /// Another PIN is set; the message says how many tries are left.
    pub const PIN_WRONG: &str = "pin_wrong";
    /// Too many wrong PINs; the message says until when.
    pub const PIN_LOCKED: &str = "pin_locked";
    /// Asked from the process tree of a host or a server, where only the PIN can show that it is a person.
    pub const NOT_A_PERSON: &str = "not_a_person";
    /// There is no such approval.
    pub const UNKNOWN_APPROVAL: &str = "unknown_approval";
    /// There is no record of such a call.
    pub const UNKNOWN_CALL: &str = "unknown_call";
    /// The call is not one that nobody knows the end of: there is nothing to settle.
    pub const NOT_UNKNOWN: &str = "not_unknown";
    /// The arguments of the approval are others than were shown.
    pub const DIGEST_CHANGED: &str = "digest_changed";
    /// The definitions are others than were shown.
    pub const HASH_CHANGED: &str = "hash_changed";
    /// The approval has expired.
    pub const APPROVAL_EXPIRED: &str = "approval_expired";
    /// Edited arguments do not match the tool's schema: one line of the message per problem.
    pub const INVALID_ARGUMENTS: &str = "invalid_arguments";
    /// It cannot be remembered for so long; the message says what can be.
    pub const SCOPE_TOO_WIDE: &str = "scope_too_wide";
    /// The audit cannot be read or written.
    pub const AUDIT_UNAVAILABLE: &str = "audit_unavailable";
    /// The hub has a name for the operation and no answer yet.
    pub const NOT_OFFERED: &str = "not_offered";
}

impl Problem {
    /// A problem without a next step.
    pub fn new(code: &str, message: impl Into<String>) -> Problem {
        Problem { code: code.into(), message: message.into(), next: None }
    }
    /// The same with a next step.
    pub fn next(self, next: impl Into<String>) -> Problem {
        Problem { next: Some(next.into()), ..self }
    }
}
