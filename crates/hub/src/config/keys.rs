//! The keys of `callgate.jsonc`. This is the only place that says which keys exist, of which type, with which
//! default and range, and what they mean: the checker, the JSON Schema and the documentation are made from it.
//! A doc comment here is the text that users read.

use super::foreign;
use super::template::Template;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of Callgate: the servers in front of which it stands, and how it treats them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(title = "callgate.jsonc", extend("allowComments" = true, "allowTrailingCommas" = true))]
pub struct Root {
    /// Where editors find the JSON Schema of this file.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// The servers by name, in the shape that every host uses, so that entries can be pasted in.
    pub mcp_servers: IndexMap<String, Server>,
    /// Which calls run, which a person is asked about, which are refused.
    pub policy: Policy,
    /// Selections of tools by name; each is an endpoint of its own (`/mcp/p/NAME`).
    pub profiles: IndexMap<String, Profile>,
    /// Hosts by name (`callgate stdio --host NAME`, or the name of a token) that need something of their own.
    pub hosts: IndexMap<String, Host>,
    /// Settings of the hub itself.
    pub hub: Hub,
}

/// One server. It has a `command`, a `url`, or both (a program that serves its own loopback URL).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(transform = foreign::add)]
pub struct Server {
    /// The program to start: a name to look up in PATH, or a path.
    #[schemars(length(min = 1))]
    pub command: Option<Template>,
    /// Its arguments. Secrets are refused here, since every process of the machine can read them.
    pub args: Vec<Template>,
    /// Variables for the program, on top of a minimal environment.
    pub env: IndexMap<String, Template>,
    /// A file with more variables, one `NAME=value` a line; `env` wins over it. What it holds belongs to the launch (below).
    #[schemars(length(min = 1))]
    pub env_file: Option<Template>,
    /// The program's working folder; a relative one is seen from the home folder, which is also the default.
    #[schemars(length(min = 1))]
    pub cwd: Option<Template>,
    /// Address of its Streamable HTTP endpoint, `http` or `https`.
    #[schemars(length(min = 1))]
    pub url: Option<Template>,
    /// Headers for every request to `url`.
    pub headers: IndexMap<String, Template>,
    /// Kind of transport; told from `command` and `url` when left out.
    #[serde(rename = "type")]
    pub kind: Option<Kind>,
    /// Keeps the entry but neither starts nor lists the server.
    pub disabled: bool,
    /// Who shares one process of this server.
    pub share: Share,
    /// When the program is started.
    pub start: Start,
    /// Seconds without a call after which the program is stopped, its tools staying listed; 0 is never. Without this key
    /// servers that are eager or stateful are never stopped for being idle.
    #[schemars(range(min = 0, max = 604_800), extend("default" = super::settings::IDLE_STOP_SECONDS))]
    pub idle_stop_seconds: Option<u64>,
    /// Time limits.
    pub timeouts: Timeouts,
    /// Names of lanes, each with patterns of this server's tools: a lane runs one call at a time. Without this key all
    /// calls that are not reads share one lane.
    pub lanes: IndexMap<String, Vec<String>>,
    /// What tools of this server do, by their own name, where their hints are missing or wrong.
    pub effects: IndexMap<String, EffectWord>,
    /// Treatment of results.
    pub results: Results,
    /// Seconds during which the result of a call whose reply was lost answers the identical call; 0 is never.
    #[schemars(range(min = 0, max = 86_400))]
    pub replay_lost_seconds: u64,
    /// Name of the argument that carries an idempotency key.
    #[schemars(length(min = 1))]
    pub idempotency_argument: String,
    /// Who may listen on a port that was given to the server.
    pub port_owner: PortOwner,
    /// Whether the process keeps something in memory that later calls rely on: it is not stopped for being idle then, and
    /// once it was started anew what a person had approved or had remembered is asked again.
    pub stateful: bool,
    /// `url` as Windsurf and Devin call it.
    #[schemars(length(min = 1))]
    pub server_url: Option<Template>,
    /// `url` as Gemini CLI calls it.
    #[schemars(length(min = 1))]
    pub http_url: Option<Template>,
    /// `timeouts.callSeconds` in milliseconds, as other hosts have it; values under 1000 are ignored.
    #[schemars(range(min = 0, max = 86_400_000))]
    pub timeout: Option<u64>,
    /// `disabled` turned round, as Zed and opencode have it.
    pub enabled: Option<bool>,
}

impl Default for Server {
    fn default() -> Server {
        Server {
            command: None,
            args: Vec::new(),
            env: IndexMap::new(),
            env_file: None,
            cwd: None,
            url: None,
            headers: IndexMap::new(),
            kind: None,
            disabled: false,
            share: Share::default(),
            start: Start::default(),
            idle_stop_seconds: None,
            timeouts: Timeouts::default(),
            lanes: IndexMap::new(),
            effects: IndexMap::new(),
            results: Results::default(),
            replay_lost_seconds: 600,
            idempotency_argument: "idempotency_key".into(),
            port_owner: PortOwner::default(),
            stateful: false,
            server_url: None,
            http_url: None,
            timeout: None,
            enabled: None,
        }
    }
}

/// Kind of transport, with the spellings of other hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Kind {
    /// A program that speaks over its stdin and stdout.
    #[serde(rename = "stdio")]
    Stdio,
    /// The same, as Copilot and opencode call it.
    #[serde(rename = "local")]
    Local,
    /// Streamable HTTP.
    #[serde(rename = "http")]
    Http,
    /// The same.
    #[serde(rename = "streamable-http")]
    StreamableHyphen,
    /// The same.
    #[serde(rename = "streamableHttp")]
    StreamableCamel,
    /// The same.
    #[serde(rename = "streamable_http")]
    StreamableSnake,
    /// The same, as opencode calls it.
    #[serde(rename = "remote")]
    Remote,
    /// The old HTTP+SSE transport; accepted, but such a server cannot be used yet.
    #[serde(rename = "sse")]
    Sse,
}

/// Who shares one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Share {
    /// All hosts.
    #[default]
    All,
    /// Each host has its own.
    Host,
    /// Each session has its own; needed for `${root}`.
    Session,
}

/// When a server is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// On its first use.
    #[default]
    Lazy,
    /// With the hub.
    Eager,
}

/// Time limits of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Timeouts {
    /// Seconds from the start until the lists are read.
    #[schemars(range(min = 1, max = 3600))]
    pub start_seconds: u64,
    /// Seconds that one call may take without a sign of life.
    #[schemars(range(min = 1, max = 86_400))]
    pub call_seconds: u64,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts { start_seconds: 30, call_seconds: 120 }
    }
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EffectWord {
    /// Changes nothing.
    Read,
    /// Changes something.
    Write,
    /// May destroy something.
    Destructive,
}

/// Treatment of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Results {
    /// What happens to a result that does not match the tool's output schema.
    pub check: ResultCheck,
    /// Bytes of a result that reach the host at once; the rest is kept as a resource.
    #[schemars(range(min = 1024, max = 67_108_864))]
    pub max_bytes: u64,
}

impl Default for Results {
    fn default() -> Results {
        Results { check: ResultCheck::Warn, max_bytes: 4_194_304 }
    }
}

/// What happens to a result that does not match the tool's output schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResultCheck {
    /// It is not looked at.
    Off,
    /// It passes and is recorded.
    Warn,
    /// It is refused.
    Strict,
}

/// Who may listen on a port that was given to a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PortOwner {
    /// Only a process that the hub started for this server.
    #[default]
    Child,
    /// Anyone, for servers that hand over to a process of their own.
    Any,
}

/// Which calls run, which a person is asked about, which are refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Policy {
    /// For tools that no rule names.
    pub default: DefaultVerdict,
    /// Rules; of all that match a call, deny beats ask beats allow.
    pub rules: Vec<Rule>,
    /// How long a call waits for a person.
    pub approval: Approval,
}

/// One rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Rule {
    /// What it is called where it decides; left out: its place.
    pub name: Option<String>,
    /// Patterns of tool names in the aggregate (`SERVER__TOOL`); `*` stands for any text.
    pub tools: Vec<String>,
    /// Patterns of prompt names.
    pub prompts: Vec<String>,
    /// Patterns of resource URIs.
    pub resources: Vec<String>,
    /// A CEL expression over `args`, `tool`, `server`, `host`, `effect` and `annotations`; the rule counts where it is
    /// true.
    pub when: Option<String>,
    /// What is done with a call that matches.
    pub then: Option<Then>,
    /// Why; told to whoever is asked or refused.
    pub reason: Option<String>,
}

/// What is done with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Then {
    /// It runs.
    Allow,
    /// A person is asked.
    Ask,
    /// It is refused; without a `when` the tool is not listed either.
    Deny,
}

/// For tools that no rule names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DefaultVerdict {
    /// By tiers: what only reads runs, what may change something asks once per client and tool, what is risky asks for
    /// every call.
    #[default]
    Auto,
    /// Every call runs.
    Allow,
    /// A person decides every call.
    Ask,
    /// No call runs.
    Deny,
}

/// How long a call waits for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Approval {
    /// Seconds that a request is held open for a decision; then its host is told that the call is pending.
    #[schemars(range(min = 0, max = 3600))]
    pub hold_seconds: u64,
    /// The same for requests with a progress token.
    #[schemars(range(min = 0, max = 3600))]
    pub hold_seconds_with_progress: u64,
    /// Minutes from the asking in which a call can be decided and an approved one called again.
    #[schemars(range(min = 1, max = 10_080))]
    pub expire_minutes: u64,
    /// So many calls of one client and one server that a person denies within a minute let further ones that would ask be
    /// refused at once for a while; 0: never.
    #[schemars(range(min = 0, max = 1000))]
    pub denials_per_minute: u64,
    /// Minutes for which they are refused.
    #[schemars(range(min = 1, max = 1440))]
    pub rest_minutes: u64,
    /// Lets the processes that a host or a server started decide like a person. Counts only where it was set before the
    /// hub's first start, or by a person.
    pub from_host_tree: bool,
}

impl Default for Approval {
    fn default() -> Approval {
        Approval {
            hold_seconds: 45,
            hold_seconds_with_progress: 45,
            expire_minutes: 15,
            denials_per_minute: 10,
            rest_minutes: 5,
            from_host_tree: false,
        }
    }
}

/// What one host needs of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Host {
    /// Seconds that its requests are held open for a decision, where it was measured to wait longer.
    #[schemars(range(min = 0, max = 3600))]
    pub hold_seconds: Option<u64>,
}

/// A selection of tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Profile {
    /// Patterns of exposed tool names (`SERVER__TOOL`); `*` stands for any text.
    pub tools: Vec<String>,
}

/// Settings of the hub itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Hub {
    /// Loopback port of the HTTP endpoint; 0 is chosen once and kept.
    #[schemars(range(min = 0, max = 65_535))]
    pub port: u16,
    /// Whether hosts can attach over HTTP.
    pub http: bool,
    /// The audit log.
    pub audit: Audit,
}

impl Default for Hub {
    fn default() -> Hub {
        Hub { port: 0, http: true, audit: Audit::default() }
    }
}

/// The audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Audit {
    /// Which argument and result values are kept.
    pub payloads: Payloads,
    /// Days that a row is kept.
    #[schemars(range(min = 1, max = 36_500))]
    pub keep_days: u32,
    /// What a row that guards a side effect survives.
    pub durability: Durability,
}

impl Default for Audit {
    fn default() -> Audit {
        Audit { payloads: Payloads::None, keep_days: 90, durability: Durability::System }
    }
}

/// Which argument and result values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Payloads {
    /// Field names, types, sizes and keyed hashes, but no values.
    None,
    /// The arguments of calls that were sent as well, sealed, known secrets masked; up to 64 KiB each.
    Arguments,
    /// And their results, up to 256 KiB each.
    All,
}

/// What a row that guards a side effect survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// A crash of the hub or of the operating system.
    System,
    /// A loss of power as well, as far as the disk obeys.
    Power,
}
