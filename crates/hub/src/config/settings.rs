//! The config as the hub uses it: every fault was found before, nothing is filled in yet.

use super::env_file::Variables;
use super::keys::{Approval, Hub, PortOwner, Profile, Results, Share, Start};
use super::template::Template;
use indexmap::IndexMap;
use policy::{Effect, Fallback, RuleSource};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// Seconds without a call after which a lazy server is stopped.
pub const IDLE_STOP_SECONDS: u64 = 300;

/// A checked config.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Servers by key, in the order of the file.
    pub servers: IndexMap<String, ServerConfig>,
    /// Which calls run, which a person is asked about, which are refused.
    pub policy: PolicyConfig,
    /// Selections of tools by name.
    pub profiles: IndexMap<String, Profile>,
    /// Hosts that need something of their own.
    pub hosts: IndexMap<String, HostConfig>,
    /// Settings of the hub itself.
    pub hub: Hub,
}

/// Which calls run, which a person is asked about, which are refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyConfig {
    /// For tools that no rule names.
    pub default: Fallback,
    /// The rules.
    pub rules: Vec<RuleSource>,
    /// How long calls wait.
    pub approval: ApprovalConfig,
}

impl Default for PolicyConfig {
    fn default() -> PolicyConfig {
        PolicyConfig { default: Fallback::Auto, rules: Vec::new(), approval: ApprovalConfig::default() }
    }
}

/// How long calls wait for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalConfig {
    /// How long a request is held open.
    pub hold: Duration,
    /// The same where its client gave a progress token.
    pub hold_with_progress: Duration,
    /// How long a call can be decided and an approval redeemed.
    pub expire: Duration,
    /// So many denials of a client's and a server's calls within a minute let the server rest; 0: never.
    pub denials_per_minute: usize,
    /// How long it rests.
    pub rest: Duration,
    /// Whether processes of hosts and servers decide like a person.
    pub from_host_tree: bool,
}

impl Default for ApprovalConfig {
    fn default() -> ApprovalConfig {
        Approval::default().into()
    }
}

impl From<Approval> for ApprovalConfig {
    fn from(keys: Approval) -> ApprovalConfig {
        let Approval {
            hold_seconds,
            hold_seconds_with_progress,
            expire_minutes,
            denials_per_minute,
            rest_minutes,
            from_host_tree,
        } = keys;
        ApprovalConfig {
            denials_per_minute: usize::try_from(denials_per_minute).unwrap_or(usize::MAX),
            rest: Duration::from_secs(rest_minutes * 60),
            hold: Duration::from_secs(hold_seconds),
            hold_with_progress: Duration::from_secs(hold_seconds_with_progress),
            expire: crate::abort::minutes(expire_minutes),
            from_host_tree,
        }
    }
}

/// What one host needs of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostConfig {
    /// How long its requests are held open.
    pub hold: Option<Duration>,
}

/// One server as it stands in the config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// What is started or reached.
    pub launch: Launch,
    /// Kept, but neither started nor listed.
    pub disabled: bool,
    /// Who shares one process.
    pub share: Share,
    /// When it is started.
    pub start: Start,
    /// Time without a call after which it is stopped; None: never.
    pub idle_stop: Option<Duration>,
    /// Time from the start until its lists are read.
    pub start_timeout: Duration,
    /// Time that one call may take without a sign of life.
    pub call_timeout: Duration,
    /// Lanes by name, each with patterns of own tool names; empty: all calls that are not reads share one lane.
    pub lanes: IndexMap<String, Vec<String>>,
    /// Effects of tools by own name, the person's word.
    pub effects: IndexMap<String, Effect>,
    /// Treatment of results.
    pub results: Results,
    /// Time during which a lost result answers the identical call; zero: never.
    pub replay_lost: Duration,
    /// Argument that carries an idempotency key.
    pub idempotency_argument: String,
    /// Who may listen on a port that was given to it.
    pub port_owner: PortOwner,
    /// Whether its process keeps what later calls rely on.
    pub stateful: bool,
}

/// What is started or reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launch {
    /// A program that speaks over its stdin and stdout.
    Stdio(Program),
    /// A program that serves Streamable HTTP on a loopback port.
    HttpChild(Program, Address),
    /// Streamable HTTP, nothing to start.
    Http(Address),
    /// The old HTTP+SSE transport: known, not usable yet.
    LegacySse(Address),
}

impl Launch {
    /// The program to start, if any.
    pub fn program(&self) -> Option<&Program> {
        match self {
            Launch::Stdio(program) | Launch::HttpChild(program, _) => Some(program),
            Launch::Http(_) | Launch::LegacySse(_) => None,
        }
    }
    fn program_mut(&mut self) -> Option<&mut Program> {
        match self {
            Launch::Stdio(program) | Launch::HttpChild(program, _) => Some(program),
            Launch::Http(_) | Launch::LegacySse(_) => None,
        }
    }
    /// The address to reach, if any.
    pub fn address(&self) -> Option<&Address> {
        match self {
            Launch::HttpChild(_, address) | Launch::Http(address) | Launch::LegacySse(address) => Some(address),
            Launch::Stdio(_) => None,
        }
    }
    /// `stdio`, `http-child`, `http` or `sse`.
    pub fn transport(&self) -> &'static str {
        match self {
            Launch::Stdio(_) => "stdio",
            Launch::HttpChild(..) => "http-child",
            Launch::Http(_) => "http",
            Launch::LegacySse(_) => "sse",
        }
    }
}

/// A program to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// A name to look up in PATH, or a path.
    pub command: Template,
    /// Its arguments.
    pub args: Vec<Template>,
    /// Variables on top of the minimal environment.
    pub env: IndexMap<String, Template>,
    /// A file with more variables.
    pub env_file: Option<Template>,
    /// What that file held; None until it is read.
    pub variables: Option<Variables>,
    /// Its working folder.
    pub cwd: Option<Template>,
}

/// An address to reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The endpoint.
    pub url: Template,
    /// Headers for every request.
    pub headers: IndexMap<String, Template>,
}

impl Program {
    /// The names of all its variables.
    pub fn names(&self) -> BTreeSet<&str> {
        let of_file = self.variables.iter().flat_map(|variables| variables.all().keys());
        self.env.keys().chain(of_file).map(String::as_str).collect()
    }
}

impl ServerConfig {
    /// What its file of variables held when it was read.
    pub fn variables(&self) -> Option<&Variables> {
        self.launch.program()?.variables.as_ref()
    }
    /// Whether it names a file of variables of which nobody knows what it holds: then it cannot be told what is launched.
    pub fn is_unread(&self) -> bool {
        self.launch.program().is_some_and(|program| program.env_file.is_some() && program.variables.is_none())
    }
    /// The same with other variables from its file.
    pub(crate) fn with_variables(mut self, variables: Option<Variables>) -> ServerConfig {
        if let Some(program) = self.launch.program_mut() {
            program.variables = variables;
        }
        self
    }
    /// Every text with substitutions, with its field as problems name it: `args[2]`, `env.TOKEN`.
    pub fn templates(&self) -> Vec<(String, &Template)> {
        let mut all = Vec::new();
        if let Some(program) = self.launch.program() {
            all.push(("command".to_owned(), &program.command));
            all.extend(program.args.iter().enumerate().map(|(at, arg)| (format!("args[{at}]"), arg)));
            all.extend(program.env.iter().map(|(name, value)| (super::walk::join("env", name), value)));
            all.extend(program.env_file.iter().map(|file| ("envFile".to_owned(), file)));
            all.extend(program.cwd.iter().map(|cwd| ("cwd".to_owned(), cwd)));
        }
        if let Some(address) = self.launch.address() {
            all.push(("url".to_owned(), &address.url));
            all.extend(address.headers.iter().map(|(name, value)| (super::walk::join("headers", name), value)));
        }
        all
    }
}
