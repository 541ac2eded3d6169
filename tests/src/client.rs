//! A raw JSON-RPC client over a child's pipes: says exactly what it is told to, gives back exactly what comes.

use crate::{Guarded, LIMIT};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::Write;
use std::process::{ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// A client.
pub struct Client {
    /// The process that it speaks to.
    pub process: Guarded,
    stdin: Option<ChildStdin>,
    /// What came while something else was waited for.
    aside: VecDeque<Value>,
    next: u64,
}

impl Client {
    /// Starts a stdio endpoint.
    pub fn spawn(mut command: Command) -> Client {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Guarded::spawn(command);
        let stdin = process.stdin();
        Client { process, stdin, aside: VecDeque::new(), next: 1 }
    }

    /// Writes bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }
    /// Writes one message.
    pub fn say(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }
    /// Closes the client's side.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }
    /// The next message, whatever it is.
    pub fn hear(&mut self) -> Value {
        if let Some(message) = self.aside.pop_front() {
            return message;
        }
        let line = self.process.line("a message");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("no JSON on stdout ({error}): {line}"))
    }
    /// The next message if one comes in time.
    pub fn hear_within(&mut self, time: Duration) -> Option<Value> {
        if let Some(message) = self.aside.pop_front() {
            return Some(message);
        }
        Some(serde_json::from_str(&self.process.line_within(time)?).unwrap())
    }
    /// The first message that `is_it`; the others are kept.
    pub fn await_message(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.aside.iter().position(&is_it) {
            return self.aside.remove(place).unwrap();
        }
        let deadline = Instant::now() + LIMIT;
        loop {
            let line = self.process.line(what);
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if is_it(&message) {
                return message;
            }
            self.aside.push_back(message);
            assert!(Instant::now() < deadline, "{what} did not come");
        }
    }
    /// The answer to a raw id.
    pub fn answer(&mut self, id: &Value) -> Value {
        self.await_message(&format!("the answer to {id}"), |message| {
            message.get("id") == Some(id) && message.get("method").is_none()
        })
    }
    /// Sends a request and gives its id.
    pub fn send(&mut self, method: &str, params: Value) -> Value {
        let id = json!(self.next);
        self.next += 1;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }
    /// Sends a request and gives its whole answer.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(&id)
    }
    /// A result, or a panic.
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.ask(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }
    /// The legacy handshake with one revision.
    pub fn initialize(&mut self, version: &str) -> Value {
        let info = json!({ "name": "story", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": info });
        let result = self.result("initialize", params);
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        result
    }
    /// Calls a tool: the result object.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({ "name": tool, "arguments": arguments }))
    }
    /// The names in `tools/list`.
    pub fn tools(&mut self) -> Vec<String> {
        let result = self.result("tools/list", json!({}));
        let tools = result["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
    /// Lists until a tool is there.
    pub fn await_tool(&mut self, tool: &str) {
        let deadline = Instant::now() + LIMIT;
        while !self.tools().iter().any(|name| name == tool) {
            assert!(Instant::now() < deadline, "{tool} never came");
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }
}

/// What the hub says of a call's result: its error or its state, `ran` where it says nothing.
pub fn outcome(result: &Value) -> &str {
    let outcome = &result["_meta"]["dev.callgate/outcome"];
    outcome["error"].as_str().or(outcome["status"].as_str()).unwrap_or("ran")
}

/// The text of a result's first content block.
pub fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}
