//! What a tool may do to the world, as far as it can be told from its definition.

use crate::verbs::{NameSays, name_says};
use serde::{Deserialize, Serialize};

/// Effect class of a tool; decides its lane and what is asked before it runs.
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

impl Effect {
    /// The class of a tool by its own (not the exposed) name and its hints.
    pub fn of(tool: &str, hints: Hints) -> Effect {
        match (hints.read_only, hints.destructive) {
            (_, Some(true)) => Effect::Destructive,
            (Some(true), _) => Effect::Read,
            _ => match name_says(tool) {
                NameSays::Risk(_) => Effect::Destructive,
                NameSays::Reads if hints == Hints::default() => Effect::Read,
                NameSays::Reads | NameSays::Nothing => Effect::Write,
            },
        }
    }
    /// The class that holds after a definition was approved with another: hints only raise (docs/policy.md).
    pub fn held_to(self, pinned: Option<Effect>) -> Effect {
        pinned.map_or(self, |pinned| pinned.max(self))
    }
    /// Whether it waits for its lane.
    pub fn is_serial(self) -> bool {
        self != Effect::Read
    }
    /// The word used in commands, rules and the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Effect::Read => "read",
            Effect::Write => "write",
            Effect::Destructive => "destructive",
        }
    }
}
