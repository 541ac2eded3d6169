//! From a client's request to a plan: which server, which of its entries, are the arguments what it wants. Lists are
//! answered from memory.

use crate::agent::{SeatCore, View};
use crate::backend::Backend;
use crate::catalog::{ListKind, ToolEntry};
use crate::gate::case::Case;
use crate::gate::pages::Pages;
use crate::gate::{self, meet::Request};
use crate::record::{About, Record};
use crate::road::{self, Plan};
use bytes::Bytes;
use contract::Problem;
use contract::arguments::{Arguments, Effort, Unfit};
use contract::outcome::{Code, Output, Refusal};
use contract::schema::Compiled;
use frame::object::{self, Edit};
use frame::{Answer, Ask, Reply};
use policy::{Effect, Target, Verdict};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use upstream::task;

/// How long the first list waits for servers that have never been listed and have just been started.
const FIRST_LIST: Duration = Duration::from_millis(750);
/// How long a call waits for lists that its server has said to be others.
const CHANGE: Duration = Duration::from_secs(10);
/// Arguments from this size on are checked on the blocking pool, in bytes.
const LARGE: usize = 64 * 1024;

/// Answers or sends on one request.
pub(crate) fn ask(seat: &Rc<SeatCore>, ticket: u64, ask: Ask, reply: Box<dyn Reply>) {
    ask_since(seat, ticket, ask, reply, Instant::now());
}

/// The same of a request that came at that time and had to wait for its server.
fn ask_since(seat: &Rc<SeatCore>, ticket: u64, ask: Ask, reply: Box<dyn Reply>, received: Instant) {
    if seat.core.is_refusing() {
        return reply.done(Answer::error(-32603, "the hub is stopping; nothing was executed"));
    }
    if let Some(kind) = ListKind::of(&ask.method) {
        return list(seat, kind, &ask, reply);
    }
    if let Some(ambiguity) = ask.params.ambiguity() {
        return reply.done(Answer::error(-32602, &format!("the params can be read in two ways: {ambiguity}")));
    }
    match &*ask.method {
        "tools/call" => call(seat, ticket, ask, reply, received),
        "prompts/get" => prompt(seat, ticket, ask, reply, received),
        "resources/read" => resource(seat, ticket, ask, reply, received),
        "completion/complete" => completion(seat, ticket, ask, reply, received),
        _ => other(seat, ticket, ask, reply, received),
    }
}

fn list(seat: &Rc<SeatCore>, kind: ListKind, ask: &Ask, reply: Box<dyn Reply>) {
    let cursor = ask.params.string("cursor");
    let era = ask.origin.version.era();
    when_listed(seat, move |seat| {
        reply.done(match seat.core.seen(seat).page(kind, cursor.as_deref(), era) {
            Ok(body) => Answer::Result { era, body },
            Err(bad) => Answer::error(-32602, &bad.to_string()),
        });
    });
}

/// Does `then` now, or when the view's servers that have just been started for the first time have been listed.
pub(crate) fn when_listed(seat: &Rc<SeatCore>, then: impl FnOnce(&SeatCore) + 'static) {
    let mut waits = seat.core.unlisted(&seat.view);
    waits.retain(|backend| backend.since().elapsed() < FIRST_LIST);
    if waits.is_empty() {
        return then(seat);
    }
    let seat = Rc::clone(seat);
    task::spawn("wait for a first list", async move {
        for backend in waits {
            first_list(&backend, backend.since() + FIRST_LIST).await;
        }
        then(&seat);
    });
}

/// Waits until a backend has been listed or has failed, or until the deadline.
async fn first_list(backend: &Backend, deadline: Instant) {
    loop {
        let news = backend.news.notified();
        let failed = backend.server().is_none_or(|server| {
            use upstream::State;
            !matches!(server.state().0, State::Stopped | State::Starting { .. } | State::Ready)
        });
        if backend.is_listed() || failed || timeout_at(deadline, news).await.is_err() {
            return;
        }
    }
}

fn call(seat: &Rc<SeatCore>, ticket: u64, ask: Ask, reply: Box<dyn Reply>, received: Instant) {
    let Some(name) = ask.params.string("name") else {
        return reply.done(Answer::error(-32602, "tools/call needs `name`, a string"));
    };
    let catalog = seat.core.catalog(&seat.view);
    let Some(tool) = catalog.tool(&name).cloned() else {
        return unknown_tool(seat, ticket, ask, reply, name, received);
    };
    let seat = Rc::clone(seat);
    if tool.backend.is_changing() {
        return after_change(Request { seat, ticket, ask, reply, received, tool });
    }
    gate::meet::meet(Request { seat, ticket, ask, reply, received, tool });
}

/// A server that has just said that its lists changed is not called by what they were before (threat T05).
fn after_change(request: Request) {
    let deadline = Instant::now() + CHANGE;
    task::spawn("call after a change of lists", async move {
        let backend = Rc::clone(&request.tool.backend);
        loop {
            let news = backend.news.notified();
            if !backend.is_changing() {
                let Request { seat, ticket, ask, reply, received, .. } = request;
                return ask_since(&seat, ticket, ask, reply, received);
            }
            if timeout_at(deadline, news).await.is_err() {
                let message = format!(
                    "The server `{}` has changed its tools and does not say how. Nothing was executed.",
                    backend.key()
                );
                return gate::meet::refuse(request, Code::ServerUnavailable, &message);
            }
        }
    });
}

/// A call of a tool on its way to be judged.
pub(crate) struct Pending {
    pub seat: Rc<SeatCore>,
    pub ticket: u64,
    pub ask: Ask,
    pub tool: Rc<ToolEntry>,
    pub received: Instant,
    /// As they are to be checked; None where there were none.
    pub arguments: Option<Bytes>,
    pub to: To,
}

/// Who gets the answer.
pub(crate) enum To {
    /// The one who asked.
    Reply(Box<dyn Reply>),
    /// All who wait for a call record.
    Case(Rc<Case>),
}

impl To {
    fn done(self, answer: Answer) {
        match self {
            To::Reply(reply) => reply.done(answer),
            To::Case(case) => case.answer(&answer),
        }
    }
}

/// Checks the arguments against the tool's schema, then goes on to be permitted.
pub(crate) fn check(call: Pending) {
    let compiled = match call.tool.compiled() {
        Ok(compiled) => compiled,
        Err(fault) => return checked(call, Judged::NoSchema(fault)),
    };
    let approved = match call.tool.approved().transpose() {
        Ok(approved) => approved,
        Err(fault) => return checked(call, Judged::NoSchema(fault)),
    };
    let schemas = (compiled, approved);
    if call.arguments.as_ref().is_none_or(|text| text.len() < LARGE) {
        match judge(call.arguments.as_ref(), &schemas, Effort::QUICK) {
            Judged::Costly => {}
            judged => return checked(call, judged),
        }
    }
    task::spawn("long argument check", async move {
        let arguments = call.arguments.clone();
        let judging = tokio::task::spawn_blocking(move || judge(arguments.as_ref(), &schemas, Effort::LONG));
        let judged = judging.await.unwrap_or(Judged::Costly);
        checked(call, judged);
    });
}

/// What the check of arguments came to.
enum Judged {
    /// They may be sent as they were received, or as this text.
    Fit(Option<Bytes>),
    Unfit(Vec<Problem>),
    Costly,
    NoSchema(String),
}

/// Against the schema as it is now and, where that has changed, against the one that was approved (rules.md 15).
fn judge(raw: Option<&Bytes>, schemas: &(Arc<Compiled>, Option<Arc<Compiled>>), effort: Effort) -> Judged {
    let (compiled, approved) = schemas;
    let mut arguments = match Arguments::read(raw.map(|raw| &raw[..])) {
        Ok(arguments) => arguments,
        Err(unfit) => return Judged::Unfit(unfit.into_problems()),
    };
    let both = |arguments: &mut Arguments<'_>| {
        arguments.check(compiled, effort)?;
        approved.as_ref().map_or(Ok(()), |approved| arguments.check(approved, effort))
    };
    match both(&mut arguments) {
        Ok(()) => {
            let text = arguments.text();
            let is_same = raw.is_some_and(|raw| raw[..] == *text.as_bytes());
            Judged::Fit((!is_same).then(|| Bytes::copy_from_slice(text.as_bytes())))
        }
        Err(Unfit::Costly) => Judged::Costly,
        Err(unfit @ Unfit::Invalid(_)) => Judged::Unfit(unfit.into_problems()),
    }
}

fn checked(call: Pending, judged: Judged) {
    let (code, message, problems) = match judged {
        Judged::Fit(repaired) => {
            let received = || call.arguments.clone().unwrap_or_else(|| Bytes::from_static(b"{}"));
            let arguments = repaired.unwrap_or_else(received);
            return gate::road::permit(call, arguments);
        }
        Judged::Unfit(problems) => {
            (Code::InvalidArguments, "The arguments do not match the tool's schema.".to_owned(), problems)
        }
        Judged::Costly => (Code::InvalidArguments, String::new(), Unfit::Costly.into_problems()),
        Judged::NoSchema(fault) => {
            (Code::Quarantined, format!("The tool's input schema cannot be used: {fault}."), Vec::new())
        }
    };
    let message = format!("{message} Nothing was executed.");
    refuse(call, Refusal::new(code, message.trim_start()).with_details(problems));
}

/// Ends a call that is not sent. A key that it had reserved is free again.
pub(crate) fn refuse(call: Pending, refusal: Refusal) {
    let Pending { seat, tool, received, to, .. } = call;
    let output = tool.output();
    let record = record(&seat, &tool, received);
    let record = match &to {
        To::Reply(_) => record,
        To::Case(case) => record.of_case(&case.row()),
    };
    seat.core.ledger.refused(&record, refusal.error);
    if let To::Case(case) = &to {
        gate::settle::refused(&seat.core, case);
    }
    to.done(Answer::result(refusal.of_call(record.id()).tool_result(output)));
}

/// Begins the record of a call of a tool.
pub(crate) fn record(seat: &SeatCore, tool: &ToolEntry, received: Instant) -> Record {
    let item = Some(tool.subject(&seat.core.ledger));
    let about = About { item, method: store::Method::ToolCall, effect: tool.read.effect };
    Record::begin(seat, &tool.backend, about, received)
}

/// A name that is in no list: perhaps its server has not been listed yet, is disabled, or cannot run.
fn unknown_tool(seat: &Rc<SeatCore>, ticket: u64, ask: Ask, reply: Box<dyn Reply>, name: String, received: Instant) {
    let backend = match &seat.view {
        View::Server(key) => seat.core.backend(key),
        View::All | View::Profile(_) => {
            contract::names::prefix_of(&name).and_then(|prefix| seat.core.backend_of_prefix(prefix))
        }
    };
    let refuse = |seat: &SeatCore, reply: Box<dyn Reply>, code: Code, message: &str| {
        let call = seat.core.ledger.stranger(seat, &name, code);
        reply.done(Answer::result(Refusal::new(code, message).of_call(call).tool_result(Output::Free)));
    };
    let Some(backend) = backend else {
        return refuse(seat, reply, Code::UnknownTool, "There is no such tool. Nothing was executed.");
    };
    if backend.rules().disabled {
        let message = format!("The server `{}` is disabled. Nothing was executed.", backend.key());
        return refuse(seat, reply, Code::ServerUnavailable, &message);
    }
    if backend.is_listed() {
        return refuse(seat, reply, Code::UnknownTool, "There is no such tool. Nothing was executed.");
    }
    let Some(server) = backend.server() else {
        let problem = backend.problem().unwrap_or("it cannot be run");
        let message = format!("The server `{}` is not available: {problem}. Nothing was executed.", backend.key());
        return refuse(seat, reply, Code::ServerUnavailable, &message);
    };
    server.want();
    let deadline = Instant::now() + server.spec().start_timeout;
    let (seat, backend) = (Rc::clone(seat), Rc::clone(&backend));
    task::spawn("call before the first list", async move {
        first_list(&backend, deadline).await;
        if backend.is_listed() {
            return ask_since(&seat, ticket, ask, reply, received);
        }
        let reason = backend.server().and_then(|server| server.state().1);
        let reason = reason.unwrap_or_else(|| "it is still starting".into());
        let message = format!("The server `{}` is not available: {reason}. Nothing was executed.", backend.key());
        let call = seat.core.ledger.stranger(&seat, &name, Code::ServerUnavailable);
        let refusal = Refusal::new(Code::ServerUnavailable, message).of_call(call);
        reply.done(Answer::result(refusal.tool_result(Output::Free)));
    });
}

fn prompt(seat: &Rc<SeatCore>, ticket: u64, ask: Ask, reply: Box<dyn Reply>, received: Instant) {
    let name = ask.params.string("name");
    let catalog = seat.core.catalog(&seat.view);
    let Some(entry) = name.as_deref().and_then(|name| catalog.prompt(name)) else {
        return reply.done(Answer::error(-32602, "there is no such prompt"));
    };
    let params = ask.params.with([("name", object::quote(&entry.read.own).as_bytes())]);
    let about = Other { target: Target::Prompt, name: &entry.read.exposed, own: &entry.read.own };
    forward(seat, ticket, ask, reply, received, &entry.backend, params, about);
}

fn resource(seat: &Rc<SeatCore>, ticket: u64, ask: Ask, reply: Box<dyn Reply>, received: Instant) {
    let uri = ask.params.string("uri");
    if let Some(uri) = uri.as_deref().filter(|uri| Pages::is_own(uri)) {
        return reply.done(match seat.core.gate.pages.read(uri, &seat.identity.name) {
            Some(page) => Answer::result(page),
            None => Answer::error(-32002, "there is no such resource, or its time is over"),
        });
    }
    let catalog = seat.core.catalog(&seat.view);
    let Some(backend) = uri.as_deref().and_then(|uri| owner(seat, catalog.owner_of(uri))) else {
        return reply.done(Answer::error(-32002, "there is no such resource"));
    };
    let params = ask.params.text().clone();
    let name = uri.unwrap_or_default();
    let about = Other { target: Target::Resource, name: &name, own: &name };
    forward(seat, ticket, ask, reply, received, &backend, params, about);
}

/// In a server view everything belongs to that server.
fn owner(seat: &SeatCore, found: Option<&Rc<Backend>>) -> Option<Rc<Backend>> {
    match (&seat.view, found) {
        (View::Server(key), None) => seat.core.backend(key),
        (_, found) => found.cloned(),
    }
}

fn completion(seat: &Rc<SeatCore>, ticket: u64, ask: Ask, reply: Box<dyn Reply>, received: Instant) {
    let reference = ask.params.get("ref").unwrap_or_default();
    let [name, uri] = object::pick(&reference, ["name", "uri"]);
    let text = |range: std::ops::Range<usize>| object::text(&reference[range]).map(|text| text.into_owned());
    let catalog = seat.core.catalog(&seat.view);
    if let Some(entry) = name.and_then(text).and_then(|name| catalog.prompt(&name).cloned()) {
        let inner = Edit::new().set("name", object::quote(&entry.read.own)).apply(&reference).join();
        let params = ask.params.with([("ref", &inner[..])]);
        return complete(seat, ticket, ask, reply, received, &entry.backend, params);
    }
    let backend = uri.and_then(text).and_then(|uri| owner(seat, catalog.owner_of_reference(&uri)));
    let Some(backend) = backend else {
        return reply.done(Answer::error(-32602, "there is no such prompt or resource to complete for"));
    };
    let params = ask.params.text().clone();
    complete(seat, ticket, ask, reply, received, &backend, params);
}

/// What is asked for that is no tool.
struct Other<'a> {
    target: Target,
    /// Name in the aggregate, URI or method: what rules match.
    name: &'a str,
    /// The server's own name of it.
    own: &'a str,
}

/// Completions are free: no rule names them.
fn complete(
    seat: &Rc<SeatCore>,
    ticket: u64,
    ask: Ask,
    reply: Box<dyn Reply>,
    received: Instant,
    backend: &Rc<Backend>,
    params: Bytes,
) {
    let about = About { item: None, method: store::Method::Complete, effect: Effect::Read };
    let record = Record::begin(seat, backend, about, received);
    let judgement = seat.core.gate.free();
    let request = gate::road::request_of(seat, backend, &ask.method, (&ask.method, Effect::Read), params);
    let plan = Plan { backend: Rc::clone(backend), tool: None, effect: Effect::Read, lane: None };
    match policy::decide(request, &judgement) {
        Verdict::Allow(permit) => road::set_out(seat, ticket, ask, plan, permit, record, To::Reply(reply)),
        Verdict::Ask(_) | Verdict::Deny(_) => road::denied(&seat.core, &ask.method, record, reply, &judgement),
    }
}

#[allow(clippy::too_many_arguments, reason = "one exchange and where it goes; a struct for it would be used once")]
fn forward(
    seat: &Rc<SeatCore>,
    ticket: u64,
    ask: Ask,
    reply: Box<dyn Reply>,
    received: Instant,
    backend: &Rc<Backend>,
    params: Bytes,
    of: Other<'_>,
) {
    let (method, effect) = match of.target {
        Target::Prompt => (store::Method::PromptGet, Effect::Read),
        Target::Resource => (store::Method::ResourceRead, Effect::Read),
        Target::Method | Target::Tool => (store::Method::Other, Effect::Write),
    };
    let record = Record::begin(seat, backend, About { item: None, method, effect }, received);
    let judgement = gate::road::judge_other(seat, backend, of.target, of.name, of.own, effect);
    let request = gate::road::request_of(seat, backend, &ask.method, (of.own, effect), params);
    let lane = effect.is_serial().then(|| backend.lane_of(&ask.method));
    let plan = Plan { backend: Rc::clone(backend), tool: None, effect, lane };
    match policy::decide(request, &judgement) {
        Verdict::Allow(permit) => road::set_out(seat, ticket, ask, plan, permit, record, To::Reply(reply)),
        Verdict::Ask(_) | Verdict::Deny(_) => road::denied(&seat.core, &ask.method, record, reply, &judgement),
    }
}

/// A method that the hub does not know: only a view of one server has somebody to ask, and as it may do anything it
/// goes like the call of a tool without hints.
fn other(seat: &Rc<SeatCore>, ticket: u64, ask: Ask, reply: Box<dyn Reply>, received: Instant) {
    let backend = match &seat.view {
        View::Server(key) => seat.core.backend(key),
        View::All | View::Profile(_) => None,
    };
    let Some(backend) = backend.filter(|_| !is_protocol(&ask.method)) else {
        return reply.done(Answer::error(-32601, "the hub does not offer this method"));
    };
    let (params, name) = (ask.params.text().clone(), Rc::clone(&ask.method));
    let about = Other { target: Target::Method, name: &name, own: &name };
    forward(seat, ticket, ask, reply, received, &backend, params, about);
}

/// Methods of the protocol that need more than passing on; not offered yet.
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
