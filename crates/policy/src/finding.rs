//! Rules that do not do what their author may think: they match nothing, everything, or never decide.

use crate::rulebook::Force;
use crate::{Profile, Rulebook, Target, Then};
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

/// Something odd about a rule that does not keep the rules from being used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFinding {
    /// Which rule, counted from 0.
    pub rule: usize,
    /// Its name.
    pub name: Arc<str>,
    /// Which part of it: `tools[1]`, `when` …; empty for the rule as a whole.
    pub place: String,
    /// What is odd, in plain words.
    pub problem: String,
}

impl fmt::Display for RuleFinding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "rule `{}`", self.name)?;
        if !self.place.is_empty() {
            write!(out, " ({})", self.place)?;
        }
        write!(out, ": {}", self.problem)
    }
}

/// Names that nothing has: a pattern that matches all of them matches everything.
const STRANGE: [(&str, [&str; 3]); 3] = [
    ("tools", ["a__b", "q7-x__zz_9", "Z0__y"]),
    ("prompts", ["a__b", "q7-x__zz_9", "Z0__y"]),
    ("resources", ["a:b", "q7-x://zz/9", "Z0:///y"]),
];

/// What was seen of one rule over everything that it names.
#[derive(Clone, Default)]
struct Seen<'a> {
    /// How many things it names, and about how many it may decide.
    named: usize,
    possible: usize,
    /// How many of those another rule decides whatever is asked, and the first such rule.
    taken: usize,
    by: Option<usize>,
    /// The arguments of the tools that it names; None where those of one are not known.
    arguments: Option<BTreeSet<&'a str>>,
}

impl Rulebook {
    /// What is odd about the rules, seen together with everything that servers offer now.
    pub fn findings(&self, all: &[Profile<'_>]) -> Vec<RuleFinding> {
        let book = &self.0;
        let mut found = Vec::new();
        let mut find = |rule: usize, place: String, problem: String| {
            let name = Arc::clone(&book.rules[rule].name);
            found.push(RuleFinding { rule, name, place, problem });
        };
        let patterns =
            [(Target::Tool, &book.tools), (Target::Prompt, &book.prompts), (Target::Resource, &book.resources)];
        for ((target, patterns), (key, strange)) in patterns.into_iter().zip(STRANGE) {
            let names = all.iter().filter(|of| of.target == target).map(|of| of.name);
            let hit: HashSet<(usize, usize)> = names.flat_map(|name| patterns.matching(name)).collect();
            for &(rule, at) in patterns.owners() {
                let place = || format!("{key}[{at}]");
                let is_wide = || strange.iter().all(|name| patterns.matching(name).any(|owner| owner == (rule, at)));
                if !hit.contains(&(rule, at)) {
                    find(rule, place(), format!("it matches none of the {key} that there are now"));
                }
                if book.rules[rule].when.is_none() && is_wide() {
                    find(rule, place(), format!("it matches all {key} that there can be; `default` is meant for that"));
                }
            }
        }
        for (rule, seen) in self.seen(all).iter().enumerate() {
            let Seen { named, possible, taken, by, arguments } = seen;
            let when = book.rules[rule].when.as_ref();
            if *named > 0 && *possible == 0 {
                find(rule, "when".into(), "it is true for nothing that the rule names".into());
            }
            if let Some(by) = by.filter(|_| taken == possible) {
                let other = &book.rules[by];
                let does = if other.then == Then::Deny { "denies" } else { "asks about" };
                let problem = format!("it never decides: `{}` {does} everything that it names", other.name);
                find(rule, String::new(), problem);
            }
            if let (Some(when), Some(known)) = (when, arguments.as_ref().filter(|_| *named > 0)) {
                for argument in when.reads().arguments.iter().filter(|argument| !known.contains(&***argument)) {
                    let argument = contract::visible::escape(argument);
                    find(
                        rule,
                        "when".into(),
                        format!("none of the tools that it names takes an argument `{argument}`"),
                    );
                }
            }
        }
        found.sort_by_key(|finding| finding.rule);
        found
    }

    fn seen<'a>(&self, all: &[Profile<'a>]) -> Vec<Seen<'a>> {
        let book = &self.0;
        let mut seen = vec![Seen { arguments: Some(BTreeSet::new()), ..Seen::default() }; book.rules.len()];
        for of in all {
            let naming = self.forces(of);
            for &(at, force, _) in &naming {
                let rule = &mut seen[at];
                rule.named += 1;
                match &mut rule.arguments {
                    Some(known) if !of.arguments.is_empty() => known.extend(of.arguments.iter().map(|name| &**name)),
                    unknown => *unknown = None,
                }
                if force == Force::Never {
                    continue;
                }
                rule.possible += 1;
                let then = book.rules[at].then;
                let outweighs = |other: Then| other > then || (other == Then::Deny && force == Force::Maybe);
                let by = naming.iter().find(|(other, force, _)| {
                    *other != at && *force == Force::Always && outweighs(book.rules[*other].then)
                });
                if let Some((by, _, _)) = by {
                    rule.taken += 1;
                    rule.by.get_or_insert(*by);
                }
            }
        }
        seen
    }
}
