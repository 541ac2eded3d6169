//! Every version of a host meets every version of a server.

use crate::fake::fake;
use serde_json::{Value, json};
use stories::{Client, Home, sample, text};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "story", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {}
    })
}

fn modern(client: &mut Client, method: &str, mut params: Value) -> Value {
    params["_meta"] = modern_meta();
    client.ask(method, params)
}

#[test]
fn legacy_hosts_of_every_version_are_answered_in_it() {
    let home = Home::with(json!({ "old": fake(&[]), "new": fake(&["--discover", "modern"]) }));
    let _hub = home.serve();
    for version in LEGACY {
        let mut client = home.stdio(&["--host", "story"]);
        assert_eq!(client.initialize(version)["protocolVersion"], version);
        for server in ["old", "new"] {
            client.await_tool(&format!("{server}__echo"));
            let result = client.call(&format!("{server}__echo"), json!({ "text": version }));
            assert!(text(&result).contains(version));
            assert!(result.get("resultType").is_none());
        }
    }
    let mut client = home.stdio(&[]);
    assert_eq!(client.initialize("1999-01-01")["protocolVersion"], "2025-11-25");
    let mut client = home.stdio(&[]);
    assert_eq!(client.initialize("2026-07-28")["protocolVersion"], "2025-11-25");
}

#[test]
fn modern_hosts_need_no_handshake_and_get_complete_results() {
    let home = Home::with(json!({ "old": fake(&[]), "new": fake(&["--discover", "modern"]) }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "story"]);
    let discovered = modern(&mut client, "server/discover", json!({}));
    assert_eq!(discovered["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(discovered["result"]["resultType"], "complete");
    for server in ["old", "new"] {
        let answer = modern(&mut client, "tools/call", json!({ "name": format!("{server}__echo"), "arguments": {} }));
        assert_eq!(answer["result"]["resultType"], "complete", "{server}: {answer}");
    }
    let list = modern(&mut client, "tools/list", json!({}));
    assert_eq!(list["result"]["ttlMs"], 0);
    assert_eq!(list["result"]["cacheScope"], "private");
    let bare = client.ask("tools/list", json!({}));
    assert_eq!(bare["error"]["code"], -32602);
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2030-01-01");
    let wrong = client.ask("tools/list", json!({ "_meta": meta }));
    assert_eq!(wrong["error"]["code"], -32022);
    assert_eq!(wrong["error"]["data"]["supported"], json!(["2026-07-28"]));
}

#[test]
fn reserved_keys_never_cross_the_border_between_eras() {
    let home = Home::with(json!({ "old": fake(&[]), "new": fake(&["--discover", "modern"]) }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "story"]);
    for server in ["old", "new"] {
        let mut meta = modern_meta();
        meta["vendor.example/x"] = json!(1);
        meta["dev.callgate/idempotencyKey"] = json!("k");
        let params = json!({ "name": format!("{server}__echo"), "arguments": { "text": "mark" }, "_meta": meta });
        client.result("tools/call", params);
    }
    for (server, reserved) in [("old", false), ("new", true)] {
        let answer = modern(&mut client, "tools/call", json!({ "name": format!("{server}__seen"), "arguments": {} }));
        let seen: Value = serde_json::from_str(text(&answer["result"])).unwrap();
        let call = seen.as_array().unwrap().iter().find(|it| it["params"]["arguments"]["text"] == "mark").unwrap();
        let meta = &call["params"]["_meta"];
        assert_eq!(meta["vendor.example/x"], 1, "{server}");
        assert!(meta.get("dev.callgate/idempotencyKey").is_none(), "{server}");
        assert_eq!(meta.get("io.modelcontextprotocol/protocolVersion").is_some(), reserved, "{server}: {meta}");
    }
}

#[test]
fn servers_that_cannot_take_the_probe_are_spoken_to_all_the_same() {
    let home = Home::with(json!({
        "exits": fake(&["--discover", "exit"]),
        "silent": fake(&["--discover", "silent"]),
        "invalid": fake(&["--discover", "invalid"]),
    }));
    let hub = home.serve();
    let mut client = home.stdio(&[]);
    client.initialize("2025-11-25");
    for server in ["exits", "silent", "invalid"] {
        client.await_tool(&format!("{server}__echo"));
    }
    drop(hub);
    // The era is remembered: the next start does not probe.
    let _hub = home.serve();
    let mut client = home.stdio(&[]);
    client.initialize("2025-11-25");
    let seen = client.call("exits__seen", json!({}));
    assert!(!text(&seen).contains("server/discover"), "{seen}");
}

#[test]
fn batches_of_2025_03_26_are_answered_as_batches() {
    let home = Home::with(json!({ "f": fake(&[]), "s": sample(&[]) }));
    let _hub = home.serve();
    let mut client = home.stdio(&[]);
    client.initialize("2025-03-26");
    client.await_tool("f__echo");
    // Both: or else word of the other comes between.
    client.await_tool("s__slow");
    let call =
        |id: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "f__echo" } });
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    client.say(&json!([call(json!(71)), note, call(json!("b")), { "jsonrpc": "2.0", "id": 5, "method": "ping" }]));
    let batch = client.hear();
    let mut ids: Vec<String> = batch.as_array().unwrap().iter().map(|it| it["id"].to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["\"b\"", "5", "71"]);
    // One that is cancelled keeps nobody waiting.
    let slow = json!({ "jsonrpc": "2.0", "id": 72, "method": "tools/call",
        "params": { "name": "s__slow", "arguments": { "ms": 60_000 } } });
    client.say(&json!([slow, call(json!(73))]));
    let cancel = json!({ "requestId": 72 });
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel }));
    let batch = client.hear();
    assert_eq!((batch.as_array().map(Vec::len), &batch[0]["id"]), (Some(1), &json!(73)));
    let mut other = home.stdio(&[]);
    other.initialize("2025-06-18");
    other.say(&json!([call(json!(1))]));
    assert_eq!(other.hear()["error"]["code"], -32600);
}

#[test]
fn a_modern_host_is_told_of_changed_lists_where_it_listens() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "story"]);
    modern(&mut client, "tools/call", json!({ "name": "f__echo", "arguments": {} }));
    let params = json!({ "notifications": { "toolsListChanged": true }, "_meta": modern_meta() });
    let listen = client.send("subscriptions/listen", params);
    let ack = client.hear();
    assert_eq!(ack["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(ack["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listen);
    assert_eq!(ack["params"]["notifications"], json!({ "toolsListChanged": true }));
    modern(&mut client, "tools/list", json!({}));
    modern(&mut client, "tools/call", json!({ "name": "f__add_tool", "arguments": {} }));
    let notice = client.await_message("a notice", |it| it["method"] == "notifications/tools/list_changed");
    assert_eq!(notice["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listen);
}
