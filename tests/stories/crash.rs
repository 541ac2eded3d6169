//! Servers that die, hubs that are killed: everything that waits is answered, nothing is left behind, the next start
//! is clean.

use crate::fake::fake;
use serde_json::{Value, json};
use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};
use stories::{Home, eventually, is_alive, sample, text, tree_of};

#[test]
fn a_server_that_dies_fails_its_calls_at_once_and_serves_the_next() {
    let home = Home::with(json!({ "f": fake(&[]), "g": fake(&[]) }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "story"]);
    client.initialize("2025-11-25");
    client.await_tool("f__bye");
    client.await_tool("g__echo");
    let began = Instant::now();
    let waits: Vec<Value> = ["never", "never", "bye"]
        .map(|tool| client.send("tools/call", json!({ "name": format!("f__{tool}"), "arguments": {} })))
        .into();
    for id in waits {
        let answer = client.answer(&id);
        assert_eq!(answer["result"]["structuredContent"]["error"], "server_crashed", "{answer}");
        assert!(text(&answer["result"]).contains("signal 9"), "{answer}");
    }
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!(text(&client.call("g__echo", json!({}))), "{}");
    assert_eq!(text(&client.call("f__echo", json!({ "text": "back" }))), r#"{"text": "back"}"#);
}

#[test]
fn a_killed_hub_leaves_no_process_and_the_next_one_starts_clean() {
    // A wrapper, a shell and a server that ignores TERM, and one that leaves its session.
    let script = "trap '' TERM; (setsid sleep 1000 &) ; exec \"$0\" sample-server";
    let home = Home::with(json!({
        "w": { "command": "/bin/sh", "args": ["-c", script, stories::binary("callgate")] },
        "s": sample(&[]),
    }));
    let mut hub = home.serve();
    let mut client = home.stdio(&["--host", "story"]);
    client.initialize("2025-11-25");
    client.await_tool("w__echo");
    client.await_tool("s__echo");
    let all = tree_of(hub.pid());
    assert!(all.len() >= 5, "guard, two servers, their helper: {all:?}");
    let load: Vec<Value> =
        (0..50).map(|_| client.send("tools/call", json!({ "name": "s__slow", "arguments": { "ms": 5000 } }))).collect();
    // All of them were read: what is read later belongs to the next hub.
    client.result("ping", json!({}));
    hub.kill();
    let killed = Instant::now();
    for id in load {
        assert_eq!(client.answer(&id)["result"]["_meta"]["dev.callgate/outcome"]["error"], "outcome_unknown");
    }
    for pid in all {
        eventually("the end of everything below the hub", || (!is_alive(pid)).then_some(()));
    }
    assert!(killed.elapsed() < Duration::from_secs(3), "{:?}", killed.elapsed());
    let _second = home.serve();
    assert_eq!(text(&client.call("s__echo", json!({ "text": "again" }))), "again");
}

#[test]
fn a_killed_hub_forgets_no_write_and_repeats_none() {
    let home = Home::with(json!({ "s": sample(&["--file", "lines.txt"]) }));
    let mut hub = home.serve();
    let mut client = home.stdio(&["--host", "story"]);
    client.initialize("2025-11-25");
    client.await_tool("s__append_line");
    for n in 0..5 {
        client.call("s__append_line", json!({ "text": format!("line {n}") }));
    }
    let arguments = json!({ "ms": 20_000, "text": "late" });
    let meta = json!({ "progressToken": "p" });
    let open = client.send("tools/call", json!({ "name": "s__slow_write", "arguments": arguments, "_meta": meta }));
    client.await_message("a sign that the server has it", |it| it["method"] == "notifications/progress");
    hub.kill();
    assert_eq!(client.answer(&open)["result"]["_meta"]["dev.callgate/outcome"]["error"], "outcome_unknown");
    let second = home.serve();
    assert_eq!(text(&client.call("s__echo", json!({ "text": "x" }))), "x");
    let lines = std::fs::read_to_string(home.path("lines.txt")).unwrap();
    assert_eq!(lines.lines().count(), 5, "{lines}");
    let (_, log, _) = home.run(&["logs"]);
    assert!(log.contains("may have run"), "the open write is told as unknown: {log}");
    drop(second);
}

#[test]
fn a_server_that_hangs_or_fails_at_start_keeps_nobody_waiting() {
    let home = Home::with(json!({
        "hangs": { "command": "sleep", "args": ["1000"], "timeouts": { "startSeconds": 2 } },
        "lists": fake(&["--list", "hang"]),
        "missing": { "command": "no-such-program-anywhere" },
        "ok": fake(&[]),
    }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "story"]);
    client.initialize("2025-11-25");
    let began = Instant::now();
    client.await_tool("ok__echo");
    assert_eq!(text(&client.call("ok__echo", json!({}))), "{}");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let refused = client.call("missing__x", json!({}));
    assert_eq!(refused["structuredContent"]["error"], "server_unavailable");
    assert!(text(&refused).contains("no-such-program-anywhere"), "{refused}");
    let refused = client.call("hangs__x", json!({}));
    assert_eq!(refused["structuredContent"]["error"], "server_unavailable");
    let status = home.json(&["status"]).to_string();
    assert!(status.contains("failing"), "{status}");
}

/// Whatever page of the database is damaged: the hub runs, or fails and says why; it never ends as if it had been told to.
#[test]
fn a_damaged_database_is_told_of() {
    let home = Home::with(json!({ "s": sample(&[]) }));
    let hub = home.serve();
    assert_eq!(home.run(&["stop"]).0, 0);
    drop(hub);
    let file = home.path("callgate.db");
    let whole = std::fs::read(&file).unwrap();
    let mut failed = 0;
    for page in 1..whole.len() / 4096 {
        let mut damaged = whole.clone();
        damaged[page * 4096..page * 4096 + 1000].fill(0xa5);
        std::fs::write(&file, damaged).unwrap();
        for beside in ["callgate.db-wal", "callgate.db-shm", "run/endpoint.json"] {
            let _ = std::fs::remove_file(home.path(beside));
        }
        let mut hub = home.command(&["serve"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let ended = eventually("the hub runs or ends", || match hub.try_wait().unwrap() {
            Some(status) => Some(Some(status)),
            None => home.path("run/endpoint.json").exists().then_some(None),
        });
        match ended {
            None => {
                hub.kill().unwrap();
                hub.wait().unwrap();
            }
            Some(status) => {
                let mut said = String::new();
                hub.stderr.take().unwrap().read_to_string(&mut said).unwrap();
                assert!(!status.success() && said.contains("damaged"), "page {page}: {status}, {said:?}");
                failed += 1;
            }
        }
    }
    assert!(failed > 0);
}
