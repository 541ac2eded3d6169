//! From a description to a connected, listed server: launch, probe of the era, handshake, lists; and back:
//! the words for how it ended, the order of stopping.

use crate::drive::Live;
use crate::launch::{Step, Tree, stop_ladder};
use crate::listing::{self, Listing, Next, Pages};
use crate::server::Server;
use crate::session::{List, Session};
use crate::spec::{Spec, Transport};
use crate::waiter::{Failure, Waiter};
use bytes::Bytes;
use frame::{Answer, Era, Level, Progress, Version, object};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use wire::era::{error_code, legacy_server, modern_server};
use wire::link::Inbox;
use wire::stdio::StdioLink;

/// How long a server may be silent after `server/discover` before `initialize` is sent as well.
const SILENCE: Duration = Duration::from_secs(3);
/// Package runners may download before the server's first word.
const INSTALL: Duration = Duration::from_secs(600);
/// How long the exit status of a process may come after its stdout has ended.
const LAST_WORD: Duration = Duration::from_millis(500);

/// Why there is no connection.
pub(crate) enum Fault {
    /// It can't work as configured.
    Unusable(String),
    /// It did not work this time.
    Failed(String),
}

/// Whether the command is a package runner, which may install something first.
pub(crate) fn installs(spec: &Spec) -> bool {
    let process = match &spec.transport {
        Transport::Stdio(process) | Transport::HttpChild { process, .. } => process,
        Transport::Http { .. } => return false,
    };
    let command = process.command.rsplit(['/', '\\']).next().unwrap_or_default();
    let command = command.split('.').next().unwrap_or_default();
    matches!(command, "npx" | "uvx" | "bunx" | "pnpx" | "pipx" | "docker" | "podman")
        || matches!((command, process.args.first().map(String::as_str)), ("pnpm" | "yarn", Some("dlx")))
        || matches!((command, process.args.first().map(String::as_str)), ("npm", Some("exec" | "x")))
        || matches!((command, process.args.first().map(String::as_str)), ("uv", Some("tool" | "run")))
}

/// Starts and connects a server and tells its lists.
pub(crate) async fn connect(server: &Rc<Server>) -> Result<Live, Fault> {
    let budget =
        if installs(&server.spec) { server.spec.start_timeout.max(INSTALL) } else { server.spec.start_timeout };
    let _turn = server.parts.turn().await;
    let deadline = Instant::now() + budget;
    let mut era = server.memory.get();
    for last in [false, true] {
        let mut live = open(server).await?;
        let shaken = timeout_at(deadline, handshake(server, &live.session, era)).await;
        let why = match shaken {
            Ok(Ok(hello)) => {
                server.memory.set(Some(live.session.era.get()));
                let listing = timeout_at(deadline, read_all(server, &live.session, hello)).await;
                match listing {
                    Ok(Ok(listing)) => {
                        *server.session.borrow_mut() = Some(Rc::clone(&live.session));
                        publish(server, listing);
                        return Ok(live);
                    }
                    Ok(Err(why)) => why,
                    Err(_) => format!("its lists did not come within {} s", budget.as_secs()),
                }
            }
            // It died of the probe: the same once more, without one.
            Ok(Err(Unshaken::Died(why))) if !last && era != Some(Era::Legacy) => {
                era = Some(Era::Legacy);
                live.session.close(&why);
                stop(server, &live).await;
                continue;
            }
            Ok(Err(Unshaken::Died(why))) => obituary(server, live.tree.as_ref(), &why).await,
            Ok(Err(Unshaken::Refused(why))) => why,
            Err(_) => server.parts.with_last_words(
                &server.name,
                &format!("it did not answer `initialize` within {} s", budget.as_secs()),
            ),
        };
        live.session.close(&why);
        stop(server, &live).await;
        live.tree = None;
        return Err(Fault::Failed(why));
    }
    Err(Fault::Failed("it dies at start".into()))
}

async fn open(server: &Rc<Server>) -> Result<Live, Fault> {
    let listener = Rc::downgrade(server);
    let session = Session::new(Rc::clone(&server.counters), listener);
    let inbox: Rc<dyn Inbox> = Rc::clone(&session) as Rc<dyn Inbox>;
    match &server.spec.transport {
        Transport::Stdio(process) => {
            let (child, program) = server.parts.launch(&server.name, process).await.map_err(Fault::Failed)?;
            *server.program.borrow_mut() = Some(program.display().to_string());
            server.pid.set(u32::try_from(child.tree.pid()).ok());
            server.parts.drain(&server.name, child.stderr);
            let link = StdioLink::open(child.stdin, child.stdout, server.spec.max_message, inbox)
                .map_err(|error| Fault::Failed(format!("its pipes cannot be used: {error}")))?;
            session.plug(Box::new(link));
            Ok(Live { session, tree: Some(child.tree) })
        }
        Transport::Http { .. } | Transport::HttpChild { .. } => {
            Err(Fault::Unusable("HTTP servers are not supported yet".into()))
        }
    }
}

/// Why a handshake failed.
enum Unshaken {
    /// The connection ended.
    Died(String),
    /// The server answers, but not what is needed.
    Refused(String),
}

/// What a server said of itself.
struct Hello {
    version: Version,
    capabilities: Bytes,
    server_info: Bytes,
    instructions: Option<String>,
}

type Outcome = Result<Answer, Failure>;

/// A waiter for the hub's own requests.
struct Told(oneshot::Sender<Outcome>);

impl Waiter for Told {
    fn sending(&mut self) -> bool {
        true
    }
    fn progress(&mut self, _progress: &Progress) {}
    fn log(&mut self, _level: Level, _params: &Bytes) {}
    fn done(self: Box<Self>, end: Outcome) {
        // A receiver that is gone has lost interest.
        let _ = self.0.send(end);
    }
}

async fn ask(server: &Server, session: &Session, method: &str, params: &Bytes, era: Era) -> Outcome {
    let (tell, told) = oneshot::channel();
    // The caller's own deadline is nearer; this one only keeps the entry from staying for ever.
    session.own_request(server.id(), method, params, era, INSTALL, Box::new(Told(tell)));
    told.await.unwrap_or_else(|_| Err(Failure::Crashed("the connection was given up".into())))
}

async fn handshake(server: &Server, session: &Session, memory: Option<Era>) -> Result<Hello, Unshaken> {
    let initialize = legacy_server::initialize(env!("CARGO_PKG_VERSION")).join();
    if memory == Some(Era::Legacy) {
        return legacy(session, ask(server, session, "initialize", &initialize, Era::Legacy).await);
    }
    let empty = Bytes::from_static(b"{}");
    let discover = ask(server, session, "server/discover", &empty, Era::Modern);
    tokio::pin!(discover);
    let first = timeout(SILENCE, &mut discover).await;
    let outcome = match first {
        Ok(outcome) => outcome,
        // Silent so far: whichever answers first decides; -32022 means that the first message has already decided.
        Err(_) => {
            let classic = ask(server, session, "initialize", &initialize, Era::Legacy);
            tokio::select! {
                outcome = &mut discover => outcome,
                outcome = classic => match outcome {
                    Ok(Answer::Error(error)) if error_code(&error.join()) == Some(-32022) => discover.await,
                    outcome => return legacy(session, outcome),
                },
            }
        }
    };
    match outcome {
        Ok(Answer::Result { body, .. }) => {
            let body = body.join();
            if modern_server::speaks_modern(&body) {
                session.era.set(Era::Modern);
                return Ok(modern(&body));
            }
        }
        Ok(Answer::Error(_)) => {}
        Err(failure @ (Failure::Crashed(_) | Failure::Unavailable(_))) => {
            return Err(Unshaken::Died(failure.to_string()));
        }
        Err(_) => {}
    }
    legacy(session, ask(server, session, "initialize", &initialize, Era::Legacy).await)
}

fn modern(body: &Bytes) -> Hello {
    let [capabilities, instructions, meta] = object::pick(body, ["capabilities", "instructions", "_meta"]);
    let info = meta.and_then(|range| object::get(&body.slice(range), wire::era::meta::SERVER_INFO));
    Hello {
        version: Version::V2026,
        capabilities: part(body, capabilities),
        server_info: info.unwrap_or_else(|| Bytes::from_static(b"{}")),
        instructions: instructions.and_then(|range| object::text(&body[range]).map(String::from)),
    }
}

fn part(body: &Bytes, range: Option<std::ops::Range<usize>>) -> Bytes {
    range
        .map(|range| body.slice(range))
        .filter(|text| text.first() == Some(&b'{'))
        .unwrap_or_else(|| Bytes::from_static(b"{}"))
}

fn legacy(session: &Session, outcome: Outcome) -> Result<Hello, Unshaken> {
    let body = match outcome {
        Ok(Answer::Result { body, .. }) => body.join(),
        Ok(Answer::Error(error)) => {
            let text: String = String::from_utf8_lossy(&error.join()).chars().take(300).collect();
            return Err(Unshaken::Refused(format!("it refused `initialize`: {text}")));
        }
        Err(failure) => return Err(Unshaken::Died(failure.to_string())),
    };
    let [version, capabilities, info, instructions] =
        object::pick(&body, ["protocolVersion", "capabilities", "serverInfo", "instructions"]);
    let version = version.and_then(|range| object::text(&body[range]).and_then(|text| Version::parse(&text)));
    let Some(version) = version.filter(|version| version.era() == Era::Legacy) else {
        return Err(Unshaken::Refused("it answered `initialize` with a protocol version nobody knows".into()));
    };
    session.era.set(Era::Legacy);
    session.notify("notifications/initialized", None);
    Ok(Hello {
        version,
        capabilities: part(&body, capabilities),
        server_info: part(&body, info),
        instructions: instructions.and_then(|range| object::text(&body[range]).map(String::from)),
    })
}

async fn read_list(server: &Server, session: &Session, method: &str, key: &str) -> (Vec<Bytes>, Option<String>) {
    let mut pages = Pages::default();
    let mut params = Bytes::from_static(b"{}");
    loop {
        let answer = ask(server, session, method, &params, session.era.get()).await;
        match pages.take(method, key, answer) {
            (rest, Next::Page(next)) => {
                pages = rest;
                params = next;
            }
            (_, Next::End(entries, problem)) => return (entries, problem),
        }
    }
}

async fn read_all(server: &Server, session: &Session, hello: Hello) -> Result<Listing, String> {
    let declared = |list| object::get(&hello.capabilities, listing::capability(list)).is_some();
    let one = |list: List, place: usize| {
        let wanted = declared(list);
        let (method, key) = listing::methods(list)[place];
        async move { if wanted { read_list(server, session, method, key).await } else { (Vec::new(), None) } }
    };
    let (tools, prompts, resources, templates) =
        tokio::join!(one(List::Tools, 0), one(List::Prompts, 0), one(List::Resources, 0), one(List::Resources, 1));
    if !session.is_open() {
        return Err("it ended while its lists were read".into());
    }
    let problems = [tools.1, prompts.1, resources.1, templates.1].into_iter().flatten().collect();
    Ok(Listing {
        version: hello.version,
        capabilities: hello.capabilities,
        server_info: hello.server_info,
        instructions: hello.instructions,
        tools: tools.0,
        prompts: prompts.0,
        resources: resources.0,
        templates: templates.0,
        problems,
    })
}

fn publish(server: &Rc<Server>, listing: Listing) {
    server.version.set(Some(listing.version));
    if server.session.borrow().as_ref().is_some_and(|session| session.era.get() == Era::Modern) {
        listen(server, &listing);
    }
    if server.listing.borrow().as_deref() == Some(&listing) {
        return;
    }
    let listing = Rc::new(listing);
    *server.listing.borrow_mut() = Some(Rc::clone(&listing));
    server.watcher.listed(listing);
}

/// A modern server tells of changes only where it was asked to.
fn listen(server: &Rc<Server>, listing: &Listing) {
    let session = server.session.borrow().clone();
    if let (Some(params), Some(session)) = (modern_server::listen(&listing.capabilities), session) {
        let for_ever = Duration::from_secs(10 * 365 * 24 * 3600);
        let ignored = Box::new(crate::server::Ignored);
        if !session.listening.replace(true) {
            session.own_request(server.id(), "subscriptions/listen", &params, Era::Modern, for_ever, ignored);
        }
    }
}

/// Reads lists again that have changed; tells the owner only of a real difference.
pub(crate) async fn relist(server: &Rc<Server>, session: &Session, stale: &[List]) {
    let Some(mut fresh) = server.listing.borrow().as_deref().cloned() else { return };
    let deadline = Instant::now() + server.spec.start_timeout;
    for &list in stale {
        for &(method, key) in listing::methods(list) {
            let read = tokio::select! {
                read = read_list(server, session, method, key) => read,
                () = tokio::time::sleep_until(deadline) => return,
            };
            if !session.is_open() {
                return;
            }
            fresh.problems.retain(|problem| !problem.starts_with(method));
            fresh.problems.extend(read.1);
            match method {
                "tools/list" => fresh.tools = read.0,
                "prompts/list" => fresh.prompts = read.0,
                "resources/list" => fresh.resources = read.0,
                _ => fresh.templates = read.0,
            }
        }
    }
    publish(server, fresh);
}

/// The reason a connection ended, in one line: exit status and last words where there are any.
pub(crate) async fn obituary(server: &Server, tree: Option<&Tree>, why: &str) -> String {
    let Some(tree) = tree else { return why.to_owned() };
    let status = tokio::select! {
        exit = tree.exited() => format!("server exited ({exit})"),
        () = sleep(LAST_WORD) => why.to_owned(),
    };
    server.parts.with_last_words(&server.name, &status)
}

/// Stops the process in order: stdin is closed by now; wait, TERM, KILL.
pub(crate) async fn stop(server: &Server, live: &Live) {
    let Some(tree) = &live.tree else { return };
    let stopped = stop_ladder(tree, server.parts.patience).await;
    if stopped.step != Step::Closed {
        server.parts.note(&server.name, &stopped.to_string());
    }
}
