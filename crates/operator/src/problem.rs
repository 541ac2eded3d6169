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
