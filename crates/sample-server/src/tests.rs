//! The server through real pipes and sockets, as a client sees it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod http;
mod stdio;

use crate::catalog;
use crate::settings::{Eras, Settings};
use serde_json::{Value, json};
use std::collections::HashSet;

fn settings(args: &[&str]) -> Settings {
    Settings::parse(args.iter().map(|arg| (*arg).to_owned()), None).unwrap()
}

/// A legacy request.
fn ask(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn call(id: u64, name: &str, arguments: Value) -> Value {
    ask(id, "tools/call", json!({"name": name, "arguments": arguments}))
}

/// The same request by a modern client.
fn modern(mut request: Value) -> Value {
    let meta = &mut request["params"]["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    request
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn the_command_line() {
    let all = settings(&[
        "--name",
        "n",
        "--tools",
        "3",
        "--total",
        "4",
        "--era",
        "modern",
        "--page",
        "2",
        "--file",
        "f",
        "--http",
        "0",
        "--start-delay-ms",
        "5",
        "--hang-start",
        "--exit-on-discover",
        "--silent-on-discover",
    ]);
    assert_eq!((all.name.as_str(), all.extra_tools, all.total_tools, all.page), ("n", 3, Some(4), Some(2)));
    assert_eq!((all.eras, all.http, all.file), (Eras::Modern, Some(0), Some("f".into())));
    assert!(all.hang_start && all.exit_on_discover && all.silent_on_discover);
    assert_eq!(all.start_delay, Some(std::time::Duration::from_millis(5)));
    assert_eq!(settings(&[]), Settings::default());
    for (args, expect) in [
        (&["--era", "new"][..], "--era is legacy, modern or both, not new"),
        (&["--tools"], "--tools needs a value"),
        (&["--tools", "x"], "--tools needs a number, not x"),
        (&["--http", "70000"], "--http needs a number, not 70000"),
        (&["--port"], "unknown argument --port"),
    ] {
        let usage = Settings::parse(args.iter().map(|arg| (*arg).to_owned()), None).unwrap_err();
        assert_eq!(usage.to_string(), expect);
    }
}

#[test]
fn definitions_are_whole_and_unique() {
    for (args, count) in [
        (&[][..], 17),
        (&["--tools", "100"], 117),
        (&["--total", "10"], 10),
        (&["--total", "40"], 40),
        (&["--total", "0"], 0),
    ] {
        let tools = catalog::tools(&settings(args));
        assert_eq!(tools.len(), count);
        let names: HashSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names.len(), count);
        for tool in &tools {
            let json: Value = serde_json::from_str(&tool.json).unwrap_or_else(|error| panic!("{error}: {}", tool.json));
            assert_eq!(json["name"], tool.name.as_str());
            assert_eq!(json["inputSchema"]["type"], "object");
            assert!(json["annotations"]["readOnlyHint"].is_boolean());
        }
    }
}

#[test]
#[allow(clippy::single_range_in_vec_init)]
fn pages_cover_a_list() {
    let check = |count, size, expect: &[std::ops::Range<usize>]| {
        let (mut cursor, mut got) = (None, Vec::new());
        loop {
            let (range, next) = catalog::page(count, size, cursor.as_deref()).unwrap();
            got.push(range);
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(got, expect, "{count} {size:?}");
    };
    check(0, None, &[0..0]);
    check(5, None, &[0..5]);
    check(5, Some(2), &[0..2, 2..4, 4..5]);
    check(4, Some(2), &[0..2, 2..4]);
    for bad in ["", "2", "from=\"x\"/+==", "from=\"9\"/+=="] {
        assert_eq!(catalog::page(5, Some(2), Some(bad)), None, "{bad}");
    }
}

#[test]
fn time_in_utc() {
    for (unix, expect) in [
        (0, "1970-01-01T00:00:00Z"),
        (951_827_696, "2000-02-29T12:34:56Z"),
        (1_796_083_199, "2026-11-30T23:59:59Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
    ] {
        assert_eq!(crate::calls::utc(unix), expect);
    }
}
