//! Moves one server: starts it when it is wanted, connects, keeps its lists fresh, ends what is late, restarts it
//! with a growing wait, stops it in order. The sole owner of its child process.

use crate::connect::{self, Fault};
use crate::launch::Tree;
use crate::server::{Server, State};
use crate::session::Session;
use crate::spec::{PortOwner, Transport};
use crate::wired::{End, List};
use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};
use wire::http::NEEDS_SIGN_IN;
use wire::pipe::Outgoing;

/// An uptime that forgives earlier failures.
const SUSTAINED: Duration = Duration::from_secs(60);
/// How long list-changed notices are gathered before the lists are read once.
const GATHER: Duration = Duration::from_millis(15);
/// Longest wait between two tries.
const LONGEST: Duration = Duration::from_secs(60);
/// A session that is forgotten sooner than this after the last one was is no session.
const FORGETFUL: Duration = Duration::from_secs(1);

/// A server that runs.
pub(crate) struct Live {
    pub session: Rc<Session>,
    pub tree: Option<Tree>,
    /// Of a program that speaks elsewhere: kept open, because its end is how it is told to leave.
    pub stdin: RefCell<Option<Outgoing>>,
}

impl Live {
    /// Whether it is a program of ours that speaks over HTTP.
    pub(crate) fn is_child_with_port(&self, server: &Server) -> bool {
        self.tree.is_some() && matches!(server.spec.transport, Transport::HttpChild { .. })
    }

    /// Waits for the end of a program that speaks over HTTP; that of others is told by their pipes.
    pub(crate) async fn is_over(&self, server: &Server) {
        match (&self.tree, &server.spec.transport) {
            // A launcher may leave and what it has started may serve.
            (Some(tree), Transport::HttpChild { owner: PortOwner::Child, .. }) => tree.gone().await,
            _ => std::future::pending().await,
        }
    }
}

/// Why a connected server is left.
enum Parting {
    /// Somebody wants it to stop.
    Wanted,
    /// It failed.
    Failed(String),
    /// It wants credentials that it was not given.
    SignIn,
}

/// The wait before the next try after that many failures in a row: none after the first, then 1 s, 2 s, 4 s ... 60 s,
/// each up to a quarter longer by `jitter` (0 to 255).
pub(crate) fn back_off(failures: u32, jitter: u8) -> Duration {
    let Some(doublings) = failures.checked_sub(2) else { return Duration::ZERO };
    let base = LONGEST.min(Duration::from_secs(1) * 2u32.saturating_pow(doublings.min(10)));
    base + base * u32::from(jitter) / 1024
}

pub(crate) async fn run(server: Rc<Server>) {
    let mut failures = 0u32;
    loop {
        rest(&server).await;
        if server.over.get() {
            return;
        }
        server.ended.borrow_mut().take();
        let installs = connect::installs(&server.spec);
        server.enter(State::Starting { installs }, None);
        server.starts.set(server.starts.get() + 1);
        let outcome = tokio::select! {
            outcome = connect::connect(&server) => Some(outcome),
            () = halted(&server) => None,
        };
        let parting = match outcome {
            None => Parting::Wanted,
            Some(Err(Fault::Unusable(reason))) => {
                server.pid.set(None);
                unusable(&server, &reason);
                continue;
            }
            Some(Err(Fault::Failed(reason))) => Parting::Failed(reason),
            Some(Ok(live)) => {
                let since = Instant::now();
                let parting = attend(&server, &live).await;
                if since.elapsed() >= SUSTAINED {
                    failures = 0;
                }
                parting
            }
        };
        server.session.borrow_mut().take();
        server.pid.set(None);
        match parting {
            Parting::Wanted => {
                let state = if server.halted.get() { State::Halted } else { State::Stopped };
                server.enter(state, None);
                server.fail_queue(&server.stopped());
            }
            Parting::Failed(reason) => {
                failures += 1;
                pause(&server, failures, reason).await;
            }
            Parting::SignIn => unusable(&server, NEEDS_SIGN_IN),
        }
    }
}

/// Nothing that the hub could do by itself would help.
fn unusable(server: &Server, reason: &str) {
    server.wanted.set(false);
    server.enter(State::Unusable, Some(reason.to_owned()));
    server.fail_queue(reason);
}

/// Waits until the server is wanted, or is over.
async fn rest(server: &Server) {
    while !server.over.get() && (server.halted.get() || !server.wanted.get()) {
        if server.halted.get() {
            let (state, ..) = server.state();
            if state != State::Halted && state != State::Unusable {
                server.enter(State::Halted, None);
                server.fail_queue(&server.stopped());
            }
        }
        server.wake.notified().await;
    }
}

async fn halted(server: &Server) {
    while !server.halted.get() && !server.over.get() {
        server.wake.notified().await;
        server.expire_queue(Instant::now());
    }
}

/// The wait after a failure.
async fn pause(server: &Server, failures: u32, reason: String) {
    let mut jitter = [0u8];
    // Without randomness all servers wait equally long, nothing worse.
    let _ = getrandom::fill(&mut jitter);
    let wait = back_off(failures, jitter[0]);
    let until = Instant::now() + wait;
    // Without a list nobody can call it: it is tried again by itself until it has been listed once.
    server.wanted.set(server.spec.eager || server.listing.borrow().is_none());
    server.impatient.set(false);
    server.enter(State::Failing { failures, until }, Some(reason.clone()));
    if wait > Duration::ZERO {
        server.fail_queue(&reason);
    } else if server.queue_deadline().is_some() {
        server.wanted.set(true);
    }
    while !server.impatient.get() && !server.halted.get() && !server.over.get() {
        tokio::select! {
            () = sleep_until(until) => break,
            () = server.wake.notified() => {}
        }
    }
}

/// Lives with a connected server until it ends or is to stop, and leaves no process behind.
async fn attend(server: &Rc<Server>, live: &Live) -> Parting {
    let session = &live.session;
    let mut relisting: Option<Reading<()>> = None;
    let mut renewing: Option<Reading<Result<(), String>>> = None;
    let mut renewed: Option<Instant> = None;
    let mut rereading: Option<Instant> = None;
    let mut rounds = 0;
    server.relisting.set(false);
    ready(server);
    let parting = loop {
        if server.halted.get() || server.over.get() {
            break Parting::Wanted;
        }
        let end = server.ended.borrow_mut().take();
        match end {
            None => {}
            Some(End::Broken(why)) => break Parting::Failed(why),
            Some(End::SignIn) => break Parting::SignIn,
            Some(End::Forgotten) => {
                // The new session must not be lost in its turn: that would have no end.
                if renewing.is_some() || renewed.is_some_and(|at| at.elapsed() < FORGETFUL) {
                    break Parting::Failed("it forgets each session as soon as it has given it".into());
                }
                relisting = None;
                let (server, session) = (Rc::clone(server), Rc::clone(session));
                renewing = Some(Box::pin(async move { connect::renew(&server, &session).await }));
            }
        }
        let again = server.listen_again.get().filter(|_| renewing.is_none());
        if again.is_some_and(|at| at <= Instant::now()) {
            server.listen_again.set(None);
            connect::listen_again(server, session);
        }
        if relisting.is_none() && renewing.is_none() {
            match rereading {
                _ if server.unread.borrow().is_empty() => (rereading, rounds) = (None, 0),
                None => {
                    rounds += 1;
                    rereading = Some(Instant::now() + back_off(rounds + 1, 0));
                }
                Some(at) if at <= Instant::now() => {
                    rereading = None;
                    server.stale.borrow_mut().extend(server.unread.take());
                }
                Some(_) => {}
            }
        }
        if relisting.is_none() && renewing.is_none() && !server.stale.borrow().is_empty() {
            let (server, session) = (Rc::clone(server), Rc::clone(session));
            relisting = Some(Box::pin(async move {
                sleep(GATHER).await;
                let stale: Vec<List> = std::mem::take(&mut *server.stale.borrow_mut());
                server.relisting.set(true);
                connect::relist(&server, &session, &stale).await;
                server.relisting.set(false);
            }));
        }
        let deadline = session.next_deadline();
        tokio::select! {
            () = server.wake.notified() => {}
            () = session.busy.notified() => {}
            () = until(deadline) => session.expire(Instant::now()),
            () = until(again) => {}
            () = until(rereading) => {}
            () = or_never(&mut relisting) => {
                relisting = None;
                server.enter(State::Ready, unread(server));
                // Also where nothing is another: calls wait until it is known.
                server.watcher.state_changed();
            }
            result = or_never(&mut renewing) => {
                renewing = None;
                renewed = Some(Instant::now());
                match result {
                    Ok(()) => ready(server),
                    Err(_) if matches!(*server.ended.borrow(), Some(End::SignIn)) => {}
                    Err(why) => break Parting::Failed(why),
                }
            }
            () = live.is_over(server) => break Parting::Failed("it ended".into()),
        }
        server.expire_queue(Instant::now());
    };
    match parting {
        Parting::Wanted => {
            session.end(&server.stopped_meanwhile());
            connect::stop(server, live).await;
            Parting::Wanted
        }
        Parting::SignIn => {
            session.close(NEEDS_SIGN_IN);
            connect::stop(server, live).await;
            Parting::SignIn
        }
        Parting::Failed(why) => {
            let why = connect::obituary(server, live.tree.as_ref(), &why).await;
            session.close(&why);
            connect::stop(server, live).await;
            Parting::Failed(why)
        }
    }
}

/// What a ready server lacks: a list that it did not give.
fn unread(server: &Server) -> Option<String> {
    let listing = server.listing.borrow();
    listing.as_ref()?.problems.iter().find(|_| !server.unread.borrow().is_empty()).cloned()
}

/// It can be called from now on.
fn ready(server: &Rc<Server>) {
    server.enter(State::Ready, unread(server));
    server.send_level();
    server.release_queue();
}

type Reading<T> = Pin<Box<dyn Future<Output = T>>>;

async fn or_never<T>(reading: &mut Option<Reading<T>>) -> T {
    match reading {
        Some(reading) => reading.await,
        None => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_grows_and_is_bounded() {
        let check = |failures, jitter, expect| assert_eq!(back_off(failures, jitter).as_millis(), expect);
        check(1, 255, 0);
        check(2, 0, 1_000);
        check(3, 0, 2_000);
        check(3, 255, 2_498);
        check(8, 0, 60_000);
        check(4_000_000_000, 0, 60_000);
        check(u32::MAX, 255, 74_941);
    }
}
