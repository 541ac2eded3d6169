//! What a reload touches.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::tests::{loaded, server};
use super::{Changes, Config, diff};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn only_what_differs_is_touched() {
    let check = |old: &str, new: &str, expect: Changes| {
        let servers = |entries: &str| loaded(&format!("{{\"mcpServers\": {{{entries}}}}}")).config;
        assert_eq!(diff(&servers(old), &servers(new)), expect, "{old} -> {new}");
    };
    let a = r#""a": {"command": "a"}"#;
    let b = r#""b": {"command": "b"}"#;
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    check(a, a, Changes::default());
    check(a, r#"/* moved */ "a": {"args": [], "command": "a"}"#, Changes::default());
    check(a, &format!("{b}, {a}"), Changes { added: names(&["b"]), ..Changes::default() });
    check(&format!("{a}, {b}"), b, Changes { removed: names(&["a"]), ..Changes::default() });
    check(&format!("{a}, {b}"), &format!("{b}, {a}"), Changes { reordered: true, ..Changes::default() });
    let relaunched = Changes { relaunched: names(&["a"]), ..Changes::default() };
    check(a, r#""a": {"command": "other"}"#, relaunched.clone());
    check(a, r#""a": {"command": "a", "env": {"A": "1"}}"#, relaunched.clone());
    check(a, r#""a": {"command": "a", "disabled": true}"#, relaunched.clone());
    check(a, r#""a": {"command": "a", "share": "host"}"#, relaunched);
    let adjusted = Changes { adjusted: names(&["a"]), ..Changes::default() };
    check(a, r#""a": {"command": "a", "timeouts": {"callSeconds": 5}}"#, adjusted.clone());
    check(a, r#""a": {"command": "a", "lanes": {"l": ["*"]}}"#, adjusted);
}

#[test]
fn settings_of_the_hub_are_told_apart() {
    let plain = Config::default();
    let hub = loaded(r#"{"hub": {"port": 5}}"#).config;
    assert_eq!(diff(&plain, &hub), Changes { hub: true, ..Changes::default() });
    let profiles = loaded(r#"{"profiles": {"a": {"tools": ["*"]}}}"#).config;
    assert_eq!(diff(&plain, &profiles), Changes { profiles: true, ..Changes::default() });
}

/// Configs over few names and few forms of a server, so that every kind of change is common.
fn configs() -> impl Strategy<Value = Config> {
    let forms = [
        r#"{"command": "a"}"#,
        r#"{"command": "a", "stateful": true}"#,
        r#"{"command": "b"}"#,
        r#"{"url": "http://h/"}"#,
    ]
    .map(server);
    let entry = (prop::sample::select(vec!["a", "b", "c", "d"]), 0..forms.len());
    prop::collection::vec(entry, 0..5).prop_map(move |entries| Config {
        servers: entries.into_iter().map(|(name, form)| (name.to_owned(), forms[form].clone())).collect(),
        ..Config::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_server_is_in_exactly_one_class(old in configs(), new in configs()) {
        let changes = diff(&old, &new);
        prop_assert_eq!(changes.is_empty(), old.servers.iter().eq(new.servers.iter()));
        let back = diff(&new, &old);
        prop_assert_eq!(set(&changes.added), set(&back.removed));
        prop_assert_eq!(set(&changes.relaunched), set(&back.relaunched));
        prop_assert_eq!(set(&changes.adjusted), set(&back.adjusted));
        prop_assert_eq!(changes.reordered, back.reordered);
        for name in old.servers.keys().chain(new.servers.keys()) {
            let classes = [&changes.added, &changes.removed, &changes.relaunched, &changes.adjusted];
            let touched = classes.iter().filter(|class| class.contains(name)).count();
            prop_assert_eq!(touched, usize::from(old.servers.get(name) != new.servers.get(name)), "{}", name);
        }
    }

    #[test]
    fn applying_the_changes_gives_the_new_config(old in configs(), new in configs()) {
        let changes = diff(&old, &new);
        let mut applied = old.servers.clone();
        applied.retain(|name, _| !changes.removed.contains(name));
        for name in [&changes.added, &changes.relaunched, &changes.adjusted].into_iter().flatten() {
            applied.insert(name.clone(), new.servers[name].clone());
        }
        prop_assert_eq!(applied, new.servers);
    }
}

fn set(names: &[String]) -> BTreeSet<&String> {
    names.iter().collect()
}
