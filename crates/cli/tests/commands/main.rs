//! The binary as a person or a script runs it: in a home of its own, without a hub or with the real door around a fake one.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests start programs"
)]

mod fake;
mod gate;

use fake::Home;
use operator::words::{CallOutcome, CallResult, LogLine, ServerList, Status};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

#[test]
fn without_arguments_the_first_steps() {
    let run = Home::new().run(&[]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    for command in ["callgate server add", "callgate serve", "callgate status", "callgate stdio"] {
        assert!(run.out.contains(command), "{}", run.out);
    }
}

#[test]
fn wrong_usage_is_2() {
    let home = Home::new();
    for line in ["nonsense", "server", "server add x", "tool call", "server logs x -n 0x", "status extra"] {
        let run = home.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{line}");
        assert!(!run.err.is_empty());
    }
    assert_eq!(home.run(&["--version"]).out, format!("callgate {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn with_json_also_what_is_not_done_is_json() {
    let home = Home::new();
    let check = |line: &str, code: i32, expect: &str| {
        let run = home.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!((run.code, run.out.as_str()), (code, ""), "{line}");
        let problem: Value = serde_json::from_str(&run.err).unwrap_or_else(|_| panic!("{line}: {}", run.err));
        assert_eq!(problem["code"], expect, "{line}");
        problem["message"].as_str().unwrap().to_owned()
    };
    for line in ["--json nonsense", "server --json", "server add x --json", "serve --json --port x", "stdio --json -x"]
    {
        check(line, 2, "usage");
    }
    assert_eq!(check("status --json extra", 2, "usage"), "unexpected argument 'extra' found");
    std::fs::write(home.path().join("callgate.jsonc"), "{\n \"x\": 1, \"y\": 2 }").unwrap();
    let message = check("serve --json", 2, "bad_config");
    assert!(message.lines().count() == 2 && message.contains("callgate.jsonc:2:2: "), "{message}");
    for line in ["--version --json", "--json --version"] {
        let run = home.run(&line.split(' ').collect::<Vec<_>>());
        let version: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!((run.code, version["version"].as_str()), (0, Some(env!("CARGO_PKG_VERSION"))), "{line}");
    }
}

#[test]
fn a_relative_home_is_refused_and_a_relative_config_is_meant_from_here() {
    let home = Home::new();
    for line in ["status", "config path", "serve", "stdio", "stdio --json"] {
        let mut command = home.command(&line.split(' ').collect::<Vec<_>>());
        let output = command.env("CALLGATE_HOME", "own").current_dir(home.path()).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(2), true), "{line}");
        assert!(err.contains("CALLGATE_HOME must be an absolute path"), "{line}: {err}");
    }
    assert!(!home.path().join("own").exists());
    let output = home.command(&["config", "path", "--config", "b/c.jsonc"]).current_dir("/").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "/b/c.jsonc\n");
}

#[test]
fn without_a_hub_3_and_the_cure_in_one_line() {
    let home = Home::new();
    for line in
        ["status", "stop", "server list", "server add x -- y", "tool call x {}", "token list", "logs", "logs -f"]
    {
        let run = home.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!((run.code, run.out.as_str()), (3, ""), "{line}");
        assert_eq!(run.err, "callgate: no hub is running; next:  callgate serve\n");
    }
    let run = home.run(&["status", "--json"]);
    let problem: Value = serde_json::from_str(&run.err).unwrap();
    assert_eq!((problem["code"].as_str(), problem["next"].as_str()), (Some("no_hub"), Some("callgate serve")));
}

#[test]
fn the_config_is_checked_without_a_hub() {
    let home = Home::new();
    let file = home.path().join("callgate.jsonc");
    assert_eq!(home.run(&["config", "path"]).out, format!("{}\n", file.display()));
    assert_eq!(home.run(&["config", "check"]).code, 2, "there is none");
    std::fs::write(&file, "{ // mine\n \"mcpServers\": { \"a\": { \"command\": \"b\" }, }, }").unwrap();
    let run = home.run(&["config", "check"]);
    assert_eq!((run.code, run.out), (0, format!("ok {}: 1 server\n", file.display())));
    std::fs::write(&file, "{\"mcpServers\": {\"a\": {\"command\": \"b\", \"env\": {\"T\": \"${env:NOT_SET}\"}}}}")
        .unwrap();
    let run = home.run(&["config", "check"]);
    assert!(run.code == 0 && run.out.contains("warning: mcpServers.a: env.T: the variable NOT_SET"), "{}", run.out);
    std::fs::write(&file, "{\n \"mcpServers\": { \"a\": { \"comand\": \"b\" } } }").unwrap();
    let run = home.run(&["config", "check", "--json"]);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, &report["errors"][0]["line"]), (2, &Value::from(2)), "{report}");
    let other = home.path().join("other.jsonc");
    std::fs::write(&other, "{}").unwrap();
    assert_eq!(home.run(&["config", "check", "--config", other.to_str().unwrap()]).code, 0);
}

#[test]
fn completions_are_scripts() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let run = home.run(&["completions", shell]);
        assert!(run.code == 0 && run.out.contains("sample-server") || run.out.contains("server"), "{shell}");
    }
}

#[test]
fn documents_come_as_text_or_as_their_words() {
    let home = Home::with_hub();
    let run = home.run(&["status"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(run.out.starts_with("● callgate 9.9.9 up ") && run.out.contains("files"), "{}", run.out);
    let status: Status = serde_json::from_str(&home.run(&["status", "--json"]).out).unwrap();
    assert_eq!(status.servers.len(), 2);
    let list: ServerList = serde_json::from_str(&home.run(&["--json", "server", "list"]).out).unwrap();
    assert_eq!(list.servers, status.servers);
    assert!(home.run(&["server", "show", "files"]).out.contains("launch      files-mcp"));
    assert!(home.run(&["server", "restart", "files"]).out.starts_with("files ● ready"));
    let run = home.run(&["server", "start", "shop"]);
    assert_eq!((run.code, run.out.as_str()), (1, "shop ✗ failing  exit code 1\n"));
    let run = home.run(&["server", "show", "nobody"]);
    let expect = "callgate: there is no server `nobody`; next:  callgate server list\n";
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (1, "", expect));
    let run = home.run(&["tool", "list"]);
    assert!(run.out.contains("files__find  read    Finds it."), "{}", run.out);
    assert!(home.run(&["tool", "show", "find"]).out.contains("  \"x\": 1.10"));
}

#[test]
fn calls_end_in_the_code_of_their_outcome() {
    let home = Home::with_hub();
    for (tool, code, outcome) in [
        ("done", 0, CallOutcome::Done),
        ("tool_error", 1, CallOutcome::ToolError),
        ("rpc_error", 1, CallOutcome::RpcError),
        ("denied", 4, CallOutcome::Refused),
        ("pending", 5, CallOutcome::Pending),
    ] {
        let run = home.run(&["tool", "call", tool, "{\"n\": 1.10}", "--json"]);
        let result: CallResult = serde_json::from_str(&run.out).unwrap();
        assert_eq!((run.code, result.outcome), (code, outcome), "{tool}");
    }
    assert_eq!(home.run(&["tool", "call", "done", "{\"n\": 1.10}"]).out, "got {\"n\": 1.10}\n");
    assert_eq!(home.run_with(&["tool", "call", "done", "-"], b" {\"n\":2}\n").out, "got {\"n\":2}\n");
    assert_eq!(home.run(&["tool", "call", "done"]).out, "got {}\n");
    assert_eq!(home.run(&["tool", "call", "done", "{n:1}"]).code, 2);
    assert_eq!(home.run(&["tool", "call", "gone", "{}"]).code, 1);
}

#[test]
fn hostile_text_is_escaped_in_both_forms() {
    let home = Home::with_hub();
    for line in [&["server", "list"][..], &["server", "list", "--json"], &["logs"], &["logs", "--json"]] {
        let run = home.run(line);
        assert!(run.out.contains("202") && !run.out.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{}", run.out);
    }
}

#[test]
fn logs_are_followed() {
    let home = Home::with_hub();
    let mut child = home.command(&["logs", "-f", "-n", "1", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<LogLine>(&lines.next().unwrap().unwrap()).unwrap().text;
    assert!(next().contains("last"));
    home.log("first");
    assert_eq!(next(), "first");
    home.log("second");
    assert_eq!(next(), "second");
    home.end();
    assert_eq!(child.wait().unwrap().code(), Some(0), "the hub's end is the end of the log");
}

#[test]
fn a_closed_stdout_ends_quietly() {
    let home = Home::with_hub();
    for line in [&["server", "list"][..], &["logs", "-f"], &["completions", "bash"], &[]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut child = home.command(line).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(0), ""), "{line:?}");
    }
}

#[test]
fn stop_returns_when_the_process_is_gone() {
    let home = Home::with_hub();
    let run = home.run(&["stop"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(run.out.starts_with("Stopped (pid "));
    assert!(home.hub_process_is_gone());
}

#[test]
fn a_socket_in_an_open_folder_is_not_trusted() {
    let home = Home::with_hub();
    std::fs::set_permissions(home.path().join("run"), std::fs::Permissions::from_mode(0o777)).unwrap();
    let run = home.run(&["status"]);
    assert_eq!((run.code, run.out.as_str()), (1, ""));
    assert!(run.err.contains("is not to be trusted: others can write to it (mode 777)"), "{}", run.err);
}

#[test]
fn a_token_goes_alone_to_stdout() {
    let home = Home::with_hub();
    let run = home.run(&["token", "add", "ci"]);
    assert_eq!(run.code, 0);
    assert!(run.out.starts_with("callgate_") && run.out.lines().count() == 1, "{}", run.out);
    assert!(run.err.contains("Authorization: Bearer") && !run.err.contains(run.out.trim()));
    let run = home.run(&["token", "list"]);
    assert!(run.out.starts_with("NAME  MADE\nci    "), "{}", run.out);
    assert_eq!(home.run(&["token", "add", "ci"]).code, 1);
    assert_eq!(home.run(&["token", "add", "a b"]).code, 2);
    assert_eq!(home.run(&["token", "remove", "ci"]).code, 0);
    assert_eq!(home.run(&["token", "remove", "ci"]).code, 1);
}

#[test]
fn servers_are_added_as_typed_or_pasted() {
    let home = Home::with_hub();
    let text = || std::fs::read_to_string(home.path().join("callgate.jsonc")).unwrap();
    let run = home.run(&["server", "add", "notes", "--env", "K=v", "--", "npx", "-y", "notes mcp"]);
    // The hub of these tests runs none of them.
    let next = "  notes does not run: there is no server `notes` (callgate server list)\n";
    assert_eq!((run.code, run.out, run.err.as_str()), (0, format!("added notes\n{next}"), ""));
    let config: Value = serde_json::from_str(&home.run(&["config", "check", "--json"]).out).unwrap();
    assert_eq!(config["servers"][0], "notes");
    assert!(text().contains("\"notes mcp\"") && text().contains("\"K\": \"v\""), "{}", text());
    let block = b"{ // pasted\n \"mcpServers\": {\"a\": {\"command\": \"x\"}, \"b\": {\"url\": \"http://h/mcp\"},} }";
    let added = home.run_with(&["server", "add", "--json-entry"], block).out;
    assert!(added.starts_with("added a\nadded b\n  a does not run: "), "{added}");
    assert_eq!(
        home.run_with(&["server", "add", "c", "--json-entry"], b"{\"command\": \"x\"}").out.lines().next(),
        Some("added c")
    );
    let run = home.run(&["server", "add", "notes", "--url", "http://h/mcp"]);
    assert_eq!(run.err, "callgate: there is a server named notes already; next:  callgate server list\n");
    assert_eq!((run.code, home.run(&["server", "add", "d", "--url", "ftp://h"]).code), (1, 2));
    assert_eq!(home.run_with(&["server", "add", "--json-entry"], b"{\"command\": \"x\"}").code, 2);
    let disabled = home.run(&["server", "disable", "a"]).out;
    assert!(disabled.starts_with("changed a\n") && disabled.contains("callgate server enable a"), "{disabled}");
    assert!(home.run(&["server", "enable", "a"]).out.starts_with("changed a\n"));
    assert_eq!(home.run(&["server", "remove", "a"]).out, "removed a\n");
    assert_eq!(home.run(&["server", "remove", "a"]).code, 1);
}
