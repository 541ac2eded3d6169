//! The door for agents on a local socket: newline-delimited JSON-RPC, both eras, one client per connection. The stdio
//! adapter comes through here too, with an attach line first. Never holds more than the agents' handle.

mod attach;
mod batch;
mod conn;
pub mod lend;
mod listen;
mod reply;
#[cfg(unix)]
#[path = "socket/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "socket/windows.rs"]
mod system;
mod unanswered;

pub use attach::{Attach, Attached, Hello};
pub use system::Listener;
pub use unanswered::{Question, Silence};

use conn::Conn;
use frame::LineBuf;
use hub::agent::AgentHandle;
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use system::Stream;
use tokio::task::{AbortHandle, JoinSet};
use wire::peer::{self, Outbox};
use wire::task;

/// Longest message of a client in bytes.
pub const MAX_MESSAGE: usize = 16 << 20;
/// What a client may leave unread beyond one message, in bytes.
const OUT_BOUND: usize = 4 << 20;
/// How long a host that has closed its side still gets answers.
const LAST_ANSWERS: Duration = Duration::from_secs(10);
/// Connections at once.
const MAX_CLIENTS: usize = 512;
/// How long a client may be connected without a word; adapters and hosts speak at once.
const SILENCE: Duration = Duration::from_secs(30);

/// Serves clients for ever; must run inside a `LocalSet` on the relay thread. Ends when it is dropped, and every
/// connection with it.
pub async fn serve(mut listener: Listener, agents: AgentHandle) {
    let mut clients: JoinSet<()> = JoinSet::new();
    let mut silent = Silent::default();
    task::spawn_in(&mut clients, "flush", peer::flusher());
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(Some(stream)) if clients.len() < MAX_CLIENTS || silent.end_first() => {
                    let spoke = Rc::new(Cell::new(false));
                    let client = client(stream, agents.clone(), Rc::clone(&spoke));
                    silent.add(task::spawn_in(&mut clients, "agent on the socket", client), spoke);
                }
                Ok(Some(_)) => tracing::warn!(clients = MAX_CLIENTS, "a client was turned away: there are too many"),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "a client could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            Some(ended) = clients.join_next(), if !clients.is_empty() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a client's task ended badly");
                }
            }
        }
    }
}

/// Clients that have not said a word yet, in the order in which they came: they make room for others.
#[derive(Default)]
struct Silent(VecDeque<(AbortHandle, Rc<Cell<bool>>)>);

impl Silent {
    fn add(&mut self, client: AbortHandle, spoke: Rc<Cell<bool>>) {
        self.0.retain(|(client, spoke)| !client.is_finished() && !spoke.get());
        self.0.push_back((client, spoke));
    }
    /// Ends the first of them; false where there is none.
    fn end_first(&mut self) -> bool {
        self.0.retain(|(client, spoke)| !client.is_finished() && !spoke.get());
        self.0.pop_front().inspect(|(client, _)| client.abort()).is_some()
    }
}

async fn client(stream: Stream, agents: AgentHandle, spoke: Rc<Cell<bool>>) {
    if let Err(error) = converse(stream, agents, &spoke).await {
        tracing::debug!(%error, "a client's connection broke");
    }
}

/// Talks with one client until it ends.
async fn converse(stream: Stream, agents: AgentHandle, spoke: &Cell<bool>) -> io::Result<()> {
    let Ok(first) = tokio::time::timeout(SILENCE, lend::first(&stream)).await else { return Ok(()) };
    let (first, offer) = first?;
    spoke.set(true);
    let peer = system::peer(&stream);
    let (mut source, dest) = system::both(stream);
    let out = Outbox::new(dest, OUT_BOUND);
    let conn = Conn::new(agents, Rc::clone(&out), peer);
    let mut buf = LineBuf::new(MAX_MESSAGE);
    buf.spare(first.len()).extend_from_slice(&first);
    conn.offer(offer);
    let ended = tokio::select! {
        biased;
        ended = peer::read_lines(&mut source, &mut buf, |line| conn.line(line)) => ended,
        ended = lent(&conn) => {
            // The adapter has nothing left to do for its host.
            lend::tell(&source, lend::LEFT);
            ended
        }
        () = Rc::clone(&out).writer() => Ok(()),
    };
    if conn.was_let_go() {
        lend::tell(&source, lend::UNREAD);
    }
    conn.leave();
    peer::flush_all();
    out.close();
    ended
}

/// Reads from the host itself, once its adapter has lent its pipes; for ever where it never does.
async fn lent(conn: &Rc<Conn>) -> io::Result<()> {
    let mut source = conn.lent().await;
    peer::read_lines(&mut source, &mut LineBuf::new(MAX_MESSAGE), |line| conn.line(line)).await?;
    // It may have piped its requests in and now waits for the answers.
    let _ = tokio::time::timeout(LAST_ANSWERS, conn.settled()).await;
    Ok(())
}
