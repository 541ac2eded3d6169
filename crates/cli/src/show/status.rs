//! The hub at a glance.

use super::arguments::many;
use super::screen::{Ink, Screen};
use super::servers::{self, Fields};
use super::table::{Cell, Column, Table};
use super::when;
use operator::visible::escape;
use operator::words::{Attached, Relay, Status, Waiting};

/// The hub, its servers and the attached hosts.
pub fn status(status: &Status, screen: &Screen) -> String {
    let up = when::lasting(status.started_ms, screen.now_ms);
    let mut out = format!(
        "{} {} {}\n",
        screen.paint(Ink::Good, "●"),
        screen.paint(Ink::Bold, &format!("callgate {}", escape(&status.version))),
        screen.paint(Ink::Faint, &format!("up {up} · pid {}", status.pid))
    );
    let mut fields = Fields { screen, out: &mut out };
    match (&status.mcp_url, &status.http_problem) {
        (Some(url), _) => fields.put("http", url),
        (None, Some(problem)) => fields.put("http", &format!("refused: {problem}")),
        (None, None) => fields.put("http", "off"),
    }
    fields.put("audit", &status.audit);
    if status.relay.slow > 0 {
        fields.put("relay", &slow(&status.relay));
    }
    if status.unlooked > 0 {
        let text = format!(
            "{} not looked at for orders to the model: too long, or too many at once; callgate audit list --kind finding",
            many(usize::try_from(status.unlooked).unwrap_or(usize::MAX), "result")
        );
        fields.prose("unread", &text);
    }
    waiting(&status.waiting, &mut fields);
    if let Some(hash) = &status.held.hash {
        let text = format!(
            "the config would let more run without a person ({}); callgate catalog diff, then callgate catalog \
             approve @policy --hash {hash}",
            many(status.held.changes.len(), "change")
        );
        fields.prose("held", &text);
    }
    if let Some(minutes) = status.pin_locked_minutes {
        let minutes = many(usize::try_from(minutes).unwrap_or(usize::MAX), "more minute");
        let text = format!("locked for {minutes} after too many wrong tries; callgate audit list --kind person");
        fields.prose("PIN", &text);
    }
    for rest in &status.resting {
        fields.prose("refused", &super::approvals::rest(rest, screen));
    }
    if !status.config_problems.is_empty() {
        let title = "The config on disk is not applied:";
        out.push_str(&format!("\n{}\n", screen.paint(Ink::Bad, title)));
        for problem in &status.config_problems {
            out.push_str(&format!("  {}\n", escape(problem)));
        }
    }
    out.push_str(&heading(screen, "Servers", status.servers.len()));
    match status.servers.len() {
        0 => out.push_str("  none yet; add one:  callgate server add NAME -- COMMAND ARGS…\n"),
        _ => out.push_str(&servers::table(&status.servers, screen.now_ms).draw(screen, 2)),
    }
    out.push_str(&heading(screen, "Hosts", status.hosts.len()));
    match status.hosts.len() {
        0 => out.push_str("  none attached; point one at:  callgate stdio\n"),
        _ => out.push_str(&hosts(&status.hosts, screen)),
    }
    out
}

/// What only a person can do now, each with its command.
fn waiting(waiting: &Waiting, fields: &mut Fields<'_>) {
    let many = |number: u32, word: &str| format!("{number} {word}{}", if number == 1 { "" } else { "s" });
    let Waiting { approvals, unknown, definitions, paused_since_ms } = *waiting;
    if let Some(since) = paused_since_ms {
        let since = when::clock(since, fields.screen);
        fields.put("paused", &format!("all risky calls are held since {since}; callgate resume"));
    }
    if approvals > 0 {
        fields.put("waiting", &format!("{} for a person; callgate approval watch", many(approvals, "call")));
    }
    if unknown > 0 {
        fields.put("unknown", &format!("{} may have run or not; callgate call list", many(unknown, "call")));
    }
    if definitions > 0 {
        fields.put("to review", &format!("{}; callgate catalog diff", many(definitions, "definition")));
    }
}

fn slow(relay: &Relay) -> String {
    let turns = if relay.slow == 1 { "turn" } else { "turns" };
    let longest = relay.longest_us as f64 / 1e3;
    let by = relay.longest.as_deref().unwrap_or_default();
    format!("{} slow {turns}, the longest {longest:.1} ms: {by}", relay.slow)
}

fn heading(screen: &Screen, title: &str, many: usize) -> String {
    let number = if many == 0 { String::new() } else { format!(" {many}") };
    format!("\n{}{}\n", screen.paint(Ink::Bold, title), screen.paint(Ink::Faint, &number))
}

fn hosts(hosts: &[Attached], screen: &Screen) -> String {
    let mut table = Table::new(&[
        Column::text("NAME"),
        Column::word("OVER"),
        Column::word("VERSION").or_not(),
        Column::number("CALLS"),
        Column::word("SINCE").or_not(),
    ]);
    for host in hosts {
        // The mark says that the name is only the host's own word.
        let name = if host.unverified { format!("{} (unverified)", host.name) } else { host.name.clone() };
        table.row([
            Cell::new(Ink::Bold, &name),
            Cell::new(Ink::Faint, &host.transport),
            Cell::new(Ink::Faint, host.version.as_deref().unwrap_or_default()),
            host.calls.to_string().into(),
            Cell::new(Ink::Faint, &when::ago(host.since_ms, screen.now_ms)),
        ]);
    }
    table.draw(screen, 2)
}
