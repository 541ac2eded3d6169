//! Calls that may have run are not run again: by their key, after a crash, where only the reply was lost.

use crate::orders::{ORDER, home, host, lines};
use serde_json::{Value, json};
use stories::{eventually, outcome, text};

#[test]
fn a_key_makes_a_call_happen_once() {
    let home = home(json!({ "default": "allow" }));
    let mut hub = home.serve();
    let mut client = host(&home, "cursor");
    let keyed = |text: &str, key: &str| json!({ "name": ORDER, "arguments": { "text": text }, "_meta": { "dev.callgate/idempotencyKey": key } });
    let first = client.result("tools/call", keyed("one", "k1"));
    assert_eq!((outcome(&first), first["_meta"].get("dev.callgate/replayed")), ("ran", None));
    for _ in 0..3 {
        let again = client.result("tools/call", keyed("one", "k1"));
        assert_eq!((text(&again), &again["_meta"]["dev.callgate/replayed"]), (text(&first), &json!(true)));
    }
    assert_eq!(outcome(&client.result("tools/call", keyed("two", "k1"))), "idempotency_conflict");
    // The key of another client is none of this one's.
    let mut other = host(&home, "zed");
    assert_eq!(outcome(&other.result("tools/call", keyed("two", "k1"))), "ran");
    assert_eq!(lines(&home), ["one", "two"]);
    // Many at once, and a hub that dies in between.
    let slow = json!({ "name": "s__slow_write", "arguments": { "text": "slow", "ms": 300 }, "_meta": { "dev.callgate/idempotencyKey": "k2" } });
    let calls: Vec<Value> = (0..50).map(|_| client.send("tools/call", slow.clone())).collect();
    for call in calls {
        assert_eq!(outcome(&client.answer(&call)["result"]), "ran");
    }
    assert_eq!(lines(&home), ["one", "two", "slow"]);
    // Answered is not yet written down; what is declared now is written after it.
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "later" }))), "ran");
    hub.kill();
    let _second = home.serve();
    client.await_tool(ORDER);
    let after = client.result("tools/call", keyed("one", "k1"));
    assert_eq!((text(&after), &after["_meta"]["dev.callgate/replayed"]), (text(&first), &json!(true)), "{after}");
    assert_eq!(outcome(&client.result("tools/call", keyed("two", "k1"))), "idempotency_conflict");
    assert_eq!(lines(&home), ["one", "two", "slow", "later"]);
}

#[test]
fn a_call_cut_off_by_a_crash_is_unknown_until_a_person_settles_it() {
    let home = home(json!({ "default": "allow" }));
    let mut hub = home.serve();
    let mut client = host(&home, "cursor");
    let slow = |key: &str| {
        let arguments = json!({ "text": key, "ms": 60_000 });
        json!({ "name": "s__slow_write", "arguments": arguments, "_meta": { "dev.callgate/idempotencyKey": key } })
    };
    client.send("tools/call", slow("k"));
    eventually("its server has it", || (home.json(&["server", "show", "s"])["running"] == 1).then_some(()));
    assert_eq!(home.json(&["call", "list"])["calls"][0]["standing"], "running");
    hub.kill();
    let _second = home.serve();
    client.await_tool(ORDER);
    assert_eq!(outcome(&client.result("tools/call", slow("k"))), "outcome_unknown");
    let calls = home.json(&["call", "list"]);
    assert_eq!((&calls["unknown"], &calls["calls"][0]["standing"]), (&json!(1), &json!("unknown")));
    let id = calls["calls"][0]["call"].as_str().unwrap();
    home.json(&["call", "settle", id, "--ran"]);
    assert_eq!(outcome(&client.result("tools/call", slow("k"))), "already_ran");
    assert_eq!(home.json(&["call", "list"])["unknown"], 0);
}

#[test]
fn a_lost_reply_is_found_again_instead_of_running_twice() {
    let home = home(json!({ "default": "allow", "approval": { "holdSeconds": 1 } }));
    home.change(|config| config["mcpServers"]["s"]["timeouts"] = json!({ "callSeconds": 2 }));
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    let slow = json!({ "name": "s__slow_write", "arguments": { "text": "once", "ms": 400 } });
    let call = client.send("tools/call", slow.clone());
    eventually("it runs", || (home.json(&["server", "show", "s"])["running"] == 1).then_some(()));
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": call } }));
    let again = client.result("tools/call", slow.clone());
    // The sample server obeys the cancel and never answers, so that it did not run; nobody can tell, and nobody runs it by
    // itself.
    assert_eq!(outcome(&again), "outcome_unknown", "{again}");
    let third = client.result("tools/call", slow);
    assert_eq!(outcome(&third), "ran", "{again} {third}");
    assert_eq!(lines(&home), ["once"]);
}
