//! Carries one HTTP request to a server and its answer back: over our own connections on this machine, over reqwest
//! (TLS, proxies) elsewhere. Follows no redirect away from the configured origin and never decompresses.

use super::pool::{Lease, Pool};
use super::remote;
use super::target::Target;
use super::trouble::{Failure, FailureKind};
use bytes::{Bytes, BytesMut};
use frame::Rope;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use reqwest::Url;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::sync::Notify;

const MAX_REDIRECTS: usize = 5;
/// The largest buffer that is set up on a mere announcement of length.
const TRUSTED: u64 = 1 << 20;

/// Whether a request's body has been taken by a connection, so that the server may act on it.
#[derive(Debug, Default)]
pub struct Sent {
    taken: AtomicBool,
    told: Notify,
}

impl Sent {
    pub fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed)
    }
    /// Waits until it is.
    pub async fn taken(&self) {
        while !self.is_taken() {
            self.told.notified().await;
        }
    }
    /// Ends all waiting: taken, or never to be.
    pub fn settle(&self) {
        self.taken.store(true, Ordering::Relaxed);
        self.told.notify_waiters();
        self.told.notify_one();
    }
}

/// A request's body, in one piece for the connection that takes it.
#[derive(Debug)]
pub struct Payload<D> {
    data: Option<D>,
    length: u64,
    sent: Arc<Sent>,
}

impl<D: bytes::Buf + Unpin> Body for Payload<D> {
    type Data = D;
    type Error = Infallible;
    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<D>, Infallible>>> {
        let data = self.data.take();
        if data.is_some() {
            self.sent.settle();
        }
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }
    fn is_end_stream(&self) -> bool {
        self.data.is_none()
    }
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(if self.data.is_some() { self.length } else { 0 })
    }
}

/// One request.
pub struct Outgoing<'a> {
    pub method: Method,
    /// All fields but host and length.
    pub headers: HeaderMap,
    pub text: Option<&'a Rope>,
    pub sent: Arc<Sent>,
}

impl Outgoing<'_> {
    pub fn payload<D>(&self, make: impl FnOnce(&Rope) -> D) -> Payload<D> {
        let length = self.text.map_or(0, Rope::len) as u64;
        Payload { data: self.text.filter(|text| !text.is_empty()).map(make), length, sent: self.sent.clone() }
    }
}

/// What carries requests to one server.
pub enum Carrier {
    /// Connections of our own, on this machine.
    Local(Rc<Pool>),
    /// The shared client for other machines.
    Remote,
}

impl Carrier {
    pub fn new(target: &Target) -> Carrier {
        if target.is_loopback { Carrier::Local(Pool::new(target)) } else { Carrier::Remote }
    }

    /// Sends a request and waits for the head of its answer.
    pub async fn send(&self, target: &Target, outgoing: Outgoing<'_>) -> Result<Reply, Failure> {
        let mut url: Option<Url> = None;
        for _ in 0..=MAX_REDIRECTS {
            let mut reply = match self {
                Carrier::Local(pool) => pool.send(target, url.as_ref(), &outgoing).await?,
                Carrier::Remote => remote::send(target, url.as_ref().unwrap_or(&target.url), &outgoing).await?,
            };
            if !reply.status.is_redirection() || reply.status == StatusCode::NOT_MODIFIED {
                return reply.checked();
            }
            // Other redirects would turn the message into a bodyless GET, and are given after it was acted upon, too.
            if !matches!(reply.status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
                let why = format!("the server answered {} instead of with a result", reply.status.as_u16());
                return Err(Failure::new(FailureKind::Redirect, why, true));
            }
            let refused = |why: String| Err(Failure::new(FailureKind::Redirect, why, false));
            let Some(location) = reply.headers.remove(header::LOCATION) else {
                return refused(format!("the server answered {} without an address", reply.status.as_u16()));
            };
            match target.same_origin(url.as_ref().unwrap_or(&target.url), &location) {
                Ok(to) => url = Some(to),
                Err(to) => return refused(format!("the server redirects to {to}, which is not followed")),
            }
        }
        Err(Failure::new(FailureKind::Redirect, "the server redirects in a circle", false))
    }
}

/// The head of an answer, and its body as it comes.
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub chunks: Chunks,
}

/// A body as it comes.
pub enum Chunks {
    Local(Lease),
    Remote(reqwest::Response),
}

impl Chunks {
    /// The next bytes; None at the orderly end.
    pub async fn next(&mut self) -> Option<Result<Bytes, Failure>> {
        let broken = |why: String| {
            Failure::new(FailureKind::Broken, format!("the connection broke in the middle of an answer: {why}"), true)
        };
        match self {
            Chunks::Local(lease) => lease.chunk().await.map(|chunk| chunk.map_err(|error| broken(error.to_string()))),
            Chunks::Remote(response) => match response.chunk().await {
                Ok(chunk) => chunk.map(Ok),
                Err(error) => Some(Err(broken(remote::cause(&error)))),
            },
        }
    }
}

impl Reply {
    /// Compressed answers were not asked for; unpacking them unasked invites bombs.
    fn checked(self) -> Result<Reply, Failure> {
        let plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
        if self.headers.get_all(header::CONTENT_ENCODING).iter().all(plain) {
            return Ok(self);
        }
        Err(Failure::new(FailureKind::BadAnswer, "the server answered with compressed content, unasked", true))
    }

    fn announced(&self) -> Option<u64> {
        self.headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
    }

    /// Whether nothing but the end of the connection tells where the body ends, so that one that was cut looks whole.
    pub fn ends_with_its_connection(&self) -> bool {
        self.announced().is_none() && !self.headers.contains_key(header::TRANSFER_ENCODING)
    }

    /// The whole body, if it is at most `max` bytes long.
    pub async fn whole(&mut self, max: usize) -> Result<Bytes, Failure> {
        let too_long = |length: u64| {
            let text = format!("the answer is {length} bytes long or longer; at most {max} are taken");
            Failure::new(FailureKind::TooLong(length), text, true)
        };
        let announced = self.announced();
        if let Some(length) = announced.filter(|length| *length > max as u64) {
            return Err(too_long(length));
        }
        let mut first = Bytes::new();
        let mut more = BytesMut::new();
        while let Some(chunk) = self.chunks.next().await {
            let chunk = chunk?;
            let length = first.len() + more.len() + chunk.len();
            if length > max {
                return Err(too_long(length as u64));
            }
            if first.is_empty() && more.is_empty() {
                first = chunk;
                continue;
            }
            if more.is_empty() {
                more.reserve(usize::try_from(announced.unwrap_or(0).min(TRUSTED)).unwrap_or(0).max(length));
                more.extend_from_slice(&std::mem::take(&mut first));
            }
            more.extend_from_slice(&chunk);
        }
        Ok(if more.is_empty() { first } else { more.freeze() })
    }

    /// The first bytes of the body, however long it is; what breaks off counts as its end.
    pub async fn head(&mut self, max: usize) -> Bytes {
        let mut head = BytesMut::new();
        while head.len() < max {
            match self.chunks.next().await {
                Some(Ok(chunk)) => head.extend_from_slice(&chunk[..chunk.len().min(max - head.len())]),
                Some(Err(_)) | None => break,
            }
        }
        head.freeze()
    }
}
