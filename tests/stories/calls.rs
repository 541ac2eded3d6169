//! Calls through the whole road: checked, repaired by rule, counted, refused in words that a model can use.

use crate::fake::fake;
use serde_json::{Value, json};
use stories::{Client, Home, eventually, sample, text};

fn attached(home: &Home) -> Client {
    let mut client = home.stdio(&["--host", "story"]);
    client.initialize("2025-11-25");
    client
}

#[test]
fn a_call_goes_through_and_bytes_stay_as_they_are() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = attached(&home);
    client.await_tool("f__echo");
    let arguments = r#"{"text":"naïve ≤ 読 🛠 \u00e9","big":9007199254740993,"exact":1.10,"z":1,"a":{"y":[],"x":null}}"#;
    client.raw(
        format!(r#"{{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{{"name":"f__echo","arguments":{arguments}}}}}"#)
            .as_bytes(),
    );
    client.raw(b"\n");
    let answer = client.answer(&json!("q"));
    // Python reads the numbers: the big one keeps its digits, key order stays.
    assert_eq!(
        text(&answer["result"]),
        r#"{"text": "naïve ≤ 読 🛠 é", "big": 9007199254740993, "exact": 1.1, "z": 1, "a": {"y": [], "x": null}}"#
    );
    client
        .raw(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"f__unknown_fields\"}}\n");
    let line = client.process.line("the raw answer");
    assert!(
        line.contains(
            r#"{"zebra":1e2,"content":[{"type":"new","n":12345678901234567890123.0}],"apple":{"b":1,"a":2}}"#
        ),
        "{line}"
    );
}

#[test]
fn absent_null_and_text_arguments_reach_the_server_as_an_object() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = attached(&home);
    client.await_tool("f__echo");
    let mut echoed = |params: Value| text(&client.result("tools/call", params)).to_owned();
    assert_eq!(echoed(json!({ "name": "f__echo" })), "{}");
    assert_eq!(echoed(json!({ "name": "f__echo", "arguments": null })), "{}");
    assert_eq!(echoed(json!({ "name": "f__echo", "arguments": {} })), "{}");
    assert_eq!(echoed(json!({ "name": "f__echo", "arguments": " " })), "{}");
    assert_eq!(echoed(json!({ "name": "f__echo", "arguments": "{\"text\":\"t\"}" })), r#"{"text": "t"}"#);
    let refused = client.result("tools/call", json!({ "name": "f__echo", "arguments": [1] }));
    assert_eq!(refused["isError"], true);
    assert_eq!(refused["structuredContent"]["error"], "invalid_arguments");
}

#[test]
fn wrong_arguments_never_reach_the_server() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = attached(&home);
    client.await_tool("f__echo");
    let refused = client.call("f__echo", json!({ "text": 5, "count": "many" }));
    assert_eq!(refused["isError"], true);
    let outcome = &refused["_meta"]["dev.callgate/outcome"];
    assert_eq!(outcome["error"], "invalid_arguments");
    assert_eq!(outcome["details"].as_array().unwrap().len(), 2, "{outcome}");
    assert_eq!(outcome, &refused["structuredContent"]);
    assert_eq!(serde_json::from_str::<Value>(text(&refused)).unwrap(), *outcome);
    let seen = client.call("f__seen", json!({}));
    assert!(!text(&seen).contains("many"), "{seen}");
}

#[test]
fn what_can_be_read_in_two_ways_is_refused_at_the_door() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = attached(&home);
    client.await_tool("f__echo");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let params = [
        r#"{"name":"f__bye","name":"f__echo","arguments":{}}"#.to_owned(),
        r#"{"name":"f__echo","arguments":{"text":"a","t\u0065xt":"b"}}"#.to_owned(),
        r#"{"name":"f__echo","arguments":{"text":"\ud800"}}"#.to_owned(),
        format!(r#"{{"name":"f__echo","arguments":{{"text":"x","deep":{deep}}}}}"#),
        r#"{"name":"f__echo","arguments":{"text":"x","n":1e400}}"#.to_owned(),
        r#"{"Name":"f__echo","arguments":{}}"#.to_owned(),
    ];
    for (place, params) in params.iter().enumerate() {
        let id = json!(format!("p{place}"));
        client.raw(
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}\n").as_bytes(),
        );
        let answer = client.answer(&id);
        let refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
        assert!(refused, "{params:.120}: {answer}");
    }
    // Only the question itself.
    let seen: Value = serde_json::from_str(text(&client.call("f__seen", json!({})))).unwrap();
    let calls = seen.as_array().unwrap().iter().filter(|it| it["method"] == "tools/call").count();
    assert_eq!(calls, 1, "{seen}");
}

#[test]
fn an_unknown_tool_is_a_result_that_a_model_can_read() {
    let home = Home::with(json!({ "f": fake(&[]), "off": { "command": "true", "disabled": true } }));
    let _hub = home.serve();
    let mut client = attached(&home);
    client.await_tool("f__echo");
    let refused = client.call("f__nothing", json!({}));
    assert_eq!(refused["structuredContent"]["error"], "unknown_tool");
    let refused = client.call("off__anything", json!({}));
    assert!(text(&refused).contains("disabled"), "{refused}");
    // A server's own name resolves while only one server has it.
    let found = client.call("echo", json!({ "text": "own" }));
    assert_eq!(text(&found), r#"{"text": "own"}"#);
}

#[test]
fn writes_run_one_at_a_time_and_reads_beside_them() {
    let home = Home::with(json!({ "s": sample(&[]) }));
    let _hub = home.serve();
    let mut client = attached(&home);
    client.await_tool("s__slow_write");
    let first = client.send("tools/call", json!({ "name": "s__slow_write", "arguments": { "ms": 400 } }));
    let second = client.send("tools/call", json!({ "name": "s__slow_write", "arguments": { "ms": 400 } }));
    let read = client.send("tools/call", json!({ "name": "s__echo", "arguments": { "text": "x" } }));
    let order: Vec<Value> = (0..3).map(|_| client.hear()["id"].clone()).collect();
    assert_eq!(order, [read, first, second]);
}

#[test]
fn a_call_refused_for_lists_that_never_come_tells_how_long_it_waited() {
    let home = Home::with(json!({ "f": fake(&["--list", "once"]) }));
    let _hub = home.serve();
    let mut client = attached(&home);
    client.await_tool("f__echo");
    client.call("f__same_list", json!({}));
    let refused = client.call("f__echo", json!({}));
    assert!(text(&refused).contains("does not say how"), "{refused}");
    let call = refused["_meta"]["dev.callgate/outcome"]["call_id"].as_str().unwrap();
    let row = eventually("its row", || {
        let (code, out, _) = home.run(&["audit", "show", call, "--json"]);
        (code == 0).then(|| serde_json::from_str::<Value>(&out).unwrap()["rows"][0].clone())
    });
    assert!(row["checked_us"].as_u64().unwrap() > 5_000_000, "{row}");
}
