//! Changes of one entry: what is asked for, and no other byte.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::tests::loaded;
use super::*;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::fs;

fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn add(name: &str) -> Edit {
    Edit::Add { name: name.into(), entry: map(json!({"command": "n", "args": ["-y"]})) }
}

fn remove(name: &str) -> Edit {
    Edit::Remove { name: name.into() }
}

fn disable(name: &str) -> Edit {
    Edit::Disable { name: name.into() }
}

fn enable(name: &str) -> Edit {
    Edit::Enable { name: name.into() }
}

fn done(text: &str, change: &Edit) -> String {
    edit(Path::new("c.jsonc"), text, change).unwrap_or_else(|error| panic!("{text}: {error}")).text
}

const N: &str = r#""n": { "command": "n", "args": ["-y"] }"#;

#[test]
fn an_entry_is_added_in_the_manner_of_the_file() {
    let check = |text: &str, expect: &str| assert_eq!(done(text, &add("n")), expect.replace("N!", N));
    check("{}", "{\n  \"mcpServers\": {\n    N!\n  }\n}");
    check("{\"hub\": {}}", "{\"hub\": {}, \"mcpServers\": {\n  N!\n}}");
    check(
        "{\n\t\"hub\": {}, // the hub\n\t// end\n}\n",
        "{\n\t\"hub\": {}, // the hub\n\t// end\n\t\"mcpServers\": {\n\t\tN!\n\t},\n}\n",
    );
    check("{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}", "{\"mcpServers\": {\"a\": {\"command\": \"a\"}, N!}}");
    check(
        "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"} // about a\n    // \"b\": {}\n  }\n}",
        "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"}, // about a\n    // \"b\": {}\n    N!\n  }\n}",
    );
    check(
        "\u{feff}{\r\n    \"mcpServers\": {\r\n        \"a\": {\"command\": \"a\"},\r\n    },\r\n}",
        "\u{feff}{\r\n    \"mcpServers\": {\r\n        \"a\": {\"command\": \"a\"},\r\n        N!,\r\n    },\r\n}",
    );
    check("{\"mcpServers\": { /* none, // yet */ }}", "{\"mcpServers\": { /* none, // yet */\n  N!\n }}");
    check(
        "{\"mcpServers\": {\"a\": {\"command\": \"a//b\"} // }\n}}",
        "{\"mcpServers\": {\"a\": {\"command\": \"a//b\"}, // }\n  N!\n}}",
    );
}

#[test]
fn a_long_entry_is_spread_over_lines() {
    let long = "x".repeat(90);
    let entry = map(json!({"command": "n", "args": [long, long], "env": {"A": "1"}}));
    let text = done("{\n  \"mcpServers\": {}\n}", &Edit::Add { name: "n".into(), entry });
    let expect = format!(
        "{{\n  \"mcpServers\": {{\n    \"n\": {{\n      \"command\": \"n\",\n      \"args\": [\n        \"{long}\",\n        \
         \"{long}\"\n      ],\n      \"env\": {{ \"A\": \"1\" }}\n    }}\n  }}\n}}"
    );
    assert_eq!(text, expect);
}

#[test]
fn an_entry_is_taken_out_with_its_comma_and_its_line() {
    let check = |text: &str, name: &str, expect: &str| assert_eq!(done(text, &remove(name)), expect, "{text}");
    let three = "{\n  \"mcpServers\": {\n    // A\n    \"a\": {\"command\": \"a\"}, // a\n    \"b\": {\n      \"command\": \
                 \"b\"\n    },\n\n    \"c\": {\"command\": \"c\"} /* c */\n  }\n}";
    check(
        three,
        "a",
        "{\n  \"mcpServers\": {\n    // A\n    // a\n    \"b\": {\n      \"command\": \"b\"\n    },\n\n    \"c\": \
         {\"command\": \"c\"} /* c */\n  }\n}",
    );
    check(
        three,
        "b",
        "{\n  \"mcpServers\": {\n    // A\n    \"a\": {\"command\": \"a\"}, // a\n\n    \"c\": {\"command\": \"c\"} \
         /* c */\n  }\n}",
    );
    check(
        three,
        "c",
        "{\n  \"mcpServers\": {\n    // A\n    \"a\": {\"command\": \"a\"}, // a\n    \"b\": {\n      \"command\": \
         \"b\"\n    }\n\n    /* c */\n  }\n}",
    );
    let line = r#"{"mcpServers": { "a": {"url": "http://a"}, "b": {"url": "http://b"} }}"#;
    check(line, "a", r#"{"mcpServers": { "b": {"url": "http://b"} }}"#);
    check(line, "b", r#"{"mcpServers": { "a": {"url": "http://a"} }}"#);
    check("{\"mcpServers\": {\"a\": {\"url\": \"http://a\"}}}", "a", "{\"mcpServers\": {}}");
}

#[test]
fn an_entry_is_switched_by_the_key_it_has() {
    let check = |entry: &str, change: &Edit, expect: &str| {
        let text = |entry: &str| format!("{{\"mcpServers\": {{\"s\": {entry} /* s */}}}}");
        assert_eq!(done(&text(entry), change), text(expect), "{entry}");
    };
    check(r#"{"command": "x"}"#, &disable("s"), r#"{"command": "x", "disabled": true}"#);
    check("{\n\t\"command\": \"x\" // x\n}", &disable("s"), "{\n\t\"command\": \"x\", // x\n\t\"disabled\": true\n}");
    check(r#"{"disabled":false,"command": "x"}"#, &disable("s"), r#"{"disabled":true,"command": "x"}"#);
    check(r#"{"enabled": true, "command": "x"}"#, &disable("s"), r#"{"enabled": false, "command": "x"}"#);
    check(r#"{"command": "x", "disabled": true}"#, &enable("s"), r#"{"command": "x", "disabled": false}"#);
    check(r#"{"command": "x", "enabled": false}"#, &enable("s"), r#"{"command": "x", "enabled": true}"#);
    check(r#"{"command": "x"}"#, &enable("s"), r#"{"command": "x"}"#);
}

#[test]
fn on_any_doubt_nothing_is_done() {
    let check = |text: &str, change: &Edit, says: &str| {
        let refused = edit(Path::new("c.jsonc"), text, change).expect_err(text).to_string();
        assert!(refused.contains(says), "{text}: {refused}");
    };
    check("{\"mcpServers\": {", &add("n"), "c.jsonc:1:16: Unterminated object");
    check("", &add("n"), "the file is empty");
    check("[]", &add("n"), "must be an object");
    check("{\"mcpServers\": []}", &add("n"), "c.jsonc:1:2: mcpServers: must be an object");
    check("{\"mcpServers\": {}, \"mcpServers\": {}}", &add("n"), "duplicate key");
    check("{\"mcpServers\": {\"n\": {\"command\": \"x\"}}}", &add("n"), "there is a server named n already");
    check(
        "{\"mcpServers\": {\"n\": {\"command\": \"x\"}, \"n\": {\"command\": \"x\"}}}",
        &remove("n"),
        "duplicate key",
    );
    check(
        "{\"mcpServers\": {\"n\": {\"command\": \"x\", \"disabled\": true, \"disabled\": false}}}",
        &enable("n"),
        "duplicate key",
    );
    check("{}", &remove("n"), "there is no server named n");
    check("{}", &disable("n"), "there is no server named n");
    check("{\"mcpServers\": {\"n\": 1}}", &disable("n"), "must be an object");
    let wrong = Edit::Add { name: "n".into(), entry: map(json!({"comand": "x"})) };
    check("{}", &wrong, "mcpServers.n.comand: unknown key; did you mean `command`?");
}

#[test]
fn faults_elsewhere_do_not_stand_in_the_way() {
    let text = r#"{"mcpServers": {"bad": {"comand": "x"}}, "hub": {"port": -1}}"#;
    assert_eq!(done(text, &remove("bad")), r#"{"mcpServers": {}, "hub": {"port": -1}}"#);
    assert!(done(text, &add("n")).contains(N));
}

#[test]
fn warnings_are_those_of_the_entry() {
    let entry = map(json!({"command": "n", "env": {"T": "${secret:t}"}}));
    let text = r#"{"mcpServers": {"nn": {"command": "x", "trust": true}}}"#;
    let edited = edit(Path::new("c"), text, &Edit::Add { name: "n".into(), entry }).unwrap();
    let paths: Vec<&str> = edited.warnings.iter().map(|warning| warning.key_path.as_str()).collect();
    assert_eq!(paths, ["mcpServers.n.env.T"]);
}

/// Config files in all manners: line ends, indentation, comments, trailing commas, one line or many.
fn files() -> impl Strategy<Value = String> {
    let entry = (
        prop::sample::select(vec![
            "{\"command\": \"x\"}",
            "{ \"url\": \"http://h/a,b//c\" , }",
            "{\"command\": \"\\\"}\"}",
        ]),
        prop::sample::select(vec!["", " // same, line }", " /* same */"]),
        prop::sample::select(vec!["", "// above {", "/* a\n b */", "\n"]),
    );
    let manner = (prop::sample::select(vec!["\n", "\r\n"]), prop::sample::select(vec!["  ", "\t", "     ", ""]));
    (prop::collection::vec(entry, 1..4), manner, any::<[bool; 4]>()).prop_map(
        |(entries, (line_end, unit), [on_lines, trailing, mark, first])| {
            let count = entries.len();
            let mut servers = String::new();
            for (at, (entry, same, above)) in entries.into_iter().enumerate() {
                let comma = if at + 1 < count || trailing { "," } else { "" };
                if on_lines {
                    if !above.is_empty() {
                        servers.push_str(&format!("{unit}{unit}{above}\n"));
                    }
                    servers.push_str(&format!("{unit}{unit}\"s{at}\": {entry}{comma}{same}\n"));
                } else {
                    let same = if same.contains("//") { "" } else { same };
                    servers.push_str(&format!(" \"s{at}\": {entry}{same}{comma}"));
                }
            }
            let servers = if on_lines { format!("{{\n{servers}{unit}}}") } else { format!("{{{servers} }}") };
            let hub = format!("{unit}\"hub\": {{ \"port\": 1 }}");
            let servers = format!("{unit}\"mcpServers\": {servers}");
            let (one, two) = if first { (servers, hub) } else { (hub, servers) };
            let text = format!("// head\n{{\n{one},\n{two}\n}} // tail\n").replace('\n', line_end);
            if mark { format!("\u{feff}{text}") } else { text }
        },
    )
}

/// Whether `part` is left of `whole` when some bytes are taken out of `whole`.
fn is_within(part: &str, whole: &str) -> bool {
    let mut rest = whole.bytes();
    part.bytes().all(|byte| rest.any(|other| other == byte))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn adding_keeps_every_byte_and_removing_gives_the_file_back(text in files()) {
        let added = done(&text, &add("n"));
        prop_assert!(is_within(&text, &added), "{}", added);
        let extra = added.len() - text.len();
        prop_assert!(extra <= N.len() + 16, "{} bytes more:\n{}", extra, added);
        let config = loaded(&added).config;
        prop_assert_eq!(config.servers.keys().last().unwrap(), "n");
        prop_assert_eq!(done(&added, &remove("n")), text);
    }

    #[test]
    fn removing_takes_one_entry_and_keeps_every_comment(text in files(), at in 0..4_usize) {
        let before = loaded(&text).config;
        let name = format!("s{}", at % before.servers.len());
        let removed = done(&text, &remove(&name));
        prop_assert!(is_within(&removed, &text), "{}", removed);
        let mut expect = before;
        expect.servers.shift_remove(&name);
        prop_assert_eq!(loaded(&removed).config, expect);
        for comment in ["// head", "// same, line }", "/* same */", "// above {", "// tail"] {
            prop_assert_eq!(removed.matches(comment).count(), text.matches(comment).count(), "{}", removed);
        }
    }

    #[test]
    fn switching_off_and_on_changes_that_entry_only(text in files(), at in 0..4_usize) {
        let before = loaded(&text).config;
        let name = format!("s{}", at % before.servers.len());
        let off = done(&text, &disable(&name));
        prop_assert!(is_within(&text, &off), "{}", off);
        let mut expect = before.clone();
        expect.servers.get_mut(&name).unwrap().disabled = true;
        prop_assert_eq!(loaded(&off).config, expect);
        prop_assert_eq!(loaded(&done(&off, &enable(&name))).config, before);
    }
}

#[test]
fn a_file_is_changed_as_a_whole_through_links_and_keeps_its_mode() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("callgate.jsonc");
    apply(&file, &add("n")).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("// Settings of Callgate") && text.contains(N));
    assert_eq!(load(&file).unwrap().config.servers.len(), 1);
    assert!(matches!(apply(&file, &add("n")), Err(EditError::Exists(_))));
    fs::write(&file, "{").unwrap();
    assert!(matches!(apply(&file, &add("n")), Err(EditError::Wrong(_))));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{");
    let names: Vec<_> = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["callgate.jsonc"], "temporary files are left");
}

#[cfg(unix)]
#[test]
fn modes_and_links_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
    fs::create_dir(at("dotfiles")).unwrap();
    symlink("dotfiles/mine", at("link")).unwrap();
    apply(&at("link"), &add("n")).unwrap();
    assert_eq!(mode("dotfiles/mine"), 0o600, "a new file is private");
    fs::set_permissions(at("dotfiles/mine"), PermissionsExt::from_mode(0o640)).unwrap();
    apply(&at("link"), &disable("n")).unwrap();
    assert_eq!(mode("dotfiles/mine"), 0o640);
    assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
    assert!(load(&at("dotfiles/mine")).unwrap().config.servers["n"].disabled);
}

#[test]
fn a_first_start_writes_what_is_missing_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let own = |name: &str| (name == "CALLGATE_HOME").then(|| home.path().to_owned());
    let places = Places::of(Platform::Xdg, &own, None).unwrap();
    let first = || prepare(&places).and_then(|()| publish(&places)).unwrap();
    first();
    assert_eq!(fs::read_to_string(&places.config).unwrap(), STARTER);
    assert_eq!(fs::read_to_string(places.schema()).unwrap(), json_schema());
    fs::write(&places.config, "{").unwrap();
    fs::write(places.schema(), "old").unwrap();
    first();
    assert_eq!(fs::read_to_string(&places.config).unwrap(), "{");
    assert_eq!(fs::read_to_string(places.schema()).unwrap(), json_schema());
}
