//! Requests for what is no tool: prompts, resources, completions, methods that the hub does not know. What the rules
//! let through goes its way at once; everything else takes the same way through the gate as a call.

use super::To;
use crate::agent::{SeatCore, View};
use crate::backend::Backend;
use crate::gate::pages::Pages;
use crate::gate::{meet, road as gate_road, still};
use crate::record::{About, Record};
use crate::road::{self, Plan};
use crate::thing::{self, Asked};
use bytes::Bytes;
use contract::outcome::{Code, Refusal};
use frame::object::{self, Edit};
use frame::{Answer, Ask, Reply};
use policy::{Effect, Target, Verdict};
use std::rc::Rc;
use tokio::time::Instant;

/// Longest name of a method that is passed on, in bytes.
const LONGEST_METHOD: usize = 128;

/// One request on its way to be resolved.
pub(crate) struct Way {
    pub ticket: u64,
    pub ask: Ask,
    pub reply: Box<dyn Reply>,
    pub received: Instant,
}

pub(super) fn prompt(seat: &Rc<SeatCore>, way: Way) {
    let name = way.ask.params.string("name");
    let catalog = seat.core.catalog(&seat.view);
    let Some(entry) = name.as_deref().and_then(|name| catalog.prompt(name)) else {
        return way.reply.done(Answer::error(-32602, "there is no such prompt"));
    };
    let params = way.ask.params.with([("name", object::quote(&entry.read.own).as_bytes())]);
    let (name, own) = (&*entry.read.exposed, &*entry.read.own);
    forward(
        seat,
        way,
        params,
        Asked { target: Target::Prompt, backend: &entry.backend, name, own, entry: Some(entry) },
    );
}

pub(super) fn resource(seat: &Rc<SeatCore>, way: Way) {
    let Some(uri) = way.ask.params.string("uri") else {
        let message = "resources/read needs `uri`, a string";
        return way.reply.done(thing::refused(&Refusal::new(Code::InvalidArguments, message)));
    };
    if Pages::is_own(&uri) {
        return way.reply.done(match seat.core.gate.pages.read(&uri, seat.identity.id()) {
            Some(page) => Answer::result(page),
            None => Answer::error(-32002, "there is no such resource, or its time is over"),
        });
    }
    let catalog = seat.core.catalog(&seat.view);
    let entry = catalog.resource(&uri);
    let Some(backend) = owner(seat, entry.map_or_else(|| catalog.owner_of(&uri), |entry| Some(&entry.backend))) else {
        return way.reply.done(Answer::error(-32002, "there is no such resource"));
    };
    let params = way.ask.params.text().clone();
    forward(seat, way, params, Asked { target: Target::Resource, backend: &backend, name: &uri, own: &uri, entry });
}

/// In a server view everything belongs to that server.
fn owner(seat: &SeatCore, found: Option<&Rc<Backend>>) -> Option<Rc<Backend>> {
    match (&seat.view, found) {
        (View::Server(key), None) => seat.core.backend(key),
        (_, found) => found.cloned(),
    }
}

pub(super) fn completion(seat: &Rc<SeatCore>, way: Way) {
    let reference = way.ask.params.get("ref").unwrap_or_default();
    let [name, uri] = object::pick(&reference, ["name", "uri"]);
    let text = |range: std::ops::Range<usize>| object::text(&reference[range]).map(|text| text.into_owned());
    let catalog = seat.core.catalog(&seat.view);
    if let Some(entry) = name.and_then(text).and_then(|name| catalog.prompt(&name)) {
        let inner = Edit::new().set("name", object::quote(&entry.read.own)).apply(&reference).join();
        let params = way.ask.params.with([("ref", &inner[..])]);
        return complete(seat, way, params, &entry.backend);
    }
    let backend = uri.and_then(text).and_then(|uri| owner(seat, catalog.owner_of_reference(&uri)));
    let Some(backend) = backend else {
        return way.reply.done(Answer::error(-32602, "there is no such prompt or resource to complete for"));
    };
    let params = way.ask.params.text().clone();
    complete(seat, way, params, &backend);
}

/// Completions are free: no rule names them.
fn complete(seat: &Rc<SeatCore>, way: Way, params: Bytes, backend: &Rc<Backend>) {
    let Way { ticket, ask, reply, received } = way;
    let about = About { item: None, method: store::Method::Complete, effect: Effect::Read };
    let record = Record::begin(seat, backend, about, received);
    let request = gate_road::request_of(seat, backend, &ask.method, (&ask.method, Effect::Read), params);
    let plan = Plan { backend: Rc::clone(backend), tool: None, effect: Effect::Read, lane: None };
    match policy::decide(request, seat.core.gate.free()) {
        Verdict::Allow(permit) => road::set_out(seat, ticket, ask, plan, permit, record, To::Reply(reply)),
        Verdict::Ask(_) | Verdict::Deny(_) => reply.done(Answer::error(-32603, "completions cannot be judged")),
    }
}

/// A method that the hub does not know: only a view of one server has somebody to ask, and as it may do anything it
/// goes like the call of a tool without hints.
pub(super) fn method(seat: &Rc<SeatCore>, way: Way) {
    let backend = match &seat.view {
        View::Server(key) => seat.core.backend(key),
        View::All | View::Profile(_) => None,
    };
    let is_offered = !is_protocol(&way.ask.method) && way.ask.method.len() <= LONGEST_METHOD;
    let Some(backend) = backend.filter(|_| is_offered) else {
        return way.reply.done(Answer::error(-32601, "the hub does not offer this method"));
    };
    let (params, name) = (way.ask.params.text().clone(), Rc::clone(&way.ask.method));
    let asked = Asked { target: Target::Method, backend: &backend, name: &name, own: &name, entry: None };
    forward(seat, way, params, asked);
}

/// Methods of the protocol that need more than passing on; not offered yet. Tasks of a server are not passed on: the
/// hub does not tell servers that anybody could take one.
fn is_protocol(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "server/discover"
            | "ping"
            | "logging/setLevel"
            | "subscriptions/listen"
            | "resources/subscribe"
            | "resources/unsubscribe"
    ) || method.starts_with("tasks/")
}

/// Goes on at once where the rules allow it and nothing waits that it could be meant for; else through the gate.
fn forward(seat: &Rc<SeatCore>, way: Way, params: Bytes, asked: Asked<'_>) {
    let Way { ticket, ask, reply, received } = way;
    let gate = &seat.core.gate;
    let (backend, effect) = (asked.backend, asked.effect());
    let mut params = params;
    let has_open = gate.index.has_open(seat.identity.id(), backend.key(), asked.method(), asked.label());
    if !has_open && !still::stands(&seat.core, backend, effect) {
        let judgement = gate.judge_bare(seat.identity.who.known_name(), &asked.profile());
        let request = gate_road::request_of(seat, backend, &ask.method, (asked.own, effect), params);
        params = match policy::decide(request, &judgement) {
            Verdict::Allow(permit) => {
                let about = About { item: None, method: asked.method(), effect };
                let record = Record::begin(seat, backend, about, received);
                let lane = effect.is_serial().then(|| backend.lane_of(&ask.method));
                let plan = Plan { backend: Rc::clone(backend), tool: None, effect, lane };
                return road::set_out(seat, ticket, ask, plan, permit, record, To::Reply(reply));
            }
            Verdict::Ask(request) | Verdict::Deny(request) => request.params,
        };
    }
    let thing = asked.to_thing(&params);
    meet::meet(meet::Request { seat: Rc::clone(seat), ticket, ask, reply, received, thing });
}
