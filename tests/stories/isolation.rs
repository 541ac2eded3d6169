//! One bad peer never harms another.

use crate::fake::fake;
use serde_json::json;
use std::time::{Duration, Instant};
use stories::{Home, sample, text};

fn typical(client: &mut stories::Client, tool: &str) -> Duration {
    let mut times: Vec<Duration> = (0..200)
        .map(|_| {
            let began = Instant::now();
            client.call(tool, json!({ "text": "x" }));
            began.elapsed()
        })
        .collect();
    times.sort();
    times[100]
}

#[test]
fn a_host_that_stops_reading_and_a_server_that_stops_reading_slow_nobody_down() {
    let home = Home::with(json!({ "f": fake(&[]), "s": sample(&[]) }));
    let _hub = home.serve();
    let mut good = home.stdio(&["--host", "good"]);
    good.initialize("2025-11-25");
    good.await_tool("s__echo");
    good.await_tool("f__deaf");
    let before = typical(&mut good, "s__echo");

    // A server that takes nothing any more: what waits for it is bounded and refused.
    let mut feeder = home.stdio(&["--host", "feeder"]);
    feeder.initialize("2025-11-25");
    feeder.await_tool("f__deaf");
    feeder.call("f__deaf", json!({}));
    let big = "x".repeat(1 << 20);
    let sent: Vec<_> = (0..12)
        .map(|_| feeder.send("tools/call", json!({ "name": "f__echo", "arguments": { "text": big } })))
        .collect();
    let refused = feeder.answer(sent.last().unwrap());
    assert_eq!(refused["result"]["structuredContent"]["error"], "queue_full", "{refused:.300}");

    // A host that asks for megabytes and reads none of them.
    let mut idle = home.command(&["stdio", "--host", "idle"]);
    idle.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut idle = idle.spawn().unwrap();
    {
        use std::io::Write;
        let stdin = idle.stdin.as_mut().unwrap();
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} });
        writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello })).unwrap();
        for id in 1..40 {
            let params = json!({ "name": "s__big_result", "arguments": { "bytes": 1 << 20 } });
            writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
                .unwrap();
        }
    }
    for _ in 0..5 {
        let now = typical(&mut good, "s__echo");
        assert!(now < (before * 10).max(Duration::from_millis(20)), "{before:?} before, {now:?} now");
    }
    idle.kill().unwrap();
    idle.wait().unwrap();
    assert_eq!(text(&good.call("s__echo", json!({ "text": "fine" }))), "fine");
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
