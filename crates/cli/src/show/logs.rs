//! Log lines for people.

use super::screen::{Ink, Screen};
use operator::visible::escape;
use operator::words::LogLine;
use serde_json::{Map, Value};

/// A line of a server's log, whole; tabs stay, since logs are often aligned with them.
pub fn server(line: &LogLine) -> String {
    let text: Vec<_> = line.text.split('\t').map(escape).collect();
    text.join("\t") + "\n"
}

/// A line of the hub's log: time, level, message, then what belongs to it. A line that is not of this form stays as it is.
pub fn hub(line: &LogLine, screen: &Screen) -> String {
    written(line, screen).unwrap_or_else(|| server(line))
}

fn written(line: &LogLine, screen: &Screen) -> Option<String> {
    let event: Map<String, Value> = serde_json::from_str(&line.text).ok()?;
    let time = event.get("timestamp")?.as_str()?;
    let level = event.get("level")?.as_str()?;
    let fields = event.get("fields")?.as_object()?;
    let message = fields.get("message").and_then(Value::as_str).unwrap_or_default();
    let ink = match level {
        "ERROR" => Ink::Bad,
        "WARN" => Ink::Warm,
        _ => Ink::Faint,
    };
    let time = time.get(..19).unwrap_or(time).replace('T', " ");
    let mut out =
        format!("{} {} {}", escape(&time), screen.paint(ink, &format!("{:<5}", escape(level))), escape(message));
    for (key, value) in fields.iter().filter(|(key, _)| *key != "message") {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        out.push_str(&format!("  {}{}", screen.paint(Ink::Faint, &format!("{}=", escape(key))), escape(&value)));
    }
    Some(out + "\n")
}
