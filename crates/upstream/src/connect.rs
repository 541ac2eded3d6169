//! From a description to a connected, listed server: launch, handshake, lists; and back: the words for how it ended,
//! the order of stopping.

use crate::drive::Live;
use crate::handshake::{self, Hello, Unshaken, ask, handshake};
use crate::launch::{Patience, Step, Tree, stop_ladder};
use crate::listing::{self, Listing, Next, Pages};
use crate::mirror::Mirrored;
use crate::open::open;
use crate::own::{ALL, Listening};
use crate::server::Server;
use crate::session::Session;
use crate::spec::{Spec, Transport};
use crate::waiter::Failure;
use crate::wired::{End, List, Listener};
use bytes::Bytes;
use frame::{Era, object};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use wire::era::modern_server;
use wire::http::NEEDS_SIGN_IN;

/// Package runners may download before the server's first word.
const INSTALL: Duration = Duration::from_secs(600);
/// How long the exit status of a process may come after its stdout has ended.
const LAST_WORD: Duration = Duration::from_millis(500);
/// How often a program that listens, but does not answer yet, is asked again.
const AGAIN: Duration = Duration::from_millis(100);
/// How often at least a server is asked for its lists that does not take the question.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long a program that speaks over HTTP may take to notice that its stdin was closed: most never look, and are
/// told to leave by SIGTERM.
const UNHEARD: Duration = Duration::from_millis(300);
/// How long a server may take to end its session.
const FAREWELL: Duration = Duration::from_secs(3);

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
        let mut live = open(server, deadline).await?;
        let shaken = timeout_at(deadline, shake(server, &live, era)).await;
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
                    Ok(Err(why)) if live.session.is_open() => why,
                    Ok(Err(why)) => obituary(server, live.tree.as_ref(), &why).await,
                    Err(_) => format!("its lists did not come within {} s", budget.as_secs()),
                }
            }
            // It died of the probe: the same once more, without one.
            Ok(Err(Unshaken::Died(why))) if !last && era != Some(Era::Legacy) => {
                era = Some(Era::Legacy);
                live.session.close(&why);
                stop(server, &live).await;
                server.ended.borrow_mut().take();
                continue;
            }
            Ok(Err(Unshaken::Died(why) | Unshaken::NotYet(why))) => obituary(server, live.tree.as_ref(), &why).await,
            Ok(Err(Unshaken::Refused(why))) => why,
            Err(_) => server.parts.with_last_words(
                &server.name,
                &format!("it did not answer `initialize` within {} s", budget.as_secs()),
            ),
        };
        live.session.close(&why);
        stop(server, &live).await;
        live.tree = None;
        let signs_in = matches!(&*server.ended.borrow(), Some(End::SignIn));
        return Err(if signs_in { Fault::Unusable(NEEDS_SIGN_IN.into()) } else { Fault::Failed(why) });
    }
    Err(Fault::Failed("it dies at start".into()))
}

/// The handshake, again and again while a program that was just started is not ready to answer.
async fn shake(server: &Server, live: &Live, era: Option<Era>) -> Result<Hello, Unshaken> {
    loop {
        match handshake(server, &live.session, era).await {
            Err(Unshaken::NotYet(why)) if live.is_child_with_port(server) => {
                server.ended.borrow_mut().take();
                tokio::select! {
                    () = sleep(AGAIN) => {}
                    () = live.is_over(server) => return Err(Unshaken::NotYet(why)),
                }
            }
            shaken => return shaken,
        }
    }
}

/// A new session on the same connection, for a server that has forgotten the last one; then its lists anew.
pub(crate) async fn renew(server: &Rc<Server>, session: &Session) -> Result<(), String> {
    let limit = server.spec.start_timeout;
    let renewed = timeout(limit, async {
        let hello = match handshake::initialize(server, session).await {
            Ok(hello) => hello,
            Err(Unshaken::Died(why) | Unshaken::Refused(why) | Unshaken::NotYet(why)) => return Err(why),
        };
        read_all(server, session, hello).await
    });
    match renewed.await {
        Ok(Ok(listing)) => {
            publish(server, listing);
            Ok(())
        }
        Ok(Err(why)) => Err(format!("it has forgotten the session, and no new one could be begun: {why}")),
        Err(_) => {
            Err(format!("it has forgotten the session, and a new one did not begin within {} s", limit.as_secs()))
        }
    }
}

/// A list as the server gave it, with what was wrong; or why it gave none.
type ReadList = Result<(Vec<Bytes>, Vec<String>), String>;

/// The callers' own deadlines end it: a server that does not take the question now is asked again.
async fn read_list(server: &Server, session: &Session, method: &str, key: &str) -> ReadList {
    let mut pages = Pages::default();
    let mut params = Bytes::from_static(b"{}");
    let mut pause = AGAIN;
    loop {
        let answer = ask(server, session, method, &params, session.era.get()).await;
        if matches!(answer, Err(Failure::Full)) {
            sleep(pause).await;
            pause = LONGEST_PAUSE.min(pause * 2);
            continue;
        }
        match pages.take(method, key, answer) {
            (rest, Next::Page(next)) => {
                pages = rest;
                params = next;
            }
            (_, Next::End(entries, problems)) => return Ok((entries, problems)),
            (_, Next::Broken(problem)) => return Err(problem),
        }
    }
}

async fn read_all(server: &Server, session: &Session, hello: Hello) -> Result<Listing, String> {
    let declared = |list| object::get(&hello.capabilities, listing::capability(list)).is_some();
    let one = |list: List, place: usize| {
        let wanted = declared(list);
        let (method, key) = listing::methods(list)[place];
        async move { if wanted { read_list(server, session, method, key).await } else { Ok(Default::default()) } }
    };
    let (tools, prompts, resources, templates) =
        tokio::join!(one(List::Tools, 0), one(List::Prompts, 0), one(List::Resources, 0), one(List::Resources, 1));
    if !session.is_open() {
        return Err("it ended while its lists were read".into());
    }
    match &*server.ended.borrow() {
        None => {}
        Some(End::Broken(why)) => return Err(why.clone()),
        Some(End::SignIn) => return Err(NEEDS_SIGN_IN.into()),
        Some(End::Forgotten) => return Err("it forgot the session while its lists were read".into()),
    }
    let known_entries = server.listing.borrow().clone();
    server.unread.take();
    let mut problems = Vec::new();
    let mut entries = |list: List, read: ReadList, known: fn(&Listing) -> &Vec<Bytes>| match read {
        Ok((entries, found)) => {
            problems.extend(found);
            entries
        }
        Err(problem) => {
            problems.push(problem);
            server.unread(list);
            known_entries.as_deref().map_or_else(Vec::new, |listing| known(listing).clone())
        }
    };
    let tools = entries(List::Tools, tools, |it| &it.tools);
    let prompts = entries(List::Prompts, prompts, |it| &it.prompts);
    let resources = entries(List::Resources, resources, |it| &it.resources);
    let templates = entries(List::Resources, templates, |it| &it.templates);
    Ok(Listing {
        version: hello.version,
        capabilities: hello.capabilities,
        server_info: hello.server_info,
        instructions: hello.instructions,
        tools,
        prompts,
        resources,
        templates,
        problems,
    })
}

fn publish(server: &Rc<Server>, listing: Listing) {
    server.version.set(Some(listing.version));
    if let Some(session) = &*server.session.borrow() {
        *session.mirrored.borrow_mut() = Mirrored::of(&listing.tools);
        if session.era.get() == Era::Modern {
            listen(server, session, &listing);
        }
    }
    if server.listing.borrow().as_deref() == Some(&listing) {
        return;
    }
    let listing = Rc::new(listing);
    *server.listing.borrow_mut() = Some(Rc::clone(&listing));
    server.watcher.listed(listing);
}

/// A modern server tells of changes only where it was asked to.
fn listen(server: &Rc<Server>, session: &Rc<Session>, listing: &Listing) {
    if let Some(params) = modern_server::listen(&listing.capabilities)
        && !session.listening.replace(true)
    {
        let for_ever = Duration::from_secs(10 * 365 * 24 * 3600);
        let waiter = Box::new(Listening::new(server, session));
        session.own_request(server.id(), "subscriptions/listen", &params, Era::Modern, for_ever, waiter);
    }
}

/// Listens anew after the server had ended it; what has changed in between is read.
pub(crate) fn listen_again(server: &Rc<Server>, session: &Rc<Session>) {
    let listing = server.listing.borrow().clone();
    if let Some(listing) = listing {
        listen(server, session, &listing);
        for list in ALL {
            server.list_changed(list);
        }
    }
}

/// Reads lists again that have changed; tells the owner only of a real difference.
pub(crate) async fn relist(server: &Rc<Server>, session: &Session, stale: &[List]) {
    let Some(mut fresh) = server.listing.borrow().as_deref().cloned() else { return };
    let deadline = Instant::now() + server.spec.start_timeout;
    server.unread.borrow_mut().retain(|list| !stale.contains(list));
    for &list in stale {
        for &(method, key) in listing::methods(list) {
            let read = tokio::select! {
                read = read_list(server, session, method, key) => read,
                () = tokio::time::sleep_until(deadline) => Err(format!("{method} was not answered in time")),
            };
            if !session.is_open() {
                return;
            }
            fresh.problems.retain(|problem| !problem.starts_with(method));
            let (entries, problems) = match read {
                Ok(read) => read,
                Err(problem) => {
                    // What is known stays until there is something better.
                    fresh.problems.push(problem);
                    server.unread(list);
                    continue;
                }
            };
            fresh.problems.extend(problems);
            match method {
                "tools/list" => fresh.tools = entries,
                "prompts/list" => fresh.prompts = entries,
                "resources/list" => fresh.resources = entries,
                _ => fresh.templates = entries,
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

/// Stops the process in order: stdin is closed; wait, TERM, KILL. A session over HTTP is ended before.
pub(crate) async fn stop(server: &Server, live: &Live) {
    if live.session.is_http() {
        // Who does not answer is not waited for any longer.
        let _ = timeout(FAREWELL, live.session.gone.notified()).await;
    }
    live.stdin.borrow_mut().take();
    let Some(tree) = &live.tree else { return };
    let (patience, in_time) = if live.is_child_with_port(server) {
        let Patience { close, terminate, .. } = server.parts.patience;
        (
            Patience { close: close.min(UNHEARD), terminate: terminate.max(close), ..server.parts.patience },
            Step::Terminated,
        )
    } else {
        (server.parts.patience, Step::Closed)
    };
    let stopped = stop_ladder(tree, patience).await;
    if stopped.step > in_time {
        server.parts.note(&server.name, &stopped.to_string());
    }
}
