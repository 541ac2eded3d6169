//! What the rules say about one call, and why. Made by a [`Rulebook`](crate::Rulebook) only, and never changed.

use crate::{Scope, Then, Tier, TierWhy};
use std::sync::Arc;

/// What decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// A rule that names it.
    Rule,
    /// A rule whose `when` could not be judged: what went wrong.
    Failed(Arc<str>),
    /// The tiers of `auto`.
    Tier(TierWhy),
    /// The `default` of the policy.
    Default,
    /// It would be allowed, but part of its schema can't be checked.
    PartlyChecked,
    /// The rules were replaced while the call was on its way.
    OtherRules,
}

/// What is to be done with one call. There is no way to make one but by rules, so that nothing is permitted without.
///
/// ```compile_fail
/// let allowed = policy::Judgement { then: policy::Then::Allow, ..todo!() };
/// ```
/// ```compile_fail
/// fn loosen(judgement: &mut policy::Judgement) {
///     judgement.then = policy::Then::Allow;
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub(crate) then: Then,
    pub(crate) tier: Tier,
    pub(crate) rule: Option<Arc<str>>,
    pub(crate) why: Why,
    pub(crate) reason: Option<Arc<str>>,
    pub(crate) most: Scope,
}

impl Judgement {
    /// What is to be done.
    pub fn then(&self) -> Then {
        self.then
    }
    /// Its tier; also where a rule decided.
    pub fn tier(&self) -> Tier {
        self.tier
    }
    /// The name of the deciding rule.
    pub fn rule(&self) -> Option<&Arc<str>> {
        self.rule.as_ref()
    }
    /// What decided.
    pub fn why(&self) -> &Why {
        &self.why
    }
    /// The deciding rule's own words for whoever is asked or refused.
    pub fn reason(&self) -> Option<&Arc<str>> {
        self.reason.as_ref()
    }
    /// The widest scope that an approval may be remembered for. Where a rule asks it is the session; where it asks
    /// because of the arguments it is this call.
    pub fn most(&self) -> Scope {
        self.most
    }
    /// What an approval is remembered for when the person says nothing about it.
    pub fn usual(&self) -> Scope {
        match self.why {
            Why::Tier(_) | Why::PartlyChecked if self.tier == Tier::Once => self.most,
            Why::Rule | Why::Failed(_) | Why::Tier(_) | Why::Default | Why::PartlyChecked | Why::OtherRules => {
                Scope::Once
            }
        }
    }
    /// The whole in one plain sentence without a full stop.
    pub fn sentence(&self) -> String {
        let rule = self.rule.as_deref().unwrap_or_default();
        match (&self.why, self.then) {
            (Why::Rule, Then::Allow) => format!("allowed by the rule `{rule}`"),
            (Why::Rule, Then::Ask) => format!("asks because of the rule `{rule}`"),
            (Why::Rule, Then::Deny) => format!("denied by the rule `{rule}`"),
            (Why::Failed(problem), Then::Deny) => {
                format!("denied because the rule `{rule}` denies and could not be judged: {problem}")
            }
            (Why::Failed(problem), Then::Allow | Then::Ask) => {
                format!("asks because the rule `{rule}` could not be judged: {problem}")
            }
            (Why::Tier(why), _) => match self.tier {
                Tier::Quiet => format!("allowed: {why}"),
                Tier::Once => format!("asks once per client and tool: {why}"),
                Tier::Each => format!("asks for every call: {why}"),
            },
            (Why::Default, Then::Allow) => "allowed: no rule decides, and the default is to allow".to_owned(),
            (Why::Default, Then::Ask) => "asks: no rule decides, and the default is to ask".to_owned(),
            (Why::Default, Then::Deny) => "denied: no rule decides, and the default is to deny".to_owned(),
            (Why::PartlyChecked, _) => "asks: part of its schema can't be checked".to_owned(),
            (Why::OtherRules, _) => "asks: the rules were changed while it was on its way".to_owned(),
        }
    }
}
