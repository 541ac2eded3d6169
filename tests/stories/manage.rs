//! The command line against a running hub.

use crate::fake::fake;
use serde_json::json;
use stories::{Home, binary, sample, text};

#[test]
fn commands_without_a_hub_say_so() {
    let home = Home::new();
    for args in [&["status"][..], &["server", "list"], &["tool", "list"], &["stop"]] {
        let (code, out, err) = home.run(args);
        assert_eq!(code, 3, "{args:?}: {out}{err}");
        assert!(err.contains("callgate serve"), "{err}");
    }
    let (code, out, _) = home.run(&["--version"]);
    assert_eq!((code, out.trim()), (0, concat!("callgate ", env!("CARGO_PKG_VERSION"))));
    let (code, ..) = home.run(&["nonsense"]);
    assert_eq!(code, 2);
    let (code, out, _) = home.run(&["completions", "bash"]);
    assert!(code == 0 && out.contains("callgate"));
}

#[test]
fn servers_are_added_disabled_stopped_and_removed() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let callgate = binary("callgate").display().to_string();
    let (code, _, err) = home.run(&["server", "add", "s", "--", &callgate, "sample-server"]);
    assert_eq!(code, 0, "{err}");
    let mut client = home.stdio(&[]);
    client.initialize("2025-11-25");
    client.await_tool("s__echo");
    client.await_tool("f__echo");
    let config = std::fs::read_to_string(home.path("callgate.jsonc")).unwrap();
    assert!(config.contains("sample-server"));

    let (code, ..) = home.run(&["server", "stop", "s"]);
    assert_eq!(code, 0);
    let refused = client.call("s__echo", json!({ "text": "x" }));
    assert_eq!(refused["structuredContent"]["error"], "server_unavailable", "{refused}");
    let (code, _, err) = home.run(&["server", "start", "s"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(text(&client.call("s__echo", json!({ "text": "x" }))), "x");
    let (code, ..) = home.run(&["server", "restart", "s"]);
    assert_eq!(code, 0);
    assert_eq!(text(&client.call("s__echo", json!({ "text": "y" }))), "y");

    let (code, _, err) = home.run(&["server", "disable", "s"]);
    assert_eq!(code, 0, "{err}");
    let refused = client.call("s__echo", json!({ "text": "x" }));
    assert!(text(&refused).contains("disabled"), "{refused}");
    assert!(!client.tools().iter().any(|name| name.starts_with("s__")));
    let (code, ..) = home.run(&["server", "enable", "s"]);
    assert_eq!(code, 0);
    client.await_tool("s__echo");
    let (code, ..) = home.run(&["server", "remove", "s"]);
    assert_eq!(code, 0);
    let refused = client.call("s__echo", json!({ "text": "x" }));
    assert_eq!(refused["structuredContent"]["error"], "unknown_tool");
    assert_eq!(text(&client.call("f__echo", json!({}))), "{}", "the other one was not touched");
    let (code, ..) = home.run(&["server", "show", "s"]);
    assert_eq!(code, 1);
}

#[test]
fn who_waits_for_a_server_that_a_person_stops_reads_that() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = home.stdio(&[]);
    client.initialize("2025-11-25");
    let check = |client: &mut stories::Client, verb: &str, expect: &str| {
        client.await_tool("f__never");
        let waits = client.send("tools/call", json!({ "name": "f__never", "arguments": {} }));
        let has = || home.json(&["server", "show", "f"])["running"] == 1;
        stories::eventually("the call at the server", || has().then_some(()));
        let (code, _, err) = home.run(&["server", verb, "f"]);
        assert_eq!(code, 0, "{err}");
        let answer = client.answer(&waits)["result"].clone();
        assert_eq!(answer["structuredContent"]["error"], "server_unavailable", "{answer}");
        let why = format!("the server `f` {expect} while it ran this call.");
        assert!(text(&answer).contains(&why), "{answer}");
    };
    check(&mut client, "restart", "was stopped by a person to be started again");
    check(&mut client, "stop", "was stopped by a person");
    let (code, _, err) = home.run(&["server", "start", "f"]);
    assert_eq!(code, 0, "{err}");
    check(&mut client, "disable", "was disabled in the config by a person");
    let (code, _, err) = home.run(&["server", "enable", "f"]);
    assert_eq!(code, 0, "{err}");
    check(&mut client, "remove", "was removed from the config by a person");
}

#[test]
fn tools_are_listed_shown_and_called() {
    let home = Home::with(json!({ "s": sample(&[]) }));
    let _hub = home.serve();
    let mut client = home.stdio(&[]);
    client.initialize("2025-11-25");
    client.await_tool("s__echo");
    let listed = home.json(&["tool", "list"]).to_string();
    assert!(listed.contains("s__echo") && listed.contains("sha256:"));
    let shown = home.json(&["tool", "show", "s__echo"]).to_string();
    assert!(shown.contains("inputSchema"));
    let (code, out, err) = home.run(&["tool", "call", "s__echo", r#"{"text":"from the shell"}"#]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("from the shell"));
    let (code, ..) = home.run(&["tool", "call", "s__fail", "{}"]);
    assert_eq!(code, 1);
    let (code, ..) = home.run(&["tool", "call", "s__echo", "{nonsense"]);
    assert!(code == 1 || code == 2);
    let (code, out, _) = home.run(&["status"]);
    assert!(code == 0 && out.contains('s'), "{out}");
}
