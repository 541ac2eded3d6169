//! Calls that wait for a person: one card for each, decided once, run once by whoever asks again, and not lost with the
//! hub.

use crate::orders::{ORDER, auto, first_waiting, home, host, lines, waiting};
use serde_json::{Value, json};
use std::time::Duration;
use stories::{Client, Home, eventually, outcome, text};

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

/// A client has room for 64 calls that wait; one more is refused, theirs stay, and nobody else is kept out by it.
#[test]
fn the_sixty_fifth_waiting_call_of_a_client_is_refused_and_its_others_can_be_decided() {
    let home = home(auto(0));
    let _hub = home.serve();
    let (mut cursor, mut zed) = (host(&home, "cursor"), host(&home, "zed"));
    let order = |client: &mut Client, n: usize| client.call(ORDER, json!({ "text": n.to_string() }));
    for n in 0..64 {
        assert_eq!(outcome(&order(&mut cursor, n)), "pending", "{n}");
    }
    let refused = order(&mut cursor, 64);
    assert_eq!(outcome(&refused), "queue_full", "{refused}");
    assert!(text(&refused).contains("Nothing was executed"), "{refused}");
    assert_eq!(outcome(&order(&mut zed, 64)), "pending");
    let all = waiting(&home);
    assert_eq!(all.iter().filter(|it| it["client"] == "cursor").count(), 64);
    let of = |n: usize| {
        let is_it =
            |it: &&Value| it["client"] == "cursor" && it["preview"].to_string().contains(&format!("\\\"{n}\\\""));
        all.iter().find(is_it).unwrap_or_else(|| panic!("{n} {all:?}"))["id"].as_str().unwrap()
    };
    home.json(&["approval", "deny", of(0)]);
    assert_eq!(outcome(&order(&mut cursor, 64)), "pending");
    home.json(&["approval", "approve", of(7), "--remember", "once"]);
    assert_eq!(outcome(&order(&mut cursor, 7)), "ran");
    assert_eq!(lines(&home), ["7"]);
}

/// Who sends a progress token hears that his call waits, by that token, and is kept for as long as that may last; who
/// sends none is not, and a host that was measured has its own time.
#[test]
fn a_call_that_waits_is_told_of_by_its_progress_token_for_as_long_as_it_is_held() {
    let home = home(auto(0));
    home.change(|config| {
        config["policy"]["approval"]["holdSeconds"] = json!(0);
        config["policy"]["approval"]["holdSecondsWithProgress"] = json!(45);
        config["hosts"] = json!({ "zed": { "holdSeconds": 45 } });
    });
    let _hub = home.serve();
    let (mut cursor, mut zed) = (host(&home, "cursor"), host(&home, "zed"));
    assert_eq!(outcome(&cursor.call(ORDER, json!({ "text": "no token" }))), "pending");
    let asks = |text: &str, token: Value| json!({ "name": ORDER, "arguments": { "text": text }, "_meta": { "progressToken": token } });
    let held = cursor.send("tools/call", asks("token", json!("t-1")));
    let other = zed.send("tools/call", json!({ "name": ORDER, "arguments": { "text": "measured" } }));
    let notice = cursor.await_message("a word of the wait", |it| it["method"] == "notifications/progress");
    assert_eq!(notice["params"]["progressToken"], "t-1", "{notice}");
    assert!(notice["params"]["progress"].as_f64().unwrap() > 0.0, "{notice}");
    for (host, text) in [("cursor", "\\\"token\\\""), ("zed", "measured")] {
        let all = waiting(&home);
        let is_it = |it: &&Value| it["client"] == host && it["preview"].to_string().contains(text);
        let id = all.iter().find(is_it).unwrap_or_else(|| panic!("{all:?}"))["id"].as_str().unwrap();
        home.json(&["approval", "approve", id, "--remember", "once"]);
    }
    assert_eq!(outcome(&cursor.answer(&held)["result"]), "ran");
    assert_eq!(outcome(&zed.answer(&other)["result"]), "ran", "it was still held");
    assert_eq!(lines(&home).len(), 2);
}

/// A decision is about what was shown: with the digest of anything else it is none.
#[test]
fn a_decision_about_other_arguments_than_wait_decides_nothing() {
    let home = home(auto(0));
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    for text in ["one", "two"] {
        assert_eq!(outcome(&client.call(ORDER, json!({ "text": text }))), "pending");
    }
    let all = waiting(&home);
    let part = |at: usize, key: &str| all[at][key].as_str().unwrap();
    let nothing = format!("sha256:{}", "0".repeat(64));
    for verb in ["approve", "deny"] {
        for digest in [nothing.as_str(), part(1, "digest")] {
            let (code, out, err) = home.run(&["approval", verb, part(0, "id"), "--digest", digest]);
            assert!(code != 0 && err.contains("its arguments are others"), "{verb}: {code} {out}{err}");
        }
    }
    assert!(waiting(&home).iter().all(|it| it["state"] == "waiting"));
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "one" }))), "pending");
    home.json(&["approval", "approve", part(0, "id"), "--digest", part(0, "digest"), "--remember", "once"]);
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "one" }))), "ran");
    assert_eq!(lines(&home), ["one"]);
}
