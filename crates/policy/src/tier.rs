//! The tiers of `{"default": "auto"}` (docs/policy.md): what is asked about a tool that no rule names. A hint is an
//! assertion of the server: it is believed where it makes a tool look worse, and only so far where it looks better.

use crate::verbs::{NameSays, name_says};
use crate::{Effect, Hints, Profile, Target};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How often a person is asked about a tool, from seldom to often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Never.
    Quiet,
    /// Once per client and tool, until its definition or launch command changes.
    Once,
    /// For every call.
    Each,
}

/// What an approval may be remembered for, from narrow to wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// This call only.
    Once,
    /// This tool for this client's session.
    Session,
    /// This tool for this client, until its definition or launch command changes.
    Tool,
}

/// What put something into its tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TierWhy {
    /// The config's `effects` says `read`.
    TaggedRead,
    /// The config's `effects` says `write`.
    TaggedWrite,
    /// The config's `effects` says `destructive`.
    TaggedDestructive,
    /// `readOnlyHint` is true and `destructiveHint` is not.
    ReadHint,
    /// No hints, and a name that says that it reads.
    ReadName,
    /// A prompt or a resource: asking for one changes nothing.
    Reading,
    /// It would be quiet, but the scan found something in its definition.
    Flagged,
    /// It would be quiet, but it takes a URL: what it reads, it may send.
    TakesUrl,
    /// It would be quiet, but part of its schema can't be checked.
    PartlyChecked,
    /// It would be quiet, but it was worse when it was approved.
    Raised,
    /// `destructiveHint` is true.
    DestructiveHint,
    /// Nothing says that it only reads.
    NoReadHint,
    /// A word of its name says that it does what is hard to take back, and no hint says that it only reads.
    RiskVerb(&'static str),
}

impl Tier {
    /// The word used in commands and the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Tier::Quiet => "quiet",
            Tier::Once => "once",
            Tier::Each => "each",
        }
    }
    /// The widest scope that an approval in this tier may be remembered for.
    pub const fn most(self) -> Scope {
        match self {
            Tier::Quiet | Tier::Once => Scope::Tool,
            Tier::Each => Scope::Session,
        }
    }
}

impl Scope {
    /// The word used in commands and the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Once => "once",
            Scope::Session => "session",
            Scope::Tool => "tool",
        }
    }
}

impl fmt::Display for TierWhy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            TierWhy::TaggedRead => "the config says that it only reads",
            TierWhy::TaggedWrite => "the config says that it changes something",
            TierWhy::TaggedDestructive => "the config says that it may destroy something",
            TierWhy::ReadHint => "its server says that it only reads",
            TierWhy::ReadName => "its name says that it reads, and no hint says anything else",
            TierWhy::Reading => "asking for it changes nothing",
            TierWhy::Flagged => "something in its definition looks wrong",
            TierWhy::TakesUrl => "it takes a URL, so it may send what it is given",
            TierWhy::PartlyChecked => "part of its schema can't be checked",
            TierWhy::Raised => "its hints are milder than what was approved",
            TierWhy::DestructiveHint => "its server says that it may destroy something",
            TierWhy::NoReadHint => "it may change something (no read hint)",
            TierWhy::RiskVerb(verb) => {
                return write!(out, "its name says `{verb}`, and no hint says that it only reads");
            }
        })
    }
}

/// The tier of what this profile describes.
pub(crate) fn tier(of: &Profile<'_>) -> (Tier, TierWhy) {
    match of.tag {
        Some(Effect::Destructive) => return (Tier::Each, TierWhy::TaggedDestructive),
        Some(Effect::Write) => return (Tier::Once, TierWhy::TaggedWrite),
        Some(Effect::Read) => return quiet(of, TierWhy::TaggedRead),
        None => {}
    }
    match of.target {
        Target::Prompt | Target::Resource => return quiet(of, TierWhy::Reading),
        Target::Tool | Target::Method => {}
    }
    let is_raised = of.effect > Effect::of(of.own, of.hints);
    if of.hints.read_only == Some(true) && of.hints.destructive != Some(true) && !is_raised {
        return quiet(of, TierWhy::ReadHint);
    }
    let says = name_says(of.own);
    let is_unannotated = of.hints == Hints::default();
    match says {
        NameSays::Risk(verb) => (Tier::Each, TierWhy::RiskVerb(verb)),
        NameSays::Reads if is_unannotated && !is_raised => quiet(of, TierWhy::ReadName),
        NameSays::Reads | NameSays::Nothing if is_raised => (Tier::Once, TierWhy::Raised),
        NameSays::Reads | NameSays::Nothing if of.hints.destructive == Some(true) => {
            (Tier::Once, TierWhy::DestructiveHint)
        }
        NameSays::Reads | NameSays::Nothing => (Tier::Once, TierWhy::NoReadHint),
    }
}

/// Quiet, unless something else speaks against it.
fn quiet(of: &Profile<'_>, why: TierWhy) -> (Tier, TierWhy) {
    if of.flagged {
        (Tier::Once, TierWhy::Flagged)
    } else if of.takes_url {
        (Tier::Once, TierWhy::TakesUrl)
    } else if of.partly_checked {
        (Tier::Once, TierWhy::PartlyChecked)
    } else {
        (Tier::Quiet, why)
    }
}
