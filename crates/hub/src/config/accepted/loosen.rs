//! How a config differs from what was accepted: what of it lets more through, each in a sentence, and what holds until a
//! person has said something to that: of each key the stricter one.

use super::{Accepted, Treatment};
use crate::config::keys::{Audit, Durability, Payloads, PortOwner, ResultCheck};
use crate::config::settings::PolicyConfig;
use policy::{Effect, Fallback, RuleSource, Rulebook, Then};
use std::collections::{BTreeMap, BTreeSet};

type Effects = BTreeMap<String, Effect>;

impl Accepted {
    /// How `new` would let more run without a person than this, or leave less to be seen, each in a sentence; empty: it
    /// does not. A server that is new is compared with one of which nothing is said.
    pub fn loosened_by(&self, new: &Accepted) -> Vec<String> {
        let mut found = by_policy(&self.policy, &new.policy);
        for (server, treatment) in &new.treated {
            let (none, plain) = (Effects::new(), Treatment::default());
            let old = self.effects.get(server).unwrap_or(&none);
            by_effects(server, old, new.effects.get(server).unwrap_or(&none), &mut found);
            let before = self.treated.get(server);
            by_treatment(server, before.unwrap_or(&plain), treatment, &mut found);
            if let Some(before) = before.filter(|before| before.key != treatment.key) {
                let (old, new) = (&before.key, &treatment.key);
                found.push(format!("calls of `{server}` with `{old}` may run twice: their key is `{new}`"));
            }
        }
        by_audit(&self.audit, &new.audit, &mut found);
        found
    }

    /// What holds while `new` waits for a person: of each key the stricter one.
    pub fn tightened_by(&self, new: &Accepted) -> Accepted {
        let mut effects = self.effects.clone();
        let mut treated = self.treated.clone();
        let none = Effects::new();
        for (server, treatment) in &new.treated {
            let old = self.effects.get(server).unwrap_or(&none);
            let stricter = stricter_effects(old, new.effects.get(server).unwrap_or(&none));
            match stricter.is_empty() {
                true => effects.remove(server),
                false => effects.insert(server.clone(), stricter),
            };
            let before = self.treated.get(server);
            let key = before.map_or(&treatment.key, |before| &before.key).clone();
            let before = before.cloned().unwrap_or_default();
            let stricter = Treatment {
                stateful: before.stateful || treatment.stateful,
                check: [before.check, treatment.check]
                    .into_iter()
                    .max_by_key(|&check| checks(check))
                    .unwrap_or(before.check),
                replay_lost: before.replay_lost.max(treatment.replay_lost),
                key,
                port_owner: match before.port_owner {
                    PortOwner::Child => PortOwner::Child,
                    PortOwner::Any => treatment.port_owner,
                },
            };
            treated.insert(server.clone(), stricter);
        }
        Accepted {
            policy: stricter_policy(&self.policy, &new.policy),
            effects,
            treated,
            audit: stricter_audit(&self.audit, &new.audit),
        }
    }

    /// The same, and what this says of servers that are not in it: their entries may come back.
    pub fn beside(mut self, before: &Accepted) -> Accepted {
        for (server, treatment) in &before.treated {
            let effects = before.effects.get(server);
            if self.treated.contains_key(server) || (effects.is_none() && *treatment == Treatment::default()) {
                continue;
            }
            self.treated.insert(server.clone(), treatment.clone());
            if let Some(effects) = effects {
                self.effects.insert(server.clone(), effects.clone());
            }
        }
        self
    }

    /// The keys in which this differs from what was accepted before, as far as that was anything.
    pub fn parts_since(&self, before: &Accepted) -> Vec<String> {
        let mut parts = Vec::new();
        let mut say = |differs: bool, what: &str| parts.extend(differs.then(|| what.to_owned()));
        say(self.policy.default != before.policy.default, "policy.default");
        say(self.policy.rules != before.policy.rules, "policy.rules");
        say(self.policy.approval != before.policy.approval, "policy.approval");
        say(self.audit != before.audit, "hub.audit");
        let known: BTreeSet<&String> = self.treated.keys().chain(before.treated.keys()).collect();
        for server in known {
            say(self.effects.get(server) != before.effects.get(server), &format!("effects of `{server}`"));
            let plain = Treatment::default();
            let of = |of: &Accepted| of.treated.get(server).unwrap_or(&plain).clone();
            say(of(self) != of(before), &format!("treatment of `{server}`"));
        }
        parts
    }
}

fn by_policy(before: &PolicyConfig, after: &PolicyConfig) -> Vec<String> {
    let mut found = Vec::new();
    if strictness(after.default) < strictness(before.default) {
        found.push(format!("the default becomes `{}` instead of `{}`", word(after.default), word(before.default)));
    }
    for rule in after.rules.iter().filter(|rule| !before.rules.contains(rule) && loosens(rule, after.default)) {
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
    if denials(after) > denials(before) || after.approval.rest < before.approval.rest {
        found.push("a server whose calls are denied may ask more often".into());
    }
    found
}

fn stricter_policy(before: &PolicyConfig, after: &PolicyConfig) -> PolicyConfig {
    let default = match strictness(after.default) < strictness(before.default) {
        true => before.default,
        false => after.default,
    };
    let stays = |rule: &&RuleSource| rule.then != Then::Allow || after.rules.contains(rule);
    let mut rules: Vec<RuleSource> = before.rules.iter().filter(stays).cloned().collect();
    for rule in after.rules.iter().filter(|rule| !before.rules.contains(rule) && !loosens(rule, default)) {
        if rules.iter().all(|other| other.name != rule.name) {
            rules.push(rule.clone());
        }
    }
    // Together they may be more than a policy can hold.
    if Rulebook::compile(default, &rules).is_err() {
        rules.clone_from(&before.rules);
    }
    let mut approval = after.approval;
    approval.expire = approval.expire.min(before.approval.expire);
    approval.from_host_tree &= before.approval.from_host_tree;
    if denials(after) > denials(before) {
        approval.denials_per_minute = before.approval.denials_per_minute;
    }
    approval.rest = approval.rest.max(before.approval.rest);
    PolicyConfig { default, rules, approval }
}

/// Whether a rule that was not there lets something through that did not run before.
fn loosens(rule: &RuleSource, default: Fallback) -> bool {
    rule.then == Then::Allow || (rule.then == Then::Ask && default == Fallback::Deny)
}

/// 0: no number of denials is too many.
fn denials(of: &PolicyConfig) -> usize {
    match of.approval.denials_per_minute {
        0 => usize::MAX,
        some => some,
    }
}

fn by_effects(server: &str, old: &Effects, new: &Effects, found: &mut Vec<String>) {
    for (tool, effect) in new {
        // What was not said before was at most what a destructive tool may do.
        if *effect < old.get(tool).copied().unwrap_or(Effect::Destructive) {
            found.push(format!("`{tool}` of `{server}` counts as `{}`", effect.as_str()));
        }
    }
    // That it only reads is nothing that a tool could lose by.
    for tool in old.iter().filter(|(tool, was)| **was > Effect::Read && !new.contains_key(*tool)).map(|(tool, _)| tool)
    {
        found.push(format!("what was said of `{tool}` of `{server}` goes"));
    }
}

fn stricter_effects(old: &Effects, new: &Effects) -> Effects {
    let mut stricter = old.clone();
    stricter.retain(|tool, was| *was > Effect::Read || new.contains_key(tool));
    for (tool, &effect) in new {
        match stricter.get(tool) {
            Some(&was) => drop(stricter.insert(tool.clone(), was.max(effect))),
            None if effect == Effect::Destructive => drop(stricter.insert(tool.clone(), effect)),
            None => {}
        }
    }
    stricter
}

fn by_treatment(server: &str, before: &Treatment, after: &Treatment, found: &mut Vec<String>) {
    if before.stateful && !after.stateful {
        found.push(format!("what was approved of `{server}` holds on when its process is started anew"));
    }
    if checks(after.check) < checks(before.check) {
        let what = if after.check == ResultCheck::Off { "are not looked at" } else { "pass" };
        found.push(format!("results of `{server}` that break their schema {what}"));
    }
    if (before.port_owner, after.port_owner) == (PortOwner::Child, PortOwner::Any) {
        found.push(format!("any process may answer for `{server}` on its port"));
    }
    if after.replay_lost < before.replay_lost {
        found.push(format!("a call of `{server}` whose reply was lost runs again sooner"));
    }
}

fn by_audit(before: &Audit, after: &Audit, found: &mut Vec<String>) {
    if after.keep_days < before.keep_days {
        let (after, before) = (after.keep_days, before.keep_days);
        found.push(format!("the log is kept for {after} days instead of {before}: what is older is erased"));
    }
    if keeps(after.payloads) < keeps(before.payloads) {
        found.push("fewer values of calls are kept".into());
    }
    if after.durability == Durability::System && before.durability == Durability::Power {
        found.push("a loss of power may take what the log told last".into());
    }
}

fn stricter_audit(before: &Audit, after: &Audit) -> Audit {
    Audit {
        payloads: if keeps(after.payloads) < keeps(before.payloads) { before.payloads } else { after.payloads },
        keep_days: after.keep_days.max(before.keep_days),
        durability: if before.durability == Durability::Power { before.durability } else { after.durability },
    }
}

const fn checks(check: ResultCheck) -> u8 {
    match check {
        ResultCheck::Off => 0,
        ResultCheck::Warn => 1,
        ResultCheck::Strict => 2,
    }
}

const fn keeps(payloads: Payloads) -> u8 {
    match payloads {
        Payloads::None => 0,
        Payloads::Arguments => 1,
        Payloads::All => 2,
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
