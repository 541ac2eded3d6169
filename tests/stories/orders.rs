//! What stories of the gate are told with: a server that writes a line for each order it gets, so that it can be counted
//! what ran.

use serde_json::{Value, json};
use stories::{Client, Home, eventually, sample};

/// A home whose sample server writes lines, with this policy.
pub fn home(policy: Value) -> Home {
    let home = Home::new();
    let lines = home.path("lines.txt").display().to_string();
    home.configure(&json!({ "mcpServers": { "s": sample(&["--file", &lines]) }, "policy": policy }));
    home
}

/// The default policy with a hold of so many seconds.
pub fn auto(seconds: u64) -> Value {
    json!({ "approval": { "holdSeconds": seconds, "holdSecondsWithProgress": seconds } })
}

pub fn lines(home: &Home) -> Vec<String> {
    let text = std::fs::read_to_string(home.path("lines.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

pub fn host(home: &Home, name: &str) -> Client {
    let mut client = home.stdio(&["--host", name]);
    client.initialize("2025-11-25");
    client.await_tool("s__append_line");
    client
}

/// The calls that wait.
pub fn waiting(home: &Home) -> Vec<Value> {
    home.json(&["approval", "list"])["approvals"].as_array().unwrap().clone()
}

pub fn first_waiting(home: &Home) -> String {
    eventually("a waiting call", || Some(waiting(home).first()?["id"].as_str()?.to_owned()))
}

pub const ORDER: &str = "s__append_line";
