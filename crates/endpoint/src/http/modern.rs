//! Clients of 2026-07-28 at this door: every request stands for itself, headers and body must agree, and closing the
//! connection cancels. Nothing here knows of sessions.

use super::call::{Call, Calls, Question};
use super::delivery::{Delivery, response, send, status};
use super::gate::{Refusal, Takes};
use super::mirror::{self, Mismatch, VERSION};
use super::outbox::List;
use super::post::{self, Message, Post};
use super::shared::{Filter, Listens, Shared, Subscription};
use super::{Door, shared};
use bytes::Bytes;
use frame::{Era, Kind, Origin, object};
use http::{HeaderMap, StatusCode};
use hub::agent::UnknownView;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use tokio::time::Instant;
use wire::era::modern_host::{self, Claim};
use wire::era::{Out, meta};
use wire::http::server;

/// A single message.
pub fn message(door: &Door, post: Post, message: &Message) {
    let frame = &message.frame;
    match frame.kind() {
        Kind::Request => {}
        Kind::Notification => {
            // There is none that means anything on HTTP: a stream is cancelled by closing it.
            return match mirror::single(&post.headers)
                .and_then(|()| mirror::method_if_any(&post.headers, &frame.method()))
            {
                Ok(()) => post.responder.send(server::Answer::empty(StatusCode::ACCEPTED)),
                Err(why) => post.refuse(StatusCode::BAD_REQUEST, b"null", -32020, &why),
            };
        }
        Kind::Response | Kind::Error => {
            return post.refuse(StatusCode::BAD_REQUEST, b"null", -32600, "there is nothing to answer");
        }
    }
    let (id, method) = (frame.id(), frame.method());
    if let Err(why) = version(&post.headers, message) {
        return post.refuse(StatusCode::BAD_REQUEST, &id, -32020, &why);
    }
    let origin = match modern_host::claim_in(message.bag()) {
        Claim::Modern(origin) => origin,
        Claim::None => {
            let why = format!("_meta needs {} and {}", meta::VERSION, meta::CLIENT_CAPABILITIES);
            return post.refuse(StatusCode::BAD_REQUEST, &id, -32602, &why);
        }
        Claim::Refused(answer) => {
            let text = response(&id, &modern_host::answer(answer, &method));
            return post.responder.send(server::Answer::json(StatusCode::BAD_REQUEST, text));
        }
    };
    if let Err(why) = mirror::method(&post.headers, &method) {
        return post.refuse(StatusCode::BAD_REQUEST, &id, -32020, &why);
    }
    if let Some(out) = refused(&method).or_else(|| post::ambiguity(message)) {
        return ready(post, &id, &out);
    }
    let Ok(shared) = place(door, &post) else { return post.responder.send(Refusal::Path.into()) };
    if let Err(why) = mirror::params(&post.headers, message, |tool| shared.place.input_schema(tool)) {
        return post.refuse(StatusCode::BAD_REQUEST, &id, -32020, &why);
    }
    match &*method {
        "server/discover" => {
            let about = shared.place.describe();
            let out = modern_host::discovered(&about.capabilities, &about.server_info, about.instructions.as_deref());
            ready(post, &id, &out);
        }
        "subscriptions/listen" => listen(door, post, &shared, message, &origin),
        _ => ask(door, post, &shared, message.question(origin)),
    }
}

/// The version in the header is that of the body; nothing may stand twice.
fn version(headers: &HeaderMap, message: &Message) -> Result<(), Mismatch> {
    mirror::single(headers)?;
    let header = mirror::text(headers, &VERSION)?;
    let Some(raw) = message.meta(meta::VERSION) else { return Ok(()) };
    match header {
        None => Err("MCP-Protocol-Version is missing".into()),
        Some(header) if object::text(&raw).is_some_and(|body| body == header) => Ok(()),
        Some(_) => Err("MCP-Protocol-Version is not the version of the body".into()),
    }
}

/// Methods that this era has not.
fn refused(method: &str) -> Option<Out> {
    matches!(method, "initialize" | "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe")
        .then(post::no_method)
}

fn ready(post: Post, id: &Bytes, out: &Out) {
    send(post.responder, post.takes, status(Era::Modern, out), HeaderMap::new(), response(id, out));
}

fn place(door: &Door, post: &Post) -> Result<Rc<Shared>, UnknownView> {
    let holder = &post.caller.holder;
    if let Some(shared) = door.places.get(holder) {
        return Ok(shared);
    }
    let listens = Rc::new(Listens::default());
    let place = door.join(&post.caller, listens.clone())?;
    let calls = Calls::new(door.bounds.running);
    let shared = shared::Shared { place, calls, listens, used: Cell::new(Instant::now()) };
    Ok(door.places.add(holder.clone(), shared))
}

fn ask(door: &Door, post: Post, shared: &Shared, question: Question) {
    let id = question.id.clone();
    let running: Rc<RefCell<Weak<Call>>> = Rc::default();
    let line = running.clone();
    post.responder.on_closed(Box::new(move || {
        let call = line.borrow().upgrade();
        if let Some(call) = call {
            call.cancel();
        }
    }));
    if post.responder.is_closed() {
        return;
    }
    let delivery = Delivery::single(post.responder, post.takes, door.open.clone());
    match shared.calls.ask(&*shared.place, question, &delivery) {
        Ok(call) => {
            running.replace(Rc::downgrade(&call));
            delivery.wait();
        }
        Err(why) => {
            let out = post::error(-32603, &why.to_string());
            delivery.finish(Some((StatusCode::OK, response(&id, &out))));
        }
    }
}

fn listen(door: &Door, post: Post, shared: &Shared, message: &Message, origin: &Origin) {
    let id = &message.frame.id();
    let Some(wanted) = message.params.get("notifications").filter(|filter| filter.first() == Some(&b'{')) else {
        return ready(post, id, &post::error(-32602, "notifications is needed, an object"));
    };
    if post.takes == Takes::Json {
        return post.responder.send(Refusal::Accept.into());
    }
    let filter = offered(&wanted, &Bytes::from(shared.place.describe().capabilities));
    let number = shared.listens.number();
    let tasks = match shared.place.watch(origin, &wanted, shared.listens.teller(number)) {
        Ok(tasks) => tasks,
        Err(error) => return ready(post, id, &modern_host::answer(error, "")),
    };
    let to = Subscription { number, id: id.clone(), filter, tasks };
    shared.listens.open(to, post.responder.stream(HeaderMap::new()), door.bounds.listens);
}

/// What a filter asks for and the view has to tell.
fn offered(wanted: &Bytes, capabilities: &Bytes) -> Filter {
    List::ALL.into_iter().fold(Filter::default(), |filter, list| {
        let asked = object::get(wanted, &format!("{}ListChanged", list.as_str()));
        let capability = object::get(capabilities, list.as_str());
        let has = capability.and_then(|capability| object::get(&capability, "listChanged"));
        filter.with(list, asked.as_deref() == Some(b"true") && has.as_deref() == Some(b"true"))
    })
}

/// Whether a message is one of this era: its body says so, or its header.
pub fn is_modern(headers: &HeaderMap, message: &Message) -> bool {
    if message.meta(meta::VERSION).is_some() {
        return true;
    }
    let method = message.frame.method();
    let probe = method == "server/discover" && !headers.contains_key(mirror::SESSION);
    method != "initialize" && (probe || claims_modern(headers))
}

/// Whether the header alone says so.
pub fn claims_modern(headers: &HeaderMap) -> bool {
    headers.get(VERSION).is_some_and(|value| value == frame::Version::V2026.as_str())
}
