//! Servers for people.

use super::screen::{Ink, Screen, columns, wrap};
use super::table::{Cell, Column, Table};
use super::when;
use operator::visible::{escape, escape_lines};
use operator::words::{ConfigChange, Server, ServerDetail, ServerState, Transport};

/// Symbol and ink of a state.
pub fn state(state: ServerState) -> (Ink, String) {
    let (ink, symbol) = match state {
        ServerState::Ready => (Ink::Good, "●"),
        ServerState::Starting => (Ink::Warm, "◐"),
        ServerState::Installing => (Ink::Warm, "↓"),
        ServerState::Failing => (Ink::Bad, "✗"),
        ServerState::Stopped => (Ink::Faint, "○"),
        ServerState::Disabled => (Ink::Faint, "–"),
    };
    (ink, format!("{symbol} {}", state.as_str()))
}

/// The list, or what to do about an empty one.
pub fn list(servers: &[Server], screen: &Screen) -> String {
    if servers.is_empty() {
        return "No servers yet. Add one:  callgate server add NAME -- COMMAND ARGS…\n".into();
    }
    table(servers, screen.now_ms).draw(screen, 0)
}

/// The list as a table.
pub fn table(servers: &[Server], now_ms: u64) -> Table {
    let mut table = Table::new(&[
        Column::text("NAME"),
        Column::word("STATE"),
        Column::number("TOOLS"),
        Column::number("RESOURCES").or_not(),
        Column::number("PROMPTS").or_not(),
        Column::number("RESTARTS").or_not(),
        Column::word("OVER").or_not(),
        Column::text("NOTE"),
    ]);
    for server in servers {
        let (ink, word) = state(server.state);
        table.row([
            Cell::new(Ink::Bold, &server.name),
            Cell::new(ink, &word),
            count(server.tools),
            count(server.resources),
            count(server.prompts),
            count(server.restarts),
            Cell::new(Ink::Faint, server.transport.as_str()),
            Cell::new(Ink::Faint, &note(server, now_ms)),
        ]);
    }
    table
}

/// Why it is as it is, and before that when it will be tried again: a list may have no room for more.
fn note(server: &Server, now_ms: u64) -> String {
    let reason = server.reason.as_deref().unwrap_or_default();
    if server.launch_waits {
        let waits = "another launch waits; callgate catalog diff";
        return if reason.is_empty() { waits.to_owned() } else { format!("{waits}: {reason}") };
    }
    match server.next_try_ms.and_then(|_| next_try(server, now_ms)) {
        Some(next) if reason.is_empty() => next,
        Some(next) => format!("{next}: {reason}"),
        None => reason.to_owned(),
    }
}

/// When a failing server is tried again.
fn next_try(server: &Server, now_ms: u64) -> Option<String> {
    match (server.state, server.next_try_ms) {
        (ServerState::Failing, Some(at)) => Some(format!("next try {}", when::ahead(at, now_ms))),
        (ServerState::Failing, None) => Some("next try with the next call".into()),
        _ => None,
    }
}

fn count(number: u32) -> Cell {
    match number {
        0 => "".into(),
        number => number.to_string().into(),
    }
}

/// What an action has made of a server, in one line.
pub fn acted(server: &Server, screen: &Screen) -> String {
    let (ink, word) = state(server.state);
    let mut line = format!("{} {}", screen.paint(Ink::Bold, &escape(&server.name)), screen.paint(ink, &word));
    if server.state == ServerState::Ready {
        line.push_str(&format!("  {}", screen.paint(Ink::Faint, &catalog(server))));
    }
    let note = note(server, screen.now_ms);
    if !note.is_empty() {
        line.push_str(&format!("  {}", screen.paint(Ink::Faint, &escape(&note))));
    }
    line + "\n"
}

fn catalog(server: &Server) -> String {
    let part = |number: u32, word: &str| format!("{number} {word}{}", if number == 1 { "" } else { "s" });
    [part(server.tools, "tool"), part(server.resources, "resource"), part(server.prompts, "prompt")].join(", ")
}

/// Everything about one server.
pub fn detail(detail: &ServerDetail, screen: &Screen) -> String {
    let server = &detail.server;
    let (ink, word) = state(server.state);
    let mut out = format!("{}  {}", screen.paint(Ink::Bold, &escape(&server.name)), screen.paint(ink, &word));
    // One that was never run has no beginning, and one that fails has a new one with every try.
    let since = (server.since_ms > 0).then(|| format!("for {}", when::lasting(server.since_ms, screen.now_ms)));
    if let Some(since) = next_try(server, screen.now_ms).or(since) {
        out.push_str(&format!("  {}", screen.paint(Ink::Faint, &since)));
    }
    out.push('\n');
    let mut fields = Fields { screen, out: &mut out };
    if let Some(reason) = &server.reason {
        fields.prose("reason", reason);
    }
    if server.launch_waits {
        let text = "another launch of it, which the config wants; it goes on as it was approved until a person has \
                    approved that (callgate catalog diff)";
        fields.prose("waits", text);
    }
    fields.put("launch", &detail.launch.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
    fields.some("program", detail.program.as_deref());
    let over = [
        Some(server.transport.as_str().to_owned()),
        server.version.clone(),
        server.pid.map(|pid| format!("pid {pid}")),
    ];
    fields.put("over", &over.into_iter().flatten().collect::<Vec<_>>().join(" · "));
    fields.put("catalog", &catalog(server));
    fields.put("calls", &format!("{} running, {} waiting", detail.running, detail.queued));
    for rest in &detail.resting {
        fields.prose("refused", &super::approvals::rest(rest, screen));
    }
    if server.restarts > 0 {
        fields.put("restarts", &server.restarts.to_string());
    }
    if !detail.env_names.is_empty() {
        fields.put("variables", &detail.env_names.join(" "));
    }
    let noise = match server.transport {
        Transport::Stdio => "lines of noise on stdout",
        Transport::Http | Transport::HttpChild => "messages that were none",
    };
    let odd = [(detail.noise_lines, noise), (detail.stray_answers, "answers nobody asked for")];
    let odd: Vec<String> = odd.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if !odd.is_empty() {
        fields.put("oddities", &odd.join(", "));
    }
    fields.some("log", detail.log_file.as_deref());
    prose(&mut out, screen, "Findings", &detail.findings);
    let last = match server.transport {
        Transport::Stdio | Transport::HttpChild => "Last words on stderr",
        Transport::Http => "Last words",
    };
    section(&mut out, screen, last, &detail.stderr_tail);
    out
}

/// Sentences under a title, each whole.
fn prose(out: &mut String, screen: &Screen, title: &str, sentences: &[String]) {
    let width = screen.width.unwrap_or(usize::MAX).saturating_sub(4);
    let lines = sentences.iter().flat_map(|text| {
        let mut lines = wrap(&escape(text), width);
        lines.iter_mut().skip(1).for_each(|line| line.insert_str(0, "  "));
        lines
    });
    let lines: Vec<String> = lines.collect();
    if !lines.is_empty() {
        out.push_str(&format!("\n{}\n", screen.paint(Ink::Bold, title)));
    }
    for line in lines {
        out.push_str(&format!("  {line}\n"));
    }
}

/// A word of a command line as one would type it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn section(out: &mut String, screen: &Screen, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", screen.paint(Ink::Bold, title)));
    for line in lines {
        out.push_str(&format!("  {}\n", screen.line(2, line)));
    }
}

/// Columns of a label and the space after it.
const LABEL: usize = 12;

/// Labelled lines, one under the other.
pub struct Fields<'a> {
    /// The surface.
    pub screen: &'a Screen,
    /// Where they are written.
    pub out: &'a mut String,
}

impl Fields<'_> {
    /// One field; further lines of a long text stand under the first.
    pub fn put(&mut self, label: &str, text: &str) {
        let text = escape_lines(text).trim_end().to_owned();
        self.lines(label, &text);
    }
    /// One field with sentences, broken between words where the screen ends.
    pub fn prose(&mut self, label: &str, text: &str) {
        let width = self.screen.width.unwrap_or(usize::MAX).saturating_sub(2 + LABEL);
        let text = escape_lines(text);
        let lines: Vec<String> = text.trim_end().lines().flat_map(|line| wrap(line, width.max(20))).collect();
        self.lines(label, &lines.join("\n"));
    }
    fn lines(&mut self, label: &str, visible: &str) {
        let label = escape(label);
        // A long word such as a hash has a line of its own rather than being broken.
        let room = self.screen.width.unwrap_or(usize::MAX).saturating_sub(2 + LABEL);
        if !visible.contains([' ', '\n']) && columns(visible) > room {
            let label = self.screen.paint(Ink::Faint, &label);
            self.out.push_str(&format!("  {label}\n    {visible}\n"));
            return;
        }
        let space = " ".repeat(LABEL.saturating_sub(columns(&label)).max(2));
        let label = self.screen.paint(Ink::Faint, &label);
        let under = format!("\n  {}", " ".repeat(LABEL));
        self.out.push_str(&format!("  {label}{space}{}\n", visible.replace('\n', &under)));
    }
    /// One field, where there is something.
    pub fn some(&mut self, label: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.put(label, text);
        }
    }
}

/// What a change of the config did.
pub fn change(change: &ConfigChange, screen: &Screen) -> String {
    let rows = [
        ("added", Ink::Good, &change.added),
        ("removed", Ink::Warm, &change.removed),
        ("changed", Ink::Warm, &change.changed),
    ];
    let mut out = String::new();
    for (word, ink, names) in rows {
        for name in names {
            out.push_str(&format!("{} {}\n", screen.paint(ink, word), screen.paint(Ink::Bold, &escape(name))));
        }
    }
    for warning in &change.warnings {
        out.push_str(&format!("{} {}\n", screen.paint(Ink::Warm, "warning"), escape(warning)));
    }
    if !change.problems.is_empty() {
        out.push_str(&format!("{}\n", screen.paint(Ink::Bad, "Written, but the config as a whole is not applied:")));
        for problem in &change.problems {
            out.push_str(&format!("  {}\n", escape(problem)));
        }
    }
    for sentence in &change.next {
        let width = screen.width.unwrap_or(usize::MAX).saturating_sub(2).max(20);
        for line in wrap(&escape(sentence), width) {
            out.push_str(&format!("  {line}\n"));
        }
    }
    if out.is_empty() { "Nothing changed.\n".into() } else { out }
}
