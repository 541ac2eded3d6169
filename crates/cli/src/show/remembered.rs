//! What people have allowed that holds for calls to come, and what of it was taken back.

use super::approvals;
use super::screen::{Ink, Screen, wrap};
use super::table::{Cell, Column, Table};
use super::tools::ink;
use super::when;
use operator::visible::escape;
use operator::words::{Forgotten, Remembered, RememberedFilter, RememberedList, Scope};

/// All of it, and why some of it lets nothing through; or what it means that there is none.
pub fn list(list: &RememberedList, filter: &RememberedFilter, screen: &Screen) -> String {
    if list.remembered.is_empty() {
        return match *filter == RememberedFilter::default() {
            true => "Nothing is remembered: a call that has to ask waits for a person each time.\n".into(),
            false => "Nothing is remembered under this filter.\n".into(),
        };
    }
    let mut table = Table::new(&[
        Column::word("CALL"),
        Column::word("SINCE"),
        Column::text("CLIENT"),
        Column::text("TOOL"),
        Column::word("EFFECT"),
        Column::word("HOLDS FOR"),
        Column::text("BY").or_not(),
    ]);
    for it in &list.remembered {
        let (shade, holds) = match (&it.lapsed, it.scope) {
            (Some(_), _) => (Ink::Warm, "no longer"),
            (None, Scope::Once) => (Ink::Plain, "this call"),
            (None, Scope::Session) => (Ink::Plain, "its session"),
            (None, Scope::Tool) => (Ink::Plain, "client and tool"),
        };
        table.row([
            it.call.as_deref().unwrap_or("-").into(),
            Cell::new(Ink::Faint, &when::clock(it.since_ms, screen)),
            Cell::new(Ink::Plain, &it.client),
            Cell::new(Ink::Bold, &it.name),
            Cell::new(ink(it.effect), it.effect.as_str()),
            Cell::new(shade, holds),
            Cell::new(Ink::Faint, it.by.as_deref().unwrap_or_default()),
        ]);
    }
    let mut out = table.draw(screen, 0) + "\n";
    for it in &list.remembered {
        let Some(why) = &it.lapsed else { continue };
        let call = it.call.as_deref().unwrap_or("-");
        let text = format!("{call}  {} no longer holds: {why}", it.name);
        for line in wrap(&escape(&text), screen.width.unwrap_or(usize::MAX)) {
            out.push_str(&format!("{}\n", screen.paint(Ink::Warm, &line)));
        }
    }
    let next = "take one back:  callgate approval forget CALL";
    out.push_str(&format!("{}\n", screen.paint(Ink::Faint, next)));
    out
}

/// One of them beside a card, in a sentence.
pub fn beside(it: &Remembered, screen: &Screen) -> String {
    let by = it.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let with = it.call.as_ref().map(|call| format!(" with {call}")).unwrap_or_default();
    let lapsed = it.lapsed.as_ref().map(|why| format!("; no longer holds: {why}")).unwrap_or_default();
    format!("approved{with} {}{by} at {}{lapsed}", approvals::remembered(it.scope), when::clock(it.since_ms, screen))
}

/// What was taken back, and what follows of it.
pub fn forgotten(forgotten: &Forgotten, screen: &Screen) -> String {
    if forgotten.forgotten.is_empty() {
        return "Nothing was remembered.\n".into();
    }
    let all: String = forgotten.forgotten.iter().map(|it| one(it, screen)).collect();
    all + &approvals::unwritten(forgotten.unwritten.as_deref(), screen)
}

fn one(it: &Remembered, screen: &Screen) -> String {
    let call = escape(it.call.as_deref().unwrap_or("-"));
    let (name, client) = (escape(&it.name), escape(&it.client));
    let (what, follows) = match it.scope {
        Scope::Once => (
            "Taken back:",
            format!("{name} by {client} was approved and has not run. It waits again:  callgate approval show {call}"),
        ),
        scope => {
            ("Forgotten:", format!("{name} was approved {} ({client}). It asks again.", approvals::remembered(scope)))
        }
    };
    format!("{call}  {} {follows}\n", screen.paint(Ink::Good, what))
}
