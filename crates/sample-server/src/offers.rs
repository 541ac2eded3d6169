//! Resources, prompts and completions: small, fixed texts.

use frame::object::quote;

/// URI of the resource that is the written file.
pub(crate) const LINES: &str = "sample://lines";
const TEMPLATE: &str = "sample://greeting/";

/// Definitions for `resources/list`.
pub(crate) const RESOURCES: [&str; 3] = [
    r#"{"uri":"sample://readme","name":"readme","title":"Read me","description":"A text","mimeType":"text/plain"}"#,
    r#"{"uri":"sample://dot.png","name":"dot","title":"One dot","description":"A picture","mimeType":"image/png"}"#,
    r#"{"uri":"sample://lines","name":"lines","title":"Lines","description":"The file that append_line writes","mimeType":"text/plain"}"#,
];

/// Definitions for `resources/templates/list`.
pub(crate) const TEMPLATES: [&str; 1] = [
    r#"{"uriTemplate":"sample://greeting/{name}","name":"greeting","title":"Greeting","description":"A greeting for somebody","mimeType":"text/plain"}"#,
];

/// Definitions for `prompts/list`.
pub(crate) const PROMPTS: [&str; 2] = [
    r#"{"name":"summarize","title":"Summarize","description":"Asks for a summary of a text","arguments":[{"name":"text","description":"What to summarize","required":true},{"name":"tone","description":"formal, friendly or short","required":false}]}"#,
    r#"{"name":"hello","title":"Hello","description":"Says hello","arguments":[]}"#,
];

const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The `contents` entry of a resource; `lines` is the written file.
pub(crate) fn resource(uri: &str, lines: impl FnOnce() -> String) -> Option<String> {
    let text = match uri {
        "sample://readme" => "A small honest MCP server.\nIt reads, writes, waits and fails on demand.\n".to_owned(),
        "sample://dot.png" => {
            return Some(format!("{{\"uri\":{},\"mimeType\":\"image/png\",\"blob\":\"{DOT}\"}}", quote(uri)));
        }
        LINES => lines(),
        other => format!("Hello, {}!", other.strip_prefix(TEMPLATE).filter(|name| !name.is_empty())?),
    };
    Some(format!("{{\"uri\":{},\"mimeType\":\"text/plain\",\"text\":{}}}", quote(uri), quote(&text)))
}

/// The members of a `prompts/get` result; an error says what is missing.
pub(crate) fn prompt(name: &str, argument: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let words = match name {
        "hello" => "Say hello.".to_owned(),
        "summarize" => {
            let text = argument("text").ok_or("the argument text is missing")?;
            format!("Summarize this in a {} tone:\n\n{text}", argument("tone").as_deref().unwrap_or("friendly"))
        }
        other => return Err(format!("no prompt {other}")),
    };
    Ok(format!("\"messages\":[{{\"role\":\"user\",\"content\":{{\"type\":\"text\",\"text\":{}}}}}]", quote(&words)))
}

/// The values that complete an argument of that name.
pub(crate) fn completions(argument: &str, begun: &str) -> String {
    let known: &[&str] = match argument {
        "tone" => &["formal", "friendly", "short"],
        "name" => &["Ada", "Alan", "Grace", "Linus"],
        _ => &[],
    };
    let values: Vec<String> = known.iter().filter(|value| value.starts_with(begun)).map(|value| quote(value)).collect();
    format!("\"completion\":{{\"values\":[{}],\"total\":{},\"hasMore\":false}}", values.join(","), values.len())
}
