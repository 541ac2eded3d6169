//! `callgate serve`: puts the hub together and runs it until it is told to stop. The relay is this thread; the
//! committer and the desk are threads of their own.

mod audit;
mod desk;
mod documents;
mod lock;
mod logs;

use crate::args::{Globals, Serve};
use crate::commands::{Exit, Form, say, sentence};
use crate::system;
use contract::Hash;
use endpoint::http::{self as door, HttpDoor};
use endpoint::socket::Listener;
use hub::config::{Hub, PlaceError, Places, ReadError};
use hub::operate::OperatorHandle;
use hub::pin::{Pin, PinError};
use hub::prepared::{Prepared, prepare};
use hub::record::Audit;
use hub::relay::{Boot, Relay};
use hub::tokens::{TokenError, Tokens};
use lock::Lock;
use operator::Problem;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use store::{Fate, Job, Opening, Store, StoreFault};
use tokio::net::TcpListener;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::LocalSet;
use upstream::launch::{Launcher, Patience, Seed, sow};
use upstream::logs::Logs;
use upstream::search_path::Search;
use upstream::{Parts, task};

/// Operations of the person's door that may wait for the relay.
const OPERATIONS: usize = 64;
/// Happenings that a slow listener may miss.
const EVENTS: usize = 256;
/// How long the guard may take to leave.
const FAREWELL: Duration = Duration::from_secs(3);
/// How long those who wait for a hub have it to themselves, where all lists are known.
const AT_THE_DOOR: Duration = Duration::from_millis(1);
/// How long the login shell may take to tell its PATH.
const LOGIN: Duration = Duration::from_secs(4);
/// The setting that keeps the port.
const PORT: &str = "http.port";

/// Why the hub does not run.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Places(#[from] PlaceError),
    #[error("a hub is already running here (pid {0})")]
    Running(u32),
    #[error("the config is not usable")]
    Config(#[from] ReadError),
    #[error("{0}")]
    System(String, #[source] io::Error),
    #[error(transparent)]
    Store(#[from] StoreFault),
    /// The committer has left without being told to.
    #[error("the thread that writes the database has ended by itself")]
    Ended,
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// The file of the PIN cannot be read: without it nobody can be told from the person.
    #[error(transparent)]
    Pin(#[from] PinError),
    #[error(transparent)]
    Launch(#[from] upstream::launch::LaunchFault),
}

fn failed(what: &str) -> impl FnOnce(io::Error) -> Fault {
    let what = what.to_owned();
    move |error| Fault::System(what, error)
}

/// Runs the hub until it is stopped.
pub fn run(args: &Serve, globals: &Globals) -> ExitCode {
    system::keep_private();
    if args.detached {
        system::leave_session();
    }
    // Before anything is opened and any thread runs; where it is refused, the binary is run again instead.
    let seed = sow().ok();
    let places = Places::here(globals.config.as_deref()).map_err(Fault::from);
    let served = places.and_then(|places| serve(&places, args, globals, seed));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => fault.report(Form::of(globals)),
    }
}

impl Fault {
    /// Says it on stderr and gives the exit code.
    fn report(&self, form: Form) -> ExitCode {
        let (code, next, exit) = match self {
            Fault::Places(error) if error.is_wrong_setting() => ("usage", None, Exit::Usage),
            Fault::Config(error) => return refuse(&error.lines(), form),
            Fault::Running(_) => ("already_running", Some("callgate status"), Exit::Failed),
            Fault::Store(_) | Fault::Ended => ("store", None, Exit::Failed),
            Fault::Places(_) | Fault::System(..) | Fault::Tokens(_) | Fault::Pin(_) | Fault::Launch(_) => {
                ("io", None, Exit::Failed)
            }
        };
        let problem = Problem::new(code, sentence(self));
        say(&next.into_iter().fold(problem, Problem::next), form);
        exit.into()
    }
}

/// All faults of a config at once, each on its line: editors find the places by themselves.
fn refuse(faults: &[String], form: Form) -> ExitCode {
    match form {
        Form::Json => say(&Problem::new("bad_config", faults.join("\n")).next("callgate config check"), form),
        Form::Text => {
            // Where stderr is closed there is nobody to tell.
            let _ = io::stderr().write_all((faults.join("\n") + "\n").as_bytes());
        }
    }
    Exit::Usage.into()
}

fn serve(places: &Places, args: &Serve, globals: &Globals, seed: Option<Seed>) -> Result<(), Fault> {
    places.create()?;
    let lock = Lock::take(&places.lock())?;
    documents::remove(&places.run.join("stopped"));
    // That of a hub which was killed.
    documents::remove(&places.endpoint());
    let server_logs = Logs::open(&places.logs()).map_err(failed("the logs cannot be written"))?;
    let hub_log = logs::begin(server_logs.hub(), server_logs.redactor());
    hub::config::prepare(places).map_err(failed("the default config cannot be written"))?;
    let prepared = prepare(&places.config, &places.home)?;
    for warning in &prepared.warnings {
        tracing::warn!(%warning, "config");
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(4)
        .build()
        .map_err(failed("no runtime could be made"))?;
    let local = LocalSet::new();
    let outcome = runtime.block_on(local.run_until(relay(places, args, globals, prepared, server_logs, (seed, &lock))));
    documents::remove(&places.endpoint());
    drop((hub_log, lock));
    outcome
}

async fn relay(
    places: &Places,
    args: &Serve,
    globals: &Globals,
    prepared: Prepared,
    server_logs: Logs,
    (seed, lock): (Option<Seed>, &Lock),
) -> Result<(), Fault> {
    let binary = std::env::current_exe().map_err(failed("the own binary cannot be found"))?;
    // The running file itself, also where an upgrade has put another one in its place.
    let image = Path::new("/proc/self/exe");
    let launcher = Launcher::start(if image.exists() { image } else { &binary }, &places.state, seed, lock.past())?;
    let (tell, mut told) = mpsc::channel(256);
    let (settle, settled) = oneshot::channel();
    let mut options = store::Options::new(env!("CARGO_PKG_VERSION"));
    options.durability = match prepared.config.hub.audit.durability {
        hub::config::Durability::System => store::Durability::System,
        hub::config::Durability::Power => store::Durability::Power,
    };
    // What the last run left open is settled on the disk while the doors are opened.
    let opening = Store::begin(
        &places.state,
        &places.run,
        options,
        move |it| {
            // The relay has gone when this fails, and with it everybody who waits.
            let _ = tell.blocking_send(it);
        },
        move |settlement| drop(settle.send(settlement)),
    )?;
    let Opening { ledger, flight, committer, thread, kept, vault, .. } = opening;
    let parts = Parts::new(
        launcher.clone(),
        server_logs.clone(),
        Search::new(launcher.clone(), std::env::vars_os().collect(), LOGIN),
        std::env::vars_os().collect(),
        places.home.clone(),
        Patience::default(),
    );

    let token = documents::token(&places.token()).map_err(failed("the token file cannot be written"))?;
    let settings = prepared.config.hub;
    let bound = bind(&settings, args.port, &kept.settings).await;
    let http = match &bound {
        Ok(Some((_, port))) => Ok(format!("http://127.0.0.1:{port}/mcp")),
        Ok(None) => Err(None),
        Err(problem) => Err(Some(problem.clone())),
    };
    let mut port_kept = None;
    if let Ok(Some((_, port))) = &bound {
        let known = kept.settings.iter().any(|(key, value)| key == PORT && *value == port.to_string());
        if settings.port == 0 && args.port.is_none() && !known {
            let (keep, done) = oneshot::channel();
            let job = Job::Set { key: PORT.into(), value: Some(port.to_string()), note: None };
            let tell = move |result| {
                let _ = keep.send(result);
            };
            committer.submit(job, Some(Box::new(tell)));
            port_kept = Some(done);
        }
    }

    let (operations, operated) = mpsc::channel(OPERATIONS);
    let (events, _) = broadcast::channel(EVENTS);
    let held = parts.hold_starts();
    let audit = Audit::new(ledger, flight, committer.clone(), vault);
    let relay = Relay::start(Boot {
        audit: Rc::clone(&audit),
        kept,
        parts,
        config_file: places.config.clone(),
        prepared,
        events: events.clone(),
        http: http.clone(),
    });
    let agents = relay.core().agents();

    let agent_socket = places.agent_socket();
    documents::remove(&agent_socket);
    let listener = Listener::open(&agent_socket).map_err(failed("agent.sock cannot be made"))?;

    let book = Arc::new(Tokens::open(&places.state.join("tokens.json"))?);
    let pin = Arc::new(Pin::open(&places.state.join("pin.json"))?);
    let mut valid = book.valid();
    let (clients, own) = (book.valid(), token.clone());
    let (end_http, http_ended) = watch::channel(false);
    let mut doors = tokio::task::JoinSet::new();
    task::spawn_in(&mut doors, "accept on the socket", endpoint::socket::serve(listener, agents.clone()));
    let mut streams = None;
    if let Ok(Some((listener, port))) = bound {
        let door = Rc::new(HttpDoor::new(agents, known(&token, &valid.borrow()), port));
        let serving = Rc::clone(&door);
        let (mut latest, secret) = (book.valid(), token.clone());
        door.ask_for_tokens(move || {
            latest.has_changed().unwrap_or(false).then(|| known(&secret, &latest.borrow_and_update()))
        });
        let served = async move { serving.serve(listener, Default::default(), ended(http_ended)).await };
        streams = Some(task::spawn_in(&mut doors, "accept over HTTP", served));
        task::spawn_in(&mut doors, "tokens", async move {
            while valid.changed().await.is_ok() {
                door.set_tokens(known(&token, &valid.borrow_and_update()));
            }
        });
    }
    let (told_of, mut changed, default) = (Rc::clone(&relay), book.valid(), own.clone());
    task::spawn_in(&mut doors, "clients of removed tokens", async move {
        while changed.changed().await.is_ok() {
            told_of.tokens_are(holders(&default, &changed.borrow_and_update()));
        }
    });
    let handle = OperatorHandle::new(operations, events);
    let reading = Arc::new(logs::Reading::new(server_logs, &places.logs()));
    let log = Arc::new(audit::Log { dir: places.state.clone(), committer: committer.clone() });
    let closed = "the person's door cannot be opened";
    let (desk, desk_opened) = desk::start(places, handle.clone(), reading, log, book, pin).map_err(failed(closed))?;

    match relay.shows_all() {
        // Who waits at the door is answered first: ten servers that start take all processors for a while.
        true => drop(task::spawn("servers begin to start", async move {
            tokio::time::sleep(AT_THE_DOOR).await;
            drop(held);
        })),
        false => drop(held),
    }

    // Agents are answered already. Others are told when all doors are open and the log has begun.
    let opened = async {
        let settlement = settled.await.map_err(|_| StoreFault::Thread("it panicked"))??;
        relay.settled(&settlement);
        relay.tokens_are(holders(&own, &clients.borrow()));
        for call in &settlement.recovered {
            tracing::warn!(call = %call.call, fate = fate(call.fate), server = %call.server, item = %call.item, "a call was open when the last run ended");
        }
        desk_opened.await.map_err(io::Error::other).flatten().map_err(failed(closed))?;
        // What is told stays true after a crash: the port is chosen once. Where it cannot be kept, another is, next time.
        if let Some(kept) = port_kept {
            let _ = kept.await;
        }
        relay.recalled().await;
        let (owned, url) = (places.clone(), http.clone().ok());
        let told = tokio::task::spawn_blocking(move || documents::announce(&owned, &binary, url.as_ref()));
        told.await.map_err(io::Error::other).flatten().map_err(failed("endpoint.json cannot be written"))?;
        ready(places, globals, http.as_ref());
        Ok(())
    };
    let broken = async {
        match opened.await {
            Ok(()) => std::future::pending().await,
            Err(fault) => fault,
        }
    };
    let listening = async {
        while let Some(it) = told.recv().await {
            audit.told(it);
        }
        // Why it has gone was told before it went, but perhaps after that was looked for in this turn.
        tokio::task::yield_now().await;
    };
    let running = async {
        tokio::select! {
            // What broke is known before its thread is gone.
            biased;
            fault = broken => return Err(fault),
            () = relay.operate(operated) => documents::mark_stopped(places),
            () = listening => return Err(Fault::Ended),
            () = system::told_to_stop() => {}
        }
        Ok(())
    };
    if let Err(fault) = task::watched("person's door and the committer's word", running).await {
        documents::remove(&agent_socket);
        if !matches!(fault, Fault::Ended) {
            return Err(fault);
        }
        // It says why by ending.
        let ended = tokio::task::spawn_blocking(move || thread.stop()).await;
        return Err(ended.ok().and_then(Result::err).map_or(fault, Fault::from));
    }
    tracing::info!("stopping");
    documents::remove(&places.endpoint());
    relay.core().refuse();
    let told_on = task::spawn("committer's word", async move {
        while let Some(it) = told.recv().await {
            audit.told(it);
        }
    });
    relay.wind_down().await;
    let _ = end_http.send(true);
    if let Some(streams) = streams {
        // Their clients see an end instead of a broken line; who does not read is cut off.
        let ended = async { while !streams.is_finished() && doors.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(FAREWELL, ended).await;
    }
    drop(doors);
    desk.end();
    match launcher.close(FAREWELL).await {
        true => lock.all_left(),
        false => tracing::warn!("the guard was late"),
    }
    documents::remove(&agent_socket);
    relay.core().settle();
    drop(relay);
    let stopped = tokio::task::spawn_blocking(move || thread.stop()).await;
    told_on.abort();
    match stopped {
        Ok(result) => Ok(result?),
        Err(_) => Ok(()),
    }
}

/// What became of a call that was open when the last run ended, as the log says it.
fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::NotSent => "surely not sent",
        Fate::OutcomeUnknown => "may have run",
    }
}

/// The default token and the named ones, as the HTTP door compares them.
fn known(default: &str, named: &[(String, Hash)]) -> door::Tokens {
    door::Tokens::new(holders(default, named).map(|(name, hash)| door::Token { name, hash }).collect())
}

/// Name and hash of every valid token.
fn holders(default: &str, named: &[(String, Hash)]) -> impl Iterator<Item = (Rc<str>, Hash)> {
    let own = ("default".into(), Hash::of(default.as_bytes()));
    let named: Vec<(Rc<str>, Hash)> = named.iter().map(|(name, hash)| (name.as_str().into(), *hash)).collect();
    std::iter::once(own).chain(named)
}

async fn ended(mut end: watch::Receiver<bool>) {
    // A sender that is gone has ended too.
    let _ = end.wait_for(|ended| *ended).await;
}

/// The listener for HTTP hosts and its port; None where HTTP is off; a problem where the port is taken.
async fn bind(
    settings: &Hub,
    asked: Option<u16>,
    kept: &[(String, String)],
) -> Result<Option<(TcpListener, u16)>, String> {
    if !settings.http {
        return Ok(None);
    }
    let sticky = kept.iter().find(|(key, _)| key == PORT).and_then(|(_, port)| port.parse().ok());
    let port = asked.unwrap_or(if settings.port == 0 { sticky.unwrap_or(0) } else { settings.port });
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match TcpListener::bind(address).await {
        Ok(listener) => {
            let port = listener.local_addr().map_err(|error| error.to_string())?.port();
            Ok(Some((listener, port)))
        }
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(taken(port)),
        Err(error) => Err(format!("port {port} cannot be used: {error}")),
    }
}

fn taken(port: u16) -> String {
    match listeners::get_process_by_port(port, listeners::Protocol::TCP) {
        Ok(holder) => format!("port {port} is held by {} (pid {})", holder.name, holder.pid),
        Err(_) => format!("port {port} is in use by another user's process"),
    }
}

#[allow(clippy::print_stdout, reason = "the one ready line that scripts wait for")]
fn ready(places: &Places, globals: &Globals, http: Result<&String, &Option<String>>) {
    if globals.json {
        if let Ok(text) = std::fs::read_to_string(places.endpoint()) {
            println!("{}", text.trim_end());
        }
        return;
    }
    let at = match http {
        Ok(url) => format!("hosts attach at {url} or with `callgate stdio`"),
        Err(Some(problem)) => format!("hosts attach with `callgate stdio`; no HTTP: {problem}"),
        Err(None) => "hosts attach with `callgate stdio`".into(),
    };
    println!("callgate is ready (pid {}): {at}", std::process::id());
}
