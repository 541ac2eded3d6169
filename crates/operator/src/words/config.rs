//! The config file.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What a change of the config did to the running hub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ConfigChange {
    /// Servers added.
    pub added: Vec<String>,
    /// Servers removed.
    pub removed: Vec<String>,
    /// Servers whose entry changed.
    pub changed: Vec<String>,
    /// Why nothing was applied.
    pub problems: Vec<String>,
    /// What to know about the entries that were written.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// What follows for the servers that a person changed, each a sentence. An older hub does not say.
    #[serde(default)]
    pub next: Vec<String>,
}

/// One problem of the config file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ConfigProblem {
    /// The file.
    pub file: String,
    /// Line, from 1; 0 where it has no single place.
    pub line: u32,
    /// Column, from 1; 0 where it has no single place.
    pub column: u32,
    /// Key path with dots; empty for the whole file.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// The one server that it costs, if it is only one.
    pub server: Option<String>,
}

/// What is wrong with the config file as it lies on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ConfigReport {
    /// The file.
    pub file: String,
    /// Servers in it.
    pub servers: Vec<String>,
    /// What refuses the config.
    pub errors: Vec<ConfigProblem>,
    /// What is ignored, and what keeps single servers from starting.
    pub warnings: Vec<ConfigProblem>,
}

/// Where everything is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ConfigPaths {
    /// The config file.
    pub config: String,
    /// Folder of the state.
    pub data: String,
    /// Folder of the logs.
    pub logs: String,
    /// Folder of lock and sockets.
    pub run: String,
}
