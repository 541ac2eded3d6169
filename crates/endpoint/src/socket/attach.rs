//! The first line of an adapter: which host it speaks for and what that host has already said. Fields are only ever
//! added; unknown ones are ignored, so that old adapters and new hubs understand each other.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What an adapter says first, as `{"callgate":{...}}` on one line.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Attach {
    /// Version of this form: 1.
    pub attach: u32,
    /// `--host NAME`; None: the client's own word counts, as unverified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The adapter's own id, the same over reconnects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Working folder of the adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Version of the adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// `copy`: messages follow on this connection. `lend`: the host's stdin and stdout and two memory files came with
    /// this line (SCM_RIGHTS) and may be taken over later. Anything that a hub does not know is `copy` to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// One server under its own names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// A profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Params of the `initialize` that the host sent to an earlier hub: taken as said, not answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialize: Option<Box<RawValue>>,
    /// Log level that the host had set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
}

/// The hub's answer, as `{"callgate":{...}}` on one line, before anything else.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Attached {
    /// Version of the hub.
    pub hub: String,
    /// Its process id.
    pub pid: u32,
    /// The mode that is used.
    #[serde(default)]
    pub mode: String,
    /// Why the adapter is not let in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// One line with either of them.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello<T> {
    /// The content.
    pub callgate: T,
}
