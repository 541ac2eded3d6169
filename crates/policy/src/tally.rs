//! Which rules hold for one call, and what follows: deny beats ask beats allow, the first rule of the strongest kind
//! is named, and a rule that can't be judged asks, or denies where it is one that denies (docs/policy.md).

use crate::rule::Rule;
use crate::{Fallback, Judgement, Scope, Then, Tier, TierWhy, Why};
use std::sync::Arc;

/// The rules that decide, by what they decide.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    deny: Option<Hit>,
    ask: Option<Hit>,
    allow: Option<Hit>,
    /// How far an approval may be remembered, by all that ask.
    most: Scope,
}

/// A rule that holds, or could not be judged.
#[derive(Clone, Debug)]
struct Hit {
    rule: usize,
    failed: Option<Arc<str>>,
}

/// What is known of a thing before its calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rank {
    pub(crate) tier: Tier,
    pub(crate) why: TierWhy,
    pub(crate) partly_checked: bool,
}

impl Tally {
    pub(crate) fn new() -> Tally {
        Tally { deny: None, ask: None, allow: None, most: Scope::Tool }
    }

    /// Adds a rule that holds, or with what went wrong one that could not be judged.
    pub(crate) fn add(&mut self, at: usize, rule: &Rule, failed: Option<String>) {
        let place = match (rule.then, &failed) {
            (Then::Deny, _) => &mut self.deny,
            (Then::Ask, _) | (Then::Allow, Some(_)) => {
                // A rule that asks is stricter than a tier: what was remembered for good before it was written must
                // not answer it. And what was approved for these arguments says nothing about others.
                let by_args = rule.when.as_ref().is_some_and(|when| when.reads().args);
                self.most = self.most.min(if by_args { Scope::Once } else { Scope::Session });
                &mut self.ask
            }
            (Then::Allow, None) => &mut self.allow,
        };
        if place.is_none() {
            *place = Some(Hit { rule: at, failed: failed.map(Arc::from) });
        }
    }

    /// Whether nothing that is added changes what follows.
    pub(crate) fn is_denied(&self) -> bool {
        self.deny.is_some()
    }

    /// What follows.
    pub(crate) fn judgement(&self, rules: &[Rule], default: Fallback, rank: Rank) -> Judgement {
        let Rank { tier, why, partly_checked } = rank;
        let strongest = [(Then::Deny, &self.deny), (Then::Ask, &self.ask), (Then::Allow, &self.allow)];
        let decided = strongest.into_iter().find_map(|(then, hit)| Some((then, hit.as_ref()?)));
        let (then, rule, why) = match decided {
            Some((then, hit)) => (then, Some(&rules[hit.rule]), hit.failed.clone().map_or(Why::Rule, Why::Failed)),
            None => match default {
                Fallback::Auto if tier == Tier::Quiet => (Then::Allow, None, Why::Tier(why)),
                Fallback::Auto => (Then::Ask, None, Why::Tier(why)),
                Fallback::Allow => (Then::Allow, None, Why::Default),
                Fallback::Ask => (Then::Ask, None, Why::Default),
                Fallback::Deny => (Then::Deny, None, Why::Default),
            },
        };
        let reason = rule.and_then(|rule| rule.reason.clone());
        let rule = rule.map(|rule| Arc::clone(&rule.name));
        match then {
            // What can't be checked wholly is asked about at least (docs/policy.md).
            Then::Allow if partly_checked => {
                let tier = tier.max(Tier::Once);
                Judgement { then: Then::Ask, tier, rule, why: Why::PartlyChecked, reason, most: tier.most() }
            }
            Then::Allow | Then::Ask => Judgement { then, tier, rule, why, reason, most: self.most.min(tier.most()) },
            Then::Deny => Judgement { then, tier, rule, why, reason, most: Scope::Once },
        }
    }
}
