//! How it looks: with and without a terminal, long, hostile, empty and many.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::screen::{Colour, Screen, Zone, columns};
use super::{config, logs, result, servers, status, tokens, tools};
use operator::visible::shows;
use operator::words::*;

const PIPE: Screen = Screen { width: None, colour: Colour::Never, now_ms: 1_700_000_600_000, zone: Zone::Utc };

fn terminal(width: usize) -> Screen {
    Screen { width: Some(width), ..PIPE }
}

fn server(name: &str, state: ServerState) -> Server {
    Server {
        name: name.into(),
        state,
        reason: None,
        transport: Transport::Stdio,
        pid: None,
        version: None,
        tools: 0,
        resources: 0,
        prompts: 0,
        since_ms: 1_700_000_000_000,
        next_try_ms: None,
        restarts: 0,
        launch_waits: false,
    }
}

fn some_servers() -> Vec<Server> {
    let long = "a-server-with-a-name-that-somebody-has-thought-about-for-a-long-time";
    let why = "exit code 127: sh: 1: shop-mcp: not found";
    vec![
        Server { tools: 12, resources: 3, ..server("files", ServerState::Ready) },
        Server {
            reason: Some(why.into()),
            next_try_ms: Some(1_700_000_608_000),
            restarts: 4,
            ..server("shop", ServerState::Failing)
        },
        Server { transport: Transport::HttpChild, ..server(long, ServerState::Installing) },
        server("old", ServerState::Disabled),
    ]
}

/// Everything that could fool whoever reads a card, in one text.
const HOSTILE: &str = "ok\u{1b}[2J\u{1b}]8;;http://evil\u{7}x\n\u{202e}gnp.\u{200b}\u{e0041}\u{9b}31m\r\u{2028}";

fn check_clean(text: &str) {
    for c in text.chars() {
        assert!(c == '\n' || shows(c), "{c:?} in {text}");
    }
}

fn check_width(text: &str, width: usize) {
    for line in text.lines() {
        assert!(columns(line) <= width, "{} > {width}: {line}", columns(line));
    }
}

#[test]
fn a_list_in_a_pipe_is_whole() {
    let expect = "\
NAME                                                                  STATE         TOOLS  RESOURCES  RESTARTS  OVER        NOTE
files                                                                 ● ready          12          3            stdio
shop                                                                  ✗ failing                              4  stdio       next try in 8 s: exit code 127: sh: 1: shop-mcp: not found
a-server-with-a-name-that-somebody-has-thought-about-for-a-long-time  ↓ installing                              http-child
old                                                                   – disabled                                stdio
";
    assert_eq!(servers::list(&some_servers(), &PIPE), expect);
}

#[test]
fn a_list_on_a_terminal_fits_it() {
    let expect = "\
NAME                         STATE         TOOLS  NOTE
files                        ● ready          12
shop                         ✗ failing            next try in 8 s: exit code…
a-server-with-a-name-that-…  ↓ installing
old                          – disabled
";
    assert_eq!(servers::list(&some_servers(), &terminal(77)), expect);
    for width in 40..200 {
        check_width(&servers::list(&some_servers(), &terminal(width)), width);
    }
}

#[test]
fn colour_is_only_where_it_is_wanted() {
    let colourful = Screen { colour: Colour::Ansi, ..terminal(100) };
    let shown = servers::list(&some_servers(), &colourful);
    assert!(shown.contains("\u{1b}[32m● ready\u{1b}[0m"), "{shown}");
    let plain = shown.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
    let plain: String = plain.collect();
    let expect = servers::list(&some_servers(), &terminal(100));
    assert_eq!(plain.replace(' ', ""), expect.replace(' ', ""));
    check_clean(&expect);
}

#[test]
fn nothing_of_a_server_acts_on_the_terminal() {
    let hostile =
        Server { reason: Some(HOSTILE.into()), version: Some(HOSTILE.into()), ..server(HOSTILE, ServerState::Ready) };
    let texts = || vec![HOSTILE.to_owned()];
    let detail = ServerDetail {
        resting: vec![],
        server: hostile.clone(),
        launch: texts(),
        env_names: texts(),
        program: Some(HOSTILE.into()),
        findings: texts(),
        noise_lines: 1,
        stray_answers: 1,
        running: 1,
        queued: 1,
        stderr_tail: texts(),
        log_file: Some(HOSTILE.into()),
    };
    let tool = Tool {
        name: HOSTILE.into(),
        server: HOSTILE.into(),
        own_name: HOSTILE.into(),
        description: Some(HOSTILE.into()),
        effect: Effect::Read,
        schema_hash: HOSTILE.into(),
        definition_hash: HOSTILE.into(),
        unusable: Some(HOSTILE.into()),
        partly_checked: Vec::new(),
    };
    let json = serde_json::json!({ HOSTILE: HOSTILE }).to_string();
    let definition = Raw::parse(&json).unwrap();
    let blocks = serde_json::json!({"content": [
        {"type": "text", "text": HOSTILE}, {"type": "image", "mimeType": HOSTILE, "data": ""},
        {"type": "resource_link", "uri": HOSTILE}, {"type": "resource", "resource": {"uri": HOSTILE}},
        {"type": "resource", "resource": {"uri": "x", "text": HOSTILE}}, {"type": HOSTILE},
    ]});
    let answer =
        |outcome, body: &serde_json::Value| CallResult { outcome, body: Raw::parse(&body.to_string()).unwrap() };
    let error = serde_json::json!({"code": HOSTILE, "message": HOSTILE});
    let refusal = serde_json::json!({"_meta": {"dev.callgate/outcome": {
        "error": HOSTILE, "message": HOSTILE, "call_id": HOSTILE,
        "details": [{"path": HOSTILE, "problem": HOSTILE, "allowed": [HOSTILE], "nearest": HOSTILE}]}}});
    let structure = serde_json::json!({"structuredContent": {HOSTILE: HOSTILE}});
    let host = Attached {
        name: HOSTILE.into(),
        unverified: true,
        transport: HOSTILE.into(),
        version: Some(HOSTILE.into()),
        since_ms: 0,
        calls: 1,
    };
    let hub = Status {
        resting: vec![],
        held: Default::default(),
        pin_locked_minutes: None,
        pid: 1,
        version: HOSTILE.into(),
        started_ms: 0,
        mcp_url: Some(HOSTILE.into()),
        http_problem: None,
        config_problems: texts(),
        servers: vec![hostile.clone()],
        hosts: vec![host],
        audit: HOSTILE.into(),
        relay: Relay { slow: 1, longest_us: 1, longest: Some(HOSTILE.into()) },
        unlooked: 1,
        waiting: Waiting::default(),
    };
    let problem = ConfigProblem {
        file: HOSTILE.into(),
        line: 1,
        column: 1,
        key: HOSTILE.into(),
        message: HOSTILE.into(),
        server: None,
    };
    let report =
        ConfigReport { file: HOSTILE.into(), servers: texts(), errors: vec![problem.clone()], warnings: vec![problem] };
    let change = ConfigChange {
        added: texts(),
        removed: texts(),
        changed: texts(),
        problems: texts(),
        warnings: texts(),
        next: texts(),
    };
    for screen in [PIPE, terminal(60)] {
        check_clean(&servers::list(std::slice::from_ref(&hostile), &screen));
        check_clean(&servers::acted(&hostile, &screen));
        check_clean(&servers::detail(&detail, &screen));
        check_clean(&servers::change(&change, &screen));
        check_clean(&status::status(&hub, &screen));
        check_clean(&tools::list(std::slice::from_ref(&tool), &screen));
        check_clean(&tools::detail(&ToolDetail { tool: tool.clone(), definition: definition.clone() }, &screen));
        check_clean(&result::result(&answer(CallOutcome::Done, &blocks), &screen));
        check_clean(&result::result(&answer(CallOutcome::Done, &structure), &screen));
        check_clean(&result::result(&answer(CallOutcome::RpcError, &error), &screen));
        check_clean(&tokens::list(&[Token { name: HOSTILE.into(), created_ms: 0 }], &screen));
        check_clean(&config::report(&report, &screen));
        let event = serde_json::json!({"timestamp": HOSTILE, "level": HOSTILE, "fields": {"message": HOSTILE, HOSTILE: HOSTILE}});
        for text in [HOSTILE.to_owned(), event.to_string()] {
            check_clean(&logs::server(&LogLine { text: text.clone() }));
            check_clean(&logs::hub(&LogLine { text }, &screen));
        }
        check_clean(&result::result(&answer(CallOutcome::ToolError, &refusal), &screen));
    }
    // A line feed in a name must not begin a line of its own, which could look like another server.
    assert_eq!(servers::list(&[hostile], &PIPE).lines().count(), 2);
}

#[test]
fn the_status_of_a_quiet_hub() {
    let hub = Status {
        resting: vec![],
        held: Default::default(),
        pin_locked_minutes: None,
        pid: 4711,
        version: "0.1.0".into(),
        started_ms: 1_700_000_000_000,
        mcp_url: Some("http://127.0.0.1:41234/mcp".into()),
        http_problem: None,
        config_problems: vec![],
        servers: vec![],
        hosts: vec![],
        audit: "ok".into(),
        relay: Relay::default(),
        unlooked: 0,
        waiting: Waiting::default(),
    };
    let expect = "\
● callgate 0.1.0 up 10 min · pid 4711
  http        http://127.0.0.1:41234/mcp
  audit       ok

Servers
  none yet; add one:  callgate server add NAME -- COMMAND ARGS…

Hosts
  none attached; point one at:  callgate stdio
";
    assert_eq!(status::status(&hub, &PIPE), expect);
    let host = Attached {
        name: "cursor".into(),
        unverified: true,
        transport: "stdio".into(),
        version: Some("2025-06-18".into()),
        since_ms: 1_700_000_560_000,
        calls: 7,
    };
    let busy = Status {
        resting: vec![],
        held: Default::default(),
        pin_locked_minutes: Some(12),
        mcp_url: None,
        http_problem: Some("port 7 is taken by sshd".into()),
        config_problems: vec!["callgate.jsonc:3:5: mcpServers.x: unknown key".into()],
        servers: vec![Server { tools: 3, ..server("files", ServerState::Ready) }],
        hosts: vec![host],
        relay: Relay { slow: 3, longest_us: 12_345, longest: Some("reload".into()) },
        unlooked: 2,
        waiting: Waiting { approvals: 3, unknown: 1, definitions: 2, paused_since_ms: Some(1_700_000_000_000) },
        ..hub
    };
    let expect = "\
● callgate 0.1.0 up 10 min · pid 4711
  http        refused: port 7 is taken by sshd
  audit       ok
  relay       3 slow turns, the longest 12.3 ms: reload
  unread      2 results not looked at for orders to the model: too long, or too many at once; callgate audit list --kind finding
  paused      all risky calls are held since 11-14 22:13:20; callgate resume
  waiting     3 calls for a person; callgate approval watch
  unknown     1 call may have run or not; callgate call list
  to review   2 definitions; callgate catalog diff
  PIN         locked for 12 more minutes after too many wrong tries; callgate audit list --kind person

The config on disk is not applied:
  callgate.jsonc:3:5: mcpServers.x: unknown key

Servers 1
  NAME   STATE    TOOLS  OVER
  files  ● ready      3  stdio

Hosts 1
  NAME                 OVER   VERSION     CALLS  SINCE
  cursor (unverified)  stdio  2025-06-18      7  40 s ago
";
    assert_eq!(status::status(&busy, &PIPE), expect);
}

#[test]
fn one_server_in_full() {
    let detail = ServerDetail {
        resting: vec![],
        server: Server {
            pid: Some(77),
            version: Some("2025-11-25".into()),
            tools: 1,
            restarts: 1,
            ..server("notes", ServerState::Ready)
        },
        launch: vec!["npx".into(), "-y".into(), "notes mcp".into(), String::new()],
        env_names: vec!["TOKEN".into(), "HOME".into()],
        program: Some("/usr/bin/npx".into()),
        findings: vec!["tool `a.b` is listed as `notes__a_b`".into()],
        noise_lines: 2,
        stray_answers: 0,
        running: 1,
        queued: 0,
        stderr_tail: vec!["listening".into()],
        log_file: Some("/home/u/logs/notes.log".into()),
    };
    let expect = "\
notes  ● ready  for 10 min
  launch      npx -y 'notes mcp' ''
  program     /usr/bin/npx
  over        stdio · 2025-11-25 · pid 77
  catalog     1 tool, 0 resources, 0 prompts
  calls       1 running, 0 waiting
  restarts    1
  variables   TOKEN HOME
  oddities    2 lines of noise on stdout
  log         /home/u/logs/notes.log

Findings
  tool `a.b` is listed as `notes__a_b`

Last words on stderr
  listening
";
    assert_eq!(servers::detail(&detail, &PIPE), expect);
    let far = Server { transport: Transport::Http, ..detail.server.clone() };
    let far = servers::detail(&ServerDetail { server: far, ..detail.clone() }, &PIPE);
    assert!(far.contains("2 messages that were none") && !far.contains("stdout") && !far.contains("stderr"), "{far}");
    let waits = Server { launch_waits: true, ..detail.server };
    let shown = servers::detail(&ServerDetail { server: waits.clone(), ..detail }, &PIPE);
    assert!(
        shown.contains("  waits       another launch of it, ") && shown.contains("callgate catalog diff"),
        "{shown}"
    );
    assert!(servers::list(&[waits], &PIPE).contains("another launch waits; callgate catalog diff"));
}

#[test]
fn a_failing_server_says_when_it_is_tried_again_and_why() {
    let why = "the server process ended before it answered `initialize`: exit code 1: Error: SHOP_TOKEN is not set";
    let mut detail = ServerDetail {
        resting: vec![],
        server: Server { reason: Some(why.into()), ..server("shop", ServerState::Failing) },
        launch: vec!["shop-mcp".into()],
        env_names: vec![],
        program: None,
        findings: vec![],
        noise_lines: 0,
        stray_answers: 0,
        running: 0,
        queued: 0,
        stderr_tail: vec![],
        log_file: None,
    };
    let shown = servers::detail(&detail, &terminal(60));
    let expect = "\
shop  ✗ failing  next try with the next call
  reason      the server process ended before it answered
              `initialize`: exit code 1: Error: SHOP_TOKEN
              is not set
  launch      shop-mcp
";
    assert!(shown.starts_with(expect), "{shown}");
    detail.server.next_try_ms = Some(1_700_000_640_000);
    assert!(servers::detail(&detail, &PIPE).starts_with("shop  ✗ failing  next try in 40 s\n"));
}

#[test]
fn empty_lists_say_what_to_do() {
    assert_eq!(servers::list(&[], &PIPE), "No servers yet. Add one:  callgate server add NAME -- COMMAND ARGS…\n");
    assert_eq!(tools::list(&[], &PIPE), "No tools. Servers and their states:  callgate server list\n");
    assert_eq!(tokens::list(&[], &PIPE), "No tokens but the default one. Make one:  callgate token add NAME\n");
    assert_eq!(servers::change(&ConfigChange::default(), &PIPE), "Nothing changed.\n");
}

#[test]
fn a_thousand_rows() {
    let many: Vec<Server> = (0..1000).map(|n| server(&format!("server-{n:04}"), ServerState::Stopped)).collect();
    let shown = servers::list(&many, &terminal(80));
    assert_eq!(shown.lines().count(), 1001);
    check_width(&shown, 80);
    assert!(shown.lines().skip(1).all(|line| line.ends_with("○ stopped  stdio")), "{shown:.200}");
}

#[test]
fn problems_of_the_config() {
    let problem = |line, key: &str, message: &str| ConfigProblem {
        file: "/c/callgate.jsonc".into(),
        line,
        column: 3,
        key: key.into(),
        message: message.into(),
        server: None,
    };
    let bad = ConfigReport {
        file: "/c/callgate.jsonc".into(),
        servers: vec![],
        errors: vec![
            problem(2, "mcpServers.a.argz", "unknown key; did you mean `args`?"),
            problem(0, "", "cannot be read"),
        ],
        warnings: vec![problem(9, "mcpServers.a.autoApprove", "never honoured")],
    };
    let expect = "\
/c/callgate.jsonc:2:3: error: mcpServers.a.argz: unknown key; did you mean `args`?
/c/callgate.jsonc: error: cannot be read
/c/callgate.jsonc:9:3: warning: mcpServers.a.autoApprove: never honoured
bad /c/callgate.jsonc: 2 errors
";
    assert_eq!(config::report(&bad, &PIPE), expect);
    let good = ConfigReport { file: "/c/x".into(), servers: vec!["a".into()], errors: vec![], warnings: vec![] };
    assert_eq!(config::report(&good, &PIPE), "ok /c/x: 1 server\n");
}
