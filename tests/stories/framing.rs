//! Odd bytes from servers and hosts cost only what they belong to.

use crate::fake::fake;
use serde_json::{Value, json};
use stories::{Client, Home, text};

fn begin(home: &Home) -> Client {
    let mut client = home.stdio(&["--host", "story"]);
    client.initialize("2025-06-18");
    client.await_tool("f__echo");
    client
}

#[test]
fn noise_split_characters_and_stderr_floods_lose_nothing() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = begin(&home);
    assert_eq!(text(&client.call("f__noise", json!({}))), "after the noise");
    assert_eq!(text(&client.call("f__bytewise", json!({}))), "naïve ≤ 読 🛠");
    assert_eq!(text(&client.call("f__spam", json!({}))), "spammed");
    assert_eq!(text(&client.call("f__twice", json!({}))), "first");
    assert_eq!(text(&client.call("f__echo", json!({ "text": "still here" }))), r#"{"text": "still here"}"#);
    let shown = home.json(&["server", "show", "f"]);
    let shown = shown.to_string();
    assert!(shown.contains("\"noise_lines\":5") || shown.contains("\"noise_lines\": 5"), "{shown}");
    assert!(shown.contains("\"stray_answers\":2"), "{shown}");
    let (code, log, _) = home.run(&["server", "logs", "f"]);
    assert_eq!(code, 0);
    assert!(log.contains("Widget Server v1.2 ready"), "{log:.2000}");
    assert!(!log.contains('\u{1b}'), "raw control characters reach the terminal");
}

#[test]
fn odd_answers_end_their_call_and_no_other() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = begin(&home);
    assert_eq!(text(&client.call("f__odd_null_error", json!({}))), "fine");
    for tool in ["odd_no_message", "odd_big_code"] {
        let answer = client.ask("tools/call", json!({ "name": format!("f__{tool}"), "arguments": {} }));
        assert_eq!(answer["error"]["code"], -32603, "{tool}: {answer}");
        assert!(answer["error"]["message"].is_string());
    }
    for tool in ["odd_no_version", "odd_not_object", "broken_line"] {
        let refused = client.call(&format!("f__{tool}"), json!({}));
        assert_eq!(refused["structuredContent"]["error"], "invalid_result", "{tool}");
    }
    assert_eq!(text(&client.call("f__echo", json!({ "text": "ok" }))), r#"{"text": "ok"}"#);
}

#[test]
fn a_line_over_the_bound_ends_its_call_at_once_and_memory_stays_small() {
    let home = Home::with(json!({ "f": fake(&[]), "g": fake(&[]) }));
    let hub = home.serve();
    let mut client = begin(&home);
    client.await_tool("g__echo");
    let before = resident(hub.pid());
    let refused = client.call("f__long_line", json!({ "count": 40 }));
    assert_eq!(refused["structuredContent"]["error"], "result_too_large", "{refused:.300}");
    // A gigabyte without a line end; the other server answers meanwhile.
    client.send("tools/call", json!({ "name": "f__endless", "arguments": { "count": 1024 } }));
    for _ in 0..50 {
        assert_eq!(text(&client.call("g__echo", json!({}))), "{}");
    }
    let grown = resident(hub.pid()).saturating_sub(before);
    assert!(grown < 64 << 10, "the hub grew by {grown} KiB");
}

/// Resident memory in KiB.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn ids_of_every_kind_come_back_as_they_were_or_are_refused() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = begin(&home);
    let ids = ["\"a-1\"", "0", "7", "\"7\"", "\"\"", "9007199254740993", "-3", "123456789012345678901234567890"];
    for id in ids {
        client.raw(
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"f__echo\"}}}}\n"
            )
            .as_bytes(),
        );
    }
    let mut heard: Vec<String> = ids.iter().map(|_| client.process.line("an answer")).collect();
    for id in ids {
        let place = heard.iter().position(|line| line.contains(&format!("\"id\":{id},")));
        heard.remove(place.unwrap_or_else(|| panic!("no answer for {id}: {heard:?}")));
    }
    for id in ["null", "1.5", "true", "{}", "[1]"] {
        client.raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n").as_bytes());
        let answer = client.hear();
        assert_eq!(answer["error"]["code"], -32600, "{id}: {answer}");
        assert_eq!(answer["id"], Value::Null);
    }
}

#[test]
fn broken_lines_from_a_host_are_answered_and_forgotten() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = begin(&home);
    let cases: [(&[u8], i64); 7] = [
        (b"nonsense\n", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"\n", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}\n", -32700),
        (b"{\"id\":1,\"method\":\"ping\"}\n", -32600),
        (b"[]\n", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}\n", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":[]}\n", -32602),
    ];
    for (line, code) in cases {
        client.raw(line);
        let answer = client.hear();
        assert_eq!(answer["error"]["code"], code, "{}: {answer}", String::from_utf8_lossy(line));
    }
    let twice = client.ask("resources/read", json!({ "uri": "x://a", "URI": "x://b" }));
    assert_eq!(
        (&twice["error"]["code"], &twice["error"]["data"]["error"]),
        (&json!(-32602), &json!("invalid_arguments"))
    );
    assert_eq!(client.ask("resources/read", json!({ "uri": "x://a" }))["error"]["code"], -32002);
    client.raw(b"\n  \n\r\n");
    client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":null}\r\n");
    assert!(client.answer(&json!(1))["result"]["tools"].is_array());
}

/// A host that never ends a line costs only that line, however its bytes travel.
#[test]
fn a_line_of_a_host_over_the_bound_is_refused_and_memory_stays_small() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let hub = home.serve();
    let mut other = begin(&home);
    for (mode, mebibytes) in [("lend", 1024), ("copy", 256)] {
        let mut client = home.stdio(&["--host", "endless", "--mode", mode]);
        client.initialize("2025-11-25");
        client.await_tool("f__echo");
        let pids = [hub.pid(), client.process.pid()];
        let before = pids.map(resident);
        client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"x\":\"");
        let piece = vec![b'x'; 1 << 20];
        for turn in 0..mebibytes {
            client.raw(&piece);
            if turn % 64 == 0 {
                assert_eq!(text(&other.call("f__echo", json!({}))), "{}");
            }
        }
        client.raw(b"\"}}\n");
        let refused = client.hear();
        assert!(
            refused["error"]["code"].is_i64() && (refused["id"] == 7 || refused["id"].is_null()),
            "{mode}: {refused}"
        );
        client.result("ping", json!({}));
        for (pid, before) in pids.into_iter().zip(before) {
            let grown = resident(pid).saturating_sub(before);
            assert!(grown < 64 << 10, "{mode}: {pid} grew by {grown} KiB");
        }
    }
}
