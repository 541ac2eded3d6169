//! How a command ends: the exit codes of the interface, and what is said on stderr when it was not done.

use super::out::Form;
use crate::show::json;
use hub::config::PlaceError;
use operator::visible::escape_lines;
use operator::{ClientError, Problem, code};
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

/// Exit codes (README.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// It failed.
    Failed = 1,
    /// Wrong usage or bad config.
    Usage = 2,
    /// No hub is running.
    NoHub = 3,
    /// Refused by policy or a person.
    Refused = 4,
    /// It waits for a person.
    Pending = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command was not done.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The hub did not do it, or there is none.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// It is not known where the hub would be.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// What was typed makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The person thought better of it.
    #[error("nothing was done")]
    Interrupted,
    /// Nobody reads any more: no fault of ours.
    #[error("stdout is closed")]
    Closed,
    /// The system failed.
    #[error("{what}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

impl Fault {
    /// The system failed while we did `what`.
    pub fn io(what: &'static str, source: io::Error) -> Fault {
        match source.kind() {
            io::ErrorKind::BrokenPipe => Fault::Closed,
            _ => Fault::Io { what, source },
        }
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        match self {
            Fault::Closed => Exit::Done,
            Fault::Usage(_) => Exit::Usage,
            Fault::Client(ClientError::NoHub { .. }) => Exit::NoHub,
            Fault::Client(ClientError::Refused(problem)) => match problem.code.as_str() {
                "bad_input" | "bad_config" | "bad_arguments" | code::INVALID_ARGUMENTS | code::SCOPE_TOO_WIDE => {
                    Exit::Usage
                }
                "denied" | "definition_changed" | "quarantined" => Exit::Refused,
                code::APPROVAL_EXPIRED | code::NOT_A_PERSON => Exit::Refused,
                code::PIN_REQUIRED | code::PIN_WRONG | code::PIN_LOCKED => Exit::Refused,
                _ => Exit::Failed,
            },
            Fault::Place(error) if error.is_wrong_setting() => Exit::Usage,
            Fault::Client(_) | Fault::Place(_) | Fault::Io { .. } | Fault::Interrupted => Exit::Failed,
        }
    }

    /// The same in the form that the hub uses for errors.
    pub fn problem(&self) -> Problem {
        let message = sentence(self);
        match self {
            Fault::Client(ClientError::Refused(problem)) => problem.clone(),
            Fault::Client(ClientError::NoHub { .. }) => Problem::new("no_hub", message).next("callgate serve"),
            Fault::Client(ClientError::Untrusted { .. }) => Problem::new("untrusted", message),
            Fault::Client(ClientError::Silent(_)) => Problem::new("silent", message).next("callgate logs"),
            Fault::Client(_) => Problem::new("broken", message),
            Fault::Usage(_) => Problem::new("usage", message).next("callgate --help"),
            Fault::Place(error) if error.is_wrong_setting() => Problem::new("usage", message),
            Fault::Interrupted => Problem::new("interrupted", message),
            Fault::Place(_) | Fault::Io { .. } | Fault::Closed => Problem::new("io", message),
        }
    }

    /// Says it on stderr and gives the exit code.
    pub fn report(&self, form: Form) -> ExitCode {
        if !matches!(self, Fault::Closed) {
            say(&self.problem(), form);
        }
        self.exit().into()
    }
}

/// An error and what it comes from, in one line.
pub fn sentence(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}

/// Says on stderr why something was not done.
pub fn say(problem: &Problem, form: Form) {
    let text = match form {
        Form::Json => json::visible(&serde_json::to_string(problem).unwrap_or_default()) + "\n",
        Form::Text => {
            let next = problem.next.as_ref().map(|next| format!("; next:  {next}")).unwrap_or_default();
            format!("callgate: {}{}\n", escape_lines(&problem.message), escape_lines(&next))
        }
    };
    // Where stderr is closed too there is nobody to tell.
    let _ = io::stderr().write_all(text.as_bytes());
}
