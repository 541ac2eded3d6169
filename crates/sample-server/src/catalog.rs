//! What is listed: the tool definitions, and pages of any list.

use crate::settings::Settings;
use frame::object;

/// A listed tool.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// The whole definition.
    pub(crate) json: String,
}

const ORDER: &str = r#""type":"object","properties":{"text":{"type":"string","description":"The text"},"idempotency_key":{"type":"string","description":"The same key makes the same call happen once"}},"required":["text"],"additionalProperties":false"#;
const TEXT: &str = r#""type":"object","properties":{"text":{"type":"string","description":"Any text"}},"required":["text"],"additionalProperties":false"#;
const NOTHING: &str = r#""type":"object","properties":{},"additionalProperties":false"#;
const COUNT: &str = r#""type":"object","properties":{"count":{"type":"integer","minimum":0,"maximum":1000000,"description":"How many; 10 if absent"}},"additionalProperties":false"#;
const MILLIS: &str = r#""type":"object","properties":{"ms":{"type":"integer","minimum":0,"maximum":86400000,"description":"How long it takes, in milliseconds"}},"required":["ms"],"additionalProperties":false"#;
const MILLIS_LINE: &str = r#""type":"object","properties":{"ms":{"type":"integer","minimum":0,"maximum":86400000,"description":"How long it takes, in milliseconds"},"text":{"type":"string","description":"The line that is written at the end"}},"required":["ms"],"additionalProperties":false"#;
const BYTES: &str = r#""type":"object","properties":{"bytes":{"type":"integer","minimum":0,"maximum":67108864,"description":"Length of the text"}},"required":["bytes"],"additionalProperties":false"#;
const LINE: &str = r#""type":"object","properties":{"line":{"type":"integer","minimum":1,"description":"Number of the line; the last one if absent"}},"additionalProperties":false"#;
const NOW: &str =
    r#""type":"object","properties":{"utc":{"type":"string"},"unix":{"type":"integer"}},"required":["utc","unix"]"#;
const READ: &str = r#""readOnlyHint":true,"openWorldHint":false"#;
const WRITE: &str = r#""readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false"#;
const DESTROY: &str = r#""readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false"#;

/// Name, description, input schema, annotations; the most used ones first.
const OWN: [(&str, &str, &str, &str); 17] = [
    ("echo", "Gives back its text.", TEXT, READ),
    ("append_line", "Appends one line to the file that the server was started with.", ORDER, WRITE),
    ("big_result", "Gives a text of the wanted length.", BYTES, READ),
    ("get_time", "Tells the time in UTC.", NOTHING, READ),
    ("slow", "Takes its time, tells its progress where that is wanted, and can be cancelled.", MILLIS, READ),
    (
        "slow_write",
        "Takes its time and appends a line at the end; a cancel before the end leaves the file alone.",
        MILLIS_LINE,
        WRITE,
    ),
    ("delete_line", "Deletes one line of the file that the server was started with.", LINE, DESTROY),
    ("fail", "Fails with a result that says so.", NOTHING, READ),
    ("rpc_error", "Fails with a JSON-RPC error.", NOTHING, READ),
    ("noisy", "Writes noise to stdout and stderr before it answers.", NOTHING, READ),
    ("progress_burst", "Sends many progress notices at once.", COUNT, READ),
    ("log_burst", "Sends many log messages at once.", COUNT, READ),
    ("change_tools", "Adds one tool to the list and says that the list has changed.", NOTHING, WRITE),
    ("count_lines", "Counts the lines of the file that the server was started with.", NOTHING, READ),
    ("hang", "Never answers.", NOTHING, READ),
    ("crash", "Ends the server without an answer.", NOTHING, DESTROY),
    ("no_arguments", "Takes no arguments and says how many it got.", NOTHING, READ),
];

/// Stem, description and properties of tools as real servers have them.
const SHAPES: [(&str, &str, &str); 8] = [
    (
        "search_issues",
        "Search issues and pull requests across repositories using the tracker's query syntax. Returns number, title, state, author and labels of each match, newest first. Use get_issue for the full text of one of them.",
        r#""query":{"type":"string","description":"Search query, for example: is:open label:bug author:octocat"},"sort":{"type":"string","enum":["created","updated","comments"],"default":"updated","description":"Field to sort by"},"per_page":{"type":"integer","minimum":1,"maximum":100,"default":30,"description":"Results on one page"}"#,
    ),
    (
        "read_page",
        "Read the content of one page as Markdown. Long pages are cut at max_chars; the answer says where to go on.",
        r#""page_id":{"type":"string","pattern":"^[0-9a-f-]{8,36}$","description":"Id of the page"},"max_chars":{"type":"integer","minimum":100,"maximum":200000,"default":20000,"description":"Upper bound of the answer"},"include_comments":{"type":"boolean","default":false,"description":"Whether comments are added at the end"}"#,
    ),
    (
        "list_files",
        "List the files and folders under a path, with sizes and times of the last change. Hidden entries are left out unless asked for. Only works within the allowed folders.",
        r#""path":{"type":"string","description":"Folder to list"},"recursive":{"type":"boolean","default":false,"description":"Whether subfolders are listed, too"},"exclude":{"type":"array","items":{"type":"string"},"default":[],"description":"Glob patterns to leave out"}"#,
    ),
    (
        "query_rows",
        "Run a read-only query against the connected database and return rows as JSON. Statements that write are refused by the server.",
        r#""sql":{"type":"string","description":"One SELECT statement"},"parameters":{"type":"array","items":{"type":["string","number","boolean","null"]},"description":"Values for the placeholders"},"limit":{"type":"integer","minimum":1,"maximum":10000,"default":200,"description":"At most so many rows"}"#,
    ),
    (
        "get_forecast",
        "Get the weather forecast for a place in hourly steps. Temperatures in the chosen unit, wind in kilometres per hour, rain in millimetres.",
        r#""latitude":{"type":"number","minimum":-90,"maximum":90,"description":"Degrees north"},"longitude":{"type":"number","minimum":-180,"maximum":180,"description":"Degrees east"},"unit":{"type":"string","enum":["celsius","fahrenheit"],"default":"celsius","description":"Unit of temperatures"}"#,
    ),
    (
        "find_contact",
        "Find people in the address book by name, company or e-mail address. Returns at most ten contacts with their preferred channel.",
        r#""term":{"type":"string","minLength":2,"maxLength":200,"description":"What to look for"},"fields":{"type":"array","items":{"type":"string","enum":["name","company","email"]},"uniqueItems":true,"description":"Where to look; everywhere if absent"},"exact":{"type":"boolean","default":false,"description":"Whether the whole field must match"}"#,
    ),
    (
        "trace_span",
        "Fetch one span of a distributed trace with its attributes, events and links to parent and children.",
        r#""trace_id":{"type":"string","pattern":"^[0-9a-f]{32}$","description":"32 hexadecimal digits"},"span_id":{"type":"string","pattern":"^[0-9a-f]{16}$","description":"16 hexadecimal digits"},"with":{"type":"object","properties":{"events":{"type":"boolean"},"links":{"type":"boolean"}},"additionalProperties":false,"description":"Optional parts"}"#,
    ),
    (
        "convert_units",
        "Convert a value between units of length, mass, temperature, time or data size. Answers with the value and the formula that was used.",
        r#""value":{"type":"number","description":"The value to convert"},"from":{"type":"string","description":"Unit of the value, for example km"},"to":{"type":"string","description":"Wanted unit, for example mi"}"#,
    ),
];

/// All tools that these settings ask for.
pub(crate) fn tools(settings: &Settings) -> Vec<Tool> {
    let own = OWN.iter().map(|(name, description, schema, hints)| {
        let output = if *name == "get_time" { format!(",\"outputSchema\":{{{NOW}}}") } else { String::new() };
        let json = format!(
            "{{\"name\":\"{name}\",\"title\":\"{}\",\"description\":{},\"inputSchema\":{{{schema}}}{output},\"annotations\":{{{hints}}}}}",
            name.replace('_', " "),
            object::quote(description)
        );
        Tool { name: (*name).to_owned(), json }
    });
    match settings.total_tools {
        Some(total) => own.chain((1..).map(extra)).take(total).collect(),
        None => own.chain((1..=settings.extra_tools).map(extra)).collect(),
    }
}

/// The echo-like tool of that number, counted from 1.
pub(crate) fn extra(number: usize) -> Tool {
    let (stem, description, properties) = SHAPES[number % SHAPES.len()];
    let name = format!("{stem}_{number:03}");
    let json = format!(
        "{{\"name\":\"{name}\",\"description\":{},\"inputSchema\":{{\"type\":\"object\",\"properties\":{{\"text\":{{\"type\":\"string\",\"description\":\"Given back\"}},{properties}}},\"additionalProperties\":false}},\"annotations\":{{{READ}}}}}",
        object::quote(description)
    );
    Tool { name, json }
}

/// One page of `count` entries: where it ends, and the cursor of the next one. None where there is no such page.
pub(crate) fn page(
    count: usize,
    size: Option<usize>,
    cursor: Option<&str>,
) -> Option<(std::ops::Range<usize>, Option<String>)> {
    let start = match cursor {
        None => 0,
        Some(cursor) => cursor.strip_prefix(CURSOR.0)?.strip_suffix(CURSOR.1)?.parse().ok()?,
    };
    let end = size.map_or(count, |size| count.min(start + size));
    if start > 0 && start >= count {
        return None;
    }
    Some((start..end, (end < count).then(|| format!("{}{end}{}", CURSOR.0, CURSOR.1))))
}

/// A cursor is opaque: nobody may mind what is in it.
const CURSOR: (&str, &str) = ("from=\"", "\"/+==");
