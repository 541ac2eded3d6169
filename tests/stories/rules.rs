//! Rules of the policy: what they decide, what hosts and the person see of it, and a config that loosens them.

use crate::orders::{ORDER, home, host, lines};
use serde_json::json;
use stories::{eventually, outcome, text};

#[test]
fn rules_decide_before_tiers_and_what_is_denied_is_unknown() {
    let policy = json!({ "rules": [
        { "name": "orders", "tools": ["s__append_*"], "when": "args.text != 'bad'", "then": "allow" },
        { "name": "bad", "tools": ["s__append_*"], "when": "args.text == 'bad'", "then": "deny", "reason": "it is bad" },
        { "name": "never", "tools": ["s__delete_*"], "then": "deny" },
    ] });
    let home = home(policy);
    let _hub = home.serve();
    let mut client = host(&home, "cursor");
    assert_eq!(outcome(&client.call(ORDER, json!({ "text": "good" }))), "ran");
    let denied = client.call(ORDER, json!({ "text": "bad" }));
    assert_eq!(outcome(&denied), "denied");
    assert!(text(&denied).contains("it is bad"), "{denied}");
    assert!(!client.tools().iter().any(|tool| tool == "s__delete_line"));
    let (hidden, unknown) = (client.call("s__delete_line", json!({})), client.call("s__no_such", json!({})));
    assert_eq!((outcome(&hidden), outcome(&unknown)), ("unknown_tool", "unknown_tool"));
    let explained = home.json(&["policy", "explain", ORDER, "{\"text\": \"bad\"}"]);
    assert_eq!((&explained["tools"][0]["then"], &explained["tools"][0]["rule"]), (&json!("deny"), &json!("bad")));
    assert_eq!(lines(&home), ["good"]);
}

#[test]
fn a_person_sees_what_hosts_do_not_and_what_cannot_be_checked() {
    let home = home(json!({ "rules": [
        { "name": "no orders", "tools": ["s__append_*"], "then": "deny" },
        { "name": "no dots", "resources": ["sample://dot.png"], "then": "deny", "reason": "no pictures" },
    ] }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "cursor"]);
    client.initialize("2025-11-25");
    client.await_tool("s__echo");
    assert!(client.tools().iter().all(|tool| tool != ORDER));
    let hidden = client.call(ORDER, json!({ "text": "1" }));
    let stranger = client.call("s__nothing", json!({}));
    assert_eq!(outcome(&hidden), "unknown_tool");
    assert_eq!(text(&hidden).split("call").next(), text(&stranger).split("call").next());
    let read = client.ask("resources/read", json!({ "uri": "sample://dot.png" }))["error"].take();
    assert_eq!((&read["code"], &read["data"]["error"]), (&json!(-32602), &json!("denied")), "{read}");
    // The person is told which tool it was, and which rule.
    let by_rule = |rule: &str| {
        eventually("the row of what a rule refused", || {
            let rows = home.json(&["audit", "list"])["rows"].as_array().unwrap().clone();
            rows.into_iter().find(|row| row["rule"] == rule)
        })
    };
    let row = by_rule("no orders");
    assert_eq!((&row["tool"], &row["outcome"]), (&json!(ORDER), &json!("denied")), "{row}");
    assert_eq!(by_rule("no dots")["outcome"], "denied");
    let explained = home.json(&["policy", "explain", ORDER]);
    let tool = &explained["tools"][0];
    assert_eq!((&tool["then"], &tool["rule"], &tool["unlisted"]), (&json!("deny"), &json!("no orders"), &json!(true)));
    let all = home.json(&["policy", "explain", "--all"])["tools"].as_array().unwrap().clone();
    assert!(all.iter().any(|tool| tool["name"] == ORDER));
    let report = home.json(&["policy", "check"]);
    assert_eq!((&report["rules"][0]["matches"], &report["rules"][1]["matches"]), (&json!(1), &json!(1)), "{report}");
    assert_eq!(report["problems"], json!([]), "{report}");
}

#[test]
fn a_config_that_loosens_is_shown_where_a_person_looks() {
    let home = home(json!({ "default": "ask" }));
    let _hub = home.serve();
    home.change(|config| config["policy"]["default"] = json!("allow"));
    let status = eventually("the change to be held", || {
        let status = home.json(&["status"]);
        status["held"]["hash"].is_string().then_some(status)
    });
    let hash = status["held"]["hash"].as_str().unwrap();
    let command = format!("callgate catalog approve @policy --hash {hash}");
    for words in [["status"].as_slice(), &["catalog", "diff"]] {
        let (_, out, _) = home.run(words);
        let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(&command) && flat.contains("without a person"), "{out}");
    }
    home.json(&["catalog", "approve", "@policy", "--hash", hash]);
    assert_eq!(home.json(&["status"])["held"], json!({ "changes": [], "hash": null }));
}
