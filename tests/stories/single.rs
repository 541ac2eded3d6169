//! One hub per home; what a second one, a taken port and a wrong config get.

use crate::fake::fake;
use serde_json::json;
use std::net::TcpListener;
use stories::{Home, eventually, sample, text};

#[test]
fn a_second_hub_is_refused_with_the_pid_of_the_first() {
    let home = Home::with(json!({}));
    let hub = home.serve();
    let (code, _, err) = home.run(&["serve"]);
    assert_eq!(code, 1);
    assert!(err.contains(&hub.pid().to_string()), "{err}");
    assert!(home.path("run/endpoint.json").exists());
}

#[test]
fn a_taken_port_costs_http_only_and_names_its_holder() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port();
    let home = Home::new();
    home.configure(&json!({ "mcpServers": { "s": sample(&[]) }, "hub": { "port": port } }));
    let hub = home.serve();
    assert!(hub.endpoint["mcp_url"].is_null());
    let status = home.json(&["status"]).to_string();
    assert!(status.contains(&format!("port {port} is held by")), "{status}");
    let mut client = home.stdio(&[]);
    client.initialize("2025-11-25");
    client.await_tool("s__echo");
    assert_eq!(text(&client.call("s__echo", json!({ "text": "stdio goes on" }))), "stdio goes on");
}

#[test]
fn the_port_is_chosen_once_and_kept() {
    let home = Home::with(json!({}));
    let mut hub = home.serve();
    let first = hub.url();
    hub.kill();
    assert_eq!(home.serve().url(), first);
}

#[test]
fn a_wrong_config_is_refused_with_every_mistake_and_a_reload_keeps_the_old_one() {
    let home = Home::new();
    std::fs::write(
        home.path("callgate.jsonc"),
        "{\n  \"mcpServers\": {\n    \"a\": { \"command\": 5 },\n    \"b\": { \"commnad\": \"x\" },\n  },\n  \"hub\": { \"port\": \"x\" }\n}\n",
    )
    .unwrap();
    let (code, _, err) = home.run(&["serve"]);
    assert_eq!(code, 2, "{err}");
    for place in ["callgate.jsonc:3:", "callgate.jsonc:4:", "callgate.jsonc:6:"] {
        assert!(err.contains(place), "{place} in {err}");
    }
    home.configure(&json!({ "mcpServers": { "f": fake(&[]) } }));
    let _hub = home.serve();
    let mut client = home.stdio(&[]);
    client.initialize("2025-11-25");
    client.await_tool("f__echo");
    let before = text(&client.call("f__env", json!({}))).len();
    home.configure(&json!({ "mcpServers": { "f": fake(&[]), "g": { "comand": "x" } } }));
    let (code, _, err) = home.run(&["config", "check"]);
    assert_eq!(code, 2, "{err}");
    assert_eq!(text(&client.call("f__env", json!({}))).len(), before);
    home.configure(&json!({ "mcpServers": { "f": fake(&[]), "g": fake(&["--second"]) } }));
    client.await_tool("g__echo");
    let seen = client.call("f__seen", json!({}));
    assert!(text(&seen).contains("env"), "the first server was not touched: {seen}");
}

#[test]
fn a_config_that_is_no_file_holds_up_neither_a_later_one_nor_the_end() {
    let home = Home::with(json!({ "s": sample(&[]) }));
    let mut hub = home.serve();
    let config = home.path("callgate.jsonc");
    std::fs::remove_file(&config).unwrap();
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &config, pipe, rustix::fs::Mode::RWXU, 0).unwrap();
    eventually("a refusal", || home.run(&["status"]).1.contains("no regular file").then_some(()));
    std::fs::remove_file(&config).unwrap();
    home.configure(&json!({ "mcpServers": { "s": sample(&[]), "t": sample(&["--era", "legacy"]) } }));
    let mut client = home.stdio(&[]);
    client.initialize("2025-11-25");
    client.await_tool("t__echo");
    assert_eq!(home.run(&["stop"]).0, 0);
    assert_eq!(hub.process.wait(), 0);
}

#[test]
fn a_database_of_a_later_version_is_refused_and_left_alone() {
    let home = Home::with(json!({}));
    let mut hub = home.serve();
    let (code, ..) = home.run(&["stop"]);
    assert_eq!(code, 0);
    hub.process.wait();
    // The schema's number stands at byte 60 of an SQLite file (big endian).
    let file = home.path("callgate.db");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[60..64].copy_from_slice(&9999u32.to_be_bytes());
    std::fs::write(&file, &bytes).unwrap();
    let (code, _, err) = home.run(&["serve"]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("newer") || err.contains("later"), "{err}");
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
}
