//! Calls that wait for a person, and those that a person has to settle.

use crate::problems::{Failure, Outcome};
use crate::routes::Peer;
use crate::views::gate as views;
use crate::views::past;
use crate::{AuditSource, ControlParts, audit};
use hub::operate::OperatorHandle;
use hub::person::{self, Outcome as Verdict, Said};
use operator::code;
use operator::words::{
    Approval, ApprovalDetail, ApprovalFilter, ApprovalList, ApprovalPart, Approve, AuditFilter, Call, CallFilter,
    CallList, CallSettle, CallSettled, Decided, Deny, Finding, Follows, PauseState, Resume, Winner,
};
use std::sync::Arc;

/// Most decided calls of a page.
const MOST_DECIDED: u32 = 200;

/// The queue, or what was decided of late.
pub async fn list(parts: &ControlParts, filter: ApprovalFilter) -> Outcome<ApprovalList> {
    let (hub, pin_set) = (&parts.hub, parts.pin.is_set());
    let status = hub.status().await?;
    let paused_since_ms = status.pause.since_ms;
    if filter.part == ApprovalPart::Decided {
        let asked = AuditFilter { server: filter.server, client: filter.client, ..AuditFilter::default() };
        let limit = filter.limit.clamp(1, MOST_DECIDED);
        let page = audit::read(&parts.audit, move |source| source.decided(&asked, filter.before, limit)).await?;
        let approvals =
            page.calls.iter().filter_map(past::of).filter(|it| it.decision.is_some()).map(|it| it.approval).collect();
        let resting = crate::views::rests(status.rests);
        return Ok(ApprovalList { approvals, pin_set, paused_since_ms, before: page.before, resting });
    }
    let wanted = |of: &Option<String>, is: &str| of.as_deref().is_none_or(|of| of == is);
    let all = hub.waiting().await?;
    let mut approvals: Vec<_> = all
        .iter()
        .filter(|it| wanted(&filter.server, &it.record.server) && wanted(&filter.client, &it.record.client))
        .map(views::approval)
        .collect();
    approvals.sort_by_key(|approval| (approval.state as u8, approval.asked_ms));
    let resting = crate::views::rests(status.rests);
    history(&parts.audit, &mut approvals).await;
    Ok(ApprovalList { approvals, pin_set, paused_since_ms, before: None, resting })
}

/// One of them, with everything that a decision is about; what does not wait any more, as the log tells of it.
pub async fn show(parts: &ControlParts, id: &str) -> Outcome<ApprovalDetail> {
    let all = parts.hub.waiting().await?;
    let found = all.iter().find(|it| views::id(&it.record) == id).map(views::detail);
    let mut detail = match found {
        Some(mut detail) => {
            detail.remembered = super::remembered::beside(&parts.hub, &detail.approval).await?;
            detail
        }
        None => {
            let call = id.to_owned();
            let trail = audit::read(&parts.audit, move |source| source.trail(&call)).await;
            let trail = trail.map_err(|failure| match failure.0.code.as_str() {
                code::UNKNOWN_CALL => unknown(id),
                _ => failure,
            })?;
            past::of(&trail).ok_or_else(|| never_asked(id))?
        }
    };
    history(&parts.audit, std::slice::from_mut(&mut detail.approval)).await;
    Ok(detail)
}

/// How often each was asked about before. A log that cannot be read leaves it at never.
async fn history(source: &Arc<dyn AuditSource>, approvals: &mut [Approval]) {
    if approvals.is_empty() {
        return;
    }
    let key = |it: &Approval| [it.client.clone(), it.server.clone(), it.name.clone()];
    let mut keys: Vec<[String; 3]> = approvals.iter().map(key).collect();
    keys.sort_unstable();
    keys.dedup();
    let asked = keys.clone();
    let Ok(counts) = audit::read(source, move |source| source.asked(&asked)).await else { return };
    for approval in approvals {
        let place = keys.binary_search(&key(approval)).ok();
        if let Some(&(asked, denied)) = place.and_then(|place| counts.get(place)) {
            (approval.asked_before, approval.denied_before) = (asked, denied);
        }
    }
}

fn never_asked(id: &str) -> Failure {
    let message = format!("call `{id}` never waited for a person");
    Failure::new(code::UNKNOWN_APPROVAL, message).next(format!("callgate audit show {id}"))
}

fn unknown(id: &str) -> Failure {
    Failure::new(code::UNKNOWN_APPROVAL, format!("there is no call `{id}`")).next("callgate approval list --decided")
}

/// Approves one.
pub async fn approve(parts: &ControlParts, asked: Approve, peer: &Peer) -> Outcome<Decided> {
    let decision = person::Decision::Approve { arguments: asked.args, scope: asked.remember.map(views::scope_in) };
    decide(parts, asked.id, &asked.digest, decision, peer).await
}

/// Denies one.
pub async fn deny(parts: &ControlParts, asked: Deny, peer: &Peer) -> Outcome<Decided> {
    let reason = asked.reason.filter(|reason| !reason.trim().is_empty());
    decide(parts, asked.id, &asked.digest, person::Decision::Deny { reason }, peer).await
}

async fn decide(
    parts: &ControlParts,
    id: String,
    digest: &str,
    decision: person::Decision,
    peer: &Peer,
) -> Outcome<Decided> {
    let Ok(digest) = digest.parse() else {
        let bad = Failure::new("bad_input", "`digest` is no digest that was shown");
        return late(parts, &id).await.ok_or(bad);
    };
    let said = Said { id: id.clone(), digest: Some(digest), decision, by: peer.name() };
    let (winner, decided) = match parts.hub.decide(said).await {
        Ok(Verdict::Past(decided)) => {
            let decision = views::decision(decided);
            return Ok(Decided {
                winner: Winner::Another,
                decision,
                follows: Follows::Nothing,
                keeps: None,
                unwritten: None,
            });
        }
        Ok(Verdict::Yours(decided)) => (Winner::You, decided),
        Ok(Verdict::Anothers(decided)) => (Winner::Another, decided),
        Err(refusal) => {
            let late = if refusal.code == code::UNKNOWN_APPROVAL { late(parts, &id).await } else { None };
            return late.ok_or_else(|| refusal.into());
        }
    };
    let follows = match (decided.state, decided.runs) {
        (person::CallState::Approved, true) => Follows::Runs,
        (person::CallState::Approved, false) => Follows::NextCall,
        _ => Follows::Nothing,
    };
    let (keeps, unwritten) = (decided.keeps.clone(), decided.unwritten.clone());
    Ok(Decided { winner, decision: views::decision(decided), follows, keeps, unwritten })
}

/// What was decided about a call that waits no more, as the log tells of it.
async fn late(parts: &ControlParts, id: &str) -> Option<Decided> {
    let call = id.to_owned();
    let trail = audit::read(&parts.audit, move |source| source.trail(&call)).await.ok()?;
    let decision = past::of(&trail)?.decision?;
    Some(Decided { winner: Winner::Another, decision, follows: Follows::Nothing, keeps: None, unwritten: None })
}

/// Calls of which a record is kept, unknown ones first, then the latest.
pub async fn calls(hub: &OperatorHandle, filter: CallFilter) -> Outcome<CallList> {
    let mut all: Vec<Call> = hub.calls().await?.iter().map(views::call).collect();
    let unknown = all.iter().filter(|call| call.standing == operator::words::CallStanding::Unknown).count() as u64;
    all.retain(|call| {
        filter.server.as_deref().is_none_or(|server| server == call.server)
            && (filter.standing.is_empty() || filter.standing.contains(&call.standing))
    });
    let total = all.len() as u64;
    let rank =
        |call: &Call| (call.standing != operator::words::CallStanding::Unknown, std::cmp::Reverse(call.asked_ms));
    all.sort_by_key(rank);
    all.truncate(filter.limit.min(1_000) as usize);
    Ok(CallList { calls: all, total, unknown })
}

/// Settles one whose end nobody knows.
pub async fn settle(hub: &OperatorHandle, asked: CallSettle, peer: &Peer) -> Outcome<CallSettled> {
    let finding = match asked.finding {
        Finding::Ran => person::Finding::Ran,
        Finding::NotRan => person::Finding::NotRan,
    };
    let record = hub.settle(&asked.call, finding, &peer.name()).await?;
    Ok(CallSettled { call: views::call(&record), finding: asked.finding })
}

/// Ends the hold of all risky calls, or lets the calls of one server ask again.
pub async fn resume(hub: &OperatorHandle, asked: Resume, by: &str) -> Outcome<PauseState> {
    match asked.server {
        None => paused(hub, hub.resume(by).await?).await,
        Some(server) => {
            hub.end_rest(&server, by).await?;
            let pause = hub.status().await?.pause;
            paused(hub, person::Paused { pause, unwritten: None }).await
        }
    }
}

/// Whether all risky calls are held.
pub async fn paused(hub: &OperatorHandle, now: person::Paused) -> Outcome<PauseState> {
    let person::Paused { pause, unwritten } = now;
    let status = hub.status().await?;
    let by = (!pause.by.is_empty()).then_some(pause.by);
    let resting = crate::views::rests(status.rests);
    Ok(PauseState { paused_since_ms: pause.since_ms, by, waiting: status.waiting, resting, unwritten })
}
