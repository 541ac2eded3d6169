//! The config from text to settings and back to problems.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use std::path::PathBuf;

pub(super) const TWELVE: &str = include_str!("../../tests/config/twelve-mistakes.jsonc");
const SHAPE: &str = include_str!("../../../../docs/examples/callgate.jsonc");

pub(super) fn loaded(text: &str) -> Loaded {
    check_text(Path::new("c.jsonc"), text).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

fn problems(text: &str) -> Vec<Problem> {
    check_text(Path::new("c.jsonc"), text).expect_err("no problem found")
}

/// One server under the name `s`.
pub(crate) fn server(entry: &str) -> ServerConfig {
    loaded(&format!("{{\"mcpServers\": {{\"s\": {entry}}}}}")).config.servers["s"].clone()
}

#[test]
fn twelve_mistakes_are_listed_at_once_each_at_its_place() {
    let expect = [
        (3, 3, "mcpServer", "did you mean `mcpServers`?"),
        (6, 7, "mcpServers.files.comand", "did you mean `command`?"),
        (8, 22, "mcpServers.files.args[1]", "must be a text, not a number"),
        (8, 26, "mcpServers.files.args[2]", "unknown substitution"),
        (9, 37, "mcpServers.files.timeouts.startSeconds", "from 1 to 3600"),
        (9, 55, "mcpServers.files.timeouts.callSeconds", "must be a whole number, not a text"),
        (10, 16, "mcpServers.files.share", "must be `all`, `host` or `session`"),
        (12, 57, "mcpServers.shop.env.A", "duplicate key, first on line 12"),
        (13, 5, "mcpServers.empty", "needs a `command` or a `url`"),
        (14, 14, "mcpServers.\"ünï\".url", "must begin with `http://` or `https://`"),
        (14, 56, "mcpServers.\"ünï\".headers.Host", "set by the hub"),
        (15, 5, "mcpServers.files", "duplicate key, first on line 5"),
    ];
    let found = problems(TWELVE);
    let found: Vec<_> = found.iter().map(|p| (p.line, p.column, p.key_path.as_str(), p.message.as_str())).collect();
    assert_eq!(found.len(), expect.len(), "{found:#?}");
    for (found, expect) in found.iter().zip(expect) {
        assert_eq!((found.0, found.1, found.2), (expect.0, expect.1, expect.2), "{}", found.3);
        assert!(found.3.contains(expect.3), "{found:?} should say {:?}", expect.3);
    }
}

#[test]
fn one_mistake_says_where_and_what() {
    // `¶` marks the place.
    let check = |marked: &str, path: &str, says: &str| {
        let before = marked.split('¶').next().unwrap();
        let line = u32::try_from(before.lines().count().max(1)).unwrap();
        let column = before.lines().last().unwrap_or_default().trim_start_matches('\u{feff}').chars().count() + 1;
        let found = problems(&marked.replace('¶', ""));
        assert_eq!(found.len(), 1, "{marked}: {found:#?}");
        assert_eq!((found[0].line, found[0].column as usize), (line, column), "{marked}: {}", found[0]);
        assert_eq!(found[0].key_path, path, "{marked}");
        assert!(found[0].message.contains(says), "{marked}: {}", found[0]);
    };
    check("¶", "", "the file is empty");
    check("¶// only a comment\n", "", "the file is empty");
    check("¶[]", "", "must be an object, not a list");
    check("¶{\n  \"hub\": {\"http\": true\n}", "", "Unterminated object");
    check("{\n  \"hub\": {\"http\": ¶yes}}", "", "Unexpected");
    check("{¶'hub': {}}", "", "ingle-quoted");
    check("\u{feff}{¶\"hug\": {}}", "hug", "did you mean `hub`?");
    check("{¶\"servers\": {}}", "servers", "here the key is `mcpServers`");
    check("{¶\"context_servers\": {}}", "context_servers", "here the key is `mcpServers`");
    check("{¶\"command\": \"x\"}", "command", "inside `mcpServers`");
    check("{\"profiles\": {¶\"a/b\": {}}}", "profiles.\"a/b\"", "part of an address");
    check("{\"hub\": {\"port\": ¶65536}}", "hub.port", "from 0 to 65535");
    check("{\"policy\": {\"default\": ¶\"maybe\"}}", "policy.default", "auto");
    check("{\"policy\": {\"rules\": [¶{}]}}", "policy.rules[0]", "needs `then`");
    check(
        "{\"policy\": {\"rules\": [{\"tools\": [\"*\"], ¶\"when\": \"args.\", \"then\": \"ask\"}]}}",
        "policy.rules[0].when",
        "",
    );
    check("{\"policy\": {\"approval\": {\"holdSeconds\": ¶-1}}}", "policy.approval.holdSeconds", "from 0");
    check(
        r#"{"mcpServers": {"a.b": {¶"type": "stdio", "url": "http://h"}}}"#,
        r#"mcpServers."a.b".type"#,
        "needs a `command`",
    );
    check(r#"{"mcpServers": {¶"": {"command": "x"}}}"#, r#"mcpServers."""#, "needs a name");
    let entry = |marked: &str, path: &str, says: &str| {
        check(&format!("{{\n\"mcpServers\": {{\n\t\"a\": {marked}\n}}}}"), &format!("mcpServers.a.{path}"), says);
    };
    entry(r#"{"command": "x", ¶"callSeconds": 3}"#, "callSeconds", "belongs into `timeouts`");
    entry(r#"{"command": ¶null}"#, "command", "must be a text, not null");
    entry(r#"{"command": ¶""}"#, "command", "must not be empty");
    entry(r#"{¶"type": "http", "command": "x"}"#, "type", "needs a `url`");
    entry(r#"{"url": "http://h", ¶"httpUrl": "http://h"}"#, "httpUrl", "already, in `url`");
    entry(r#"{"command": "x", ¶"url": "http://example.com:${port}/"}"#, "url", "on this machine");
    entry(r#"{¶"url": "http://h:${port}/"}"#, "url", "no `command`");
    entry(r#"{"command": "x", "args": ["--token", ¶"${secret:t}"]}"#, "args[1]", "a secret cannot stand here");
    entry(r#"{"command": "x", "args": [¶"${root}"]}"#, "args[0]", "\"share\": \"session\"");
    entry(r#"{"command": "x", "args": ["äb ¶${unknown-form}"]}"#, "args[0]", "unknown substitution");
    entry(r#"{"command": "x", "args": [¶"\n${unknown-form}"]}"#, "args[0]", "unknown substitution");
    entry(r#"{"command": "x", "args": ["¶${userHome}/x"]}"#, "args[0]", "write `${home}`");
    entry(r#"{"command": "x", "env": {"T": "¶${input:token}"}}"#, "env.T", "`${secret:NAME}`");
    entry(r#"{"command": "x", "args": ["$$ $ ¶${A"]}"#, "args[0]", "without a closing");
    entry(r#"{"command": "x", "lanes": {"l": [¶"a["]}}"#, "lanes.l[0]", "pattern");
    entry(r#"{"command": "x", "env": {¶"A=B": ""}}"#, r#"env."A=B""#, "no variable");
    entry(r#"{"url": "http://h", "headers": {"X-A": "", ¶"x-a": ""}}"#, "headers.x-a", "duplicate header");
    entry(r#"{"command": "x", "idleStopSeconds": ¶1.5}"#, "idleStopSeconds", "whole number from 0 to 604800");
    entry(r#"{"command": "x", "disabled": true, ¶"enabled": true}"#, "enabled", "contradicts");
}

#[test]
fn a_message_never_quotes_a_value() {
    let text = r#"{"mcpServers": {"a": {"command": "x", "share": "hunter2", "env": {"T": "${hunter2!}", "U": ["hunter2"]},
        "args": ["${secret:a:-hunter2}", "${env:A:-${hunter2}}"], "timeout": "hunter2"},
        "b": {"url": "http://user:hunter2@h/", "headers": {"A": "${port:hunter2:-hunter2}"}}}}"#;
    let found = problems(text);
    assert_eq!(found.len(), 8, "{found:#?}");
    assert!(found.iter().all(|problem| !problem.to_string().contains("hunter2")), "{found:#?}");
}

#[test]
fn a_broad_config_is_read_in_the_order_of_the_file() {
    let loaded = loaded(SHAPE);
    let config = &loaded.config;
    let names: Vec<&str> = config.servers.keys().map(String::as_str).collect();
    assert_eq!(names, ["files", "shop", "github", "old", "notes"]);
    let transports: Vec<&str> = config.servers.values().map(|server| server.launch.transport()).collect();
    assert_eq!(transports, ["stdio", "http-child", "http", "sse", "stdio"]);
    let notes = &config.servers["notes"];
    assert_eq!(notes.lanes["orders"], ["place_*", "cancel_*"]);
    assert_eq!(notes.effects["lookup"], policy::Effect::Read);
    assert_eq!(config.profiles["small"].tools, ["files__*"]);
    assert_eq!((config.hub.port, config.hub.http, config.hub.audit.keep_days), (0, true, 90));
    assert!(loaded.warnings.iter().any(|warning| warning.key_path == "mcpServers.old.type"));
}

#[test]
fn what_is_left_out_has_its_default() {
    let plain = server(r#"{"command": "x"}"#);
    assert_eq!(plain.share, Share::All);
    assert_eq!(plain.start, Start::Lazy);
    assert_eq!(plain.idle_stop.unwrap().as_secs(), 300);
    assert_eq!((plain.start_timeout.as_secs(), plain.call_timeout.as_secs()), (30, 120));
    assert_eq!((plain.results.max_bytes, plain.results.check), (4_194_304, ResultCheck::Warn));
    assert_eq!((plain.replay_lost.as_secs(), plain.idempotency_argument.as_str()), (600, "idempotency_key"));
    assert_eq!((plain.disabled, plain.stateful, plain.port_owner), (false, false, PortOwner::Child));
    assert_eq!(server(r#"{"command": "x", "start": "eager"}"#).idle_stop, None);
    assert_eq!(server(r#"{"command": "x", "stateful": true}"#).idle_stop, None);
    assert_eq!(server(r#"{"command": "x", "idleStopSeconds": 0}"#).idle_stop, None);
    assert_eq!(server(r#"{"command": "x", "start": "eager", "idleStopSeconds": 9}"#).idle_stop.unwrap().as_secs(), 9);
}

#[test]
fn keys_of_other_hosts_are_mapped_or_told() {
    let check = |entry: &str, expect: &[(&str, &str)]| {
        let loaded = loaded(&format!("{{\"mcpServers\": {{\"s\": {entry}}}}}"));
        let told = |key: &str, says: &str| {
            let path = format!("mcpServers.s.{key}");
            loaded.warnings.iter().any(|warning| warning.key_path == path && warning.message.contains(says))
        };
        assert_eq!(loaded.warnings.len(), expect.len(), "{entry}: {:#?}", loaded.warnings);
        assert!(expect.iter().all(|(key, says)| told(key, says)), "{entry}: {:#?}", loaded.warnings);
        loaded.config.servers["s"].clone()
    };
    assert_eq!(check(r#"{"type": "streamableHttp", "url": "https://h/"}"#, &[]).launch.transport(), "http");
    assert_eq!(check(r#"{"serverUrl": "https://h/"}"#, &[]).launch.transport(), "http");
    assert_eq!(check(r#"{"httpUrl": "https://h/"}"#, &[]).launch.address().unwrap().url.source(), "https://h/");
    assert_eq!(check(r#"{"type": "local", "command": "x"}"#, &[]).launch.transport(), "stdio");
    assert!(check(r#"{"command": "x", "disabled": true}"#, &[]).disabled);
    assert!(check(r#"{"command": "x", "enabled": false}"#, &[]).disabled);
    assert_eq!(check(r#"{"command": "x", "timeout": 1500}"#, &[]).call_timeout.as_millis(), 1500);
    check(r#"{"command": "x", "timeout": 60}"#, &[("timeout", "milliseconds")]);
    check(r#"{"command": "x", "timeout": 6000, "timeouts": {"callSeconds": 5}}"#, &[("timeout", "ignored")]);
    check(
        r#"{"command": "x", "autoApprove": ["*"], "alwaysAllow": [1], "trust": true, "gallery": {"a": {}}}"#,
        &[("autoApprove", "never"), ("alwaysAllow", "never"), ("trust", "never"), ("gallery", "ignored")],
    );
    check(r#"{"url": "http://h", "args": [], "cwd": "/"}"#, &[("args", "no `command`"), ("cwd", "no `command`")]);
    check(r#"{"command": "x", "headers": {}}"#, &[("headers", "no `url`")]);
    check(r#"{"command": "~/x"}"#, &[("command", "${home}")]);
    check(r#"{"command": "x", "env": {"T": "${secret:t}"}}"#, &[("env.T", "not available yet")]);
    assert_eq!(
        check(r#"{"type": "sse", "url": "http://h"}"#, &[("type", "not supported yet")]).launch.transport(),
        "sse"
    );
}

#[test]
fn absent_unreadable_and_wrong_are_three_things() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("callgate.jsonc");
    assert!(matches!(load(&file), Err(ReadError::Absent(path)) if path == file));
    std::fs::create_dir(&file).unwrap();
    assert!(matches!(load(&file), Err(ReadError::Unreadable { .. })));
    std::fs::remove_dir(&file).unwrap();
    std::fs::write(&file, vec![b' '; 4 * 1024 * 1024 + 1]).unwrap();
    assert!(matches!(load(&file), Err(ReadError::Unreadable { .. })));
    std::fs::write(&file, "{").unwrap();
    assert!(matches!(load(&file), Err(ReadError::Wrong(problems)) if problems[0].file == file));
    std::fs::write(&file, "{}").unwrap();
    assert_eq!(load(&file).unwrap().config, Config::default());
}

#[test]
fn a_byte_that_is_not_utf8_is_a_problem_at_its_place() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("callgate.jsonc");
    let check = |bytes: &[u8], expect: &str| {
        std::fs::write(&file, bytes).unwrap();
        let error = load(&file).unwrap_err();
        assert!(matches!(&error, ReadError::Wrong(problems) if problems.len() == 1));
        assert_eq!(error.to_string(), format!("{}:{expect}", file.display()));
    };
    check(b"{\xff}", "1:2: not UTF-8: the byte 0xff cannot stand here");
    check(b"{\n \"\xc3\xa4\": \"\xe9\" }", "2:8: not UTF-8: the byte 0xe9 cannot stand here");
    check(b"\xef\xbb\xbf{} \xc3", "1:4: not UTF-8: the byte 0xc3 cannot stand here");
}

#[test]
fn a_deep_or_hostile_text_is_one_problem() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(problems(&deep).len(), 1);
    assert_eq!(problems("{\"a\": \"\\ud800\"}").len(), 1);
}

#[test]
fn problems_are_printed_like_a_compiler_does() {
    let problem = Problem {
        file: PathBuf::from("/x/c.jsonc"),
        line: 3,
        column: 7,
        key_path: "hub.port".into(),
        message: "must be".into(),
    };
    assert_eq!(problem.to_string(), "/x/c.jsonc:3:7: hub.port: must be");
}

#[test]
fn a_policy_is_read_with_its_rules() {
    let text = r#"{
  "policy": {
    "rules": [
      { "name": "no prod", "tools": ["*__deploy*"], "when": "args.env == 'prod'", "then": "deny", "reason": "ask" },
      { "tools": ["a__*"], "then": "allow" }
    ],
    "approval": { "holdSeconds": 10, "expireMinutes": 1 }
  },
  "hosts": { "cursor": { "holdSeconds": 180 } }
}"#;
    let config = loaded(text).config;
    let names: Vec<&str> = config.policy.rules.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(names, ["no prod", "rule 2"]);
    assert_eq!(config.policy.default, policy::Fallback::Auto);
    let approval = config.policy.approval;
    assert_eq!(
        (approval.hold.as_secs(), approval.hold_with_progress.as_secs(), approval.expire.as_secs()),
        (10, 45, 60)
    );
    assert_eq!(config.hosts["cursor"].hold.unwrap().as_secs(), 180);
}

#[test]
fn keys_that_look_alike_or_hide_something_are_warned_about() {
    let keys = ["github", "GitHub", "gith\u{57D}b", "gi\u{200B}t", "files"];
    let servers: Vec<String> = keys.iter().map(|key| format!("\"{key}\": {{\"command\": \"x\"}}")).collect();
    let loaded = loaded(&format!("{{\"mcpServers\": {{{}}}}}", servers.join(", ")));
    assert_eq!(loaded.config.servers.len(), keys.len(), "each is the person's own choice");
    let told: Vec<(&str, bool)> =
        loaded.warnings.iter().map(|it| (it.key_path.as_str(), it.message.contains("looks like github"))).collect();
    let odd = "mcpServers.\"gith\u{57D}b\"";
    assert_eq!(told[..3], [("mcpServers.GitHub", true), (odd, false), (odd, true)]);
    assert!(told.len() == 4 && loaded.warnings[3].message.contains("zero-width"), "{told:?}");
    assert!(loaded.warnings.iter().all(|it| it.column > 1), "at its place");
}
