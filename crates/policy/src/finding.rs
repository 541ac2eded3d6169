//! Rules that do not do what their author may think: they match nothing, everything, or never decide.

use crate::rule::Patterns;
use crate::{Profile, Rulebook, Target};
use std::collections::HashSet;
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

impl Rulebook {
    /// What is odd about the rules, seen together with everything that servers offer now.
    pub fn findings(&self, all: &[Profile<'_>]) -> Vec<RuleFinding> {
        let mut found = Vec::new();
        let book = &self.0;
        let kinds = [
            ("tools", Target::Tool, &book.tools),
            ("prompts", Target::Prompt, &book.prompts),
            ("resources", Target::Resource, &book.resources),
        ];
        for (key, target, patterns) in kinds {
            let names = all.iter().filter(|of| of.target == target).map(|of| of.name);
            for (rule, at) in idle(patterns, names) {
                let problem = format!("it matches none of the {key} that there are now");
                let name = Arc::clone(&book.rules[rule].name);
                found.push(RuleFinding { rule, name, place: format!("{key}[{at}]"), problem });
            }
        }
        found.sort_by_key(|finding| finding.rule);
        found
    }
}

/// Patterns that match none of these names.
fn idle<'n>(patterns: &Patterns, names: impl Iterator<Item = &'n str>) -> Vec<(usize, usize)> {
    let hit: HashSet<(usize, usize)> = names.flat_map(|name| patterns.matching(name)).collect();
    patterns.owners().iter().filter(|owner| !hit.contains(owner)).copied().collect()
}
