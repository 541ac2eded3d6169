//! Calls, decisions and rules in the words of the person's door.

use hub::person::{self, CallId, CallRecord, CallState, Method, WaitingCall};
use hub::who::Who;
use operator::words::{
    Approval, ApprovalDetail, ApprovalKind, ApprovalState, Call, CallStanding, Decision, DecisionKind, DiffLine,
    DiffSide, DiffWord, EntryKind, EntryReview, Explained, PinState, Remembered, RuleView, Scope, ServerReview, Then,
    Tier,
};

/// Characters of the arguments in an overview.
const PREVIEW: usize = 400;
/// Runs of so many white characters are told by their length there.
const LONG_RUN: usize = 5;

/// The id by which people and agents know a call.
pub fn id(record: &CallRecord) -> String {
    CallId::new(record.call.0).to_string()
}

/// A waiting call at a glance.
pub fn approval(it: &WaitingCall) -> Approval {
    let record = &it.record;
    let arguments = arguments(record);
    Approval {
        id: id(record),
        call: id(record),
        state: if record.state == CallState::Approved { ApprovalState::Approved } else { ApprovalState::Waiting },
        client: record.client.clone(),
        unverified: it.unverified,
        server: record.server.clone(),
        kind: kind(record.method),
        tool: record.tool.clone(),
        name: record.name.clone(),
        task: record.task.is_some(),
        effect: record.effect,
        tier: tier(record.tier),
        rule: some(&record.rule),
        why: record.why.clone(),
        most: scope(it.most),
        asked_ms: record.asked_ms,
        expires_ms: record.expires_ms,
        waiters: it.waiters,
        preview: match record.is_unreadable {
            true => "(cannot be opened any more; it can only be denied)".to_owned(),
            false => brief(&arguments).chars().take(PREVIEW).collect(),
        },
        arguments_bytes: arguments.len() as u64,
        digest: record.sent.map(|digest| digest.to_string()).unwrap_or_default(),
        definition_hash: record.definition.filter(|_| record.method == Method::ToolCall).map(|hash| hash.to_string()),
        definition: state(it.definition),
        asked_before: 0,
        denied_before: 0,
        edited: record.edited.is_some(),
        again: it.again.clone(),
        keeps: it.keeps.clone(),
        unreadable: record.is_unreadable,
    }
}

/// Arguments in one line: a long run of white space, which would push away what follows it, is told and not drawn.
fn brief(arguments: &str) -> String {
    let mut out = String::new();
    let mut rest = arguments;
    while let Some(run) = rest.find(|c: char| !c.is_whitespace()) {
        match rest[..run].chars().count() {
            0..LONG_RUN => out.push_str(&rest[..run]),
            many => out.push_str(&format!("[{many} spaces]")),
        }
        rest = &rest[run..];
        let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
        out.push_str(&rest[..word]);
        rest = &rest[word..];
    }
    out
}

fn kind(method: Method) -> ApprovalKind {
    match method {
        Method::PromptGet => ApprovalKind::Prompt,
        Method::ResourceRead => ApprovalKind::Resource,
        Method::ToolCall => ApprovalKind::Tool,
        Method::None | Method::Complete | Method::Subscribe | Method::Task | Method::Other => ApprovalKind::Method,
    }
}

/// What would be sent.
fn arguments(record: &CallRecord) -> String {
    let text = record.edited.as_ref().or(record.arguments.as_ref());
    text.map(|text| String::from_utf8_lossy(text).into_owned()).unwrap_or_default()
}

/// The same with everything that a decision is about.
pub fn detail(it: &WaitingCall) -> ApprovalDetail {
    let original = it.record.edited.as_ref().and(it.record.arguments.as_ref());
    ApprovalDetail {
        approval: approval(it),
        arguments: arguments(&it.record),
        original: original.map(|text| String::from_utf8_lossy(text).into_owned()),
        description: it.description.clone(),
        schema: it.schema.clone(),
        fields: Vec::new(),
        changes: Vec::new(),
        remembered: Vec::new(),
        decision: None,
        outcome: None,
        ended_ms: None,
    }
}

/// A decision that holds.
pub fn decision(it: person::Decided) -> Decision {
    Decision {
        id: it.id.clone(),
        call: it.id,
        kind: match it.state {
            CallState::Denied => DecisionKind::Denied,
            CallState::Expired => DecisionKind::Expired,
            _ => DecisionKind::Approved,
        },
        by: it.by,
        at_ms: it.at_ms,
        remember: it.scope.map(scope),
        reason: some(&it.reason),
        edited: it.edited,
    }
}

/// An approval that holds for calls to come.
pub fn remembered(it: person::Remembered) -> Remembered {
    Remembered {
        call: it.call.map(|call| call.to_string()),
        unverified: !Who::of_id(&it.client).is_verified(),
        client: it.client,
        server: it.server,
        name: it.name.unwrap_or_else(|| it.tool.clone()),
        tool: it.tool,
        effect: it.effect,
        scope: scope(it.scope),
        since_ms: it.at_ms,
        by: some(&it.by),
        until_ms: it.until_ms,
        lapsed: it.lapsed,
    }
}

/// A call of which a record is kept, or was until now.
pub fn call(record: &CallRecord) -> Call {
    let standing = match record.state {
        CallState::Unknown => CallStanding::Unknown,
        CallState::Reserved => CallStanding::Reserved,
        CallState::Waiting => CallStanding::Waiting,
        CallState::Approved => CallStanding::Approved,
        CallState::Intent => CallStanding::Running,
        CallState::Settled => CallStanding::Settled,
        CallState::Denied => CallStanding::Denied,
        CallState::Expired => CallStanding::Expired,
        CallState::Freed => CallStanding::Freed,
    };
    let settled = (record.ended_ms > 0 && !record.decided_by.is_empty()).then(|| format!("by {}", record.decided_by));
    let unknown = (record.state == CallState::Unknown)
        .then(|| "it was sent, and nothing came back that says whether it ran".to_owned());
    Call {
        call: id(record),
        standing,
        client: record.client.clone(),
        server: record.server.clone(),
        tool: record.tool.clone(),
        name: record.name.clone(),
        effect: record.effect,
        asked_ms: record.asked_ms,
        ended_ms: record.ended_ms,
        outcome: record.outcome.as_str().to_owned(),
        keyed: record.key.is_some(),
        has_result: record.has_result,
        note: unknown.or(settled),
    }
}

/// How the rules see a call.
pub fn explained(it: person::Explained) -> Explained {
    Explained {
        name: it.name,
        server: it.server,
        tool: it.tool,
        effect: it.effect,
        tier: tier(it.tier),
        tier_why: it.tier_why,
        then: then(it.then),
        rule: it.rule,
        why: it.why,
        reason: it.reason,
        most: scope(it.most),
        depends: it.depends,
        unlisted: it.unlisted,
        unusable: it.checked.unusable,
        partly_checked: it.checked.skipped,
        definition: PinState::Approved,
        remembered: it.remembered.map(scope),
    }
}

/// All that waits of one server.
pub fn review(it: person::ServerReview) -> ServerReview {
    ServerReview {
        server: it.server,
        hash: it.hash,
        seen_ms: it.seen_ms,
        blocked: it.blocked,
        entries: it.entries.into_iter().map(entry).collect(),
        unchanged: it.unchanged,
    }
}

fn entry(it: person::EntryReview) -> EntryReview {
    let line = |line: person::DiffLine| DiffLine {
        place: line.place,
        side: match line.side {
            person::Side::Both => DiffSide::Both,
            person::Side::Approved => DiffSide::Approved,
            person::Side::Now => DiffSide::Now,
        },
        words: line.words.into_iter().map(|word| DiffWord { text: word.text, changed: word.changed }).collect(),
    };
    let whole = it.whole.map(|text| pretty(&text)).unwrap_or_default();
    let new = whole.lines().map(|text| DiffLine {
        place: String::new(),
        side: DiffSide::Now,
        words: vec![DiffWord { text: text.to_owned(), changed: false }],
    });
    EntryReview {
        kind: match it.kind.as_str() {
            "launch" => EntryKind::Launch,
            "instructions" => EntryKind::Instructions,
            "prompt" => EntryKind::Prompt,
            "resource" => EntryKind::Resource,
            "template" => EntryKind::Template,
            _ => EntryKind::Tool,
        },
        name: it.name,
        exposed: it.exposed,
        state: state(it.state),
        effect: it.effect,
        effect_before: it.effect_before,
        tier: it.tier.map(tier),
        flags: it.flags,
        raised: it.raised,
        lines: it.lines.into_iter().map(line).chain(new).collect(),
        hash: it.hash,
    }
}

fn state(state: person::EntryState) -> PinState {
    match state {
        person::EntryState::Approved => PinState::Approved,
        person::EntryState::New => PinState::New,
        person::EntryState::Changed => PinState::Changed,
        person::EntryState::Blocked => PinState::Blocked,
    }
}

/// JSON over several lines; anything else as it is.
fn pretty(text: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(text);
    value.ok().and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| text.to_owned())
}

/// One rule at a glance.
pub fn rule(it: person::RuleSource, matches: u32) -> RuleView {
    RuleView { name: it.name, then: then(it.then), when: it.when, reason: it.reason, matches }
}

fn then(then: person::Then) -> Then {
    match then {
        person::Then::Allow => Then::Allow,
        person::Then::Ask => Then::Ask,
        person::Then::Deny => Then::Deny,
    }
}

fn tier(tier: person::Tier) -> Tier {
    match tier {
        person::Tier::Quiet => Tier::Quiet,
        person::Tier::Once => Tier::Once,
        person::Tier::Each => Tier::Each,
    }
}

fn scope(scope: person::Scope) -> Scope {
    match scope {
        person::Scope::Once => Scope::Once,
        person::Scope::Session => Scope::Session,
        person::Scope::Tool => Scope::Tool,
    }
}

/// A scope as the gate knows it.
pub fn scope_in(scope: Scope) -> person::Scope {
    match scope {
        Scope::Once => person::Scope::Once,
        Scope::Session => person::Scope::Session,
        Scope::Tool => person::Scope::Tool,
    }
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::brief;

    #[test]
    fn spaces_push_nothing_out_of_an_overview() {
        let hidden = format!("{{\"a\": \"x{}rm -rf\"}}", " ".repeat(300));
        assert_eq!(brief(&hidden), "{\"a\": \"x[300 spaces]rm -rf\"}");
        assert_eq!(brief("{\"a\": 1,    \"b\": 2}"), "{\"a\": 1,    \"b\": 2}");
        assert_eq!(brief(""), "");
    }
}
