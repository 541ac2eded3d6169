//! From checked arguments to a permit: the definition as of now, the rules, what a person has said. Whoever gets none
//! is refused or waits; nothing else leads to a server.

use super::case::Case;
use super::{hold, meet, now_ms, review};
use crate::abort::{self, Point};
use crate::agent::SeatCore;
use crate::ask::{self, Pending, To};
use crate::backend::Backend;
use crate::catalog::ToolEntry;
use crate::core::Core;
use crate::road::{self, Plan};
use bytes::Bytes;
use contract::outcome::{Code, Refusal};
use frame::object;
use policy::{Binding, CallState, Effect, Event, Facts, Hints, Judgement, Permit, Profile, Request, Target, Verdict};
use std::rc::Rc;

/// Judges a call whose arguments fit its schema.
pub(crate) fn permit(call: Pending, arguments: Bytes) {
    let gate = &call.seat.core.gate;
    if let Some(refusal) = withheld(&call.tool) {
        return ask::refuse(call, refusal);
    }
    let judgement = gate.judge(&call.seat.identity.name, &call.tool, &arguments);
    let request = request(&call, &arguments);
    match policy::decide(request, &judgement) {
        Verdict::Allow(_) if hold::holds(&call.seat.core, &call.tool) => {
            let sent = meet::digest_of(Some(&arguments), &call.tool);
            hold::hold(call, &judgement, arguments, sent);
        }
        Verdict::Allow(permit) => go(call, permit, arguments, &judgement),
        Verdict::Deny(_) => ask::refuse(call, denial(&judgement)),
        Verdict::Ask(request) => asked(call, request, arguments, &judgement),
    }
}

/// How the rules see a prompt, a resource or a method.
pub(crate) fn judge_other(
    seat: &SeatCore,
    backend: &Backend,
    target: Target,
    name: &str,
    own: &str,
    effect: Effect,
) -> Judgement {
    let settings = seat.core.gate.settings();
    let standing = settings.rulebook.standing(&Profile {
        target,
        name,
        own,
        server: backend.key(),
        effect,
        hints: Hints::default(),
        tag: None,
        flagged: false,
        partly_checked: false,
        takes_url: false,
        arguments: &[],
        annotations: b"",
    });
    settings.rulebook.judge(&standing, &Facts { host: &seat.identity.name, arguments: b"{}" })
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
        client: Rc::clone(&seat.identity.name),
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

/// Why a tool may not be called before a person has looked at it.
fn withheld(tool: &ToolEntry) -> Option<Refusal> {
    let (code, why) = tool.review().withheld()?;
    Some(Refusal::new(code, format!("{why} Nothing was executed.")))
}

/// What would be sent.
pub(crate) fn request(call: &Pending, arguments: &Bytes) -> Request {
    let tool = &call.tool;
    let name = object::quote(&tool.read.tool.name);
    Request {
        client: Rc::clone(&call.seat.identity.name),
        session: Rc::clone(&call.seat.identity.session),
        server: Rc::clone(tool.backend.key()),
        launch: Rc::clone(&tool.backend.rules().launch_hash),
        method: Rc::clone(&call.ask.method),
        tool: Rc::clone(tool.own_name()),
        definition: Some(tool.read.stands_for),
        digest: None,
        policy: call.seat.core.gate.policy(),
        effect: tool.read.effect,
        params: call.ask.params.with([("name", name.as_bytes()), ("arguments", &arguments[..])]),
    }
}

fn asked(call: Pending, mut request: Request, arguments: Bytes, judgement: &Judgement) {
    let sent = meet::digest_of(Some(&arguments), &call.tool);
    request.digest = sent;
    let approved = match &call.to {
        To::Case(case) if case.state() == CallState::Approved => Some(Rc::clone(case)),
        _ => None,
    };
    let is_held = hold::holds(&call.seat.core, &call.tool);
    if let Some(case) = approved {
        if is_held {
            // It stays approved; the end of what holds it claims it.
            return case.under_way.set(false);
        }
        let binding = binding(&case);
        return match binding.map(|binding| policy::redeem(request, judgement, &binding, now_ms())) {
            Some(Ok(permit)) => go(call, permit, arguments, judgement),
            Some(Err((_, stale))) => hold::again(call, judgement, &stale.to_string()),
            None => hold::again(call, judgement, "its record is incomplete"),
        };
    }
    match by_grant(&call.seat.core, request, judgement) {
        Some(permit) if !is_held => go(call, permit, arguments, judgement),
        Some(_) | None => hold::hold(call, judgement, arguments, sent),
    }
}

/// Leave by an approval that was to be remembered.
pub(crate) fn by_grant(core: &Core, mut request: Request, judgement: &Judgement) -> Option<Permit> {
    let grants = core.gate.grants.borrow();
    for grant in grants.iter() {
        request = match policy::remembered(request, judgement, grant) {
            Ok(permit) => return Some(permit),
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

/// On its way: from here on it is the road's.
fn go(call: Pending, permit: Permit, arguments: Bytes, judgement: &Judgement) {
    let Pending { seat, ticket, ask, tool, received, to, .. } = call;
    let mut record = match &to {
        To::Reply(_) => ask::record(&seat, &tool, received),
        To::Case(case) => {
            if !meet::step(case, Event::Claim) {
                return;
            }
            ask::record(&seat, &tool, received).of_case(&case.row())
        }
    };
    review::used(&seat.core, &tool);
    record.judged(Some(tool.verdict(&seat.core.ledger, judgement)));
    record.arguments(arguments);
    abort::at(Point::Permitted, &tool.read.tool.name);
    let backend = Rc::clone(&tool.backend);
    let plan = Plan { backend, effect: tool.read.effect, lane: tool.lane.clone(), tool: Some(tool) };
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
