//! A call that was put before a person and does not wait any more, as the log tells of it. Pure; knows no values, only
//! names, types and sizes of arguments.

use hub::who::Who;
use operator::words::{
    Approval, ApprovalDetail, ApprovalKind, ApprovalState, AuditRow, AuditTrail, Decision, DecisionKind, Effect,
    PinState, Scope, Tier,
};
use serde_json::Value;

/// What became of a call; None: it never waited for a person.
pub fn of(trail: &AuditTrail) -> Option<ApprovalDetail> {
    let rows = &trail.rows;
    let last = |kinds: &[&str]| rows.iter().rev().find(|row| kinds.contains(&row.kind.as_str()));
    // An approval that was taken back, or that no longer covered the call, is no verdict: it waits once more.
    let opens = |row: &&AuditRow| row.kind == "asked" || row.kind == "grant" && row.outcome == "pending";
    let opened = rows.iter().rposition(|row| opens(&row));
    let asked = last(&["asked"]);
    let verdict = rows.iter().skip(opened.unwrap_or(0)).rev();
    let verdict = verdict.clone().find(|row| matches!(row.kind.as_str(), "decision" | "expired"));
    let about = verdict.or(asked)?;
    let said = |row: &AuditRow, name: &str| -> Option<String> {
        let detail: Value = serde_json::from_str(&row.detail).ok()?;
        Some(detail.get(name)?.as_str()?.to_owned())
    };
    let end = rows.iter().rev().find(|row| matches!(row.kind.as_str(), "end" | "read" | "settled"));
    let state = standing(verdict, end, last(&["intent"]).is_some());
    let at = |row: Option<&AuditRow>| row.map_or(0, |row| row.at_ms);
    let shape = rows.iter().rev().find(|row| !row.arguments.is_empty());
    let approval = Approval {
        id: trail.call.clone(),
        call: trail.call.clone(),
        state,
        client: about.client.clone(),
        unverified: !Who::of_id(&about.client).is_verified(),
        server: about.server.clone(),
        kind: match about.method.as_str() {
            "tools/call" => ApprovalKind::Tool,
            "prompts/get" => ApprovalKind::Prompt,
            "resources/read" => ApprovalKind::Resource,
            _ => ApprovalKind::Method,
        },
        tool: said(about, "tool").unwrap_or_else(|| about.tool.clone()),
        name: about.tool.clone(),
        // It waits for nobody any more.
        task: false,
        effect: match about.effect.as_str() {
            "read" => Effect::Read,
            "destructive" => Effect::Destructive,
            _ => Effect::Write,
        },
        tier: match said(about, "tier").as_deref() {
            Some("quiet") => Tier::Quiet,
            Some("once") => Tier::Once,
            _ => Tier::Each,
        },
        rule: about.rule.clone(),
        why: about.why.clone().unwrap_or_default(),
        most: Scope::Once,
        asked_ms: at(asked.or(verdict)),
        expires_ms: at(verdict),
        waiters: 0,
        preview: String::new(),
        arguments_bytes: shape.map_or(0, |row| row.arguments_bytes),
        digest: said(about, "sent").unwrap_or_default(),
        definition_hash: Some(about.definition.clone()).filter(|hash| !hash.is_empty() && about.method == "tools/call"),
        definition: PinState::Approved,
        asked_before: 0,
        denied_before: 0,
        edited: said(about, "edited").is_some(),
        again: None,
        keeps: None,
        unreadable: false,
    };
    Some(ApprovalDetail {
        decision: verdict.map(|row| decision(&trail.call, row, said(row, "scope").as_deref(), approval.edited)),
        approval,
        arguments: String::new(),
        fields: shape.map(|row| row.arguments.clone()).unwrap_or_default(),
        original: None,
        description: None,
        schema: None,
        changes: Vec::new(),
        remembered: Vec::new(),
        outcome: end.map(|row| row.outcome.clone()),
        ended_ms: end.map(|row| row.at_ms + row.ran_us / 1000),
    })
}

fn standing(verdict: Option<&AuditRow>, end: Option<&AuditRow>, was_sent: bool) -> ApprovalState {
    match (verdict.map(|row| (row.kind.as_str(), row.outcome.as_str())), end.map(|row| row.outcome.as_str())) {
        (Some(("expired", _)), _) => ApprovalState::Expired,
        (Some((_, "denied" | "cancelled")), _) => ApprovalState::Denied,
        (None, _) => ApprovalState::Waiting,
        (_, Some("outcome_unknown")) => ApprovalState::Unknown,
        (_, Some("not_sent")) => ApprovalState::Approved,
        (_, Some(_)) => ApprovalState::Done,
        (_, None) if was_sent => ApprovalState::Running,
        (_, None) => ApprovalState::Approved,
    }
}

fn decision(call: &str, row: &AuditRow, scope: Option<&str>, edited: bool) -> Decision {
    let kind = match (row.kind.as_str(), row.outcome.as_str()) {
        ("expired", _) => DecisionKind::Expired,
        // Taken back by its client.
        (_, "denied" | "cancelled") => DecisionKind::Denied,
        _ => DecisionKind::Approved,
    };
    Decision {
        id: call.to_owned(),
        call: call.to_owned(),
        kind,
        by: row.by.clone().unwrap_or_default(),
        at_ms: row.at_ms,
        remember: match scope {
            Some("once") => Some(Scope::Once),
            Some("session") => Some(Scope::Session),
            Some("tool") => Some(Scope::Tool),
            _ => None,
        },
        reason: row.reason.clone(),
        edited,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Rows as `kind/outcome`.
    fn check(rows: &[&str], expect: Option<(ApprovalState, Option<DecisionKind>, Option<&str>)>) {
        let row = |(seq, text): (usize, &&str)| {
            let (kind, outcome) = text.split_once('/').unwrap();
            let detail = "{\"scope\":\"session\",\"tier\":\"once\",\"sent\":\"sha256:00\",\"tool\":\"order\"}";
            AuditRow {
                kind: kind.into(),
                outcome: outcome.into(),
                at_ms: 1_000 + seq as u64,
                tool: "shop__order".into(),
                effect: "write".into(),
                detail: detail.into(),
                by: (kind == "decision").then(|| "somebody".into()),
                ..AuditRow::default()
            }
        };
        let trail = AuditTrail { call: "c1".into(), rows: rows.iter().enumerate().map(row).collect() };
        let found = of(&trail);
        let told = found.as_ref().map(|it| {
            assert_eq!((it.approval.tier, it.approval.tool.as_str()), (Tier::Once, "order"));
            (it.approval.state, it.decision.as_ref().map(|decision| decision.kind), it.outcome.as_deref())
        });
        assert_eq!(told, expect, "{rows:?}");
    }

    #[test]
    fn what_became_of_it_is_what_its_rows_say() {
        use ApprovalState::*;
        let approved = Some(DecisionKind::Approved);
        check(&["read/ok"], None);
        check(&["intent/", "end/ok"], None);
        check(&["asked/pending"], Some((Waiting, None, None)));
        check(&["asked/pending", "decision/denied"], Some((Denied, Some(DecisionKind::Denied), None)));
        check(&["asked/pending", "expired/approval_expired"], Some((Expired, Some(DecisionKind::Expired), None)));
        check(&["asked/pending", "decision/approved"], Some((Approved, approved, None)));
        check(&["asked/pending", "decision/approved", "intent/"], Some((Running, approved, None)));
        let ran = ["asked/pending", "decision/approved", "intent/", "end/ok"];
        check(&ran, Some((Done, approved, Some("ok"))));
        check(&[&ran[..3], &["end/outcome_unknown"]].concat(), Some((Unknown, approved, Some("outcome_unknown"))));
        let settled = [&ran[..3], &["end/outcome_unknown", "settled/ran"]].concat();
        check(&settled, Some((Done, approved, Some("ran"))));
        let back = ["asked/pending", "decision/approved", "grant/pending"];
        check(&back, Some((Waiting, None, None)));
        check(&[&back[..], &["decision/denied"]].concat(), Some((Denied, Some(DecisionKind::Denied), None)));
        check(&["asked/pending", "decision/approved", "asked/pending"], Some((Waiting, None, None)));
        check(&[&ran[..], &["grant/"]].concat(), Some((Done, approved, Some("ok"))));
        let again = ["asked/pending", "decision/approved", "intent/", "end/not_sent", "expired/approval_expired"];
        check(&again, Some((Expired, Some(DecisionKind::Expired), Some("not_sent"))));
    }
}
