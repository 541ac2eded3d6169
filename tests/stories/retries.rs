//! Retries: of calls that waited for a person, beside each other and one after the other; of calls whose reply was lost,
//! with another key or none. One wish is one run, and nobody is asked twice for it.

use serde_json::{Value, json};
use std::path::PathBuf;
use stories::{Client, Home, eventually, text};

/// A server with a write and a read, whose calls end when the story lets them.
struct Orders {
    home: Home,
}

const ORDER: &str = "c__order";
const LOOK: &str = "c__look";
const KEY: &str = "dev.callgate/idempotencyKey";

impl Orders {
    fn new(policy: &Value) -> Orders {
        let home = Home::new();
        let properties = json!({ "n": { "type": "integer" }, "until": { "type": "string" } });
        let tool = |name: &str, reads: bool| {
            json!({
                "name": name, "description": "One more.", "annotations": { "readOnlyHint": reads },
                "inputSchema": { "type": "object", "properties": properties },
            })
        };
        let definitions =
            json!({ "tools": [tool("order", false), tool("look", true)], "prompts": [{ "name": "plan" }] });
        std::fs::write(home.path("definitions.json"), definitions.to_string()).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/stories/changing.py");
        let paths = ["definitions.json", "lines"].map(|name| home.path(name).display().to_string());
        let entry = json!({ "command": "python3", "args": [script, &paths[0], &paths[1]] });
        home.configure(&json!({ "mcpServers": { "c": entry }, "policy": policy }));
        Orders { home }
    }
    fn asking(seconds: u64) -> Orders {
        let approval = json!({ "holdSeconds": seconds, "holdSecondsWithProgress": seconds });
        let rules = json!([{ "name": "all", "prompts": ["*"], "then": "ask" }]);
        Orders::new(&json!({ "default": "ask", "rules": rules, "approval": approval }))
    }
    fn host(&self) -> Client {
        let mut client = self.home.stdio(&["--host", "cursor"]);
        client.initialize("2025-11-25");
        client.await_tool(ORDER);
        client
    }
    fn runs(&self) -> usize {
        std::fs::read_to_string(self.home.path("lines")).unwrap_or_default().lines().count()
    }
    fn await_runs(&self, runs: usize) {
        eventually("it runs", || (self.runs() == runs).then_some(()));
    }
    /// The file by which a call ends, and the arguments of such a call.
    fn open_end(&self, n: u32) -> (PathBuf, Value) {
        let file = self.home.path(&format!("end{n}"));
        let arguments = json!({ "n": n, "until": file.display().to_string() });
        (file, arguments)
    }
    fn waiting(&self) -> Vec<Value> {
        let all = self.home.json(&["approval", "list"])["approvals"].clone();
        all.as_array().unwrap().iter().filter(|it| it["state"] == "waiting").cloned().collect()
    }
    fn decide(&self, how: &[&str]) {
        let card = eventually("a waiting call", || self.waiting().first().cloned());
        self.home.json(&[&["approval", how[0], card["id"].as_str().unwrap()], &how[1..]].concat());
    }
    fn approve(&self) {
        self.decide(&["approve", "--remember", "once"]);
    }
}

fn call(arguments: &Value, key: Option<&str>) -> Value {
    let meta = key.map_or(json!({}), |key| json!({ KEY: key }));
    json!({ "name": ORDER, "arguments": arguments, "_meta": meta })
}

fn outcome(result: &Value) -> &str {
    let outcome = &result["_meta"]["dev.callgate/outcome"];
    let told = outcome["error"].as_str().or(outcome["status"].as_str());
    told.unwrap_or(if result["_meta"]["dev.callgate/replayed"] == true { "replayed" } else { "ran" })
}

fn order(client: &mut Client, arguments: &Value, key: Option<&str>) -> String {
    outcome(&client.result("tools/call", call(arguments, key))).to_owned()
}

#[test]
fn retries_of_an_approved_call_beside_each_other_all_get_its_one_run() {
    for key in [None, Some("k")] {
        let orders = Orders::asking(0);
        let _hub = orders.home.serve();
        let (mut one, mut two) = (orders.host(), orders.host());
        let (end, arguments) = orders.open_end(1);
        assert_eq!(order(&mut one, &arguments, key), "pending");
        orders.approve();
        let mut asked: Vec<(usize, Value)> = Vec::new();
        for _ in 0..10 {
            asked.push((0, one.send("tools/call", call(&arguments, key))));
            asked.push((1, two.send("tools/call", call(&arguments, key))));
        }
        orders.await_runs(1);
        // Also whoever comes when it runs already.
        assert!(orders.waiting().is_empty());
        asked.push((1, two.send("tools/call", call(&arguments, key))));
        std::fs::write(end, "").unwrap();
        for (who, id) in asked {
            let client = if who == 0 { &mut one } else { &mut two };
            assert_eq!(outcome(&client.answer(&id)["result"]), "ran", "{key:?}");
        }
        assert_eq!((orders.runs(), orders.waiting().len()), (1, 0), "{key:?}");
        let next = if key.is_some() { "replayed" } else { "pending" };
        assert_eq!(order(&mut one, &arguments, key), next, "another wish is another question");
    }
}

/// Two sessions of one client were told that their call waits: it was one question, and both are told what came of it.
#[test]
fn everybody_who_was_sent_away_is_told_of_the_one_run_when_he_calls_again() {
    for tool in [ORDER, LOOK] {
        let orders = Orders::asking(0);
        let _hub = orders.home.serve();
        let (mut one, mut two) = (orders.host(), orders.host());
        let arguments = json!({ "n": 1 });
        assert_eq!(outcome(&one.call(tool, arguments.clone())), "pending");
        assert_eq!(outcome(&two.call(tool, arguments.clone())), "pending");
        orders.approve();
        let ran = one.call(tool, arguments.clone());
        assert_eq!(outcome(&ran), "ran", "{ran}");
        let told = two.call(tool, arguments.clone());
        assert_eq!(outcome(&told), "replayed", "{told}");
        assert!(text(&told).contains("waited for a person") && text(&told).contains("not run again"), "{told}");
        assert_eq!((orders.runs(), orders.waiting().len()), (1, 0));
        for client in [&mut one, &mut two] {
            assert_eq!(outcome(&client.call(tool, arguments.clone())), "pending", "another wish is another question");
        }
        assert_eq!((orders.runs(), orders.waiting().len()), (1, 1));
    }
}

#[test]
fn a_prompt_that_waited_is_told_to_all_who_were_sent_away() {
    let orders = Orders::asking(0);
    let _hub = orders.home.serve();
    let (mut one, mut two) = (orders.host(), orders.host());
    let params = json!({ "name": "c__plan" });
    for client in [&mut one, &mut two] {
        assert_eq!(client.ask("prompts/get", params.clone())["error"]["data"]["status"], "pending");
    }
    orders.approve();
    for client in [&mut one, &mut two] {
        let told = client.ask("prompts/get", params.clone());
        assert!(told["result"]["messages"].is_array() && told["result"].get("content").is_none(), "{told}");
    }
    assert_eq!(one.ask("prompts/get", params)["error"]["data"]["status"], "pending");
}

#[test]
fn retries_of_a_denied_call_beside_each_other_are_all_denied() {
    for key in [None, Some("k")] {
        let orders = Orders::asking(0);
        let _hub = orders.home.serve();
        let (mut one, mut two) = (orders.host(), orders.host());
        let arguments = json!({ "n": 1 });
        assert_eq!(order(&mut one, &arguments, key), "pending");
        orders.decide(&["deny", "--reason", "not this week"]);
        let mut asked: Vec<(usize, Value)> = Vec::new();
        for _ in 0..6 {
            asked.push((0, one.send("tools/call", call(&arguments, key))));
            asked.push((1, two.send("tools/call", call(&arguments, key))));
        }
        for (who, id) in asked {
            let client = if who == 0 { &mut one } else { &mut two };
            let told = client.answer(&id)["result"].clone();
            assert!(outcome(&told) == "denied" && text(&told).contains("not this week"), "{key:?} {told}");
        }
        assert_eq!(orders.waiting().len(), 0, "{key:?}");
        eventually("another question", || (order(&mut one, &arguments, key) == "pending").then_some(()));
        assert_eq!((orders.runs(), orders.waiting().len()), (0, 1), "{key:?}");
    }
}

/// Nobody was sent away, so nobody repeats anything: one more identical call is one more wish.
#[test]
fn a_call_beside_one_that_its_own_asker_still_waits_for_is_another_question() {
    let orders = Orders::asking(60);
    let _hub = orders.home.serve();
    let mut client = orders.host();
    let (end, arguments) = orders.open_end(1);
    let first = client.send("tools/call", call(&arguments, None));
    orders.approve();
    orders.await_runs(1);
    let second = client.send("tools/call", call(&arguments, None));
    eventually("its own question", || (orders.waiting().len() == 1).then_some(()));
    std::fs::write(end, "").unwrap();
    assert_eq!(outcome(&client.answer(&first)["result"]), "ran");
    orders.approve();
    assert_eq!(outcome(&client.answer(&second)["result"]), "ran");
    assert_eq!(orders.runs(), 2);
}

/// Starts a call and takes it back when its server has it.
fn lose(orders: &Orders, client: &mut Client, (arguments, key): (&Value, Option<&str>)) {
    let runs = orders.runs();
    let id = client.send("tools/call", call(arguments, key));
    orders.await_runs(runs + 1);
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
}

/// A host whose patience ended calls again while the first call still runs: all who do so get that one's result.
#[test]
fn a_call_that_still_runs_is_joined_by_whoever_makes_it_again() {
    let orders = Orders::new(&json!({ "default": "allow", "approval": { "holdSeconds": 0 } }));
    let _hub = orders.home.serve();
    let mut client = orders.host();
    let file = orders.home.path("go");
    let arguments = json!({ "until": file.display().to_string() });
    lose(&orders, &mut client, (&arguments, None));
    let ids = [(); 3].map(|()| client.send("tools/call", call(&arguments, None)));
    client.result("ping", json!({}));
    std::fs::write(file, "").unwrap();
    for id in &ids {
        let answer = client.answer(id);
        assert_eq!(outcome(&answer["result"]), "replayed", "{answer}");
    }
    assert_eq!(orders.runs(), 1);
}

#[test]
fn a_lost_call_is_found_by_a_retry_that_adds_or_drops_its_key() {
    for (n, first, then) in [(1, None, Some("a")), (2, Some("b"), None), (3, None, None)] {
        for has_ended in [true, false] {
            let orders = Orders::new(&json!({ "default": "allow" }));
            let hub = orders.home.serve();
            let mut client = orders.host();
            let (end, arguments) = orders.open_end(n);
            lose(&orders, &mut client, (&arguments, first));
            if has_ended {
                std::fs::write(&end, "").unwrap();
                // The server answers one after the other.
                assert_eq!(outcome(&client.call(LOOK, json!({ "n": 0 }))), "ran");
            }
            let mut runs = orders.runs();
            let again = client.send("tools/call", call(&arguments, then));
            std::fs::write(&end, "").unwrap();
            let told = client.answer(&again)["result"].clone();
            let case = format!("{first:?} {then:?} {has_ended} {told}");
            if has_ended || first.is_none() {
                assert!(outcome(&told) == "replayed" && text(&told).contains("not run again"), "{case}");
            } else {
                assert_eq!(outcome(&told), "ran", "it waits for the run itself: {case}");
            }
            assert_eq!(orders.runs(), runs, "{case}");
            // A key is one run, also by a later hub; without one, once more is another wish.
            for key in [first, then].into_iter().flatten() {
                assert_eq!(order(&mut client, &arguments, Some(key)), "replayed", "{case}");
            }
            assert_eq!(orders.runs(), runs, "{case}");
            assert_eq!(order(&mut client, &arguments, None), "ran", "{case}");
            assert_eq!(order(&mut client, &arguments, Some("other")), "ran", "{case}");
            runs += 2;
            assert_eq!(orders.runs(), runs, "{case}");
            drop(client);
            drop(hub);
            let _hub = orders.home.serve();
            let mut client = orders.host();
            for key in [first, then].into_iter().flatten() {
                assert_eq!(order(&mut client, &arguments, Some(key)), "replayed", "{case}");
            }
            assert_eq!(orders.runs(), runs, "{case}");
        }
    }
}

/// The text of a result that is over the bound, read to its end.
fn read_whole(client: &mut Client, result: &Value) -> String {
    let blocks = result["content"].as_array().unwrap();
    let mut all = blocks[1]["text"].as_str().unwrap().to_owned();
    let next = |text: &str| text.split(' ').find(|word| word.starts_with("callgate://")).map(str::to_owned);
    let mut place = next(blocks[0]["text"].as_str().unwrap());
    while let Some(uri) = place {
        let page = client.result("resources/read", json!({ "uri": uri }));
        all.push_str(page["contents"][0]["text"].as_str().unwrap());
        place = page["_meta"]["dev.callgate/next"].as_str().map(str::to_owned);
    }
    all
}

#[test]
fn a_long_result_that_is_told_again_can_be_read_to_its_end_also_by_a_later_hub() {
    let orders = Orders::new(&json!({ "default": "allow" }));
    let big = "All work and no play. ".repeat(400);
    let path = orders.home.path("definitions.json");
    let mut definitions: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    definitions["results"] = json!({ "order": { "content": [{ "type": "text", "text": big }] } });
    std::fs::write(&path, definitions.to_string()).unwrap();
    orders.home.change(|config| config["mcpServers"]["c"]["results"] = json!({ "maxBytes": 2048 }));
    let arguments = json!({ "n": 1 });
    for round in 0..2 {
        let _hub = orders.home.serve();
        let mut client = orders.host();
        for again in 0..2 {
            let result = client.result("tools/call", call(&arguments, Some("k")));
            let expect = if round + again == 0 { "ran" } else { "replayed" };
            assert_eq!(outcome(&result), expect, "{result}");
            assert!(read_whole(&mut client, &result) == big, "{round} {again}");
        }
        // What was written down before this is durable with it.
        orders.home.json(&["pause"]);
        orders.home.json(&["resume"]);
    }
    assert_eq!(orders.runs(), 1);
}

#[test]
fn a_lost_call_of_another_session_that_is_there_is_not_found_by_a_key() {
    let orders = Orders::new(&json!({ "default": "allow" }));
    let _hub = orders.home.serve();
    let (mut one, mut two) = (orders.host(), orders.host());
    for (n, key) in [(1, None), (2, Some("a"))] {
        let (end, arguments) = orders.open_end(n);
        lose(&orders, &mut one, (&arguments, None));
        std::fs::write(end, "").unwrap();
        let runs = orders.runs();
        assert_eq!(order(&mut two, &arguments, key), "ran");
        assert_eq!(orders.runs(), runs + 1);
    }
}

#[test]
fn a_key_that_a_retry_of_a_waiting_call_adds_or_drops_makes_no_second_question() {
    for (first, then) in [(None, Some("a")), (Some("b"), None)] {
        let orders = Orders::asking(0);
        let _hub = orders.home.serve();
        let mut client = orders.host();
        let arguments = json!({ "n": 1 });
        assert_eq!(order(&mut client, &arguments, first), "pending");
        assert_eq!(order(&mut client, &arguments, then), "pending");
        assert_eq!(orders.waiting().len(), 1, "{first:?}");
        orders.approve();
        assert_eq!(order(&mut client, &arguments, then), "ran", "{first:?}");
        for key in [first, then].into_iter().flatten() {
            assert_eq!(order(&mut client, &arguments, Some(key)), "replayed", "{first:?}");
        }
        assert_eq!(order(&mut client, &arguments, None), "pending", "{first:?}");
        assert_eq!((orders.runs(), orders.waiting().len()), (1, 1), "{first:?}");
    }
}
