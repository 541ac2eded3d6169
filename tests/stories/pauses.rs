//! What keeps calls from running for a while whatever the rules say: a pause, a log that was put back, a server whose calls
//! were denied again and again.

use crate::orders::{ORDER, auto, first_waiting, home, host, lines, waiting};
use serde_json::{Value, json};
use stories::{Client, outcome, text};

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

    let (_, log, _) = home.run(&["audit", "list", "--kind", "setting"]);
    assert!(log.contains("refused from now on") && !log.contains("by :"), "{log}");
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
fn approvals_from_before_and_from_within_a_pause_keep_what_they_are_worth_over_a_restart() {
    let home = home(auto(0));
    let mut hub = home.serve();
    let mut client = host(&home, "cursor");
    let approved = |client: &mut Client, text: &str| {
        assert_eq!(outcome(&client.call(ORDER, json!({ "text": text }))), "pending");
        let card = waiting(&home).into_iter().find(|it| it["state"] == "waiting").unwrap();
        home.json(&["approval", "approve", card["id"].as_str().unwrap(), "--remember", "once"]);
    };
    approved(&mut client, "before");
    home.json(&["pause"]);
    approved(&mut client, "within");
    hub.kill();
    let _second = home.serve();
    client.await_tool(ORDER);
    // Who decided in the pause knew of it; what was approved before it waits for its end, and runs then.
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "within" }))), "ran");
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "before" }))), "pending");
    assert_eq!(lines(&home), ["within"]);
    home.json(&["resume"]);
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "before" }))), "ran");
    assert_eq!(lines(&home), ["within", "before"]);
}
