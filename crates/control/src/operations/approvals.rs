//! Calls that wait for a person, and those that a person has to settle.

use crate::problems::{Failure, Outcome};
use crate::routes::Peer;
use crate::views::gate as views;
use hub::operate::OperatorHandle;
use hub::person::{self, Outcome as Verdict, Said};
use operator::code;
use operator::words::{
    ApprovalDetail, ApprovalFilter, ApprovalList, Approve, Call, CallFilter, CallList, CallSettle, CallSettled,
    Decided, Deny, Finding, Follows, PauseState, Winner,
};

/// The queue.
pub async fn list(hub: &OperatorHandle, filter: ApprovalFilter, pin_set: bool) -> Outcome<ApprovalList> {
    let wanted = |of: &Option<String>, is: &str| of.as_deref().is_none_or(|of| of == is);
    let all = hub.waiting().await?;
    let mut approvals: Vec<_> = all
        .iter()
        .filter(|it| wanted(&filter.server, &it.record.server) && wanted(&filter.client, &it.record.client))
        .map(views::approval)
        .collect();
    approvals.sort_by_key(|approval| (approval.state as u8, approval.asked_ms));
    let paused_since_ms = hub.status().await?.pause.since_ms;
    Ok(ApprovalList { approvals, pin_set, paused_since_ms })
}

/// One of them, with everything that a decision is about.
pub async fn show(hub: &OperatorHandle, id: &str) -> Outcome<ApprovalDetail> {
    let all = hub.waiting().await?;
    let found = all.iter().find(|it| views::id(&it.record) == id);
    found.map(views::detail).ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> Failure {
    Failure::new(code::UNKNOWN_APPROVAL, format!("no call `{id}` waits")).next("callgate approval list")
}

/// Approves one.
pub async fn approve(hub: &OperatorHandle, asked: Approve, peer: &Peer) -> Outcome<Decided> {
    let decision = person::Decision::Approve { arguments: asked.args, scope: asked.remember.map(views::scope_in) };
    decide(hub, asked.id, &asked.digest, decision, peer).await
}

/// Denies one.
pub async fn deny(hub: &OperatorHandle, asked: Deny, peer: &Peer) -> Outcome<Decided> {
    let reason = asked.reason.filter(|reason| !reason.trim().is_empty());
    decide(hub, asked.id, &asked.digest, person::Decision::Deny { reason }, peer).await
}

async fn decide(
    hub: &OperatorHandle,
    id: String,
    digest: &str,
    decision: person::Decision,
    peer: &Peer,
) -> Outcome<Decided> {
    let digest = digest.parse().map_err(|_| Failure::new("bad_input", "`digest` is no digest that was shown"))?;
    let said = Said { id, digest: Some(digest), decision, by: peer.name() };
    let (winner, decided) = match hub.decide(said).await? {
        Verdict::Yours(decided) => (Winner::You, decided),
        Verdict::Anothers(decided) => (Winner::Another, decided),
    };
    let follows = match (decided.state, decided.runs) {
        (person::CallState::Approved, true) => Follows::Runs,
        (person::CallState::Approved, false) => Follows::NextCall,
        _ => Follows::Nothing,
    };
    Ok(Decided { winner, decision: views::decision(decided), follows })
}

/// Calls of which a record is kept, unknown ones first, then the latest.
pub async fn calls(hub: &OperatorHandle, filter: CallFilter) -> Outcome<CallList> {
    let mut all: Vec<Call> = hub.calls().await?.iter().filter_map(views::call).collect();
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
    let call = views::call(&record).ok_or_else(|| Failure::new("internal", "the call has no standing any more"))?;
    Ok(CallSettled { call, finding: asked.finding })
}

/// Whether all risky calls are held.
pub async fn paused(hub: &OperatorHandle, pause: person::Pause) -> Outcome<PauseState> {
    let waiting = hub.status().await?.waiting;
    let by = (!pause.by.is_empty()).then_some(pause.by);
    Ok(PauseState { paused_since_ms: pause.since_ms, by, waiting })
}
