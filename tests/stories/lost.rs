//! Replies that nobody received: the identical call gets the earlier result, once, and nothing runs twice unasked.

use crate::http_up::Remote;
use crate::lend::{Host, Plug};
use crate::orders::{self, lines};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use stories::{Home, eventually, http, sample, text};

fn home() -> Home {
    orders::home(json!({ "default": "allow" }))
}

fn is_replayed(result: &Value) -> bool {
    let said = text(result).contains("could not be delivered") || text(result).contains("was not run again");
    assert_eq!(said, result["_meta"]["dev.callgate/replayed"] == true, "{result}");
    said
}

/// A host that reads nothing any more and then goes, however its bytes travel: its successor makes the same call.
#[test]
fn a_reply_that_lay_in_the_out_buffer_of_a_host_that_went_is_found_again_once() {
    for (plug, is_lent) in [(Plug::Pipes, true), (Plug::Sockets, true), (Plug::Pipes, false)] {
        let home = home();
        let hub = home.serve();
        let args: &[&str] = if is_lent { &[] } else { &["--mode", "copy"] };
        let start = || match is_lent {
            true => Host::lent(&home, plug, hub.pid(), "s__append_line"),
            false => {
                let mut host = Host::new(&home, plug, args);
                host.greet("s__append_line");
                host
            }
        };
        let mut host = start();
        // The adapter that copies has taken one of them when it stops.
        for id in 20..if is_lent { 21 } else { 22 } {
            host.call(id, "s__big_result", json!({ "bytes": 1_500_000 }));
        }
        host.call(11, "s__append_line", json!({ "text": "once" }));
        eventually("it ran", || (lines(&home) == ["once"]).then_some(()));
        eventually("its end is written down", || {
            let rows = home.json(&["audit", "list", "--tool", "s__append_line", "--kind", "end"]);
            rows["rows"].get(0).cloned()
        });
        host.adapter.kill();
        drop(host);
        let mut host = start();
        host.call(10, "s__append_line", json!({ "text": "once" }));
        let found = host.answer(10)["result"].clone();
        assert!(is_replayed(&found), "{plug:?} {is_lent} {found}");
        assert_eq!(lines(&home), ["once"]);
        host.call(11, "s__append_line", json!({ "text": "once" }));
        assert!(!is_replayed(&host.answer(11)["result"]));
        assert_eq!(lines(&home), ["once", "once"]);
        let replayed = home.json(&["audit", "list", "--kind", "replayed"])["rows"].as_array().unwrap().len();
        assert_eq!(replayed, 1);
    }
}

/// The reply that tells of a lost one may be lost as well: it is told again, and still nothing runs twice.
#[test]
fn a_replayed_reply_that_is_lost_itself_is_found_again() {
    let home = home();
    let hub = home.serve();
    let replays = || home.json(&["audit", "list", "--kind", "replayed"])["rows"].as_array().unwrap().len();
    for lost in 0..3 {
        let mut host = Host::lent(&home, Plug::Pipes, hub.pid(), "s__append_line");
        host.call(20, "s__big_result", json!({ "bytes": 1_500_000 }));
        // Before that the answer would fit into the pipe, and be as good as delivered.
        eventually("the pipe is full", || {
            let big = home.json(&["audit", "list", "--tool", "s__big_result"]);
            (big["rows"].as_array().unwrap().len() > lost).then_some(())
        });
        host.call(11, "s__append_line", json!({ "text": "once" }));
        eventually("it is answered", || {
            let ended = home.json(&["audit", "list", "--tool", "s__append_line", "--kind", "end"]);
            (ended["rows"].as_array().unwrap().len() == 1 && replays() == lost).then_some(())
        });
        host.adapter.kill();
    }
    let mut host = Host::lent(&home, Plug::Pipes, hub.pid(), "s__append_line");
    host.call(10, "s__append_line", json!({ "text": "once" }));
    assert!(is_replayed(&host.answer(10)["result"]));
    host.call(11, "s__append_line", json!({ "text": "twice" }));
    assert!(!is_replayed(&host.answer(11)["result"]));
    assert_eq!(lines(&home), ["once", "twice"]);
}

/// A client over HTTP; `session` is a legacy one's.
struct Http<'a> {
    url: String,
    head: Vec<String>,
    home: &'a Home,
}

impl Http<'_> {
    fn new(home: &Home, url: String) -> Http<'_> {
        let mut head = vec![
            format!("Authorization: Bearer {}", home.token()),
            "Content-Type: application/json".into(),
            "Accept: application/json, text/event-stream".into(),
        ];
        let info = json!({ "name": "web", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let reply = http(&url, "POST", &head, &hello.to_string());
        head.push(format!("Mcp-Session-Id: {}", reply.header("Mcp-Session-Id").unwrap()));
        let client = Http { url, head, home };
        eventually("the tools", || {
            let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
            let reply = http(&client.url, "POST", &client.head, &list.to_string());
            reply.body.contains("s__slow_write").then_some(())
        });
        client
    }
    fn slow_write() -> String {
        let params = json!({ "name": "s__slow_write", "arguments": { "text": "once", "ms": 300 } });
        json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string()
    }
    fn call(&self) -> Value {
        http(&self.url, "POST", &self.head, &Http::slow_write()).message()["result"].clone()
    }
    /// Sends the call and closes the connection before it is answered.
    fn call_and_leave(&self) {
        let address = self.url.strip_prefix("http://").unwrap().split('/').next().unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let body = Http::slow_write();
        let head = self.head.join("\r\n");
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        eventually("it runs", || (self.home.json(&["server", "show", "s"])["running"] == 1).then_some(()));
    }
}

#[test]
fn a_reply_on_a_closed_http_connection_is_found_again_once() {
    let home = home();
    let hub = home.serve();
    let client = Http::new(&home, hub.url());
    client.call_and_leave();
    eventually("it ran", || (lines(&home) == ["once"]).then_some(()));
    let found = client.call();
    assert!(is_replayed(&found), "{found}");
    assert_eq!(lines(&home), ["once"]);
    assert!(!is_replayed(&client.call()));
    assert_eq!(lines(&home), ["once", "once"]);
}

#[test]
fn a_cancelled_call_of_a_server_over_http_is_listened_for() {
    let remote = Remote::start(&[]);
    let home = Home::new();
    home.configure(&json!({ "mcpServers": { "r": { "url": remote.url } }, "policy": { "default": "allow" } }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "story"]);
    client.initialize("2025-11-25");
    client.await_tool("r__late_write");
    let call = json!({ "name": "r__late_write", "arguments": { "n": 1 } });
    let id = client.send("tools/call", call.clone());
    eventually("the call arrives", || (remote.posts("tools/call").len() == 1).then_some(()));
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    eventually("the cancel arrives", || remote.posts("notifications/cancelled").pop());
    let found = client.result("tools/call", call.clone());
    assert!(is_replayed(&found) && found.to_string().contains("1 written"), "{found}");
    let again = client.result("tools/call", call);
    assert!(!is_replayed(&again) && text(&again) == "2 written", "{again}");
    assert_eq!(remote.posts("tools/call").len(), 2);
}

/// A write that was with its server when the hub died, or its server: the next identical call is told, once, by whatever
/// hub it comes to; who has gone on since means what it says.
#[test]
fn a_write_that_nobody_answered_is_told_to_its_repetition_by_a_later_hub_once() {
    let home = home();
    let mut hub = home.serve();
    let mut client = home.stdio(&["--host", "cursor"]);
    client.initialize("2025-11-25");
    client.await_tool("s__slow_write");
    let call = |text: &str| json!({ "name": "s__slow_write", "arguments": { "text": text, "ms": 1_000 } });
    let dies = |hub: &mut stories::Hub, client: &mut stories::Client, text: &str| {
        let mut call = call(text);
        call["_meta"] = json!({ "progressToken": text });
        let id = client.send("tools/call", call);
        client.await_message("a sign that the server has it", |it| it["method"] == "notifications/progress");
        hub.kill();
        client.answer(&id);
    };
    let outcome =
        |result: &Value| result["_meta"]["dev.callgate/outcome"]["error"].as_str().unwrap_or("ran").to_owned();
    dies(&mut hub, &mut client, "a");
    let hub = home.serve();
    client.await_tool("s__slow_write");
    // Another start in between.
    drop(hub);
    let mut hub = home.serve();
    client.await_tool("s__slow_write");
    let unknown = || home.json(&["call", "list", "--unknown"])["calls"].as_array().unwrap().len();
    assert_eq!(unknown(), 1);
    let told = client.result("tools/call", call("a"));
    assert!(outcome(&told) == "outcome_unknown" && text(&told).contains("calling once more runs it"), "{told}");
    // It has been told; the next start does not tell it again.
    dies(&mut hub, &mut client, "b");
    let mut hub = home.serve();
    client.await_tool("s__slow_write");
    assert_eq!(outcome(&client.result("tools/call", call("a"))), "ran");
    assert_eq!(outcome(&client.result("tools/call", call("b"))), "ran", "its client has had another result since");
    assert_eq!((lines(&home), unknown()), (vec!["a".to_owned(), "b".to_owned()], 2), "a person still settles them");
    hub.kill();
}

/// The host went with the answer unread; the hub that knows of it ends as well.
#[test]
fn a_lost_reply_is_found_again_by_a_later_hub_once() {
    for is_killed in [false, true] {
        let home = home();
        let mut hub = home.serve();
        let mut host = Host::lent(&home, Plug::Pipes, hub.pid(), "s__append_line");
        host.call(20, "s__big_result", json!({ "bytes": 1_500_000 }));
        host.call(11, "s__append_line", json!({ "text": "once" }));
        eventually("its end is written down", || {
            let rows = home.json(&["audit", "list", "--tool", "s__append_line", "--kind", "end"]);
            rows["rows"].get(0).cloned()
        });
        host.adapter.kill();
        drop(host);
        eventually("the host is gone", || {
            (!home.json(&["status"])["hosts"].to_string().contains("story")).then_some(())
        });
        // What was written down before this is durable with it.
        home.json(&["pause"]);
        home.json(&["resume"]);
        if is_killed {
            hub.kill();
        } else {
            assert_eq!(home.run(&["stop"]).0, 0);
            hub.process.wait();
        }
        let second = home.serve();
        let mut host = Host::lent(&home, Plug::Pipes, second.pid(), "s__append_line");
        host.call(12, "s__append_line", json!({ "text": "once" }));
        let found = host.answer(12)["result"].clone();
        assert!(is_replayed(&found) && text(&found).contains("could not be delivered"), "{found}");
        assert_eq!(lines(&home), ["once"]);
        host.call(13, "s__append_line", json!({ "text": "once" }));
        assert!(!is_replayed(&host.answer(13)["result"]));
        assert_eq!(lines(&home), ["once", "once"]);
        assert!(home.json(&["call", "list", "--unknown"])["calls"].as_array().unwrap().is_empty());
    }
}

/// The hub was killed with the answer in its out-buffer, and the end of the call already written: the call is known to have run,
/// and its repetition is told so, once. What has arrived is not told of.
#[test]
fn a_hub_that_dies_with_an_answer_in_its_out_buffer_is_not_taken_for_one_that_never_ran_it() {
    let home = home();
    let mut hub = home.serve();
    let mut host = Host::lent(&home, Plug::Pipes, hub.pid(), "s__append_line");
    host.call(19, "s__append_line", json!({ "text": "arrived" }));
    assert!(!is_replayed(&host.answer(19)["result"]));
    host.call(20, "s__big_result", json!({ "bytes": 1_500_000 }));
    host.call(11, "s__append_line", json!({ "text": "once" }));
    eventually("its end is written down", || {
        let rows = home.json(&["audit", "list", "--tool", "s__append_line", "--kind", "end"])["rows"].take();
        rows.get(1).cloned()
    });
    // What was written down before this is durable with it.
    home.json(&["pause"]);
    home.json(&["resume"]);
    hub.kill();
    host.adapter.kill();
    drop(host);
    // Not told by the first hub that knows of it.
    drop(home.serve());
    let second = home.serve();
    let mut host = Host::lent(&home, Plug::Pipes, second.pid(), "s__append_line");
    host.call(12, "s__append_line", json!({ "text": "once" }));
    let told = host.answer(12)["result"].clone();
    assert_eq!(told["_meta"]["dev.callgate/outcome"]["error"], "already_ran", "{told}");
    host.call(13, "s__append_line", json!({ "text": "arrived" }));
    assert!(!is_replayed(&host.answer(13)["result"]));
    host.call(14, "s__append_line", json!({ "text": "once" }));
    assert!(!is_replayed(&host.answer(14)["result"]));
    assert_eq!(lines(&home), ["arrived", "once", "arrived", "once"]);
}

/// What a host is told of its open calls when their hub is killed, and what the next hub makes of each when it is made
/// again, however the host's bytes travel.
#[test]
fn calls_that_a_killed_hub_left_open_can_be_made_again_and_only_what_may_have_run_is_not_done() {
    for mode in ["lend", "copy"] {
        let home = Home::new();
        let file = home.path("lines.txt").display().to_string();
        let configure = |hold: u64| {
            let rules = json!([{ "name": "asks", "tools": ["s__fail"], "then": "ask" }]);
            let approval = json!({ "holdSeconds": hold, "holdSecondsWithProgress": hold });
            let policy = json!({ "default": "allow", "rules": rules, "approval": approval });
            home.configure(&json!({ "mcpServers": { "s": sample(&["--file", &file]) }, "policy": policy }));
        };
        configure(60);
        let mut hub = home.serve();
        let mut client = home.stdio(&["--host", "cursor", "--mode", mode]);
        client.initialize("2025-11-25");
        client.await_tool("s__slow_write");
        let calls = [
            json!({ "name": "s__fail", "arguments": {} }),
            json!({ "name": "s__slow_write", "arguments": { "text": "sent", "ms": 600 }, "_meta": { "progressToken": 1 } }),
            json!({ "name": "s__append_line", "arguments": { "text": "queued" } }),
            json!({ "name": "s__slow", "arguments": { "ms": 400 } }),
        ];
        let open = calls.each_ref().map(|call| client.send("tools/call", call.clone()));
        client.await_message("a sign that the server has it", |it| it["method"] == "notifications/progress");
        let held = eventually("it waits", || home.json(&["approval", "list"])["approvals"].get(0).cloned());
        client.result("ping", json!({}));
        hub.kill();
        for id in &open {
            let told = client.answer(id)["result"].take();
            assert_eq!(told["_meta"]["dev.callgate/outcome"]["error"], "outcome_unknown", "{mode}: {told}");
            assert!(told["isError"] == true && text(&told).contains("Call again with the same arguments"), "{told}");
        }
        configure(0);
        let _second = home.serve();
        let again = calls.each_ref().map(|call| client.result("tools/call", call.clone()));
        let outcomes = again.each_ref().map(|result| {
            let outcome = &result["_meta"]["dev.callgate/outcome"];
            outcome["error"].as_str().or(outcome["status"].as_str()).unwrap_or("ran")
        });
        assert_eq!(outcomes, ["pending", "outcome_unknown", "ran", "ran"], "{mode}: {again:?}");
        assert_eq!(again[0]["_meta"]["dev.callgate/outcome"]["approval_id"], held["id"], "it went on waiting");
        assert_eq!(lines(&home), ["queued"]);
    }
}

#[test]
fn an_approved_call_whose_client_left_while_it_ran_is_found_again() {
    let home = Home::new();
    let file = home.path("lines.txt").display().to_string();
    let policy = json!({ "approval": { "holdSeconds": 30, "holdSecondsWithProgress": 30 } });
    home.configure(&json!({ "mcpServers": { "s": sample(&["--file", &file]) }, "policy": policy }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "cursor"]);
    client.initialize("2025-11-25");
    client.await_tool("s__slow_write");
    let call = json!({ "name": "s__slow_write", "arguments": { "text": "once", "ms": 300 } });
    let id = client.send("tools/call", call.clone());
    let waiting = eventually("it waits", || home.json(&["approval", "list"])["approvals"].get(0).cloned());
    home.json(&["approval", "approve", waiting["id"].as_str().unwrap(), "--remember", "once"]);
    eventually("it runs", || (home.json(&["server", "show", "s"])["running"] == 1).then_some(()));
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    eventually("it ran", || (lines(&home) == ["once"]).then_some(()));
    let found = client.result("tools/call", call);
    assert!(is_replayed(&found), "{found}");
    assert_eq!(lines(&home), ["once"]);
    assert!(home.json(&["approval", "list"])["approvals"].as_array().unwrap().is_empty());
}
