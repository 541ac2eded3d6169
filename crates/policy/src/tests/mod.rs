//! Tests of this crate, by what they are about.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod calls;
mod docs;
mod effects;
mod findings;
mod model;
mod permits;
mod rules;
mod tiers;
mod when;
mod world;

use crate::{Effect, Fallback, Hints, Profile, RuleSource, Rulebook, Target, Then};

/// A tool of the server `shop` without hints.
fn tool<'a>(name: &'a str) -> Profile<'a> {
    let own = name.split_once("__").map_or(name, |(_, own)| own);
    Profile::bare(Target::Tool, name, own, "shop", Effect::of(own, Hints::default()))
}

/// A rule over tools.
fn rule(name: &str, tools: &[&str], when: Option<&str>, then: Then) -> RuleSource {
    RuleSource {
        name: name.to_owned(),
        tools: tools.iter().map(|&tool| tool.to_owned()).collect(),
        prompts: Vec::new(),
        resources: Vec::new(),
        when: when.map(str::to_owned),
        then,
        reason: None,
    }
}

fn book(default: Fallback, rules: &[RuleSource]) -> Rulebook {
    Rulebook::compile(default, rules).unwrap()
}
