//! The answer to a call that waits for a person (docs/servers-words.md): not executed yet, and what to do next.
//! Never names a command that decides.

use super::{False, Output, as_text};
use crate::ids::CallId;
use serde::Serialize;

/// What the model is told while nobody has decided.
const MESSAGE: &str = "Not executed yet: a person has to decide. Call again with the same arguments.";

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pending {
    ok: False,
    status: &'static str,
    /// The waiting item's id.
    pub approval_id: String,
    /// When it expires, RFC 3339 in UTC.
    pub expires_at: String,
    /// One or two sentences for the model.
    pub message: String,
    /// The call.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub call_id: Option<CallId>,
}

impl Pending {
    /// A call that waits under this approval id until then.
    pub fn new(approval_id: impl Into<String>, expires_at: impl Into<String>, call: CallId) -> Pending {
        Pending {
            ok: False,
            status: "pending",
            approval_id: approval_id.into(),
            expires_at: expires_at.into(),
            message: MESSAGE.to_owned(),
            call_id: Some(call),
        }
    }

    /// It as a JSON object: the `data` of an error, and what the other form holds thrice.
    pub fn object(&self) -> String {
        // Strings by string keys: nothing here can fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The whole result object of a `tools/call`. Not an error, but for a tool with an output schema: clients refuse
    /// a result without error that does not match one.
    pub fn tool_result(&self, output: Output) -> String {
        super::result_of(&self.object(), output, output == Output::Declared)
    }
}
