//! Clients of 2026-07-28 that take tasks: a call that waits for a person is one at once, runs by itself when it is
//! approved, exactly once, and tells its own client alone what it ended with.

use crate::fake::fake;
use crate::orders::{self, ORDER, lines, waiting};
use serde_json::{Value, json};
use std::path::Path;
use stories::{Client, Home, HttpReply, Hub, command, eventually, http, text};

pub fn home() -> Home {
    orders::home(json!({}))
}

pub fn meta(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "story", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities
    })
}

pub fn takes_tasks() -> Value {
    meta(json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }))
}

pub fn ask(client: &mut Client, method: &str, mut params: Value) -> Value {
    params["_meta"] = takes_tasks();
    client.ask(method, params)
}

pub fn host(home: &Home, name: &str) -> Client {
    let mut client = home.stdio(&["--host", name]);
    eventually("its tool", || {
        let tools = ask(&mut client, "tools/list", json!({}));
        tools["result"]["tools"].as_array()?.iter().any(|tool| tool["name"] == ORDER).then_some(())
    });
    client
}

pub fn order(client: &mut Client, text: &str) -> Value {
    ask(client, "tools/call", json!({ "name": ORDER, "arguments": { "text": text } }))["result"].take()
}

pub fn get(client: &mut Client, task: &Value) -> Value {
    ask(client, "tasks/get", json!({ "taskId": task }))
}

/// The task when it has come to this.
pub fn comes_to(client: &mut Client, task: &Value, status: &str) -> Value {
    eventually(status, || Some(get(client, task)["result"].take()).filter(|it| it["status"] == status))
}

pub fn approve(home: &Home, approval: &Value) -> Value {
    home.json(&["approval", "approve", approval["id"].as_str().unwrap(), "--remember", "once"])
}

#[test]
fn a_call_that_waits_is_a_task_at_once_and_runs_by_itself_when_it_is_approved() {
    let home = home();
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    let discovered = ask(&mut client, "server/discover", json!({}));
    assert_eq!(discovered["result"]["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"], json!({}));
    // What needs no person answers as ever.
    let echoed = ask(&mut client, "tools/call", json!({ "name": "s__echo", "arguments": { "text": "reads run" } }));
    assert_eq!((&echoed["result"]["resultType"], text(&echoed["result"])), (&json!("complete"), "reads run"));

    let task = order(&mut client, "one");
    let id = &task["taskId"];
    assert_eq!(
        (&task["resultType"], &task["status"], &task["pollIntervalMs"]),
        (&json!("task"), &json!("working"), &json!(2000))
    );
    assert_eq!(task["ttlMs"], 15 * 60 * 1000);
    let approval = waiting(&home)[0].clone();
    assert!(task["statusMessage"].as_str().unwrap().contains(approval["id"].as_str().unwrap()), "{task}");
    assert!(id.as_str().unwrap().len() > 32 && !id.as_str().unwrap().contains(approval["id"].as_str().unwrap()));
    assert_eq!((&approval["task"], &approval["waiters"]), (&json!(true), &json!(0)));
    let (_, shown, _) = home.run(&["approval", "show", approval["id"].as_str().unwrap()]);
    assert!(shown.contains("its client has it as a task"), "{shown}");
    let polled = get(&mut client, id)["result"].take();
    assert_eq!(
        (&polled["resultType"], &polled["status"], &polled["taskId"]),
        (&json!("complete"), &json!("working"), id)
    );
    // The identical call is the same task; one that takes no task waits for the same decision.
    assert_eq!(order(&mut client, "one")["taskId"], *id);
    assert_eq!(waiting(&home).len(), 1);
    assert_eq!(
        ask(&mut client, "tasks/update", json!({ "taskId": id, "inputResponses": {} }))["result"],
        json!({ "resultType": "complete" })
    );
    assert_eq!(lines(&home), Vec::<String>::new());

    assert_eq!(approve(&home, &approval)["follows"], "runs");
    let done = comes_to(&mut client, id, "completed");
    assert!(!done["result"]["isError"].as_bool().unwrap_or(false), "{done}");
    // In the form that the call's own result would have had: clients that read it strictly refuse another one.
    assert_eq!((text(&done["result"]), &done["result"]["resultType"]), ("written", &json!("complete")), "{done}");
    assert_eq!(lines(&home), ["one"]);
    // Asked for again it is the same; called again it is another.
    assert_eq!(get(&mut client, id)["result"], done);
    assert_ne!(order(&mut client, "one")["taskId"], *id);
    assert_eq!(lines(&home), ["one"]);
    assert_eq!(home.run(&["audit", "verify"]).0, 0);
}

#[test]
fn nobody_else_finds_a_task_and_nobody_without_the_extension() {
    let home = home();
    let _hub = home.serve();
    let (mut client, mut other) = (host(&home, "cursor"), host(&home, "zed"));
    let task = order(&mut client, "mine");
    let id = &task["taskId"];
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({ "taskId": id, "inputResponses": {} });
        let (foreign, none) = (
            ask(&mut other, method, params.clone())["error"].take(),
            ask(&mut other, method, json!({ "taskId": "task-0", "inputResponses": {} }))["error"].take(),
        );
        assert_eq!((&foreign["code"], &foreign), (&json!(-32602), &none), "{method}");
        let mut bare = params;
        bare["_meta"] = meta(json!({}));
        let refused = client.ask(method, bare)["error"].take();
        assert_eq!(refused["code"], -32021, "{method}: {refused}");
        assert_eq!(refused["data"]["requiredCapabilities"]["extensions"]["io.modelcontextprotocol/tasks"], json!({}));
    }
    assert_eq!(get(&mut client, id)["result"]["status"], "working");
    // The older hosts have no such methods, and are told of no such extension.
    let mut old = home.stdio(&["--host", "cursor"]);
    let initialized = old.initialize("2025-11-25");
    assert!(initialized["capabilities"].get("extensions").is_none(), "{initialized}");
    assert_eq!(old.ask("tasks/get", json!({ "taskId": id }))["error"]["code"], -32601);
}

#[test]
fn a_task_that_is_denied_taken_back_or_left_alone_never_runs_and_says_so() {
    let home = home();
    let mut hub = home.serve();
    let mut client = host(&home, "cursor");
    let denied = order(&mut client, "denied")["taskId"].take();
    home.json(&["approval", "deny", waiting(&home)[0]["id"].as_str().unwrap(), "--reason", "not today"]);
    let told = get(&mut client, &denied)["result"].take();
    assert_eq!((&told["status"], &told["result"]["isError"]), (&json!("completed"), &json!(true)), "{told}");
    assert_eq!(told["result"]["resultType"], "complete", "{told}");
    assert_eq!(told["result"]["_meta"]["dev.callgate/outcome"]["error"], "denied");
    assert!(text(&told["result"]).contains("not today"), "{told}");

    let back = order(&mut client, "back")["taskId"].take();
    let approval = waiting(&home)[0]["id"].as_str().unwrap().to_owned();
    let digest = waiting(&home)[0]["digest"].as_str().unwrap().to_owned();
    let ack = ask(&mut client, "tasks/cancel", json!({ "taskId": back }))["result"].take();
    assert_eq!(ack, json!({ "resultType": "complete" }));
    assert_eq!(get(&mut client, &back)["result"]["status"], "cancelled");
    let (code, late, _) = home.run(&["approval", "approve", &approval, "--digest", &digest, "--json"]);
    assert!(code != 0 && late.contains("another"), "{code} {late}");
    let ack = ask(&mut client, "tasks/cancel", json!({ "taskId": back }))["result"].take();
    assert_eq!(ack, json!({ "resultType": "complete" }), "once more");
    // Asked for anew it is another one, also at once.
    let anew = order(&mut client, "back");
    assert!(anew["resultType"] == "task" && anew["taskId"] != back, "{anew}");
    ask(&mut client, "tasks/cancel", json!({ "taskId": anew["taskId"] }));

    let left = order(&mut client, "left")["taskId"].take();
    hub.kill();
    // Nobody decided for a long time.
    let sql =
        "import sqlite3,sys; db=sqlite3.connect(sys.argv[1]); db.execute('UPDATE calls SET expires_at=1'); db.commit()";
    let database = home.path("callgate.db").display().to_string();
    assert!(command(Path::new("python3")).args(["-c", sql, &database]).status().unwrap().success());
    let _second = home.serve();
    let mut client = host(&home, "cursor");
    let told = comes_to(&mut client, &left, "completed");
    assert_eq!(told["result"]["_meta"]["dev.callgate/outcome"]["error"], "approval_expired", "{told}");
    // The others are as they were.
    assert_eq!(get(&mut client, &denied)["result"]["result"]["_meta"]["dev.callgate/outcome"]["error"], "denied");
    assert_eq!(get(&mut client, &back)["result"]["status"], "cancelled");
    assert_eq!(lines(&home), Vec::<String>::new());
}

#[test]
fn a_task_outlives_the_hub_while_it_waits_and_when_it_has_run() {
    let home = home();
    let mut hub = home.serve();
    let mut client = host(&home, "cursor");
    let waits = order(&mut client, "waits")["taskId"].take();
    hub.kill();
    let mut hub = home.serve();
    let mut client = host(&home, "cursor");
    assert_eq!(get(&mut client, &waits)["result"]["status"], "working");
    assert_eq!(waiting(&home)[0]["task"], true);
    drop(client);
    assert_eq!(lines(&home), Vec::<String>::new());
    // It runs with nobody there who asks.
    approve(&home, &waiting(&home)[0]);
    eventually("the line", || (lines(&home) == ["waits"]).then_some(()));
    let mut client = host(&home, "cursor");
    let done = comes_to(&mut client, &waits, "completed");
    // Answered is not yet written down; what is declared now is written after it.
    let next = order(&mut client, "next")["taskId"].take();
    hub.kill();
    let _third = home.serve();
    let mut client = host(&home, "cursor");
    assert_eq!(get(&mut client, &waits)["result"], done);
    approve(&home, &waiting(&home)[0]);
    comes_to(&mut client, &next, "completed");
    assert_eq!(lines(&home), ["waits", "next"]);
    assert_eq!(home.run(&["audit", "verify"]).0, 0);
}

#[cfg(feature = "abort-points")]
#[test]
fn an_approved_task_is_run_by_the_hub_that_comes_after() {
    let home = home();
    let mut hub = home.serve_with(&[("CALLGATE_ABORT_AT", "decided:append_line")]);
    let mut client = host(&home, "cursor");
    let task = order(&mut client, "later")["taskId"].take();
    // Who decides in a pause knows of it, and so does the hub that comes after.
    home.json(&["pause"]);
    let approval = waiting(&home)[0]["id"].as_str().unwrap().to_owned();
    home.run(&["approval", "approve", &approval, "--remember", "once"]);
    hub.kill();
    drop(client);
    assert_eq!(lines(&home), Vec::<String>::new());
    let _second = home.serve();
    eventually("the line", || (lines(&home) == ["later"]).then_some(()));
    let mut client = host(&home, "cursor");
    comes_to(&mut client, &task, "completed");
    assert_eq!(lines(&home), ["later"]);
}

#[test]
fn a_task_cut_off_by_a_crash_is_told_to_be_unknown_and_is_not_run_again() {
    let home = home();
    let mut hub = home.serve();
    let mut client = host(&home, "cursor");
    let slow = json!({ "name": "s__slow_write", "arguments": { "text": "slow", "ms": 60_000 } });
    let task = ask(&mut client, "tools/call", slow)["result"]["taskId"].take();
    approve(&home, &waiting(&home)[0]);
    eventually("its server has it", || (home.json(&["server", "show", "s"])["running"] == 1).then_some(()));
    assert_eq!(get(&mut client, &task)["result"]["status"], "working");
    hub.kill();
    let _second = home.serve();
    let mut client = host(&home, "cursor");
    let told = comes_to(&mut client, &task, "completed");
    assert_eq!(told["result"]["_meta"]["dev.callgate/outcome"]["error"], "outcome_unknown", "{told}");
    let id = home.json(&["call", "list"])["calls"][0]["call"].as_str().unwrap().to_owned();
    home.json(&["call", "settle", &id, "--ran"]);
    let told = comes_to(&mut client, &task, "completed");
    assert_eq!(told["result"]["_meta"]["dev.callgate/outcome"]["error"], "already_ran", "{told}");
    assert_eq!(lines(&home), Vec::<String>::new());
}

pub struct Door<'a> {
    pub hub: &'a Hub,
    pub token: String,
}

impl Door<'_> {
    pub fn ask(&self, method: &str, name: &str, mut params: Value) -> HttpReply {
        params["_meta"] = takes_tasks();
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let mut head = self.head(method);
        head.push(format!("Mcp-Name: {name}"));
        http(&self.hub.url(), "POST", &head, &body)
    }

    pub fn head(&self, method: &str) -> Vec<String> {
        vec![
            format!("Authorization: Bearer {}", self.token),
            "Content-Type: application/json".into(),
            "Accept: application/json, text/event-stream".into(),
            "MCP-Protocol-Version: 2026-07-28".into(),
            format!("Mcp-Method: {method}"),
        ]
    }
}

#[test]
fn over_http_the_header_names_the_task() {
    let home = home();
    let hub = home.serve();
    drop(host(&home, "cursor"));
    let door = Door { hub: &hub, token: home.token() };
    let call = json!({ "name": ORDER, "arguments": { "text": "http" } });
    let task = door.ask("tools/call", ORDER, call).message()["result"].take();
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    let id = task["taskId"].as_str().unwrap();
    let get = |name: &str| door.ask("tasks/get", name, json!({ "taskId": id }));
    assert_eq!(get(id).message()["result"]["status"], "working");
    let wrong = get("task-0");
    assert_eq!((wrong.status, &wrong.message()["error"]["code"]), (400, &json!(-32020)));
    let none = door.ask("tasks/get", "task-0", json!({ "taskId": "task-0" }));
    assert_eq!((none.status, &none.message()["error"]["code"]), (200, &json!(-32602)));
    // Its result is not another client's, by whatever door.
    let mut other = host(&home, "cursor");
    assert_eq!(ask(&mut other, "tasks/get", json!({ "taskId": id }))["error"]["code"], -32602);
    approve(&home, &waiting(&home)[0]);
    let done =
        eventually("its end", || Some(get(id).message()["result"].take()).filter(|it| it["status"] == "completed"));
    assert_eq!(lines(&home), ["http"], "{done}");
}

#[test]
fn servers_are_not_told_that_anybody_takes_their_tasks() {
    let home = Home::with(json!({ "new": fake(&["--discover", "modern"]) }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "cursor"]);
    let call = |client: &mut Client, name: &str| {
        let capabilities = json!({ "extensions": { "io.modelcontextprotocol/tasks": {}, "vendor.example/x": {} } });
        client.result("tools/call", json!({ "name": name, "arguments": {}, "_meta": meta(capabilities) }))
    };
    call(&mut client, "new__echo");
    let seen: Value = serde_json::from_str(text(&call(&mut client, "new__seen"))).unwrap();
    let seen = seen.to_string();
    assert!(seen.contains("vendor.example/x") && !seen.contains("modelcontextprotocol/tasks"), "{seen}");
}
