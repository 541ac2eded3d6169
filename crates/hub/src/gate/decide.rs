//! What a person says of a waiting call: one winner, durable before anybody is told, bound to the bytes that were
//! shown. An approval runs nothing by itself unless somebody still waits for it.

use super::case::Case;
use super::{hold, meet, now_ms, rest};
use crate::abort::{self, Point};
use crate::ask::{self, Pending};
use crate::catalog::ToolEntry;
use crate::core::Core;
use crate::operate::{Event as Happening, Refusal as Refused};
use crate::person::{Decided, Decision, Outcome as Verdict, Said};
use bytes::Bytes;
use contract::outcome::{Code, Refusal};
use contract::{Arguments, Effort, Hash, Unfit};
use frame::Answer;
use policy::{CallState, Event, Grant, Judgement, Scope};
use std::rc::Rc;
use store::{CallNumber, Kind, Outcome};

/// Decides a waiting call. The first decision holds; who comes later is told whose it was.
///
/// # Errors
/// There is no such call, it is not what was shown, or the edited arguments do not fit.
pub(crate) async fn decide(core: &Rc<Core>, said: Said) -> Result<Verdict, Refused> {
    let case = match find(core, &said.id) {
        Some(case) => case,
        None => return core.gate.recent(&said.id).map(Verdict::Anothers).ok_or_else(|| unknown(&said.id)),
    };
    while case.is_deciding.get() {
        // A moment: until the other decision is durable.
        case.decided.notified().await;
    }
    if case.state() == CallState::Waiting && case.row().expires_ms <= now_ms() {
        expire(core, &case);
    }
    if case.state() != CallState::Waiting {
        return Ok(Verdict::Anothers(decided(&case)));
    }
    if said.digest.is_some_and(|digest| Some(digest) != case.row().sent) {
        let message = "the call is not the one that was shown: its arguments are others";
        return Err(Refused::new("digest_changed", message).then(format!("callgate approval show {}", said.id)));
    }
    case.is_deciding.set(true);
    let outcome = match said.decision {
        Decision::Approve { arguments, scope } => approve(core, &case, arguments, scope, &said.by).await,
        Decision::Deny { reason } => deny(core, &case, reason, &said.by).await,
    };
    case.is_deciding.set(false);
    case.decided.notify_waiters();
    case.news.notify_one();
    outcome?;
    let decided = decided(&case);
    core.gate.remember(decided.clone());
    core.happened(Happening::Decision(decided.clone()));
    core.queue_changed();
    if case.state() == CallState::Approved {
        if case.waiters() > 0 {
            claim(&case);
        }
        if case.row().scope.is_some_and(|scope| scope > Scope::Once) {
            judge_again(core);
        }
    } else {
        tell_verdict(core, &case);
    }
    Ok(Verdict::Yours(decided))
}

/// A waiting call that is written down, by its id.
pub(crate) fn find(core: &Core, id: &str) -> Option<Rc<Case>> {
    let call = CallNumber(id.parse::<contract::CallId>().ok()?.row());
    core.gate.index.of_call(call).filter(|case| case.is_written.get())
}

pub(crate) fn unknown(id: &str) -> Refused {
    let id = contract::visible::escape(id);
    Refused::new("unknown_approval", format!("no call `{id}` waits")).then("callgate approval list")
}

/// The decision of a case, as it stands.
pub(crate) fn decided(case: &Case) -> Decided {
    let row = case.row();
    let state = match row.state {
        CallState::Denied | CallState::Expired => row.state,
        _ => CallState::Approved,
    };
    Decided {
        id: case.id().to_string(),
        state,
        by: row.decided_by.clone(),
        at_ms: row.decided_ms,
        scope: row.scope,
        reason: row.reason.clone(),
        edited: row.edited.is_some(),
        runs: case.waiters() > 0,
    }
}

async fn approve(
    core: &Rc<Core>,
    case: &Rc<Case>,
    edited: Option<String>,
    scope: Option<Scope>,
    by: &str,
) -> Result<(), Refused> {
    let judged = case.judgement.borrow().clone();
    let most = judged.as_ref().map_or(Scope::Once, Judgement::most);
    // A tool that asks once is remembered unless the person says otherwise (rules.md 3).
    let usual = judged.as_ref().map_or(Scope::Once, Judgement::usual);
    let scope = scope.unwrap_or(if edited.is_some() { Scope::Once } else { usual });
    if scope > most {
        let message = format!("this call can be remembered for `{}` at most", most.as_str());
        return Err(Refused::new("scope_too_wide", message));
    }
    let edited = match edited {
        None => None,
        Some(text) => Some(fit(case, text).await?),
    };
    let mut row = case.row().clone();
    row.state = policy::next(row.state, Event::Approve).map_err(|unfit| Refused::new("state", unfit.to_string()))?;
    row.decided_ms = now_ms();
    row.decided_by = by.to_owned();
    row.scope = Some(scope);
    if let Some((text, digest)) = edited {
        row.edited = Some(text);
        row.sent = Some(digest);
    }
    let grant = (scope > Scope::Once).then(|| Grant {
        client: row.client.as_str().into(),
        server: row.server.as_str().into(),
        launch: row.launch.as_str().into(),
        tool: row.tool.as_str().into(),
        definition: row.definition.unwrap_or(Hash::of(b"")),
        effect: row.effect,
        session: (scope == Scope::Session).then(|| row.session.as_str().into()),
        at_ms: row.decided_ms,
    });
    let note = core.ledger.case_note(&row, Kind::Decision, Outcome::Approved);
    abort::at(Point::Deciding, &row.tool);
    let written = core.ledger.put_call(row.clone(), Some(note));
    let remembered = grant.clone().map(|grant| core.ledger.remember_grant(grant));
    written.await.map_err(|cause| unwritten(&cause))?;
    if let Some(remembered) = remembered {
        remembered.await.map_err(|cause| unwritten(&cause))?;
    }
    case.note(|now| *now = row);
    abort::at(Point::Decided, &case.row().tool);
    core.gate.remember_grant(grant);
    Ok(())
}

fn unwritten(cause: &str) -> Refused {
    Refused::new("audit_unavailable", format!("the decision could not be written down: {cause}"))
}

/// Edited arguments, checked against the tool's schema as it is now.
async fn fit(case: &Rc<Case>, text: String) -> Result<(Bytes, Hash), Refused> {
    let Some(Pending { tool, .. }) = case.first() else {
        let message =
            "nobody waits for this call any more, so its arguments cannot be edited; approve or deny it as it is";
        return Err(Refused::new("detached", message));
    };
    let compiled = tool.compiled().map_err(|fault| Refused::new("invalid_arguments", fault))?;
    let text = Bytes::from(text);
    let checking = text.clone();
    let checked = tokio::task::spawn_blocking(move || {
        let mut arguments = Arguments::read(Some(&checking)).map_err(Unfit::into_problems)?;
        arguments.check(&compiled, Effort::LONG).map_err(Unfit::into_problems)?;
        Ok::<_, Vec<contract::Problem>>(Bytes::copy_from_slice(arguments.text().as_bytes()))
    });
    let fitting = match checked.await {
        Ok(Ok(fitting)) => fitting,
        Ok(Err(problems)) => {
            let all: Vec<String> = problems.iter().map(contract::Problem::sentence).collect();
            return Err(Refused::new("invalid_arguments", all.join("\n")));
        }
        Err(_) => return Err(Refused::new("internal", "the arguments could not be checked")),
    };
    let digest = meet::digest_of(Some(&fitting), &tool);
    digest
        .map(|digest| (fitting, digest))
        .ok_or_else(|| Refused::new("invalid_arguments", "the arguments cannot be read"))
}

async fn deny(core: &Rc<Core>, case: &Rc<Case>, reason: Option<String>, by: &str) -> Result<(), Refused> {
    let mut row = case.row().clone();
    row.state = policy::next(row.state, Event::Deny).map_err(|unfit| Refused::new("state", unfit.to_string()))?;
    row.decided_ms = now_ms();
    row.decided_by = by.to_owned();
    row.reason = reason.unwrap_or_default();
    row.arguments = None;
    row.edited = None;
    let note = core.ledger.case_note(&row, Kind::Decision, Outcome::Denied);
    core.ledger.put_call(row.clone(), Some(note)).await.map_err(|cause| unwritten(&cause))?;
    rest::denied(core, &row);
    case.note(|now| *now = row);
    Ok(())
}

/// Nobody decided in time, or nobody came back for it: a no with its own reason.
pub(crate) fn expire(core: &Rc<Core>, case: &Rc<Case>) {
    if !meet::step(case, Event::Expire) {
        return;
    }
    case.note(|row| {
        row.decided_ms = now_ms();
        row.arguments = None;
        row.edited = None;
    });
    let row = case.row().clone();
    let note = core.ledger.case_note(&row, Kind::Expired, Outcome::ApprovalExpired);
    // A row that stays as it was expires again at the next start.
    drop(core.ledger.put_call(row, Some(note)));
    let decided = decided(case);
    core.gate.remember(decided.clone());
    core.happened(Happening::Decision(decided));
    core.queue_changed();
    tell_verdict(core, case);
}

/// Tells all who wait; where nobody does, the next identical call is told, once.
fn tell_verdict(core: &Core, case: &Rc<Case>) {
    if case.waiters() == 0 {
        return;
    }
    for asker in case.take(|_| true) {
        let answer = verdict_of(case, &asker.tool);
        asker.reply.done(answer);
    }
    core.gate.index.leave(case);
}

/// The no of a person or of time.
pub(crate) fn verdict_of(case: &Case, tool: &ToolEntry) -> Answer {
    let row = case.row();
    let refusal = match row.state {
        CallState::Expired => {
            let message = "Nobody decided about this call in time, which counts as a no. Nothing was executed.";
            Refusal::new(Code::ApprovalExpired, message)
        }
        _ if row.reason.is_empty() => Refusal::new(Code::Denied, "A person denied this call. Nothing was executed."),
        _ => {
            let reason = contract::visible::escape(&row.reason);
            Refusal::new(Code::Denied, format!("A person denied this call: {reason}. Nothing was executed."))
        }
    };
    Answer::result(refusal.of_call(case.id()).tool_result(tool.output()))
}

/// Sends an approved call on its way for somebody who waits; it is judged again by what holds now.
pub(crate) fn claim(case: &Rc<Case>) {
    let Some(mut call) = case.first() else { return };
    case.under_way.set(true);
    let name = call.ask.params.string("name").unwrap_or_default();
    // As of now, not as of when it was asked.
    if let Some(tool) = call.seat.core.catalog(&call.seat.view).tool(&name) {
        call.tool = Rc::clone(tool);
    }
    ask::check(call);
}

/// What a new grant, or the end of a pause, lets through is let through.
pub(crate) fn judge_again(core: &Rc<Core>) {
    for case in core.gate.index.all() {
        let is_free = !case.under_way.get() && !case.is_deciding.get();
        match case.state() {
            CallState::Waiting if is_free && case.waiters() > 0 => hold::reconsider(core, &case),
            CallState::Approved if is_free && case.waiters() > 0 => claim(&case),
            _ => {}
        }
    }
}
