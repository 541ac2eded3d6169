//! The catalog: names, hashes, pages, what is left out and why; from the store while servers do not run.

use crate::fake::fake;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use stories::{Client, Home, children_of, sample, text};

fn listed(client: &mut Client) -> Vec<Value> {
    let mut all = Vec::new();
    let mut params = json!({});
    loop {
        let page = client.result("tools/list", params);
        all.extend(page["tools"].as_array().unwrap().iter().cloned());
        let Some(cursor) = page.get("nextCursor") else { return all };
        params = json!({ "cursor": cursor });
    }
}

#[test]
fn every_page_of_every_server_is_listed_and_cursors_are_the_hub_s_own() {
    let home = Home::with(json!({
        "p": fake(&["--tools", "101", "--page", "50"]),
        "q": fake(&["--tools", "101", "--page", "50"]),
    }));
    let _hub = home.serve();
    let mut client = home.stdio(&[]);
    client.initialize("2025-11-25");
    client.await_tool("p__tool_100");
    client.await_tool("q__tool_100");
    let names: BTreeSet<String> = listed(&mut client).iter().map(|it| it["name"].to_string()).collect();
    assert_eq!(names.iter().filter(|name| name.contains("__tool_")).count(), 202);
    let refused = client.ask("tools/list", json!({ "cursor": "a=\"/+50" }));
    assert_eq!(refused["error"]["code"], -32602);
}

#[test]
fn names_are_the_same_whatever_else_is_connected_and_long_ones_stay_apart() {
    let long = "acme_customer_relations_platform_production_eu_west";
    let tools = |home: &Home, wait: &str| -> Vec<String> {
        let _hub = home.serve();
        let mut client = home.stdio(&[]);
        client.initialize("2025-11-25");
        client.await_tool(wait);
        client.tools()
    };
    let alone = Home::with(json!({ "f": fake(&[]) }));
    let first = tools(&alone, "f__echo");
    let many = Home::with(json!({ long: fake(&[]), "f": fake(&[]), "F": fake(&[]), "f.b": fake(&[]) }));
    let together = tools(&many, "f__echo");
    assert!(first.iter().all(|name| together.contains(name)));
    let unique: BTreeSet<&String> = together.iter().collect();
    assert_eq!(unique.len(), together.len());
    assert!(
        together
            .iter()
            .all(|name| name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)))
    );
}

#[test]
fn hashes_stand_in_every_entry_and_do_not_depend_on_the_era() {
    let hashes = |args: &[&str]| -> Vec<(String, Value)> {
        let home = Home::with(json!({ "f": fake(args) }));
        let _hub = home.serve();
        let mut client = home.stdio(&[]);
        client.initialize("2025-11-25");
        client.await_tool("f__vendor");
        let all = listed(&mut client);
        all.iter().map(|it| (it["name"].to_string(), it["_meta"].clone())).collect()
    };
    let legacy = hashes(&[]);
    assert_eq!(legacy, hashes(&["--discover", "modern"]));
    for (name, meta) in legacy {
        for key in ["dev.callgate/schemaHash", "dev.callgate/definitionHash"] {
            let hash = meta[key].as_str().unwrap_or_default();
            assert!(hash.starts_with("sha256:") && hash.len() == 71, "{name}: {hash}");
        }
    }
}

#[test]
fn unknown_fields_of_definitions_pass_untouched() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = home.stdio(&[]);
    client.initialize("2025-11-25");
    client.await_tool("f__vendor");
    client.send("tools/list", json!({}));
    let line = client.process.line("the list");
    assert!(line.contains(r#""maximum": 9007199254740993"#), "digits are lost");
    assert!(line.contains(r#""execution": {"taskSupport": "optional"}"#));
    assert!(line.contains(r#""x-vendor": {"z": 1, "a": [1.0, 100.0]}"#));
}

#[test]
fn a_lazy_server_is_listed_from_the_store_and_started_by_its_first_call() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let mut hub = home.serve();
    let mut client = home.stdio(&[]);
    client.initialize("2025-11-25");
    client.await_tool("f__echo");
    let before = client.tools();
    drop(client);
    let (code, _, err) = home.run(&["stop"]);
    assert_eq!(code, 0, "{err}");
    hub.process.wait();
    let hub = home.serve();
    let mut client = home.stdio(&[]);
    client.initialize("2025-11-25");
    assert_eq!(client.tools(), before, "listed at once, from the store");
    let guard = children_of(hub.pid());
    assert!(guard.iter().all(|&pid| children_of(pid).is_empty()), "nothing runs yet");
    assert_eq!(text(&client.call("f__echo", json!({}))), "{}");
    assert_eq!(client.tools(), before);
}

#[test]
fn resources_prompts_and_completions_of_all_servers_are_one() {
    let home = Home::with(json!({ "s": sample(&["--name", "one"]), "t": sample(&["--name", "two"]) }));
    let _hub = home.serve();
    let mut client = home.stdio(&[]);
    client.initialize("2025-11-25");
    client.await_tool("s__echo");
    client.await_tool("t__echo");
    let prompts = client.result("prompts/list", json!({}));
    let names: Vec<&str> =
        prompts["prompts"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert!(names.iter().any(|name| name.starts_with("s__")) && names.iter().any(|name| name.starts_with("t__")));
    let resources = client.result("resources/list", json!({}));
    let uri = resources["resources"][0]["uri"].clone();
    let read = client.result("resources/read", json!({ "uri": uri }));
    assert!(read["contents"].is_array());
    let missing = client.ask("resources/read", json!({ "uri": "nothing://here" }));
    assert_eq!(missing["error"]["code"], -32002);
    assert!(client.result("resources/templates/list", json!({}))["resourceTemplates"].is_array());
}
