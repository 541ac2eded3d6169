//! What a server needs to run: checked, with every substitution made. Values may be secrets: never log them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// A program to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// As written in the config: a name to look up or a path.
    pub command: String,
    /// Arguments, without the command.
    pub args: Vec<String>,
    /// Variables on top of the minimal environment.
    pub env: BTreeMap<String, String>,
    /// Working folder; None: the user's home.
    pub cwd: Option<PathBuf>,
}

/// How to reach the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A child process that speaks over its stdin and stdout.
    Stdio(Process),
    /// Streamable HTTP, nothing to start.
    Http {
        /// Where its endpoint is.
        url: String,
        /// Headers for every request.
        headers: BTreeMap<String, String>,
    },
    /// A child process that serves Streamable HTTP on a loopback port.
    HttpChild {
        /// What to start.
        process: Process,
        /// Where its endpoint will be.
        url: String,
        /// Headers for every request.
        headers: BTreeMap<String, String>,
        /// Who may listen there.
        owner: PortOwner,
    },
}

/// Who may listen on the port of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortOwner {
    /// Only the child and what it starts.
    Child,
    /// Anyone.
    Any,
}

/// One server, ready to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Its key in the config.
    pub name: String,
    /// How to reach it.
    pub transport: Transport,
    /// How long it may take until its lists are read.
    pub start_timeout: Duration,
    /// How long one call may take without a sign of life (progress starts it anew).
    pub call_timeout: Duration,
    /// Whether it is started with the hub, and not on first use.
    pub eager: bool,
    /// Longest message accepted from it, in bytes.
    pub max_message: usize,
}
