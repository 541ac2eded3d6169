//! The rules of a config, ready to judge by: deny beats ask beats allow, and what can't be judged is never allowed.

use crate::rule::{self, Patterns, Rule};
use crate::tally::{Rank, Tally};
use crate::when::{self, Outcome, Subject};
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

impl<'a> Profile<'a> {
    /// Of something of which no more is known than what it is: what is no tool.
    pub const fn bare(target: Target, name: &'a str, own: &'a str, server: &'a str, effect: Effect) -> Profile<'a> {
        Profile {
            target,
            name,
            own,
            server,
            effect,
            hints: Hints { read_only: None, destructive: None },
            tag: None,
            flagged: false,
            partly_checked: false,
            takes_url: false,
            arguments: &[],
            annotations: b"",
        }
    }
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
    rank: Rank,
    /// The rules that hold for every call.
    certain: Tally,
    /// What follows from them alone.
    base: Judgement,
    /// The rules whose conditions depend on the call, in order, and what else those may ask about.
    conditional: Box<[usize]>,
    subject: Option<Box<Subject>>,
}

/// How far a rule holds for something before anything is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Force {
    /// For every call; also where it can't be judged for any.
    Always,
    /// Depending on the call.
    Maybe,
    /// For no call.
    Never,
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
        let rank = Rank { tier, why, partly_checked: of.partly_checked };
        let mut certain = Tally::new();
        let mut conditional = Vec::new();
        for (at, force, failed) in self.forces(of) {
            match force {
                Force::Always => certain.add(at, &book.rules[at], failed),
                Force::Maybe => conditional.push(at),
                Force::Never => {}
            }
        }
        if certain.is_denied() {
            conditional.clear();
        }
        let base = certain.judgement(&book.rules, book.default, rank);
        let subject = (!conditional.is_empty()).then(|| Box::new(subject_of(of)));
        Standing { book: Arc::clone(book), rank, certain, base, conditional: conditional.into(), subject }
    }

    /// What these rules say of one call. Where the standing is another book's, a person is asked.
    pub fn judge(&self, standing: &Standing, facts: &Facts<'_>) -> Judgement {
        let book = &self.0;
        if !Arc::ptr_eq(book, &standing.book) {
            let (then, rule, reason) = (Then::Ask, None, None);
            let (tier, why, most) = (standing.rank.tier, Why::OtherRules, Scope::Once);
            return Judgement { then, tier, rule, why, reason, most };
        }
        let Some(subject) = &standing.subject else { return standing.base.clone() };
        let mut tally = standing.certain.clone();
        let whens = standing.conditional.iter().filter_map(|&at| Some((at, book.rules[at].when.as_ref()?)));
        when::judge(whens, subject, facts.host, facts.arguments, |at, outcome| {
            match outcome {
                Outcome::Holds => tally.add(at, &book.rules[at], None),
                Outcome::Failed(problem) => tally.add(at, &book.rules[at], Some(problem)),
                Outcome::Not => {}
            }
            !tally.is_denied()
        });
        tally.judgement(&book.rules, book.default, standing.rank)
    }

    /// The rules that name something, in their order, and how far each holds before anything is asked.
    pub(crate) fn forces(&self, of: &Profile<'_>) -> Vec<(usize, Force, Option<String>)> {
        let mut subject = None;
        let force = |at: usize| {
            let Some(when) = &self.0.rules[at].when else { return (at, Force::Always, None) };
            if !when.is_settled() {
                return (at, Force::Maybe, None);
            }
            let mut settled = (at, Force::Never, None);
            let subject = subject.get_or_insert_with(|| subject_of(of));
            when::judge([(at, when)].into_iter(), subject, "", b"", |_, outcome| {
                settled = match outcome {
                    Outcome::Holds => (at, Force::Always, None),
                    Outcome::Failed(problem) => (at, Force::Always, Some(problem)),
                    Outcome::Not => (at, Force::Never, None),
                };
                false
            });
            settled
        };
        self.naming(of).into_iter().map(force).collect()
    }

    /// The rules whose patterns match something, and those without patterns.
    fn naming(&self, of: &Profile<'_>) -> Vec<usize> {
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
        self.rank.tier
    }
    /// What put it there.
    pub fn tier_why(&self) -> TierWhy {
        self.rank.why
    }
    /// What holds for every call, whatever its arguments and whoever asks.
    pub fn always(&self) -> Option<&Judgement> {
        self.subject.is_none().then_some(&self.base)
    }
    /// Whether it is denied whatever is asked: it is not listed then, and answered as if there were no such thing.
    pub fn is_unlisted(&self) -> bool {
        self.always().is_some_and(|judgement| judgement.then == Then::Deny)
    }
}

fn subject_of(of: &Profile<'_>) -> Subject {
    let effect = of.effect.as_str();
    Subject { tool: of.own.into(), server: of.server.into(), effect, annotations: of.annotations.into() }
}

fn version(default: Fallback, rules: &[RuleSource]) -> Hash {
    let json = serde_json::to_vec(&serde_json::json!({ "default": default, "rules": rules })).unwrap_or_default();
    let canonical = contract::canonical_text(&json).unwrap_or_default();
    Hash::of(canonical.as_bytes())
}
