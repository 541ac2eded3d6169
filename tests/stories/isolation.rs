//! One bad peer never harms another.

use crate::fake::fake;
use serde_json::{Value, json};
use stories::{Home, binary, command, sample, text};

/// What a debug build on two shared cores may add by itself, in µs.
const NOISE: f64 = 1_000.0;

/// Three times in turn: 2,000 calls of a good host with nobody stuck, then as many beside a host that reads nothing of
/// megabytes of results and progress, and a server that takes nothing of megabytes of calls.
fn free_and_stuck(home: &Home, bad: u64) -> Value {
    let mut load = command(&binary("load"));
    load.args(["beside", "--rounds", "3", "--calls", "2000", "--good", "good", "--bad", &format!("bad={bad}")]);
    let out = load.arg("--socket").arg(home.path("run/agent.sock")).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

/// Others have the cores now and then: of each kind the block that they disturbed least is compared. The 90th
/// percentile still tells of the hub where they take the 99th for themselves.
fn is_undisturbed(figures: &Value) -> bool {
    ["p90_us", "p99_us"].iter().all(|share| {
        let blocks = |state: &str| figures[state].as_array().unwrap().clone();
        let least = |state: &str| blocks(state).iter().map(|it| it[share].as_f64().unwrap()).fold(f64::MAX, f64::min);
        least("stuck") <= 2.0 * least("free") + NOISE
    })
}

#[test]
fn a_host_that_stops_reading_and_a_server_that_stops_reading_slow_nobody_down() {
    let home = Home::with(json!({ "good": sample(&[]), "bad": sample(&[]) }));
    let _hub = home.serve();
    let mut good = home.stdio(&["--host", "good"]);
    good.initialize("2025-11-25");
    good.await_tool("good__echo");
    good.await_tool("bad__echo");
    let bad = home.json(&["server", "show", "bad"])["server"]["pid"].as_u64().unwrap();
    let figures = free_and_stuck(&home, bad);
    assert!(is_undisturbed(&figures) || is_undisturbed(&free_and_stuck(&home, bad)), "{figures:#}");
    assert_eq!(text(&good.call("bad__echo", json!({ "text": "fine" }))), "fine");
}

#[test]
fn a_second_client_s_coming_and_going_changes_nothing_for_the_first() {
    let home = Home::with(json!({ "s": sample(&[]) }));
    let _hub = home.serve();
    let mut one = home.stdio(&["--host", "x"]);
    one.initialize("2025-11-25");
    one.await_tool("s__slow");
    let slow = one.send("tools/call", json!({ "name": "s__slow", "arguments": { "ms": 500 } }));
    let mut two = home.stdio(&["--host", "y"]);
    two.initialize("2024-11-05");
    assert_eq!(text(&two.call("s__echo", json!({ "text": "mine" }))), "mine");
    drop(two);
    assert!(one.answer(&slow)["result"]["content"].is_array());
}

#[cfg(unix)]
#[test]
fn connections_that_never_say_a_word_shut_nobody_out() {
    let home = Home::with(json!({ "s": sample(&[]) }));
    let _hub = home.serve();
    let socket = home.path("run/agent.sock");
    let silent: Vec<_> = (0..600).map(|_| std::os::unix::net::UnixStream::connect(&socket).unwrap()).collect();
    let mut host = home.stdio(&["--host", "x"]);
    host.initialize("2025-11-25");
    host.await_tool("s__echo");
    assert_eq!(text(&host.call("s__echo", json!({ "text": "here" }))), "here");
    drop(silent);
}

#[test]
fn a_call_that_a_careless_reader_would_take_for_another_is_refused() {
    let home = Home::with(json!({ "s": sample(&[]) }));
    let _hub = home.serve();
    let mut host = home.stdio(&["--host", "x"]);
    host.initialize("2025-11-25");
    host.await_tool("s__echo");
    let params = json!({ "name": "s__echo", "arguments": { "text": "a" }, "Name": "append_line" });
    let id = host.send("tools/call", params);
    assert_eq!(host.answer(&id)["error"]["code"], -32602);
    let refused = host.call("s__echo", json!({ "text": "a", "Text": "b" }));
    assert_eq!(refused["structuredContent"]["error"], "invalid_arguments");
    assert_eq!(refused["structuredContent"]["details"][0]["nearest"], "text");
}

/// A call that is not answered in its time ends, whatever else is asked of its server and in whichever era that is.
#[test]
fn a_call_that_is_not_answered_in_time_ends() {
    let entry = |mut entry: Value| {
        entry["timeouts"] = json!({ "callSeconds": 1 });
        entry
    };
    let home = Home::with(json!({ "legacy": entry(fake(&[])), "modern": entry(sample(&[])) }));
    let _hub = home.serve();
    let mut host = home.stdio(&[]);
    host.initialize("2025-11-25");
    for (name, arguments) in [("legacy__never", json!({})), ("modern__slow", json!({ "ms": 60_000 }))] {
        host.await_tool(name);
        let answer = host.call(name, arguments);
        assert_eq!(answer["_meta"]["dev.callgate/outcome"]["error"], "timeout", "{name}: {answer}");
    }
}
