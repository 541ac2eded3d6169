//! Clients of 2024-11-05 to 2025-11-25 at this door: `initialize` makes a session, everything else needs one. A lost
//! connection is no cancel here; JSON-RPC errors ride on 200.

use super::call::Calls;
use super::delivery::{Delivery, failure, response, send};
use super::gate::{self, Refusal};
use super::mirror::{self, SESSION, VERSION};
use super::outbox::Outbox;
use super::post::{self, Message, Post};
use super::session::Session;
use super::{Caller, Door};
use bytes::Bytes;
use frame::{Era, Frame, Kind, Level, Version, object};
use http::{HeaderMap, HeaderValue, StatusCode};
use std::cell::Cell;
use std::rc::Rc;
use tokio::time::Instant;
use wire::era::{Out, legacy_host, modern_host};
use wire::http::server::{self, Head, Responder};

/// A single message.
pub fn message(door: &Door, post: Post, message: &Message) {
    let frame = &message.frame;
    if frame.kind() == Kind::Request && frame.method() == "initialize" {
        return initialize(door, post, frame);
    }
    let session = match session(door, &post.caller, &post.headers) {
        Ok(session) => session,
        Err(refusal) => return post.responder.send(refusal.into()),
    };
    if frame.kind() != Kind::Request {
        tell(&session, frame);
        return post.responder.send(server::Answer::empty(StatusCode::ACCEPTED));
    }
    let delivery = Delivery::single(post.responder, post.takes, door.open.clone());
    request(&session, message, &delivery);
    delivery.wait();
}

/// A batch, which only sessions of 2025-03-26 may send: answered as a batch.
pub fn batch(door: &Door, post: Post, text: &Bytes) {
    let session = match session(door, &post.caller, &post.headers) {
        Ok(session) => session,
        Err(refusal) => return post.responder.send(refusal.into()),
    };
    let parts: Vec<_> = object::elements(text).take(door.bounds.batch + 1).collect();
    let why = match parts.len() {
        _ if session.origin.version != Version::V2025Mar => Some("batches exist in 2025-03-26 only"),
        0 => Some("the batch is empty"),
        count if count > door.bounds.batch => Some("the batch is too long"),
        _ => None,
    };
    if let Some(why) = why {
        return post.refuse(StatusCode::BAD_REQUEST, b"null", -32600, why);
    }
    let (mut requests, mut faults) = (Vec::new(), Vec::new());
    for part in parts {
        match Frame::parse(text.slice(part)) {
            Ok(frame) if frame.kind() == Kind::Request => requests.push(frame),
            Ok(frame) => tell(&session, &frame),
            Err(fault) => faults.push(post::complaint(&fault)),
        }
    }
    if requests.is_empty() && faults.is_empty() {
        return post.responder.send(server::Answer::empty(StatusCode::ACCEPTED));
    }
    let delivery = Delivery::batch(post.responder, post.takes, door.open.clone(), requests.len() + faults.len());
    for (id, code, message) in faults {
        delivery.finish(Some((StatusCode::OK, failure(&id, code, message))));
    }
    for frame in requests {
        if frame.method() == "initialize" {
            let text = failure(&frame.id(), -32600, "initialize must not stand in a batch");
            delivery.finish(Some((StatusCode::OK, text)));
        } else {
            request(&session, &Message::new(frame), &delivery);
        }
    }
    delivery.wait();
}

/// GET: the stream of what the session is told unasked.
pub fn listen(door: &Door, caller: &Caller, head: &Head, responder: Responder) {
    match session(door, caller, &head.headers) {
        Ok(session) => session.outbox.open(responder.stream(HeaderMap::new())),
        Err(refusal) => responder.send(refusal.into()),
    }
}

/// DELETE: the end of the session.
pub fn end(door: &Door, caller: &Caller, head: &Head, responder: Responder) {
    match session(door, caller, &head.headers) {
        Ok(_) => {
            if let Some(id) = session_id(&head.headers) {
                door.sessions.end(id);
            }
            responder.send(server::Answer::empty(StatusCode::NO_CONTENT));
        }
        Err(refusal) => responder.send(refusal.into()),
    }
}

fn initialize(door: &Door, post: Post, frame: &Frame) {
    let id = frame.id();
    let origin = match legacy_host::initialize(&frame.params()) {
        Ok(origin) => origin,
        Err(answer) => {
            let text = response(&id, &legacy_host::answer(answer, "initialize"));
            return send(post.responder, post.takes, StatusCode::OK, HeaderMap::new(), text);
        }
    };
    let outbox = Rc::new(Outbox::default());
    let Ok(place) = door.join(&post.caller, outbox.clone()) else {
        return post.responder.send(Refusal::Path.into());
    };
    let about = place.describe();
    let out = legacy_host::initialized(
        origin.version,
        &about.capabilities,
        &about.server_info,
        about.instructions.as_deref(),
    );
    let session = Session {
        holder: post.caller.holder.clone(),
        origin,
        place,
        calls: Calls::new(door.bounds.running),
        outbox,
        used: Cell::new(Instant::now()),
    };
    match door.sessions.add(session, &door.bounds) {
        Ok(session) => {
            let mut headers = HeaderMap::new();
            // Hexadecimal digits are always a header value.
            headers.extend(HeaderValue::try_from(session).ok().map(|value| (SESSION, value)));
            send(post.responder, post.takes, StatusCode::OK, headers, response(&id, &out));
        }
        Err(why) => post.refuse(StatusCode::SERVICE_UNAVAILABLE, &id, -32603, &why.to_string()),
    }
}

/// Why there is no session for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sessionless {
    /// It names none.
    Missing,
    /// It names none that its sender holds.
    Unknown,
    /// It speaks a version that has none.
    Version,
}

impl From<Sessionless> for server::Answer {
    fn from(why: Sessionless) -> server::Answer {
        let (status, code, message) = match why {
            Sessionless::Missing => (StatusCode::BAD_REQUEST, -32600, "Mcp-Session-Id is missing"),
            Sessionless::Unknown => (StatusCode::NOT_FOUND, -32001, "Session not found"),
            Sessionless::Version => (StatusCode::BAD_REQUEST, -32600, "MCP-Protocol-Version is not that of a session"),
        };
        server::Answer::json(status, failure(b"null", code, message))
    }
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    gate::sole(headers, &SESSION).ok().flatten()?.to_str().ok()
}

/// The session that a request names; who does not hold it gets the answer for one that does not exist.
fn session(door: &Door, caller: &Caller, headers: &HeaderMap) -> Result<Rc<Session>, Sessionless> {
    if !headers.contains_key(SESSION) {
        return Err(Sessionless::Missing);
    }
    let session = session_id(headers).and_then(|id| door.sessions.get(id, &caller.holder));
    let session = session.ok_or(Sessionless::Unknown)?;
    match mirror::text(headers, &VERSION) {
        Ok(None) => Ok(session),
        Ok(Some(text)) if Version::parse(text).is_some_and(|version| version.era() == Era::Legacy) => Ok(session),
        _ => Err(Sessionless::Version),
    }
}

/// A notification, or an answer to a request that was never sent.
fn tell(session: &Session, frame: &Frame) {
    if frame.kind() == Kind::Notification
        && frame.method() == "notifications/cancelled"
        && let Some(id) = object::get(&frame.params(), "requestId")
        && let Some(call) = session.calls.get(&id)
    {
        call.cancel();
    }
}

/// One request of a session.
fn request(session: &Session, message: &Message, delivery: &Rc<Delivery>) {
    let (id, method) = (message.frame.id(), message.frame.method());
    let ready = match &*method {
        "ping" => Some(Out::Result("{}".into())),
        "logging/setLevel" => Some(set_level(session, message.params.text())),
        // Their home is the other era: answered here they could be mistaken for a call to a server.
        "server/discover" | "subscriptions/listen" => Some(post::no_method()),
        _ => post::ambiguity(message),
    };
    if let Some(out) = ready {
        return delivery.finish(Some((StatusCode::OK, response(&id, &out))));
    }
    let question = message.question(session.origin.clone());
    if let Err(why) = session.calls.ask(&*session.place, question, delivery) {
        delivery.finish(Some((StatusCode::OK, failure(&id, -32600, &why.to_string()))));
    }
}

fn set_level(session: &Session, params: &Bytes) -> Out {
    let level = object::get(params, "level").and_then(|name| object::text(&name).and_then(|name| Level::parse(&name)));
    let Some(level) = level else {
        return post::error(-32602, "level is not a log level");
    };
    session.origin.level.set(Some(level));
    session.place.set_level(Some(level));
    Out::Result("{}".into())
}

/// The refusal of a version that nobody here speaks.
pub fn unknown_version(asked: &str) -> Out {
    modern_host::answer(modern_host::unsupported(asked), "")
}
