//! Whether a call may run: effect classes, tiers, rules, what an approval covers, and the life of a call's record.
//! The only maker of [`Permit`]. Pure: no clock, no files, no network; time is an argument.

mod call;
mod effect;
mod finding;
mod grant;
mod judgement;
mod permit;
mod rule;
mod rulebook;
mod tally;
mod tier;
mod verbs;
mod when;

pub use call::{CallState, Event, Leave, Unfit, next};
pub use effect::{Effect, Hints};
pub use finding::RuleFinding;
pub use grant::{Binding, Grant, Stale};
pub use judgement::{Judgement, Why};
pub use permit::{Permit, Request, Verdict, decide, redeem, remembered};
pub use rule::{Fallback, MAX_PATTERNS, MAX_RULES, RuleFault, RuleSource, Target, Then};
pub use rulebook::{Facts, Profile, Rulebook, Standing};
pub use tier::{Scope, Tier, TierWhy};

use when::When;

#[cfg(test)]
mod tests;
