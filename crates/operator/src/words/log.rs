//! Logs.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Where a log is read from and whether it goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Tail {
    /// The last lines, then the end.
    #[default]
    Last,
    /// The last lines, then every new one.
    Follow,
}

const fn hundred() -> u32 {
    100
}

/// Which lines of the hub's own log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct LogFilter {
    /// How many of the last lines; at most 10,000.
    #[serde(default = "hundred")]
    pub lines: u32,
    /// What comes after them.
    #[serde(default)]
    pub tail: Tail,
}

/// Which lines of one server's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct ServerLogs {
    /// Key in the config.
    pub name: String,
    /// How many of the last lines; at most 10,000.
    #[serde(default = "hundred")]
    pub lines: u32,
    /// What comes after them.
    #[serde(default)]
    pub tail: Tail,
}

/// One line of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct LogLine {
    /// The line without its end.
    pub text: String,
}
