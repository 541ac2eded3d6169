//! Calls whose server asks its client for more before it does them (`input_required` of 2026-07-28): the legs are one call,
//! approved once, under one key, and nothing but the answer goes along with what was approved.

use crate::fake::fake;
use crate::tasks::{ask, comes_to, get, meta};
use serde_json::{Value, json};
use stories::{Client, Home, Hub, eventually, text};

struct Asking {
    home: Home,
    _hub: Hub,
    client: Client,
}

impl Asking {
    fn new(default: &str) -> Asking {
        let home = Home::new();
        let lines = home.path("lines").display().to_string();
        let policy = json!({ "default": default, "approval": { "holdSeconds": 0, "holdSecondsWithProgress": 0 } });
        let server = fake(&["--discover", "modern", "--asks", &lines]);
        home.configure(&json!({ "mcpServers": { "s": server }, "policy": policy }));
        let hub = home.serve();
        let mut client = home.stdio(&["--host", "story"]);
        eventually("its tool", || {
            let tools = client.ask("tools/list", json!({ "_meta": meta(json!({})) }));
            tools.to_string().contains("s__ask").then_some(())
        });
        Asking { home, _hub: hub, client }
    }
    /// One leg, with what it has beside name and arguments.
    fn leg(&mut self, more: &Value) -> Value {
        let mut params = json!({ "name": "s__ask", "arguments": { "n": 1 } });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut said = meta(json!({ "elicitation": {} }));
        said.as_object_mut().unwrap().extend(params["_meta"].as_object().cloned().unwrap_or_default());
        params["_meta"] = said;
        self.client.result("tools/call", params)
    }
    fn approve(&self) {
        let card = self.home.json(&["approval", "list"])["approvals"][0].take();
        self.home.json(&["approval", "approve", card["id"].as_str().unwrap(), "--remember", "once"]);
    }
    fn runs(&self) -> usize {
        std::fs::read_to_string(self.home.path("lines")).unwrap_or_default().lines().count()
    }
}

fn came_to(result: &Value) -> &str {
    match result["_meta"]["dev.callgate/outcome"]["status"].as_str() {
        Some(status) => status,
        None if result["resultType"] == "input_required" => "asked",
        None => "ran",
    }
}

fn reply(state: &str) -> Value {
    let answer = json!({ "a": { "action": "accept", "content": {} } });
    json!({ "inputResponses": answer, "requestState": state, "more": 1 })
}

#[test]
fn one_approval_is_enough_for_all_legs_of_a_call() {
    let mut it = Asking::new("ask");
    assert_eq!(came_to(&it.leg(&json!({}))), "pending");
    it.approve();
    // Nobody was asked anything yet: what rides along is left out.
    assert_eq!(came_to(&it.leg(&reply("s"))), "asked");
    let card = it.home.json(&["approval", "list"])["approvals"][0].take();
    assert!(card["state"] == "approved" && card["again"].as_str().unwrap().contains("has asked its client"), "{card}");
    assert_eq!(came_to(&it.leg(&reply("other"))), "asked", "not what its server gave");
    let done = it.leg(&reply("s"));
    assert_eq!((came_to(&done), it.runs()), ("ran", 1));
    let went = text(&done);
    assert!(went.contains("inputResponses") && went.contains("requestState") && !went.contains("more"), "{went}");
    assert!(it.home.json(&["approval", "list"])["approvals"].as_array().unwrap().is_empty());
    assert_eq!(came_to(&it.leg(&json!({}))), "pending", "the next call is another one");
    assert_eq!(it.home.run(&["audit", "verify"]).0, 0);
}

#[test]
fn a_key_is_used_up_by_the_last_leg_only() {
    let mut it = Asking::new("allow");
    let key = json!({ "_meta": { "dev.callgate/idempotencyKey": "k" } });
    let mut last = reply("s");
    last["_meta"] = key["_meta"].clone();
    assert_eq!(came_to(&it.leg(&key)), "asked");
    for replayed in [false, true] {
        let done = it.leg(&last);
        assert_eq!((came_to(&done), done["_meta"]["dev.callgate/replayed"] == true), ("ran", replayed), "{done}");
        assert_eq!(it.runs(), 1);
    }
}

#[test]
fn a_task_asks_its_client_and_goes_on_by_the_same_approval() {
    let mut it = Asking::new("ask");
    let call =
        |it: &mut Asking| ask(&mut it.client, "tools/call", json!({ "name": "s__ask", "arguments": { "n": 1 } }));
    let id = call(&mut it)["result"]["taskId"].clone();
    it.approve();
    let asked = comes_to(&mut it.client, &id, "input_required");
    assert_eq!(asked["inputRequests"]["a"]["method"], "elicitation/create", "{asked}");
    assert!(!asked.to_string().contains("requestState"), "{asked}");
    let card = it.home.json(&["approval", "list"])["approvals"][0].take();
    assert!(card["state"] == "approved" && card["again"].as_str().unwrap().contains("has asked its client"), "{card}");
    // It does not go on by itself, and the identical call is the same task.
    assert_eq!(call(&mut it)["result"]["taskId"], id);
    let update = |it: &mut Asking, responses: Value| {
        ask(&mut it.client, "tasks/update", json!({ "taskId": id, "inputResponses": responses }))
    };
    assert_eq!(update(&mut it, json!("x"))["error"]["code"], -32602);
    update(&mut it, json!({ "other": { "action": "accept" } }));
    assert_eq!(get(&mut it.client, &id)["result"]["status"], "input_required");
    assert_eq!(it.runs(), 0);
    update(&mut it, json!({ "a": { "action": "accept", "content": {} } }));
    let done = comes_to(&mut it.client, &id, "completed");
    let went = text(&done["result"]);
    assert!(went.contains("inputResponses") && went.contains("requestState") && !went.contains("other"), "{went}");
    assert_eq!(it.runs(), 1);
    assert!(it.home.json(&["approval", "list"])["approvals"].as_array().unwrap().is_empty());
    assert_eq!(it.home.run(&["audit", "verify"]).0, 0);
}
