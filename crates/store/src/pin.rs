//! What a person, or the first use, held fast: definitions and remembered approvals. Plain rows.

use crate::{PinHow, PinKind};
use contract::Hash;
use policy::Effect;

/// An approved text: a definition, a server's instructions, its launch command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The server's key in the config.
    pub server: String,
    /// Hash of how the server is launched.
    pub launch: String,
    /// What it holds fast.
    pub kind: PinKind,
    /// The own name or URI; empty for instructions and launch.
    pub name: String,
    /// Hash of the text.
    pub hash: Hash,
    /// Effect class that was approved, for tools.
    pub effect: Option<Effect>,
    /// The approved text, for diffs and for checking calls by the approved schema. None in [`Kept`](crate::Kept), so
    /// that a start need not read megabytes: [`Vault::approved`](crate::Vault::approved) has it.
    pub raw: Option<String>,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// How it came to be.
    pub how: PinHow,
}

/// Which remembered approvals; an absent field is no condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Of this client.
    pub client: Option<String>,
    /// For this server.
    pub server: Option<String>,
    /// For this tool, by its own name.
    pub tool: Option<String>,
    /// Only those of this session.
    pub session: Option<String>,
}
