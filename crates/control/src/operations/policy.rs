//! Which rule decides, and why.

use crate::problems::Outcome;
use crate::views::gate as views;
use hub::operate::OperatorHandle;
use hub::person::Question;
use operator::words::{
    Explained, PolicyAsk, PolicyExplained, PolicyProblem, PolicyReport, PolicyTotals, Severity, Then, Tier,
};

/// How the rules see a call, or every tool.
pub async fn explain(hub: &OperatorHandle, asked: PolicyAsk) -> Outcome<PolicyExplained> {
    let question = Question { tool: asked.tool, arguments: asked.arguments, client: asked.client };
    let tools: Vec<Explained> = hub.explain(question).await?.into_iter().map(views::explained).collect();
    let totals = totals(&tools);
    Ok(PolicyExplained { tools, totals })
}

/// The policy as it is, and what is wrong with it. What the file has wrong is told by `config.check`.
pub async fn check(hub: &OperatorHandle) -> Outcome<PolicyReport> {
    let policy = hub.policy().await?;
    let problems = policy.findings.into_iter().map(|finding| PolicyProblem {
        severity: Severity::Warning,
        rule: finding.name.to_string(),
        place: finding.place,
        message: finding.problem,
    });
    let errors = hub.status().await?.config_problems.into_iter().map(|message| PolicyProblem {
        severity: Severity::Error,
        rule: String::new(),
        place: String::new(),
        message,
    });
    Ok(PolicyReport {
        default: policy.default,
        version: policy.version.to_string(),
        problems: errors.chain(problems).collect(),
        rules: policy.rules.into_iter().map(|(rule, matches)| views::rule(rule, matches)).collect(),
        held: match policy.held_hash {
            Some(hash) => {
                let how = format!("accept all of it: callgate catalog approve @policy --hash {hash}");
                policy.held.into_iter().chain([how]).collect()
            }
            None => Vec::new(),
        },
    })
}

fn totals(tools: &[Explained]) -> PolicyTotals {
    let count = |is_it: &dyn Fn(&Explained) -> bool| {
        u32::try_from(tools.iter().filter(|tool| is_it(tool)).count()).unwrap_or(u32::MAX)
    };
    PolicyTotals {
        tools: count(&|_| true),
        quiet: count(&|tool| tool.tier == Tier::Quiet),
        once: count(&|tool| tool.tier == Tier::Once),
        each: count(&|tool| tool.tier == Tier::Each),
        allow: count(&|tool| tool.then == Then::Allow),
        ask: count(&|tool| tool.then == Then::Ask),
        deny: count(&|tool| tool.then == Then::Deny),
    }
}
