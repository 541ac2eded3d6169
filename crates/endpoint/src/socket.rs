//! The door for agents on a local socket: newline-delimited JSON-RPC, both eras, one client per connection. The stdio
//! adapter comes through here too, with an attach line first. Never holds more than the agents' handle.

mod attach;
mod batch;
mod conn;
mod reply;
#[cfg(unix)]
#[path = "socket/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "socket/windows.rs"]
mod system;

pub use attach::{Attach, Attached, Hello};
pub use system::Listener;

use conn::Conn;
use frame::LineBuf;
use hub::agent::AgentHandle;
use std::io;
use std::rc::Rc;
use system::Stream;
use tokio::task::JoinSet;
use wire::peer::{self, Outbox, Source};
use wire::task;

/// Longest message of a client in bytes.
pub const MAX_MESSAGE: usize = 16 << 20;
/// What a client may leave unread beyond one message, in bytes.
const OUT_BOUND: usize = 4 << 20;
/// Connections at once.
const MAX_CLIENTS: usize = 512;

/// Serves clients for ever; must run inside a `LocalSet` on the relay thread. Ends when it is dropped, and every
/// connection with it.
pub async fn serve(mut listener: Listener, agents: AgentHandle) {
    let mut clients: JoinSet<()> = JoinSet::new();
    task::spawn_in(&mut clients, "flush", peer::flusher());
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(Some(stream)) if clients.len() < MAX_CLIENTS => {
                    task::spawn_in(&mut clients, "agent on the socket", client(stream, agents.clone()));
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "a client could not be accepted");
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
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

async fn client(stream: Stream, agents: AgentHandle) {
    let (source, dest) = system::both(stream);
    let out = Outbox::new(dest, OUT_BOUND);
    if let Err(error) = converse(&source, out, agents).await {
        tracing::debug!(%error, "a client's connection broke");
    }
}

/// Talks with one client until it ends.
async fn converse(source: &Source, out: Rc<Outbox>, agents: AgentHandle) -> io::Result<()> {
    let conn = Conn::new(agents, Rc::clone(&out));
    let mut buf = LineBuf::new(MAX_MESSAGE);
    let ended = tokio::select! {
        ended = peer::read_lines(source, &mut buf, |line| conn.line(line)) => ended,
        () = Rc::clone(&out).writer() => Ok(()),
    };
    conn.leave();
    peer::flush_all();
    out.close();
    ended
}
