//! What comes in by POST: read as JSON-RPC, sent to the adapter of its era. Nothing that could be read in two ways
//! gets further than this.

use super::call::Question;
use super::delivery::{failure, response};
use super::gate::Takes;
use super::mirror::{SESSION, VERSION};
use super::{Caller, Door, legacy, modern};
use bytes::Bytes;
use frame::object::{self, quote};
use frame::{Fault, FaultKind, Frame, Origin, Params, Version};
use http::{HeaderMap, StatusCode};
use std::rc::Rc;
use wire::era::{Out, meta};
use wire::http::server::{self, Responder};

/// One POST.
pub struct Post {
    /// Who sent it.
    pub caller: Caller,
    /// Its headers.
    pub headers: HeaderMap,
    /// The forms of answer it takes.
    pub takes: Takes,
    /// The duty to answer it.
    pub responder: Responder,
}

impl Post {
    /// Refuses it with a JSON-RPC error; `id` is raw.
    pub fn refuse(self, status: StatusCode, id: &[u8], code: i32, message: &str) {
        self.responder.send(server::Answer::json(status, failure(id, code, message)));
    }
}

/// One message, and the part of its params that a door looks at most.
pub struct Message {
    /// The message.
    pub frame: Frame,
    /// Its params object.
    pub params: Params,
    meta: Option<Bytes>,
}

impl Message {
    /// Looks into a message.
    pub fn new(frame: Frame) -> Message {
        let params = Params::read(frame.params());
        let meta = params.get("_meta");
        Message { frame, meta, params }
    }
    /// One member of its `_meta`.
    pub fn meta(&self, key: &str) -> Option<Bytes> {
        self.meta.as_ref().and_then(|meta| object::get(meta, key))
    }
    /// Its whole `_meta`.
    pub fn bag(&self) -> Option<&Bytes> {
        self.meta.as_ref()
    }
    /// What the headers of the modern era call its name, and where it stands in the params.
    pub fn named(&self) -> Option<(&'static str, Option<Bytes>)> {
        let key = match &*self.frame.method() {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
            _ => return None,
        };
        Some((key, self.params.get(key)))
    }
    /// What goes to the hub.
    pub fn question(&self, origin: Rc<Origin>) -> Question {
        Question {
            id: self.frame.id(),
            method: self.frame.method().as_ref().into(),
            params: self.params.clone(),
            token: self.meta.as_ref().and_then(meta::token_in),
            origin,
        }
    }
}

/// Reads a body and answers it.
pub fn take(door: &Door, post: Post, body: Bytes) {
    let frame = match Frame::parse(body.clone()) {
        Ok(frame) => frame,
        Err(fault) if fault.kind == FaultKind::Batch && !modern::claims_modern(&post.headers) => {
            return legacy::batch(door, post, &body);
        }
        Err(fault) => {
            let (id, code, message) = complaint(&fault);
            // A whole request with bad params is answered like any other one; what is less than that is not accepted.
            let whole = fault.kind == FaultKind::BadParams && fault.id.is_some();
            let legacy = !modern::claims_modern(&post.headers);
            let status = if whole && legacy { StatusCode::OK } else { StatusCode::BAD_REQUEST };
            return post.refuse(status, &id, code, message);
        }
    };
    let message = Message::new(frame);
    if modern::is_modern(&post.headers, &message) {
        return modern::message(door, post, &message);
    }
    if let Some(asked) = foreign_version(&post.headers).filter(|_| message.frame.method() != "initialize") {
        let id = Some(message.frame.id()).filter(|id| !id.is_empty()).unwrap_or_else(|| Bytes::from_static(b"null"));
        let text = response(&id, &legacy::unknown_version(&asked));
        return post.responder.send(server::Answer::json(StatusCode::BAD_REQUEST, text));
    }
    legacy::message(door, post, &message);
}

/// A version in the header that is none of ours, while no session says which one it should be.
fn foreign_version(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(VERSION).filter(|_| !headers.contains_key(SESSION))?;
    let text = String::from_utf8_lossy(value.as_bytes());
    Version::parse(&text).is_none().then(|| text.into_owned())
}

/// The raw id, code and words for a text that is no usable message.
pub fn complaint(fault: &Fault) -> (Bytes, i32, &'static str) {
    let null = Bytes::from_static(b"null");
    let id = fault.id.clone().unwrap_or_else(|| null.clone());
    match fault.kind {
        FaultKind::NotJson => (null, -32700, "the body is not one JSON text"),
        FaultKind::BadUtf8 => (null, -32700, "the body is not UTF-8"),
        FaultKind::TooDeep => (null, -32700, "the body is nested too deep"),
        FaultKind::DuplicateKey => (null, -32600, "a key of the message stands twice"),
        FaultKind::NotRpc => (id, -32600, "this is no JSON-RPC 2.0 message"),
        FaultKind::Batch => (null, -32600, "batches exist in 2025-03-26 only"),
        FaultKind::BadId => (null, -32600, "the id is neither a string nor an integer"),
        FaultKind::BadParams => (id, -32602, "params must be an object"),
        FaultKind::BadShape => (id, -32600, "this is neither a request nor an answer"),
    }
}

/// The answer to a gated request that two readers could understand differently.
pub fn ambiguity(message: &Message) -> Option<Out> {
    let plain = matches!(
        &*message.frame.method(),
        "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "server/discover"
            | "subscriptions/listen"
    );
    if plain {
        return None;
    }
    message.params.ambiguity().map(|why| error(-32602, &why.to_string()))
}

/// There is no such method in this era.
pub fn no_method() -> Out {
    error(-32601, "there is no such method")
}

/// An error of this door's own, the same in both eras.
pub fn error(code: i32, message: &str) -> Out {
    Out::Error(format!("{{\"code\":{code},\"message\":{}}}", quote(message)).into())
}
