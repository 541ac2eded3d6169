//! Calls that run by an approval that is remembered: the log says by which one, whose, since when.

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
        let asks: [(&str, fn(&str) -> Value); 2] = [
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
                let closed = |row: &&Value| row["kind"] == "read" || row["kind"] == "end";
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
            assert!(shown.contains(&approval) && shown.contains(by.as_str().unwrap()), "{shown}");
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
