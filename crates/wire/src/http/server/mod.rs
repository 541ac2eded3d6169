//! A bounded HTTP/1.1 server on the relay thread for handlers that are not `Send`: it reads whole requests, writes
//! whole answers or event streams, and closes whoever is slow. It never decides who may ask what.

mod answer;
mod call;
mod pulse;

pub use answer::{Answer, Callback, Events, Refused, Responder};

use crate::task;
use bytes::Bytes;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use pulse::{Clock, Pulse, Watched};
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// How often it is said that all connections are taken.
const CROWD: Duration = Duration::from_secs(60);

/// What one server allows.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of one request's body; over it: 413.
    pub max_body: usize,
    /// Bytes of all bodies that are being received at one time; over it: 503.
    pub max_bodies: usize,
    /// Bytes of a request's head; over it, or with more than 100 fields: 431.
    pub max_head: usize,
    /// Connections at one time; over it the one makes room that has been silent longest or has not finished a head, those
    /// of which no request was admitted first; if all are being served: 503.
    pub max_connections: usize,
    /// Bytes of events that a client has not yet taken, past one event.
    pub max_events: usize,
    /// Time for a head from its first byte.
    pub head_time: Duration,
    /// Time for a body from the end of its head.
    pub body_time: Duration,
    /// Time between two requests on one connection.
    pub idle_time: Duration,
    /// Time in which a client that is written to takes nothing at all.
    pub stall_time: Duration,
    /// After so long without an event, a stream gets a comment.
    pub comment_time: Duration,
    /// Time for answers that are being given when the server is told to stop.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_body: 16 << 20,
            max_bodies: 64 << 20,
            max_head: 32 << 10,
            max_connections: 256,
            max_events: 4 << 20,
            head_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            idle_time: Duration::from_secs(120),
            stall_time: Duration::from_secs(30),
            comment_time: Duration::from_secs(15),
            drain_time: Duration::from_secs(3),
        }
    }
}

/// Method, target, version and fields of a request.
pub type Head = http::request::Parts;

/// One request, received whole.
#[derive(Debug)]
pub struct Request {
    /// Its head.
    pub head: Head,
    /// Its body, empty where there is none.
    pub body: Bytes,
    /// Who sent it.
    pub peer: SocketAddr,
}

/// Answers requests. Called on the relay thread, must not block.
pub trait Handler {
    /// Judges a request by its head: the answer to one that is refused, of whose body not a byte is kept; None admits
    /// it. Wrong token, origin, path and content type belong here.
    fn refusal(&self, head: &Head) -> Option<Answer>;
    /// Answers a request, at once or later. Requests of one connection come one after the other, in order.
    fn handle(&self, request: Request, responder: Responder);
}

/// What the connections of one server share.
struct Common {
    limits: Limits,
    handler: Rc<dyn Handler>,
    clock: Clock,
    /// Bytes of bodies that are being received.
    bodies: std::cell::Cell<usize>,
}

struct Connection {
    pulse: Rc<Pulse>,
    task: AbortHandle,
}

/// Serves until `until` is done: then no connection is accepted, those between two requests are closed, and
/// answers have `drain_time` to be written. Dropping the future closes everything at once.
pub async fn serve(listener: TcpListener, limits: Limits, handler: Rc<dyn Handler>, until: impl Future<Output = ()>) {
    let mut server = Server {
        clock_step: Clock::step(&limits),
        common: Rc::new(Common {
            clock: Clock::new(Clock::step(&limits)),
            limits,
            handler,
            bodies: std::cell::Cell::new(0),
        }),
        tasks: JoinSet::new(),
        connections: Vec::new(),
        told_of_crowd: None,
    };
    let mut until = std::pin::pin!(until);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => server.connect(stream, peer),
                Err(error) => {
                    // Out of handles or memory: what is open goes on, and closing some of it may help.
                    tracing::warn!(%error, "no connection could be accepted");
                    server.sweep();
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            () = tokio::time::sleep_until(server.common.clock.next()), if !server.tasks.is_empty() => server.sweep(),
            Some(_) = server.tasks.join_next() => {}
            () = &mut until => break,
        }
    }
    drop(listener);
    server.drain().await;
}

struct Server {
    common: Rc<Common>,
    clock_step: Duration,
    tasks: JoinSet<()>,
    connections: Vec<Connection>,
    told_of_crowd: Option<tokio::time::Instant>,
}

impl Server {
    fn connect(&mut self, stream: TcpStream, peer: SocketAddr) {
        if self.tasks.is_empty() {
            self.common.clock.restart();
        }
        self.connections.retain(|connection| !connection.task.is_finished());
        if self.connections.len() >= self.common.limits.max_connections {
            let spare = (0..self.connections.len())
                .filter_map(|place| self.connections[place].pulse.spare().map(|spare| (spare, place)))
                .min();
            self.tell_of_crowd();
            let Some((_, place)) = spare else {
                // Best effort: a client that cannot even take this line is closed without it.
                let _ = stream
                    .try_write(b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
                return;
            };
            self.connections.swap_remove(place).task.abort();
        }
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection ended before it began");
            return;
        }
        let pulse = Rc::new(Pulse::new(&self.common.clock));
        let call = call::Calls { common: self.common.clone(), pulse: pulse.clone(), peer };
        let io = TokioIo::new(Watched { stream, pulse: pulse.clone() });
        let connection = http1::Builder::new()
            .max_buf_size(self.common.limits.max_head.max(64 << 10))
            .max_header_size(self.common.limits.max_head)
            .header_read_timeout(None)
            .serve_connection(io, call);
        let closing = pulse.clone();
        let task = task::spawn_in(&mut self.tasks, "agent over HTTP", async move {
            let mut connection = std::pin::pin!(connection);
            let ended = std::future::poll_fn(|cx| {
                if closing.wants_close(cx) {
                    connection.as_mut().graceful_shutdown();
                }
                connection.as_mut().poll(cx)
            });
            if let Err(error) = ended.await {
                tracing::debug!(%error, "a connection broke");
            }
        });
        self.connections.push(Connection { pulse, task });
    }

    /// Says that all connections are taken, at most once in a while.
    fn tell_of_crowd(&mut self) {
        let now = tokio::time::Instant::now();
        if self.told_of_crowd.is_none_or(|told| now.duration_since(told) >= CROWD) {
            self.told_of_crowd = Some(now);
            let connections = self.connections.len();
            tracing::warn!(connections, "all connections over HTTP are taken: the one that does least makes room");
        }
    }

    /// Closes whoever has used up a time limit, and keeps quiet streams alive.
    fn sweep(&mut self) {
        self.common.clock.tick();
        let limits = &self.common.limits;
        let step = self.clock_step;
        self.connections.retain(|connection| {
            if connection.task.is_finished() {
                return false;
            }
            if let Some(why) = connection.pulse.overdue(limits, step) {
                tracing::debug!(why, "a connection is closed");
                connection.task.abort();
                return false;
            }
            true
        });
    }

    async fn drain(mut self) {
        for connection in &self.connections {
            connection.pulse.close_when_done();
        }
        let all = async { while self.tasks.join_next().await.is_some() {} };
        // Whoever is late is dropped with the task set.
        let _ = tokio::time::timeout(self.common.limits.drain_time, all).await;
    }
}

#[cfg(test)]
mod tests;
