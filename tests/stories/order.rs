//! Progress, cancellation and notices: in order, none lost, each to its own asker.

use crate::fake::fake;
use serde_json::{Value, json};
use stories::{Home, sample, text};

#[test]
fn progress_comes_whole_in_order_and_before_the_answer() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "story"]);
    client.initialize("2025-11-25");
    client.await_tool("f__burst");
    for run in 0..200 {
        let token = if run % 2 == 0 { json!(format!("t-{run}")) } else { json!(run) };
        let params = json!({ "name": "f__burst", "arguments": { "count": 200 }, "_meta": { "progressToken": token } });
        let id = client.send("tools/call", params);
        for step in 1..=200 {
            let notice = client.hear();
            assert_eq!(notice["method"], "notifications/progress", "run {run}, step {step}: {notice}");
            assert_eq!(notice["params"], json!({ "progressToken": token, "progress": step }));
        }
        assert_eq!(client.hear()["id"], id);
    }
}

/// Ten thousand notices with terminal sequences: the first ones, some on the way, and the latest, none of them coloured.
#[test]
fn a_flood_of_progress_is_thinned_and_cleaned_and_ends_with_the_latest() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "story"]);
    client.initialize("2025-11-25");
    client.await_tool("f__burst");
    let arguments = json!({ "count": 10_000, "message": "\u{1b}[31mred\u{1b}[0m" });
    let params = json!({ "name": "f__burst", "arguments": arguments, "_meta": { "progressToken": "t" } });
    let start = std::time::Instant::now();
    let id = client.send("tools/call", params);
    let mut heard = Vec::new();
    loop {
        let message = client.hear();
        if message["id"] == id {
            assert_eq!(text(&message["result"]), "done");
            break;
        }
        assert_eq!(message["params"]["message"], "red", "{message}");
        heard.push(message["params"]["progress"].as_u64().unwrap());
    }
    // A burst, and one more in each hundredth of a second.
    let most = 258 + start.elapsed().as_millis() / 10;
    assert!(heard.len() as u128 <= most && heard.len() >= 256, "{} of {most}", heard.len());
    assert!(heard.is_sorted() && heard.last() == Some(&10_000), "{heard:?}");
}

#[test]
fn a_cancel_reaches_the_right_request_and_nothing_else() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut one = home.stdio(&["--host", "one"]);
    let mut two = home.stdio(&["--host", "two"]);
    for client in [&mut one, &mut two] {
        client.initialize("2025-11-25");
        client.await_tool("f__never");
    }
    let call = json!({ "name": "f__never", "arguments": {} });
    one.say(&json!({ "jsonrpc": "2.0", "id": 101, "method": "tools/call", "params": call }));
    // Answered after it was sent.
    assert_eq!(text(&one.call("f__echo", json!({}))), "{}");
    two.say(&json!({ "jsonrpc": "2.0", "id": 101, "method": "tools/call", "params": call }));
    assert_eq!(text(&two.call("f__echo", json!({}))), "{}");
    for id in [json!(101), json!("101"), json!(4711)] {
        one.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    }
    let seen: Value = serde_json::from_str(text(&one.call("f__seen", json!({})))).unwrap();
    let seen = seen.as_array().unwrap();
    let never: Vec<&Value> = seen.iter().filter(|it| it["params"]["name"] == "never").map(|it| &it["id"]).collect();
    let cancelled: Vec<&Value> = seen
        .iter()
        .filter(|it| it["method"] == "notifications/cancelled")
        .map(|it| &it["params"]["requestId"])
        .collect();
    assert_eq!(never.len(), 2);
    assert_eq!(cancelled, [never[0]], "{seen:?}");
}

#[test]
fn a_changed_list_is_told_once_and_only_when_it_changed() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "story"]);
    client.initialize("2025-11-25");
    client.await_tool("f__add_tool");
    client.call("f__add_tool", json!({}));
    client.await_message("the notice", |it| it["method"] == "notifications/tools/list_changed");
    assert!(client.tools().contains(&"f__added_0".to_owned()));
    client.call("f__same_list", json!({}));
    // A second real change: were the first told twice, or the empty one at all, it would come before this answer.
    client.call("f__add_tool", json!({}));
    client.await_message("the notice", |it| it["method"] == "notifications/tools/list_changed");
    assert!(client.tools().contains(&"f__added_1".to_owned()));
    assert!(client.hear_within(std::time::Duration::from_millis(100)).is_none());
}

#[test]
fn log_lines_of_a_call_reach_its_asker_at_its_level() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "story"]);
    client.initialize("2025-11-25");
    client.await_tool("f__shout");
    client.call("f__shout", json!({}));
    client.await_message("the log line", |it| it["method"] == "notifications/message");
    client.result("logging/setLevel", json!({ "level": "error" }));
    client.call("f__shout", json!({}));
    client.result("ping", json!({}));
    assert!(client.hear_within(std::time::Duration::from_millis(50)).is_none());
}

#[test]
fn a_slow_call_holds_nobody_up() {
    let home = Home::with(json!({ "s": sample(&[]) }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "story"]);
    client.initialize("2025-11-25");
    client.await_tool("s__slow");
    let slow = client.send("tools/call", json!({ "name": "s__slow", "arguments": { "ms": 300 } }));
    let quick = client.send("tools/call", json!({ "name": "s__echo", "arguments": { "text": "x" } }));
    assert_eq!(client.hear()["id"], quick);
    assert_eq!(client.hear()["id"], slow);
}

/// Who takes back a call that waits for its turn frees its place, and nothing of it reaches the server; one that is over
/// cannot be taken back.
#[test]
fn a_call_that_waits_for_its_turn_can_be_taken_back_and_one_that_is_over_cannot() {
    let home = Home::new();
    let lines = home.path("lines.txt").display().to_string();
    home.configure(&json!({ "mcpServers": { "s": sample(&["--file", &lines]) }, "policy": { "default": "allow" } }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "story"]);
    client.initialize("2025-11-25");
    client.await_tool("s__slow_write");
    let write = |text: &str, ms: u64| json!({ "name": "s__slow_write", "arguments": { "text": text, "ms": ms } });
    let first = client.send("tools/call", write("first", 700));
    let second = client.send("tools/call", write("second", 0));
    let third = client.send("tools/call", write("third", 0));
    client.result("ping", json!({}));
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": second } }));
    for id in [&first, &third] {
        assert_eq!(text(&client.answer(id)["result"]), "written");
    }
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": third } }));
    assert_eq!(text(&client.call("s__echo", json!({ "text": "goes on" }))), "goes on");
    assert_eq!(std::fs::read_to_string(home.path("lines.txt")).unwrap(), "first\nthird\n");
}
