//! The gate: calls that wait for a person, run exactly once, are answered from the journal, or never run.

use serde_json::{Value, json};
use std::time::Duration;
use stories::{Client, Home, eventually, sample, text};

/// A home whose sample server writes lines, with this policy.
fn home(policy: Value) -> Home {
    let home = Home::new();
    let lines = home.path("lines.txt").display().to_string();
    home.configure(&json!({ "mcpServers": { "s": sample(&["--file", &lines]) }, "policy": policy }));
    home
}

/// The default policy with a hold of so many seconds.
fn auto(seconds: u64) -> Value {
    json!({ "approval": { "holdSeconds": seconds, "holdSecondsWithProgress": seconds } })
}

fn lines(home: &Home) -> Vec<String> {
    let text = std::fs::read_to_string(home.path("lines.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn host(home: &Home, name: &str) -> Client {
    let mut client = home.stdio(&["--host", name]);
    client.initialize("2025-11-25");
    client.await_tool("s__append_line");
    client
}

/// The calls that wait.
fn waiting(home: &Home) -> Vec<Value> {
    home.json(&["approval", "list"])["approvals"].as_array().unwrap().clone()
}

fn first_waiting(home: &Home) -> String {
    eventually("a waiting call", || Some(waiting(home).first()?["id"].as_str()?.to_owned()))
}

fn outcome(result: &Value) -> &str {
    let outcome = &result["_meta"]["dev.callgate/outcome"];
    outcome["error"].as_str().or(outcome["status"].as_str()).unwrap_or("ran")
}

const ORDER: &str = "s__append_line";

#[test]
fn a_call_that_may_change_something_waits_and_runs_once_when_its_retry_finds_the_approval() {
    let home = home(auto(0));
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    assert_eq!(text(&client.call("s__echo", json!({ "text": "reads run" }))), "reads run");
    let held = client.call(ORDER, json!({ "text": "one" }));
    assert_eq!((outcome(&held), held["isError"].as_bool()), ("pending", Some(false)), "{held}");
    assert_eq!(lines(&home), Vec::<String>::new());
    let all = waiting(&home);
    assert_eq!((all.len(), &all[0]["client"], &all[0]["tier"]), (1, &json!("cursor"), &json!("once")));
    // Identical calls are one item; what differs is another.
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "one" }))), "pending");
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": " one" }))), "pending");
    assert_eq!(waiting(&home).len(), 2);
    let id = all[0]["id"].as_str().unwrap();
    let decided = home.json(&["approval", "approve", id, "--remember", "once"]);
    assert_eq!((&decided["winner"], &decided["follows"]), (&json!("you"), &json!("next_call")));
    assert_eq!(lines(&home), Vec::<String>::new(), "an approval runs nothing by itself");
    // Another client's identical call finds nothing.
    let mut other = host(&home, "zed");
    assert_eq!(outcome(&other.call(ORDER, json!({ "text": "one" }))), "pending");
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "one" }))), "ran");
    assert_eq!(lines(&home), ["one"]);
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "one" }))), "pending", "used up");
    let digest = all[0]["digest"].as_str().unwrap();
    let (_, again, err) = home.run(&["approval", "deny", id, "--digest", digest, "--json"]);
    assert!(again.contains("another"), "{again}{err}");
    assert_eq!(lines(&home), ["one"]);
}

#[test]
fn reads_never_ask_and_a_hundred_identical_calls_are_one_card() {
    let home = home(auto(0));
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    for number in 0..40 {
        let text = format!("{number}");
        assert_eq!(outcome(&client.call("s__echo", json!({ "text": text }))), "ran");
    }
    assert_eq!(waiting(&home).len(), 0);
    let ids: Vec<Value> = (0..100)
        .map(|_| client.send("tools/call", json!({ "name": ORDER, "arguments": { "text": "same" } })))
        .collect();
    for id in &ids {
        assert_eq!(outcome(&client.answer(id)["result"]), "pending");
    }
    assert_eq!(waiting(&home).len(), 1);
    assert_eq!(lines(&home), Vec::<String>::new());
}

#[test]
fn a_server_whose_calls_are_denied_again_and_again_asks_no_more_until_a_person_lets_it() {
    let approval = json!({ "holdSeconds": 0, "holdSecondsWithProgress": 0, "denialsPerMinute": 3 });
    let home = home(json!({ "approval": approval }));
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    let ask = |client: &mut Client, text: &str| client.call(ORDER, json!({ "text": text }));
    // One that waits on stays where it is.
    assert_eq!(outcome(&ask(&mut client, "stays")), "pending");
    let stays = first_waiting(&home);
    for text in ["a", "b", "c"] {
        assert_eq!(outcome(&ask(&mut client, text)), "pending", "{text}");
        let all = waiting(&home);
        let id = all.iter().find(|it| it["id"] != json!(stays)).unwrap()["id"].as_str().unwrap().to_owned();
        home.json(&["approval", "deny", &id]);
    }
    let refused = ask(&mut client, "d");
    assert_eq!(outcome(&refused), "denied");
    let said = text(&refused);
    assert!(said.contains("5 more minutes") && said.contains("3 of them") && !said.contains("callgate "), "{said}");
    assert_eq!(waiting(&home).len(), 1);
    // Of this client and what asks only.
    assert_eq!(outcome(&client.call("s__echo", json!({ "text": "reads run" }))), "ran");
    let mut other = host(&home, "zed");
    assert_eq!(outcome(&ask(&mut other, "d")), "pending");
    let resting = |document: Value| {
        let all = document["resting"].as_array().unwrap().clone();
        all.iter().map(|it| format!("{} {} {}", it["server"], it["client"], it["denials"])).collect::<Vec<_>>()
    };
    let expect = ["\"s\" \"cursor\" 3"];
    assert_eq!(resting(home.json(&["status"])), expect);
    assert_eq!(resting(home.json(&["approval", "list"])), expect);
    assert_eq!(resting(home.json(&["server", "show", "s"])), expect);
    let (_, shown, _) = home.run(&["status"]);
    assert!(shown.contains("callgate resume s"), "{shown}");

    let (code, _, err) = home.run(&["resume", "nobody"]);
    assert!(code == 1 && err.contains("nobody"), "{code} {err}");
    assert_eq!(resting(home.json(&["resume", "s"])), Vec::<String>::new());
    assert_eq!(outcome(&ask(&mut client, "d")), "pending");
    let (code, _, err) = home.run(&["resume", "s"]);
    assert!(code == 1 && err.contains("not refused"), "{code} {err}");
    let all = home.json(&["audit", "list", "--kind", "setting"])["rows"].as_array().unwrap().clone();
    let rows: Vec<String> = all.iter().map(Value::to_string).filter(|row| row.contains("until_ms")).collect();
    assert_eq!(rows.len(), 2, "{rows:#?}");
}

#[test]
fn a_decision_reaches_who_still_waits_and_a_no_says_why() {
    let home = home(auto(30));
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    let call = client.send("tools/call", json!({ "name": ORDER, "arguments": { "text": "a" } }));
    let id = first_waiting(&home);
    let edited = home.run(&["approval", "approve", &id, "--args", "{\"text\": 5}"]);
    assert_eq!(edited.0, 2, "{edited:?}");
    assert!(edited.2.contains("/text"), "{edited:?}");
    let decided = home.json(&["approval", "approve", &id, "--args", "{\"text\": \"b\"}"]);
    assert_eq!(decided["follows"], "runs");
    let result = client.answer(&call)["result"].take();
    assert!(text(&result).contains("A person changed the arguments"), "{result}");
    assert_eq!(result["_meta"]["dev.callgate/editedArguments"], json!({ "text": "b" }));
    assert_eq!(lines(&home), ["b"]);

    let call = client.send("tools/call", json!({ "name": "s__delete_line", "arguments": {} }));
    let id = first_waiting(&home);
    home.json(&["approval", "deny", &id, "--reason", "not on a Friday"]);
    let result = client.answer(&call)["result"].take();
    assert_eq!(outcome(&result), "denied");
    assert!(text(&result).contains("not on a Friday"), "{result}");
    assert_eq!(lines(&home), ["b"]);
}

#[test]
fn an_approval_is_remembered_for_its_tool_and_client_only() {
    let home = home(auto(0));
    let _hub = home.serve();
    let (mut cursor, mut zed) = (host(&home, "cursor"), host(&home, "zed"));
    cursor.call(ORDER, json!({ "text": "1" }));
    home.json(&["approval", "approve", &first_waiting(&home)]);
    for text in ["1", "2", "3"] {
        assert_eq!(outcome(&cursor.call(ORDER, json!({ "text": text }))), "ran");
    }
    assert_eq!(outcome(&zed.call(ORDER, json!({ "text": "1" }))), "pending");
    assert_eq!(outcome(&cursor.call("s__slow_write", json!({ "text": "1", "ms": 1 }))), "pending");
    assert_eq!(lines(&home), ["1", "2", "3"]);
    // A tool that asks each time is remembered for the session at most.
    cursor.call("s__delete_line", json!({ "line": 3 }));
    let id = eventually("it", || {
        waiting(&home).iter().find(|it| it["tool"] == "delete_line").map(|it| it["id"].as_str().unwrap().to_owned())
    });
    let (code, _, err) = home.run(&["approval", "approve", &id, "--remember", "tool"]);
    assert!(code != 0 && err.contains("session"), "{code} {err}");
    home.json(&["approval", "approve", &id, "--remember", "session"]);
    assert_eq!(outcome(&cursor.call("s__delete_line", json!({ "line": 3 }))), "ran");
    assert_eq!(outcome(&cursor.call("s__delete_line", json!({ "line": 2 }))), "ran");
    let mut second = host(&home, "cursor");
    assert_eq!(outcome(&second.call("s__delete_line", json!({ "line": 1 }))), "pending", "another session");
    assert_eq!(lines(&home), ["1"]);
}

#[test]
fn what_waits_and_what_is_approved_outlives_the_hub() {
    let home = home(auto(0));
    let mut hub = home.serve();
    let mut client = host(&home, "cursor");
    client.call(ORDER, json!({ "text": "approved" }));
    let approved = first_waiting(&home);
    home.json(&["approval", "approve", &approved, "--remember", "once"]);
    client.call(ORDER, json!({ "text": "waiting" }));
    hub.kill();
    let _second = home.serve();
    client.await_tool(ORDER);
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "approved" }))), "ran");
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "waiting" }))), "pending");
    let all = waiting(&home);
    assert_eq!(all.len(), 1, "{all:?}");
    let shown = home.json(&["approval", "show", all[0]["id"].as_str().unwrap()]);
    assert_eq!(shown["arguments"], r#"{"text":"waiting"}"#);
    home.json(&["approval", "approve", all[0]["id"].as_str().unwrap(), "--remember", "once"]);
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "waiting" }))), "ran");
    assert_eq!(lines(&home), ["approved", "waiting"]);
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "approved" }))), "pending");
}

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
fn a_hundred_decisions_have_one_winner() {
    let home = home(auto(0));
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    client.call(ORDER, json!({ "text": "x" }));
    let id = first_waiting(&home);
    let digest = waiting(&home)[0]["digest"].as_str().unwrap().to_owned();
    let winners: Vec<bool> = std::thread::scope(|scope| {
        let decide = |deny: bool| {
            let verb = if deny { "deny" } else { "approve" };
            let (_, decided, err) = home.run(&["approval", verb, &id, "--digest", &digest, "--json"]);
            let decided: Value = serde_json::from_str(&decided).unwrap_or_else(|_| panic!("{decided}{err}"));
            decided["winner"] == "you"
        };
        let all: Vec<_> = (0..100).map(|n| scope.spawn(move || decide(n % 2 == 0))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(winners.iter().filter(|&&won| won).count(), 1);
}

#[test]
fn a_lost_reply_is_found_again_instead_of_running_twice() {
    let home = home(json!({ "default": "allow", "approval": { "holdSeconds": 1 } }));
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    let slow = json!({ "name": "s__slow_write", "arguments": { "text": "once", "ms": 400 } });
    let call = client.send("tools/call", slow.clone());
    eventually("it runs", || (home.json(&["server", "show", "s"])["running"] == 1).then_some(()));
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": call } }));
    let again = client.result("tools/call", slow.clone());
    // The sample server obeys the cancel, so that it did not run; nobody can tell, and nobody runs it by itself.
    assert_eq!(outcome(&again), "outcome_unknown", "{again}");
    assert_eq!(outcome(&client.result("tools/call", slow)), "ran");
    assert_eq!(lines(&home), ["once"]);
}

#[test]
fn a_cancel_while_it_waits_leaves_it_to_be_decided_and_redeemed() {
    let home = home(auto(30));
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    let order = json!({ "name": ORDER, "arguments": { "text": "late" } });
    let call = client.send("tools/call", order.clone());
    let id = first_waiting(&home);
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": call } }));
    eventually("nobody waits", || (waiting(&home)[0]["waiters"] == 0).then_some(()));
    home.json(&["approval", "approve", &id, "--remember", "once"]);
    assert!(lines(&home).is_empty());
    assert_eq!(outcome(&client.result("tools/call", order)), "ran");
    assert_eq!(lines(&home), ["late"]);
    assert!(client.hear_within(Duration::from_millis(1)).is_none(), "the cancelled call has no answer");
}

#[test]
fn rules_decide_before_tiers_and_what_is_denied_is_unknown() {
    let policy = json!({ "rules": [
        { "name": "orders", "tools": ["s__append_*"], "when": "args.text != 'bad'", "then": "allow" },
        { "name": "bad", "tools": ["s__append_*"], "when": "args.text == 'bad'", "then": "deny", "reason": "it is bad" },
        { "name": "never", "tools": ["s__delete_*"], "then": "deny" },
    ] });
    let home = home(policy);
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "good" }))), "ran");
    let denied = client.call(ORDER, json!({ "text": "bad" }));
    assert_eq!(outcome(&denied), "denied");
    assert!(text(&denied).contains("it is bad"), "{denied}");
    assert!(!client.tools().iter().any(|tool| tool == "s__delete_line"));
    let (hidden, unknown) = (client.call("s__delete_line", json!({})), client.call("s__no_such", json!({})));
    assert_eq!((outcome(&hidden), outcome(&unknown)), ("unknown_tool", "unknown_tool"));
    let explained = home.json(&["policy", "explain", ORDER, "{\"text\": \"bad\"}"]);
    assert_eq!((&explained["tools"][0]["then"], &explained["tools"][0]["rule"]), (&json!("deny"), &json!("bad")));
    assert_eq!(lines(&home), ["good"]);
}

#[test]
fn a_pause_holds_what_may_change_something_and_lets_it_go_on() {
    let home = home(auto(30));
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    let call = client.send("tools/call", json!({ "name": ORDER, "arguments": { "text": "first" } }));
    home.json(&["approval", "approve", &first_waiting(&home)]);
    assert_eq!(outcome(&client.answer(&call)["result"]), "ran");
    home.json(&["pause"]);
    assert_eq!(text(&client.call("s__echo", json!({ "text": "reads run" }))), "reads run");
    let call = client.send("tools/call", json!({ "name": ORDER, "arguments": { "text": "second" } }));
    first_waiting(&home);
    assert_eq!(lines(&home), ["first"]);
    home.json(&["resume"]);
    assert_eq!(outcome(&client.answer(&call)["result"]), "ran");
    assert_eq!(lines(&home), ["first", "second"]);
}

#[test]
fn a_pause_and_a_log_that_was_put_back_hold_calls_over_a_restart() {
    let home = home(json!({ "default": "allow", "approval": { "holdSeconds": 0 } }));
    let hub = home.serve();
    let mut client = host(&home, "cursor");
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "1" }))), "ran");
    home.json(&["pause"]);
    drop(hub);
    let hub = home.serve();
    client.await_tool(ORDER);
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "2" }))), "pending");
    home.json(&["resume"]);
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "3" }))), "ran");
    assert_eq!(home.run(&["stop"]).0, 0);
    drop(hub);
    // The anchor is gone: what is there may be an older file.
    std::fs::remove_file(home.path("audit.anchor")).unwrap();
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    let (code, told, _) = home.run(&["audit", "verify", "--json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((code, &told["whole"]), (1, &json!(false)), "{told}");
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "4" }))), "pending");
    assert_eq!(text(&client.call("s__echo", json!({ "text": "reads run" }))), "reads run");
    let (code, out, err) = home.run(&["audit", "verify", "--accept", told["accept"].as_str().unwrap()]);
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "5" }))), "ran");
    assert_eq!(home.run(&["audit", "verify"]).0, 0);
    assert_eq!(lines(&home), ["1", "3", "5"]);
}

#[test]
fn what_was_decided_can_be_looked_up_without_its_values() {
    let home = home(auto(1));
    let mut hub = home.serve();
    let mut client = host(&home, "cursor");
    let call = |client: &mut Client, text: &str| client.call(ORDER, json!({ "text": text }));
    call(&mut client, "secret-one");
    let denied = first_waiting(&home);
    home.json(&["approval", "deny", &denied, "--reason", "not this week"]);
    call(&mut client, "secret-one");
    call(&mut client, "secret-two");
    let ran = first_waiting(&home);
    home.json(&["approval", "approve", &ran, "--remember", "once"]);
    call(&mut client, "secret-two");
    call(&mut client, "secret-three");
    let third = first_waiting(&home);
    let check = |home: &Home| {
        let shown = home.json(&["approval", "show", &denied]);
        assert_eq!((&shown["approval"]["state"], &shown["decision"]["kind"]), (&json!("denied"), &json!("denied")));
        assert_eq!(shown["decision"]["reason"], "not this week");
        assert!(shown["decision"]["by"].as_str().unwrap().contains("(pid "), "{shown}");
        assert!(shown["fields"][0].as_str().unwrap().starts_with("text: string 12 B #"), "{shown}");
        assert!(!shown.to_string().contains("secret-one"), "{shown}");
        let shown = home.json(&["approval", "show", &ran]);
        assert_eq!((&shown["approval"]["state"], &shown["outcome"]), (&json!("done"), &json!("ok")), "{shown}");
        assert_eq!(shown["decision"]["remember"], "once");
        assert!(!shown.to_string().contains("secret-two"), "{shown}");
        let page = home.json(&["approval", "list", "--decided"]);
        let ids: Vec<&str> =
            page["approvals"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
        assert_eq!(ids, [ran.as_str(), denied.as_str()]);
        let first = home.json(&["approval", "list", "--decided", "--limit", "1"]);
        assert_eq!(first["approvals"][0]["id"], ran.as_str());
        let before = first["before"].to_string();
        let next = home.json(&["approval", "list", "--decided", "--limit", "1", "--before", &before]);
        assert_eq!(next["approvals"][0]["id"], denied.as_str());
        let waits = home.json(&["approval", "show", &third]);
        assert_eq!((&waits["approval"]["asked_before"], &waits["approval"]["denied_before"]), (&json!(2), &json!(1)));
        assert_eq!(home.json(&["approval", "list"])["approvals"][0]["asked_before"], 2);
        assert!(waits["arguments"].as_str().unwrap().contains("secret-three"));
    };
    check(&home);
    hub.kill();
    let _hub = home.serve();
    check(&home);
    let (code, _, error) = home.run(&["approval", "show", "nothing"]);
    assert!(code != 0 && error.contains("nothing"), "{error}");
}

#[test]
fn a_person_sees_what_hosts_do_not_and_what_cannot_be_checked() {
    let home = home(json!({ "rules": [
        { "name": "no orders", "tools": ["s__append_*"], "then": "deny" },
        { "name": "no dots", "resources": ["sample://dot.png"], "then": "deny", "reason": "no pictures" },
    ] }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "cursor"]);
    client.initialize("2025-11-25");
    client.await_tool("s__echo");
    assert!(client.tools().iter().all(|tool| tool != ORDER));
    let hidden = client.call(ORDER, json!({ "text": "1" }));
    let stranger = client.call("s__nothing", json!({}));
    assert_eq!(outcome(&hidden), "unknown_tool");
    assert_eq!(text(&hidden).split("call").next(), text(&stranger).split("call").next());
    let read = client.ask("resources/read", json!({ "uri": "sample://dot.png" }))["error"].take();
    assert_eq!((&read["code"], &read["data"]["error"]), (&json!(-32602), &json!("denied")), "{read}");
    // The person is told which tool it was, and which rule.
    let by_rule = |rule: &str| {
        eventually("the row of what a rule refused", || {
            let rows = home.json(&["audit", "list"])["rows"].as_array().unwrap().clone();
            rows.into_iter().find(|row| row["rule"] == rule)
        })
    };
    let row = by_rule("no orders");
    assert_eq!((&row["tool"], &row["outcome"]), (&json!(ORDER), &json!("denied")), "{row}");
    assert_eq!(by_rule("no dots")["outcome"], "denied");
    let explained = home.json(&["policy", "explain", ORDER]);
    let tool = &explained["tools"][0];
    assert_eq!((&tool["then"], &tool["rule"], &tool["unlisted"]), (&json!("deny"), &json!("no orders"), &json!(true)));
    let all = home.json(&["policy", "explain", "--all"])["tools"].as_array().unwrap().clone();
    assert!(all.iter().any(|tool| tool["name"] == ORDER));
    let report = home.json(&["policy", "check"]);
    assert_eq!((&report["rules"][0]["matches"], &report["rules"][1]["matches"]), (&json!(1), &json!(1)), "{report}");
    assert_eq!(report["problems"], json!([]), "{report}");
}

#[test]
fn a_config_that_loosens_is_shown_where_a_person_looks() {
    let home = home(json!({ "default": "ask" }));
    let _hub = home.serve();
    let mut config: Value =
        serde_json::from_str(&std::fs::read_to_string(home.path("callgate.jsonc")).unwrap()).unwrap();
    config["policy"]["default"] = json!("allow");
    home.configure(&config);
    let status = eventually("the change to be held", || {
        let status = home.json(&["status"]);
        status["held"]["hash"].is_string().then_some(status)
    });
    let hash = status["held"]["hash"].as_str().unwrap();
    let command = format!("callgate catalog approve @policy --hash {hash}");
    for words in [["status"].as_slice(), &["catalog", "diff"]] {
        let (_, out, _) = home.run(words);
        let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(&command) && flat.contains("without a person"), "{out}");
    }
    home.json(&["catalog", "approve", "@policy", "--hash", hash]);
    assert_eq!(home.json(&["status"])["held"], json!({ "changes": [], "hash": null }));
}
