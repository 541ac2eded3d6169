//! Exposed names: legal, distinct, and the same whatever else there is.

use crate::names::{MAX_EXPOSED, Slug, is_tool_name, prefix_of};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};

fn exposed(server: &str, tool: &str) -> String {
    Slug::of(server).exposed(tool)
}

fn check(server: &str, tool: &str, expect: &str) {
    assert_eq!(exposed(server, tool), expect, "{server} {tool}");
}

/// A change of any of these renames tools under people's rules and in models' histories.
#[test]
fn golden() {
    check("files", "read_file", "files__read_file");
    check("GitHub", "create-issue", "GitHub__create-issue");
    check("a", "_b", "a___b");
    check("a", "b__c", "a__b__c");
    check("my server", "x", "my_server-b129874b__x");
    check("a__b", "x", "a_b-63e5c1c4__x");
    check("callgate", "status", "callgate-fdb39ca3__status");
    check("docs", "files.read", "docs__files_read__a8467a5409a0");
}

#[test]
fn what_cutting_would_merge_stays_apart() {
    let server = "acme_customer_relations_platform_production_eu_west";
    let (a, b) =
        (exposed(server, "list_contacts_by_region_and_owner"), exposed(server, "list_contacts_by_region_and_status"));
    assert_ne!(a, b);
    for name in [&a, &b] {
        assert!(name.len() <= MAX_EXPOSED && name.starts_with("acme_customer_relation"), "{name}");
        assert!(name.contains("__list_contacts"), "{name}");
    }
}

fn assert_apart(identities: &[(&str, &str)]) {
    let names: HashMap<_, _> =
        identities.iter().map(|&(server, tool)| (exposed(server, tool), (server, tool))).collect();
    assert_eq!(names.len(), identities.len(), "{names:?}");
    assert!(names.keys().all(|name| is_exposed(name)), "{names:?}");
}

fn is_exposed(name: &str) -> bool {
    (1..=MAX_EXPOSED).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

#[test]
fn look_alikes_and_split_places_stay_apart() {
    assert_apart(&[
        ("a", "b_c"),
        ("a_b", "c"),
        ("a__b", "c"),
        ("a", "b__c"),
        ("a_", "b_c"),
        ("_a", "b_c"),
        ("a", "_b_c"),
    ]);
    assert_apart(&[("github", "x"), ("GitHub", "x"), ("gith\u{57D}b", "x"), ("gith_b", "x"), ("gith\u{200B}b", "x")]);
    assert_apart(&[("", "x"), ("server", "x"), ("_", "x"), ("__", "x"), ("服务器", "x"), ("サーバー", "x")]);
    let (long, other) = ("x".repeat(80), format!("{}y", "x".repeat(79)));
    assert_apart(&[
        ("s", &long),
        ("s", &other),
        ("s", &long[..64]),
        ("s", "a.b"),
        ("s", "a_b"),
        ("s", "a-b"),
        ("s", ""),
    ]);
}

/// Nobody can name a tool, or a server, so that it takes the name that another one's tail gives it.
#[test]
fn a_made_up_tail_gets_a_tail() {
    let tailed = exposed("s", "a.b");
    let forged = tailed.strip_prefix("s__").unwrap();
    assert_apart(&[("s", "a.b"), ("s", forged), ("s", "0123456789ab")]);
    let slug = Slug::of("my server");
    assert_ne!(Slug::of(slug.as_str()), slug);
}

#[test]
fn the_hubs_own_prefix_is_nobodys() {
    for key in ["callgate", "Callgate", "CALLGATE", "callgate_", "_callgate", "c\u{430}llgate", "callgate__x"] {
        assert!(!Slug::of(key).as_str().eq_ignore_ascii_case("callgate"), "{key}");
        assert!(!exposed(key, "x").to_lowercase().starts_with("callgate__"), "{key}");
    }
}

#[test]
fn own_names_keep_to_the_protocol() {
    for name in ["a", "A.b-c_9", &"x".repeat(128)] {
        assert!(is_tool_name(name), "{name}");
    }
    for name in ["", "a b", "a/b", "naïve", "a\u{200B}", "a\n", &"x".repeat(129)] {
        assert!(!is_tool_name(name), "{name:?}");
    }
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c_-]{0,6}", "[a-zA-Z0-9_.-]{1,80}", any::<String>(), "[a-b]{1,3}-[0-9a-f]{8}", "(?i)callgate_?"]
}

fn tool() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c_]{1,6}", "[a-zA-Z0-9_.-]{1,128}", "[a-b]{1,3}__[0-9a-f]{12}", "x{50,128}y?"]
}

proptest! {
    #[test]
    fn names_are_legal_distinct_and_tell_their_server(
        identities in prop::collection::btree_set((key(), tool()), 1..40)
    ) {
        let mut names = BTreeMap::new();
        for (server, tool) in &identities {
            let slug = Slug::of(server);
            let name = slug.exposed(tool);
            prop_assert!(is_exposed(&name), "{name}");
            prop_assert_eq!(prefix_of(&name), Some(slug.as_str()));
            prop_assert!(!slug.as_str().contains("__"));
            prop_assert_eq!(names.insert(name, (server, tool)), None);
        }
        // Another order of connecting: the same names.
        for (server, tool) in identities.iter().rev() {
            prop_assert_eq!(names[&exposed(server, tool)], (server, tool));
        }
    }
}
