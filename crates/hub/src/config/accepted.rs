//! What of a config a person, or the first load, has accepted: who may do what. A later config that loosens it is not
//! applied before a person has said so (rules.md 24); whoever can write the file is not yet that person.

use super::settings::{Config, PolicyConfig};
use contract::Hash;
use policy::{Effect, Fallback, RuleSource, Rulebook, Then};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The part of a config that decides what runs without a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// Rules, default, how long calls wait, who may decide.
    pub policy: PolicyConfig,
    /// The person's word about effects, by server and own tool name.
    pub effects: BTreeMap<String, BTreeMap<String, Effect>>,
}

impl Accepted {
    /// That of a config.
    pub fn of(config: &Config) -> Accepted {
        let effects = config.servers.iter().filter(|(_, server)| !server.effects.is_empty()).map(|(name, server)| {
            (name.clone(), server.effects.iter().map(|(tool, &effect)| (tool.clone(), effect)).collect())
        });
        Accepted { policy: config.policy.clone(), effects: effects.collect() }
    }
    /// Its text, for the store.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
    /// What [`Accepted::text`] wrote; None for anything else.
    pub fn parse(text: &str) -> Option<Accepted> {
        serde_json::from_str(text).ok()
    }
    /// Names exactly this one.
    pub fn hash(&self) -> Hash {
        Hash::of(self.text().as_bytes())
    }
    /// Its rules, ready to judge. They were checked when they were accepted; if they no longer compile, everything
    /// that is not forbidden asks.
    pub fn rulebook(&self) -> Option<Rulebook> {
        Rulebook::compile(self.policy.default, &self.policy.rules)
            .or_else(|_| Rulebook::compile(Fallback::Ask, &[]))
            .ok()
    }
    /// Puts this in place of what a config says.
    pub fn put_into(&self, config: &mut Config) {
        config.policy = self.policy.clone();
        for (name, server) in &mut config.servers {
            let effects = self.effects.get(name);
            server.effects = effects.into_iter().flatten().map(|(tool, &effect)| (tool.clone(), effect)).collect();
        }
    }

    /// How `new` would let more run without a person than this, each in a sentence; empty: it does not. `known` are
    /// the servers that were there before: what is said of a new one loosens nothing.
    pub fn loosened_by(&self, new: &Accepted, known: impl Fn(&str) -> bool) -> Vec<String> {
        let mut found = Vec::new();
        let (before, after) = (&self.policy, &new.policy);
        if strictness(after.default) < strictness(before.default) {
            found.push(format!("the default becomes `{}` instead of `{}`", word(after.default), word(before.default)));
        }
        let may_loosen = |rule: &&RuleSource| {
            rule.then == Then::Allow || (rule.then == Then::Ask && after.default == Fallback::Deny)
        };
        for rule in after.rules.iter().filter(|rule| !before.rules.contains(rule)).filter(may_loosen) {
            found.push(format!("the rule `{}` lets calls through", rule.name));
        }
        for rule in before.rules.iter().filter(|rule| !after.rules.contains(rule) && rule.then != Then::Allow) {
            found.push(format!("the rule `{}`, which asks or denies, goes or changes", rule.name));
        }
        if after.approval.from_host_tree && !before.approval.from_host_tree {
            found.push("processes of hosts and servers may decide like a person".into());
        }
        if after.approval.expire > before.approval.expire {
            found.push("approvals can be used for longer".into());
        }
        // 0: no number of denials is too many.
        let denials = |of: &PolicyConfig| match of.approval.denials_per_minute {
            0 => usize::MAX,
            some => some,
        };
        if denials(after) > denials(before) || after.approval.rest < before.approval.rest {
            found.push("a server whose calls are denied may ask more often".into());
        }
        for (server, effects) in new.effects.iter().filter(|(server, _)| known(server)) {
            let old = self.effects.get(server);
            for (tool, effect) in effects {
                // What was not said before was at most what a destructive tool may do.
                let was = old.and_then(|old| old.get(tool)).copied().unwrap_or(Effect::Destructive);
                if *effect < was {
                    found.push(format!("`{tool}` of `{server}` counts as `{}`", effect.as_str()));
                }
            }
        }
        for (server, effects) in self.effects.iter().filter(|(server, _)| known(server)) {
            for tool in
                effects.keys().filter(|tool| !new.effects.get(server).is_some_and(|new| new.contains_key(*tool)))
            {
                found.push(format!("what was said of `{tool}` of `{server}` goes"));
            }
        }
        found
    }
}

const fn strictness(default: Fallback) -> u8 {
    match default {
        Fallback::Allow => 0,
        Fallback::Auto => 1,
        Fallback::Ask => 2,
        Fallback::Deny => 3,
    }
}

const fn word(default: Fallback) -> &'static str {
    match default {
        Fallback::Allow => "allow",
        Fallback::Auto => "auto",
        Fallback::Ask => "ask",
        Fallback::Deny => "deny",
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::loaded;
    use super::*;

    fn check(before: &str, after: &str, expect: &[&str]) {
        let of = |policy: &str| {
            let server = r#""a": {"command": "a", "effects": EFFECTS}"#;
            let (policy, effects) = policy.split_once('|').unwrap_or((policy, "{}"));
            Accepted::of(
                &loaded(&format!(
                    r#"{{"mcpServers": {{{}}}, "policy": {policy}}}"#,
                    server.replace("EFFECTS", effects)
                ))
                .config,
            )
        };
        let (before, after) = (of(before), of(after));
        assert_eq!(Accepted::parse(&before.text()).as_ref(), Some(&before));
        let found = before.loosened_by(&after, |_| true);
        assert_eq!(found.len(), expect.len(), "{found:?}");
        for (found, expect) in found.iter().zip(expect) {
            assert!(found.contains(expect), "{found} lacks {expect}");
        }
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
    }
}
