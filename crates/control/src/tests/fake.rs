//! A hub of two servers that answers every operation, behind the real door in a home of its own.

use crate::{AuditSource, ControlParts, Deed, Door, Live, LogLines, LogOf, LogSource, serve};
use hub::config::{Places, Platform};
use hub::operate::{
    CallView, Event, Operation, OperatorHandle, Refusal, ReloadView, ServerAction, ServerDetail, ServerView, Slow,
    Status, ToolView,
};
use hub::pin::Pin;
use hub::tokens::Tokens;
use operator::Client;
use operator::words::{AuditAccepted, AuditFilter, AuditPage, AuditQuery, AuditReport, AuditRow, AuditTrail};
use operator::words::{Effect, Tail};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::task::JoinSet;

pub struct Fake {
    pub home: tempfile::TempDir,
    pub places: Places,
    pub pin: Arc<Pin>,
    pub deeds: Arc<Deeds>,
    pub client: Client,
    pub events: broadcast::Sender<Event>,
    pub log: broadcast::Sender<Arc<str>>,
    end: Option<oneshot::Sender<()>>,
    tasks: JoinSet<()>,
}

impl Fake {
    /// A hub that takes everybody for a person.
    pub fn start() -> Fake {
        Fake::with(|_| {})
    }
    /// The same with another status.
    pub fn with(change: fn(&mut Status)) -> Fake {
        let home = tempfile::tempdir().unwrap();
        let env = |name: &str| (name == "CALLGATE_HOME").then(|| home.path().to_owned());
        let places = Places::of(Platform::HERE, &env, None).unwrap();
        places.create().unwrap();
        let socket = places.operator_socket();
        let (words, ear) = mpsc::channel(8);
        let (events, _) = broadcast::channel(4);
        let (log, _) = broadcast::channel(4);
        let (end, ended) = oneshot::channel::<()>();
        let pin = Arc::new(Pin::open(&home.path().join("pin.json")).unwrap());
        let deeds = Arc::new(Deeds::default());
        let parts = ControlParts {
            hub: OperatorHandle::new(words, events.clone()),
            logs: Arc::new(Logs(log.clone())),
            audit: Arc::clone(&deeds) as Arc<dyn AuditSource>,
            tokens: Arc::new(Tokens::open(&home.path().join("tokens.json")).unwrap()),
            pin: Arc::clone(&pin),
            places: places.clone(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(relay(ear, change));
        let door = Door::open(&socket).unwrap();
        tasks.spawn(serve(door, parts, async {
            let _ = ended.await;
        }));
        Fake { home, places, pin, deeds, client: Client::new(socket), events, log, end: Some(end), tasks }
    }
    pub fn socket(&self) -> PathBuf {
        self.client.socket().into()
    }
    /// Ends the hub and waits for its tasks.
    pub async fn end(mut self) {
        drop(self.end.take());
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
    }
}

pub fn server_view(name: &str) -> ServerView {
    ServerView {
        name: name.into(),
        state: "ready".into(),
        reason: None,
        transport: "stdio".into(),
        pid: Some(7),
        version: Some("2025-11-25".into()),
        tools: 2,
        resources: 0,
        prompts: 0,
        since_ms: 1_700_000_000_000,
        next_try_ms: None,
        restarts: 0,
        launch_waits: false,
    }
}

fn tool_view(server: &str, own_name: &str, schema: &str) -> ToolView {
    let definition = format!("{{\"name\":\"{own_name}\",\"x\":1.10,\"inputSchema\":{schema}}}");
    let start = definition.len() - schema.len() - 1;
    ToolView {
        name: format!("{server}__{own_name}"),
        server: server.into(),
        own_name: own_name.into(),
        description: Some("Does it.".into()),
        effect: Effect::Write,
        schema_hash: format!("sha256:{}", "1".repeat(64)).parse().unwrap(),
        definition_hash: format!("sha256:{}", "2".repeat(64)).parse().unwrap(),
        input_schema: start..start + schema.len(),
        definition: definition.into(),
    }
}

fn unknown(name: &str) -> Refusal {
    Refusal {
        code: "unknown_server".into(),
        message: format!("there is no server `{name}`"),
        next: Some("callgate server list".into()),
    }
}

async fn relay(mut ear: mpsc::Receiver<Operation>, change: fn(&mut Status)) {
    let known = |name: &str| if ["notes", "shop"].contains(&name) { Ok(server_view(name)) } else { Err(unknown(name)) };
    while let Some(word) = ear.recv().await {
        match word {
            // Who asks for these is told that the hub stops.
            Operation::Waiting(_)
            | Operation::Decide(..)
            | Operation::Decided(..)
            | Operation::Remembered(_)
            | Operation::Forget(..)
            | Operation::Calls(_)
            | Operation::Settle(..)
            | Operation::Pause(..)
            | Operation::Reviews(..)
            | Operation::ApproveDefinition(..)
            | Operation::Policy(_)
            | Operation::Trust(_)
            | Operation::EndRest(..)
            | Operation::Explain(..) => {}
            Operation::Status(tell) => {
                let mut status = Status {
                    pid: 42,
                    version: "0.1.0".into(),
                    started_ms: 1,
                    mcp_url: None,
                    http_problem: Some("port taken".into()),
                    config_problems: vec![],
                    servers: vec![server_view("shop"), server_view("notes")],
                    clients: vec![],
                    audit: "ok".into(),
                    slow: Slow { turns: 2, longest_us: 1_500, longest: Some("server".into()) },
                    unlooked: 0,
                    waiting: 0,
                    unknown: 0,
                    pause: hub::person::Pause::default(),
                    rests: Vec::new(),
                    held: Vec::new(),
                    held_hash: None,
                    from_host_tree: true,
                };
                change(&mut status);
                let _ = tell.send(status);
            }
            Operation::Server(name, tell) => {
                let _ = tell.send(known(&name).map(|server| ServerDetail {
                    server,
                    launch: vec!["notes-mcp".into()],
                    env_names: vec![],
                    program: None,
                    findings: vec![],
                    noise_lines: 0,
                    stray_answers: 0,
                    running: 0,
                    queued: 0,
                    stderr_tail: vec![],
                    log_file: None,
                }));
            }
            Operation::Act(name, action, tell) => {
                let _ = tell.send(known(&name).map(|server| ServerView {
                    state: if action == ServerAction::Stop { "stopped" } else { "ready" }.into(),
                    ..server
                }));
            }
            Operation::Tools(server, tell) => {
                let tools = [
                    tool_view("shop", "add", "{\"type\": \"nonsense\"}"),
                    tool_view("notes", "find", "{}"),
                    tool_view("notes", "add", "{}"),
                ];
                let wanted = |tool: &ToolView| server.as_ref().is_none_or(|server| *server == tool.server);
                let _ = tell.send(tools.into_iter().filter(wanted).collect());
            }
            Operation::Call(name, arguments, tell) => {
                let body = format!("{{\"content\":[],\"tool\":\"{name}\",\"got\":{arguments}}}");
                let _ = tell.send(Ok(CallView { body, rpc_error: false, is_error: false }));
            }
            Operation::Reload(tell) => drop(tell.send(ReloadView::default())),
            Operation::Stop(tell) => drop(tell.send(())),
        }
    }
}

struct Logs(broadcast::Sender<Arc<str>>);

impl LogSource for Logs {
    fn open(&self, of: &LogOf, lines: usize, tail: Tail) -> io::Result<LogLines> {
        if *of == LogOf::Server("shop".into()) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let live = (tail == Tail::Follow).then(|| Live::of(self.0.subscribe(), |line| line.to_string()));
        let last = (1..=3).map(|n| format!("{of:?} {n}")).collect::<Vec<_>>();
        Ok(LogLines { last: last[last.len().saturating_sub(lines)..].to_vec(), live })
    }
}

/// A log that cannot be read, and remembers what persons did.
#[derive(Default)]
pub struct Deeds(Mutex<Vec<Deed>>);

impl Deeds {
    pub fn all(&self) -> Vec<Deed> {
        self.0.lock().unwrap().clone()
    }
    /// Code of a refusal, or `done`, and how often.
    pub fn told(&self) -> Vec<(&'static str, u32)> {
        let word = |deed: &Deed| match &deed.refused {
            None => "done",
            Some((code, _)) => super::person::CODES.into_iter().find(|known| known == code).unwrap(),
        };
        self.all().iter().map(|deed| (word(deed), deed.times)).collect()
    }
}

fn no_log<T>() -> Result<T, operator::Problem> {
    Err(operator::Problem::new("audit_unavailable", "there is no log here"))
}

impl AuditSource for Deeds {
    fn page(&self, _: &AuditQuery) -> Result<AuditPage, operator::Problem> {
        no_log()
    }
    fn trail(&self, _: &str) -> Result<AuditTrail, operator::Problem> {
        no_log()
    }
    fn values(&self, _: &str) -> Result<operator::words::AuditValues, operator::Problem> {
        no_log()
    }
    fn decided(&self, _: &AuditFilter, _: Option<u64>, _: u32) -> Result<crate::Decided, operator::Problem> {
        no_log()
    }
    fn asked(&self, _: &[[String; 3]]) -> Result<Vec<(u32, u32)>, operator::Problem> {
        no_log()
    }
    fn newer(&self, _: &AuditFilter, _: u64, _: u32) -> Result<Vec<AuditRow>, operator::Problem> {
        no_log()
    }
    fn verify(&self) -> Result<AuditReport, operator::Problem> {
        no_log()
    }
    fn deed(&self, deed: &Deed) {
        self.0.lock().unwrap().push(deed.clone());
    }
    fn write(&self, deed: &Deed) -> Result<(), operator::Problem> {
        self.deed(deed);
        Ok(())
    }
    fn accept(&self, _: &str) -> Result<AuditAccepted, operator::Problem> {
        no_log()
    }
    fn export(
        &self,
        _: &AuditFilter,
        _: crate::audit::With,
        _: &mut dyn FnMut(AuditRow) -> bool,
    ) -> Result<(), operator::Problem> {
        no_log()
    }
}
