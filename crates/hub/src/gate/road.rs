//! From checked arguments to a permit: the definition as of now, the rules, what a person has said. Whoever gets none
//! is refused or waits; nothing else leads to a server.

use super::case::Case;
use super::{hold, now_ms};
use crate::ask::{self, Pending, To};
use crate::road::{self, Plan};
use bytes::Bytes;
use contract::Hash;
use contract::outcome::{Code, Refusal};
use frame::object;
use policy::{Binding, CallState, Event, Judgement, Permit, Request, Verdict};
use std::rc::Rc;
use store::Outcome;

/// Judges a call whose arguments fit its schema.
pub(crate) fn permit(call: Pending, arguments: Bytes) {
    let gate = &call.seat.core.gate;
    let judgement = gate.judge(&call.seat.identity.name, &call.tool, &arguments);
    let request = request(&call, &arguments, &judgement);
    match policy::decide(request, &judgement) {
        Verdict::Allow(permit) => go(call, permit, arguments, &judgement),
        Verdict::Deny(_) => ask::refuse(call, denial(&judgement)),
        Verdict::Ask(request) => asked(call, request, arguments, judgement),
    }
}

fn request(call: &Pending, arguments: &Bytes, judgement: &Judgement) -> Request {
    let tool = &call.tool;
    let name = object::quote(&tool.read.tool.name);
    Request {
        client: Rc::clone(&call.seat.identity.name),
        server: Rc::clone(tool.backend.key()),
        launch: Rc::clone(&tool.backend.rules().launch_hash),
        method: Rc::clone(&call.ask.method),
        tool: Some(Rc::clone(tool.own_name())),
        definition: Some(tool.read.tool.definition_hash),
        digest: None,
        policy: judgement.policy,
        effect: tool.read.effect,
        params: call.ask.params.with([("name", name.as_bytes()), ("arguments", &arguments[..])]),
    }
}

fn asked(call: Pending, mut request: Request, arguments: Bytes, judgement: Judgement) {
    let sent = super::meet::digest_of(Some(&arguments), &call.tool);
    request.digest = sent;
    let approved = match &call.to {
        To::Case(case) if case.state() == CallState::Approved => Some(Rc::clone(case)),
        _ => None,
    };
    if let Some(case) = approved {
        let Some(binding) = binding(&case) else { return hold::again(call, &judgement, "its record is incomplete") };
        return match policy::redeem(request, &judgement, &binding, now_ms()) {
            Ok(permit) => go(call, permit, arguments, &judgement),
            Err((_, stale)) => hold::again(call, &judgement, &stale.to_string()),
        };
    }
    let session = Rc::clone(&call.seat.identity.session);
    let grants = call.seat.core.gate.grants.borrow().clone();
    for grant in grants.iter().filter(|grant| grant.is_of(&session)) {
        request = match policy::remembered(request, &judgement, grant) {
            Ok(permit) => return go(call, permit, arguments, &judgement),
            Err(request) => request,
        };
    }
    hold::hold(call, &judgement, arguments, sent);
}

/// What the person's approval was bound to.
fn binding(case: &Case) -> Option<Binding> {
    let row = case.row();
    Some(Binding {
        client: row.client.as_str().into(),
        server: row.server.as_str().into(),
        launch: row.launch.as_str().into(),
        tool: row.tool.as_str().into(),
        definition: row.definition?,
        asked: row.asked?,
        sent: row.sent?,
        policy: row.policy?,
        expires_ms: row.expires_ms,
    })
}

/// On its way: from here on it is the road's.
fn go(call: Pending, permit: Permit, arguments: Bytes, judgement: &Judgement) {
    let Pending { seat, ticket, ask, tool, received, to, .. } = call;
    let mut record = match &to {
        To::Reply(_) => ask::record(&seat, &tool, received),
        To::Case(case) => {
            if !super::meet::step(case, Event::Claim) {
                return;
            }
            ask::record(&seat, &tool, received).of_case(&case.row())
        }
    };
    record.judged(&seat.core.ledger, judgement);
    record.arguments(arguments);
    let backend = Rc::clone(&tool.backend);
    let plan = Plan { backend, effect: tool.read.effect, lane: tool.lane.clone(), tool: Some(tool) };
    road::set_out(&seat, ticket, ask, plan, permit, record, to);
}

/// What a model is told of a rule's or a person's no.
pub(crate) fn denial(judgement: &Judgement) -> Refusal {
    let reason = judgement.reason.as_deref();
    let message = match reason {
        Some(reason) => format!("Denied by a rule: {reason}. Nothing was executed."),
        None => "Denied by a rule. Nothing was executed.".to_owned(),
    };
    Refusal::new(Code::Denied, message)
}

/// The end of a case that was told to somebody later.
pub(crate) fn outcome_of(code: Code) -> Outcome {
    crate::record::of_code(code)
}

/// A digest as people see it.
pub(crate) fn shown(hash: Option<Hash>) -> String {
    hash.map(|hash| hash.to_string()).unwrap_or_default()
}
