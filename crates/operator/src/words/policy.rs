//! Which rule decides, and why.

use super::{Effect, PinState, Scope, Then, Tier};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// One rule at a glance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RuleView {
    /// Its name.
    pub name: String,
    /// What it says.
    pub then: Then,
    /// Its condition.
    pub when: Option<String>,
    /// Its reason.
    pub reason: Option<String>,
    /// Tools, prompts and resources of today's catalog that its patterns name.
    pub matches: u32,
}

/// How bad a problem of the policy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The policy is not applied.
    Error,
    /// It is applied, but hardly does what was meant.
    Warning,
}

/// One problem of the policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PolicyProblem {
    /// How bad it is.
    pub severity: Severity,
    /// Name of the rule; empty for the policy as a whole.
    pub rule: String,
    /// Where in the rule, as `tools[1]` or `when`; empty for the whole rule.
    pub place: String,
    /// What is wrong.
    pub message: String,
}

/// The policy as it is, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PolicyReport {
    /// `auto`, `allow`, `ask` or `deny`: for what no rule names.
    pub default: String,
    /// `sha256:` and hex over default and rules.
    pub version: String,
    /// The rules in order.
    pub rules: Vec<RuleView>,
    /// Everything that is wrong, errors first.
    pub problems: Vec<PolicyProblem>,
    /// Loosenings of the config that wait for a person, each a sentence.
    pub held: Vec<String>,
}

/// What to explain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct PolicyAsk {
    /// Name of a tool; absent: all tools, each without arguments.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub tool: Option<String>,
    /// The arguments as JSON text; absent: an empty object.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub arguments: Option<String>,
    /// The client that would ask; absent: one that no rule names.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub client: Option<String>,
}

/// What happens to calls of one tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Explained {
    /// Name in the aggregate.
    pub name: String,
    /// Key of its server.
    pub server: String,
    /// The server's own name of it.
    pub tool: String,
    /// What it may do to the world.
    #[ts(type = "\"read\" | \"write\" | \"destructive\"")]
    pub effect: Effect,
    /// How often it asks by itself.
    pub tier: Tier,
    /// What made that tier, in a sentence.
    pub tier_why: String,
    /// What is done with the call.
    pub then: Then,
    /// Name of the rule that decides; None: the default does.
    pub rule: Option<String>,
    /// Why, in a sentence.
    pub why: String,
    /// The reason that the rule gives.
    pub reason: Option<String>,
    /// The most that an approval may be remembered for.
    pub most: Scope,
    /// Whether it depends on the arguments.
    pub depends: bool,
    /// Whether hosts do not see it at all.
    pub unlisted: bool,
    /// Why its schema cannot be used, if so: then no call runs.
    #[serde(default)]
    pub unusable: Option<String>,
    /// Patterns of its schema that are not checked; where there are some it is *partly checked* and asks at least.
    #[serde(default)]
    pub partly_checked: Vec<String>,
    /// How its definition stands.
    pub definition: PinState,
    /// Whether this client has an approval that is remembered.
    pub remembered: Option<Scope>,
}

/// How many tools are in each tier, and how many end in each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PolicyTotals {
    /// Tools in all.
    pub tools: u32,
    /// Tools that never ask by themselves.
    pub quiet: u32,
    /// Tools that ask once.
    pub once: u32,
    /// Tools that ask each time.
    pub each: u32,
    /// Tools whose calls run.
    pub allow: u32,
    /// Tools whose calls wait for a person.
    pub ask: u32,
    /// Tools whose calls are refused.
    pub deny: u32,
}

/// The explanation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PolicyExplained {
    /// The tool that was asked about, or all of them by server and name.
    pub tools: Vec<Explained>,
    /// Totals over them.
    pub totals: PolicyTotals,
}
