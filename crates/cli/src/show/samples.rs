//! Words of the gate to be shown in tests.

use operator::words::*;

/// The time at which everything is shown.
pub const NOW: u64 = 1_796_032_800_000;

/// Everything that could fool whoever reads a card, in one text.
pub const HOSTILE: &str =
    "ok\u{1b}[2J\u{1b}]8;;http://evil\u{7}x\n\u{202e}gnp.\u{200b}\u{e0041}\u{9b}31m\r\u{2028}\u{600}\u{e000}\u{a0}";

/// A hash that begins with this letter.
pub fn hash(letter: char) -> String {
    format!("sha256:{}", letter.to_string().repeat(64))
}

/// A call that waits since 40 s and has 14 min left.
pub fn approval(id: &str, name: &str) -> Approval {
    let (server, tool) = name.split_once("__").unwrap_or(("shop", name));
    Approval {
        id: id.into(),
        call: id.into(),
        state: ApprovalState::Waiting,
        client: "cursor (unverified)".into(),
        unverified: true,
        server: server.into(),
        kind: ApprovalKind::Tool,
        tool: tool.into(),
        name: name.into(),
        task: false,
        effect: Effect::Write,
        tier: Tier::Once,
        rule: None,
        why: "No rule names it, and its server does not say that it only reads.".into(),
        most: Scope::Tool,
        asked_ms: NOW - 40_000,
        expires_ms: NOW + 860_000,
        waiters: 1,
        preview: "{\"item\": \"blue widget\", \"count\": 3}".into(),
        arguments_bytes: 35,
        digest: hash('a'),
        definition_hash: Some(hash('d')),
        definition: PinState::Approved,
        asked_before: 12,
        denied_before: 3,
        edited: false,
        again: None,
        keeps: None,
        unreadable: false,
    }
}

/// The same with its arguments.
pub fn detail(approval: Approval, arguments: &str) -> ApprovalDetail {
    let approval = Approval {
        preview: arguments.chars().take(400).collect(),
        arguments_bytes: arguments.len() as u64,
        ..approval
    };
    ApprovalDetail {
        approval,
        arguments: arguments.into(),
        original: None,
        description: Some("Places an order.\nReturns its number.".into()),
        schema: None,
        fields: vec![],
        changes: vec![],
        remembered: vec![],
        decision: None,
        outcome: None,
        ended_ms: None,
    }
}

/// A decision of somebody else.
pub fn decision(id: &str, kind: DecisionKind) -> Decision {
    Decision {
        id: id.into(),
        call: id.into(),
        kind,
        by: "the command line (pid 4711)".into(),
        at_ms: NOW - 5_000,
        remember: (kind == DecisionKind::Approved).then_some(Scope::Session),
        reason: (kind == DecisionKind::Denied).then(|| "not this week".into()),
        edited: false,
    }
}

/// A row of the log.
pub fn row(seq: u64, kind: &str, outcome: &str) -> AuditRow {
    AuditRow {
        seq,
        call: "c1-7".into(),
        kind: kind.into(),
        at_ms: NOW - 60_000 + seq,
        client: "cursor".into(),
        server: "shop".into(),
        tool: "place_order".into(),
        definition: hash('d'),
        method: "tools/call".into(),
        effect: "write".into(),
        outcome: outcome.into(),
        arguments_bytes: 35,
        ..AuditRow::default()
    }
}
