//! From checked arguments to a permit: the definition as of now, the rules, what a person has said. Whoever gets none
//! is refused or waits; nothing else leads to a server.

use super::apart::{self, Digests, Question};
use super::case::Case;
use super::{hold, meet, now_ms, review, still};
use crate::abort::{self, Point};
use crate::agent::SeatCore;
use crate::ask::{self, Pending, To};
use crate::backend::Backend;
use crate::catalog::ToolEntry;
use crate::core::Core;
use crate::road;
use crate::thing::Thing;
use bytes::Bytes;
use contract::outcome::{Code, Refusal};
use policy::{Binding, CallState, Effect, Event, Grant, Judgement, Permit, Request, Verdict};
use std::rc::Rc;
use store::{CallRecord, Subject};
use upstream::task;

/// Judges a call whose arguments fit its schema.
pub(crate) fn permit(call: Pending, arguments: Bytes) {
    let Some(question) = Question::of(&call, &arguments) else {
        let gate = &call.seat.core.gate;
        let judgement = gate.judge(call.seat.identity.who.known_name(), &call.thing, &arguments);
        return judged(call, arguments, &judgement, None);
    };
    task::spawn("judge long arguments", async move {
        let found = question.find().await;
        if let Some(changed) = ask::changed(&call) {
            return ask::check(Pending { thing: changed, ..call });
        }
        match found {
            Some(found) if found.holds(&call.seat.core, &call.thing) => {
                let digests = found.digests(&call.seat.core);
                judged(call, arguments, &found.judgement, digests);
            }
            // The rules are others by now.
            Some(_) => permit(call, arguments),
            None => {
                let message = "The rules could not be asked about it. Nothing was executed.";
                ask::refuse(call, Refusal::new(Code::Denied, message));
            }
        }
    });
}

/// `digests` of long arguments were made elsewhere.
fn judged(call: Pending, arguments: Bytes, judgement: &Judgement, digests: Option<Digests>) {
    let core = &call.seat.core;
    if let Some(refusal) = call.thing.tool().and_then(|tool| withheld(tool, &call.seat)) {
        return ask::refuse(call, refusal);
    }
    let is_held = still::stands(core, call.thing.backend(), call.thing.effect());
    let digests = match digests {
        Some(digests) => digests,
        None if !apart::needs_digests(judgement, is_held) => Digests::default(),
        // What holds it came while it was judged.
        None if Question::of(&call, &arguments).is_some() => return permit(call, arguments),
        None => Digests::of(&call, &arguments),
    };
    match policy::decide(request(&call, &arguments), judgement) {
        Verdict::Deny(_) => ask::deny(call, denial(judgement), judgement),
        Verdict::Allow(_) | Verdict::Ask(_) if is_held => held(call, arguments, judgement, digests),
        Verdict::Allow(permit) => {
            let verdict = verdict(&call, judgement, None);
            go(call, permit, arguments, verdict);
        }
        Verdict::Ask(request) => asked(call, request, arguments, judgement, digests),
    }
}

/// What would be sent to a server that is no call of a tool.
pub(crate) fn request_of(
    seat: &SeatCore,
    backend: &Backend,
    method: &Rc<str>,
    (name, effect): (&str, Effect),
    params: Bytes,
) -> Request {
    Request {
        client: Rc::clone(seat.identity.id()),
        session: Rc::clone(&seat.identity.session),
        server: Rc::clone(backend.key()),
        launch: Rc::clone(&backend.rules().launch_hash),
        method: Rc::clone(method),
        tool: name.into(),
        definition: None,
        digest: None,
        policy: seat.core.gate.policy(),
        effect,
        params,
    }
}

/// What would be judged if the client of this record asked again.
pub(crate) fn request_again(core: &Core, row: &CallRecord, thing: &Thing) -> Request {
    Request {
        client: row.client.as_str().into(),
        session: row.session.as_str().into(),
        server: Rc::clone(thing.backend().key()),
        launch: Rc::clone(&thing.backend().rules().launch_hash),
        method: "tools/call".into(),
        tool: Rc::clone(thing.label()),
        definition: Some(thing.definition()),
        digest: None,
        policy: core.gate.policy(),
        effect: thing.effect(),
        params: Bytes::new(),
    }
}

/// Why a tool may not be called before a person has looked at it. The person is told where to look.
fn withheld(tool: &ToolEntry, seat: &SeatCore) -> Option<Refusal> {
    let (code, why) = tool.review().withheld()?;
    let mut message = format!("{why} Nothing was executed.");
    if seat.identity.is_person() {
        let server = tool.backend.key();
        message.push_str(&format!(
            " `callgate catalog diff --server {server}` shows it and how to approve it (`callgate catalog approve {} \
             --hash …`).",
            tool.read.exposed
        ));
    }
    Some(Refusal::new(code, message))
}

/// What would be sent.
pub(crate) fn request(call: &Pending, arguments: &Bytes) -> Request {
    let thing = &call.thing;
    Request {
        client: Rc::clone(call.seat.identity.id()),
        session: Rc::clone(&call.seat.identity.session),
        server: Rc::clone(thing.backend().key()),
        launch: Rc::clone(&thing.backend().rules().launch_hash),
        method: Rc::clone(&call.ask.method),
        tool: Rc::clone(thing.label()),
        definition: Some(thing.definition()),
        digest: None,
        policy: call.seat.core.gate.policy(),
        effect: thing.effect(),
        params: match approved(call) {
            // What waited runs as it was shown: nothing rides along that the one who redeems it says beside it.
            Some(case) => {
                let question = case.question.borrow();
                let reply = question.as_ref().map(|question| question.reply(&call.ask.params)).unwrap_or_default();
                thing.bare_params(&call.ask.params, arguments, &reply)
            }
            None => thing.params(&call.ask.params, arguments),
        },
    }
}

/// Something holds all of its kind. An approval of this very call by who knew of that goes through it.
fn held(call: Pending, arguments: Bytes, judgement: &Judgement, digests: Digests) {
    if let Some(case) = approved(&call) {
        let (core, thing) = (Rc::clone(&call.seat.core), call.thing.clone());
        let Some(still) = still::unknown_to(&case, &core, thing.backend(), thing.effect()) else {
            let request = request(&call, &arguments);
            return asked(call, request, arguments, judgement, digests);
        };
        // It stays approved; the end of what holds it claims it.
        case.under_way.set(false);
        *case.badge.borrow_mut() = Some(format!("it was approved, and runs only when that is over: {}", still.why()));
        case.news.notify_one();
        return core.queue_changed();
    }
    hold::hold(call, judgement, arguments, digests);
}

/// The case that a person has approved and that this is to run.
fn approved(call: &Pending) -> Option<Rc<Case>> {
    match &call.to {
        To::Case(case) if case.state() == CallState::Approved => Some(Rc::clone(case)),
        To::Case(_) | To::Reply(_) => None,
    }
}

fn asked(call: Pending, mut request: Request, arguments: Bytes, judgement: &Judgement, digests: Digests) {
    request.digest = digests.sent;
    if let Some(case) = approved(&call) {
        if call.thing.backend().is_past(case.row().decided_ms) {
            return hold::again(call, judgement, "its server has been started anew since it was approved");
        }
        let binding = binding(&case);
        return match binding.map(|binding| policy::redeem(request, judgement, &binding, now_ms())) {
            Some(Ok(permit)) => {
                let verdict = verdict(&call, judgement, None);
                go(call, permit, arguments, verdict);
            }
            Some(Err((_, stale))) => hold::again(call, judgement, &stale.to_string()),
            None => hold::again(call, judgement, "its record is incomplete"),
        };
    }
    match by_grant(&call.seat.core, request, judgement) {
        Some((permit, grant)) => {
            let verdict = verdict(&call, judgement, Some(&grant));
            go(call, permit, arguments, verdict);
        }
        None => hold::hold(call, judgement, arguments, digests),
    }
}

/// Leave by an approval that was to be remembered, and which one that is.
pub(crate) fn by_grant(core: &Core, mut request: Request, judgement: &Judgement) -> Option<(Permit, Grant)> {
    let grants = core.gate.grants.borrow();
    let backend = core.backend(&request.server);
    let is_past = |grant: &&policy::Grant| backend.as_ref().is_some_and(|backend| backend.is_past(grant.at_ms));
    for grant in grants.iter().filter(|grant| !is_past(grant)) {
        request = match policy::remembered(request, judgement, grant) {
            Ok(permit) => return Some((permit, grant.clone())),
            Err(request) => *request,
        };
    }
    None
}

/// What the person's approval was bound to.
fn binding(case: &Case) -> Option<Binding> {
    let row = case.row();
    Some(Binding {
        client: row.client.as_str().into(),
        server: row.server.as_str().into(),
        launch: row.launch.as_str().into(),
        tool: row.tool.as_str().into(),
        definition: row.definition,
        asked: row.asked?,
        sent: row.sent?,
        policy: row.policy?,
        effect: row.effect,
        tier: row.tier,
        rule: row.rule.as_str().into(),
        expires_ms: row.expires_ms,
    })
}

/// What its rows say of why it runs.
fn verdict(call: &Pending, judgement: &Judgement, grant: Option<&Grant>) -> Subject {
    let ledger = &call.seat.core.ledger;
    if grant.is_none() && call.repaired.is_none() {
        return call.thing.verdict(ledger, judgement);
    }
    let rule = judgement.rule().map(|rule| &**rule);
    ledger.detail_of(rule, &judgement.sentence(), grant, call.repaired.as_deref())
}

/// On its way: from here on it is the road's.
fn go(call: Pending, permit: Permit, arguments: Bytes, verdict: Subject) {
    let Pending { seat, ticket, ask, thing, received, to, .. } = call;
    let mut record = match &to {
        To::Reply(_) => thing.record(&seat, received),
        To::Case(case) => {
            if !meet::step(case, Event::Claim) {
                return;
            }
            thing.record(&seat, received).of_case(&case.row())
        }
    };
    if let Thing::Tool(tool) = &thing {
        review::used(&seat.core, tool);
    }
    record.judged(Some(verdict));
    record.arguments(arguments);
    abort::at(Point::Permitted, thing.label());
    let plan = thing.plan(&ask.method);
    road::set_out(&seat, ticket, ask, plan, permit, record, to);
}

/// What a model is told of a rule's or a person's no.
pub(crate) fn denial(judgement: &Judgement) -> Refusal {
    let reason = judgement.reason();
    let message = match reason {
        Some(reason) => format!("Denied by a rule: {reason}. Nothing was executed."),
        None => "Denied by a rule. Nothing was executed.".to_owned(),
    };
    Refusal::new(Code::Denied, message)
}
