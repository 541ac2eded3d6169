//! What the person's door may do. `Send`: it lives on another thread than the relay and only sends it words.

use crate::person::{
    Approved, Decided, Explained, Finding, Forget, Forgotten, Outcome, Pause, Paused, Policy, Question, Remembered,
    Rest, Said, ServerReview, WaitingCall,
};
use bytes::Bytes;
use contract::Hash;
use contract::schema::Compiled;
use policy::Effect;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use store::CallRecord;
use tokio::sync::{broadcast, mpsc, oneshot};

/// State of one server for a person's eyes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServerView {
    /// Key in the config.
    pub name: String,
    /// `stopped`, `starting`, `installing`, `ready`, `failing`, `disabled`.
    pub state: String,
    /// One line: why it is in that state, or the last error.
    pub reason: Option<String>,
    /// `stdio`, `http`, `http-child`.
    pub transport: String,
    /// Process id of the child, while one runs.
    pub pid: Option<u32>,
    /// Protocol revision spoken with it.
    pub version: Option<String>,
    /// Tools, resources, templates, prompts in its catalog.
    pub tools: u32,
    /// Resources in its catalog.
    pub resources: u32,
    /// Prompts in its catalog.
    pub prompts: u32,
    /// Milliseconds since 1970 of the last change of state.
    pub since_ms: u64,
    /// When it is tried again by itself after a failure, in milliseconds since 1970.
    pub next_try_ms: Option<u64>,
    /// Number of restarts since the hub began.
    pub restarts: u32,
    /// Whether it goes on as it was approved while the config wants another launch of it, which waits for a person.
    pub launch_waits: bool,
}

/// One server in full.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServerDetail {
    /// The overview.
    pub server: ServerView,
    /// Exact command and arguments, or url; secrets never.
    pub launch: Vec<String>,
    /// Names of the variables it gets.
    pub env_names: Vec<String>,
    /// Absolute path of the program, once resolved.
    pub program: Option<String>,
    /// Entries of its lists that were left out or renamed, with the reason.
    pub findings: Vec<String>,
    /// Lines on stdout that were no messages.
    pub noise_lines: u64,
    /// Answers nobody waited for, second answers.
    pub stray_answers: u64,
    /// Calls running now, and waiting for a lane.
    pub running: u32,
    /// Calls waiting for a lane.
    pub queued: u32,
    /// Last lines of its stderr, made visible.
    pub stderr_tail: Vec<String>,
    /// File of its log.
    pub log_file: Option<String>,
}

/// One tool of the aggregated catalog: cheap to make on the relay thread, written out by whoever asked.
#[derive(Clone, Debug)]
pub struct ToolView {
    /// Exposed name.
    pub name: String,
    /// Server's key.
    pub server: String,
    /// The server's own name of it.
    pub own_name: String,
    /// Description as the server sent it.
    pub description: Option<String>,
    /// What it may do to the world.
    pub effect: Effect,
    /// Over the schemas.
    pub schema_hash: Hash,
    /// Over the whole definition.
    pub definition_hash: Hash,
    /// The whole definition as the server sent it.
    pub definition: Bytes,
    /// Where in it the input schema is.
    pub input_schema: Range<usize>,
}

impl ToolView {
    /// How far calls can be checked. Compiles its schema: not for the relay thread.
    pub fn checked(&self) -> Checked {
        Checked::of(self.definition.get(self.input_schema.clone()).unwrap_or_default())
    }
}

/// How far calls of a tool can be checked against its input schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Why the schema cannot be used, if so: no call runs then.
    pub unusable: Option<String>,
    /// Patterns in it that are not checked, made visible; where there are some its calls ask at least.
    pub skipped: Vec<String>,
}

impl Checked {
    /// Compiles a schema: not for the relay thread.
    pub fn of(schema: &[u8]) -> Checked {
        match Compiled::compile(schema) {
            Ok(compiled) => Checked { unusable: None, skipped: compiled.skipped_patterns().to_vec() },
            Err(fault) => Checked { unusable: Some(fault.to_string()), skipped: Vec::new() },
        }
    }
}

/// An attached client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClientView {
    /// Identity.
    pub name: String,
    /// Whether the name is only the client's own word.
    pub unverified: bool,
    /// `stdio`, `socket`, `http`.
    pub transport: String,
    /// Protocol revision.
    pub version: Option<String>,
    /// Milliseconds since 1970.
    pub since_ms: u64,
    /// Calls made.
    pub calls: u64,
    /// The process that speaks for it, where the door can tell: `callgate stdio` for `stdio`, else the host itself.
    pub process: Option<u32>,
}

/// The hub at a glance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Process id.
    pub pid: u32,
    /// Version of the binary.
    pub version: String,
    /// Milliseconds since 1970.
    pub started_ms: u64,
    /// Address for HTTP hosts, None when HTTP is off or refused.
    pub mcp_url: Option<String>,
    /// Why HTTP is refused, if so.
    pub http_problem: Option<String>,
    /// Problems of the config file that is on disk but not applied.
    pub config_problems: Vec<String>,
    /// All servers.
    pub servers: Vec<ServerView>,
    /// All attached clients.
    pub clients: Vec<ClientView>,
    /// State of the audit log: `ok` or what is wrong.
    pub audit: String,
    /// Turns that kept the relay for too long.
    pub slow: Slow,
    /// Results that were not looked at for orders to the model.
    pub unlooked: u64,
    /// Calls that wait for a person.
    pub waiting: u32,
    /// Calls that a person has to settle.
    pub unknown: u32,
    /// Whether all calls that may change something are held.
    pub pause: Pause,
    /// Servers whose calls are refused where they would ask.
    pub rests: Vec<Rest>,
    /// How the config would loosen what was accepted, each a sentence; it waits for a person.
    pub held: Vec<String>,
    /// Hash that lets it.
    pub held_hash: Option<String>,
    /// Whether processes of hosts and servers decide like a person: `policy.approval.fromHostTree` as it holds now.
    pub from_host_tree: bool,
}

/// What the watchdog over the relay has seen since the hub began.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Slow {
    /// Turns that took too long.
    pub turns: u64,
    /// The longest of them in microseconds.
    pub longest_us: u64,
    /// The task that had it, if there was one.
    pub longest: Option<String>,
}

/// Result of a call made by a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallView {
    /// The result or error object as JSON text.
    pub body: String,
    /// Whether it is a JSON-RPC error.
    pub rpc_error: bool,
    /// Whether the tool said `isError`.
    pub is_error: bool,
}

/// What a reload of the config did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReloadView {
    /// Servers added.
    pub added: Vec<String>,
    /// Servers removed.
    pub removed: Vec<String>,
    /// Servers whose entry changed.
    pub changed: Vec<String>,
    /// Why nothing was applied; each with file, line, column and key path.
    pub problems: Vec<String>,
}

/// Why an operation was not done.
#[derive(Clone, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Stable code, e.g. `unknown_server`, `unknown_tool`, `bad_arguments`, `hub_stopping`.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub next: Option<String>,
}

impl Refusal {
    /// One without a next step.
    pub fn new(code: &str, message: impl Into<String>) -> Refusal {
        Refusal { code: code.into(), message: message.into(), next: None }
    }
    /// What a person says is written down before it holds, and it could not be.
    pub(crate) fn unwritten(cause: String) -> Refusal {
        Refusal::new("audit_unavailable", format!("it could not be written down: {cause}"))
    }
    /// The same with a next step.
    pub fn then(self, next: impl Into<String>) -> Refusal {
        Refusal { next: Some(next.into()), ..self }
    }
}

/// Something that happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A server's state or lists changed.
    Server(ServerView),
    /// A server was removed.
    ServerGone {
        /// Its key.
        name: String,
    },
    /// The visible catalog changed.
    Catalog,
    /// A client came or went.
    Clients,
    /// A config was applied or refused.
    Config(ReloadView),
    /// The queue of waiting calls changed.
    Approvals {
        /// Calls that wait for a person now.
        waiting: u32,
    },
    /// A waiting call was decided, by a person or by time.
    Decision(Decided),
    /// Calls whose outcome nobody knows.
    Calls {
        /// Those that a person has to settle.
        unknown: u32,
    },
    /// All calls that may change something are held from now on, or are no longer.
    Paused(Pause),
    /// Definitions of a server wait for a review, or do so no longer.
    Held {
        /// Its key.
        server: String,
        /// How many wait.
        entries: u32,
    },
}

/// What to do with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerAction {
    /// Start it now.
    Start,
    /// Stop it until it is started again by a person.
    Stop,
    /// Stop and start.
    Restart,
}

/// A word to the relay thread.
#[derive(Debug)]
pub enum Operation {
    /// Overview.
    Status(oneshot::Sender<Status>),
    /// One server in full.
    Server(String, oneshot::Sender<Result<ServerDetail, Refusal>>),
    /// Start, stop, restart; answered when the action is done or has failed.
    Act(String, ServerAction, oneshot::Sender<Result<ServerView, Refusal>>),
    /// Tools of one server or all.
    Tools(Option<String>, oneshot::Sender<Vec<ToolView>>),
    /// A call by name with JSON text as arguments, through the same road as any other.
    Call(String, String, oneshot::Sender<Result<CallView, Refusal>>),
    /// All calls that wait, or are approved and wait for their client.
    Waiting(oneshot::Sender<Vec<WaitingCall>>),
    /// A decision about one of them.
    Decide(Said, oneshot::Sender<Result<Outcome, Refusal>>),
    /// A decision that was made not long ago.
    Decided(String, oneshot::Sender<Option<Decided>>),
    /// What a person has allowed that holds for calls to come.
    Remembered(oneshot::Sender<Vec<Remembered>>),
    /// Some of it is to hold no more, and who says so.
    Forget(Forget, String, oneshot::Sender<Result<Forgotten, Refusal>>),
    /// All call records that live.
    Calls(oneshot::Sender<Vec<CallRecord>>),
    /// What became of a call with an unknown outcome, and who says so.
    Settle(String, Finding, String, oneshot::Sender<Result<CallRecord, Refusal>>),
    /// Hold all calls that may change something, or let them go on; and who says so.
    Pause(bool, String, oneshot::Sender<Result<Paused, Refusal>>),
    /// Lets the calls of a server ask again, and who says so.
    EndRest(String, String, oneshot::Sender<Result<(), Refusal>>),
    /// Definitions that wait for a review, of one server or all.
    Reviews(Option<String>, oneshot::Sender<Vec<ServerReview>>),
    /// Approve what was shown: server or entry, its hash, who says so.
    ApproveDefinition(String, Hash, String, oneshot::Sender<Result<Approved, Refusal>>),
    /// A person has accepted the log as it is.
    Trust(oneshot::Sender<()>),
    /// The policy as it is.
    Policy(oneshot::Sender<Policy>),
    /// How the rules see a call.
    Explain(Question, oneshot::Sender<Result<Vec<Explained>, Refusal>>),
    /// Read the config file again and apply it.
    Reload(oneshot::Sender<ReloadView>),
    /// Stop the hub.
    Stop(oneshot::Sender<()>),
}

/// The person's handle. Whoever holds it can do everything a person can: `endpoint` never gets one.
#[derive(Clone, Debug)]
pub struct OperatorHandle {
    relay: mpsc::Sender<Operation>,
    events: broadcast::Sender<Event>,
}

impl OperatorHandle {
    /// A handle over the relay's ear.
    pub fn new(relay: mpsc::Sender<Operation>, events: broadcast::Sender<Event>) -> OperatorHandle {
        OperatorHandle { relay, events }
    }

    /// What happens from now on.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    async fn ask<T>(&self, word: impl FnOnce(oneshot::Sender<T>) -> Operation) -> Result<T, Refusal> {
        let gone = || Refusal { code: "hub_stopping".into(), message: "the hub is stopping".into(), next: None };
        let (tell, answer) = oneshot::channel();
        self.relay.send(word(tell)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())
    }

    /// Overview.
    pub async fn status(&self) -> Result<Status, Refusal> {
        self.ask(Operation::Status).await
    }
    /// One server in full.
    pub async fn server(&self, name: &str) -> Result<ServerDetail, Refusal> {
        self.ask(|tell| Operation::Server(name.into(), tell)).await?
    }
    /// Start, stop, restart.
    pub async fn act(&self, name: &str, action: ServerAction) -> Result<ServerView, Refusal> {
        self.ask(|tell| Operation::Act(name.into(), action, tell)).await?
    }
    /// Tools of one server or all.
    pub async fn tools(&self, server: Option<String>) -> Result<Vec<ToolView>, Refusal> {
        self.ask(|tell| Operation::Tools(server, tell)).await
    }
    /// A call by a person.
    pub async fn call(&self, tool: &str, arguments: &str) -> Result<CallView, Refusal> {
        self.ask(|tell| Operation::Call(tool.into(), arguments.into(), tell)).await?
    }
    /// All calls that wait, or are approved and wait for their client; oldest first.
    pub async fn waiting(&self) -> Result<Vec<WaitingCall>, Refusal> {
        self.ask(Operation::Waiting).await
    }
    /// Decides a waiting call.
    pub async fn decide(&self, said: Said) -> Result<Outcome, Refusal> {
        self.ask(|tell| Operation::Decide(said, tell)).await?
    }
    /// A decision that was made not long ago.
    pub async fn decided(&self, id: &str) -> Result<Option<Decided>, Refusal> {
        self.ask(|tell| Operation::Decided(id.into(), tell)).await
    }
    /// What a person has allowed that holds for calls to come, the latest first.
    pub async fn remembered(&self) -> Result<Vec<Remembered>, Refusal> {
        self.ask(Operation::Remembered).await
    }
    /// Takes some of it back; answered with what held until now.
    pub async fn forget(&self, which: Forget, by: &str) -> Result<Forgotten, Refusal> {
        self.ask(|tell| Operation::Forget(which, by.into(), tell)).await?
    }
    /// All call records that live.
    pub async fn calls(&self) -> Result<Vec<CallRecord>, Refusal> {
        self.ask(Operation::Calls).await
    }
    /// Settles a call with an unknown outcome.
    pub async fn settle(&self, id: &str, finding: Finding, by: &str) -> Result<CallRecord, Refusal> {
        self.ask(|tell| Operation::Settle(id.into(), finding, by.into(), tell)).await?
    }
    /// Holds all calls that may change something.
    pub async fn pause(&self, by: &str) -> Result<Paused, Refusal> {
        self.ask(|tell| Operation::Pause(true, by.into(), tell)).await?
    }
    /// Lets them go on.
    pub async fn resume(&self, by: &str) -> Result<Paused, Refusal> {
        self.ask(|tell| Operation::Pause(false, by.into(), tell)).await?
    }
    /// Lets the calls of a server that rests ask again.
    pub async fn end_rest(&self, server: &str, by: &str) -> Result<(), Refusal> {
        self.ask(|tell| Operation::EndRest(server.into(), by.into(), tell)).await?
    }
    /// Definitions that wait for a review, of one server or all.
    pub async fn reviews(&self, server: Option<String>) -> Result<Vec<ServerReview>, Refusal> {
        self.ask(|tell| Operation::Reviews(server, tell)).await
    }
    /// Approves what was shown: all that waits of a server, or one entry.
    pub async fn approve_definition(&self, target: &str, hash: Hash, by: &str) -> Result<Approved, Refusal> {
        self.ask(|tell| Operation::ApproveDefinition(target.into(), hash, by.into(), tell)).await?
    }
    /// A person has accepted the log as it is: calls are judged as usual again.
    pub async fn trust(&self) -> Result<(), Refusal> {
        self.ask(Operation::Trust).await
    }
    /// The policy as it is, and what is odd about it.
    pub async fn policy(&self) -> Result<Policy, Refusal> {
        self.ask(Operation::Policy).await
    }
    /// How the rules see a call, or every tool.
    pub async fn explain(&self, question: Question) -> Result<Vec<Explained>, Refusal> {
        self.ask(|tell| Operation::Explain(question, tell)).await?
    }
    /// Reads the config file again.
    pub async fn reload(&self) -> Result<ReloadView, Refusal> {
        self.ask(Operation::Reload).await
    }
    /// Stops the hub; returns when it refuses new calls.
    pub async fn stop(&self) -> Result<(), Refusal> {
        self.ask(Operation::Stop).await
    }
}
