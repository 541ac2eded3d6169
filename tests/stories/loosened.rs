//! A config that loosens by an edit of its file: by a new server's own words, by a known server under a second name, by
//! fewer days of the log. It waits for a person; what only tightens does not.

use crate::orders::{ORDER, auto, home, host, lines};
use serde_json::{Value, json};
use stories::{Home, eventually, outcome};

/// What waits of the config, joined, and the hash that lets it.
fn held(home: &Home) -> Option<(String, String)> {
    let held = home.json(&["status"])["held"].take();
    let words: Vec<&str> = held["changes"].as_array()?.iter().filter_map(Value::as_str).collect();
    Some((words.join("; "), held["hash"].as_str()?.to_owned()))
}

fn accept(home: &Home) {
    let (_, hash) = held(home).unwrap();
    home.json(&["catalog", "approve", "@policy", "--hash", &hash]);
}

/// The sample server so launched that it is another one.
fn another(home: &Home) -> Value {
    let entry = stories::sample(&["--file", &home.path("lines.txt").display().to_string()]);
    let args: Vec<&str> = entry["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    let script = format!("exec '{}' '{}'", entry["command"].as_str().unwrap(), args.join("' '"));
    json!({ "command": "sh", "args": ["-c", script] })
}

#[test]
fn a_new_server_lowers_nothing_by_its_own_words() {
    let home = home(auto(0));
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    let mut entry = another(&home);
    entry["effects"] = json!({ "append_line": "read", "echo": "destructive" });
    home.change(|config| config["mcpServers"]["n"] = entry);
    client.await_tool("n__append_line");
    let (words, _) = eventually("the change to be held", || held(&home));
    assert_eq!(words, "`append_line` of `n` counts as `read`");
    assert_eq!(outcome(&client.call("n__append_line", json!({ "text": "1" }))), "pending", "as its hints say");
    assert_eq!(outcome(&client.call("n__echo", json!({ "text": "1" }))), "pending", "what tightens holds at once");
    // Nor where the hub begins anew.
    assert_eq!(home.run(&["stop"]).0, 0);
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    client.await_tool("n__append_line");
    assert_eq!(outcome(&client.call("n__append_line", json!({ "text": "2" }))), "pending");
    accept(&home);
    assert_eq!(outcome(&client.call("n__append_line", json!({ "text": "3" }))), "ran");
    assert_eq!((held(&home), lines(&home)), (None, vec!["3".to_owned()]));
    let rows = home.json(&["audit", "list", "--kind", "setting"])["rows"].to_string();
    assert!(rows.contains("loosened: `append_line`") && rows.contains("loosens nothing: effects of `n`"), "{rows}");
}

#[test]
fn a_known_server_under_a_second_name_waits_and_says_whose_it_is() {
    let home =
        home(json!({ "default": "allow", "rules": [{ "name": "no", "tools": ["s__append_line"], "then": "deny" }] }));
    let mut hub = home.serve();
    let mut client = home.stdio(&["--host", "cursor"]);
    client.initialize("2025-11-25");
    client.await_tool("s__echo");
    home.change(|config| config["mcpServers"]["t"] = config["mcpServers"]["s"].clone());
    let card = || {
        let all = home.json(&["catalog", "diff"])["servers"].take();
        let review = all.as_array()?.iter().find(|it| it["server"] == "t")?.clone();
        Some((review["entries"][0].to_string(), review["hash"].as_str()?.to_owned()))
    };
    let (entry, _) = eventually("a card", card);
    assert!(entry.contains("it is `s` under a second name") && entry.contains("\"launch\""), "{entry}");
    assert_eq!(outcome(&client.call("t__append_line", json!({ "text": "1" }))), "server_unavailable");
    // The same where it is renamed while the hub does not run.
    hub.kill();
    home.change(|config| {
        let servers = config["mcpServers"].as_object_mut().unwrap();
        servers.remove("t");
        let entry = servers.remove("s").unwrap();
        servers.insert("t".into(), entry);
    });
    let _hub = home.serve();
    let (_, hash) = eventually("a card", card);
    assert_eq!(outcome(&client.call("t__append_line", json!({ "text": "2" }))), "server_unavailable");
    assert_eq!(lines(&home), Vec::<String>::new());
    home.json(&["catalog", "approve", "t", "--hash", &hash]);
    client.await_tool("t__append_line");
    assert_eq!(outcome(&client.call("t__append_line", json!({ "text": "3" }))), "ran");
}

#[test]
fn the_log_is_not_shortened_by_an_edit() {
    let home = home(auto(0));
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    home.change(|config| {
        config["hub"] = json!({ "audit": { "keepDays": 1 } });
        config["policy"]["rules"] = json!([{ "name": "no", "tools": [ORDER], "then": "deny" }]);
    });
    let (words, _) = eventually("the change to be held", || held(&home));
    assert!(words.contains("kept for 1 days instead of 90") && words.contains("erased"), "{words}");
    eventually("what tightens beside it", || (!client.tools().contains(&ORDER.to_owned())).then_some(()));
    accept(&home);
    assert_eq!(held(&home), None);
    let rows = home.json(&["audit", "list", "--kind", "setting"])["rows"].clone();
    let why = rows[0]["why"].as_str().unwrap_or_default();
    assert!(why.contains("kept for 1 days instead of 90"), "{rows}");
}
