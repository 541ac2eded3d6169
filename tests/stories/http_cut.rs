//! Servers behind HTTP whose answer is cut off in the middle of its bytes. A write may have run: its caller is told so and
//! nothing is repeated; a read just failed. Nothing of the half that came is passed on.

use crate::http_up::Remote;
use serde_json::{Value, json};
use stories::{Client, Home, text};

/// How it is cut: as an event or as one JSON body; where the end of the answer would have been told by its chunks, by its
/// length, by nothing but the end of the connection, or where the connection is reset.
const HOW: [&str; 6] = ["stream-chunked", "stream-end", "json-chunked", "json-length", "json-end", "reset-length"];

fn call(client: &mut Client, tool: &str, how: &str) -> Value {
    client.call(&format!("r__{tool}"), json!({ "how": how }))
}

fn sent(remote: &Remote, tool: &str, how: &str) -> usize {
    let is_it =
        |entry: &&Value| entry["body"]["params"]["name"] == tool && entry["body"]["params"]["arguments"]["how"] == how;
    remote.posts("tools/call").iter().filter(is_it).count()
}

fn error(result: &Value) -> &str {
    result["_meta"]["dev.callgate/outcome"]["error"].as_str().unwrap_or("none")
}

#[test]
fn an_answer_that_is_cut_off_in_its_bytes_ends_its_call_and_nothing_is_sent_twice() {
    for era in ["legacy", "modern"] {
        let remote = Remote::start(&["--era", era]);
        let home = Home::with(json!({ "r": { "url": remote.url } }));
        let _hub = home.serve();
        let mut client = home.stdio(&["--host", "story"]);
        client.initialize("2025-11-25");
        client.await_tool("r__cut_write");
        for (done, how) in HOW.into_iter().enumerate() {
            let what = format!("{era}, {how}");
            let read = call(&mut client, "cut", how);
            assert_eq!((error(&read), &read["isError"]), ("server_crashed", &json!(true)), "{what}: {read}");
            assert!(!text(&read).contains("may have been executed"), "{what}: a read: {read}");
            let write = call(&mut client, "cut_write", how);
            assert_eq!((error(&write), &write["isError"]), ("server_crashed", &json!(true)), "{what}: {write}");
            assert!(text(&write).contains("It may have been executed; check before calling again."), "{what}: {write}");
            for told in [&read, &write] {
                assert!(!told.to_string().contains("the first half"), "{what}: {told}");
            }
            // Its repetition is told that nobody knows, once, and the person has it in the list.
            let again = call(&mut client, "cut_write", how);
            assert_eq!(error(&again), "outcome_unknown", "{what}: {again}");
            assert_eq!((sent(&remote, "cut", how), sent(&remote, "cut_write", how)), (1, 1), "{what}");
            assert_eq!(home.json(&["call", "list", "--unknown"])["unknown"], done + 1, "{what}");
            assert_eq!(text(&client.call("r__echo", json!({ "text": how }))), format!("{{\"text\": \"{how}\"}}"));
        }
        let server = home.json(&["server", "show", "r"])["server"].take();
        assert_eq!((&server["state"], &server["restarts"]), (&json!("ready"), &json!(0)), "{server}");
        assert_eq!(home.run(&["audit", "verify"]).0, 0);
    }
}

#[test]
fn a_call_with_a_key_whose_answer_was_cut_off_is_unknown_until_a_person_says_what_became_of_it() {
    let remote = Remote::start(&[]);
    let home = Home::with(json!({ "r": { "url": remote.url } }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "story"]);
    client.initialize("2025-11-25");
    client.await_tool("r__cut_write");
    for how in HOW {
        let mut keyed = || {
            let meta = json!({ "dev.callgate/idempotencyKey": how });
            client.result("tools/call", json!({ "name": "r__cut_write", "arguments": { "how": how }, "_meta": meta }))
        };
        let first = keyed();
        assert_eq!(error(&first), "server_crashed", "{how}: {first}");
        let second = keyed();
        assert_eq!(error(&second), "outcome_unknown", "{how}: {second}");
        assert_eq!(sent(&remote, "cut_write", how), 1, "{how}");
    }
}
