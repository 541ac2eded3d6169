//! Values of calls that wait: nothing that is written down can be tried out for them, and what cannot be opened any more
//! is never run.

use serde_json::{Value, json};
use stories::{Client, Home, eventually, outcome, sample};

const ORDER: &str = "s__append_line";

fn home() -> Home {
    let home = Home::new();
    let lines = home.path("lines.txt").display().to_string();
    let approval = json!({ "holdSeconds": 0, "holdSecondsWithProgress": 0 });
    let mut server = sample(&["--file", &lines]);
    server["idempotencyArgument"] = json!("tag");
    home.configure(&json!({ "mcpServers": { "s": server }, "policy": { "approval": approval } }));
    home
}

fn host(home: &Home) -> Client {
    let mut client = home.stdio(&["--host", "cursor"]);
    client.initialize("2025-11-25");
    client.await_tool(ORDER);
    client
}

fn waiting(home: &Home) -> Vec<Value> {
    home.json(&["approval", "list"])["approvals"].as_array().unwrap().clone()
}

fn bytes(home: &Home) -> Vec<u8> {
    ["callgate.db", "callgate.db-wal"]
        .iter()
        .flat_map(|file| std::fs::read(home.path(file)).unwrap_or_default())
        .collect()
}

/// The digest of the arguments is what a person compares; with few possible values a plain one would tell them.
#[test]
fn no_digest_that_is_written_down_can_be_tried_out() {
    let home = home();
    let _hub = home.serve();
    let mut client = host(&home);
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "482913" }))), "pending");
    let shown = waiting(&home)[0]["digest"].as_str().unwrap().to_owned();
    let id = waiting(&home)[0]["id"].as_str().unwrap().to_owned();
    let plain = contract::arguments_digest(br#"{"text":"482913"}"#, None).unwrap();
    assert_ne!(shown, plain.to_string());
    let look = || {
        let (_, export, _) = home.run(&["audit", "export", "--format", "jsonl"]);
        assert!(export.contains(&shown), "what is shown stands in the log: {export}");
        assert!(!export.contains(&plain.to_string()[7..]), "{export}");
        assert!(!bytes(&home).windows(32).any(|part| part == plain.as_bytes()), "the database has it");
    };
    look();
    home.json(&["approval", "approve", &id, "--digest", &shown]);
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "482913" }))), "ran");
    look();
}

#[test]
fn what_cannot_be_opened_is_only_denied() {
    let home = home();
    let mut hub = home.serve();
    let mut client = host(&home);
    for text in ["waits", "approved"] {
        assert_eq!(outcome(&client.call(ORDER, json!({ "text": text }))), "pending");
    }
    let id = |text: &str| {
        let all = waiting(&home);
        let found = all.iter().find(|it| it["preview"].as_str().unwrap().contains(text)).unwrap();
        found["id"].as_str().unwrap().to_owned()
    };
    let (waits, approved) = (id("waits"), id("approved"));
    home.json(&["approval", "approve", &approved, "--remember", "once"]);
    drop(client);
    hub.kill();
    std::fs::remove_file(home.path("seal.key")).unwrap();

    let _hub = home.serve();
    let mut client = host(&home);
    let audit = home.json(&["status"])["audit"].as_str().unwrap().to_owned();
    assert!(audit.contains("seal.key"), "{audit}");
    assert_eq!(home.json(&["audit", "list", "--kind", "seal"])["rows"].as_array().unwrap().len(), 1);
    for id in [&waits, &approved] {
        let (code, out, err) = home.run(&["approval", "approve", id]);
        assert!(code != 0 && err.contains("only be denied"), "{code} {out} {err}");
        let shown = home.run(&["approval", "show", id]).1;
        assert!(shown.contains("sealed") && !shown.contains("approval approve"), "{shown}");
    }
    // What was approved is not run unseen.
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "approved" }))), "pending");
    for id in [&waits, &approved] {
        home.json(&["approval", "deny", id]);
    }
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "approved" }))), "denied");
    let ask = |client: &mut Client| outcome(&client.call(ORDER, json!({ "text": "approved" }))).to_owned();
    eventually("a new question", || (ask(&mut client) == "pending").then_some(()));
    let new = eventually("the new question", || waiting(&home).first().cloned());
    assert_eq!(new["unreadable"], false);
    assert_eq!(std::fs::read_to_string(home.path("lines.txt")).unwrap_or_default(), "");
}
