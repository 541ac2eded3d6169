//! The relay thread's own work besides the calls: does what the person's door asks for, and stops in order. What a
//! config means is [`taken`]'s.

mod act;
mod taken;

use crate::agent::{Identity, Notice, Notices, PERSON, View};
use crate::catalog::ToolEntry;
use crate::config::{Accepted, Config};
use crate::core::Core;
use crate::gate::{self, desk};
use crate::operate::{CallView, Event, Operation, Refusal, Status};
use crate::person::Pause;
use crate::prepared::Prepared;
use crate::record::Audit;
use crate::views;
use crate::who::Who;
use bytes::Bytes;
use frame::{Answer, Ask, Level, Origin, Progress, Reply, Version, object};
use policy::CallState;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use store::Kept;
use taken::{ACCEPTED, POLICY, strictest};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::time::{Instant, timeout_at};
use upstream::{Parts, Stopping, linger, task};

/// How long the reading of remembered lists may hold up the word that all is open.
const RECALL: Duration = Duration::from_secs(10);
/// How long running calls may go on when the hub stops.
const DRAIN: Duration = Duration::from_secs(5);

/// Everything the relay needs to begin.
pub struct Boot {
    /// The audit.
    pub audit: Rc<Audit>,
    /// What the last run left.
    pub kept: Kept,
    /// How servers are run.
    pub parts: Rc<Parts>,
    /// The config file.
    pub config_file: PathBuf,
    /// What it said at start.
    pub prepared: Prepared,
    /// Happenings, for the person's door.
    pub events: broadcast::Sender<Event>,
    /// Where HTTP hosts attach, or why not.
    pub http: Result<String, Option<String>>,
}

/// What is said of a log that is not the one that was anchored.
const DISTRUST: &str = "not the log that was written last; what may change something waits for a person \
                        (callgate audit verify)";

/// What is said where something that was sealed cannot be opened.
const SEALED: &str = "values that were sealed cannot be opened any more (seal.key is gone or another one, or they were \
                      changed): calls that wait with them can only be denied (callgate audit list --kind seal)";

/// The relay.
pub struct Relay {
    core: Rc<Core>,
    parts: Rc<Parts>,
    kept: RefCell<Kept>,
    config_file: PathBuf,
    config: RefCell<Config>,
    /// What a person, or the first load, has accepted.
    accepted: RefCell<Option<Accepted>>,
    problems: RefCell<Vec<String>>,
    http: Result<String, Option<String>>,
    started: SystemTime,
    stopping: Cell<bool>,
}

impl Relay {
    /// Builds the servers of the config; eager ones and those never listed begin to start. Inside a `LocalSet`.
    pub fn start(boot: Boot) -> Rc<Relay> {
        linger::begin();
        let relay = Rc::new(Relay {
            core: Core::new(boot.audit, boot.events),
            parts: boot.parts,
            kept: RefCell::new(boot.kept),
            config_file: boot.config_file,
            config: RefCell::default(),
            accepted: RefCell::default(),
            problems: RefCell::default(),
            http: boot.http,
            started: SystemTime::now(),
            stopping: Cell::new(false),
        });
        let (calls, grants) = {
            let mut kept = relay.kept.borrow_mut();
            relay.core.gate.pins.take_over(std::mem::take(&mut kept.pins), relay.core.ledger.vault());
            (std::mem::take(&mut kept.calls), std::mem::take(&mut kept.grants))
        };
        let pause = {
            let kept = relay.kept.borrow();
            kept.settings.iter().find(|(key, _)| key == desk::PAUSE).map(|(_, text)| text.clone())
        };
        if let Some(text) = pause {
            // What cannot be read was a pause all the same.
            let unread = || Pause { since_ms: Some(0), by: String::new() };
            relay.core.gate.set_pause(serde_json::from_str(&text).unwrap_or_else(|_| unread()));
        }
        let accepted = {
            let kept = relay.kept.borrow();
            kept.settings.iter().find(|(key, _)| key == ACCEPTED).map(|(_, text)| text.clone())
        };
        // What cannot be read was never accepted: then the strictest holds until a person has said something.
        *relay.accepted.borrow_mut() = accepted.map(|text| Accepted::parse(&text).unwrap_or_else(strictest));
        relay.apply(boot.prepared, None);
        gate::kept::take_over(&relay.core, calls, grants);
        relay
    }

    /// The hub.
    pub fn core(&self) -> &Rc<Core> {
        &self.core
    }

    /// What became of the calls that were open when the last run ended.
    pub fn settled(&self, found: &store::Settlement) {
        self.core.gate.set_distrust(found.trust != store::Trust::Whole);
        if !found.sealed.is_whole() {
            tracing::error!(key_is_lost = found.sealed.key_is_lost, calls = found.sealed.calls.len(), "{}", SEALED);
            self.core.gate.set_sealed();
        }
        gate::kept::settle(&self.core, &found.recovered);
    }

    /// Whether what every server lists can be shown, so that nobody waits for one to start.
    pub fn shows_all(&self) -> bool {
        self.core.unlisted(&View::All).is_empty()
    }

    /// No tokens but these, by name and hash, are valid: what others left waiting ends. To be told at the start, when it
    /// is known what waits, and after each change.
    pub fn tokens_are(&self, valid: impl Iterator<Item = (Rc<str>, contract::Hash)>) {
        let valid = valid.map(|(name, hash)| Rc::clone(Who::token(&name, &hash).id())).collect();
        gate::gone::end(&self.core, &valid);
    }

    /// Waits until all lists that were remembered can be shown; long ones are being read.
    pub async fn recalled(&self) {
        let deadline = Instant::now() + RECALL;
        for backend in self.core.backends() {
            loop {
                let news = backend.news.notified();
                let known = backend.server().is_some_and(|server| server.listing().is_some());
                if !known || backend.is_listed() || timeout_at(deadline, news).await.is_err() {
                    break;
                }
            }
        }
    }

    /// Does what the person's door asks for until the hub is to stop.
    pub async fn operate(self: &Rc<Self>, mut operations: mpsc::Receiver<Operation>) {
        while let Some(operation) = operations.recv().await {
            if let Operation::Stop(tell) = operation {
                self.stopping.set(true);
                let _ = tell.send(());
                return;
            }
            self.execute(operation);
        }
    }

    /// Whoever asked and has gone needs no answer: results of `send` are dropped.
    fn execute(self: &Rc<Self>, operation: Operation) {
        match operation {
            Operation::Status(tell) => drop(tell.send(self.status())),
            Operation::Server(name, tell) => {
                let found = self.core.backend(&name).ok_or_else(|| unknown_server(&name));
                drop(tell.send(found.map(|backend| views::detail(&backend))));
            }
            Operation::Act(name, action, tell) => {
                let me = Rc::clone(self);
                task::spawn("person's start or stop", async move { drop(tell.send(me.act(&name, action).await)) });
            }
            Operation::Tools(server, tell) => {
                // For a person the tools exist that the rules hide from hosts, too.
                let all = self.core.every_tool();
                let of_server =
                    |tool: &&Rc<ToolEntry>| server.as_deref().is_none_or(|key| key == &**tool.backend.key());
                drop(tell.send(all.iter().filter(of_server).map(|tool| views::tool(tool)).collect()));
            }
            Operation::Call(tool, arguments, tell) => self.call(&tool, &arguments, tell),
            Operation::Waiting(tell) => drop(tell.send(desk::waiting(&self.core))),
            Operation::Decide(said, tell) => {
                let core = Rc::clone(&self.core);
                task::spawn("person's decision", async move {
                    drop(tell.send(gate::decide::decide(&core, said).await));
                });
            }
            Operation::Decided(id, tell) => drop(tell.send(self.core.gate.recent(&id))),
            Operation::Remembered(tell) => drop(tell.send(gate::forget::remembered(&self.core))),
            Operation::Forget(which, by, tell) => {
                let core = Rc::clone(&self.core);
                task::spawn("person takes approvals back", async move {
                    drop(tell.send(gate::forget::forget(&core, which, &by).await));
                });
            }
            Operation::Calls(tell) => drop(tell.send(desk::calls(&self.core))),
            Operation::Settle(id, finding, by, tell) => {
                let core = Rc::clone(&self.core);
                task::spawn("person settles a call", async move {
                    drop(tell.send(desk::settle(&core, &id, finding, &by).await));
                });
            }
            Operation::Pause(pauses, by, tell) => {
                let core = Rc::clone(&self.core);
                task::spawn("person pauses calls", async move {
                    drop(tell.send(desk::pause(&core, pauses, by).await));
                });
            }
            Operation::EndRest(server, by, tell) => {
                let core = Rc::clone(&self.core);
                task::spawn("person ends a rest", async move {
                    drop(tell.send(gate::rest::resume(&core, &server, &by).await));
                });
            }
            Operation::Reviews(server, tell) => {
                drop(tell.send(gate::review::diff(&self.core, server.as_deref())));
            }
            Operation::ApproveDefinition(target, hash, by, tell) => {
                let me = Rc::clone(self);
                task::spawn("person approves definitions", async move {
                    let approved = match target == POLICY {
                        true => me.accept_policy(hash, &by).await,
                        false => gate::review::approve(&me.core, &target, hash, &by).await,
                    };
                    if approved.is_ok() && me.core.gate.pins.holds(&target) {
                        // What was held is launched now.
                        me.reload().await;
                    }
                    drop(tell.send(approved));
                });
            }
            Operation::Trust(tell) => {
                desk::trust(&self.core);
                let _ = tell.send(());
            }
            Operation::Policy(tell) => drop(tell.send(desk::policy(&self.core))),
            Operation::Explain(question, tell) => {
                let core = Rc::clone(&self.core);
                task::spawn("explain", async move { drop(tell.send(desk::explain(&core, question).await)) });
            }
            Operation::Reload(tell) => {
                let me = Rc::clone(self);
                task::spawn("reload", async move { drop(tell.send(me.reload().await)) });
            }
            Operation::Stop(tell) => drop(tell.send(())),
        }
    }

    fn status(&self) -> Status {
        let held = self.core.gate.held();
        Status {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").into(),
            started_ms: views::millis(self.started),
            mcp_url: self.http.as_ref().ok().cloned(),
            http_problem: self.http.as_ref().err().cloned().flatten(),
            config_problems: self.problems.borrow().clone(),
            servers: self.core.backends().iter().map(|backend| views::server(backend)).collect(),
            clients: self.core.seats().iter().map(|seat| views::client(seat)).collect(),
            audit: match self.core.ledger.state() {
                state if state == "ok" && self.core.gate.has_distrust() => DISTRUST.into(),
                state if state == "ok" && self.core.gate.has_sealed() => SEALED.into(),
                state => state,
            },
            slow: views::slow(task::slow()),
            unlooked: self.core.gate.glances.missed(),
            waiting: self.core.count_of(CallState::Waiting),
            unknown: self.core.count_of(CallState::Unknown),
            pause: self.core.gate.pause(),
            rests: self.core.gate.rests.all(),
            held: held.as_ref().map(|held| held.sentences.clone()).unwrap_or_default(),
            held_hash: held.map(|held| held.hash.to_string()),
            from_host_tree: self.core.gate.settings().policy.approval.from_host_tree,
        }
    }

    fn call(&self, tool: &str, arguments: &str, tell: oneshot::Sender<Result<CallView, Refusal>>) {
        let who = Who::operator();
        let identity = Identity { who, transport: PERSON, session: "operator".into(), process: None };
        let Ok(seat) = self.core.agents().join(identity, View::All, Rc::new(Deaf)) else { return };
        let params = format!("{{\"name\":{},\"arguments\":{arguments}}}", object::quote(tool));
        if frame::Frame::parse(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{params}}}").into()).is_err()
        {
            let message = "the arguments are not one JSON text".to_owned();
            let next = Some("give a JSON object, e.g. '{\"text\":\"hello\"}'".into());
            drop(tell.send(Err(Refusal { code: "bad_arguments".into(), message, next })));
            return;
        }
        let info = Bytes::from_static(b"{\"name\":\"callgate\"}");
        let origin = Origin::new(Version::LEGACY, info, Bytes::from_static(b"{}"), Some(Level::Emergency));
        let ask = Ask {
            method: "tools/call".into(),
            params: Bytes::from(params).into(),
            origin: Rc::new(origin),
            wants_progress: false,
        };
        let (end, ended) = oneshot::channel();
        let ticket = seat.ask(ask, Box::new(Once(end)));
        task::spawn("person's call", async move {
            let mut tell = tell;
            tokio::select! {
                answer = ended => {
                    if let Ok(answer) = answer {
                        drop(tell.send(Ok(view_of(answer))));
                    }
                }
                () = tell.closed() => ticket.cancel(),
            }
            drop(seat);
        });
    }

    /// Waits for running calls for a while, then stops all servers. Doors must be closed before.
    pub async fn wind_down(&self) {
        let deadline = Instant::now() + DRAIN;
        let busy =
            || self.core.backends().iter().any(|backend| backend.server().is_some_and(|server| server.load().0 > 0));
        while (busy() || gate::hold::holds(&self.core)) && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let mut stops = tokio::task::JoinSet::new();
        for backend in self.core.backends() {
            if let Some(server) = backend.server().cloned() {
                task::spawn_in(&mut stops, "stop a server", async move { server.retire(Stopping::HubStops).await });
            }
        }
        while stops.join_next().await.is_some() {}
        for backend in self.core.backends() {
            backend.clear();
        }
        gate::glance::finish(&self.core).await;
    }
}

fn unknown_server(name: &str) -> Refusal {
    Refusal {
        code: "unknown_server".into(),
        message: format!("there is no server `{name}`"),
        next: Some("callgate server list".into()),
    }
}

fn view_of(answer: Answer) -> CallView {
    let (body, rpc_error) = match answer {
        Answer::Result { body, .. } => (body.join(), false),
        Answer::Error(error) => (error.join(), true),
    };
    let is_error = object::is_true(&body, "isError");
    CallView { body: String::from_utf8_lossy(&body).into_owned(), rpc_error, is_error }
}

/// A client that hears nothing.
struct Deaf;

impl Notices for Deaf {
    fn notice(&self, _notice: &Notice) {}
}

struct Once(oneshot::Sender<Answer>);

impl Reply for Once {
    fn progress(&mut self, _progress: &Progress) {}
    fn log(&mut self, _level: Level, _params: &Bytes) {}
    fn done(self: Box<Self>, answer: Answer) {
        // A person that has gone needs no answer.
        let _ = self.0.send(answer);
    }
}
