//! Clients that listen to their tasks (`taskIds` of `subscriptions/listen`): they are told how each stands, exactly as
//! `tasks/get` would tell it, and nobody else is.

use crate::orders::{ORDER, lines, waiting};
use crate::tasks::{Door, approve, ask, comes_to, get, home, host, meta, order, takes_tasks};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use stories::{Client, LIMIT, http, text};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Begins to listen: the id of the subscription and what was acknowledged.
fn listen(client: &mut Client, ids: Value) -> (Value, Value) {
    let params = json!({ "notifications": { "taskIds": ids }, "_meta": takes_tasks() });
    let id = client.send("subscriptions/listen", params);
    let told = client.await_message("an acknowledgement", |it| {
        it["method"] == "notifications/subscriptions/acknowledged" && it["params"]["_meta"][SUBSCRIPTION] == id
    });
    (id, told["params"]["notifications"].clone())
}

/// What the subscription is told next of that task.
fn told(client: &mut Client, subscription: &Value, task: &Value) -> Value {
    let is_it = |it: &Value| {
        let params = &it["params"];
        it["method"] == "notifications/tasks"
            && params["taskId"] == *task
            && params["_meta"][SUBSCRIPTION] == *subscription
    };
    client.await_message("news of a task", is_it)["params"].take()
}

/// What it is told until the task has ended; the last one is the end.
fn told_all(client: &mut Client, subscription: &Value, task: &Value) -> Vec<Value> {
    let mut all = vec![told(client, subscription, task)];
    while all.last().is_some_and(|last| last["status"] == "working") {
        all.push(told(client, subscription, task));
    }
    all
}

/// A task as `tasks/get` tells it, in the form of a notice.
fn as_notice(client: &mut Client, subscription: &Value, task: &Value) -> Value {
    let mut got = get(client, task)["result"].take();
    assert_eq!(got.as_object_mut().unwrap().remove("resultType"), Some(json!("complete")));
    got["_meta"] = json!({ SUBSCRIPTION: subscription });
    got
}

#[test]
fn whoever_listens_hears_of_every_step_of_its_tasks_and_needs_not_ask() {
    let home = home();
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    let runs = order(&mut client, "one")["taskId"].take();
    let denied = order(&mut client, "two")["taskId"].take();
    let back = order(&mut client, "three")["taskId"].take();
    let (id, accepted) = listen(&mut client, json!([runs, denied, back, runs, "task-0", ""]));
    assert_eq!(accepted, json!({ "taskIds": [runs, denied, back] }));
    // How it stands now comes first, so that what happened before the listening is not missed.
    for task in [&runs, &denied, &back] {
        let first = told(&mut client, &id, task);
        assert_eq!(first, as_notice(&mut client, &id, task));
        assert!(first["statusMessage"].as_str().unwrap().starts_with("Waiting for a person"), "{first}");
    }

    let waits = waiting(&home);
    approve(&home, &waits[0]);
    let all = told_all(&mut client, &id, &runs);
    let done = all.last().unwrap();
    assert_eq!((&done["status"], text(&done["result"])), (&json!("completed"), "written"), "{done}");
    assert!(all.len() > 1 && all[..all.len() - 1].iter().all(|it| it.get("result").is_none()), "{all:?}");
    assert_eq!(*done, as_notice(&mut client, &id, &runs));
    home.json(&["approval", "deny", waits[1]["id"].as_str().unwrap(), "--reason", "not today"]);
    let end = told_all(&mut client, &id, &denied).pop().unwrap();
    assert_eq!(end["result"]["_meta"]["dev.callgate/outcome"]["error"], "denied", "{end}");
    assert!(text(&end["result"]).contains("not today"), "{end}");
    ask(&mut client, "tasks/cancel", json!({ "taskId": back }));
    assert_eq!(told_all(&mut client, &id, &back).pop().unwrap()["status"], "cancelled");
    assert_eq!(lines(&home), ["one"]);

    // What ended before somebody listens is told too, once; a request without tasks is told of none.
    let (again, accepted) = listen(&mut client, json!([runs]));
    assert_eq!(accepted, json!({ "taskIds": [runs] }));
    let mut end = told(&mut client, &again, &runs);
    assert_eq!(end, as_notice(&mut client, &again, &runs));
    end["_meta"] = done["_meta"].clone();
    assert_eq!(end, *done);
    let (_, accepted) = listen(&mut client, json!([]));
    assert_eq!(accepted, json!({ "taskIds": [] }));
    assert_eq!(listen(&mut client, Value::Null).1, json!({}));

    // Who has stopped listening hears nothing more.
    let last = order(&mut client, "four")["taskId"].take();
    let (id, _) = listen(&mut client, json!([last]));
    told(&mut client, &id, &last);
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    get(&mut client, &last);
    approve(&home, &waiting(&home)[0]);
    comes_to(&mut client, &last, "completed");
    let more = std::iter::from_fn(|| client.hear_within(Duration::from_millis(200)));
    let more: Vec<Value> = more.filter(|it| it["method"] == "notifications/tasks").collect();
    assert!(more.is_empty(), "{more:?}");
}

#[test]
fn a_task_is_told_to_its_own_client_alone_and_only_where_it_takes_tasks() {
    let home = home();
    let hub = home.serve();
    let (mut client, mut other) = (host(&home, "cursor"), host(&home, "zed"));
    let task = order(&mut client, "mine")["taskId"].take();
    // Another one's is as unknown as none.
    assert_eq!(listen(&mut other, json!([task, "task-0"])).1, json!({ "taskIds": [] }));
    let filter = |ids: Value| json!({ "taskIds": ids, "toolsListChanged": true });
    let refused = |client: &mut Client, ids: Value, meta: Value| {
        client.ask("subscriptions/listen", json!({ "notifications": filter(ids), "_meta": meta }))["error"].take()
    };
    let error = refused(&mut client, json!([task]), meta(json!({})));
    assert_eq!(error["code"], -32021, "{error}");
    assert_eq!(error["data"]["requiredCapabilities"]["extensions"]["io.modelcontextprotocol/tasks"], json!({}));
    for ids in [json!("x"), json!({}), json!([task, 1]), json!([null])] {
        assert_eq!(refused(&mut client, ids.clone(), takes_tasks())["code"], -32602, "{ids}");
    }
    let door = Door { hub: &hub, token: home.token() };
    let params = json!({ "notifications": filter(json!([task])), "_meta": meta(json!({})) });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params }).to_string();
    let bare = http(&hub.url(), "POST", &door.head("subscriptions/listen"), &body);
    assert_eq!((bare.status, &bare.message()["error"]["code"]), (400, &json!(-32021)));

    approve(&home, &waiting(&home)[0]);
    comes_to(&mut client, &task, "completed");
    for deaf in [&mut client, &mut other] {
        let more: Vec<Value> = std::iter::from_fn(|| deaf.hear_within(Duration::from_millis(200))).collect();
        assert!(more.iter().all(|it| it["method"] != "notifications/tasks"), "{more:?}");
    }
}

#[test]
fn after_a_restart_whoever_listens_again_hears_of_a_task_that_waited() {
    let home = home();
    let mut hub = home.serve();
    let mut client = host(&home, "cursor");
    let task = order(&mut client, "kept")["taskId"].take();
    let (id, _) = listen(&mut client, json!([task]));
    told(&mut client, &id, &task);
    hub.kill();
    let _second = home.serve();
    // The stream ended with its hub, which its client is told.
    assert!(client.answer(&id).get("error").is_some());
    let (id, accepted) = listen(&mut client, json!([task]));
    assert_eq!(accepted, json!({ "taskIds": [task] }));
    approve(&home, &waiting(&home)[0]);
    let end = told_all(&mut client, &id, &task).pop().unwrap();
    assert_eq!((&end["status"], text(&end["result"])), (&json!("completed"), "written"), "{end}");
}

#[test]
fn over_http_the_news_come_on_the_stream_of_the_listening() {
    let home = home();
    let hub = home.serve();
    drop(host(&home, "cursor"));
    let door = Door { hub: &hub, token: home.token() };
    let call = json!({ "name": ORDER, "arguments": { "text": "http" } });
    let task = door.ask("tools/call", ORDER, call).message()["result"]["taskId"].take();
    let params = json!({ "notifications": { "taskIds": [task] }, "_meta": takes_tasks() });
    let body = json!({ "jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params }).to_string();
    let url = hub.url();
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut head = format!("POST /{path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n", body.len());
    door.head("subscriptions/listen").iter().for_each(|line| head.push_str(&format!("{line}\r\n")));
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
    let mut heard = String::new();
    let mut until = |what: &str| {
        let mut chunk = [0u8; 4096];
        while !heard.contains(what) {
            let length = stream.read(&mut chunk).unwrap();
            assert!(length > 0, "the stream ended before {what}: {heard}");
            heard.push_str(&String::from_utf8_lossy(&chunk[..length]));
        }
        heard.clone()
    };
    until("Waiting for a person");
    approve(&home, &waiting(&home)[0]);
    let heard = until("\"completed\"");
    let all: Vec<Value> =
        heard.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?).ok()).collect();
    assert_eq!(all[0]["params"]["notifications"], json!({ "taskIds": [task] }), "{heard}");
    assert!(all.iter().all(|it| it["params"]["_meta"][SUBSCRIPTION] == "l"), "{heard}");
    assert!(
        all[1..].iter().all(|it| it["method"] == "notifications/tasks" && it["params"]["taskId"] == task),
        "{heard}"
    );
    assert_eq!(lines(&home), ["http"]);
}
