//! The result of a call for people: texts as texts, everything else by kind and size.

use super::json;
use super::screen::{Ink, Screen};
use super::servers::Fields;
use operator::visible::{escape, escape_lines};
use operator::words::{CallOutcome, CallResult};
use serde_json::{Map, Value};

/// What the tool, the server or the hub answered.
pub fn result(result: &CallResult, screen: &Screen) -> String {
    let Ok(body) = serde_json::from_str::<Value>(result.body.get()) else {
        return json::pretty(result.body.get()) + "\n";
    };
    if result.outcome == CallOutcome::RpcError {
        let message = body["message"].as_str().unwrap_or_default();
        return format!(
            "{} {}\n",
            screen.paint(Ink::Bad, &format!("error {}", escape(&body["code"].to_string()))),
            escape_lines(message)
        );
    }
    if let Some(refusal) = body["_meta"]["dev.callgate/outcome"].as_object() {
        return outcome(refusal, screen);
    }
    if body["resultType"] == "input_required" {
        return asks(&body, screen);
    }
    let blocks = body["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut out = String::new();
    for block in blocks {
        out.push_str(&self::block(block, screen));
    }
    // The structure repeats the text in most tools; it is the answer only where there is no text.
    if out.is_empty()
        && let Some(structure) = body.get("structuredContent")
    {
        out = json::pretty(&structure.to_string()) + "\n";
    }
    if out.is_empty() {
        return screen.paint(Ink::Faint, "The tool answered nothing.") + "\n";
    }
    out
}

/// A tool that wants something of its client before it does anything.
fn asks(body: &Value, screen: &Screen) -> String {
    let text =
        "The tool asks its client for something first, which the command line cannot answer; it has not gone on.";
    let mut out = format!("{}\n", screen.paint(Ink::Warm, text));
    for (name, request) in body["inputRequests"].as_object().into_iter().flatten() {
        let method = request["method"].as_str().unwrap_or_default();
        let message = request["params"]["message"].as_str().unwrap_or_default();
        out.push_str(&format!("  {}  {}  {}\n", escape(name), escape(method), escape(message)));
    }
    out
}

/// The hub's own answer in place of the tool's (docs/servers-words.md).
fn outcome(outcome: &Map<String, Value>, screen: &Screen) -> String {
    let word = |key: &str| outcome.get(key).and_then(Value::as_str).map(escape).unwrap_or_default();
    let ink = if outcome.contains_key("error") { Ink::Bad } else { Ink::Warm };
    let code = [word("error"), word("status")].concat();
    let mut out = format!("{}  {}\n", screen.paint(ink, &code), word("message"));
    let mut fields = Fields { screen, out: &mut out };
    for detail in outcome.get("details").and_then(Value::as_array).into_iter().flatten() {
        let list = |key: &str| match &detail[key] {
            Value::Array(words) => words.iter().map(plain).collect::<Vec<_>>().join(", "),
            Value::Null => String::new(),
            other => plain(other),
        };
        let parts = [("expected ", list("expected")), ("allowed: ", list("allowed")), ("nearest: ", list("nearest"))];
        let parts = parts.iter().filter(|(_, text)| !text.is_empty()).map(|(head, text)| format!("; {head}{text}"));
        let path = detail["path"].as_str().filter(|path| !path.is_empty()).unwrap_or("/");
        fields.put(path, &format!("{}{}", detail["problem"].as_str().unwrap_or_default(), parts.collect::<String>()));
    }
    for (key, label) in [("approval_id", "approval"), ("expires_at", "expires"), ("call_id", "call")] {
        fields.some(label, outcome.get(key).and_then(Value::as_str));
    }
    out
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn block(block: &Value, screen: &Screen) -> String {
    let word = |key: &str| escape(block[key].as_str().unwrap_or_default()).into_owned();
    let note = |text: String| screen.paint(Ink::Faint, &format!("[{text}]")) + "\n";
    match block["type"].as_str().unwrap_or_default() {
        "text" => {
            let text = escape_lines(block["text"].as_str().unwrap_or_default()).into_owned();
            if text.ends_with('\n') { text } else { text + "\n" }
        }
        kind @ ("image" | "audio") => {
            let bytes = block["data"].as_str().unwrap_or_default().len() / 4 * 3;
            note(format!("{kind} {}, {bytes} bytes", word("mimeType")))
        }
        "resource_link" => note(format!("resource {}", word("uri"))),
        "resource" => match block["resource"]["text"].as_str() {
            Some(text) => format!("{}\n", escape_lines(text)),
            None => note(format!("resource {}", escape(block["resource"]["uri"].as_str().unwrap_or_default()))),
        },
        other => note(escape(other).into_owned()),
    }
}
