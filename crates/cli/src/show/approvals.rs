//! Waiting calls and decisions for people.

use super::arguments::{self, Field, grouped, many};
use super::remembered;
use super::screen::{Ink, Screen, columns, wrap};
use super::servers::Fields;
use super::table::{Cell, Column, Table};
use super::tools::ink;
use super::when;
use operator::visible::escape;
use operator::words::{
    Approval, ApprovalDetail, ApprovalKind, ApprovalList, ApprovalState, Decided, Decision, DecisionKind, Follows,
    PauseState, PinState, PinStatus, Rest, Scope, Tier, Winner,
};

/// Widest column of names of arguments.
const KEY: usize = 24;
/// Longest line that holds a name, its value and its type; longer values have lines of their own.
const LONGEST: usize = 80;

/// The queue, or that it is empty.
pub fn list(list: &ApprovalList, screen: &Screen) -> String {
    let mut out = String::new();
    if let Some(since) = list.paused_since_ms {
        let text = format!("All risky calls are held since {}.", when::clock(since, screen));
        out.push_str(&format!("{} Let them run again:  callgate resume\n\n", screen.paint(Ink::Warm, &text)));
    }
    out.push_str(&rests(&list.resting, screen));
    if list.approvals.is_empty() {
        return out + "Nothing waits for a person.\n";
    }
    let mut table = Table::new(&[
        Column::word("ID"),
        Column::number("AGE"),
        Column::number("LEFT"),
        Column::text("CLIENT"),
        Column::text("TOOL"),
        Column::word("EFFECT"),
        Column::text("ARGUMENTS").or_not(),
    ]);
    for approval in &list.approvals {
        table.row([
            approval.id.as_str().into(),
            when::lasting(approval.asked_ms, screen.now_ms).into(),
            standing(approval, screen.now_ms).into(),
            Cell::new(Ink::Plain, &approval.client),
            Cell::new(Ink::Bold, &name(approval)),
            Cell::new(ink(approval.effect), approval.effect.as_str()),
            Cell::new(Ink::Faint, &approval.preview),
        ]);
    }
    out.push_str(&table.draw(screen, 0));
    let waiting = list.approvals.iter().filter(|it| it.state == ApprovalState::Waiting).count();
    let all = if waiting == 1 { "1 waits".into() } else { format!("{waiting} wait") };
    out.push_str(&format!(
        "\n{}\n",
        screen.paint(Ink::Faint, &format!("{all}; work through them:  callgate approval watch"))
    ));
    out
}

/// What was decided, the latest first.
pub fn past(list: &ApprovalList, screen: &Screen) -> String {
    if list.approvals.is_empty() {
        return "Nothing was decided under this filter.\n".into();
    }
    let mut table = Table::new(&[
        Column::word("ID"),
        Column::word("DECIDED"),
        Column::text("CLIENT"),
        Column::text("TOOL"),
        Column::word("EFFECT"),
        Column::word("STATE"),
    ]);
    for approval in &list.approvals {
        let (ink_of_state, word) = state(approval.state);
        table.row([
            approval.id.as_str().into(),
            Cell::new(Ink::Faint, &when::clock(approval.expires_ms, screen)),
            Cell::new(Ink::Plain, &approval.client),
            Cell::new(Ink::Bold, &approval.name),
            Cell::new(ink(approval.effect), approval.effect.as_str()),
            Cell::new(ink_of_state, &word),
        ]);
    }
    let mut out = table.draw(screen, 0);
    if let Some(before) = list.before {
        let more = format!("more:  callgate approval list --decided --before {before}");
        out.push_str(&format!("\n{}\n", screen.paint(Ink::Faint, &more)));
    }
    out
}

/// The time that is left to decide, or how it stands otherwise.
pub fn standing(approval: &Approval, now_ms: u64) -> String {
    match approval.state {
        ApprovalState::Waiting => left(approval, now_ms),
        other => other.as_str().into(),
    }
}

/// Time until it expires.
pub fn left(approval: &Approval, now_ms: u64) -> String {
    if approval.expires_ms <= now_ms { "expired".into() } else { when::lasting(now_ms, approval.expires_ms) }
}

/// Ink and word of a state.
pub fn state(state: ApprovalState) -> (Ink, String) {
    let (ink, symbol) = match state {
        ApprovalState::Waiting => (Ink::Warm, "◐"),
        ApprovalState::Approved | ApprovalState::Running => (Ink::Good, "●"),
        ApprovalState::Done => (Ink::Good, "✓"),
        ApprovalState::Denied | ApprovalState::Expired => (Ink::Faint, "✗"),
        ApprovalState::Unknown => (Ink::Bad, "?"),
    };
    (ink, format!("{symbol} {}", state.as_str()))
}

/// How often a tool asks, in words.
pub fn tier(tier: Tier) -> &'static str {
    match tier {
        Tier::Quiet => "runs without asking",
        Tier::Once => "asks once",
        Tier::Each => "asks every time",
    }
}

/// What to know about the definition; None where it is as approved.
pub fn badge(definition: PinState) -> Option<&'static str> {
    match definition {
        PinState::Approved => None,
        PinState::New => Some("NEW: never approved before"),
        PinState::Changed => Some("CHANGED since it was approved"),
        PinState::Blocked => Some("BLOCKED until it is reviewed: callgate catalog diff"),
    }
}

/// For how long an approval holds, in words.
pub fn remembered(scope: Scope) -> &'static str {
    match scope {
        Scope::Once => "for this call",
        Scope::Session => "for this session of its client",
        Scope::Tool => "for this client and tool until it changes",
    }
}

/// What it may do, and how often such a tool asks where that is why it does.
pub fn class(approval: &Approval) -> String {
    let effect = approval.effect.as_str();
    match approval.tier {
        Tier::Once | Tier::Each if approval.rule.is_none() => format!("{effect} · {}", tier(approval.tier)),
        // It waits for another reason, which stands beside it.
        Tier::Quiet | Tier::Once | Tier::Each => effect.to_owned(),
    }
}

/// What is asked for, in the aggregate; what is no tool says what it is.
pub fn name(approval: &Approval) -> String {
    match approval.kind {
        ApprovalKind::Tool => approval.name.clone(),
        other => format!("{} {}", other.as_str(), approval.name),
    }
}

/// Who waits for the decision.
pub fn waiters(approval: &Approval) -> String {
    match approval.waiters {
        0 if approval.keeps.is_some() => "its client does not wait any more".into(),
        0 if approval.task => "its client has it as a task; it runs as soon as it is approved".into(),
        0 => "its client does not wait any more; it runs when that calls again".into(),
        1 => "its client waits".into(),
        some => format!("{some} identical calls wait"),
    }
}

/// How often this tool asked before.
pub fn history(approval: &Approval) -> String {
    match (approval.asked_before, approval.denied_before) {
        (0, _) => "asks for the first time".into(),
        (asked, denied) => format!("asked {} before, {} denied", times(asked), grouped(denied as usize)),
    }
}

fn times(number: u32) -> String {
    if number == 1 { "once".into() } else { format!("{} times", grouped(number as usize)) }
}

/// Everything that a decision is about, and how to make it.
pub fn detail(detail: &ApprovalDetail, screen: &Screen) -> String {
    let it = &detail.approval;
    let (state_ink, word) = state(it.state);
    let mut out = format!(
        "{}  {}  {}",
        escape(&it.id),
        screen.paint(Ink::Bold, &escape(&name(it))),
        screen.paint(state_ink, &word)
    );
    let is_past = detail.decision.is_some();
    if !is_past && matches!(it.state, ApprovalState::Waiting | ApprovalState::Approved) {
        let left = if it.expires_ms > screen.now_ms {
            format!("expires in {}", left(it, screen.now_ms))
        } else {
            "expired".into()
        };
        out.push_str(&format!("  {}", screen.paint(Ink::Faint, &left)));
    }
    out.push('\n');
    let mut fields = Fields { screen, out: &mut out };
    fields.put("client", &it.client);
    fields.put("server", &it.server);
    fields.put(it.kind.as_str(), &it.tool);
    fields.put("effect", &class(it));
    fields.prose("why", &it.why);
    fields.some("rule", it.rule.as_deref());
    if let Some(again) = &it.again {
        fields.prose("again", again);
    }
    if let Some(keeps) = &it.keeps {
        fields.prose("can't run", keeps);
    }
    let waits = if is_past { String::new() } else { format!("; {}", waiters(it)) };
    fields.put("asked", &format!("{} ago{waits}", when::lasting(it.asked_ms, screen.now_ms)));
    if let Some(badge) = badge(it.definition) {
        fields.put("definition", badge);
    }
    for change in &detail.changes {
        fields.prose("", change);
    }
    for it in &detail.remembered {
        fields.prose("remembered", &remembered::beside(it, screen));
    }
    fields.put("history", &history(it));
    fields.put("call", &it.call);
    if let Some(about) = &detail.description {
        fields.prose("about", about);
    }
    fields.put("digest", &it.digest);
    if let Some(decision) = &detail.decision {
        fields.prose("decision", &decided(decision, screen));
    }
    if let Some(outcome) = &detail.outcome {
        let at = detail.ended_ms.map(|at| format!(" at {}", when::clock(at, screen))).unwrap_or_default();
        fields.put("ended", &format!("{outcome}{at}"));
    }
    if is_past {
        out.push_str(&shapes(detail, screen));
        return out;
    }
    if it.unreadable {
        let title = "Arguments: sealed, and not to be opened any more";
        out.push_str(&format!("\n{}\n", screen.paint(Ink::Bad, title)));
        let why = "The key that sealed them is gone, or they were changed: nobody can see what would run.";
        let next = "It can only be denied; its client can ask anew then.";
        out.push_str(&format!("  {why}\n  {next}\n\n  callgate approval deny {} --reason TEXT\n", escape(&it.id)));
        return out;
    }
    let edited = if it.edited { ", changed by a person" } else { "" };
    let title = format!("Arguments ({}{edited})", many(usize::try_from(it.arguments_bytes).unwrap_or(0), "byte"));
    out.push_str(&format!("\n{}\n", screen.paint(Ink::Bold, &title)));
    out.push_str(&listed(&detail.arguments, screen));
    out.push_str(&inner(&detail.arguments, screen));
    if let Some(original) = &detail.original {
        out.push_str(&format!("\n{}\n", screen.paint(Ink::Bold, "What the client asked for")));
        out.push_str(&listed(original, screen));
    }
    if it.state == ApprovalState::Waiting && it.expires_ms > screen.now_ms {
        let id = escape(&it.id);
        let digest = escape(&it.digest);
        out.push_str(&format!("\n  callgate approval approve {id} --digest {digest}\n"));
        out.push_str(&format!("  callgate approval deny {id} --reason TEXT\n"));
    }
    out
}

/// What is kept of the arguments of a call that does not wait any more.
fn shapes(detail: &ApprovalDetail, screen: &Screen) -> String {
    let bytes = many(usize::try_from(detail.approval.arguments_bytes).unwrap_or(0), "byte");
    let title = format!("Arguments ({bytes}; names, types, sizes, keyed hashes: values are not kept)");
    let mut out = format!("\n{}\n", screen.paint(Ink::Bold, &title));
    for field in &detail.fields {
        out.push_str(&format!("  {}\n", screen.line(2, field)));
    }
    if detail.fields.is_empty() {
        out.push_str(&format!("  {}\n", screen.paint(Ink::Faint, "none")));
    }
    out
}

/// JSON that stands in texts of a JSON text, apart from what is around it.
pub fn inner(json: &str, screen: &Screen) -> String {
    let one = |(place, inner): &(String, String)| {
        let title = format!("JSON in {}", escape(place));
        format!("\n{}\n{}", screen.paint(Ink::Bold, &title), listed(inner, screen))
    };
    arguments::inner(json).iter().map(one).collect()
}

/// Each argument with its type and length, then its value.
pub fn listed(json: &str, screen: &Screen) -> String {
    let fields = arguments::fields(json);
    if fields.is_empty() {
        return format!("  {}\n", screen.paint(Ink::Faint, "none"));
    }
    let name = |field: &Field| columns(&field.key) + 2 * field.depth;
    let key = fields.iter().map(name).filter(|&wide| wide <= KEY).max().unwrap_or(0);
    let mut out = String::new();
    for field in &fields {
        let indent = " ".repeat(2 + 2 * field.depth);
        let space = " ".repeat((key + 2).saturating_sub(name(field)).max(2));
        let mut kind = screen.paint(Ink::Faint, &field.kind);
        if let Some(alarm) = &field.alarm {
            kind.push_str(&format!("  {}", screen.paint(Ink::Bad, &format!("! {alarm}"))));
        }
        let head = format!("{indent}{}{space}", screen.paint(Ink::Bold, &field.key));
        if let [value] = field.lines.as_slice()
            && indent.len() + name(field).max(key) + columns(value) + columns(&field.kind) + 6 < LONGEST
        {
            out.push_str(&format!("{head}{value}  {kind}\n"));
            continue;
        }
        out.push_str(&format!("{head}{kind}\n"));
        let indent = " ".repeat(4 + 2 * field.depth);
        let width = screen.width.unwrap_or(usize::MAX).saturating_sub(indent.len()).max(20);
        for line in field.lines.iter().flat_map(|line| wrap(line, width)) {
            out.push_str(&format!("{indent}{line}\n"));
        }
    }
    out
}

/// A decision in a sentence.
pub fn decided(decision: &Decision, screen: &Screen) -> String {
    let at = when::clock(decision.at_ms, screen);
    let reason = decision.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    match decision.kind {
        DecisionKind::Approved => {
            let scope = decision.remember.map(|scope| format!(" {}", remembered(scope))).unwrap_or_default();
            let edited = if decision.edited { ", with changed arguments" } else { "" };
            format!("approved{scope} by {} at {at}{edited}{reason}", decision.by)
        }
        DecisionKind::Denied => format!("denied by {} at {at}{reason}", decision.by),
        DecisionKind::Expired => format!("expired at {at}: nobody decided in time"),
    }
}

/// What became of a decision just made.
pub fn outcome(decided: &Decided, screen: &Screen) -> String {
    let decision = &decided.decision;
    let what = match decided.winner {
        Winner::You => sentence_case(&self::decided(decision, screen)),
        Winner::Another => format!("Not your decision: it was {}", self::decided(decision, screen)),
    };
    let follows = match (decided.follows, &decided.keeps) {
        (Follows::Runs, _) => "It runs now.".into(),
        (Follows::NextCall, None) => {
            "Its client does not wait any more: it runs when that calls again with the same arguments.".into()
        }
        (Follows::NextCall, Some(keeps)) => format!(
            "It can't run now: {}. After that it runs when its client calls again with the same arguments.",
            escape(keeps)
        ),
        (Follows::Nothing, _) => String::new(),
    };
    let back = match (decided.winner, decided.follows) {
        (Winner::Another, Follows::NextCall) => {
            format!(" Take that back:  callgate approval forget {}", escape(&decision.id))
        }
        _ => String::new(),
    };
    let ink = match decision.kind {
        _ if decided.winner == Winner::Another => Ink::Warm,
        DecisionKind::Approved => Ink::Good,
        DecisionKind::Denied | DecisionKind::Expired => Ink::Plain,
    };
    let text = format!("{}  {}. {follows}", escape(&decision.id), screen.paint(ink, &escape(&what))) + &back;
    text.trim_end().to_owned() + "\n" + &unwritten(decided.unwritten.as_deref(), screen)
}

fn sentence_case(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Whether a PIN is set now.
pub fn pin(status: PinStatus) -> String {
    if status.pin_set { "The PIN is set: decisions need it.\n" } else { "No PIN is set.\n" }.into()
}

/// Whether risky calls are held.
pub fn pause(state: &PauseState, screen: &Screen) -> String {
    let waiting = match state.waiting {
        0 => String::new(),
        1 => " 1 call waits for a person.".into(),
        some => format!(" {some} calls wait for a person."),
    };
    let rests = unwritten(state.unwritten.as_deref(), screen) + &rests(&state.resting, screen);
    match state.paused_since_ms {
        None => rests + &format!("{}{waiting}\n", screen.paint(Ink::Good, "Risky calls run as the policy says.")),
        Some(since) => {
            let by = state.by.as_ref().map(|by| format!(" by {}", escape(by))).unwrap_or_default();
            let text = format!("All risky calls are held since {}{by}.", when::clock(since, screen));
            rests + &format!("{}{waiting} Let them run again:  callgate resume\n", screen.paint(Ink::Warm, &text))
        }
    }
}

/// That something which holds could not be written down.
pub fn unwritten(cause: Option<&str>, screen: &Screen) -> String {
    let line = |cause| {
        let text =
            format!("It holds, but the log does not have it yet, so that a restart may undo it: {}", escape(cause));
        format!("{}\n", screen.paint(Ink::Bad, &text))
    };
    cause.map(line).unwrap_or_default()
}

/// Calls of one server may ask again; what else holds calls goes on.
pub fn resumed(server: &str, state: &PauseState, screen: &Screen) -> String {
    let text = format!("Calls of {} may ask again.", escape(server));
    let more = if state.paused_since_ms.is_some() { pause(state, screen) } else { rests(&state.resting, screen) };
    format!("{}\n{more}", screen.paint(Ink::Good, &text))
}

/// Servers whose calls are refused where they would ask, a line each.
pub fn rests(resting: &[Rest], screen: &Screen) -> String {
    resting.iter().map(|it| format!("{}\n", screen.paint(Ink::Warm, &rest(it, screen)))).collect()
}

/// One of them in a sentence.
pub fn rest(it: &Rest, screen: &Screen) -> String {
    format!(
        "Calls of {} by {} that would ask are refused until {}: {} were denied within a minute. callgate resume {}",
        escape(&it.server),
        escape(&it.client),
        when::clock(it.until_ms, screen),
        it.denials,
        escape(&it.server)
    )
}
