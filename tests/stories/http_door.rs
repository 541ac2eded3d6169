//! The HTTP door of the whole binary: who gets in, and that both eras work through it.

use crate::fake::fake;
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use stories::{Home, HttpReply, Hub, eventually, http, sample};

struct Door {
    url: String,
    token: String,
    _hub: Hub,
    home: Home,
}

fn door() -> Door {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let hub = home.serve();
    let mut client = home.stdio(&[]);
    client.initialize("2025-11-25");
    client.await_tool("f__echo");
    Door { url: hub.url(), token: home.token(), _hub: hub, home }
}

impl Door {
    fn head(&self) -> Vec<String> {
        vec![
            format!("Authorization: Bearer {}", self.token),
            "Content-Type: application/json".into(),
            "Accept: application/json, text/event-stream".into(),
        ]
    }
    fn post(&self, more: &[&str], body: &Value) -> HttpReply {
        let mut lines = self.head();
        lines.extend(more.iter().map(|line| (*line).to_owned()));
        http(&self.url, "POST", &lines, &body.to_string())
    }
}

fn initialize() -> Value {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "vscode", "version": "1" } });
    json!({ "jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params })
}

#[test]
fn strangers_browsers_and_rebound_names_are_kept_out() {
    let door = door();
    let port = door.url.rsplit(':').next().unwrap().split('/').next().unwrap().to_owned();
    let with = |replace: &str, lines: &[String]| {
        let mut head: Vec<String> =
            door.head().into_iter().filter(|line| replace.is_empty() || !line.starts_with(replace)).collect();
        head.extend(lines.iter().cloned());
        http(&door.url, "POST", &head, &initialize().to_string()).status
    };
    assert_eq!(with("", &[]), 200);
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        assert_eq!(with("", &[format!("Host: {host}:{port}")]), 403, "{host}");
    }
    assert_eq!(with("", &[format!("Host: localhost:{port}")]), 200);
    for origin in ["https://evil.example", "null", "http://localhost.evil.example"] {
        assert_eq!(with("", &[format!("Origin: {origin}")]), 403, "{origin}");
    }
    assert_eq!(with("", &["Sec-Fetch-Site: cross-site".into()]), 403);
    assert_eq!(with("Authorization", &[]), 401);
    assert_eq!(with("Authorization", &["Authorization: Bearer wrong".into()]), 401);
    assert_eq!(with("Content-Type", &["Content-Type: text/plain".into()]), 415);
    let preflight = http(
        &door.url,
        "OPTIONS",
        &["Origin: https://evil.example".into(), "Access-Control-Request-Method: POST".into()],
        "",
    );
    assert_eq!(preflight.status, 403);
    assert!(preflight.header("Access-Control-Allow-Origin").is_none());
    let unknown = door.url.replace("/mcp", "/elsewhere");
    assert_eq!(http(&unknown, "POST", &door.head(), "{}").status, 404);
    assert_eq!(
        http(&door.url.replace("/mcp", "/mcp/s/nobody"), "POST", &door.head(), &initialize().to_string()).status,
        404
    );
}

#[test]
fn a_message_over_several_lines_reaches_a_stdio_server_as_one() {
    let door = door();
    let first = door.post(&[], &initialize());
    let session = format!("Mcp-Session-Id: {}", first.header("Mcp-Session-Id").expect("a session id"));
    let mut head = door.head();
    head.extend([session, "MCP-Protocol-Version: 2025-11-25".into()]);
    // Between its tokens a message may be broken anywhere. What stands on a line of its own must not become a message
    // of its own: the server would do what nobody has permitted.
    let hidden = r#"{"jsonrpc":"2.0","id":"hidden","method":"tools/call","params":{"name":"echo","arguments":{"text":"smuggled"}}}"#;
    for end in ["\n", "\r", "\r\n"] {
        let body = format!(
            "{{\"jsonrpc\":\"2.0\",{end}\"id\":8,\"method\":\"tools/call\",\"params\":{{\"name\":\"f__echo\",{end}\
             \"arguments\":{{{end} \"text\":{end}\"several\",\"x\":{end}{hidden}{end}}}}}}}"
        );
        let answer = http(&door.url, "POST", &head, &body).message();
        assert_eq!(answer["id"], 8, "{answer}");
        assert!(answer["result"].to_string().contains("several"), "{answer}");
    }
}

#[test]
fn legacy_clients_have_sessions_of_their_own() {
    let door = door();
    let first = door.post(&[], &initialize());
    assert_eq!(first.message()["result"]["protocolVersion"], "2025-11-25");
    let session = first.header("Mcp-Session-Id").expect("a session id").to_owned();
    assert!(session.len() >= 32);
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "f__echo", "arguments": { "text": "http" } } });
    let session_line = format!("Mcp-Session-Id: {session}");
    let lines = [session_line.as_str(), "MCP-Protocol-Version: 2025-11-25"];
    let answer = door.post(&lines, &call).message();
    assert_eq!(answer["id"], 7);
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("http"));
    assert_eq!(door.post(&["MCP-Protocol-Version: 2025-11-25"], &call).status, 400);
    assert_eq!(door.post(&["Mcp-Session-Id: 0123456789abcdef0123456789abcdef"], &call).status, 404);
    let mut head = door.head();
    head.push(session_line.clone());
    assert!(http(&door.url, "DELETE", &head, "").status < 300);
    assert_eq!(door.post(&lines, &call).status, 404);
    // Whoever reads the logs cannot go on with it.
    for log in std::fs::read_dir(door.home.path("logs")).unwrap() {
        let log = std::fs::read_to_string(log.unwrap().path()).unwrap_or_default();
        assert!(!log.contains(&session), "{log}");
    }
}

#[test]
fn modern_clients_need_none_and_headers_must_agree_with_the_body() {
    let door = door();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "vscode", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let call = json!({ "jsonrpc": "2.0", "id": "m", "method": "tools/call", "params": { "name": "f__echo", "arguments": {}, "_meta": meta } });
    let head = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: f__echo"];
    let reply = door.post(&head, &call);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.message()["result"]["resultType"], "complete");
    let reply = door.post(&["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: f__bye"], &call);
    assert_eq!(reply.status, 400);
    assert_eq!(reply.message()["error"]["code"], -32020);
    let unknown = json!({ "jsonrpc": "2.0", "id": 1, "method": "no/such", "params": { "_meta": meta } });
    let reply = door.post(&["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: no/such"], &unknown);
    assert_eq!((reply.status, reply.message()["error"]["code"].as_i64()), (404, Some(-32601)));
}

#[test]
fn the_view_of_one_server_has_its_own_names() {
    let door = door();
    let url = door.url.replace("/mcp", "/mcp/s/f");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } });
    let mut head = door.head();
    head.extend(["MCP-Protocol-Version: 2026-07-28".into(), "Mcp-Method: tools/list".into()]);
    let names = http(&url, "POST", &head, &list.to_string()).message();
    let names = names["result"]["tools"].as_array().unwrap();
    assert!(names.iter().any(|tool| tool["name"] == "echo"), "{names:?}");
}

#[test]
fn a_client_that_leaves_while_its_call_waits_waits_no_more_and_its_next_identical_call_runs_it_once() {
    for version in ["2025-06-18", "2025-11-25"] {
        let home = Home::new();
        let lines = home.path("lines.txt");
        let approval = json!({ "holdSeconds": 60, "holdSecondsWithProgress": 60 });
        home.configure(&json!({
            "mcpServers": { "s": sample(&["--file", &lines.display().to_string()]) },
            "policy": { "approval": approval },
        }));
        let hub = home.serve();
        let mut client = home.stdio(&[]);
        client.initialize("2025-11-25");
        client.await_tool("s__append_line");
        let door = Door { url: hub.url(), token: home.token(), _hub: hub, home };
        let home = &door.home;
        let mut hello = initialize();
        hello["params"]["protocolVersion"] = json!(version);
        let session = door.post(&[], &hello).header("mcp-session-id").unwrap().to_owned();
        let session = format!("Mcp-Session-Id: {session}");
        let params = json!({ "name": "s__append_line", "arguments": { "text": "one" } });
        let body = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params });
        let text = body.to_string();
        let address = door.url.trim_start_matches("http://").split('/').next().unwrap().to_owned();
        let mut stream = TcpStream::connect(&address).unwrap();
        let head = [door.head(), vec![session.clone(), format!("Host: {address}")]].concat().join("\r\n");
        write!(stream, "POST /mcp HTTP/1.1\r\n{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        let waiters = |wanted: u64| {
            eventually("its place in the queue", || {
                let all = home.json(&["approval", "list"]);
                let card = all["approvals"].get(0)?.clone();
                (card["waiters"] == json!(wanted)).then_some(card)
            })
        };
        waiters(1);
        drop(stream);
        let card = waiters(0);
        let id = card["id"].as_str().unwrap();
        let decided = home.json(&["approval", "approve", id, "--remember", "once"]);
        assert_eq!(decided["follows"], json!("next_call"), "{version}");
        let ran = || std::fs::read_to_string(&lines).unwrap_or_default();
        assert_eq!(ran(), "");
        let answer = door.post(&[&session], &body).message();
        assert_eq!(ran(), "one\n", "{version}: {answer}");
        assert!(home.json(&["approval", "list"])["approvals"].as_array().unwrap().is_empty());
    }
}
