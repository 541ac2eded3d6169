//! Failures that users of other hubs have reported, each as it happened to them.

use crate::fake::fake;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};
use stories::{Client, Home, eventually, sample, text};

fn attached(home: &Home) -> Client {
    let mut client = home.stdio(&["--host", "story"]);
    client.initialize("2025-11-25");
    client
}

/// Puts a script into the home.
fn script(home: &Home, place: &str, lines: &str) {
    let file = home.path(place);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, lines).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn state(home: &Home, server: &str) -> Value {
    home.json(&["server", "show", server])["server"].clone()
}

#[test]
fn a_program_that_only_the_login_shell_finds_is_found_with_a_bare_path() {
    let home = Home::with(json!({ "x": { "command": "npx", "args": ["-y", "x"] } }));
    let callgate = stories::binary("callgate");
    let bin = ".nvm/versions/node/v22.1.0/bin";
    script(&home, &format!("{bin}/npx"), &format!("#!/bin/sh\nexec {} sample-server\n", callgate.display()));
    // Only what a login shell reads tells of the folder; the rest of what it says is none of the hub's business.
    let profile = format!("echo welcome\nexport PATH=\"$HOME/{bin}:$PATH\" STRAY_TOKEN=1\n");
    std::fs::write(home.path(".profile"), &profile).unwrap();
    std::fs::write(home.path(".bash_profile"), &profile).unwrap();
    let mut command = home.command(&["serve", "--json"]);
    command.env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/bash");
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
    let mut hub = stories::Guarded::spawn(command);
    hub.line("a ready line of the hub");
    let mut client = attached(&home);
    client.await_tool("x__echo");
    assert_eq!(text(&client.call("x__echo", json!({ "text": "found" }))), "found");
    let program = home.json(&["server", "show", "x"])["program"].clone();
    assert!(program.as_str().unwrap().ends_with(&format!("{bin}/npx")), "{program}");
}

#[test]
fn a_package_that_installs_for_long_holds_nobody_up_and_is_told_when_ready() {
    let home = Home::with(json!({
        "slow": { "command": "./npx", "args": ["-y", "big"], "cwd": "${home}", "timeouts": { "startSeconds": 1 } },
        "ok": fake(&[]),
    }));
    let callgate = stories::binary("callgate");
    // Its install lasts until the story lets it go on.
    let install =
        format!("#!/bin/sh\nmkfifo go 2>/dev/null\nread go < go\nexec {} sample-server\n", callgate.display());
    script(&home, "npx", &install);
    let _hub = home.serve();
    let mut client = attached(&home);
    client.await_tool("ok__echo");
    assert_eq!(text(&client.call("ok__echo", json!({}))), "{}");
    let installing = eventually("the install", || Some(state(&home, "slow")).filter(|it| it["state"] == "installing"));
    let fifo = home.path("go");
    eventually("the fifo", || fifo.exists().then_some(()));
    // Far over its own limit, which is for programs that are there already.
    let over = Instant::now() + Duration::from_millis(1500);
    while Instant::now() < over {
        let began = Instant::now();
        assert!(!client.tools().iter().any(|tool| tool.starts_with("slow__")));
        assert!(began.elapsed() < Duration::from_secs(1));
        std::thread::park_timeout(Duration::from_millis(50));
    }
    let still = state(&home, "slow");
    assert_eq!((&still["state"], &still["pid"]), (&json!("installing"), &installing["pid"]), "not begun anew");
    std::fs::write(&fifo, "go\n").unwrap();
    client.await_message("the notice", |it| it["method"] == "notifications/tools/list_changed");
    client.await_tool("slow__echo");
    assert_eq!(state(&home, "slow")["restarts"], 0);
}

#[test]
fn enormous_catalogs_are_whole_and_always_in_the_same_order() {
    let home = Home::with(json!({
        "c": fake(&["--heavy", "100"]), "a": fake(&["--heavy", "100"]), "b": fake(&["--heavy", "100"]),
    }));
    let list = |client: &mut Client| {
        let mut all: Vec<Value> = Vec::new();
        let mut params = json!({});
        loop {
            let mut page = client.result("tools/list", params);
            all.append(page["tools"].as_array_mut().unwrap());
            match page["nextCursor"].as_str() {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return all,
            }
        }
    };
    let mut hub = home.serve();
    let mut client = attached(&home);
    let all = eventually("300 heavy tools", || {
        let all = list(&mut client);
        (all.iter().filter(|it| it["name"].as_str().unwrap().contains("__heavy_")).count() == 300).then_some(all)
    });
    let find = |name: &str| all.iter().find(|it| it["name"] == name).unwrap();
    assert_eq!(find("a__heavy_0")["inputSchema"]["properties"]["one"]["enum"].as_array().unwrap().len(), 6000);
    assert_eq!(find("b__heavy_1")["description"].as_str().unwrap().len(), 200_000);
    let refused = client.call("a__heavy_0", json!({ "one": "no such word" }));
    assert_eq!(refused["structuredContent"]["error"], "invalid_arguments");
    assert!(refused.to_string().len() < 20_000, "not all 6,000 are told");
    assert_eq!(text(&client.call("a__heavy_0", json!({ "one": "word 5999" }))), "heavy_0");
    hub.kill();
    let _second = home.serve();
    assert_eq!(list(&mut attached(&home)), all, "bytes and order stay");
}

#[test]
fn a_disabled_server_is_refused_by_its_old_names() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = attached(&home);
    client.await_tool("f__echo");
    assert_eq!(text(&client.call("f__echo", json!({}))), "{}");
    let (code, _, err) = home.run(&["server", "disable", "f"]);
    assert_eq!(code, 0, "{err}");
    for name in ["f__echo", "f__nothing"] {
        let refused = client.call(name, json!({ "text": "stale" }));
        assert!(refused["isError"] == true && text(&refused).contains("disabled"), "{name}: {refused}");
    }
    let (code, out, _) = home.run(&["tool", "call", "f__echo", "{}"]);
    assert!(code == 1 && out.contains("disabled"), "{out}");
    let (code, ..) = home.run(&["server", "enable", "f"]);
    assert_eq!(code, 0);
    client.await_tool("f__echo");
    assert!(!text(&client.call("f__seen", json!({}))).contains("stale"));
}

#[test]
fn a_tool_that_a_profile_no_longer_shows_is_refused_by_its_old_names() {
    let home = Home::new();
    let config = |profiles: Value| json!({ "mcpServers": { "f": fake(&[]) }, "profiles": profiles });
    home.configure(&config(json!({ "p": { "tools": ["f__echo", "f__seen"] } })));
    let _hub = home.serve();
    let mut client = home.stdio(&["--profile", "p"]);
    client.initialize("2025-11-25");
    client.await_tool("f__echo");
    assert_eq!(client.tools(), ["f__echo", "f__seen"]);
    assert_eq!(text(&client.call("f__echo", json!({}))), "{}");
    let gone = |client: &mut Client, names: &[&str]| {
        for name in names {
            let refused = client.call(name, json!({ "text": "stale" }));
            assert_eq!(refused["structuredContent"]["error"], "unknown_tool", "{name}: {refused}");
        }
    };
    home.configure(&config(json!({ "p": { "tools": ["f__seen"] } })));
    client.await_message("the notice", |it| it["method"] == "notifications/tools/list_changed");
    gone(&mut client, &["f__echo", "echo"]);
    assert!(!text(&client.call("f__seen", json!({}))).contains("stale"));
    home.configure(&config(json!({})));
    client.await_message("the notice", |it| it["method"] == "notifications/tools/list_changed");
    assert_eq!(client.tools(), [""; 0]);
    gone(&mut client, &["f__echo", "f__seen", "f__write", "seen"]);
    let mut all = attached(&home);
    all.await_tool("f__seen");
    assert!(!text(&all.call("f__seen", json!({}))).contains("stale"));
}

#[test]
fn names_are_unique_and_the_same_in_whatever_order_servers_start() {
    let entry = |key: &str, tool: &str| (key.to_owned(), fake(&["--tool", tool]));
    let long = "n".repeat(80);
    let mut servers = vec![
        entry("a", "b_c"),
        entry("a_b", "c"),
        entry("a__b", "c"),
        entry("a b", "c"),
        entry("GitHub", "c"),
        entry("github", "c"),
        entry("one", &format!("{long}1")),
        entry("One", &format!("{long}2")),
        entry("callgate", "status"),
    ];
    let mut first: Option<Vec<String>> = None;
    for round in 0..servers.len() {
        servers.rotate_left(1);
        if round % 2 == 1 {
            servers.swap(0, 4);
        }
        let home = Home::with(Value::Object(servers.iter().cloned().collect()));
        let _hub = home.serve();
        let mut client = attached(&home);
        let wanted = servers.len();
        let names = eventually("a tool of each server", || {
            // The list goes by the order of the config, which is another one each time.
            let mut names = client.tools();
            names.sort();
            (names.len() == wanted).then_some(names)
        });
        let unique: HashSet<&String> = names.iter().collect();
        assert_eq!(unique.len(), wanted, "{names:?}");
        assert!(names.iter().all(|name| name.len() <= 64), "{names:?}");
        match &first {
            None => first = Some(names),
            Some(first) => assert_eq!(&names, first, "round {round}"),
        }
    }
}

#[test]
fn another_host_s_id_cancels_nothing() {
    let home = Home::with(json!({ "s": sample(&[]) }));
    let _hub = home.serve();
    let mut one = attached(&home);
    let mut two = attached(&home);
    one.await_tool("s__slow");
    let params = json!({ "name": "s__slow", "arguments": { "ms": 700 } });
    one.say(&json!({ "jsonrpc": "2.0", "id": "only-mine", "method": "tools/call", "params": params }));
    for id in [json!("only-mine"), json!(1), json!(2), json!(3), json!(4), json!(5), json!(6), json!(7), json!(8)] {
        two.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    }
    assert_eq!(text(&two.call("s__echo", json!({ "text": "after" }))), "after");
    assert_eq!(one.answer(&json!("only-mine"))["result"]["content"][0]["type"], "text");
}

#[test]
fn a_modern_server_gets_an_object_for_absent_and_null_arguments() {
    let home = Home::with(json!({ "m": fake(&["--discover", "modern"]) }));
    let _hub = home.serve();
    let mut client = attached(&home);
    client.await_tool("m__echo");
    for params in [
        json!({ "name": "m__echo" }),
        json!({ "name": "m__echo", "arguments": null }),
        json!({ "name": "m__echo", "arguments": {} }),
    ] {
        assert_eq!(text(&client.result("tools/call", params.clone())), "{}", "{params}");
    }
    let seen: Value = serde_json::from_str(text(&client.call("m__seen", json!({})))).unwrap();
    let calls: Vec<&Value> =
        seen.as_array().unwrap().iter().filter(|it| it["params"]["name"] == "echo").map(|it| &it["params"]).collect();
    assert!(calls.len() == 3 && calls.iter().all(|it| it["arguments"] == json!({})), "{calls:?}");
    assert!(client.ask("tools/list", Value::Null)["result"]["tools"].is_array(), "null params are read as absent");
    for params in [json!([1]), json!("x")] {
        assert!(client.ask("tools/list", params.clone())["error"]["code"].is_number(), "{params}");
    }
}

#[test]
fn a_failing_server_can_be_stopped_and_started_at_once() {
    let home = Home::with(json!({ "gone": { "command": "no-such-program" }, "ends": { "command": "false" } }));
    let _hub = home.serve();
    for server in ["gone", "ends"] {
        eventually("a wait after failures", || (state(&home, server)["restarts"].as_u64()? >= 2).then_some(()));
        eventually("a failure", || (state(&home, server)["state"] == "failing").then_some(()));
        let began = Instant::now();
        let (code, out, err) = home.run(&["server", "stop", server]);
        assert_eq!(code, 0, "{err}");
        assert!(out.contains("stopped"), "{out}");
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
    let reason = {
        let (code, out, _) = home.run(&["server", "start", "ends"]);
        assert_eq!(code, 1);
        out
    };
    assert!(reason.contains("exited (code 1)"), "{reason}");
}

#[test]
fn a_start_after_a_failure_waits_for_the_new_try() {
    let home = Home::with(json!({ "s": { "command": "./server", "cwd": "${home}" } }));
    let _hub = home.serve();
    eventually("failures", || (state(&home, "s")["restarts"].as_u64()? >= 3).then_some(()));
    eventually("a failure", || (state(&home, "s")["state"] == "failing").then_some(()));
    script(&home, "server", &format!("#!/bin/sh\nexec {} sample-server\n", stories::binary("callgate").display()));
    let (code, out, err) = home.run(&["server", "start", "s"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("ready"), "{out}");
}

#[test]
fn a_client_is_called_as_its_host_says_or_else_by_its_own_word() {
    let home = Home::with(json!({}));
    let mut hub = home.serve();
    let mut clients = [home.stdio(&["--host", "given"]), home.stdio(&[])];
    let hosts = |clients: &mut [Client; 2]| {
        for client in clients {
            client.tools();
        }
        let status = home.json(&["status"]);
        let hosts = status["hosts"].as_array().unwrap().iter();
        let mut hosts: Vec<Value> = hosts.map(|it| json!([it["name"], it["unverified"], it["transport"]])).collect();
        hosts.sort_by_key(Value::to_string);
        hosts
    };
    for client in &mut clients {
        client.initialize("2025-11-25");
    }
    let expect = [json!(["given", false, "stdio"]), json!(["story", true, "stdio"])];
    assert_eq!(hosts(&mut clients), expect);
    hub.kill();
    let _second = home.serve();
    assert_eq!(hosts(&mut clients), expect, "the next hub knows them as well");
}

#[test]
fn a_server_that_ends_while_it_is_listed_or_lists_nothing_says_why() {
    let home = Home::with(json!({ "ends": fake(&["--list", "exit"]), "null": fake(&["--list", "null"]) }));
    let _hub = home.serve();
    let reason = eventually("a failure", || state(&home, "ends")["reason"].as_str().map(str::to_owned));
    assert!(reason.contains("exited (code 3)"), "{reason}");
    eventually("its start", || (state(&home, "null")["state"] == "ready").then_some(()));
    let findings = home.json(&["server", "show", "null"])["findings"].to_string();
    assert!(findings.contains("answered without `tools`"), "{findings}");
    let reason = state(&home, "null")["reason"].to_string();
    assert!(reason.contains("answered without `tools`"), "{reason}");
}

#[test]
fn a_list_that_did_not_come_is_asked_for_again() {
    let home = Home::with(json!({ "late": fake(&["--list", "late"]) }));
    let _hub = home.serve();
    let mut client = attached(&home);
    client.await_tool("late__echo");
    eventually("nothing to complain of", || state(&home, "late")["reason"].is_null().then_some(()));
}

#[test]
fn a_server_that_floods_before_it_reads_is_listed_all_the_same() {
    let home = Home::with(json!({ "f": fake(&["--list", "flood"]) }));
    let _hub = home.serve();
    let mut client = attached(&home);
    client.await_tool("f__echo");
    assert_eq!(text(&client.call("f__echo", json!({}))), "{}");
    let seen = text(&client.call("f__seen", json!({}))).to_owned();
    assert!(seen.contains("notifications/initialized"), "{seen}");
    assert_eq!(state(&home, "f")["restarts"], 0);
}

#[test]
fn an_entry_that_is_nested_too_deep_costs_only_itself() {
    let home = Home::with(json!({ "f": fake(&["--list", "deep"]) }));
    let _hub = home.serve();
    let mut client = attached(&home);
    client.await_tool("f__seen");
    assert_eq!(client.tools(), ["f__echo", "f__seen"]);
    let findings = home.json(&["server", "show", "f"])["findings"].to_string();
    assert!(findings.contains("`deep` was left out: it is nested deeper than 127 levels"), "{findings}");
}
