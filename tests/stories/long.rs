//! Long arguments: what is found out of them is found out beside the relay, and nothing gets lost on that way.

use crate::fake::fake;
use serde_json::json;
use stories::{Client, Home, outcome, sample, text};

fn client(home: &Home, name: &str, tool: &str) -> Client {
    let mut client = home.stdio(&["--host", name]);
    client.initialize("2025-11-25");
    client.await_tool(tool);
    client
}

/// Turns that kept the relay for too long.
fn slow(home: &Home) -> u64 {
    home.json(&["status"])["relay"]["slow"].as_u64().unwrap()
}

#[test]
fn a_costly_condition_over_long_arguments_is_judged_beside_the_relay() {
    let home = Home::new();
    let rule =
        json!({ "name": "two", "tools": ["f__echo"], "when": "args.list.exists(x, x * 3.5 == 7.0)", "then": "deny" });
    home.configure(&json!({ "mcpServers": { "f": fake(&[]) }, "policy": { "default": "allow", "rules": [rule] } }));
    let _hub = home.serve();
    let mut client = client(&home, "cursor", "f__echo");
    // More of it than a condition may take steps for: as dear as it gets.
    let list = vec![1; 39_000];
    // A busy machine may take the core away in the middle of a turn, but not every time.
    let quiet = (0..30).any(|n| {
        let before = slow(&home);
        let result = client.call("f__echo", json!({ "text": n.to_string(), "list": list }));
        assert_eq!(outcome(&result), "denied");
        slow(&home) == before
    });
    assert!(quiet, "{}", home.json(&["status"])["relay"]);
    assert_eq!(outcome(&client.call("f__echo", json!({ "text": "x".repeat(70_000), "list": [1] }))), "ran");
    assert_eq!(outcome(&client.call("f__echo", json!({ "text": "x".repeat(70_000), "list": [1, 2] }))), "denied");
}

#[test]
fn a_long_call_waits_and_runs_once_like_any_other() {
    let home = Home::new();
    let file = home.path("lines.txt");
    let approval = json!({ "holdSeconds": 0, "holdSecondsWithProgress": 0 });
    let servers = json!({ "s": sample(&["--file", &file.display().to_string()]) });
    home.configure(&json!({ "mcpServers": servers, "policy": { "approval": approval } }));
    let _hub = home.serve();
    let mut client = client(&home, "cursor", "s__append_line");
    let long = |word: &str| json!({ "text": word.repeat(100_000 / word.len()) });
    let waiting = || home.json(&["approval", "list"])["approvals"].as_array().unwrap().clone();
    let both =
        [(); 2].map(|()| client.send("tools/call", json!({ "name": "s__append_line", "arguments": long("one ") })));
    both.iter().for_each(|id| assert_eq!(outcome(&client.answer(id)["result"]), "pending"));
    assert_eq!(outcome(&client.call("s__append_line", long("one "))), "pending");
    assert_eq!(outcome(&client.call("s__append_line", long("two "))), "pending");
    assert_eq!(waiting().len(), 2, "the same call is one card");
    let first = waiting()[0]["id"].as_str().unwrap().to_owned();
    home.json(&["approval", "approve", &first, "--remember", "once"]);
    let lines = || std::fs::read_to_string(&file).unwrap_or_default().lines().count();
    for _ in both {
        // Each of the two is owed what came of it; the third was one of them that came again.
        assert_eq!((outcome(&client.call("s__append_line", long("one "))), lines()), ("ran", 1));
    }
    assert_eq!(outcome(&client.call("s__append_line", long("one "))), "pending", "used up");
    assert_eq!(lines(), 1);
    // A key finds its call again, whatever the length of its arguments.
    let second = waiting().iter().find(|it| it["id"] != first.as_str()).unwrap()["id"].as_str().unwrap().to_owned();
    home.json(&["approval", "approve", &second, "--remember", "tool"]);
    let keyed = |word: &str| json!({ "name": "s__append_line", "arguments": long(word), "_meta": { "dev.callgate/idempotencyKey": "k" } });
    assert_eq!(outcome(&client.result("tools/call", keyed("three "))), "ran");
    let again = client.result("tools/call", keyed("three "));
    assert_eq!((outcome(&again), lines()), ("ran", 2), "{again:.200}");
    assert_eq!(outcome(&client.result("tools/call", keyed("four "))), "idempotency_conflict");
    assert!(!text(&again).is_empty());
}
