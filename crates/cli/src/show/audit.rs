//! Rows of the log for people and for spreadsheets, and what a check of it has found.

use super::screen::{Ink, Screen};
use super::servers::Fields;
use super::table::{Cell, Column, Table};
use super::trail::looked;
use super::when;
use operator::visible::escape;
use operator::words::{AuditPage, AuditReport, AuditRow};

/// Ink of an outcome, or of a row that has none.
pub fn ink(row: &AuditRow) -> Ink {
    match row.outcome.as_str() {
        "ok" => Ink::Good,
        "" => Ink::Faint,
        "denied" | "approval_expired" | "quarantined" | "definition_changed" | "cancelled" | "not_sent" => Ink::Warm,
        _ => Ink::Bad,
    }
}

/// What the row is about: a tool of a server, or whatever it names.
fn subject(row: &AuditRow) -> String {
    // A name of the aggregate begins with its server.
    let named = row.tool.split_once("__").is_some_and(|(server, _)| server == row.server);
    match (row.server.is_empty() || named, row.tool.is_empty()) {
        (false, false) => format!("{} {}", row.server, row.tool),
        (false, true) => row.server.clone(),
        (true, _) => row.tool.clone(),
    }
}

/// Time from the request to the answer, without the person's.
fn took(row: &AuditRow) -> u64 {
    row.checked_us + row.queued_us + row.ran_us + row.answered_us
}

/// What else there is to know: who decided, which rule, why, what was found in the result.
fn note(row: &AuditRow) -> String {
    let by = row.by.as_ref().map(|by| format!("by {by}"));
    let why = row.reason.clone().or_else(|| row.why.clone());
    let said = |rule: &str| why.as_ref().is_some_and(|why| why.contains(&format!("`{rule}`")));
    let rule = row.rule.as_ref().filter(|rule| !said(rule)).map(|rule| format!("rule {rule}"));
    let decided = [by, rule, why].into_iter().flatten().collect::<Vec<_>>().join(": ");
    let result = looked(&row.detail).into_iter().map(|note| format!("result {note}"));
    [decided].into_iter().filter(|decided| !decided.is_empty()).chain(result).collect::<Vec<_>>().join("; ")
}

/// A page, the latest first.
pub fn list(page: &AuditPage, screen: &Screen) -> String {
    let mut out = String::new();
    if page.rows.is_empty() {
        out.push_str("No rows under this filter.\n");
    } else {
        let mut table = Table::new(&[
            Column::word("TIME"),
            Column::word("KIND"),
            Column::word("CALL"),
            Column::text("CLIENT"),
            Column::text("WHAT"),
            Column::word("OUTCOME"),
            Column::number("HELD").or_not(),
            Column::number("TOOK").or_not(),
            Column::text("NOTE").or_not(),
        ]);
        for row in &page.rows {
            table.row(cells(row, screen));
        }
        out.push_str(&table.draw(screen, 0));
    }
    for blind in &page.blind {
        out.push_str(&format!("{}: {}\n", screen.paint(Ink::Warm, "not shown"), escape(blind)));
    }
    if let Some(before) = page.before {
        let more = format!("more:  callgate audit list --before {before}");
        out.push_str(&format!("\n{}\n", screen.paint(Ink::Faint, &more)));
    }
    out
}

fn cells(row: &AuditRow, screen: &Screen) -> [Cell; 9] {
    let held = if row.held_us > 0 { when::took(row.held_us) } else { String::new() };
    let took = if took(row) > 0 { when::took(took(row)) } else { String::new() };
    [
        Cell::new(Ink::Faint, &when::clock(row.at_ms, screen)),
        row.kind.as_str().into(),
        row.call.as_str().into(),
        row.client.as_str().into(),
        Cell::new(Ink::Bold, &subject(row)),
        Cell::new(ink(row), &row.outcome),
        held.into(),
        took.into(),
        Cell::new(Ink::Faint, &note(row)),
    ]
}

/// One row as it comes, in one line.
pub fn line(row: &AuditRow, screen: &Screen) -> String {
    let mut words = vec![
        screen.paint(Ink::Faint, &when::clock(row.at_ms, screen)),
        format!("{:<9}", escape(&row.kind)),
        escape(&row.call).into_owned(),
        escape(&row.client).into_owned(),
        screen.paint(Ink::Bold, &escape(&subject(row))),
        screen.paint(ink(row), &escape(&row.outcome)),
    ];
    if row.held_us > 0 {
        words.push(format!("held {}", when::took(row.held_us)));
    }
    if took(row) > 0 {
        words.push(when::took(took(row)));
    }
    words.push(screen.paint(Ink::Faint, &escape(&note(row))));
    words.retain(|word| !word.is_empty());
    words.join("  ").trim_end().to_owned() + "\n"
}

/// Whether the log is whole, and how far that can be said.
pub fn report(report: &AuditReport, screen: &Screen) -> String {
    let mut out = match (&report.broken, report.whole) {
        (None, true) => format!("{}\n", screen.paint(Ink::Good, "● The log is whole.")),
        (broken, _) => {
            let what = broken.as_deref().unwrap_or("It could not be checked to the end");
            format!("{} {}\n", screen.paint(Ink::Bad, "✗ The log is broken:"), escape(what))
        }
    };
    let mut fields = Fields { screen, out: &mut out };
    fields.put("rows", &format!("{} ({} to {})", report.rows, report.first, report.last));
    if let Some(row) = report.broken_row {
        fields.put("broken at", &format!("row {row}"));
    }
    fields.put("anchor", &report.anchored.map_or_else(|| "none".into(), |row| format!("row {row}")));
    let rows = |rows: &[u64]| rows.iter().map(|row| format!("row {row}")).collect::<Vec<_>>().join(", ");
    if !report.gaps.is_empty() {
        fields.prose("gaps", &format!("rows may be missing before {}", rows(&report.gaps)));
    }
    if !report.epochs.is_empty() {
        fields.prose("accepted", &format!("a lost anchor was accepted in {}", rows(&report.epochs)));
    }
    for blind in &report.blind {
        fields.prose("not seen", blind);
    }
    if let Some(accept) = &report.accept {
        out.push_str(&format!(
            "\nTo go on from the log as it is, with a row that says so:  callgate audit verify --accept {}\n",
            escape(accept)
        ));
    }
    out
}

/// Names of the columns of an export.
pub const CSV_HEAD: &str = "seq,time,kind,call,client,server,tool,method,effect,outcome,rule,why,by,reason,\
    arguments_bytes,result_bytes,checked_us,held_us,queued_us,ran_us,answered_us,definition,arguments,detail\r\n";

/// One row of an export (RFC 4180).
pub fn csv(row: &AuditRow) -> String {
    let option = |text: &Option<String>| text.clone().unwrap_or_default();
    let number = |number: u64| number.to_string();
    let cells = [
        number(row.seq),
        when::stamp(row.at_ms),
        cell(&row.kind),
        cell(&row.call),
        cell(&row.client),
        cell(&row.server),
        cell(&row.tool),
        cell(&row.method),
        cell(&row.effect),
        cell(&row.outcome),
        cell(&option(&row.rule)),
        cell(&option(&row.why)),
        cell(&option(&row.by)),
        cell(&option(&row.reason)),
        number(row.arguments_bytes),
        number(row.result_bytes),
        number(row.checked_us),
        number(row.held_us),
        number(row.queued_us),
        number(row.ran_us),
        number(row.answered_us),
        cell(&row.definition),
        cell(&row.arguments.join("; ")),
        cell(&row.detail),
    ];
    cells.join(",") + "\r\n"
}

/// Visible, and never a formula: spreadsheets run what begins like one.
fn cell(text: &str) -> String {
    let text = escape(text);
    let guarded = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text.into_owned() };
    if guarded.contains([',', '"', ' ', '\'']) { format!("\"{}\"", guarded.replace('"', "\"\"")) } else { guarded }
}
