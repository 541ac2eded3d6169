//! The catalog and calls.

use super::Raw;
pub use policy::Effect;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Which tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct ToolFilter {
    /// Those of one server only.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub server: Option<String>,
}

/// One tool at a glance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Tool {
    /// Name in the aggregate.
    pub name: String,
    /// Key of its server.
    pub server: String,
    /// The server's own name of it.
    pub own_name: String,
    /// Description as the server sent it.
    pub description: Option<String>,
    /// What it may do to the world.
    #[ts(type = "\"read\" | \"write\" | \"destructive\"")]
    pub effect: Effect,
    /// `sha256:` and hex, over the schemas.
    pub schema_hash: String,
    /// `sha256:` and hex, over the whole definition.
    pub definition_hash: String,
    /// Why its schema cannot be used, if so.
    pub unusable: Option<String>,
    /// Patterns of its schema that are not checked; where there are some it is *partly checked* and asks at least.
    #[serde(default)]
    pub partly_checked: Vec<String>,
}

/// The tools, in the order of the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ToolList {
    /// The tools.
    pub tools: Vec<Tool>,
}

/// Names one tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct ToolName {
    /// Name in the aggregate, or a server's own name where only one server has it.
    pub name: String,
}

/// One tool with its definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ToolDetail {
    /// At a glance.
    pub tool: Tool,
    /// The whole definition as the server sent it.
    pub definition: Raw,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// Name in the aggregate, or a server's own name where only one server has it.
    pub name: String,
    /// The arguments, passed on as they stand; absent: an empty object.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub arguments: Option<Raw>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// The tool did it.
    Done,
    /// The tool, or the hub in its place, answered with `isError`.
    ToolError,
    /// The server answered with a JSON-RPC error.
    RpcError,
    /// Policy or a person refused it.
    Refused,
    /// It waits for a person.
    Pending,
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CallResult {
    /// How it ended.
    pub outcome: CallOutcome,
    /// The result object, or the error object of [`CallOutcome::RpcError`], as the server sent it.
    pub body: Raw,
}
