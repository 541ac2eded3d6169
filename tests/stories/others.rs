//! Prompts, resources and methods under rules that ask: they wait, are decided and redeemed as calls of tools are.

use serde_json::{Value, json};
use stories::{Client, Home, eventually, sample};

fn home(seconds: u64) -> Home {
    let home = Home::new();
    home.configure(&json!({
        "mcpServers": { "s": sample(&[]) },
        "policy": {
            "default": "allow",
            "rules": [
                { "name": "prompts", "prompts": ["s__summarize"], "then": "ask" },
                { "name": "files", "resources": ["sample://readme", "sample://greeting/*"], "then": "ask" },
                { "name": "never", "prompts": ["s__hello"], "then": "deny", "reason": "no greetings" },
            ],
            "approval": { "holdSeconds": seconds, "holdSecondsWithProgress": seconds },
        },
    }));
    home
}

fn host(home: &Home, args: &[&str]) -> Client {
    let mut client = home.stdio(args);
    client.initialize("2025-11-25");
    client.tools();
    eventually("its prompts", || {
        let prompts = client.result("prompts/list", json!({}));
        prompts["prompts"].as_array().is_some_and(|all| !all.is_empty()).then_some(())
    });
    client
}

fn waiting(home: &Home) -> Vec<Value> {
    home.json(&["approval", "list"])["approvals"].as_array().unwrap().clone()
}

fn first_waiting(home: &Home) -> Value {
    eventually("a waiting request", || waiting(home).first().cloned())
}

fn id(approval: &Value) -> &str {
    approval["id"].as_str().unwrap()
}

const PROMPT: &str = "prompts/get";

fn summary(text: &str) -> Value {
    json!({ "name": "s__summarize", "arguments": { "text": text } })
}

#[test]
fn a_prompt_that_is_asked_about_is_held_and_given_or_denied() {
    let home = home(30);
    let _hub = home.serve();
    let mut client = host(&home, &["--host", "cursor"]);
    let asked = client.send(PROMPT, summary("one"));
    let approval = first_waiting(&home);
    assert_eq!((&approval["kind"], &approval["name"]), (&json!("prompt"), &json!("s__summarize")), "{approval}");
    assert_eq!((&approval["tool"], &approval["rule"]), (&json!("summarize"), &json!("prompts")));
    let (_, shown, _) = home.run(&["approval", "show", id(&approval)]);
    assert!(shown.contains("prompt s__summarize") && shown.contains("Asks for a summary"), "{shown}");
    let edited = home.run(&["approval", "approve", id(&approval), "--args", "{\"name\": \"hello\"}"]);
    assert!(edited.0 != 0 && edited.2.contains("its params are never edited"), "{edited:?}");
    let decided = home.json(&["approval", "approve", id(&approval)]);
    assert_eq!(decided["follows"], "runs");
    let given = client.answer(&asked);
    assert!(given["result"]["messages"][0]["content"]["text"].as_str().unwrap().ends_with("one"), "{given}");

    let asked = client.send(PROMPT, summary("two"));
    home.json(&["approval", "deny", id(&first_waiting(&home)), "--reason", "not that one"]);
    let denied = client.answer(&asked)["error"].take();
    assert_eq!((&denied["code"], &denied["data"]["error"]), (&json!(-32602), &json!("denied")), "{denied}");
    assert!(denied["message"].as_str().unwrap().contains("not that one"), "{denied}");
    // What a rule denies is told in the same form.
    let never = client.ask(PROMPT, json!({ "name": "s__hello" }))["error"].take();
    assert_eq!((&never["code"], &never["data"]["error"]), (&json!(-32602), &json!("denied")), "{never}");
    assert!(never["message"].as_str().unwrap().contains("no greetings"), "{never}");
    assert_eq!(home.run(&["audit", "verify"]).0, 0);
}

#[test]
fn a_prompt_that_is_pending_is_redeemed_by_the_identical_request_of_its_client_once() {
    let home = home(0);
    let mut hub = home.serve();
    let mut client = host(&home, &["--host", "cursor"]);
    let pending = client.ask(PROMPT, summary("one"))["error"].take();
    assert_eq!((&pending["code"], &pending["data"]["status"]), (&json!(-32602), &json!("pending")), "{pending}");
    let first = first_waiting(&home);
    assert_eq!(pending["data"]["approval_id"], first["id"]);
    // Identical requests are one item, whatever their `_meta`; what differs is another.
    let mut again = summary("one");
    again["_meta"] = json!({ "vendor.example/x": 1 });
    assert_eq!(client.ask(PROMPT, again.clone())["error"]["data"]["approval_id"], first["id"]);
    client.ask(PROMPT, summary("two"));
    assert_eq!(waiting(&home).len(), 2);
    home.json(&["approval", "approve", id(&first)]);
    hub.kill();
    let _second = home.serve();
    client = host(&home, &["--host", "cursor"]);
    let mut other = host(&home, &["--host", "zed"]);
    assert_eq!(other.ask(PROMPT, summary("one"))["error"]["data"]["status"], "pending");
    assert!(client.ask(PROMPT, again)["result"]["messages"].is_array());
    assert_eq!(client.ask(PROMPT, summary("one"))["error"]["data"]["status"], "pending", "used up");
}

#[test]
fn a_resource_waits_by_what_its_server_lists_and_its_uri_is_an_argument() {
    let home = home(0);
    let _hub = home.serve();
    let mut client = host(&home, &["--host", "cursor"]);
    let read = |client: &mut Client, uri: &str| client.ask("resources/read", json!({ "uri": uri }));
    assert!(read(&mut client, "sample://dot.png")["result"]["contents"].is_array());
    let pending = read(&mut client, "sample://readme");
    // Not the code for what is not there, which this era has.
    assert_eq!((&pending["error"]["code"], &pending["error"]["data"]["status"]), (&json!(-32602), &json!("pending")));
    let secret = "sample://greeting/token-4711";
    assert_eq!(read(&mut client, secret)["error"]["data"]["status"], "pending");
    let all = waiting(&home);
    let named: Vec<_> = all.iter().map(|it| (it["kind"].as_str().unwrap(), it["tool"].as_str().unwrap())).collect();
    assert_eq!(named, [("resource", "sample://readme"), ("resource", "sample://greeting/{name}")]);
    let shown = home.json(&["approval", "show", id(&all[1])]);
    assert_eq!(shown["arguments"], format!("{{\"uri\":\"{secret}\"}}"));
    home.json(&["approval", "approve", id(&all[0])]);
    home.json(&["approval", "approve", id(&all[1]), "--remember", "session"]);
    assert!(read(&mut client, "sample://readme")["result"]["contents"].is_array());
    assert!(read(&mut client, secret)["result"]["contents"].is_array());
    assert_eq!(read(&mut client, "sample://readme")["error"]["data"]["status"], "pending", "used up");
    assert!(read(&mut client, secret)["result"]["contents"].is_array(), "remembered");
    assert_eq!(read(&mut client, "sample://greeting/else")["error"]["data"]["status"], "pending", "that one only");
    let (_, log, _) = home.run(&["audit", "export", "--format", "jsonl"]);
    assert!(log.contains("sample://greeting/{name}") && !log.contains("token-4711"), "{log}");
}

#[test]
fn an_unknown_method_asks_as_a_tool_without_hints_does() {
    let home = Home::new();
    home.configure(&json!({
        "mcpServers": { "s": sample(&[]) },
        "policy": { "approval": { "holdSeconds": 0, "holdSecondsWithProgress": 0 } },
    }));
    let _hub = home.serve();
    let mut client = host(&home, &["--server", "s", "--host", "cursor"]);
    let pending = client.ask("vendor/reset", json!({ "all": true }))["error"].take();
    assert_eq!((&pending["code"], &pending["data"]["status"]), (&json!(-32602), &json!("pending")), "{pending}");
    let approval = first_waiting(&home);
    assert_eq!((&approval["kind"], &approval["name"]), (&json!("method"), &json!("vendor/reset")), "{approval}");
    assert_eq!(approval["preview"], r#"{"all":true}"#);
    home.json(&["approval", "approve", id(&approval), "--remember", "once"]);
    // The server's own word, so that it was asked.
    assert_eq!(client.ask("vendor/reset", json!({ "all": true }))["error"]["code"], -32601);
    assert_eq!(client.ask("vendor/reset", json!({ "all": true }))["error"]["data"]["status"], "pending");
}

#[test]
fn a_card_of_what_is_no_tool_says_why_it_asks_and_that_its_params_stay() {
    let home = home(0);
    let _hub = home.serve();
    let mut client = host(&home, &["--host", "cursor"]);
    client.ask(PROMPT, summary("one"));
    let approval = first_waiting(&home);
    let (_, shown, _) = home.run(&["approval", "show", id(&approval)]);
    assert!(shown.contains("asks because of the rule `prompts`") && !shown.contains("runs without asking"), "{shown}");
    let (code, _, err) = home.run(&["approval", "approve", id(&approval), "--args", "{}"]);
    assert!(code != 0 && err.contains("its params are never edited"), "{err}");
}
