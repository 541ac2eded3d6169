//! A home, and in it the real door of a hub that only pretends.

use control::AuditSource;
use control::{ControlParts, Door, Live, LogLines, LogOf, LogSource};
use hub::config::Places;
use hub::operate::{
    CallView, Operation, OperatorHandle, Refusal, ReloadView, ServerDetail, ServerView, Slow, Status, ToolView,
};
use hub::pin::Pin;
use hub::tokens::Tokens;
use operator::words::{AuditAccepted, AuditFilter, AuditPage, AuditQuery, AuditReport, AuditRow, AuditTrail};
use operator::words::{Effect, Tail};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tokio::sync::{broadcast, mpsc, oneshot};

/// A folder for `CALLGATE_HOME`.
pub struct Home {
    folder: tempfile::TempDir,
    hub: Option<Hub>,
}

struct Hub {
    log: broadcast::Sender<Arc<str>>,
    end: Mutex<Option<oneshot::Sender<()>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    process: Arc<Mutex<Child>>,
}

/// How a run of the binary went.
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Home {
    pub fn new() -> Home {
        Home { folder: tempfile::tempdir().unwrap(), hub: None }
    }

    pub fn with_hub() -> Home {
        let mut home = Home::new();
        let own = home.path().to_owned();
        let env = move |name: &str| (name == "CALLGATE_HOME").then(|| PathBuf::from(&own));
        let places = Places::of(hub::config::Platform::HERE, &env, None).unwrap();
        places.create().unwrap();
        let (log, _) = broadcast::channel(16);
        let (end, ended) = oneshot::channel::<()>();
        // Stands for the hub's process: it ends when its stdin is closed.
        let process = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let process = Arc::new(Mutex::new(process));
        let (open, opened) = std::sync::mpsc::sync_channel(1);
        let (source, child) = (log.clone(), process.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let (words, ear) = mpsc::channel(8);
                let parts = ControlParts {
                    hub: OperatorHandle::new(words, broadcast::channel(8).0),
                    logs: Arc::new(Logs(source)),
                    audit: Arc::new(NoLog),
                    tokens: Arc::new(Tokens::open(&places.state.join("tokens.json")).unwrap()),
                    pin: Arc::new(Pin::open(&places.state.join("pin.json")).unwrap()),
                    places: places.clone(),
                };
                let door = Door::open(&places.operator_socket()).unwrap();
                open.send(()).unwrap();
                let serve = control::serve(door, parts, async { drop(ended.await) });
                tokio::join!(serve, relay(ear, child));
            });
        });
        opened.recv().unwrap();
        let (end, thread) = (Mutex::new(Some(end)), Mutex::new(Some(thread)));
        home.hub = Some(Hub { log, end, thread, process });
        home
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callgate"));
        command.args(args).env_clear().env("CALLGATE_HOME", self.path()).env("HOME", self.path()).stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Run {
        self.run_with(args, b"")
    }

    pub fn run_with(&self, args: &[&str], stdin: &[u8]) -> Run {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // The command may end without reading.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Adds a line to the log of the hub.
    pub fn log(&self, text: &str) {
        self.hub.as_ref().unwrap().log.send(text.into()).unwrap();
    }

    /// Ends the hub's door.
    pub fn end(&self) {
        if let Some(hub) = &self.hub {
            drop(hub.end.lock().unwrap().take());
            if let Some(thread) = hub.thread.lock().unwrap().take() {
                thread.join().unwrap();
            }
        }
    }

    pub fn hub_process_is_gone(&self) -> bool {
        self.hub.as_ref().unwrap().process.lock().unwrap().try_wait().unwrap().is_some()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.end();
        if let Some(hub) = &self.hub {
            let mut process = hub.process.lock().unwrap();
            drop(process.stdin.take());
            let _ = process.wait();
        }
    }
}

fn server(name: &str) -> Result<ServerView, Refusal> {
    let (state, reason) = match name {
        "files" => ("ready", None),
        "shop" => ("failing", Some("exit code 1".to_owned())),
        _ => {
            let message = format!("there is no server `{name}`");
            return Err(Refusal { code: "unknown_server".into(), message, next: Some("callgate server list".into()) });
        }
    };
    Ok(ServerView {
        name: name.into(),
        state: state.into(),
        reason,
        transport: "stdio".into(),
        pid: None,
        version: None,
        tools: 1,
        resources: 0,
        prompts: 0,
        since_ms: 0,
        next_try_ms: None,
        restarts: 0,
        launch_waits: false,
    })
}

fn hostile() -> ServerView {
    ServerView { reason: Some("\u{1b}[2J \u{202e} \u{9b}31m".into()), ..server("files").unwrap() }
}

fn tool() -> ToolView {
    let definition = "{\"name\":\"find\",\"x\":1.10,\"inputSchema\":{}}";
    ToolView {
        name: "files__find".into(),
        server: "files".into(),
        own_name: "find".into(),
        description: Some("Finds it.".into()),
        effect: Effect::Read,
        schema_hash: format!("sha256:{}", "1".repeat(64)).parse().unwrap(),
        definition_hash: format!("sha256:{}", "2".repeat(64)).parse().unwrap(),
        input_schema: definition.len() - 3..definition.len() - 1,
        definition: definition.into(),
    }
}

fn call(name: &str, arguments: &str) -> Result<CallView, Refusal> {
    let outcome = |outcome: &str| format!("{{\"content\":[],\"_meta\":{{\"dev.callgate/outcome\":{outcome}}}}}");
    let (body, rpc_error, is_error) = match name {
        "done" => {
            let text = serde_json::to_string(&format!("got {arguments}")).unwrap();
            (format!("{{\"content\":[{{\"type\":\"text\",\"text\":{text}}}]}}"), false, false)
        }
        "tool_error" => ("{\"content\":[],\"isError\":true}".into(), false, true),
        "rpc_error" => ("{\"code\":-32602,\"message\":\"no\"}".into(), true, false),
        "denied" => (outcome("{\"ok\":false,\"error\":\"denied\"}"), false, true),
        "pending" => (outcome("{\"ok\":false,\"status\":\"pending\"}"), false, false),
        _ => return Err(Refusal { code: "unknown_tool".into(), message: "there is no such tool".into(), next: None }),
    };
    Ok(CallView { body, rpc_error, is_error })
}

async fn relay(mut ear: mpsc::Receiver<Operation>, process: Arc<Mutex<Child>>) {
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
            Operation::Status(tell) => drop(tell.send(Status {
                pid: process.lock().unwrap().id(),
                version: "9.9.9".into(),
                started_ms: 0,
                mcp_url: None,
                http_problem: None,
                config_problems: vec![],
                servers: vec![server("shop").unwrap(), hostile()],
                clients: vec![],
                audit: "ok".into(),
                slow: Slow::default(),
                unlooked: 0,
                waiting: 0,
                unknown: 0,
                pause: hub::person::Pause::default(),
                rests: vec![],
                held: Vec::new(),
                held_hash: None,
                from_host_tree: true,
            })),
            Operation::Server(name, tell) => drop(tell.send(server(&name).map(|server| ServerDetail {
                server,
                launch: vec!["files-mcp".into()],
                env_names: vec![],
                program: None,
                findings: vec![],
                noise_lines: 0,
                stray_answers: 0,
                running: 0,
                queued: 0,
                stderr_tail: vec![],
                log_file: None,
            }))),
            Operation::Act(name, _, tell) => drop(tell.send(server(&name))),
            Operation::Tools(_, tell) => drop(tell.send(vec![tool()])),
            Operation::Call(name, arguments, tell) => drop(tell.send(call(&name, &arguments))),
            Operation::Reload(tell) => drop(tell.send(ReloadView::default())),
            Operation::Stop(tell) => {
                drop(process.lock().unwrap().stdin.take());
                let _ = tell.send(());
            }
        }
    }
}

struct Logs(broadcast::Sender<Arc<str>>);

impl LogSource for Logs {
    fn open(&self, _: &LogOf, _: usize, tail: Tail) -> std::io::Result<LogLines> {
        let live = (tail == Tail::Follow).then(|| Live::of(self.0.subscribe(), |line| line.to_string()));
        Ok(LogLines { last: vec!["last \u{202e}\u{1b}[31m".into()], live })
    }
}

/// A log that cannot be read.
struct NoLog;

fn no_log<T>() -> Result<T, operator::Problem> {
    Err(operator::Problem::new("audit_unavailable", "there is no log here"))
}

impl AuditSource for NoLog {
    fn deed(&self, _: &control::Deed) {}
    fn page(&self, _: &AuditQuery) -> Result<AuditPage, operator::Problem> {
        no_log()
    }
    fn write(&self, _: &control::Deed) -> Result<(), operator::Problem> {
        Ok(())
    }
    fn trail(&self, _: &str) -> Result<AuditTrail, operator::Problem> {
        no_log()
    }
    fn values(&self, _: &str) -> Result<operator::words::AuditValues, operator::Problem> {
        no_log()
    }
    fn decided(&self, _: &AuditFilter, _: Option<u64>, _: u32) -> Result<control::Decided, operator::Problem> {
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
    fn accept(&self, _: &str) -> Result<AuditAccepted, operator::Problem> {
        no_log()
    }
    fn export(
        &self,
        _: &AuditFilter,
        _: control::With,
        _: &mut dyn FnMut(AuditRow) -> bool,
    ) -> Result<(), operator::Problem> {
        no_log()
    }
}
