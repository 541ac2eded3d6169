//! Connections to a server on this machine, kept between requests. Never leaves this machine, whatever a name leads to.

use super::body::Pieces;
use super::carrier::{Chunks, Outgoing, Payload, Reply};
use super::target::{AddressFault, Target};
use super::trouble::{Failure, FailureKind, unreachable};
use crate::task;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Uri, header};
use http_body::Body;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use reqwest::Url;
use std::cell::RefCell;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Time for name look-up and connecting.
pub const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How long a connection may lie unused, unless its server says less.
pub const IDLE_TIME: Duration = Duration::from_secs(30);
/// As many as requests may run at once: a burst must not close what the next one needs.
pub const MAX_IDLE: usize = 64;

/// A task that ends with its owner.
struct Owned(JoinHandle<()>);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Connection {
    sender: SendRequest<Payload<Pieces>>,
    /// Moves its bytes; ends with it, which closes the socket.
    _driver: Owned,
}

struct Idle {
    connection: Connection,
    until: Instant,
}

/// The connections to one server.
pub struct Pool {
    host: String,
    port: u16,
    /// The target's path and query, and its host field, ready to be sent.
    uri: Uri,
    host_field: HeaderValue,
    idle: RefCell<Vec<Idle>>,
    reaper: RefCell<Option<Owned>>,
}

impl Pool {
    pub fn new(target: &Target) -> Rc<Pool> {
        let host = target.url.host_str().unwrap_or_default();
        Rc::new(Pool {
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: target.url.port_or_known_default().unwrap_or(80),
            uri: path(&target.url),
            host_field: HeaderValue::from_str(target.url.authority()).unwrap_or(HeaderValue::from_static("localhost")),
            idle: RefCell::default(),
            reaper: RefCell::default(),
        })
    }

    /// Sends one request; `url` stands in for the target's own after a redirect.
    pub async fn send(
        self: &Rc<Self>,
        target: &Target,
        url: Option<&Url>,
        outgoing: &Outgoing<'_>,
    ) -> Result<Reply, Failure> {
        let mut request = Request::new(outgoing.payload(|text| Pieces::from(text)));
        *request.method_mut() = outgoing.method.clone();
        *request.uri_mut() = url.map_or_else(|| self.uri.clone(), path);
        *request.headers_mut() = outgoing.headers.clone();
        request.headers_mut().insert(header::HOST, self.host_field.clone());
        loop {
            let (mut connection, is_new) = match self.take() {
                Some(connection) => (connection, false),
                None => (self.connect(target).await?, true),
            };
            match connection.sender.try_send_request(request).await {
                Ok(response) => {
                    let (head, incoming) = response.into_parts();
                    let idle_time = idle_time(&head.headers);
                    let lease = Lease { pool: self.clone(), incoming, connection: Some(connection), idle_time };
                    return Ok(Reply { status: head.status, headers: head.headers, chunks: Chunks::Local(lease) });
                }
                Err(mut fault) => {
                    // Closed by the server while it lay idle, and not a byte of the request was written.
                    if let (Some(unsent), false) = (fault.take_message(), is_new) {
                        request = unsent;
                        continue;
                    }
                    return Err(broken(fault.error(), outgoing.sent.is_taken()));
                }
            }
        }
    }

    fn take(&self) -> Option<Connection> {
        let mut idle = self.idle.borrow_mut();
        let now = Instant::now();
        while let Some(Idle { connection, until }) = idle.pop() {
            if until > now && connection.sender.is_ready() {
                return Some(connection);
            }
        }
        None
    }

    fn put(self: &Rc<Self>, connection: Connection, idle_time: Duration) {
        let mut idle = self.idle.borrow_mut();
        if connection.sender.is_closed() || idle_time.is_zero() || idle.len() >= MAX_IDLE {
            return;
        }
        idle.push(Idle { connection, until: Instant::now() + idle_time });
        let mut reaper = self.reaper.borrow_mut();
        if reaper.as_ref().is_none_or(|reaper| reaper.0.is_finished()) {
            *reaper = Some(Owned(task::spawn("close idle connections", reap(Rc::downgrade(self)))));
        }
    }

    async fn connect(&self, target: &Target) -> Result<Connection, Failure> {
        let unreachable = |error: &(dyn Error + 'static)| {
            Failure::new(FailureKind::Unreachable, unreachable(&target.origin, error), false)
        };
        let connect = async {
            let stream = self.stream().await?;
            stream.set_nodelay(true)?;
            http1::handshake(TokioIo::new(stream)).await.map_err(std::io::Error::other)
        };
        let (sender, connection) = tokio::time::timeout(CONNECT_TIME, connect)
            .await
            .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
            .map_err(|error| unreachable(&error))?;
        let driver = task::spawn("connection to a server", async move {
            // Its fault reaches whoever uses the connection.
            let _ = connection.await;
        });
        Ok(Connection { sender, _driver: Owned(driver) })
    }

    async fn stream(&self) -> std::io::Result<TcpStream> {
        if let Ok(ip) = self.host.parse::<IpAddr>() {
            return TcpStream::connect(SocketAddr::new(ip, self.port)).await;
        }
        let mut fault = std::io::Error::from(std::io::ErrorKind::NotFound);
        let lookup = tokio::net::lookup_host((&*self.host, self.port)).await;
        for address in lookup.map_err(|_| std::io::Error::other(AddressFault::UnknownName(self.host.clone())))? {
            if !address.ip().to_canonical().is_loopback() {
                return Err(std::io::Error::other(AddressFault::NotLoopback(address.ip())));
            }
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => fault = error,
            }
        }
        Err(fault)
    }
}

/// Closes what has lain idle for too long; ends when nothing does.
async fn reap(pool: Weak<Pool>) {
    while let Some(until) = pool.upgrade().and_then(|pool| pool.idle.borrow().iter().map(|idle| idle.until).min()) {
        tokio::time::sleep_until(until).await;
        if let Some(pool) = pool.upgrade() {
            let now = Instant::now();
            pool.idle.borrow_mut().retain(|idle| idle.until > now && !idle.connection.sender.is_closed());
        }
    }
}

/// How long the server keeps an unused connection, with a second's margin where it says so.
fn idle_time(headers: &HeaderMap) -> Duration {
    let said = headers
        .get("keep-alive")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(',').find_map(|part| part.trim().strip_prefix("timeout=")?.parse::<u64>().ok()));
    said.map_or(IDLE_TIME, |seconds| Duration::from_secs(seconds.saturating_sub(1)).min(IDLE_TIME))
}

fn path(url: &Url) -> Uri {
    let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
    format!("{}{query}", url.path()).parse().unwrap_or_default()
}

fn broken(error: &hyper::Error, sent: bool) -> Failure {
    let (kind, text) = if error.is_parse() {
        (FailureKind::BadAnswer, format!("the answer is no HTTP: {error}"))
    } else {
        let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        (FailureKind::Broken, format!("the connection broke before an answer came: {cause}"))
    };
    Failure::new(kind, text, sent)
}

/// A body being read. Read to its end, its connection goes back; dropped before, the connection is closed.
pub struct Lease {
    pool: Rc<Pool>,
    incoming: Incoming,
    connection: Option<Connection>,
    idle_time: Duration,
}

impl Lease {
    pub async fn chunk(&mut self) -> Option<Result<Bytes, hyper::Error>> {
        loop {
            let frame = if self.incoming.is_end_stream() {
                None
            } else {
                std::future::poll_fn(|cx| Pin::new(&mut self.incoming).poll_frame(cx)).await
            };
            match frame {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Some(Ok(data));
                    }
                }
                Some(Err(error)) => {
                    self.connection = None;
                    return Some(Err(error));
                }
                None => {
                    if let Some(connection) = self.connection.take() {
                        self.pool.put(connection, self.idle_time);
                    }
                    return None;
                }
            }
        }
    }
}
