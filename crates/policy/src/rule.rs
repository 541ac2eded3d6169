//! Rules as they are written, and what is wrong with them: all of it at once, nothing is ever skipped silently.

use crate::When;
use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Most rules in one book.
pub const MAX_RULES: usize = 1000;
/// Most patterns in one book.
pub const MAX_PATTERNS: usize = 5000;
/// Most memory in bytes that all patterns of conditions may take.
const MAX_MEMORY: usize = 8 << 20;
/// Longest name of a rule, pattern or reason in bytes.
const MAX_TEXT: usize = 1000;

/// What is done with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Then {
    /// It runs.
    Allow,
    /// A person is asked.
    Ask,
    /// It is refused.
    Deny,
}

/// What holds where no rule decides (`"default"` of the config's `policy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fallback {
    /// The tiers.
    #[default]
    Auto,
    /// It runs.
    Allow,
    /// A person is asked.
    Ask,
    /// It is refused.
    Deny,
}

/// One rule as the config has it. Without any patterns it is for everything that a server can be asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleSource {
    /// Its name, shown wherever it decides; no two rules share one.
    pub name: String,
    /// Patterns over exposed tool names.
    pub tools: Vec<String>,
    /// Patterns over exposed prompt names.
    pub prompts: Vec<String>,
    /// Patterns over resource URIs.
    pub resources: Vec<String>,
    /// The condition, in CEL.
    pub when: Option<String>,
    /// What it decides.
    pub then: Then,
    /// Told to whoever is refused or asked.
    pub reason: Option<String>,
}

/// One thing that is wrong with the rules, so that they are not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rule {} ({place}): {problem}", .rule + 1)]
pub struct RuleFault {
    /// Which rule, counted from 0.
    pub rule: usize,
    /// Which part of it: `name`, `tools[1]`, `when` …; empty for the rule as a whole.
    pub place: String,
    /// What is wrong, in plain words.
    pub problem: String,
}

/// What a rule can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource or a resource template.
    Resource,
    /// A method that is none of the protocol's own; only rules without patterns are about it.
    Method,
}

/// A rule that can be judged by.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) name: Arc<str>,
    pub(crate) then: Then,
    pub(crate) reason: Option<Arc<str>>,
    pub(crate) when: Option<When>,
    /// It has no patterns.
    pub(crate) is_general: bool,
}

/// All patterns of a book over one kind of name.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    set: GlobSet,
    /// Per pattern: its rule and its place in the rule's list.
    owners: Vec<(usize, usize)>,
}

impl Then {
    /// The word used in the config, commands and the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Then::Allow => "allow",
            Then::Ask => "ask",
            Then::Deny => "deny",
        }
    }
}

impl Patterns {
    /// The patterns that match a name: rule and place in its list.
    pub(crate) fn matching(&self, name: &str) -> impl Iterator<Item = (usize, usize)> {
        self.set.matches(name).into_iter().map(|at| self.owners[at])
    }
    /// All patterns: rule and place in its list.
    pub(crate) fn owners(&self) -> &[(usize, usize)] {
        &self.owners
    }
}

/// Reads the patterns that `list` picks from each rule.
pub(crate) fn patterns(
    rules: &[RuleSource],
    key: &str,
    list: impl Fn(&RuleSource) -> &[String],
    faults: &mut Vec<RuleFault>,
) -> Patterns {
    let mut set = GlobSetBuilder::new();
    let mut owners = Vec::new();
    for (rule, source) in rules.iter().enumerate() {
        for (at, pattern) in list(source).iter().enumerate() {
            match glob(pattern) {
                Ok(glob) => {
                    set.add(glob);
                    owners.push((rule, at));
                }
                Err(problem) => faults.push(RuleFault { rule, place: format!("{key}[{at}]"), problem }),
            }
        }
    }
    if owners.len() > MAX_PATTERNS {
        let problem = format!("the rules have more than {MAX_PATTERNS} patterns in `{key}`");
        faults.push(RuleFault { rule: owners[MAX_PATTERNS].0, place: key.to_owned(), problem });
        return Patterns::default();
    }
    match set.build() {
        Ok(set) => Patterns { set, owners },
        Err(fault) => {
            let problem = format!("the patterns can't be used together: {}", fault.kind());
            faults.push(RuleFault { rule: 0, place: key.to_owned(), problem });
            Patterns::default()
        }
    }
}

fn glob(pattern: &str) -> Result<Glob, String> {
    if pattern.is_empty() {
        return Err("an empty pattern matches nothing".to_owned());
    }
    if pattern.len() > MAX_TEXT {
        return Err(format!("it is longer than {MAX_TEXT} bytes"));
    }
    let mut builder = GlobBuilder::new(pattern);
    let builder = builder.literal_separator(false).backslash_escape(true).empty_alternates(true);
    builder.build().map_err(|fault| format!("it is no valid pattern: {}", fault.kind()))
}

/// Reads everything but the patterns.
pub(crate) fn rules(sources: &[RuleSource], faults: &mut Vec<RuleFault>) -> Vec<Rule> {
    if sources.len() > MAX_RULES {
        let problem = format!("there are more than {MAX_RULES} rules");
        faults.push(RuleFault { rule: MAX_RULES, place: String::new(), problem });
        return Vec::new();
    }
    let mut out = Vec::with_capacity(sources.len());
    let mut memory = 0;
    for (rule, source) in sources.iter().enumerate() {
        let mut fault = |place: &str, problem: String| faults.push(RuleFault { rule, place: place.into(), problem });
        if source.name.trim().is_empty() {
            fault("name", "a rule needs a name: it is shown wherever the rule decides".to_owned());
        }
        if let Some(other) = sources[..rule].iter().position(|other| other.name == source.name) {
            fault("name", format!("rule {} has the same name", other + 1));
        }
        for (place, text) in [("name", Some(&source.name)), ("reason", source.reason.as_ref())] {
            if text.is_some_and(|text| text.len() > MAX_TEXT) {
                fault(place, format!("it is longer than {MAX_TEXT} bytes"));
            }
        }
        let is_general = source.tools.is_empty() && source.prompts.is_empty() && source.resources.is_empty();
        if is_general && source.when.is_none() {
            let problem = "a rule without patterns and `when` would decide everything; that is what `default` is for";
            fault("", problem.to_owned());
        }
        let when = source.when.as_deref().and_then(|text| {
            When::compile(text).map_err(|problems| problems.into_iter().for_each(|it| fault("when", it))).ok()
        });
        memory += when.as_ref().map_or(0, |when: &When| when.reads().memory);
        if memory > MAX_MEMORY {
            let problem = format!("the patterns of all conditions take more than {} MiB", MAX_MEMORY >> 20);
            faults.push(RuleFault { rule, place: "when".to_owned(), problem });
            return out;
        }
        out.push(Rule {
            name: source.name.as_str().into(),
            then: source.then,
            reason: source.reason.as_deref().map(Arc::from),
            when,
            is_general,
        });
    }
    out
}
