//! Servers behind HTTP: sessions kept and lost, both eras, what must not be sent to whom, programs that listen.

use serde_json::{Value, json};
use std::process::Stdio;
use std::time::{Duration, Instant};
use stories::{Client, Guarded, Home, Hub, binary, command, eventually, http, text};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/stories/fake_http.py");

/// A fake that was not started by the hub.
pub(crate) struct Remote {
    _process: Guarded,
    pub(crate) url: String,
}

impl Remote {
    pub(crate) fn start(args: &[&str]) -> Remote {
        let mut command = command("python3".as_ref());
        command.arg(SCRIPT).args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Guarded::spawn(command);
        let url = process.line("the fake's address").trim().to_owned();
        Remote { _process: process, url }
    }
    fn port(&self) -> &str {
        self.url.rsplit(':').next().unwrap().split('/').next().unwrap()
    }
    /// All that it received.
    fn log(&self) -> Vec<Value> {
        let reply = http(&self.url.replace("/mcp", "/log"), "GET", &[], "");
        serde_json::from_str(&reply.body).unwrap()
    }
    /// The requests of one JSON-RPC method.
    pub(crate) fn posts(&self, method: &str) -> Vec<Value> {
        self.log().into_iter().filter(|entry| entry["body"]["method"] == method).collect()
    }
    fn count(&self, is_it: impl Fn(&Value) -> bool) -> usize {
        self.log().iter().filter(|entry| is_it(entry)).count()
    }
}

/// A hub in front of servers, and a client of it.
struct Scene {
    client: Client,
    hub: Hub,
    home: Home,
}

impl Scene {
    fn new(servers: Value) -> Scene {
        let home = Home::with(servers);
        let hub = home.serve();
        let mut client = home.stdio(&["--host", "story"]);
        client.initialize("2025-11-25");
        Scene { client, hub, home }
    }
    fn of(remote: &Remote) -> Scene {
        let mut scene = Scene::new(json!({ "r": { "url": remote.url } }));
        scene.client.await_tool("r__echo");
        scene
    }
    fn call(&mut self, tool: &str) -> Value {
        self.client.call(&format!("r__{tool}"), json!({}))
    }
    fn state(&self, server: &str) -> Value {
        let status = self.home.json(&["server", "show", server]);
        status["server"].clone()
    }
    fn await_state(&self, server: &str, state: &str) -> Value {
        eventually(&format!("{server} is {state}"), || {
            let view = self.state(server);
            (view["state"] == state).then_some(view)
        })
    }
}

fn error(result: &Value) -> &str {
    result["structuredContent"]["error"].as_str().unwrap_or_default()
}

#[test]
fn a_legacy_server_gets_one_session_and_the_agreed_version() {
    let remote = Remote::start(&[]);
    let mut scene = Scene::of(&remote);
    assert_eq!(text(&scene.client.call("r__echo", json!({ "text": "a" }))), r#"{"text": "a"}"#);
    assert_eq!(scene.state("r")["version"], "2025-11-25");
    // What is told on the stream of the session arrives.
    scene.call("announce");
    scene.client.await_tool("r__added_0");
    for entry in remote.posts("tools/call").iter().chain(&remote.posts("notifications/initialized")) {
        assert_eq!(entry["headers"]["mcp-session-id"], "s1", "{entry}");
        assert_eq!(entry["headers"]["mcp-protocol-version"], "2025-11-25", "{entry}");
        assert!(entry["headers"].get("mcp-method").is_none(), "{entry}");
    }
    assert_eq!(remote.posts("server/discover")[0]["headers"]["mcp-method"], "server/discover");
    let hello = &remote.posts("initialize")[0]["headers"];
    assert!(hello.get("mcp-session-id").is_none() && hello.get("mcp-method").is_none(), "{hello}");
    // A cancel is told, and the session is ended at the end.
    let id = scene.client.send("tools/call", json!({ "name": "r__never", "arguments": {} }));
    eventually("the call arrives", || (remote.posts("tools/call").len() == 3).then_some(()));
    scene.client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    eventually("the cancel arrives", || remote.posts("notifications/cancelled").pop());
    scene.home.run(&["stop"]);
    eventually("the session's end", || (remote.count(|entry| entry["http"] == "DELETE") == 1).then_some(()));
}

#[test]
fn a_modern_server_gets_headers_for_every_request_and_no_session() {
    let remote = Remote::start(&["--era", "modern"]);
    let mut scene = Scene::of(&remote);
    assert_eq!(scene.state("r")["version"], "2026-07-28");
    let arguments = json!({ "region": "Größe", "n": 5, "text": "x" });
    let result = scene.client.call("r__mirrored", arguments.clone());
    assert_eq!(serde_json::from_str::<Value>(text(&result)).unwrap(), arguments);
    let call = &remote.posts("tools/call")[0];
    assert_eq!(call["headers"]["mcp-method"], "tools/call");
    assert_eq!(call["headers"]["mcp-name"], "mirrored", "the server's own name, not the hub's");
    assert_eq!(call["headers"]["mcp-param-region"], "=?base64?R3LDtsOfZQ==?=");
    assert_eq!(call["headers"]["mcp-param-n"], "5");
    assert_eq!(call["headers"]["mcp-protocol-version"], "2026-07-28");
    assert_eq!(remote.count(|entry| entry["headers"].get("mcp-session-id").is_some()), 0);
    assert_eq!(remote.count(|entry| entry["http"] == "GET"), 0);
    assert_eq!(remote.posts("initialize").len() + remote.posts("notifications/initialized").len(), 0);
    // Changes come on the stream of the hub's own subscription, and after its end on a new one.
    scene.call("announce");
    scene.client.await_tool("r__added_0");
    scene.call("end_listen");
    scene.client.await_tool("r__added_1");
    eventually("a second subscription", || (remote.posts("subscriptions/listen").len() == 2).then_some(()));
    // A cancel is the end of the request's stream, and no message.
    let id = scene.client.send("tools/call", json!({ "name": "r__never", "arguments": {} }));
    eventually("the call arrives", || {
        remote.posts("tools/call").iter().any(|e| e["body"]["params"]["name"] == "never").then_some(())
    });
    scene.client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    eventually("the stream's end", || (remote.count(|entry| entry["closed"] == "never") == 1).then_some(()));
    assert_eq!(remote.posts("notifications/cancelled").len(), 0);
}

#[test]
fn a_forgotten_session_is_begun_once_for_all_and_what_did_not_run_is_sent_again() {
    let remote = Remote::start(&["--forget-after", "2"]);
    let mut scene = Scene::of(&remote);
    for n in 0..2 {
        assert_eq!(
            text(&scene.client.call("r__echo", json!({ "text": n.to_string() }))),
            format!("{{\"text\": \"{n}\"}}")
        );
    }
    let lists = remote.posts("tools/list").len();
    let ids: Vec<Value> = (2..12)
        .map(|n| scene.client.send("tools/call", json!({ "name": "r__echo", "arguments": { "text": n.to_string() } })))
        .collect();
    for (n, id) in (2..12).zip(ids) {
        let answer = scene.client.answer(&id);
        assert_eq!(text(&answer["result"]), format!("{{\"text\": \"{n}\"}}"), "{answer}");
    }
    assert_eq!(remote.posts("initialize").len(), 2);
    assert!(remote.posts("tools/list").len() > lists, "the lists are read again");
    let ran = |n: u64| {
        let text = n.to_string();
        let is_it =
            |e: &Value| e["headers"]["mcp-session-id"] == "s2" && e["body"]["params"]["arguments"]["text"] == text;
        remote.count(is_it)
    };
    assert!((2..12).all(|n| ran(n) == 1), "each runs once in the new session");
    let view = scene.state("r");
    assert_eq!((view["state"].as_str(), view["restarts"].as_u64()), (Some("ready"), Some(0)), "no crash: {view}");
}

#[test]
fn a_new_session_that_is_unknown_too_is_an_error_and_no_loop() {
    let remote = Remote::start(&["--forget-after", "1", "--lose-new", "1"]);
    let mut scene = Scene::of(&remote);
    scene.call("echo");
    let refused = scene.call("echo");
    assert_eq!(error(&refused), "server_unavailable", "{refused}");
    assert!(text(&refused).contains("session") && text(&refused).contains("Nothing was executed"), "{refused}");
    let view = scene.await_state("r", "failing");
    assert!(view["reason"].as_str().unwrap().contains("session"), "{view}");
    let begun = remote.posts("initialize").len();
    assert!((2..=4).contains(&begun), "{begun} sessions were begun");
}

#[test]
fn no_credential_follows_a_redirect_and_no_client_s_token_goes_upstream() {
    let canary = Remote::start(&[]);
    let redirecting = Remote::start(&["--redirect", &canary.url]);
    let plain = Remote::start(&[]);
    let headers = json!({ "Authorization": "Bearer upstream-secret", "X-Key": "key-secret" });
    let mut scene = Scene::new(json!({
        "away": { "url": redirecting.url, "headers": headers },
        "r": { "url": plain.url, "headers": headers },
    }));
    scene.client.await_tool("r__echo");
    let view = scene.await_state("away", "failing");
    assert!(view["reason"].as_str().unwrap().contains("redirects to"), "{view}");
    assert_eq!(canary.log().len(), 0, "nothing arrives where the redirect leads");
    assert!(!redirecting.log().is_empty());
    // Through the HTTP door with the client's own bearer.
    let token = scene.home.token();
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    let params = json!({ "name": "r__echo", "arguments": {}, "_meta": meta });
    let head = [
        format!("Authorization: Bearer {token}"),
        "Content-Type: application/json".into(),
        "Accept: application/json, text/event-stream".into(),
        "MCP-Protocol-Version: 2026-07-28".into(),
        "Mcp-Method: tools/call".into(),
        "Mcp-Name: r__echo".into(),
        "X-Client: canary-header".into(),
    ];
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    assert_eq!(http(&scene.hub.url(), "POST", &head, &body).status, 200);
    let seen = Value::from(plain.log()).to_string();
    assert!(!seen.contains(&token) && !seen.contains("canary-header"));
    assert!(
        plain.posts("tools/call").iter().all(|entry| entry["headers"]["authorization"] == "Bearer upstream-secret")
    );
    let (_, logs, _) = scene.home.run(&["logs"]);
    let shown = scene.home.json(&["server", "show", "r"]).to_string() + &logs;
    assert!(!shown.contains("upstream-secret") && !shown.contains("key-secret"));
}

#[test]
fn a_server_that_wants_credentials_says_so_and_is_not_pestered() {
    let remote = Remote::start(&["--auth", "Bearer right"]);
    let mut scene = Scene::new(json!({
        "wrong": { "url": remote.url, "headers": { "Authorization": "Bearer wrong" } },
        "r": { "url": remote.url, "headers": { "Authorization": "Bearer right" } },
    }));
    scene.client.await_tool("r__echo");
    let view = eventually("the reason", || {
        let view = scene.state("wrong");
        (view["reason"] == "needs sign-in").then_some(view)
    });
    assert_eq!(view["tools"], 0);
    let wrong = |remote: &Remote| remote.count(|entry| entry["headers"]["authorization"] == "Bearer wrong");
    assert_eq!(wrong(&remote), 1);
    let refused = scene.client.call("wrong__echo", json!({}));
    assert_eq!(error(&refused), "server_unavailable");
    assert!(text(&refused).contains("needs sign-in"), "{refused}");
}

#[test]
fn answers_that_never_end_break_off_or_are_none_fail_their_call_alone() {
    let remote = Remote::start(&[]);
    let mut scene = Scene::of(&remote);
    let open = scene.client.send("tools/call", json!({ "name": "r__never", "arguments": {} }));
    for tool in ["endless", "huge"] {
        let refused = scene.call(tool);
        assert_eq!(error(&refused), "result_too_large", "{refused}");
    }
    eventually("both are let go", || (remote.count(|entry| entry["closed"] == "endless") == 2).then_some(()));
    let refused = scene.call("broken");
    assert_eq!(error(&refused), "server_crashed", "{refused}");
    assert!(!text(&refused).contains("may have been executed"), "a read: {refused}");
    let refused = scene.call("broken_write");
    assert_eq!(error(&refused), "server_crashed", "{refused}");
    assert!(text(&refused).contains("It may have been executed; check before calling again."), "{refused}");
    assert_eq!(remote.count(|entry| entry["body"]["params"]["name"] == "broken_write"), 1, "never repeated");
    assert_eq!(error(&scene.call("html")), "invalid_result");
    assert_eq!(error(&scene.call("odd_status")), "server_crashed");
    assert_eq!(text(&scene.call("echo")), "{}");
    scene
        .client
        .say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": open } }));
    assert_eq!(scene.state("r")["restarts"], 0);
    let meta = json!({ "progressToken": "p" });
    let answer = scene.client.ask("tools/call", json!({ "name": "r__progress", "arguments": {}, "_meta": meta }));
    assert_eq!(text(&answer["result"]), "done");
    for n in 1..=3 {
        let notice = scene.client.await_message("progress", |message| message["method"] == "notifications/progress");
        assert_eq!(notice["params"]["progress"], n, "{notice}");
    }
}

#[test]
fn a_status_that_a_tool_may_have_given_is_no_word_that_it_did_not_run() {
    for era in ["legacy", "modern"] {
        let remote = Remote::start(&["--era", era]);
        let mut scene = Scene::of(&remote);
        for status in [303, 400, 403, 404, 429, 500] {
            let call = |scene: &mut Scene| {
                let meta = json!({ "dev.callgate/idempotencyKey": status.to_string() });
                let params = json!({ "name": "r__status_write", "arguments": { "status": status }, "_meta": meta });
                scene.client.result("tools/call", params)
            };
            let first = call(&mut scene);
            assert!(text(&first).contains("may have been executed"), "{era} {status}: {first}");
            assert_eq!(error(&call(&mut scene)), "outcome_unknown", "{era} {status}");
            let is_it = |entry: &Value| entry["body"]["params"]["arguments"]["status"] == status;
            assert_eq!(remote.count(is_it), 1, "{era} {status}: sent once");
            scene.client.await_tool("r__status_write");
        }
        // What is turned away by its head alone was not looked at.
        let refused = scene.client.call("r__status_write", json!({ "status": 405 }));
        assert!(text(&refused).contains("Nothing was executed"), "{era}: {refused}");
    }
}

#[test]
fn where_nobody_listens_is_failing_and_comes_back() {
    let first = Remote::start(&[]);
    let port = first.port().to_owned();
    let mut scene = Scene::of(&first);
    drop(first);
    let refused = scene.call("echo");
    assert_eq!(error(&refused), "server_unavailable", "{refused}");
    assert!(text(&refused).contains("refused the connection. Nothing was executed."), "{refused}");
    let view = scene.await_state("r", "failing");
    assert!(view["reason"].as_str().unwrap().contains("refused the connection"), "{view}");
    let _second = Remote::start(&["--port", &port]);
    scene.home.run(&["server", "start", "r"]);
    assert_eq!(text(&scene.call("echo")), "{}");
}

#[test]
fn the_sample_server_works_behind_a_url_and_behind_a_command() {
    let mut sample = command(&binary("callgate"));
    sample.args(["sample-server", "--http", "0"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Guarded::spawn(sample);
    let url = process.line("the address").trim().to_owned();
    let child = |era: &str| {
        json!({ "command": binary("callgate"), "args": ["sample-server", "--http", "${port}", "--era", era],
                "url": "http://127.0.0.1:${port}/mcp" })
    };
    let mut scene = Scene::new(json!({ "url": { "url": url }, "old": child("legacy"), "new": child("modern") }));
    for (server, version) in [("url", "2026-07-28"), ("old", "2025-11-25"), ("new", "2026-07-28")] {
        scene.client.await_tool(&format!("{server}__echo"));
        assert_eq!(text(&scene.client.call(&format!("{server}__echo"), json!({ "text": server }))), server);
        let big = scene.client.call(&format!("{server}__big_result"), json!({ "bytes": 1_000_000 }));
        assert_eq!(text(&big).len(), 1_000_000);
        scene.client.call(&format!("{server}__change_tools"), json!({}));
        let view = scene.state(server);
        assert_eq!(view["version"], version, "{view}");
    }
    // What the program says on its stdout is in its log.
    let (_, log, _) = scene.home.run(&["server", "logs", "old"]);
    assert!(log.contains("out http://127.0.0.1:"), "{log}");
    // It dies in the middle of a call: the next one starts it again.
    let pid = scene.state("old")["pid"].as_u64().unwrap();
    let refused = scene.client.call("old__crash", json!({}));
    assert_eq!(error(&refused), "server_crashed", "{refused}");
    eventually("the next start", || {
        // Until its end is known, a call may still meet the one that is dying.
        let answer = scene.client.call("old__echo", json!({ "text": "again" }));
        (text(&answer) == "again").then_some(())
    });
    assert_ne!(scene.state("old")["pid"].as_u64(), Some(pid));
    let pids: Vec<u32> = ["old", "new"].map(|name| scene.state(name)["pid"].as_u64().unwrap() as u32).into();
    let began = Instant::now();
    scene.home.run(&["stop"]);
    assert!(began.elapsed() < Duration::from_secs(3), "nobody waits for a program that never reads its stdin");
    for pid in pids {
        eventually("no program is left", || (!stories::is_alive(pid)).then_some(()));
    }
}

#[test]
fn a_program_is_waited_for_until_it_answers_and_named_where_another_holds_its_port() {
    let holder = Remote::start(&[]);
    let port = holder.port();
    let squatted = json!({ "command": "cat", "url": holder.url,
                           "headers": { "Authorization": "Bearer secret" }, "timeouts": { "startSeconds": 5 } });
    let any = json!({ "command": "cat", "url": holder.url, "portOwner": "any" });
    let late = json!({ "command": "python3", "args": [SCRIPT, "--port", "${port}", "--deaf-ms", "1500"],
                       "url": "http://127.0.0.1:${port}/mcp" });
    // The listener is a grandchild that has left its family.
    let script = format!("(setsid python3 {SCRIPT} --port \"$0\" &) ; exec cat");
    let strayed =
        json!({ "command": "/bin/sh", "args": ["-c", script, "${port}"], "url": "http://127.0.0.1:${port}/mcp" });
    let early = json!({ "command": "/bin/sh", "args": ["-c", "echo last words >&2; exit 3"], "url": "http://127.0.0.1:${port}/mcp" });
    let began = Instant::now();
    let mut scene =
        Scene::new(json!({ "squatted": squatted, "any": any, "late": late, "strayed": strayed, "early": early }));
    for server in ["any", "late", "strayed"] {
        scene.client.await_tool(&format!("{server}__echo"));
        assert_eq!(text(&scene.client.call(&format!("{server}__echo"), json!({}))), "{}");
    }
    assert!(began.elapsed() > Duration::from_millis(1500));
    let view = scene.await_state("squatted", "failing");
    let reason = view["reason"].as_str().unwrap();
    assert!(reason.contains(&format!("port {port} is held by python3")), "{reason}");
    assert_eq!(holder.count(|entry| entry["headers"]["authorization"] == "Bearer secret"), 0, "nothing is sent to it");
    let view = scene.await_state("early", "failing");
    let reason = view["reason"].as_str().unwrap();
    assert!(reason.contains("code 3") && reason.contains("last words"), "{reason}");
}
