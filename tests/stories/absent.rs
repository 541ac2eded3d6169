//! What keeps a waiting call from running whoever approves it is said on its card and in the answer to an approval, and who
//! changes the servers is told what follows.

use crate::orders::{ORDER, auto, home, host, lines, waiting};
use serde_json::{Value, json};
use stories::{Home, binary, eventually, outcome};

/// Words of what a command prints, on one line.
fn said(home: &Home, words: &[&str]) -> String {
    let (code, out, err) = home.run(words);
    assert_eq!(code, 0, "{words:?}: {out}{err}");
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_card_says_what_keeps_its_call_from_running_whoever_approves_it() {
    let home = home(auto(0));
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    let mut check = |text: &str, verb: &str, told: &str, expect: &str, end: &str| {
        assert_eq!(outcome(&client.call(ORDER, json!({ "text": text }))), "pending");
        let card = eventually("its card", || {
            waiting(&home).iter().find(|card| card["preview"].as_str().unwrap().contains(text)).cloned()
        });
        let id = card["id"].as_str().unwrap();
        assert_eq!(card["keeps"], Value::Null, "{card}");
        let after = said(&home, &["server", verb, "s"]);
        assert!(after.contains(told), "{verb}: {after}");
        let shown = said(&home, &["approval", "show", id]);
        assert!(shown.contains(expect) && !shown.contains("BLOCKED"), "{verb}: {shown}");
        assert!(!shown.contains("it runs when"), "{verb}: {shown}");
        let approved = said(&home, &["approval", "approve", id, "--remember", "once"]);
        assert!(approved.contains("It can't run now") && approved.contains(expect), "{verb}: {approved}");
        if end.is_empty() {
            return;
        }
        let after = said(&home, &["server", end, "s"]);
        assert!(after.contains("tools"), "{end}: {after}");
        client.await_tool(ORDER);
        assert_eq!(outcome(&client.call(ORDER, json!({ "text": text }))), "ran", "{verb}");
    };
    let disabled = "1 call of it waits or is approved and cannot run before that";
    check("one", "disable", disabled, "is disabled (callgate server enable s)", "enable");
    check("two", "stop", "stopped by a person", "was stopped by a person (callgate server start s)", "start");
    let removed = "1 call of it waits or is approved and cannot run any more";
    check("three", "remove", removed, "there is no server `s` in the config any more", "");
    assert_eq!(lines(&home), ["one", "two"]);
}

#[test]
fn a_card_says_that_a_tool_is_gone_or_denied_and_that_its_server_fails() {
    let home = home(auto(0));
    let mut config = home.config();
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "one" }))), "pending");
    let keeps = |expect: &str| {
        eventually(expect, || {
            let keeps = waiting(&home)[0]["keeps"].clone();
            keeps.as_str().is_some_and(|keeps| keeps.contains(expect)).then_some(())
        });
    };
    config["policy"]["rules"] = json!([{ "name": "no orders", "tools": ["s__append_*"], "then": "deny" }]);
    home.configure(&config);
    keeps("denied by the rule `no orders`");
    config["policy"]["rules"] = json!([]);
    config["mcpServers"]["s"]["command"] = json!("/nowhere/at/all");
    home.configure(&config);
    // What was approved goes on; there is no other launch that could fail.
    assert_eq!(waiting(&home).len(), 1);
    said(&home, &["server", "remove", "s"]);
    keeps("there is no server `s`");
}

#[test]
fn who_adds_a_server_is_told_what_is_new_and_of_the_one_review() {
    let home = Home::new();
    let _hub = home.serve();
    let callgate = binary("callgate").display().to_string();
    let added = said(&home, &["server", "add", "s", "--", &callgate, "sample-server"]);
    for part in ["added s", "tools are new:", "run without asking", "ask a person", "callgate catalog diff --server s"]
    {
        assert!(added.contains(part), "{part}: {added}");
    }
    let counts = |text: &str, before: &str| -> usize {
        let word = text.split(before).next().unwrap().split_whitespace().next_back().unwrap();
        word.parse().unwrap()
    };
    let new = counts(&added, " tools are new:");
    assert_eq!(new, counts(&added, " run without asking") + counts(&added, " ask a person"), "{added}");
    let diff = home.json(&["catalog", "diff", "--server", "s"]);
    let tools = diff["servers"][0]["entries"].as_array().unwrap().iter().filter(|entry| entry["kind"] == "tool");
    assert_eq!(new, tools.count(), "{diff}");
    let hash = diff["servers"][0]["hash"].as_str().unwrap();
    said(&home, &["catalog", "approve", "s", "--hash", hash]);
    said(&home, &["server", "disable", "s"]);
    let enabled = said(&home, &["server", "enable", "s"]);
    assert!(enabled.contains("s runs and offers") && !enabled.contains("new"), "{enabled}");
    let broken = said(&home, &["server", "add", "b", "--", "/nowhere/at/all"]);
    assert!(broken.contains("added b") && broken.contains("callgate server show b"), "{broken}");
    let json = home.json(&["server", "disable", "b"]);
    assert!(json["next"][0].as_str().unwrap().contains("callgate server enable b"), "{json}");
}
