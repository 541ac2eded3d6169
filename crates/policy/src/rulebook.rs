//! The rules of a config, ready to judge by: deny beats ask beats allow, and what can't be judged is never allowed.

use crate::rule::{self, Patterns, Rule};
use crate::{Effect, Fallback, Hints, Judgement, RuleFault, RuleSource, Scope, Target, Then, Tier, TierWhy, Why, tier};
use contract::Hash;
use std::sync::Arc;

/// Compiled rules with their default. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Rulebook(pub(crate) Arc<Book>);

#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) default: Fallback,
    pub(crate) rules: Vec<Rule>,
    pub(crate) tools: Patterns,
    pub(crate) prompts: Patterns,
    pub(crate) resources: Patterns,
    version: Hash,
}

/// What the rules may know of something that a client can ask for.
#[derive(Clone, Copy, Debug)]
pub struct Profile<'a> {
    /// What kind of thing it is.
    pub target: Target,
    /// Its exposed name, which patterns are compared with: `SERVER__TOOL`, a prompt's the same, a resource's URI.
    pub name: &'a str,
    /// The server's own name for it: `tool` in conditions.
    pub own: &'a str,
    /// The server's key in the config.
    pub server: &'a str,
    /// Its class as it is after pinning ([`Effect::held_to`]) and the person's word.
    pub effect: Effect,
    /// Its hints as the server gives them now.
    pub hints: Hints,
    /// `openWorldHint`
    pub open_world: Option<bool>,
    /// The person's word (`effects` of the config).
    pub tag: Option<Effect>,
    /// The scan found something in its definition.
    pub flagged: bool,
    /// A part of its schema was skipped because it can't be checked in bounded time.
    pub partly_checked: bool,
    /// It takes an argument that is a URL.
    pub takes_url: bool,
    /// Names of its arguments; empty where they are not known.
    pub arguments: &'a [Box<str>],
    /// `annotations` of its definition as JSON, or nothing.
    pub annotations: &'a [u8],
}

/// What a call adds to what is known of the tool.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The client's name.
    pub host: &'a str,
    /// The arguments as they would be sent: a JSON object.
    pub arguments: &'a [u8],
}

/// What one book says about one thing before any call of it, so that a call costs little. It goes with that book.
#[derive(Clone, Debug)]
pub struct Standing {
    book: Arc<Book>,
    why: TierWhy,
    /// What holds where no condition is true.
    base: Judgement,
    /// The rules that have a condition, in order.
    conditional: Box<[usize]>,
}

impl Rulebook {
    /// Reads rules.
    ///
    /// # Errors
    /// Everything that is wrong with them, in their order.
    pub fn compile(default: Fallback, rules: &[RuleSource]) -> Result<Rulebook, Vec<RuleFault>> {
        let mut faults = Vec::new();
        let compiled = rule::rules(rules, &mut faults);
        let tools = rule::patterns(rules, "tools", |rule| &rule.tools, &mut faults);
        let prompts = rule::patterns(rules, "prompts", |rule| &rule.prompts, &mut faults);
        let resources = rule::patterns(rules, "resources", |rule| &rule.resources, &mut faults);
        if !faults.is_empty() {
            faults.sort_by_key(|fault| fault.rule);
            return Err(faults);
        }
        let version = version(default, rules);
        Ok(Rulebook(Arc::new(Book { default, rules: compiled, tools, prompts, resources, version })))
    }

    /// `{"default": "allow"}`
    pub fn allow_all() -> Rulebook {
        let none = Patterns::default;
        let (default, version) = (Fallback::Allow, version(Fallback::Allow, &[]));
        let book = Book { default, rules: Vec::new(), tools: none(), prompts: none(), resources: none(), version };
        Rulebook(Arc::new(book))
    }

    /// Over the canonical JSON of the default and the rules.
    pub fn version(&self) -> Hash {
        self.0.version
    }

    /// What these rules say of something; to be asked for once per entry and book.
    pub fn standing(&self, of: &Profile<'_>) -> Standing {
        let book = &self.0;
        let (tier, why) = tier::tier(of);
        let (certain, conditional): (Vec<usize>, Vec<usize>) =
            self.naming(of).into_iter().partition(|&rule| book.rules[rule].when.is_none());
        let strongest = |then| certain.iter().map(|&rule| &book.rules[rule]).find(|rule| rule.then == then);
        let decided = strongest(Then::Deny).or_else(|| strongest(Then::Ask)).or_else(|| strongest(Then::Allow));
        let base = match decided {
            Some(rule) => by_rule(rule, tier),
            None => by_default(book.default, tier, why),
        };
        let conditional = if base.then == Then::Deny && decided.is_some() { Vec::new() } else { conditional };
        Standing {
            book: Arc::clone(book),
            why,
            base: held_back(base, of.partly_checked),
            conditional: conditional.into(),
        }
    }

    /// What these rules say of one call. Where the standing is another book's, a person is asked.
    pub fn judge(&self, standing: &Standing, _facts: &Facts<'_>) -> Judgement {
        if !Arc::ptr_eq(&self.0, &standing.book) {
            let (rule, reason) = (None, None);
            return Judgement {
                then: Then::Ask,
                tier: standing.base.tier,
                rule,
                why: Why::OtherRules,
                reason,
                most: Scope::Once,
            };
        }
        standing.base.clone()
    }

    /// The rules that name something, in their order.
    pub(crate) fn naming(&self, of: &Profile<'_>) -> Vec<usize> {
        let book = &self.0;
        let patterns = match of.target {
            Target::Tool => Some(&book.tools),
            Target::Prompt => Some(&book.prompts),
            Target::Resource => Some(&book.resources),
            Target::Method => None,
        };
        let named = patterns.into_iter().flat_map(|patterns| patterns.matching(of.name)).map(|(rule, _)| rule);
        let general = (0..book.rules.len()).filter(|&rule| book.rules[rule].is_general);
        let mut naming: Vec<usize> = named.chain(general).collect();
        naming.sort_unstable();
        naming.dedup();
        naming
    }
}

impl Standing {
    /// Its tier.
    pub fn tier(&self) -> Tier {
        self.base.tier
    }
    /// What put it there.
    pub fn tier_why(&self) -> TierWhy {
        self.why
    }
    /// What holds for every call, whatever its arguments and whoever asks.
    pub fn always(&self) -> Option<&Judgement> {
        self.conditional.is_empty().then_some(&self.base)
    }
    /// Whether it is denied whatever is asked: it is not listed then, and answered as if there were no such thing.
    pub fn is_unlisted(&self) -> bool {
        self.always().is_some_and(|judgement| judgement.then == Then::Deny)
    }
}

fn by_rule(rule: &Rule, tier: Tier) -> Judgement {
    let most = if rule.then == Then::Deny { Scope::Once } else { tier.most() };
    let (then, reason) = (rule.then, rule.reason.clone());
    Judgement { then, tier, rule: Some(Arc::clone(&rule.name)), why: Why::Rule, reason, most }
}

fn by_default(default: Fallback, tier: Tier, why: TierWhy) -> Judgement {
    let (then, why) = match default {
        Fallback::Auto if tier == Tier::Quiet => (Then::Allow, Why::Tier(why)),
        Fallback::Auto => (Then::Ask, Why::Tier(why)),
        Fallback::Allow => (Then::Allow, Why::Default),
        Fallback::Ask => (Then::Ask, Why::Default),
        Fallback::Deny => (Then::Deny, Why::Default),
    };
    let most = if then == Then::Deny { Scope::Once } else { tier.most() };
    Judgement { then, tier, rule: None, why, reason: None, most }
}

/// What can't be checked wholly is asked about at least (rules.md 13).
fn held_back(judgement: Judgement, partly_checked: bool) -> Judgement {
    if partly_checked && judgement.then == Then::Allow {
        let tier = judgement.tier.max(Tier::Once);
        return Judgement { then: Then::Ask, tier, why: Why::PartlyChecked, most: tier.most(), ..judgement };
    }
    judgement
}

fn version(default: Fallback, rules: &[RuleSource]) -> Hash {
    let json = serde_json::to_vec(&serde_json::json!({ "default": default, "rules": rules })).unwrap_or_default();
    let canonical = contract::canonical_text(&json).unwrap_or_default();
    Hash::of(canonical.as_bytes())
}
