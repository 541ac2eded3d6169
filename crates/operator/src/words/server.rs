//! Servers.

use super::Rest;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// State of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// Not running; starts on first use.
    Stopped,
    /// Its process runs, its lists are not read yet.
    Starting,
    /// Its launcher is still downloading it.
    Installing,
    /// In use.
    Ready,
    /// It crashed or cannot be reached.
    Failing,
    /// Switched off in the config.
    Disabled,
}

impl ServerState {
    /// All of them.
    pub const ALL: [ServerState; 6] = [
        ServerState::Stopped,
        ServerState::Starting,
        ServerState::Installing,
        ServerState::Ready,
        ServerState::Failing,
        ServerState::Disabled,
    ];
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            ServerState::Stopped => "stopped",
            ServerState::Starting => "starting",
            ServerState::Installing => "installing",
            ServerState::Ready => "ready",
            ServerState::Failing => "failing",
            ServerState::Disabled => "disabled",
        }
    }
    /// The state of that word.
    pub fn parse(text: &str) -> Option<ServerState> {
        ServerState::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// A child over its stdin and stdout.
    Stdio,
    /// Streamable HTTP, not started by the hub.
    Http,
    /// A child that listens on a loopback port.
    HttpChild,
}

impl Transport {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Transport::Stdio => "stdio",
            Transport::Http => "http",
            Transport::HttpChild => "http-child",
        }
    }
}

/// One server at a glance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Server {
    /// Key in the config.
    pub name: String,
    /// What it is doing.
    pub state: ServerState,
    /// One line: why it is in that state, or the last error.
    pub reason: Option<String>,
    /// How it is reached.
    pub transport: Transport,
    /// Process id of the child, while one runs.
    pub pid: Option<u32>,
    /// Protocol revision spoken with it.
    pub version: Option<String>,
    /// Tools in its catalog.
    pub tools: u32,
    /// Resources and templates in its catalog.
    pub resources: u32,
    /// Prompts in its catalog.
    pub prompts: u32,
    /// When its state last changed.
    pub since_ms: u64,
    /// When it is tried again by itself after a failure; None while failing: the next call tries it.
    #[serde(default)]
    pub next_try_ms: Option<u64>,
    /// Restarts since the hub began.
    pub restarts: u32,
    /// Whether it goes on as it was approved while the config wants another launch of it, which waits for a person. An older
    /// hub does not say.
    #[serde(default)]
    pub launch_waits: bool,
}

/// All servers, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ServerList {
    /// The servers.
    pub servers: Vec<Server>,
}

/// Names one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct ServerName {
    /// Key in the config.
    pub name: String,
}

/// One server in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ServerDetail {
    /// At a glance.
    pub server: Server,
    /// Command and arguments, or url, as configured; secrets never.
    pub launch: Vec<String>,
    /// Names of the variables it gets.
    pub env_names: Vec<String>,
    /// Absolute path of the program, once resolved.
    pub program: Option<String>,
    /// Entries of its lists that were left out or renamed, with the reason.
    pub findings: Vec<String>,
    /// Lines on stdout that were no messages.
    pub noise_lines: u64,
    /// Answers that nobody waited for, and second answers.
    pub stray_answers: u64,
    /// Calls running now.
    pub running: u32,
    /// Calls waiting for a lane.
    pub queued: u32,
    /// Last lines of its stderr.
    pub stderr_tail: Vec<String>,
    /// File of its log.
    pub log_file: Option<String>,
    /// Clients whose calls of it are refused where they would ask.
    #[serde(default)]
    pub resting: Vec<Rest>,
}

/// Entries for the config: exactly what a person pasted or typed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct ServerAdd {
    /// Key of the new entry; may be absent when `entry` names its servers itself.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub name: Option<String>,
    /// JSON text (comments allowed): one entry, or a block of named entries with or without `mcpServers` around it.
    pub entry: String,
}
