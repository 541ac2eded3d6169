//! Moves one server: starts it when it is wanted, connects, keeps its lists fresh, ends what is late, restarts it
//! with a growing wait, stops it in order. The sole owner of its child process.

use crate::connect::{self, Fault};
use crate::launch::Tree;
use crate::server::{Server, State};
use crate::session::{List, Session};
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

/// An uptime that forgives earlier failures.
const SUSTAINED: Duration = Duration::from_secs(60);
/// How long list-changed notices are gathered before the lists are read once.
const GATHER: Duration = Duration::from_millis(15);
/// Longest wait between two tries.
const LONGEST: Duration = Duration::from_secs(60);

/// A server that runs.
pub(crate) struct Live {
    pub session: Rc<Session>,
    pub tree: Option<Tree>,
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
        let reason = match outcome {
            None => None,
            Some(Err(Fault::Unusable(reason))) => {
                server.wanted.set(false);
                server.enter(State::Unusable, Some(reason.clone()));
                server.fail_queue(&reason);
                continue;
            }
            Some(Err(Fault::Failed(reason))) => Some(reason),
            Some(Ok(live)) => {
                let since = Instant::now();
                let reason = attend(&server, &live).await;
                if since.elapsed() >= SUSTAINED {
                    failures = 0;
                }
                reason
            }
        };
        server.session.borrow_mut().take();
        server.pid.set(None);
        match reason {
            None => {
                let state = if server.halted.get() { State::Halted } else { State::Stopped };
                server.enter(state, None);
                server.fail_queue("it was stopped");
            }
            Some(reason) => {
                failures += 1;
                pause(&server, failures, reason).await;
            }
        }
    }
}

/// Waits until the server is wanted, or is over.
async fn rest(server: &Server) {
    while !server.over.get() && (server.halted.get() || !server.wanted.get()) {
        server.wake.notified().await;
        if server.halted.get() {
            let (state, ..) = server.state();
            if state != State::Halted && state != State::Unusable {
                server.enter(State::Halted, None);
            }
        }
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

/// Lives with a connected server until it ends (the reason) or is to stop (None), and leaves no process behind.
async fn attend(server: &Rc<Server>, live: &Live) -> Option<String> {
    let session = &live.session;
    let mut relisting: Option<Reading> = None;
    server.enter(State::Ready, None);
    server.send_level();
    server.release_queue();
    let reason = loop {
        if server.halted.get() || server.over.get() {
            break None;
        }
        if let Some(why) = server.ended.borrow_mut().take() {
            break Some(why);
        }
        if relisting.is_none() && !server.stale.borrow().is_empty() {
            let (server, session) = (Rc::clone(server), Rc::clone(session));
            relisting = Some(Box::pin(async move {
                sleep(GATHER).await;
                let stale: Vec<List> = std::mem::take(&mut *server.stale.borrow_mut());
                connect::relist(&server, &session, &stale).await;
            }));
        }
        let deadline = session.next_deadline();
        tokio::select! {
            () = server.wake.notified() => {}
            () = session.busy.notified() => {}
            () = until(deadline) => session.expire(Instant::now()),
            () = or_never(&mut relisting) => relisting = None,
        }
    };
    match reason {
        Some(why) => {
            let why = connect::obituary(server, live.tree.as_ref(), &why).await;
            session.close(&why);
            connect::stop(server, live).await;
            Some(why)
        }
        None => {
            session.close("the server was stopped");
            connect::stop(server, live).await;
            None
        }
    }
}

type Reading = Pin<Box<dyn Future<Output = ()>>>;

async fn or_never(reading: &mut Option<Reading>) {
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
