//! What a person has allowed for calls to come: it is listed, taken back at once and for good, and nobody else's goes with it.

use crate::orders::{ORDER, auto, first_waiting, home, host, lines, waiting};
use serde_json::{Value, json};
use stories::{Client, Home, eventually, outcome, text};

const DELETE: &str = "s__delete_line";

fn remembered(home: &Home, filter: &[&str]) -> Vec<Value> {
    let list = home.json(&[&["approval", "remembered"], filter].concat());
    list["remembered"].as_array().unwrap().clone()
}

/// Client, tool, scope and whether it holds, as they are listed.
fn told(all: &[Value]) -> Vec<String> {
    let one = |it: &Value| {
        let word = |name: &str| it[name].as_str().unwrap().to_owned();
        let lapsed = it["lapsed"].as_str().map(|why| format!(" ({why})")).unwrap_or_default();
        format!("{} {} {}{lapsed}", word("client"), word("name"), word("scope"))
    };
    let mut told: Vec<String> = all.iter().map(one).collect();
    told.sort();
    told
}

fn order(client: &mut Client, text: &str) -> String {
    outcome(&client.call(ORDER, json!({ "text": text }))).to_owned()
}

/// Has a call wait and approves it; its id.
fn approve(home: &Home, client: &mut Client, tool: &str, arguments: Value, scope: &str) -> String {
    assert_eq!(outcome(&client.call(tool, arguments)), "pending");
    let id = eventually("a card", || {
        let all = waiting(home);
        let card = all.iter().find(|it| it["state"] == "waiting" && it["name"] == tool)?;
        Some(card["id"].as_str()?.to_owned())
    });
    home.json(&["approval", "approve", &id, "--remember", scope]);
    id
}

#[test]
fn what_is_remembered_is_listed_and_once_forgotten_asks_again_at_once_and_after_a_crash() {
    let home = home(auto(0));
    let mut hub = home.serve();
    let (_, out, _) = home.run(&["approval", "remembered"]);
    assert_eq!(out, "Nothing is remembered: a call that has to ask waits for a person each time.\n");
    let (mut cursor, mut zed) = (host(&home, "cursor"), host(&home, "zed"));
    let given = approve(&home, &mut cursor, ORDER, json!({ "text": "1" }), "tool");
    approve(&home, &mut zed, ORDER, json!({ "text": "z1" }), "tool");
    for text in ["1", "2"] {
        assert_eq!(order(&mut cursor, text), "ran");
    }
    assert_eq!(order(&mut zed, "z1"), "ran");
    let session = approve(&home, &mut cursor, DELETE, json!({ "line": 3 }), "session");
    assert_eq!(outcome(&cursor.call(DELETE, json!({ "line": 3 }))), "ran");

    let all = remembered(&home, &[]);
    let expect = ["cursor s__append_line tool", "cursor s__delete_line session", "zed s__append_line tool"];
    assert_eq!(told(&all), expect);
    let of_tool = all.iter().find(|it| it["call"] == json!(given)).unwrap();
    assert!(of_tool["by"].as_str().unwrap().contains("(pid ") && of_tool["since_ms"].as_u64() > Some(0), "{of_tool}");
    assert_eq!((&of_tool["effect"], &of_tool["lapsed"]), (&json!("write"), &Value::Null), "{of_tool}");
    assert_eq!(told(&remembered(&home, &["--client", "zed"])), [expect[2]]);
    assert!(remembered(&home, &["--server", "other"]).is_empty());

    // All or nothing: what is not there is said, and the rest stays.
    let (code, _, err) = home.run(&["approval", "forget", &given, "c-zzzz"]);
    assert!(code == 1 && err.contains("nothing to forget of call `c-zzzz`"), "{code} {err}");
    assert_eq!(remembered(&home, &[]).len(), 3);

    let forgotten = home.json(&["approval", "forget", &given]);
    assert_eq!(told(forgotten["forgotten"].as_array().unwrap()), [expect[0]]);
    assert_eq!(order(&mut cursor, "3"), "pending");
    home.json(&["approval", "forget", &session]);
    hub.kill();
    let _second = home.serve();
    cursor.await_tool(ORDER);
    zed.await_tool(ORDER);
    assert_eq!(told(&remembered(&home, &[])), [expect[2]]);
    assert_eq!(order(&mut cursor, "4"), "pending");
    assert_eq!(outcome(&cursor.call(DELETE, json!({ "line": 1 }))), "pending");
    assert_eq!(order(&mut zed, "z2"), "ran");
    assert_eq!(lines(&home), ["1", "2", "z2"]);

    let (_, log, _) = home.run(&["audit", "list", "--kind", "grant"]);
    assert_eq!(log.matches("not remembered any more").count(), 2, "{log}");
    let (_, story, _) = home.run(&["audit", "show", &given]);
    assert!(story.contains("forgotten") && story.contains("by ") && story.contains("(pid "), "{story}");
    assert_eq!(home.run(&["audit", "verify"]).0, 0);
    // What another approval covers is not asked anew by taking back the first.
    let (code, _, err) = home.run(&["approval", "forget", &given]);
    assert!(code == 1 && err.contains("callgate approval remembered"), "{code} {err}");
}

#[test]
fn an_approval_that_was_not_used_is_taken_back_and_waits_again() {
    let home = home(auto(0));
    let mut hub = home.serve();
    let mut client = host(&home, "cursor");
    let once = approve(&home, &mut client, ORDER, json!({ "text": "once" }), "once");
    let both = approve(&home, &mut client, ORDER, json!({ "text": "both" }), "tool");
    let list = told(&remembered(&home, &[]));
    assert_eq!(list, ["cursor s__append_line once", "cursor s__append_line once", "cursor s__append_line tool"]);
    let (_, out, _) = home.run(&["approval", "deny", &once]);
    assert!(out.contains(&format!("callgate approval forget {once}")), "{out}");
    let (code, out, err) = home.run(&["approval", "forget", &once, &both]);
    assert!(code == 0 && out.contains("It waits again") && out.contains("It asks again"), "{code} {out}{err}");
    let card = home.json(&["approval", "show", &once]);
    assert_eq!(card["approval"]["state"], "waiting");
    assert!(card["approval"]["again"].as_str().unwrap().contains("taken back by"), "{card}");
    assert_eq!(order(&mut client, "once"), "pending");
    hub.kill();
    let _second = home.serve();
    client.await_tool(ORDER);
    for text in ["once", "both", "third"] {
        assert_eq!(order(&mut client, text), "pending", "{text}");
    }
    assert!(lines(&home).is_empty() && remembered(&home, &[]).is_empty());
    let decided = home.json(&["approval", "list", "--decided"])["approvals"].clone();
    assert_eq!(decided, json!([]), "nothing is decided of what waits again");
    let (_, story, _) = home.run(&["audit", "show", &once]);
    assert!(story.contains("reopened") && story.contains("was taken back"), "{story}");
    // Decided anew, as any other: the one runs, of the other nothing is to be forgotten.
    home.json(&["approval", "approve", &once, "--remember", "once"]);
    assert_eq!(order(&mut client, "once"), "ran");
    let (code, _, err) = home.run(&["approval", "forget", &both]);
    assert!(code == 1 && err.contains("nobody has approved it"), "{code} {err}");
    home.json(&["approval", "deny", &both]);
    assert_eq!(order(&mut client, "both"), "denied");
    assert_eq!(lines(&home), ["once"]);
}

#[test]
fn all_is_forgotten_by_one_word_and_what_no_longer_holds_says_why() {
    let home = home(auto(0));
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    approve(&home, &mut client, ORDER, json!({ "text": "1" }), "tool");
    assert_eq!(order(&mut client, "1"), "ran");
    approve(&home, &mut client, DELETE, json!({ "line": 2 }), "once");
    approve(&home, &mut client, DELETE, json!({ "line": 1 }), "session");
    drop(client);
    let gone = "cursor s__delete_line session (its session is not connected)";
    let list = eventually("the end of the session", || {
        let list = told(&remembered(&home, &[]));
        list.contains(&gone.to_owned()).then_some(list)
    });
    assert_eq!(list.len(), 4, "{list:?}");
    home.json(&["server", "remove", "s"]);
    let list = told(&remembered(&home, &[]));
    assert!(list.iter().any(|it| it.contains("tool (its server is not in the config any more)")), "{list:?}");
    let (_, out, _) = home.run(&["approval", "remembered"]);
    assert!(out.contains("no longer holds: its server is not in the config any more"), "{out}");
    let forgotten = home.json(&["approval", "forget", "--all"]);
    assert_eq!(forgotten["forgotten"].as_array().unwrap().len(), list.len(), "{forgotten}");
    assert!(remembered(&home, &[]).is_empty());
    assert_eq!(home.run(&["approval", "forget", "--all"]).1, "Nothing was remembered.\n");
    assert_eq!(home.run(&["approval", "forget"]).0, 2);
}

#[test]
fn a_card_says_what_is_remembered_of_its_tool_already() {
    let home = home(auto(0));
    let _hub = home.serve();
    let mut first = host(&home, "cursor");
    approve(&home, &mut first, DELETE, json!({ "line": 1 }), "session");
    first.call(DELETE, json!({ "line": 1 }));
    let mut second = host(&home, "cursor");
    assert_eq!(outcome(&second.call(DELETE, json!({ "line": 2 }))), "pending");
    let (_, card, _) = home.run(&["approval", "show", &first_waiting(&home)]);
    assert!(card.contains("remembered") && card.contains("for this session of its client by "), "{card}");
    assert_eq!(text(&second.call("s__echo", json!({ "text": "reads run" }))), "reads run");
}
