//! What of a later config waits for a person, what holds at once, and what holds meanwhile.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::Accepted;
use crate::config::tests::loaded;
use serde_json::{Value, json};

/// What a config that says `after` where `before` was accepted has to wait with; what holds meanwhile is the same as
/// what `meanwhile` says, where that is given, and loosens nothing.
fn waits(before: &Value, after: &Value, expect: &[&str], meanwhile: Option<&Value>) {
    let of = |config: &Value| Accepted::of(&loaded(&config.to_string()).config);
    let (before, wanted) = (of(before), of(after));
    assert_eq!(Accepted::parse(&before.text()).as_ref(), Some(&before));
    let wanted = wanted.beside(&before);
    let found = before.loosened_by(&wanted);
    assert_eq!(found.len(), expect.len(), "{found:?}");
    for (found, expect) in found.iter().zip(expect) {
        assert!(found.contains(expect), "{found} lacks {expect}");
    }
    let holding = before.tightened_by(&wanted);
    assert_eq!(before.loosened_by(&holding), Vec::<String>::new(), "what holds meanwhile loosens nothing");
    assert_eq!(holding.loosened_by(&wanted).is_empty(), expect.is_empty(), "what waits goes on waiting");
    if let Some(meanwhile) = meanwhile {
        let mut config = loaded(&after.to_string()).config;
        holding.put_into(&mut config);
        let expect = loaded(&meanwhile.to_string()).config;
        assert_eq!((config.servers, config.policy, config.hub), (expect.servers, expect.policy, expect.hub));
    }
}

fn check(before: &str, after: &str, expect: &[&str]) {
    let of = |policy: &str| {
        let (policy, effects) = policy.split_once('|').unwrap_or((policy, "{}"));
        let [policy, effects] = [policy, effects].map(|text| serde_json::from_str::<Value>(text).unwrap());
        json!({ "mcpServers": { "a": { "command": "a", "effects": effects } }, "policy": policy })
    };
    waits(&of(before), &of(after), expect, None);
}

#[test]
fn what_lets_more_through_is_told() {
    check("{}", "{}", &[]);
    check("{}", r#"{"default": "ask"}"#, &[]);
    check(r#"{"default": "ask"}"#, "{}", &["`auto` instead of `ask`"]);
    let deny = r#"{"name": "d", "tools": ["*__x"], "then": "deny"}"#;
    let allow = r#"{"name": "a", "tools": ["*__y"], "then": "allow"}"#;
    let with = |rules: &[&str]| format!(r#"{{"rules": [{}]}}"#, rules.join(","));
    check("{}", &with(&[deny]), &[]);
    check(&with(&[deny]), "{}", &["`d`"]);
    check("{}", &with(&[allow]), &["`a` lets"]);
    check(&with(&[allow, deny]), &with(&[deny]), &[]);
    check(&with(&[deny, allow]), &with(&[allow, deny]), &[]);
    check("{}", r#"{"approval": {"fromHostTree": true}}"#, &["like a person"]);
    check("{}", r#"{"approval": {"expireMinutes": 30}}"#, &["longer"]);
    check("{}", r#"{"approval": {"expireMinutes": 5, "holdSeconds": 90}}"#, &[]);
    check("{}", r#"{"approval": {"denialsPerMinute": 0}}"#, &["more often"]);
    check("{}", r#"{"approval": {"restMinutes": 1}}"#, &["more often"]);
    check("{}", r#"{"approval": {"denialsPerMinute": 5, "restMinutes": 9}}"#, &[]);
    check("{}", r#"{}|{"t": "read"}"#, &["counts as `read`"]);
    check("{}", r#"{}|{"t": "destructive"}"#, &[]);
    check(r#"{}|{"t": "write"}"#, "{}", &["goes"]);
    check(r#"{}|{"t": "read"}"#, r#"{}|{"t": "write"}"#, &[]);
    check(r#"{}|{"t": "read"}"#, "{}", &[]);
}

fn servers(servers: &Value) -> Value {
    json!({ "mcpServers": servers })
}

#[test]
fn a_new_server_lowers_nothing_by_its_own_word() {
    let a = json!({ "command": "a", "effects": { "t": "read" } });
    let plain = |more: Value| {
        let mut entry = json!({ "command": "a" });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entry
    };
    let check = |new: Value, expect: &[&str], meanwhile: Value| {
        let of = |b: Value| servers(&json!({ "a": a, "b": b }));
        waits(&servers(&json!({ "a": a })), &of(plain(new)), expect, Some(&of(plain(meanwhile))));
    };
    check(json!({}), &[], json!({}));
    check(json!({ "effects": { "t": "read" } }), &["`t` of `b` counts as `read`"], json!({}));
    check(json!({ "effects": { "t": "write" } }), &["counts as `write`"], json!({}));
    let both = json!({ "effects": { "t": "read", "u": "destructive" }, "stateful": true });
    let meanwhile = json!({ "effects": { "u": "destructive" }, "stateful": true });
    // A program that keeps state is not stopped for being idle: that is read with the entry.
    check(both, &["counts as `read`"], meanwhile);
    check(json!({ "results": { "check": "off" } }), &["are not looked at"], json!({}));
    check(json!({ "results": { "check": "strict" } }), &[], json!({ "results": { "check": "strict" } }));
    check(json!({ "replayLostSeconds": 5 }), &["runs again sooner"], json!({}));
    check(json!({ "portOwner": "any" }), &["any process may answer for `b`"], json!({}));
    check(json!({ "idempotencyArgument": "k" }), &[], json!({ "idempotencyArgument": "k" }));
}

#[test]
fn what_a_known_server_loses_waits_and_what_it_gains_holds() {
    let of = |entry: Value| servers(&json!({ "a": entry }));
    let strict = json!({ "command": "a", "effects": { "t": "destructive" }, "results": { "check": "strict" },
        "replayLostSeconds": 900, "idempotencyArgument": "k", "stateful": true, "idleStopSeconds": 1 });
    let all = ["`t` of `a` goes", "started anew", "pass", "sooner", "may run twice"];
    waits(&of(strict.clone()), &of(json!({ "command": "a", "idleStopSeconds": 1 })), &all, Some(&of(strict.clone())));
    // Gone is not forgotten.
    let gone = servers(&json!({}));
    waits(&of(strict.clone()), &gone, &[], Some(&gone));
    let accepted = Accepted::of(&loaded(&of(strict).to_string()).config);
    let without = Accepted::of(&loaded(&gone.to_string()).config).beside(&accepted);
    let back = Accepted::of(&loaded(&of(json!({ "command": "a" })).to_string()).config);
    assert_eq!(without.loosened_by(&back).len(), all.len());
}

#[test]
fn the_log_is_not_shortened_by_an_edit() {
    let of = |audit: Value| json!({ "hub": { "audit": audit } });
    let check = |before: Value, after: Value, expect: &[&str], meanwhile: Value| {
        waits(&of(before), &of(after), expect, Some(&of(meanwhile)));
    };
    check(json!({}), json!({ "keepDays": 1 }), &["1 days instead of 90"], json!({}));
    check(
        json!({}),
        json!({ "keepDays": 900, "durability": "power" }),
        &[],
        json!({ "keepDays": 900, "durability": "power" }),
    );
    let all = json!({ "payloads": "all", "durability": "power" });
    let less = json!({ "payloads": "arguments", "keepDays": 91 });
    let meanwhile = json!({ "payloads": "all", "durability": "power", "keepDays": 91 });
    check(all, less, &["fewer values", "a loss of power"], meanwhile);
}

#[test]
fn what_tightens_beside_what_loosens_holds_at_once() {
    let rule = |name: &str, then: &str| json!({ "name": name, "tools": [format!("a__{name}")], "then": then });
    let policy = |default: &str, rules: &[Value], approval: Value| json!({ "policy": { "default": default, "rules": rules, "approval": approval } });
    let [d, a, e, b] = [rule("d", "deny"), rule("a", "allow"), rule("e", "deny"), rule("b", "allow")];
    let before = policy("ask", &[d.clone(), a.clone()], json!({ "expireMinutes": 10, "restMinutes": 9 }));
    let after = policy(
        "allow",
        &[e.clone(), b],
        json!({ "expireMinutes": 20, "restMinutes": 20, "denialsPerMinute": 0, "holdSeconds": 9 }),
    );
    let meanwhile = policy("ask", &[d, e], json!({ "expireMinutes": 10, "restMinutes": 20, "holdSeconds": 9 }));
    let expect = ["`allow` instead of `ask`", "`b` lets", "`d`", "longer", "more often"];
    waits(&before, &after, &expect, Some(&meanwhile));
    // Of two rules of one name the accepted one stays.
    let other = json!({ "name": "d", "tools": ["b__*"], "then": "deny" });
    let one = |rule: &Value| policy("ask", std::slice::from_ref(rule), json!({}));
    waits(&one(&rule("d", "deny")), &one(&other), &["`d`"], Some(&one(&rule("d", "deny"))));
}
