//! Hosts attach: several at once, each its own; an adapter starts a hub, and outlives it.

use crate::fake::fake;
use serde_json::{Value, json};
use stories::{Home, children_of, eventually, is_alive, sample, text};

#[test]
fn three_hosts_share_one_process_per_server_and_get_their_own_replies() {
    let home = Home::with(json!({ "a": fake(&[]), "b": sample(&[]) }));
    let hub = home.serve();
    let mut hosts: Vec<_> = ["one", "two", "three"].map(|name| home.stdio(&["--host", name])).into();
    for host in &mut hosts {
        host.initialize("2025-11-25");
        host.await_tool("a__echo");
        host.await_tool("b__echo");
    }
    for (place, host) in hosts.iter_mut().enumerate() {
        for call in 0..10 {
            let server = if call % 2 == 0 { "a" } else { "b" };
            let id = if place == 1 { json!(format!("{call}")) } else { json!(call) };
            let params =
                json!({ "name": format!("{server}__echo"), "arguments": { "text": format!("{place}/{call}") } });
            host.say(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
        }
    }
    for (place, host) in hosts.iter_mut().enumerate() {
        for call in 0..10 {
            let id = if place == 1 { json!(format!("{call}")) } else { json!(call) };
            let answer = host.answer(&id);
            assert!(text(&answer["result"]).contains(&format!("{place}/{call}")), "{answer}");
        }
    }
    // The hub's one child is the guard, and the guard's children are the servers.
    let guard = children_of(hub.pid());
    assert_eq!(guard.len(), 1);
    assert_eq!(children_of(guard[0]).len(), 2);
    let status = home.json(&["status"]);
    let names = status["hosts"].to_string();
    for name in ["one", "two", "three"] {
        assert!(names.contains(name), "{names}");
    }
}

#[test]
fn an_adapter_starts_a_hub_and_ten_at_once_start_one() {
    let home = Home::with(json!({ "s": sample(&[]) }));
    let mut hosts: Vec<_> = (0..10).map(|n| home.stdio(&["--host", &format!("h{n}")])).collect();
    for host in &mut hosts {
        host.send("initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} }));
    }
    for host in &mut hosts {
        assert_eq!(host.hear()["result"]["protocolVersion"], "2025-11-25");
        host.await_tool("s__echo");
        assert_eq!(text(&host.call("s__echo", json!({ "text": "hi" }))), "hi");
    }
    let pid = home.running();
    // It outlives the hosts that came first.
    drop(hosts);
    assert!(is_alive(pid));
    let (code, _, err) = home.run(&["stop"]);
    assert_eq!(code, 0, "{err}");
    eventually("the hub's end", || (!is_alive(pid)).then_some(()));
    assert!(!home.path("run/endpoint.json").exists());
}

#[test]
fn an_adapter_goes_on_with_the_next_hub() {
    let home = Home::with(json!({ "f": fake(&[]) }));
    let mut hub = home.serve();
    let mut host = home.stdio(&["--host", "story"]);
    host.initialize("2025-11-25");
    host.await_tool("f__echo");
    let open = host.send("tools/call", json!({ "name": "f__never", "arguments": {} }));
    assert_eq!(text(&host.call("f__echo", json!({}))), "{}");
    hub.kill();
    let failed = host.answer(&open);
    let outcome = &failed["result"]["_meta"]["dev.callgate/outcome"];
    assert_eq!(outcome["error"], "outcome_unknown", "{failed}");
    assert!(outcome["message"].as_str().unwrap().contains("Call again with the same arguments"), "{failed}");
    let _second = home.serve();
    assert_eq!(text(&host.call("f__echo", json!({ "text": "again" }))), r#"{"text": "again"}"#);
    let seen = host.call("f__seen", json!({}));
    assert!(!text(&seen).contains("never"), "a call was replayed: {seen}");
}

#[test]
fn a_stopped_hub_stays_stopped_for_those_who_were_there() {
    let home = Home::with(json!({ "s": sample(&[]) }));
    let mut hub = home.serve();
    let mut host = home.stdio(&["--host", "story"]);
    host.initialize("2025-11-25");
    host.await_tool("s__echo");
    let (code, _, err) = home.run(&["stop"]);
    assert_eq!(code, 0, "{err}");
    hub.process.wait();
    let refused = host.ask("tools/call", json!({ "name": "s__echo", "arguments": {} }));
    let outcome = &refused["result"]["_meta"]["dev.callgate/outcome"];
    assert_eq!(outcome["error"], "server_unavailable", "{refused}");
    assert!(outcome["message"].as_str().unwrap().contains("stopped"), "{refused}");
    // A new session starts one again.
    let mut fresh = home.stdio(&["--host", "fresh"]);
    fresh.initialize("2025-11-25");
    fresh.await_tool("s__echo");
    assert_eq!(text(&fresh.call("s__echo", json!({ "text": "new" }))), "new");
    let (code, _, err) = home.run(&["stop"]);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn nothing_but_messages_stands_on_stdout() {
    let home = Home::with(json!({ "s": sample(&[]) }));
    let mut host = home.stdio(&["--host", "story"]);
    let id = host.send("initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} }));
    let first = host.process.line("the first line");
    let first: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(first["id"], id, "the first bytes are the reply to the first request");
    host.hang_up();
    assert_eq!(host.process.wait(), 0);
    let (code, _, err) = home.run(&["stop"]);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn a_server_s_own_view_has_its_own_names() {
    let home = Home::with(json!({ "f": fake(&[]), "s": sample(&[]) }));
    let _hub = home.serve();
    let mut first = home.stdio(&[]);
    first.initialize("2025-11-25");
    first.await_tool("f__echo");
    let mut host = home.stdio(&["--server", "f"]);
    assert_eq!(host.initialize("2025-11-25")["serverInfo"]["name"], "fake");
    host.await_tool("echo");
    assert!(!host.tools().iter().any(|name| name.contains("__")));
    assert_eq!(text(&host.call("echo", json!({}))), "{}");
    let mut host = home.stdio(&["--server", "nobody"]);
    host.send("initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} }));
    assert_eq!(host.process.wait(), 2);
    assert!(host.process.stderr().contains("no such server"));
}

#[test]
fn an_adapter_of_another_version_and_a_bare_client_are_understood() {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;
    let home = Home::with(json!({ "f": fake(&[]) }));
    let _hub = home.serve();
    let mut client = home.stdio(&[]);
    client.initialize("2025-11-25");
    client.await_tool("f__echo");
    let connect = || {
        let stream = UnixStream::connect(home.path("run/agent.sock")).unwrap();
        stream.set_read_timeout(Some(stories::LIMIT)).unwrap();
        (BufReader::new(stream.try_clone().unwrap()), stream)
    };
    let hear = |from: &mut BufReader<UnixStream>| -> Value {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    let said = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x" } });
    // A later one says more than this hub knows; an earlier one says less.
    for attach in [
        json!({ "attach": 9, "host": "later", "mode": "teleport", "new": { "thing": 1 }, "initialize": said }),
        json!({ "attach": 1, "initialize": said }),
    ] {
        let (mut from, mut to) = connect();
        writeln!(to, "{}", json!({ "callgate": attach })).unwrap();
        let hello = hear(&mut from);
        assert_eq!(hello["callgate"]["mode"], "copy", "{hello}");
        writeln!(
            to,
            "{}",
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "f__echo" } })
        )
        .unwrap();
        assert_eq!(text(&hear(&mut from)["result"]), "{}");
    }
    let (mut from, mut to) = connect();
    writeln!(to, "{}", json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": said })).unwrap();
    assert_eq!(hear(&mut from)["result"]["protocolVersion"], "2025-06-18");
}

#[test]
fn an_adapter_whose_binary_is_gone_starts_the_recorded_one() {
    let home = Home::with(json!({ "s": sample(&[]) }));
    let mut hub = home.serve();
    hub.kill();
    let copy = home.path("callgate-copy");
    std::fs::copy(stories::binary("callgate"), &copy).unwrap();
    let mut command = stories::command(&copy);
    command.args(["stdio", "--host", "story"]).env("CALLGATE_HOME", home.dir()).env("HOME", home.dir());
    let mut host = stories::Client::spawn(command);
    eventually("the adapter's own start", || {
        let image = std::fs::read_link(format!("/proc/{}/exe", host.process.pid())).ok()?;
        (image == copy).then_some(())
    });
    std::fs::remove_file(&copy).unwrap();
    host.initialize("2025-11-25");
    host.await_tool("s__echo");
    assert_eq!(text(&host.call("s__echo", json!({ "text": "recorded" }))), "recorded");
    let (code, _, err) = home.run(&["stop"]);
    assert_eq!(code, 0, "{err}");
}

/// Another user of the machine gets no word at `agent.sock`, also where its folder and its mode would let him in.
#[test]
fn another_user_is_refused_even_at_an_open_socket() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let home = Home::with(json!({ "s": sample(&[]) }));
    if std::fs::metadata(home.dir()).unwrap().uid() != 0 {
        return; // Nobody but root can become another user.
    }
    let _hub = home.serve();
    let mut own = home.stdio(&[]);
    own.initialize("2025-11-25");
    for (path, mode) in
        [(home.dir().to_owned(), 0o755), (home.path("run"), 0o755), (home.path("run/agent.sock"), 0o666)]
    {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let program = "import os, socket, sys\nos.setgid(65534)\nos.setuid(65534)\ns = socket.socket(socket.AF_UNIX)\n\
        s.connect(sys.argv[1])\ns.settimeout(20)\ntry:\n    s.sendall(b'{\"host\":\"x\",\"session\":\"stranger\"}\\n')\n    \
        print(s.recv(1))\nexcept OSError:\n    print(b'')\n";
    let socket = home.path("run/agent.sock").display().to_string();
    let run = stories::command("python3".as_ref()).args(["-c", program, &socket]).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert_eq!(out.trim(), "b''", "not one byte is answered: {err}");
    own.result("ping", json!({}));
}
