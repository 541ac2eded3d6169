//! Over a socket.

use super::{ask, call, modern, settings, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;

/// The address of a server that runs in a thread until its process ends.
fn server(args: &[&str]) -> String {
    let settings = settings(args);
    let (told, output) = std::io::pipe().unwrap();
    std::thread::spawn(move || crate::http::serve(settings, 0, output.as_fd()).unwrap());
    let mut line = String::new();
    BufReader::new(told).read_line(&mut line).unwrap();
    line.trim().strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().to_owned()
}

struct Client(BufReader<TcpStream>);

struct Answer {
    status: u16,
    head: String,
    messages: Vec<Value>,
}

impl Client {
    fn to(address: &str) -> Client {
        Client(BufReader::new(TcpStream::connect(address).unwrap()))
    }
    fn send(&mut self, verb: &str, headers: &str, body: &str) {
        let length = body.len();
        let request = format!("{verb} /mcp HTTP/1.1\r\nhost: x\r\n{headers}content-length: {length}\r\n\r\n{body}");
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
    }
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
    fn head(&mut self) -> (u16, String) {
        let status = self.line().split(' ').nth(1).unwrap().parse().unwrap();
        let mut head = String::new();
        loop {
            let line = self.line();
            if line.is_empty() {
                return (status, head);
            }
            head.push_str(&line);
            head.push('\n');
        }
    }
    /// One event of a stream; None at its end.
    fn event(&mut self) -> Option<Value> {
        let length = usize::from_str_radix(&self.line(), 16).unwrap();
        let mut chunk = vec![0; length + 2];
        self.0.read_exact(&mut chunk).unwrap();
        let chunk = String::from_utf8(chunk).unwrap();
        if length == 0 {
            return None;
        }
        let event = chunk.strip_suffix("\n\n\r\n").unwrap();
        Some(serde_json::from_str(event.strip_prefix("event: message\ndata: ").unwrap()).unwrap())
    }
    fn hear(&mut self) -> Answer {
        let (status, head) = self.head();
        let mut messages = Vec::new();
        if head.contains("text/event-stream") {
            messages.extend(std::iter::from_fn(|| self.event()));
        } else {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap();
            let mut body = vec![0; length.trim().parse().unwrap()];
            self.0.read_exact(&mut body).unwrap();
            messages.extend((!body.is_empty()).then(|| serde_json::from_slice(&body).unwrap()));
        }
        Answer { status, head, messages }
    }
    fn post(&mut self, headers: &str, message: &Value) -> Answer {
        self.send("POST", headers, &message.to_string());
        self.hear()
    }
}

const MODERN: &str = "mcp-protocol-version: 2026-07-28\r\n";

#[test]
fn a_legacy_session() {
    let address = server(&[]);
    let mut client = Client::to(&address);
    let hello = client.post("", &ask(1, "initialize", json!({"protocolVersion": "2025-11-25"})));
    assert_eq!(hello.messages[0]["result"]["protocolVersion"], "2025-11-25");
    let session = hello.head.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap();
    let session = format!("{session}\r\n");
    let quiet = client.post(&session, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!((quiet.status, quiet.messages.len()), (202, 0));
    for n in 0..3 {
        let echo = client.post(&session, &call(n, "echo", json!({"text": "x".repeat(300)})));
        assert_eq!(text(&echo.messages[0]).len(), 300);
    }
    // A stream on its own connection takes what belongs to no call.
    let mut listener = Client::to(&address);
    listener.send("GET", &session, "");
    assert!(listener.head().1.contains("text/event-stream"));
    client.post(&session, &call(5, "change_tools", json!({})));
    assert_eq!(listener.event().unwrap()["method"], "notifications/tools/list_changed");
    // A cancel comes on another connection than its call.
    let mut waiting = Client::to(&address);
    waiting.send("POST", &session, &call(6, "slow_write", json!({"ms": 100})).to_string());
    let mut big = call(7, "progress_burst", json!({"count": 3}));
    big["params"]["_meta"] = json!({"progressToken": 1});
    let burst = client.post(&session, &big);
    assert_eq!(burst.messages.len(), 4);
    assert_eq!(burst.messages[2]["params"]["progress"], 3);
    assert_eq!(text(&burst.messages[3]), "3 notices");
    assert!(waiting.hear().messages[0]["result"]["isError"].as_bool().unwrap());
    assert_eq!(client.post("mcp-session-id: other\r\n", &call(8, "echo", json!({"text": ""}))).status, 404);
    client.send("DELETE", &session, "");
    assert_eq!(client.hear().status, 200);
    assert_eq!(client.post(&session, &call(9, "echo", json!({"text": ""}))).status, 404);
}

#[test]
fn modern_requests() {
    let address = server(&[]);
    let mut client = Client::to(&address);
    let hello = client.post(MODERN, &modern(ask(1, "server/discover", json!({}))));
    assert_eq!(hello.messages[0]["result"]["supportedVersions"], json!(["2026-07-28"]));
    let big = client.post(MODERN, &modern(call(2, "big_result", json!({"bytes": 3_000_000}))));
    assert_eq!(text(&big.messages[0]).len(), 3_000_000);
    assert_eq!(client.post(MODERN, &modern(ask(3, "ping", json!({})))).status, 404);
    let mut old = modern(ask(4, "tools/list", json!({})));
    old["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2027-01-01");
    assert_eq!(client.post(MODERN, &old).status, 400);
    let mut slow = modern(call(5, "slow", json!({"ms": 10})));
    slow["params"]["_meta"]["progressToken"] = json!("t");
    let slow = client.post(MODERN, &slow);
    assert_eq!((slow.messages.len(), text(&slow.messages[9])), (10, "took 10 ms"));
    // A closed connection is a cancel, and harms nobody else.
    let mut leaves = Client::to(&address);
    leaves.send("POST", MODERN, &modern(call(6, "hang", json!({}))).to_string());
    drop(leaves);
    client.send("GET", MODERN, "");
    assert_eq!(client.hear().status, 405);
}

#[test]
fn what_is_refused() {
    let address = server(&[]);
    for (verb, headers, body, expect) in [
        ("POST", "", "{", 400),
        ("POST", "origin: http://evil.example\r\n", "{}", 403),
        ("PUT", "", "", 405),
        ("POST", "transfer-encoding: chunked\r\n", "", 411),
        ("POST", "broken\r\n", "", 400),
    ] {
        let mut client = Client::to(&address);
        client.send(verb, headers, body);
        assert_eq!(client.hear().status, expect, "{verb} {headers}");
    }
    let mut client = Client::to(&address);
    client.0.get_mut().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(client.hear().status, 404);
}
