//! Event streams from a server: the answer to one request, resumed where it breaks, and the stream of a session for
//! what belongs to no request.

use super::carrier::{Chunks, Outgoing, Reply};
use super::headers;
use super::link::Core;
use super::session::Ticket;
use super::sse::{self, Parser};
use super::trouble::{Failure, FailureKind};
use bytes::Bytes;
use frame::{Fault, FaultKind, Frame, Kind, object, own_id};
use http::{HeaderValue, Method, StatusCode, header};
use std::rc::Rc;
use std::time::Duration;

/// How often a broken answer is resumed without a single new event.
const MAX_RESUMES: u32 = 8;
/// The longest a server may put off a new connection.
const MAX_RETRY: Duration = Duration::from_secs(60);

/// How a stream went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The answer has been given on.
    Answered,
    /// The stream has ended in good order, without it.
    Ended,
}

/// Gives a text on: one message, or a batch of them. True if the answer to `id` is among them.
pub fn deliver(core: &Core, text: Bytes, id: Option<u64>) -> Result<bool, Failure> {
    match Frame::parse(text.clone()) {
        Err(fault) if fault.kind == FaultKind::Batch => {
            let mut answered = false;
            for element in object::elements(&text) {
                let element = text.slice(element);
                answered |= give(core, Frame::parse(element.clone()), &element, id)?;
            }
            Ok(answered)
        }
        parsed => give(core, parsed, &text, id),
    }
}

fn give(core: &Core, parsed: Result<Frame, Fault>, text: &Bytes, id: Option<u64>) -> Result<bool, Failure> {
    let is_ours = |raw: &[u8]| id.is_some() && own_id(raw) == id;
    match parsed {
        Ok(frame) => {
            let answers = matches!(frame.kind(), Kind::Response | Kind::Error) && is_ours(&frame.id());
            core.inbox.message(frame, id);
            Ok(answers)
        }
        Err(fault) => {
            let was_answer = !fault.has_method && fault.id.as_ref().is_some_and(|id| is_ours(id));
            core.inbox.noise(fault, text);
            if was_answer {
                return Err(Failure::new(FailureKind::BadAnswer, "the answer is no JSON-RPC message", true));
            }
            Ok(false)
        }
    }
}

/// A stream that is being read, and what is needed to go on after it.
pub struct Reader {
    chunks: Chunks,
    parser: Parser,
    last_event: Option<HeaderValue>,
    retry: Option<Duration>,
    /// Whether anything has come on this connection.
    heard: bool,
}

impl Reader {
    pub fn new(chunks: Chunks, max: usize) -> Reader {
        Reader { chunks, parser: Parser::new(max), last_event: None, retry: None, heard: false }
    }

    /// The same stream on a new connection.
    fn resume(&mut self, chunks: Chunks, max: usize) {
        self.chunks = chunks;
        self.parser = Parser::new(max);
        self.heard = false;
    }

    /// Gives on what comes, until the answer to `id` or the end.
    pub async fn read(&mut self, core: &Core, id: Option<u64>) -> Result<Seen, Failure> {
        while let Some(chunk) = self.chunks.next().await {
            self.parser.push(&chunk?);
            let mut answered = false;
            while let Some(event) = self.parser.next() {
                let event = event.map_err(|fault| {
                    Failure::new(FailureKind::TooLong(fault.max as u64 + 1), fault.to_string(), true)
                })?;
                self.heard = true;
                self.retry = event.retry.map(|time| time.min(MAX_RETRY)).or(self.retry);
                if let Some(last) = &event.id {
                    self.last_event = HeaderValue::from_bytes(last).ok().filter(|last| !last.is_empty());
                }
                if let Some(text) = event.message() {
                    answered |= deliver(core, text, id)?;
                }
            }
            if answered {
                return Ok(Seen::Answered);
            }
        }
        Ok(Seen::Ended)
    }
}

/// Grows with every attempt that brings nothing.
struct Backoff {
    attempts: u32,
    base: Duration,
}

impl Backoff {
    fn new(core: &Core) -> Backoff {
        Backoff { attempts: 0, base: core.limits.retry_time }
    }
    async fn wait(&mut self, retry: Option<Duration>) {
        let factor = 1_u32 << self.attempts.min(5);
        self.attempts += 1;
        tokio::time::sleep((retry.unwrap_or(self.base) * factor).min(MAX_RETRY)).await;
    }
}

/// Reads the answer to `id` from a stream. With `initialize`, a stream that breaks is resumed after its last event.
pub async fn answer(core: &Core, reply: Reply, id: u64, ticket: Ticket) -> Result<Reader, Failure> {
    let max = core.limits.max_message;
    let mut reader = Reader::new(reply.chunks, max);
    let mut backoff = Backoff::new(core);
    loop {
        let failure = match reader.read(core, Some(id)).await {
            Ok(Seen::Answered) => return Ok(reader),
            Ok(Seen::Ended) => Failure::new(FailureKind::Broken, "the stream ended before the answer", true),
            Err(failure) => failure,
        };
        if failure.kind != FailureKind::Broken || core.session.is_modern() || reader.last_event.is_none() {
            return Err(failure);
        }
        if reader.heard {
            backoff.attempts = 0;
        }
        loop {
            if backoff.attempts >= MAX_RESUMES {
                return Err(failure);
            }
            backoff.wait(reader.retry).await;
            if !core.session.is_current(ticket) {
                return Err(Failure::new(FailureKind::Ended, "the session ended before the answer", true));
            }
            match open(core, reader.last_event.as_ref()).await {
                Opened::Stream(reply) => {
                    reader.resume(reply.chunks, max);
                    break;
                }
                Opened::Later => {}
                Opened::Forgotten => {
                    let lost = core.session_lost(ticket);
                    return Err(lost.map_or(failure, |lost| Failure { sent: true, ..lost }));
                }
                Opened::Never => return Err(failure),
            }
        }
    }
}

/// Keeps the stream for what belongs to no request open, if the server has one.
pub async fn listen(core: Rc<Core>) {
    let ticket = core.session.ticket();
    let mut backoff = Backoff::new(&core);
    let mut reader: Option<Reader> = None;
    loop {
        let last = reader.as_ref().and_then(|reader| reader.last_event.clone());
        match open(&core, last.as_ref()).await {
            Opened::Stream(reply) => {
                let max = core.limits.max_message;
                let current = match reader.take() {
                    None => Reader::new(reply.chunks, max),
                    Some(mut before) => {
                        before.resume(reply.chunks, max);
                        before
                    }
                };
                let current = reader.insert(current);
                if let Err(failure) = current.read(&core, None).await {
                    tracing::debug!(origin = core.target.origin, why = failure.text, "the session's stream broke");
                }
                if current.heard {
                    backoff.attempts = 0;
                }
            }
            Opened::Forgotten if reader.is_some() => {
                let _ = core.session_lost(ticket);
                return;
            }
            Opened::Forgotten | Opened::Never => return,
            Opened::Later => {}
        }
        backoff.wait(reader.as_ref().and_then(|reader| reader.retry)).await;
        if !core.session.is_current(ticket) {
            return;
        }
    }
}

enum Opened {
    Stream(Reply),
    /// Nothing now, but maybe later.
    Later,
    /// 404: no such session, or no such stream.
    Forgotten,
    /// The server has no such stream.
    Never,
}

async fn open(core: &Core, last_event: Option<&HeaderValue>) -> Opened {
    let mut headers = core.fields.clone();
    headers.insert(header::ACCEPT, HeaderValue::from_static(sse::MEDIA_TYPE));
    headers.remove(header::CONTENT_TYPE);
    core.session.mark(&mut headers);
    if let Some(last_event) = last_event {
        headers.insert(headers::LAST_EVENT, last_event.clone());
    }
    let outgoing = Outgoing { method: Method::GET, headers, text: None, sent: std::sync::Arc::default() };
    match core.carrier.send(&core.target, outgoing).await {
        Err(failure) if matches!(failure.kind, FailureKind::Unreachable | FailureKind::Broken) => Opened::Later,
        Err(_) => Opened::Never,
        Ok(reply) if reply.status.is_success() && headers::is_media_type(&reply.headers, sse::MEDIA_TYPE) => {
            Opened::Stream(reply)
        }
        Ok(reply) if reply.status == StatusCode::NOT_FOUND => Opened::Forgotten,
        Ok(reply) if reply.status == StatusCode::UNAUTHORIZED => {
            core.keep_challenge(&reply.headers);
            Opened::Never
        }
        Ok(reply) if reply.status.is_server_error() || reply.status == StatusCode::TOO_MANY_REQUESTS => Opened::Later,
        Ok(_) => Opened::Never,
    }
}
