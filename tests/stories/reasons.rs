//! What the log says of why a call ran: by which remembered approval, whose and since when; what was repaired of it.

use serde_json::{Value, json};
use stories::{Home, eventually, sample};

#[test]
fn the_log_says_by_which_remembered_approval_a_call_ran() {
    for scope in ["tool", "session"] {
        let home = Home::new();
        let rules = json!([{ "name": "mind", "prompts": ["*"], "then": "ask" }]);
        home.configure(&json!({ "mcpServers": { "s": sample(&[]) }, "policy": { "default": "ask", "rules": rules } }));
        let hub = home.serve();
        let mut client = home.stdio(&["--host", "cursor"]);
        client.initialize("2025-11-25");
        client.await_tool("s__echo");
        type Params = fn(&str) -> Value;
        let asks: [(&str, Params); 2] = [
            ("tools/call", |text| json!({ "name": "s__echo", "arguments": { "text": text } })),
            ("prompts/get", |text| json!({ "name": "s__summarize", "arguments": { "text": text } })),
        ];
        for (method, params) in asks {
            if method == "prompts/get" && scope == "tool" {
                continue;
            }
            let first = client.send(method, params("one"));
            let card = eventually("a waiting call", || home.json(&["approval", "list"])["approvals"].get(0).cloned());
            let approval = card["id"].as_str().unwrap().to_owned();
            let decided = home.json(&["approval", "approve", &approval, "--remember", scope]);
            assert!(client.answer(&first)["result"].is_object(), "{decided}");
            assert!(client.ask(method, params("two"))["result"].is_object());
            let rows = || home.json(&["audit", "list", "--client", "cursor"])["rows"].as_array().unwrap().clone();
            let row = eventually("its row", || {
                let closed = |row: &&Value| row["method"] == method && (row["kind"] == "read" || row["kind"] == "end");
                rows().iter().find(|row| closed(row) && row["call"] != json!(approval)).cloned()
            });
            let by = rows().iter().find(|row| row["kind"] == "decision").unwrap()["by"].clone();
            assert_eq!(row["by"], by, "{row}");
            let whose = if scope == "tool" { "for this client and tool" } else { "for this session" };
            let why = row["why"].as_str().unwrap();
            assert!(why.contains(&format!("approved with {approval}")) && why.contains(whose), "{why}");
            let detail: Value = serde_json::from_str(row["detail"].as_str().unwrap()).unwrap();
            assert_eq!((&detail["approval"], &detail["scope"]), (&json!(approval), &json!(scope)), "{row}");
            let (_, shown, _) = home.run(&["audit", "show", row["call"].as_str().unwrap()]);
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words(&shown).contains(&words(&format!("approved by {}", by.as_str().unwrap()))), "{shown}");
            assert!(shown.contains(&approval), "{shown}");
            let (_, grants, _) = home.run(&["audit", "export", "--kind", "grant"]);
            assert!(grants.contains(&approval), "{grants}");
        }
        drop(client);
        drop(hub);
        if scope == "tool" {
            // Also by a later hub.
            let _hub = home.serve();
            let mut client = home.stdio(&["--host", "cursor"]);
            client.initialize("2025-11-25");
            client.await_tool("s__echo");
            assert!(client.ask("tools/call", asks[0].1("three"))["result"].is_object());
            eventually("its row", || {
                let rows = home.json(&["audit", "list", "--client", "cursor"])["rows"].clone();
                rows[0]["why"].as_str()?.contains("approved with c-").then_some(())
            });
        }
    }
}

#[test]
fn what_was_repaired_stands_in_the_log_and_on_the_card() {
    let home = Home::new();
    let properties = json!({ "list": { "type": "array" }, "more": { "type": "object" } });
    let tool = |name: &str, reads: bool| {
        json!({
            "name": name, "description": "One.", "annotations": { "readOnlyHint": reads },
            "inputSchema": { "type": "object", "properties": properties, "additionalProperties": { "type": "array" } },
        })
    };
    let definitions = json!({ "tools": [tool("order", false), tool("get_order", true)] });
    std::fs::write(home.path("definitions.json"), definitions.to_string()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/stories/changing.py");
    let paths = ["definitions.json", "lines"].map(|name| home.path(name).display().to_string());
    let entry = json!({ "command": "python3", "args": [script, &paths[0], &paths[1]] });
    home.configure(&json!({ "mcpServers": { "c": entry }, "policy": { "default": "auto" } }));
    let _hub = home.serve();
    let mut client = home.stdio(&["--host", "cursor"]);
    client.initialize("2025-11-25");
    client.await_tool("c__order");
    let field = "`list` was given as JSON text";
    let whole = "the arguments were given as JSON text";
    let cases = [
        (json!({ "list": "[1]" }), vec![field]),
        (json!("{\"list\":[2]}"), vec![whole]),
        (json!("{\"list\":\"[3]\"}"), vec![whole, field]),
        (json!("  "), vec!["blank text was read as no arguments"]),
        (json!({ "hidden-4711": "[4]" }), vec!["an argument was given as JSON text"]),
        (json!({ "list": [5] }), vec![]),
    ];
    for (round, (arguments, sentences)) in cases.into_iter().enumerate() {
        for tool in ["c__get_order", "c__order"] {
            let asked = client.send("tools/call", json!({ "name": tool, "arguments": arguments }));
            let mut whys: Vec<String> = Vec::new();
            if tool == "c__order" {
                let card =
                    eventually("a waiting call", || home.json(&["approval", "list"])["approvals"].get(0).cloned());
                whys.push(card["why"].as_str().unwrap().to_owned());
                home.json(&["approval", "approve", card["id"].as_str().unwrap(), "--remember", "once"]);
            }
            assert!(client.answer(&asked)["result"]["content"].is_array());
            let kind = if tool == "c__order" { "end" } else { "read" };
            let row = eventually("its row", || {
                let rows = home.json(&["audit", "list", "--tool", tool, "--kind", kind])["rows"].clone();
                (rows.as_array()?.len() == round + 1).then(|| rows[0].clone())
            });
            whys.push(row["why"].as_str().unwrap().to_owned());
            for why in whys {
                assert_eq!(why.contains("repaired: "), !sentences.is_empty(), "{tool} {arguments}: {why}");
                assert!(sentences.iter().all(|sentence| why.contains(sentence)), "{tool} {arguments}: {why}");
                assert!(!why.contains("4711"), "{why}");
            }
        }
    }
}
