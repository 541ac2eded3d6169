//! Who a client is: what it only says of itself never makes it another client that a person knows, and a token is the
//! same client only as long as it is the same token.

use serde_json::{Value, json};
use stories::{Client, Home, eventually, http, outcome, sample};

const ORDER: &str = "s__append_line";
const KEY: &str = "dev.callgate/idempotencyKey";

fn home(policy: Value) -> Home {
    let home = Home::new();
    let lines = home.path("lines.txt").display().to_string();
    home.configure(&json!({ "mcpServers": { "s": sample(&["--file", &lines]) }, "policy": policy }));
    home
}

fn asks() -> Value {
    json!({ "approval": { "holdSeconds": 0, "holdSecondsWithProgress": 0 } })
}

fn lines(home: &Home) -> usize {
    std::fs::read_to_string(home.path("lines.txt")).unwrap_or_default().lines().count()
}

/// A client that a person named, or one that only says so.
fn client(home: &Home, name: &str, is_named: bool) -> Client {
    let mut client = if is_named { home.stdio(&["--host", name]) } else { home.stdio(&[]) };
    let info = json!({ "name": name, "version": "1" });
    client.result("initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info }));
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    client.await_tool(ORDER);
    client
}

fn approve(home: &Home, result: &Value, scope: &str) {
    let id = result["_meta"]["dev.callgate/outcome"]["approval_id"].as_str().unwrap();
    home.json(&["approval", "approve", id, "--remember", scope]);
}

#[test]
fn who_only_says_a_name_has_nothing_of_the_one_whom_a_person_gave_it() {
    let home = home(asks());
    let _hub = home.serve();
    let mut real = client(&home, "h1", true);
    let mut fake = client(&home, "h1", false);
    // An approval.
    let one = json!({ "text": "one" });
    approve(&home, &real.call(ORDER, one.clone()), "once");
    assert_eq!(outcome(&fake.call(ORDER, one.clone())), "pending");
    assert_eq!(outcome(&real.call(ORDER, one)), "ran");
    // A grant.
    let two = json!({ "text": "two" });
    approve(&home, &real.call(ORDER, two.clone()), "tool");
    assert_eq!(outcome(&real.call(ORDER, two.clone())), "ran");
    assert_eq!(outcome(&fake.call(ORDER, two)), "pending");
    // The result of a key.
    let keyed = json!({ "name": ORDER, "arguments": { "text": "three" }, "_meta": { KEY: "k" } });
    assert_eq!(outcome(&real.result("tools/call", keyed.clone())), "ran");
    assert_eq!(outcome(&fake.result("tools/call", keyed)), "pending");
    assert_eq!(lines(&home), 3);
    let all = home.json(&["approval", "list", "--client", "h1 (unverified)"]);
    assert_eq!(all["approvals"].as_array().unwrap().len(), 3, "{all}");
    assert_eq!(all["approvals"][0]["unverified"], json!(true));
}

#[test]
fn rules_and_settings_know_no_name_that_a_client_only_says() {
    let rule = json!({ "name": "h1 may", "tools": ["s__*"], "when": "host == 'h1'", "then": "allow" });
    let home = home(json!({ "default": "deny", "rules": [rule] }));
    let _hub = home.serve();
    let mut real = client(&home, "h1", true);
    assert_eq!(outcome(&real.call(ORDER, json!({ "text": "one" }))), "ran");
    let mut fake = client(&home, "h1", false);
    assert_eq!(outcome(&fake.call(ORDER, json!({ "text": "two" }))), "denied");
    assert_eq!(lines(&home), 1);
}

/// One call by HTTP, as a client of 2026-07-28 with these capabilities.
fn posted(url: &str, token: &str, text: &str, capabilities: &Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": { "name": "x", "version": "1" },
    });
    let params = json!({ "name": ORDER, "arguments": { "text": text }, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let lines = [
        format!("Authorization: Bearer {token}"),
        "Content-Type: application/json".into(),
        "Accept: application/json, text/event-stream".into(),
        "MCP-Protocol-Version: 2026-07-28".into(),
        "Mcp-Method: tools/call".into(),
        format!("Mcp-Name: {ORDER}"),
    ];
    http(url, "POST", &lines, &body.to_string()).message()["result"].clone()
}

#[test]
fn a_token_of_the_same_name_is_another_client() {
    let home = home(asks());
    let hub = home.serve();
    client(&home, "x", true);
    let call = |token: &str| posted(&hub.url(), token, "one", &json!({}));
    let add = || home.json(&["token", "add", "ci"])["token"].as_str().unwrap().to_owned();
    let first = add();
    let asked = call(&first);
    assert_eq!(outcome(&asked), "pending", "{asked}");
    approve(&home, &asked, "tool");
    home.run(&["token", "remove", "ci"]);
    let second = add();
    assert_eq!(outcome(&call(&second)), "pending");
    // Nor is a host of that name, or one that says it.
    assert_eq!(outcome(&client(&home, "ci", true).call(ORDER, json!({ "text": "one" }))), "pending");
    assert_eq!(outcome(&client(&home, "ci", false).call(ORDER, json!({ "text": "one" }))), "pending");
    assert_eq!(lines(&home), 0);
}

#[test]
fn what_a_client_left_ends_with_its_token() {
    let home = home(asks());
    let hub = home.serve();
    client(&home, "x", true);
    let token = home.json(&["token", "add", "ci"])["token"].as_str().unwrap().to_owned();
    let tasks = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let waits = posted(&hub.url(), &token, "waits", &json!({}));
    let approved = posted(&hub.url(), &token, "approved", &json!({}));
    approve(&home, &approved, "once");
    posted(&hub.url(), &token, "task", &tasks);
    let own = posted(&hub.url(), &home.token(), "of another", &json!({}));
    let cards = || home.json(&["approval", "list"])["approvals"].as_array().unwrap().clone();
    let task = cards().into_iter().find(|card| card["task"] == true).unwrap()["id"].as_str().unwrap().to_owned();
    assert_eq!(cards().len(), 4);
    home.json(&["token", "remove", "ci"]);
    eventually("its calls to end", || (cards().len() == 1).then_some(()));
    let id = |result: &Value| result["_meta"]["dev.callgate/outcome"]["approval_id"].as_str().unwrap().to_owned();
    assert_eq!(cards()[0]["id"], id(&own), "of another client");
    for id in [id(&waits), id(&approved), task] {
        let (code, out, _) = home.run(&["approval", "approve", &id]);
        assert!(code == 4 && out.contains("the token of its client was removed"), "{out}");
    }
    assert_eq!(lines(&home), 0);
}
