//! Over pipes.

use super::{ask, call, modern, settings, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::thread::JoinHandle;

/// A client of a server that runs in a thread.
struct Client {
    to: Option<PipeWriter>,
    from: BufReader<PipeReader>,
    server: JoinHandle<u8>,
}

impl Client {
    fn of(args: &[&str]) -> Client {
        let settings = settings(args);
        let (input, to) = std::io::pipe().unwrap();
        let (from, output) = std::io::pipe().unwrap();
        let server = std::thread::spawn(move || crate::stdio::serve(settings, input.as_fd(), output.as_fd()).unwrap());
        Client { to: Some(to), from: BufReader::new(from), server }
    }
    fn say(&mut self, message: &Value) {
        self.say_text(&message.to_string());
    }
    fn say_text(&mut self, message: &str) {
        self.to.as_mut().unwrap().write_all(format!("{message}\n").as_bytes()).unwrap();
    }
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line
    }
    fn hear(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
    fn ask(&mut self, request: &Value) -> Value {
        self.say(request);
        let answer = self.hear();
        assert_eq!(answer["id"], request["id"], "{answer}");
        answer
    }
    /// Ends the input; what the server still says, and its exit code.
    fn end(mut self) -> (Vec<String>, u8) {
        self.to = None;
        let rest = self.from.by_ref().lines().map(Result::unwrap).collect();
        (rest, self.server.join().unwrap())
    }
}

#[test]
fn a_legacy_session() {
    let mut client = Client::of(&["--name", "shop"]);
    let hello = client.ask(&ask(1, "initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}})));
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(hello["result"]["serverInfo"]["name"], "shop");
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for (asked, given) in [("2026-07-28", "2025-11-25"), ("1999-01-01", "2025-11-25"), ("2024-11-05", "2024-11-05")] {
        let hello = client.ask(&ask(2, "initialize", json!({"protocolVersion": asked})));
        assert_eq!(hello["result"]["protocolVersion"], given);
    }
    assert_eq!(client.ask(&ask(3, "ping", Value::Null))["result"], json!({}));
    let list = client.ask(&ask(4, "tools/list", json!({})));
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 17);
    assert_eq!(list["result"].get("resultType"), None);
    assert_eq!(text(&client.ask(&call(5, "echo", json!({"text": "a\"\n\u{1}é😀"})))), "a\"\n\u{1}é😀");
    let time = client.ask(&call(6, "get_time", json!({})));
    assert_eq!(time["result"]["structuredContent"]["utc"], text(&time));
    assert_eq!(text(&client.ask(&call(7, "big_result", json!({"bytes": 70_000})))).len(), 70_000);
    assert_eq!(client.ask(&call(8, "fail", json!({})))["result"]["isError"], true);
    assert_eq!(client.ask(&call(9, "rpc_error", json!({})))["error"]["data"]["why"], "asked");
    assert_eq!(client.ask(&call(10, "echo", json!({"text": 1})))["result"]["isError"], true);
    assert_eq!(client.ask(&call(11, "append_line", json!({"text": "x"})))["result"]["isError"], true);
    assert_eq!(client.ask(&call(12, "none", json!({})))["error"]["code"], -32602);
    assert_eq!(client.ask(&ask(13, "no/such", json!({})))["error"]["code"], -32601);
    assert_eq!(client.ask(&ask(14, "server/discover", json!({})))["error"]["code"], -32601);
    assert_eq!(text(&client.ask(&call(15, "no_arguments", json!({"a": 1, "b": 2})))), "2 arguments");
    let read = client.ask(&ask(16, "resources/read", json!({"uri": "sample://greeting/Ada"})));
    assert_eq!(read["result"]["contents"][0]["text"], "Hello, Ada!");
    let blob = client.ask(&ask(17, "resources/read", json!({"uri": "sample://dot.png"})));
    assert!(blob["result"]["contents"][0]["blob"].as_str().unwrap().starts_with("iVBOR"));
    assert_eq!(client.ask(&ask(18, "resources/read", json!({"uri": "x:y"})))["error"]["code"], -32002);
    for (id, method, key, count) in [
        (19, "resources/list", "resources", 3),
        (20, "resources/templates/list", "resourceTemplates", 1),
        (21, "prompts/list", "prompts", 2),
    ] {
        assert_eq!(client.ask(&ask(id, method, json!({})))["result"][key].as_array().unwrap().len(), count);
    }
    let prompt = json!({"name": "summarize", "arguments": {"text": "T", "tone": "short"}});
    let prompt = client.ask(&ask(22, "prompts/get", prompt));
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "Summarize this in a short tone:\n\nT");
    assert_eq!(client.ask(&ask(23, "prompts/get", json!({"name": "summarize"})))["error"]["code"], -32602);
    let begun = json!({"ref": {"type": "ref/prompt", "name": "summarize"}, "argument": {"name": "tone", "value": "f"}});
    let values = client.ask(&ask(24, "completion/complete", begun));
    assert_eq!(values["result"]["completion"]["values"], json!(["formal", "friendly"]));
    assert_eq!(client.ask(&ask(25, "logging/setLevel", json!({"level": "loud"})))["error"]["code"], -32602);
    client.say_text("{\"jsonrpc\":\"2.0\",\"id\":26,");
    assert_eq!(client.hear()["error"]["code"], -32700);
    client.say(&json!({"jsonrpc": "2.0", "id": 27}));
    client.say(&json!({"jsonrpc": "2.0", "id": null, "method": "ping"}));
    assert_eq!(client.hear()["error"]["code"], -32600);
    assert_eq!(client.end(), (vec![], 0));
}

#[test]
fn a_modern_connection() {
    let mut client = Client::of(&[]);
    let hello = client.ask(&modern(ask(1, "server/discover", json!({}))));
    assert_eq!(hello["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(hello["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "sample-server");
    let refused = client.ask(&ask(2, "initialize", json!({"protocolVersion": "2025-11-25"})));
    assert_eq!(
        (&refused["error"]["code"], &refused["error"]["data"]["supported"]),
        (&json!(-32022), &json!(["2026-07-28"]))
    );
    for (id, method, params) in [
        (3, "tools/list", json!({})),
        (4, "resources/list", json!({})),
        (5, "prompts/list", json!({})),
        (6, "resources/read", json!({"uri": "sample://readme"})),
    ] {
        let result = &client.ask(&modern(ask(id, method, params)))["result"];
        assert_eq!(
            (&result["resultType"], &result["ttlMs"], &result["cacheScope"]),
            (&json!("complete"), &json!(0), &json!("private"))
        );
    }
    let echo = client.ask(&modern(call(7, "echo", json!({"text": "x"}))));
    assert_eq!((text(&echo), &echo["result"]["resultType"]), ("x", &json!("complete")));
    for (id, method) in [(8, "ping"), (9, "logging/setLevel"), (10, "resources/subscribe")] {
        assert_eq!(client.ask(&modern(ask(id, method, json!({}))))["error"]["code"], -32601, "{method}");
    }
    assert_eq!(client.ask(&modern(ask(11, "resources/read", json!({"uri": "x:y"}))))["error"]["code"], -32602);
    let mut other = modern(ask(12, "tools/list", json!({})));
    other["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2030-01-01");
    assert_eq!(client.ask(&other)["error"]["code"], -32022);
    // The notice goes to who listens, with the id of the listen request.
    client.say(&modern(ask(13, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}))));
    let accepted = client.hear();
    assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(accepted["params"]["notifications"], json!({"toolsListChanged": true}));
    client.say(&modern(call(14, "change_tools", json!({}))));
    let notice = client.hear();
    assert_eq!(notice["method"], "notifications/tools/list_changed");
    assert_eq!(notice["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 13);
    assert!(text(&client.hear()).starts_with("added "));
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 13}}));
    assert!(text(&client.ask(&modern(call(15, "change_tools", json!({}))))).starts_with("added "));
    assert_eq!(client.end(), (vec![], 0));
}

#[test]
fn what_a_probe_may_meet() {
    let discover = modern(ask(1, "server/discover", json!({})));
    let initialize = ask(2, "initialize", json!({"protocolVersion": "2025-11-25"}));
    let mut only_modern = Client::of(&["--era", "modern"]);
    assert_eq!(only_modern.ask(&initialize)["error"]["code"], -32022);
    let mut only_legacy = Client::of(&["--era", "legacy"]);
    assert_eq!(only_legacy.ask(&discover)["error"]["code"], -32601);
    assert!(only_legacy.ask(&initialize)["result"].is_object());
    let mut silent = Client::of(&["--silent-on-discover"]);
    silent.say(&discover);
    assert!(silent.ask(&initialize)["result"].is_object());
    let mut leaves = Client::of(&["--exit-on-discover"]);
    leaves.say(&discover);
    assert_eq!((leaves.line(), leaves.end().1), (String::new(), 1));
    let mut hangs = Client::of(&["--hang-start"]);
    hangs.say(&discover);
    hangs.say(&initialize);
    assert_eq!(hangs.end(), (vec![], 0));
}

#[test]
fn lists_in_pages() {
    let mut client = Client::of(&["--tools", "8", "--page", "10"]);
    let (mut names, mut params, mut id) = (Vec::new(), json!({}), 0);
    loop {
        id += 1;
        let page = client.ask(&ask(id, "tools/list", params));
        names.extend(page["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()));
        match page["result"].get("nextCursor") {
            Some(next) => params = json!({"cursor": next}),
            None => break,
        }
    }
    assert_eq!((names.len(), id), (25, 3));
    assert_eq!(client.ask(&ask(9, "tools/list", json!({"cursor": "x"})))["error"]["code"], -32602);
    assert_eq!(text(&client.ask(&call(10, names[24].as_str().unwrap(), json!({"text": "x"})))), "x");
}

#[test]
fn slow_calls_hold_nobody_up() {
    let mut client = Client::of(&[]);
    client.say(&call(1, "hang", json!({})));
    client.say(&call(2, "slow", json!({"ms": 3_600_000})));
    assert_eq!(text(&client.ask(&call(3, "echo", json!({"text": "quick"})))), "quick");
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    let mut slow = call(4, "slow", json!({"ms": 20}));
    slow["params"]["_meta"] = json!({"progressToken": "t"});
    client.say(&slow);
    for step in 1..=9 {
        let notice = client.hear();
        assert_eq!((&notice["params"]["progressToken"], &notice["params"]["progress"]), (&json!("t"), &json!(step)));
    }
    assert_eq!(text(&client.hear()), "took 20 ms");
    assert_eq!(text(&client.ask(&call(5, "slow", json!({"ms": 0})))), "took 0 ms");
    assert_eq!(client.end(), (vec![], 0));
}

#[test]
fn writes_can_be_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines");
    let mut client = Client::of(&["--file", file.to_str().unwrap()]);
    assert_eq!(text(&client.ask(&call(1, "count_lines", json!({})))), "0");
    assert!(client.ask(&ask(2, "resources/subscribe", json!({"uri": "sample://lines"})))["result"].is_object());
    client.say(&call(3, "append_line", json!({"text": "one"})));
    assert_eq!(client.hear()["params"]["uri"], "sample://lines");
    assert_eq!(text(&client.hear()), "written");
    assert!(client.ask(&ask(4, "resources/unsubscribe", json!({"uri": "sample://lines"})))["result"].is_object());
    assert_eq!(text(&client.ask(&call(5, "append_line", json!({"text": "two\nlines"})))), "written");
    assert_eq!(text(&client.ask(&call(6, "slow_write", json!({"ms": 1, "text": "three"})))), "written");
    client.say(&call(7, "slow_write", json!({"ms": 3_600_000, "text": "never"})));
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo lines\nthree\n");
    assert_eq!(text(&client.ask(&call(8, "delete_line", json!({"line": 2})))), "deleted");
    assert_eq!(client.ask(&call(9, "delete_line", json!({"line": 9})))["result"]["isError"], true);
    assert_eq!(text(&client.ask(&call(10, "delete_line", json!({})))), "deleted");
    let read = client.ask(&ask(11, "resources/read", json!({"uri": "sample://lines"})));
    assert_eq!(read["result"]["contents"][0]["text"], "one\n");
    assert_eq!(client.end(), (vec![], 0));
}

#[test]
fn bursts_keep_their_order() {
    let mut client = Client::of(&[]);
    let mut burst = call(1, "progress_burst", json!({"count": 200}));
    burst["params"]["_meta"] = json!({"progressToken": 7});
    client.say(&burst);
    for step in 1..=200 {
        assert_eq!(client.hear()["params"], json!({"progressToken": 7, "progress": step, "total": 200}));
    }
    assert_eq!(text(&client.hear()), "200 notices");
    assert_eq!(text(&client.ask(&call(2, "progress_burst", json!({})))), "10 notices");
    client.say(&call(3, "log_burst", json!({"count": 2})));
    assert_eq!(
        [client.hear(), client.hear()].map(|log| log["params"]["data"].clone()),
        [json!("line 1"), json!("line 2")]
    );
    assert_eq!(text(&client.hear()), "2 messages");
    assert!(client.ask(&ask(4, "logging/setLevel", json!({"level": "error"})))["result"].is_object());
    assert_eq!(text(&client.ask(&call(5, "log_burst", json!({"count": 2})))), "2 messages");
    // A modern request says by itself what it wants.
    assert_eq!(text(&client.ask(&modern(call(6, "log_burst", json!({"count": 2}))))), "2 messages");
    let mut loud = modern(call(7, "log_burst", json!({"count": 1})));
    loud["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    client.say(&loud);
    assert_eq!(client.hear()["method"], "notifications/message");
    assert_eq!(text(&client.hear()), "1 messages");
}

#[test]
fn noise_and_crash() {
    let mut client = Client::of(&[]);
    client.say(&call(1, "noisy", json!({})));
    let noise: Vec<String> = (0..3).map(|_| client.line()).collect();
    assert!(noise[0].starts_with("Server listening") && noise[1].contains("noise") && noise[2] == "\n");
    assert_eq!(text(&client.hear()), "made some noise");
    client.say(&call(2, "crash", json!({})));
    assert_eq!(client.end(), (vec![], 101));
}

#[test]
fn a_changed_list_is_told() {
    let mut client = Client::of(&[]);
    client.say(&call(1, "change_tools", json!({})));
    assert_eq!(client.hear()["method"], "notifications/tools/list_changed");
    let added = text(&client.hear()).strip_prefix("added ").unwrap().to_owned();
    let list = client.ask(&ask(2, "tools/list", json!({})));
    assert_eq!(list["result"]["tools"][17]["name"], added.as_str());
}
