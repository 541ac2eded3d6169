//! What waits for a review, for people: flagged first, then what is new, then what changed word by word, each with
//! the hash that approves exactly it.

use super::screen::{Colour, Ink, Screen, wrap};
use super::servers::Fields;
use super::when;
use operator::visible::{escape, escape_lines};
use operator::words::{
    CatalogApproved, CatalogDiff, DiffLine, DiffSide, DiffWord, EntryKind, EntryReview, PinState, ServerReview,
};
use serde::Deserialize;

/// How much is shown of a new definition that nothing speaks against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// What it says of itself.
    Short,
    /// Every word.
    Full,
}

/// Everything that waits, or that nothing does.
pub fn diff(diff: &CatalogDiff, length: Length, screen: &Screen) -> String {
    if diff.servers.is_empty() && diff.held.changes.is_empty() {
        return "Everything is as it was approved.\n".into();
    }
    let mut out = String::new();
    if let Some(hash) = &diff.held.hash {
        held(&diff.held.changes, hash, screen, &mut out);
    }
    for review in &diff.servers {
        if !out.is_empty() {
            out.push('\n');
        }
        server(review, length, screen, &mut out);
    }
    out
}

/// What the config on disk would loosen.
fn held(changes: &[String], hash: &str, screen: &Screen, out: &mut String) {
    let text = "  It would let more run without a person. Until it is accepted the earlier rules hold.";
    out.push_str(&format!("{}  {}\n", screen.paint(Ink::Bold, "config"), screen.paint(Ink::Warm, "held")));
    out.push_str(&format!("{}\n", screen.paint(Ink::Faint, text)));
    let width = screen.width.unwrap_or(usize::MAX).saturating_sub(4).max(20);
    for change in changes {
        for (at, line) in wrap(&escape(change), width).iter().enumerate() {
            out.push_str(&format!("{}{line}\n", if at == 0 { "  - " } else { "    " }));
        }
    }
    out.push_str(&format!("\n  accept all of it:  callgate catalog approve @policy --hash {}\n", escape(hash)));
}

fn server(review: &ServerReview, length: Length, screen: &Screen, out: &mut String) {
    let name = escape(&review.server);
    let counts = counts(&review.entries);
    let seen = format!("seen {}", when::ago(review.seen_ms, screen.now_ms));
    out.push_str(&format!("{}  {counts}  {}\n", screen.paint(Ink::Bold, &name), screen.paint(Ink::Faint, &seen)));
    if review.blocked {
        let text = "  Nothing of this server reaches a host until it is reviewed.";
        out.push_str(&format!("{}\n", screen.paint(Ink::Bad, text)));
    } else if review.entries.iter().any(|entry| entry.kind == EntryKind::Launch) {
        let text = "  It goes on as it was approved; its other launch begins once that is approved.";
        out.push_str(&format!("{}\n", screen.paint(Ink::Warm, text)));
    }
    if review.unchanged > 0 {
        let text = format!("  {} as approved", many(review.unchanged as usize, "definition"));
        out.push_str(&format!("{}\n", screen.paint(Ink::Faint, &text)));
    }
    // What speaks against a definition is read first, whatever the order in which they came.
    let mut entries: Vec<&EntryReview> = review.entries.iter().collect();
    entries.sort_by_key(|entry| (entry.flags.is_empty(), entry.raised.is_empty(), entry.state == PinState::New));
    // The command stands below all that it approves: whoever copies it has gone past the rest.
    for entry in entries {
        self::entry(&review.server, entry, length, screen, out);
    }
    if review.entries.iter().any(|entry| in_short(entry, length)) {
        let text = "  New ones are shown in short; every word:  callgate catalog diff --full";
        out.push_str(&format!("\n{}\n", screen.paint(Ink::Faint, text)));
    }
    out.push_str(&format!("\n  approve all of it:  callgate catalog approve {name} --hash {}\n", escape(&review.hash)));
}

fn counts(entries: &[EntryReview]) -> String {
    let of = |wanted: fn(&EntryReview) -> bool| entries.iter().filter(|entry| wanted(entry)).count();
    let parts = [
        (of(|entry| !entry.flags.is_empty()), "flagged"),
        (of(|entry| entry.state == PinState::New), "new"),
        (of(|entry| entry.state == PinState::Changed), "changed"),
        (of(|entry| entry.state == PinState::Blocked), "blocked"),
    ];
    parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn many(number: usize, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

/// Whether only what it says of itself is shown.
fn in_short(entry: &EntryReview, length: Length) -> bool {
    let calm = entry.flags.is_empty() && entry.raised.is_empty();
    length == Length::Short && entry.state == PinState::New && calm && description(entry).is_some()
}

/// What a new definition says of itself. Its lines are the whole of it.
fn description(entry: &EntryReview) -> Option<String> {
    #[derive(Deserialize)]
    struct About {
        description: String,
    }
    let text: Vec<String> =
        entry.lines.iter().map(|line| line.words.iter().map(|word| word.text.as_str()).collect()).collect();
    serde_json::from_str::<About>(&text.join("\n")).ok().map(|about| about.description)
}

fn entry(server: &str, entry: &EntryReview, length: Length, screen: &Screen, out: &mut String) {
    let ink = match entry.state {
        _ if !entry.flags.is_empty() => Ink::Bad,
        PinState::Blocked => Ink::Bad,
        PinState::New | PinState::Changed => Ink::Warm,
        PinState::Approved => Ink::Faint,
    };
    let flagged = if entry.flags.is_empty() { "" } else { "FLAGGED " };
    let name = match entry.kind {
        EntryKind::Launch | EntryKind::Instructions => String::new(),
        _ => format!(" {}", screen.paint(Ink::Bold, &escape(&entry.name))),
    };
    let state = screen.paint(ink, &format!("{flagged}{}", entry.state.as_str()));
    out.push_str(&format!("\n  {}{name}  {state}", entry.kind.as_str()));
    if let Some(effect) = entry.effect {
        let before =
            entry.effect_before.filter(|before| *before != effect).map(|before| format!(" (was {})", before.as_str()));
        out.push_str(&format!(
            "  {}{}",
            screen.paint(super::tools::ink(effect), effect.as_str()),
            before.unwrap_or_default()
        ));
    }
    if let Some(tier) = entry.tier {
        out.push_str(&format!("  {}", screen.paint(Ink::Faint, super::approvals::tier(tier))));
    }
    out.push('\n');
    let mut fields = Fields { screen, out };
    for flag in &entry.flags {
        fields.prose("! flagged", flag);
    }
    for raise in &entry.raised {
        fields.prose("! riskier", raise);
    }
    match description(entry) {
        Some(about) if in_short(entry, length) => {
            let width = screen.width.unwrap_or(usize::MAX).saturating_sub(4).max(20);
            for line in escape_lines(&about).lines().flat_map(|line| wrap(line, width)) {
                out.push_str(&format!("    {line}\n"));
            }
        }
        _ => lines(&entry.lines, screen, out),
    }
    let target = entry.exposed.as_deref().filter(|_| matches!(entry.kind, EntryKind::Tool | EntryKind::Prompt));
    if let Some(target) = target.filter(|target| *target != server) {
        let command = format!("callgate catalog approve {} --hash {}", escape(target), escape(&entry.hash));
        out.push_str(&format!("    {}\n", screen.paint(Ink::Faint, &command)));
    }
}

fn lines(lines: &[DiffLine], screen: &Screen, out: &mut String) {
    let mut place: Option<&str> = None;
    for line in lines {
        if place != Some(&line.place) {
            place = Some(&line.place);
            let shown = if line.place.is_empty() { "/".into() } else { escape(&line.place) };
            out.push_str(&format!("    {}\n", screen.paint(Ink::Faint, &shown)));
        }
        let (sign, ink) = match line.side {
            DiffSide::Both => (' ', Ink::Faint),
            DiffSide::Approved => ('-', Ink::Bad),
            DiffSide::Now => ('+', Ink::Good),
        };
        let alone = line.words.iter().all(|word| word.changed);
        let text: String = line.words.iter().map(|word| self::word(word, line.side, alone, screen)).collect();
        if screen.colour == Colour::Ansi {
            out.push_str(&format!("      {} {text}\n", screen.paint(ink, &sign.to_string())));
            continue;
        }
        let width = screen.width.unwrap_or(usize::MAX).saturating_sub(8).max(20);
        for (at, part) in wrap(&text, width).iter().enumerate() {
            out.push_str(&format!("      {} {part}\n", if at == 0 { sign } else { ' ' }));
        }
    }
}

/// Changed words are red or green on a terminal, and in brackets elsewhere unless the whole line is changed.
fn word(word: &DiffWord, side: DiffSide, alone: bool, screen: &Screen) -> String {
    let text = escape(&word.text);
    match (side, screen.colour) {
        (DiffSide::Both, _) => screen.paint(Ink::Faint, &text),
        _ if !word.changed => text.into_owned(),
        (DiffSide::Approved, Colour::Ansi) => screen.paint(Ink::Bad, &text),
        (DiffSide::Now, Colour::Ansi) => screen.paint(Ink::Good, &text),
        _ if alone => text.into_owned(),
        (DiffSide::Approved, Colour::Never) => format!("[-{text}-]"),
        (DiffSide::Now, Colour::Never) => format!("{{+{text}+}}"),
    }
}

/// What is approved now.
pub fn approved(approved: &CatalogApproved, screen: &Screen) -> String {
    let server = screen.paint(Ink::Bold, &escape(&approved.server));
    let left = match approved.left {
        0 => "Nothing of it waits any more.".into(),
        left => format!("Left to review: {} of it.", many(left as usize, "definition")),
    };
    format!("Approved {} of {server}. {left}\n", many(approved.entries.len(), "definition"))
}
