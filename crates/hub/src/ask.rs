//! From a client's request to a plan: which server, which of its entries, are the arguments what it wants. Lists are
//! answered from memory.

mod others;

use crate::agent::{SeatCore, View};
use crate::backend::Backend;
use crate::catalog::ListKind;
use crate::gate::apart::LONG;
use crate::gate::case::Case;
use crate::gate::{self, meet::Request};
use crate::thing::{self, Thing};
use bytes::Bytes;
use contract::Problem;
use contract::arguments::{Arguments, Effort, Repair, RepairKind, Unfit};
use contract::outcome::{Code, Output, Refusal};
use contract::schema::Compiled;
use frame::{Answer, Ask, Era, Reply};
use others::Way;
use policy::Judgement;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use store::Subject;
use tokio::time::{Instant, timeout_at};
use upstream::task;

/// How long the first list waits for servers that have never been listed and have just been started.
const FIRST_LIST: Duration = Duration::from_millis(750);
/// How long a call waits for lists that its server has said to be others.
const CHANGE: Duration = Duration::from_secs(10);
/// What whoever names a tool that is in no list is told, and whoever names one that the rules hide.
const NO_TOOL: &str = "There is no such tool. Nothing was executed.";

/// The same for the person.
const NO_TOOL_LISTED: &str = "There is no such tool; `callgate tool list` shows all. Nothing was executed.";

/// Answers or sends on one request.
pub(crate) fn ask(seat: &Rc<SeatCore>, ticket: u64, ask: Ask, reply: Box<dyn Reply>) {
    ask_since(seat, ticket, ask, reply, Instant::now());
}

/// The same of a request that came at that time and had to wait for its server.
fn ask_since(seat: &Rc<SeatCore>, ticket: u64, ask: Ask, reply: Box<dyn Reply>, received: Instant) {
    if seat.core.is_refusing() {
        return reply.done(match &*ask.method {
            "tools/call" => {
                let refusal = Refusal::new(Code::ServerUnavailable, "The hub is stopping. Nothing was executed.");
                Answer::result(refusal.tool_result(Output::Declared))
            }
            _ => Answer::error(-32603, "the hub is stopping; nothing was executed"),
        });
    }
    if let Some(kind) = ListKind::of(&ask.method) {
        return list(seat, kind, &ask, reply);
    }
    if let Some(ambiguity) = ask.params.ambiguity() {
        let message = format!("the params can be read in two ways: {ambiguity}");
        return reply.done(thing::refused(&Refusal::new(Code::InvalidArguments, message)));
    }
    if &*ask.method == "tools/call" {
        return call(seat, ticket, ask, reply, received);
    }
    let is_modern = ask.origin.version.era() == Era::Modern;
    let way = Way { ticket, ask, reply, received };
    match &*way.ask.method {
        "prompts/get" => others::prompt(seat, way),
        "resources/read" => others::resource(seat, way),
        "completion/complete" => others::completion(seat, way),
        "tasks/get" | "tasks/update" | "tasks/cancel" if is_modern => gate::task::ask(seat, &way.ask, way.reply),
        _ => others::method(seat, way),
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
        return after_change(Request { seat, ticket, ask, reply, received, thing: Thing::Tool(tool) });
    }
    gate::meet::meet(Request { seat, ticket, ask, reply, received, thing: Thing::Tool(tool) });
}

/// A server that has just said that its lists changed is not called by what they were before.
fn after_change(request: Request) {
    let deadline = Instant::now() + CHANGE;
    task::spawn("call after a change of lists", async move {
        let backend = Rc::clone(request.thing.backend());
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

/// A request on its way to be judged.
pub(crate) struct Pending {
    pub seat: Rc<SeatCore>,
    pub ticket: u64,
    pub ask: Ask,
    pub thing: Thing,
    pub received: Instant,
    /// As they are to be checked, of what is no tool the params; None where there were none.
    pub arguments: Option<Bytes>,
    /// What was repaired of them, for the audit and the person.
    pub repaired: Option<Rc<str>>,
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

/// Checks the arguments against the schema, where there is one, then goes on to be permitted.
pub(crate) fn check(call: Pending) {
    let Thing::Tool(tool) = &call.thing else { return checked(call, Judged::Fit(None, Vec::new())) };
    let compiled = match tool.compiled() {
        Ok(compiled) => compiled,
        Err(fault) => return checked(call, Judged::NoSchema(fault)),
    };
    let approved = match tool.approved().transpose() {
        Ok(approved) => approved,
        Err(fault) => return checked(call, Judged::NoSchema(fault)),
    };
    let schemas = (compiled, approved);
    if call.arguments.as_ref().is_none_or(|text| text.len() < LONG) {
        match judge(call.arguments.as_ref(), &schemas, Effort::QUICK) {
            Judged::Costly => {}
            judged => return checked(call, judged),
        }
    }
    task::spawn("long argument check", async move {
        let arguments = call.arguments.clone();
        let judging = tokio::task::spawn_blocking(move || judge(arguments.as_ref(), &schemas, Effort::LONG));
        let judged = judging.await.unwrap_or(Judged::Costly);
        match changed(&call) {
            Some(changed) => check(Pending { thing: changed, ..call }),
            None => checked(call, judged),
        }
    });
}

/// The tool of a call that was looked at apart from the relay, where it is another one by now: what was found out is
/// not of that.
pub(crate) fn changed(call: &Pending) -> Option<Thing> {
    let Thing::Tool(tool) = &call.thing else { return None };
    let now = call.thing.as_of_now(&call.seat, &call.ask.params);
    now.tool().is_some_and(|now| !Rc::ptr_eq(now, tool)).then_some(now)
}

/// What the check of arguments came to.
enum Judged {
    /// They may be sent as they were received, or as this text.
    Fit(Option<Bytes>, Vec<Repair>),
    Unfit(Vec<Problem>),
    Costly,
    NoSchema(String),
}

/// Against the schema as it is now and, where that has changed, against the one that was approved (docs/servers-words.md).
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
            let repairs = arguments.repairs().to_vec();
            Judged::Fit((!is_same).then(|| Bytes::copy_from_slice(text.as_bytes())), repairs)
        }
        Err(Unfit::Costly) => Judged::Costly,
        Err(unfit @ Unfit::Invalid(_)) => Judged::Unfit(unfit.into_problems()),
    }
}

/// Repairs as rows and cards tell of them. Names that the tool does not know are values: they are not told.
fn in_words(repairs: &[Repair], tool: &contract::definition::Tool) -> String {
    let mut all: Vec<String> = Vec::new();
    for repair in repairs {
        let mut parts = repair.path.split('/').skip(1);
        let name = parts.next().map(|name| name.replace("~1", "/").replace("~0", "~"));
        let known = name.filter(|name| tool.takes(name)).map(|name| format!("`{name}`"));
        let within = if parts.next().is_some() { "something in " } else { "" };
        let sentence = match repair.kind {
            RepairKind::BlankText => "blank text was read as no arguments".to_owned(),
            RepairKind::WholeText => "the arguments were given as JSON text".to_owned(),
            RepairKind::FieldText => {
                format!("{within}{} was given as JSON text", known.as_deref().unwrap_or("an argument"))
            }
        };
        if !all.contains(&sentence) {
            all.push(sentence);
        }
    }
    all.join(", ")
}

fn checked(mut call: Pending, judged: Judged) {
    let (code, message, problems) = match judged {
        Judged::Fit(repaired, repairs) => {
            let received = || call.arguments.clone().unwrap_or_else(|| Bytes::from_static(b"{}"));
            let arguments = repaired.unwrap_or_else(received);
            if let (Thing::Tool(tool), false) = (&call.thing, repairs.is_empty()) {
                call.repaired = Some(in_words(&repairs, &tool.read.tool).into());
            }
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
    refuse_for(call, refusal, None);
}

/// Ends a call that the rules deny: its row says which of them.
pub(crate) fn deny(call: Pending, refusal: Refusal, judgement: &Judgement) {
    let verdict = call.thing.verdict(&call.seat.core.ledger, judgement);
    refuse_for(call, refusal, Some(verdict));
}

fn refuse_for(call: Pending, refusal: Refusal, verdict: Option<Subject>) {
    let Pending { seat, thing, received, to, .. } = call;
    let mut record = thing.record(&seat, received);
    record.judged(verdict);
    let record = match &to {
        To::Reply(_) => record,
        To::Case(case) => record.of_case(&case.row()),
    };
    seat.core.ledger.refused(&record, refusal.error);
    let refusal = refusal.of_call(record.id());
    if let To::Case(case) = &to {
        gate::settle::refused(&seat.core, case, &refusal);
    }
    to.done(thing.refused(&refusal));
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
    let no_tool = if seat.identity.is_person() { NO_TOOL_LISTED } else { NO_TOOL };
    if let Some(tool) = seat.core.hidden_tool(&seat.view, &name) {
        // Unknown to whoever asks (docs/policy.md), but not to the person who reads the log.
        let thing = Thing::Tool(tool);
        let judgement = seat.core.gate.judge(seat.identity.who.known_name(), &thing, &Bytes::from_static(b"{}"));
        let mut record = thing.record(seat, received);
        record.judged(Some(thing.verdict(&seat.core.ledger, &judgement)));
        seat.core.ledger.refused(&record, Code::Denied);
        let refusal = if seat.identity.is_person() {
            let rule = judgement.sentence();
            let message = format!(
                "Not executed: {rule}, and no host sees the tool. `callgate policy explain` tells it in full; only the \
                 config can let it through."
            );
            Refusal::new(Code::Denied, message)
        } else {
            Refusal::new(Code::UnknownTool, NO_TOOL)
        };
        let refusal = refusal.of_call(record.id());
        return reply.done(Answer::result(refusal.tool_result(Output::Free)));
    }
    let Some(backend) = backend else {
        return refuse(seat, reply, Code::UnknownTool, no_tool);
    };
    if backend.rules().disabled {
        let message = format!("The server `{}` is disabled. Nothing was executed.", backend.key());
        return refuse(seat, reply, Code::ServerUnavailable, &message);
    }
    if backend.is_listed() {
        return refuse(seat, reply, Code::UnknownTool, no_tool);
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
