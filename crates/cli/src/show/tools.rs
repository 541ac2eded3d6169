//! The catalog for people.

use super::json;
use super::screen::{Ink, Screen};
use super::servers::Fields;
use super::table::{Cell, Column, Table};
use operator::visible::escape;
use operator::words::{Effect, Tool, ToolDetail};

/// Ink of an effect.
pub fn ink(effect: Effect) -> Ink {
    match effect {
        Effect::Read => Ink::Good,
        Effect::Write => Ink::Warm,
        Effect::Destructive => Ink::Bad,
    }
}

/// The tools, each with the first line of its description.
pub fn list(tools: &[Tool], screen: &Screen) -> String {
    if tools.is_empty() {
        return "No tools. Servers and their states:  callgate server list\n".into();
    }
    let mut table = Table::new(&[Column::text("NAME"), Column::word("EFFECT"), Column::text("DESCRIPTION")]);
    for tool in tools {
        let about = match (&tool.unusable, &tool.description) {
            (Some(why), _) => Cell::new(Ink::Bad, &format!("unusable: {why}")),
            (None, _) if !tool.partly_checked.is_empty() => Cell::new(Ink::Warm, "partly checked: it asks at least"),
            (None, Some(text)) => Cell::new(Ink::Faint, text.trim_start().lines().next().unwrap_or_default()),
            (None, None) => "".into(),
        };
        table.row([Cell::new(Ink::Bold, &tool.name), Cell::new(ink(tool.effect), tool.effect.as_str()), about]);
    }
    let many = if tools.len() == 1 { "1 tool".into() } else { format!("{} tools", tools.len()) };
    format!("{}\n{}\n", table.draw(screen, 0), screen.paint(Ink::Faint, &many))
}

/// Which patterns are not checked, and what follows from it.
pub fn unchecked(patterns: &[String]) -> String {
    let patterns: Vec<String> = patterns.iter().map(|pattern| format!("`{pattern}`")).collect();
    format!("not checked: {}. Its calls ask at least.", patterns.join(", "))
}

/// One tool with its definition.
pub fn detail(detail: &ToolDetail, screen: &Screen) -> String {
    let tool = &detail.tool;
    let mut out = format!(
        "{}  {}\n",
        screen.paint(Ink::Bold, &escape(&tool.name)),
        screen.paint(ink(tool.effect), tool.effect.as_str())
    );
    let mut fields = Fields { screen, out: &mut out };
    fields.put("server", &tool.server);
    fields.put("own name", &tool.own_name);
    if let Some(why) = &tool.unusable {
        fields.prose("unusable", why);
    }
    if !tool.partly_checked.is_empty() {
        fields.prose("partly checked", &unchecked(&tool.partly_checked));
    }
    fields.put("schema", &tool.schema_hash);
    fields.put("definition", &tool.definition_hash);
    fields.some("about", tool.description.as_deref());
    out.push_str(&format!("\n{}\n", json::pretty(detail.definition.get())));
    out
}
