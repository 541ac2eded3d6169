//! What a tool may do to the world, as far as it can be told from its definition.

use serde::{Deserialize, Serialize};

/// Effect class of a tool; decides its lane and, later, whether a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Changes nothing; runs in parallel with anything.
    Read,
    /// Changes something; one at a time per lane.
    Write,
    /// May destroy something; one at a time per lane.
    Destructive,
}

/// The annotations of a tool (`annotations` of its definition) that speak of effects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// `readOnlyHint`
    pub read_only: Option<bool>,
    /// `destructiveHint`
    pub destructive: Option<bool>,
}

/// First words of a tool's name that promise reading. Only asked where the server gave no hint at all.
const READ_VERBS: [&str; 22] = [
    "get", "list", "read", "search", "find", "show", "describe", "fetch", "query", "view", "lookup", "count", "check",
    "status", "browse", "inspect", "explain", "resolve", "validate", "diff", "echo", "ping",
];

/// Words anywhere in a tool's name that promise harm unless a hint says that it only reads.
const RISK_VERBS: [&str; 20] = [
    "delete", "drop", "reset", "merge", "send", "post", "pay", "deploy", "exec", "execute", "run", "shell", "remove",
    "kill", "destroy", "purge", "wipe", "transfer", "publish", "truncate",
];

impl Effect {
    /// The class of a tool by its own (not the exposed) name and its hints.
    pub fn of(tool: &str, hints: Hints) -> Effect {
        match (hints.read_only, hints.destructive) {
            (Some(true), Some(true)) | (_, Some(true)) => Effect::Destructive,
            (Some(true), _) => Effect::Read,
            (None, None) if words(tool).next().is_some_and(|word| READ_VERBS.contains(&&*word)) => Effect::Read,
            _ if words(tool).any(|word| RISK_VERBS.contains(&&*word)) => Effect::Destructive,
            _ => Effect::Write,
        }
    }
    /// Whether it waits for its lane.
    pub fn is_serial(self) -> bool {
        self != Effect::Read
    }
    /// The word used in commands and the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Effect::Read => "read",
            Effect::Write => "write",
            Effect::Destructive => "destructive",
        }
    }
}

/// The words of `snake_case`, `kebab-case`, `dot.case` and `camelCase` names, in small letters.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut out: Vec<String> = Vec::new();
    let mut lower_before = false;
    for c in name.chars() {
        let starts = (c.is_uppercase() && lower_before) || out.is_empty();
        lower_before = c.is_lowercase() || c.is_ascii_digit();
        if !c.is_alphanumeric() {
            if out.last().is_none_or(|word| !word.is_empty()) {
                out.push(String::new());
            }
            continue;
        }
        if starts && out.last().is_none_or(|word| !word.is_empty()) {
            out.push(String::new());
        }
        if let Some(word) = out.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    out.into_iter().filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tool: &str, read_only: Option<bool>, destructive: Option<bool>, expect: Effect) {
        assert_eq!(Effect::of(tool, Hints { read_only, destructive }), expect, "{tool}");
    }

    #[test]
    fn effect_follows_hints_and_only_without_them_the_name() {
        check("delete_file", Some(true), None, Effect::Read);
        check("read_file", Some(true), Some(true), Effect::Destructive);
        check("read_file", None, None, Effect::Read);
        check("readFile", None, None, Effect::Read);
        check("read_file", Some(false), None, Effect::Write);
        check("place_order", None, None, Effect::Write);
        check("bulkDelete", None, None, Effect::Destructive);
        check("get-then-run.shell", None, None, Effect::Read);
        check("", None, None, Effect::Write);
        check("write_file", None, Some(false), Effect::Write);
    }
}
