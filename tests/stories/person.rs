//! Who may decide: not the processes of a host or of a server; with a PIN only who knows it.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use stories::{Client, Home, binary, eventually, sample};

/// A home where a call that may change something waits, and its retry finds the approval. `lifted`: whether the
/// processes of hosts decide like a person.
fn home(lifted: Value) -> Home {
    let home = Home::new();
    let lines = home.path("lines.txt").display().to_string();
    let approval = json!({ "holdSeconds": 0, "holdSecondsWithProgress": 0, "fromHostTree": lifted });
    home.configure(&json!({
        "mcpServers": { "s": sample(&["--file", &lines]) },
        "policy": { "approval": approval },
    }));
    home
}

/// A host that is a process of its own and starts both its adapter and what its agent asks for.
fn host(home: &Home) -> Client {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("stories/host.py");
    let mut command = stories::command(Path::new("python3"));
    command.arg(script).arg(binary("callgate")).args(["stdio", "--host", "agent"]);
    command.env("CALLGATE_HOME", home.dir()).env("HOME", home.dir()).env("NO_COLOR", "1").current_dir(home.dir());
    let mut client = Client::spawn(command);
    client.initialize("2025-11-25");
    client.await_tool(ORDER);
    client
}

const ORDER: &str = "s__append_line";

/// Runs a command as a child of the host: exit code and stderr.
fn run(host: &mut Client, words: &[&str]) -> (i64, String) {
    host.raw(format!("!{}\n", json!(words)).as_bytes());
    let ran = host.await_message("the end of a command", |message| message.get("ran").is_some());
    (ran["ran"]["code"].as_i64().unwrap(), ran["ran"]["err"].as_str().unwrap().to_owned())
}

fn waiting(home: &Home) -> Value {
    eventually("a waiting call", || home.json(&["approval", "list"])["approvals"].get(0).cloned())
}

/// Asks for an operation, as a program that knows the door: status and document.
fn post(home: &Home, operation: &str, body: &Value) -> (u16, Value) {
    let mut stream = UnixStream::connect(home.path("run/operator.sock")).unwrap();
    let body = body.to_string();
    let head =
        format!("POST /op/{operation} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json");
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap())
}

#[test]
fn a_host_that_ends_its_own_adapter_is_no_person_by_that() {
    let home = home(json!(false));
    let mut hub = home.serve();
    let mut host = host(&home);
    host.call(ORDER, json!({ "text": "one" }));
    let id = waiting(&home)["id"].as_str().unwrap().to_owned();
    host.raw(b"-\n");
    eventually("it is gone", || home.json(&["status"])["hosts"].as_array()?.is_empty().then_some(()));
    let callgate = binary("callgate").display().to_string();
    for _ in 0..2 {
        let (code, err) = run(&mut host, &[&callgate, "approval", "approve", &id]);
        assert!(code != 0 && err.contains("the host `agent`"), "{code} {err}");
        // Nor by ending the hub.
        hub.kill();
        hub = home.serve();
    }
    assert_eq!(waiting(&home)["state"], "waiting");
    home.json(&["approval", "approve", &id, "--remember", "once"]);
}

#[test]
fn a_hosts_own_processes_do_not_decide_and_a_person_beside_it_does() {
    let home = home(json!(false));
    let hub = home.serve();
    let mut host = host(&home);
    host.call(ORDER, json!({ "text": "one" }));
    let approval = waiting(&home);
    let id = approval["id"].as_str().unwrap();
    let callgate = binary("callgate").display().to_string();
    let in_a_shell = format!("cd / && '{callgate}' approval approve {id}; exit $?");
    for words in [
        &[callgate.as_str(), "approval", "approve", id, "--json"][..],
        &["sh", "-c", &in_a_shell],
        &[&callgate, "approval", "deny", id],
        &[&callgate, "token", "add", "mine"],
        &[&callgate, "resume"],
    ] {
        let (code, err) = run(&mut host, words);
        assert!(code != 0 && err.contains("the host `agent`"), "{words:?}: {code} {err}");
    }
    let direct = "import socket, sys\n\
        s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n\
        body = b'{\"new\": \"4711\"}'\n\
        s.sendall(b'POST /op/approval.pin HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n'\n\
        \x20   b'content-type: application/json\\r\\ncontent-length: %d\\r\\n\\r\\n' % len(body) + body)\n\
        sys.stderr.write(s.makefile().read())";
    let socket = home.path("run/operator.sock").display().to_string();
    let (_, err) = run(&mut host, &["python3", "-c", direct, &socket]);
    assert!(err.contains("not_a_person"), "{err}");
    // It may look.
    assert_eq!(run(&mut host, &[&callgate, "approval", "show", id]).0, 0);
    assert_eq!(waiting(&home)["state"], "waiting");

    let decided = home.json(&["approval", "approve", id, "--remember", "once"]);
    assert_eq!(decided["winner"], "you", "{decided}");
    let by = decided["decision"]["by"].as_str().unwrap();
    assert!(by.starts_with("callgate (pid ") && by.contains(", from "), "{by}");
    host.call(ORDER, json!({ "text": "one" }));
    assert_eq!(std::fs::read_to_string(home.path("lines.txt")).unwrap(), "one\n");
    // Each operation that was tried stands in the log: the first try at once, the rest when its minute is over.
    let rows = home.json(&["audit", "list", "--kind", "person"])["rows"].as_array().unwrap().clone();
    let tried: Vec<&str> = rows.iter().rev().map(|row| row["tool"].as_str().unwrap()).collect();
    assert_eq!(tried, ["approval.approve", "approval.deny", "token.add", "resume", "approval.pin"], "{rows:?}");
    for row in &rows {
        assert_eq!(row["outcome"], "denied");
        assert!(row["why"].as_str().unwrap().starts_with("not_a_person: only a person may do this"), "{row}");
        assert!(row["by"].as_str().unwrap().contains("(pid "), "{row}");
        let detail: Value = serde_json::from_str(row["detail"].as_str().unwrap()).unwrap();
        assert!(detail["pid"].as_u64().is_some() && detail["program"].as_str().is_some(), "{detail}");
        assert!(!row.to_string().contains("4711"), "{row}");
    }
    drop(host);
    assert_eq!(home.run(&["stop"]).0, 0);
    drop(hub);
    let _hub = home.serve();
    let rows = home.json(&["audit", "list", "--kind", "person"])["rows"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 6, "{rows:?}");
    assert_eq!(rows[0]["tool"], "approval.approve", "the second try of the shell, told when the hub ended");
}

#[test]
fn a_server_does_not_decide() {
    let home = Home::new();
    let callgate = binary("callgate").display().to_string();
    let told = home.path("told.txt").display().to_string();
    // It leaves its session, too: what is below the hub stays below it.
    let script = format!("setsid '{callgate}' token add mine > '{told}.new' 2>&1; mv '{told}.new' '{told}'; exec cat");
    home.configure(&json!({
        "mcpServers": { "bad": {
            "command": "sh", "args": ["-c", script], "env": { "CALLGATE_HOME": home.dir() }, "start": "eager",
        } },
        "policy": { "approval": { "fromHostTree": false } },
    }));
    let _hub = home.serve();
    let told = eventually("its answer", || std::fs::read_to_string(&told).ok());
    assert!(told.contains("a process of a server that the hub runs"), "{told}");
    assert!(home.json(&["token", "list"])["tokens"].as_array().unwrap().is_empty());
}

#[test]
fn with_a_pin_nobody_decides_without_it() {
    let home = home(json!(true));
    let mut hub = home.serve();
    let mut host = host(&home);
    host.call(ORDER, json!({ "text": "one" }));
    let approval = waiting(&home);
    let (id, digest) = (approval["id"].as_str().unwrap(), &approval["digest"]);
    assert_eq!(post(&home, "approval.pin", &json!({ "new": "4711" })), (200, json!({ "pin_set": true })));
    assert_eq!(home.json(&["approval", "list"])["pin_set"], true);
    let (code, _, err) = home.run(&["approval", "approve", id]);
    assert!(code != 0 && err.contains("PIN"), "{code} {err}");
    let approve = |pin: &str| post(&home, "approval.approve", &json!({ "id": id, "digest": digest, "pin": pin }));
    let (status, problem) = approve("0815");
    assert_eq!((status, &problem["code"]), (403, &json!("pin_wrong")), "{problem}");
    assert!(problem["message"].as_str().unwrap().contains("4 more tries"), "{problem}");

    eventually("the row of the wrong PIN", || {
        home.json(&["audit", "list", "--kind", "person"])["rows"].get(0).cloned()
    });
    hub.kill();
    let _hub = home.serve();
    assert_eq!(home.json(&["approval", "list"])["pin_set"], true, "it outlives the hub");
    let (status, problem) = approve("0815");
    assert!(status == 403 && problem["message"].as_str().unwrap().contains("3 more tries"), "{problem}");
    let (status, decided) = approve("4711");
    assert_eq!((status, &decided["winner"]), (200, &json!("you")), "{decided}");
    let (status, problem) = post(&home, "approval.pin", &json!({ "new": "1234" }));
    assert_eq!((status, &problem["code"]), (403, &json!("pin_required")), "{problem}");
    let log = home.run(&["logs", "--lines", "1000"]);
    assert!(log.1.contains("pin_wrong") && !log.1.contains("0815") && !log.1.contains("4711"), "{log:?}");
    let (status, now) = post(&home, "approval.pin", &json!({ "old": "4711" }));
    assert_eq!((status, now), (200, json!({ "pin_set": false })));
    assert_eq!(post(&home, "token.add", &json!({ "name": "ci" })).0, 200);
    let rows = home.json(&["audit", "list", "--limit", "1000"])["rows"].as_array().unwrap().clone();
    let told = |kind: &str| -> Vec<String> {
        let words = |row: &Value| format!("{} {} {}", row["tool"], row["outcome"], row["why"]).replace('"', "");
        rows.iter().rev().filter(|row| row["kind"] == kind).map(words).collect()
    };
    assert_eq!(told("setting"), ["pin ok set", "pin ok removed"]);
    assert_eq!(told("token"), ["ci ok added"]);
    let refused = told("person");
    assert!(refused[0].starts_with("approval.approve denied pin_wrong: that is not the PIN; 4 more"), "{refused:?}");
    assert!(rows.iter().all(|row| !row.to_string().contains("0815") && !row.to_string().contains("4711")));
}
