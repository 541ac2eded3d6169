//! The policy for people: its rules, what is wrong with them, and which one decides.

use super::approvals::{remembered, tier};
use super::screen::{Ink, Screen};
use super::servers::Fields;
use super::table::{Cell, Column, Table};
use super::tools::{ink, unchecked};
use operator::visible::escape;
use operator::words::{Explained, PinState, PolicyExplained, PolicyReport, PolicyTotals, Severity, Then};

fn then(then: Then) -> (Ink, &'static str) {
    match then {
        Then::Allow => (Ink::Good, "allow"),
        Then::Ask => (Ink::Warm, "ask"),
        Then::Deny => (Ink::Bad, "deny"),
    }
}

/// The rules, then every problem.
pub fn report(report: &PolicyReport, screen: &Screen) -> String {
    let mut out = format!(
        "default {}  {}\n",
        screen.paint(Ink::Bold, &escape(&report.default)),
        screen.paint(Ink::Faint, &escape(&report.version))
    );
    if report.rules.is_empty() {
        out.push_str("No rules.\n");
    } else {
        let mut table = Table::new(&[
            Column::text("RULE"),
            Column::word("THEN"),
            Column::number("MATCHES"),
            Column::text("WHEN"),
            Column::text("REASON"),
        ]);
        for rule in &report.rules {
            let (ink, word) = then(rule.then);
            table.row([
                Cell::new(Ink::Bold, &rule.name),
                Cell::new(ink, word),
                rule.matches.to_string().into(),
                rule.when.as_deref().unwrap_or_default().into(),
                Cell::new(Ink::Faint, rule.reason.as_deref().unwrap_or_default()),
            ]);
        }
        out.push_str(&table.draw(screen, 0));
    }
    if !report.problems.is_empty() || !report.held.is_empty() {
        out.push('\n');
    }
    for problem in &report.problems {
        let (ink, word) = match problem.severity {
            Severity::Error => (Ink::Bad, "error"),
            Severity::Warning => (Ink::Warm, "warning"),
        };
        let place: Vec<_> = [&problem.rule, &problem.place]
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(|part| escape(part))
            .collect();
        let place = if place.is_empty() { String::new() } else { place.join(", ") + ": " };
        out.push_str(&format!("{}: {place}{}\n", screen.paint(ink, word), escape(&problem.message)));
    }
    for held in &report.held {
        out.push_str(&format!("{}: {}\n", screen.paint(Ink::Warm, "held"), escape(held)));
    }
    out
}

/// One tool in full.
pub fn one(it: &Explained, screen: &Screen) -> String {
    let (then_ink, word) = then(it.then);
    let mut out = format!("{}  {}\n", screen.paint(Ink::Bold, &escape(&it.name)), screen.paint(then_ink, word));
    let mut fields = Fields { screen, out: &mut out };
    fields.put("decided by", &it.rule.as_ref().map_or_else(|| "the default".into(), |rule| format!("rule {rule}")));
    fields.prose("why", &it.why);
    if let Some(reason) = &it.reason {
        fields.prose("reason", reason);
    }
    fields.put("effect", it.effect.as_str());
    fields.prose("tier", &format!("{} ({}): {}", it.tier.as_str(), tier(it.tier), it.tier_why));
    if it.then == Then::Ask {
        fields.put("remembered", &format!("at most {}", remembered(it.most)));
    }
    if let Some(scope) = it.remembered {
        fields.put("approved", &format!("already, {}: it runs", remembered(scope)));
    }
    if it.depends {
        fields.put("depends", "on the arguments: other ones may be decided otherwise");
    }
    if let Some(why) = &it.unusable {
        fields.prose("unusable", &format!("its schema can't be used, so no call of it runs: {why}"));
    }
    if !it.partly_checked.is_empty() {
        fields.prose("partly checked", &unchecked(&it.partly_checked));
    }
    if it.unlisted {
        fields.put("listed", "no: hosts do not see it, and it answers as unknown");
    }
    if it.definition != PinState::Approved {
        fields.put("definition", it.definition.as_str());
    }
    out
}

/// All tools, with totals.
pub fn all(explained: &PolicyExplained, screen: &Screen) -> String {
    if explained.tools.is_empty() {
        return "No tools. Servers and their states:  callgate server list\n".into();
    }
    let mut table = Table::new(&[
        Column::text("TOOL"),
        Column::word("EFFECT"),
        Column::word("TIER"),
        Column::word("THEN"),
        Column::text("RULE"),
        Column::text("WHY"),
    ]);
    for it in &explained.tools {
        let (then_ink, word) = then(it.then);
        let depends = if it.depends { format!("{word}, depends") } else { word.into() };
        table.row([
            Cell::new(Ink::Bold, &it.name),
            Cell::new(ink(it.effect), it.effect.as_str()),
            it.tier.as_str().into(),
            Cell::new(then_ink, &depends),
            it.rule.as_deref().unwrap_or_default().into(),
            Cell::new(Ink::Faint, if it.rule.is_some() { &it.why } else { &it.tier_why }),
        ]);
    }
    format!("{}\n{}\n", table.draw(screen, 0), screen.paint(Ink::Faint, &totals(&explained.totals)))
}

fn totals(totals: &PolicyTotals) -> String {
    let PolicyTotals { tools, quiet, once, each, allow, ask, deny } = *totals;
    let word = if tools == 1 { "tool" } else { "tools" };
    let share = |part: u32| (part * 100 + tools / 2).checked_div(tools).unwrap_or(0);
    format!(
        "{tools} {word}: {quiet} quiet ({} %), {once} once ({} %), {each} each ({} %) · {allow} allow, {ask} ask, {deny} deny",
        share(quiet),
        share(once),
        share(each)
    )
}
