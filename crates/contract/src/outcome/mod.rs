//! Refusals in the one shape that models and programs can read (docs/servers-words.md): as a tool's result, and as the
//! `data` of a JSON-RPC error where no tool was called. Messages never quote a value or a secret.

mod pending;
mod tell;

pub use pending::Pending;
pub use tell::{Told, tell, tell_error};

use crate::ids::CallId;
use crate::problem::Problem;
use serde::{Serialize, Serializer};

/// The `_meta` key under which every refusal and wait stands.
pub const META_KEY: &str = "dev.callgate/outcome";

/// Why a call was refused, or what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The arguments break the tool's schema.
    InvalidArguments,
    /// No such tool, or none that this client may see.
    UnknownTool,
    /// A rule or a person said no.
    Denied,
    /// Nobody decided in time.
    ApprovalExpired,
    /// The tool's definition is not the one that was approved.
    DefinitionChanged,
    /// The tool is held back until a person has looked at it.
    Quarantined,
    /// The same idempotency key with other arguments.
    IdempotencyConflict,
    /// It may have run or not; nobody can tell.
    OutcomeUnknown,
    /// It has run already and its result is no longer kept.
    AlreadyRan,
    /// The server did not answer in time.
    Timeout,
    /// The server is not running or can't be reached.
    ServerUnavailable,
    /// The server ended while it ran the call.
    ServerCrashed,
    /// The server's result breaks its own output schema.
    InvalidResult,
    /// The server's result is over the bound.
    ResultTooLarge,
    /// Too many calls wait.
    QueueFull,
    /// A secret that the server needs can't be read now.
    SecretUnavailable,
    /// The audit can't be written, and it must be for this call.
    AuditUnavailable,
    /// The client took the call back.
    Cancelled,
}

impl Code {
    /// All of them.
    pub const ALL: [Code; 18] = [
        Code::InvalidArguments,
        Code::UnknownTool,
        Code::Denied,
        Code::ApprovalExpired,
        Code::DefinitionChanged,
        Code::Quarantined,
        Code::IdempotencyConflict,
        Code::OutcomeUnknown,
        Code::AlreadyRan,
        Code::Timeout,
        Code::ServerUnavailable,
        Code::ServerCrashed,
        Code::InvalidResult,
        Code::ResultTooLarge,
        Code::QueueFull,
        Code::SecretUnavailable,
        Code::AuditUnavailable,
        Code::Cancelled,
    ];

    /// The word that programs compare with; never changes.
    pub const fn as_str(self) -> &'static str {
        match self {
            Code::InvalidArguments => "invalid_arguments",
            Code::UnknownTool => "unknown_tool",
            Code::Denied => "denied",
            Code::ApprovalExpired => "approval_expired",
            Code::DefinitionChanged => "definition_changed",
            Code::Quarantined => "quarantined",
            Code::IdempotencyConflict => "idempotency_conflict",
            Code::OutcomeUnknown => "outcome_unknown",
            Code::AlreadyRan => "already_ran",
            Code::Timeout => "timeout",
            Code::ServerUnavailable => "server_unavailable",
            Code::ServerCrashed => "server_crashed",
            Code::InvalidResult => "invalid_result",
            Code::ResultTooLarge => "result_too_large",
            Code::QueueFull => "queue_full",
            Code::SecretUnavailable => "secret_unavailable",
            Code::AuditUnavailable => "audit_unavailable",
            Code::Cancelled => "cancelled",
        }
    }
    /// The code of that word.
    pub fn parse(word: &str) -> Option<Code> {
        Code::ALL.into_iter().find(|code| code.as_str() == word)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Whether a result may carry `structuredContent` of the hub's making.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The tool has no `outputSchema`.
    Free,
    /// The tool has one, which no refusal would match (docs/servers-words.md).
    Declared,
}

/// One refusal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refusal {
    ok: False,
    /// The code.
    pub error: Code,
    /// One or two sentences for the model.
    pub message: String,
    /// What is wrong with the arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Problem>,
    /// The call, where it has a row in the audit.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub call_id: Option<CallId>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct False;

impl Serialize for False {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(false)
    }
}

// serde hands over a reference to the field.
#[allow(clippy::ref_option)]
fn as_text<S: Serializer>(call: &Option<CallId>, serializer: S) -> Result<S::Ok, S::Error> {
    match call {
        Some(call) => serializer.collect_str(call),
        None => serializer.serialize_none(),
    }
}

impl Refusal {
    /// A refusal without details.
    pub fn new(error: Code, message: impl Into<String>) -> Refusal {
        Refusal { ok: False, error, message: message.into(), details: Vec::new(), call_id: None }
    }
    /// The same, of this call.
    pub fn of_call(mut self, call: CallId) -> Refusal {
        self.call_id = Some(call);
        self
    }
    /// The same, with what is wrong with the arguments.
    pub fn with_details(mut self, details: Vec<Problem>) -> Refusal {
        self.details = details;
        self
    }

    /// The refusal as a JSON object: the `data` of an error, and what the other form holds thrice.
    pub fn object(&self) -> String {
        // Strings, numbers and JSON values by string keys: nothing here can fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The whole result object of a `tools/call`.
    pub fn tool_result(&self, output: Output) -> String {
        result_of(&self.object(), output, true)
    }
}

/// A result that says `object` as text, under `_meta` and, where that is free, as structure.
fn result_of(object: &str, output: Output, is_error: bool) -> String {
    let text = serde_json::Value::from(object);
    let structured = match output {
        Output::Free => format!("\"structuredContent\":{object},"),
        Output::Declared => String::new(),
    };
    format!(
        "{{\"content\":[{{\"type\":\"text\",\"text\":{text}}}],{structured}\"isError\":{is_error},\
         \"_meta\":{{\"{META_KEY}\":{object}}}}}"
    )
}
