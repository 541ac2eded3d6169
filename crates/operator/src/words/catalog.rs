//! Definitions against what was approved.

use super::{Effect, HeldConfig, PinCode, PinState, Tier};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Which servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct CatalogFilter {
    /// One server only.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub server: Option<String>,
}

/// What a definition is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// How the server is launched.
    Launch,
    /// The server's instructions.
    Instructions,
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource.
    Resource,
    /// A resource template.
    Template,
}

impl EntryKind {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            EntryKind::Launch => "launch",
            EntryKind::Instructions => "instructions",
            EntryKind::Tool => "tool",
            EntryKind::Prompt => "prompt",
            EntryKind::Resource => "resource",
            EntryKind::Template => "template",
        }
    }
}

/// Which version a line stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum DiffSide {
    /// In both, for orientation.
    Both,
    /// In the approved one only.
    Approved,
    /// In the new one only.
    Now,
}

/// A run of characters of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct DiffWord {
    /// The characters.
    pub text: String,
    /// Whether the other side does not have it.
    pub changed: bool,
}

/// One line of a difference, word by word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct DiffLine {
    /// JSON pointer of the value that it belongs to; empty for the whole.
    pub place: String,
    /// Which version it stands in.
    pub side: DiffSide,
    /// Its words in order.
    pub words: Vec<DiffWord>,
}

/// One definition that waits for a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct EntryReview {
    /// What it is.
    pub kind: EntryKind,
    /// The server's own name of it; empty for launch and instructions.
    pub name: String,
    /// Name in the aggregate, where it has one.
    pub exposed: Option<String>,
    /// How it stands.
    pub state: PinState,
    /// What a tool may do to the world now.
    #[ts(type = "\"read\" | \"write\" | \"destructive\" | null")]
    pub effect: Option<Effect>,
    /// What it could do when it was approved.
    #[ts(type = "\"read\" | \"write\" | \"destructive\" | null")]
    pub effect_before: Option<Effect>,
    /// How often a tool asks.
    pub tier: Option<Tier>,
    /// What the scan found, each a sentence.
    pub flags: Vec<String>,
    /// How the change raises the risk, each a sentence.
    pub raised: Vec<String>,
    /// What changed, or for a new one its whole text.
    pub lines: Vec<DiffLine>,
    /// `sha256:` and hex: approves this definition alone.
    pub hash: String,
}

/// One version of a server's definitions that waits for a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ServerReview {
    /// Key of the server.
    pub server: String,
    /// `sha256:` and hex over all of it: approves exactly what is listed here.
    pub hash: String,
    /// When this version was first seen.
    pub seen_ms: u64,
    /// Whether the server contributes nothing at all until the review.
    pub blocked: bool,
    /// The definitions, flagged ones first.
    pub entries: Vec<EntryReview>,
    /// Definitions that are as approved.
    pub unchanged: u32,
}

/// What waits for a review.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CatalogDiff {
    /// By server, flagged ones first.
    pub servers: Vec<ServerReview>,
    /// What the config on disk would loosen. An older hub does not say.
    #[serde(default)]
    pub held: HeldConfig,
}

/// Approves exactly what was reviewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct CatalogApprove {
    /// Key of a server, or the name of one of its entries in the aggregate.
    pub target: String,
    /// The hash that was shown.
    pub hash: String,
    /// The PIN, where one is set.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub pin: Option<PinCode>,
}

/// What is approved now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CatalogApproved {
    /// Key of the server.
    pub server: String,
    /// The server's own names of what was approved; empty text for launch and instructions.
    pub entries: Vec<String>,
    /// Definitions of that server that still wait.
    pub left: u32,
}
