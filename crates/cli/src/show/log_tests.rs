//! How logs look: that of the calls, its check, its export, and the hub's own.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::gate_tests::{PIPE, TERMINAL, check_width};
use super::samples::row;
use super::screen::{Colour, Screen};
use super::{audit, logs, trail};
use insta::assert_snapshot;
use operator::words::*;

fn story() -> AuditTrail {
    let asked = row(1, "asked", "");
    let decision =
        AuditRow { by: Some("the command line (pid 7)".into()), held_us: 12_300_000, ..row(12_301, "decision", "ok") };
    let intent = AuditRow { rule: None, why: Some("No rule names it.".into()), ..row(12_302, "intent", "") };
    let end = AuditRow {
        checked_us: 440,
        held_us: 12_300_000,
        queued_us: 2_100,
        ran_us: 180_000,
        answered_us: 200,
        result_bytes: 1204,
        arguments: vec!["item: string 11 #0a1b2c3d".into(), "count: number 1 #99887766".into()],
        ..row(12_490, "end", "ok")
    };
    AuditTrail { call: "c1-7".into(), rows: vec![asked, decision, intent, end] }
}

#[test]
fn the_log() {
    let page = AuditPage {
        rows: story().rows.into_iter().rev().collect(),
        before: Some(1),
        blind: vec!["rows before 2026-09 were cut".into()],
    };
    assert_snapshot!(audit::list(&page, &PIPE));
    assert_snapshot!(audit::list(&page, &TERMINAL));
    for width in 72..200 {
        let table = audit::list(&page, &Screen { width: Some(width), ..PIPE });
        check_width(&table[..table.find("not shown").unwrap()], width);
    }
    assert_eq!(audit::list(&AuditPage::default(), &PIPE), "No rows under this filter.\n");
    assert_snapshot!(trail::trail(&story(), &TERMINAL));
    let refused =
        AuditRow { why: Some("Not executed: `count` is missing.".into()), ..row(1, "refused", "invalid_arguments") };
    assert_snapshot!(trail::trail(&AuditTrail { call: "c1-8".into(), rows: vec![refused] }, &PIPE));
    assert_eq!(
        trail::trail(&AuditTrail { call: "c9-9".into(), rows: vec![] }, &PIPE),
        "The log has nothing of c9-9.\n"
    );
    let line = audit::line(&story().rows[3], &PIPE);
    assert_eq!(line, "11-30 09:59:12  end        c1-7  cursor  shop place_order  ok  held 12.3 s  183 ms\n");
}

#[test]
fn a_check_of_the_log_is_green_or_red() {
    let whole = AuditReport {
        whole: true,
        first: 1,
        last: 812,
        rows: 812,
        anchored: Some(800),
        blind: vec!["rows of less than 10 s after 812".into()],
        ..Default::default()
    };
    assert_snapshot!(audit::report(&whole, &PIPE));
    let broken = AuditReport {
        broken: Some("row 17 is not what was written".into()),
        broken_row: Some(17),
        gaps: vec![3, 9],
        accept: Some("e-12".into()),
        whole: false,
        ..whole
    };
    assert_snapshot!(audit::report(&broken, &PIPE));
    let red = audit::report(&broken, &Screen { colour: Colour::Ansi, ..PIPE });
    assert!(red.starts_with("\u{1b}[31m✗ The log is broken:\u{1b}[0m"), "{red}");
}

#[test]
fn an_export_is_a_table_and_never_a_formula() {
    let mut row = row(3, "end", "ok");
    row.client = "=HYPERLINK(\"http://evil\")".into();
    row.server = "a,b".into();
    row.tool = "line\nend \u{202e}".into();
    row.definition = String::new();
    let expect = "3,2026-11-30T09:59:00.003Z,end,c1-7,\"'=HYPERLINK(\"\"http://evil\"\")\",\"a,b\",\
        \"line\\nend \\u{202E}\",tools/call,write,ok,,,,,35,0,0,0,0,0,0,,,\r\n";
    assert_eq!(audit::csv(&row), expect);
    assert_eq!(audit::CSV_HEAD.matches(',').count(), 23);
}

#[test]
fn lines_of_the_hubs_log() {
    let check = |text: &str, expect: &str| assert_eq!(logs::hub(&LogLine { text: text.into() }, &PIPE), expect);
    check(
        r#"{"timestamp":"2026-11-30T09:37:57.976844Z","level":"WARN","fields":{"message":"not read","why":"late","n":3},"target":"x"}"#,
        "2026-11-30 09:37:57 WARN  not read  why=late  n=3\n",
    );
    check("no json\tat all", "no json\tat all\n");
    check("{\"a\":1}", "{\"a\":1}\n");
}
