//! Calls of which a record is kept, for people.

use super::screen::{Ink, Screen};
use super::table::{Cell, Column, Table};
use super::when;
use operator::visible::escape;
use operator::words::{Call, CallList, CallSettled, CallStanding, Finding};

fn ink(standing: CallStanding) -> Ink {
    match standing {
        CallStanding::Unknown => Ink::Bad,
        CallStanding::Waiting | CallStanding::Approved | CallStanding::Running => Ink::Warm,
        CallStanding::Settled => Ink::Good,
        CallStanding::Reserved | CallStanding::Denied | CallStanding::Expired | CallStanding::Freed => Ink::Faint,
    }
}

/// The calls, and what to do about unknown ones.
pub fn list(list: &CallList, screen: &Screen) -> String {
    if list.calls.is_empty() {
        return "No calls are on record. Records are kept of calls that wait, that have a key, or that nobody knows the \
                end of.\n"
            .into();
    }
    let mut table = Table::new(&[
        Column::word("CALL"),
        Column::word("STATE"),
        Column::word("ASKED"),
        Column::text("CLIENT"),
        Column::text("TOOL"),
        Column::word("EFFECT").or_not(),
        Column::word("OUTCOME").or_not(),
        Column::word("KEY").or_not(),
        Column::text("NOTE"),
    ]);
    for call in &list.calls {
        table.row([
            call.call.as_str().into(),
            Cell::new(ink(call.standing), call.standing.as_str()),
            Cell::new(Ink::Faint, &when::ago(call.asked_ms, screen.now_ms)),
            call.client.as_str().into(),
            Cell::new(Ink::Bold, &call.name),
            Cell::new(super::tools::ink(call.effect), call.effect.as_str()),
            Cell::new(Ink::Faint, &call.outcome),
            Cell::new(Ink::Faint, if call.keyed { "yes" } else { "" }),
            Cell::new(Ink::Faint, call.note.as_deref().unwrap_or_default()),
        ]);
    }
    let mut out = table.draw(screen, 0);
    let shown = list.calls.len() as u64;
    let total = if list.total > shown { format!("{shown} of {} calls", list.total) } else { calls(shown) };
    out.push_str(&format!("\n{}\n", screen.paint(Ink::Faint, &total)));
    if list.unknown > 0 {
        let text = format!("{} may have run or not.", calls(list.unknown));
        let next = "Find out at the server, then:  callgate call settle CALL --ran | --not-ran";
        out.push_str(&format!("{} {next}\n", screen.paint(Ink::Bad, &text)));
    }
    out
}

fn calls(number: u64) -> String {
    if number == 1 { "1 call".into() } else { format!("{number} calls") }
}

/// What a settled call means from now on.
pub fn settled(settled: &CallSettled, screen: &Screen) -> String {
    let Call { call, name, keyed, .. } = &settled.call;
    let what = match (settled.finding, keyed) {
        (Finding::Ran, true) => "settled as run: its key answers that it already ran, it will not run again",
        (Finding::Ran, false) => "settled as run",
        (Finding::NotRan, true) => "settled as not run: its key is free, the next call with it runs",
        (Finding::NotRan, false) => "settled as not run",
    };
    format!("{} {}  {what}.\n", escape(call), screen.paint(Ink::Bold, &escape(name)))
}
