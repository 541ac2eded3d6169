//! Filling in.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::tests::server;
use super::*;
use std::path::PathBuf;
use upstream::{Process, Spec, Transport};

const SOURCES: [&str; 4] = ["${A}", "${B:-dflt}", "$${C}", "${env:A}/${env:B:-}"];
const FILLED: [&str; 4] = ["x${Z}", "dflt", "${C}", "x${Z}/"];

fn env(name: &str) -> Option<String> {
    match name {
        "A" => Some("x${Z}".into()),
        "EMPTY" => Some(String::new()),
        "URL" => Some("http://127.0.0.1:5/mcp".into()),
        "BAD" => Some("hunter2\r\nX: y".into()),
        "Z" => Some("twice".into()),
        _ => None,
    }
}

fn fill(server: &ServerConfig) -> Result<Spec, ServerProblem> {
    let port = |name: Option<&str>| match name {
        None => Ok(4000),
        Some("http") => Ok(4001),
        Some(_) => Err("no port is free".to_owned()),
    };
    let lookup = Lookup { env: &env, home: Path::new("/h"), port: &port, root: Some(Path::new("/r")) };
    let read = variables(server, &lookup)?;
    resolve("s", &server.clone().with_variables(read), &lookup)
}

fn process(spec: &Spec) -> &Process {
    match &spec.transport {
        Transport::Stdio(process) | Transport::HttpChild { process, .. } => process,
        Transport::Http { .. } => panic!("no process"),
    }
}

#[test]
fn one_rule_for_all_fields_and_nothing_is_filled_in_twice() {
    for (text, expect) in SOURCES.into_iter().zip(FILLED) {
        let entry = format!(
            r#"{{"command": "{text}", "args": ["{text}"], "env": {{"V": "{text}"}}, "cwd": "{text}",
                "url": "http://127.0.0.1/{text}", "headers": {{"H": "{text}"}}}}"#
        );
        let spec = fill(&server(&entry)).unwrap();
        let process = process(&spec);
        assert_eq!(process.command, expect);
        assert_eq!(process.args, [expect]);
        assert_eq!(process.env["V"], expect);
        assert_eq!(process.cwd, Some(Path::new("/h").join(expect)));
        let Transport::HttpChild { url, headers, .. } = &spec.transport else { panic!("{spec:?}") };
        assert_eq!(url, &format!("http://127.0.0.1/{expect}"));
        assert_eq!(headers["H"], expect);
    }
}

#[test]
fn what_is_missing_is_named_by_its_field() {
    let check = |entry: &str, expect: &str| {
        let problem = fill(&server(entry)).expect_err(entry);
        assert_eq!(problem.to_string(), expect, "{entry}");
    };
    check(r#"{"command": "${UNSET}"}"#, "command: the variable UNSET is not set");
    check(r#"{"command": "x", "args": ["a", "${env:UNSET}"]}"#, "args[1]: the variable UNSET is not set");
    check(r#"{"command": "x", "env": {"T": "${UNSET}"}}"#, "env.T: the variable UNSET is not set");
    check(r#"{"command": "x", "cwd": "${UNSET}"}"#, "cwd: the variable UNSET is not set");
    check(r#"{"url": "${UNSET}"}"#, "url: the variable UNSET is not set");
    check(r#"{"url": "http://h", "headers": {"H": "${UNSET}"}}"#, "headers.H: the variable UNSET is not set");
    check(r#"{"command": "x", "env": {"T": "${secret:t}"}}"#, "env.T: secrets are not available yet");
    check(r#"{"command": "x", "args": ["${port:other}"]}"#, "args[0]: no port is free");
    check(r#"{"command": "${EMPTY}"}"#, "command: is empty");
    check(r#"{"url": "${A}"}"#, "url: must begin with `http://` or `https://`");
    check(
        r#"{"command": "x", "url": "http://${A}/"}"#,
        "url: must be on this machine (127.0.0.1, [::1] or localhost), since the server has a `command`",
    );
    check(r#"{"url": "http://h", "headers": {"H": "${BAD}"}}"#, "headers.H: must not contain control characters");
    check(r#"{"type": "sse", "url": "http://h"}"#, "not supported yet: legacy SSE");
    check(
        r#"{"command": "x", "envFile": "/nowhere/at/all"}"#,
        "envFile: cannot read the file: No such file or directory (os error 2)",
    );
}

#[test]
fn ports_root_home_and_limits_arrive() {
    let spec = fill(&server(
        r#"{"command": "${home}/x", "args": ["${port}", "${port:http}", "${root}", "$", "$HOME"], "share": "session",
            "url": "http://localhost:${port:http}/mcp", "start": "eager", "results": {"maxBytes": 67108864}}"#,
    ))
    .unwrap();
    let process = process(&spec);
    assert_eq!(process.command, "/h/x");
    assert_eq!(process.args, ["4000", "4001", "/r", "$", "$HOME"]);
    assert_eq!((spec.eager, spec.max_message), (true, 134_217_728));
    let spec = fill(&server(r#"{"url": "${URL}", "cwd": "/x", "timeouts": {"callSeconds": 7}}"#)).unwrap();
    assert_eq!(spec.transport, Transport::Http { url: "http://127.0.0.1:5/mcp".into(), headers: Default::default() });
    assert_eq!((spec.call_timeout.as_secs(), spec.eager, spec.max_message), (7, false, 16_777_216));
    assert_eq!(process_of(r#"{"command": "x", "args": ["${EMPTY}", "${EMPTY:-d}"]}"#).args, ["", "d"]);
    assert_eq!(process_of(r#"{"command": "x"}"#).cwd, None);
}

fn process_of(entry: &str) -> Process {
    process(&fill(&server(entry)).unwrap()).clone()
}

#[test]
fn variables_of_a_file_give_way_to_those_of_the_entry() {
    let folder = tempfile::tempdir().unwrap();
    let file: PathBuf = folder.path().join("a.env");
    std::fs::write(&file, "T=file\nU='${A}'\n").unwrap();
    let entry = format!(r#"{{"command": "x", "envFile": {:?}, "env": {{"T": "entry"}}}}"#, file.to_str().unwrap());
    let env = process_of(&entry).env;
    assert_eq!((env["T"].as_str(), env["U"].as_str()), ("entry", "${A}"));
    std::fs::write(&file, "T=hunter2\nhunter2").unwrap();
    let problem = fill(&server(&entry)).unwrap_err().to_string();
    assert_eq!(problem, "envFile: line 2 has no `=`");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_of_variables_that_never_ends_is_not_waited_for() {
    let problem = fill(&server(r#"{"command": "x", "envFile": "/dev/zero"}"#)).unwrap_err().to_string();
    assert!(problem.contains("it is no regular file"), "{problem}");
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let entry = format!(r#"{{"command": "x", "envFile": {:?}}}"#, pipe.to_str().unwrap());
    let problem = fill(&server(&entry)).unwrap_err().to_string();
    assert!(problem.contains("it is no regular file"), "{problem}");
}

#[test]
fn a_template_in_debug_form_has_no_text() {
    let shown = format!("{:?}", server(r#"{"command": "x", "env": {"T": "hunter2 ${A}"}}"#));
    assert!(!shown.contains("hunter2") && shown.contains("Variable"), "{shown}");
}
