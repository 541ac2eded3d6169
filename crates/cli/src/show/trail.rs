//! One call as a line in time: received, checked, waited, sent, finished, with the three clocks apart: the person's,
//! the queue's, the tool's.

use super::approvals::{inner, listed};
use super::arguments::many;
use super::audit::ink;
use super::screen::{Ink, Screen};
use super::servers::Fields;
use super::when;
use operator::visible::escape;
use operator::words::{AuditRow, AuditTrail, AuditValues};
use std::collections::BTreeMap;

/// The whole story of one call.
pub fn trail(trail: &AuditTrail, screen: &Screen) -> String {
    let Some(first) = trail.rows.first() else {
        return format!("The log has nothing of {}.\n", escape(&trail.call));
    };
    let last = trail.rows.iter().rev().find(|row| !row.outcome.is_empty());
    let mut out = format!("{}  {}", escape(&trail.call), screen.paint(Ink::Bold, &escape(&first.tool)));
    match last {
        Some(row) => out.push_str(&format!("  {}\n", screen.paint(ink(row), &escape(&row.outcome)))),
        None => out.push_str(&format!("  {}\n", screen.paint(Ink::Warm, "not ended"))),
    }
    // Of an approval that was taken back later the story tells.
    let of_call = trail.rows.iter().filter(|row| row.kind != "grant");
    let some = |of: fn(&AuditRow) -> Option<&str>| of_call.clone().rev().find_map(of);
    let mut fields = Fields { screen, out: &mut out };
    fields.put("client", &first.client);
    fields.put("server", &first.server);
    let effect =
        if first.effect.is_empty() { first.method.clone() } else { format!("{} · {}", first.method, first.effect) };
    fields.put("asked as", &effect);
    fields.some("rule", some(|row| row.rule.as_deref()));
    if let Some(why) = some(|row| row.why.as_deref()) {
        fields.prose("why", why);
    }
    // Where it was asked about itself, the story below tells who.
    let runs = |row: &AuditRow| matches!(row.kind.as_str(), "read" | "intent" | "end");
    fields.some("approved by", trail.rows.iter().find(|row| runs(row)).and_then(|row| row.by.as_deref()));
    if let Some(definition) = some(|row| Some(row.definition.as_str()).filter(|hash| !hash.is_empty())) {
        fields.put("definition", definition);
    }
    out.push('\n');
    for step in steps(&trail.rows) {
        step.draw(screen, &mut out);
    }
    if let Some(row) = last.or(trail.rows.last()) {
        let held = trail.rows.iter().map(|row| row.held_us).max().unwrap_or(0);
        let clocks = format!(
            "person {} · queue {} · tool {}",
            when::took(held),
            when::took(row.queued_us),
            when::took(row.ran_us)
        );
        out.push_str(&format!("\n  {}\n", screen.paint(Ink::Faint, &clocks)));
    }
    let shape = |row: &AuditRow, title: &str| {
        let lines = row.arguments.iter().map(|argument| format!("  {}\n", screen.line(2, argument)));
        format!("\n{}\n{}", screen.paint(Ink::Bold, title), lines.collect::<String>())
    };
    let asked = trail.rows.iter().find(|row| row.kind == "asked" && !row.arguments.is_empty());
    let ran = trail.rows.iter().rev().find(|row| !row.arguments.is_empty());
    match (asked, ran) {
        (Some(asked), Some(ran)) if asked.arguments != ran.arguments => {
            out.push_str(&shape(ran, "Arguments as a person changed them (names, types, sizes, keyed hashes)"));
            out.push_str(&shape(asked, "Arguments that the client asked for"));
        }
        (_, Some(row)) => out.push_str(&shape(row, "Arguments (names, types, sizes, keyed hashes)")),
        (_, None) => {}
    }
    out
}

/// What was kept of a call, opened. JSON that stands in a text is shown apart from what is around it.
pub fn values(values: &AuditValues, screen: &Screen) -> String {
    if values.values.is_empty() {
        return format!("No values are kept of {}.\n", escape(&values.call));
    }
    let mut out = format!("{}\n", escape(&values.call));
    for value in &values.values {
        for (title, json) in [("Arguments", &value.arguments), ("Result", &value.result)] {
            let Some(json) = json else { continue };
            let title = format!("{title} ({})", many(json.len(), "byte"));
            out.push_str(&format!("\n{}\n{}", screen.paint(Ink::Bold, &title), listed(json, screen)));
            out.push_str(&inner(json, screen));
        }
    }
    out
}

/// A moment of a call.
struct Step {
    at_ms: Option<u64>,
    took_us: Option<u64>,
    word: &'static str,
    ink: Ink,
    note: String,
}

impl Step {
    fn draw(&self, screen: &Screen, out: &mut String) {
        let time = match (self.at_ms, self.took_us) {
            (Some(at), _) => when::clock(at, screen),
            (None, Some(us)) => format!("+{}", when::took(us)),
            (None, None) => String::new(),
        };
        let time = screen.paint(Ink::Faint, &format!("{time:>19}"));
        let word = screen.paint(self.ink, self.word);
        let space = " ".repeat(10usize.saturating_sub(self.word.len()));
        let line = format!("  {time}  {word}{space}{}", escape(&self.note));
        out.push_str(&(line.trim_end().to_owned() + "\n"));
    }
}

/// What was done to a result, as its row says it.
pub(super) fn looked(detail: &str) -> Vec<String> {
    #[derive(serde::Deserialize, Default)]
    #[serde(default)]
    struct Looked {
        changed: BTreeMap<String, u32>,
        output_problems: usize,
    }
    let Looked { changed, output_problems } = serde_json::from_str(detail).unwrap_or_default();
    let mut notes = Vec::new();
    if !changed.is_empty() {
        let counts: Vec<String> = changed.iter().map(|(what, count)| format!("{count} × {what}")).collect();
        notes.push(format!("cleaned of {}", counts.join(", ")));
    }
    if output_problems > 0 {
        notes.push(format!("breaks the tool's output schema in {}", many(output_problems, "place")));
    }
    notes
}

/// Whether a person changed the arguments with this decision.
fn is_edited(row: &AuditRow) -> bool {
    serde_json::from_str::<serde_json::Value>(&row.detail).is_ok_and(|detail| detail.get("edited").is_some())
}

/// The rows of a call say what happened when; the stages of the last one say how long each part took.
fn steps(rows: &[AuditRow]) -> Vec<Step> {
    let Some(first) = rows.first() else { return vec![] };
    let plain = |word, note: String| Step { at_ms: None, took_us: None, word, ink: Ink::Plain, note };
    // As they came: a person may have changed them later.
    let bytes = rows.iter().map(|row| row.arguments_bytes).find(|&bytes| bytes > 0).unwrap_or(0);
    let sizes = many(usize::try_from(bytes).unwrap_or(0), "byte");
    let mut steps = vec![Step { at_ms: Some(first.at_ms), ..plain("received", format!("{sizes} of arguments")) }];
    let timed = rows.iter().rev().find(|row| row.checked_us + row.queued_us + row.ran_us > 0);
    if let Some(row) = timed {
        steps.push(Step { took_us: Some(row.checked_us), ..plain("checked", String::new()) });
    }
    for row in rows {
        let by = row.by.as_ref().map(|by| format!("by {by}")).unwrap_or_default();
        let reason = row.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let at = Some(row.at_ms);
        match row.kind.as_str() {
            "asked" => steps.push(Step { at_ms: at, ink: Ink::Warm, ..plain("waits", "for a person".into()) }),
            "decision" => {
                let held = if row.held_us > 0 { format!(" after {}", when::took(row.held_us)) } else { String::new() };
                let what = if matches!(row.outcome.as_str(), "" | "ok") { "approved" } else { &row.outcome };
                let edited = if is_edited(row) { ", with changed arguments" } else { "" };
                let note = format!("{what}{held} {by}{edited}{reason}");
                steps.push(Step { at_ms: at, ink: ink(row), ..plain("decided", note.trim().to_owned()) });
            }
            "grant" => {
                let word = if row.outcome == "pending" { "reopened" } else { "forgotten" };
                let why = row.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                steps.push(Step { at_ms: at, ink: Ink::Warm, ..plain(word, format!("{by}{why}")) });
            }
            "expired" => {
                steps.push(Step { at_ms: at, ink: Ink::Warm, ..plain("expired", "nobody decided in time".into()) })
            }
            "intent" => steps.push(Step { at_ms: at, ..plain("declared", "on the disk before it was sent".into()) }),
            "finding" => {
                steps.push(Step { at_ms: at, ink: Ink::Warm, ..plain("found", format!("in its result{reason}")) });
            }
            "settled" => steps.push(Step { at_ms: at, ..plain("settled", format!("{} {by}{reason}", row.outcome)) }),
            "replayed" => {
                steps.push(Step { at_ms: at, ..plain("replayed", "answered from the journal, not run again".into()) })
            }
            "refused" => {
                let why = row.reason.clone().or_else(|| row.why.clone()).unwrap_or_default();
                steps.push(Step { ink: Ink::Warm, ..plain("refused", format!("{}  {why}", row.outcome)) });
            }
            _ => {}
        }
    }
    let ended = rows.iter().rev().find(|row| matches!(row.kind.as_str(), "read" | "end"));
    if let Some(row) = ended {
        steps.push(Step { took_us: Some(row.queued_us), ..plain("sent", "after its turn in the queue".into()) });
        let size = many(usize::try_from(row.result_bytes).unwrap_or(0), "byte");
        let note = format!("{}, {size}", row.outcome);
        steps.push(Step { took_us: Some(row.ran_us), ink: ink(row), ..plain("finished", note) });
        for note in looked(&row.detail) {
            steps.push(Step { ink: Ink::Warm, ..plain("result", note) });
        }
        if row.answered_us > 0 {
            steps.push(Step { took_us: Some(row.answered_us), ..plain("answered", "its client has it".into()) });
        }
    }
    steps
}
