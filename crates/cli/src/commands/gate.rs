//! `callgate call …`, `catalog …`, `policy …`

use super::fault::{Exit, Fault};
use super::out::Out;
use super::pin;
use super::tool::read;
use crate::args::{Call, Catalog, Policy};
use crate::show;
use crate::show::catalog::Length;
use operator::client::blocking::Client;
use operator::op;
use operator::words::{
    CallFilter, CallSettle, CallStanding, CatalogApprove, CatalogFilter, Finding, Nothing, PolicyAsk, Severity,
};

/// `callgate call …`
pub fn call(command: Call, hub: &Client, out: &Out) -> Result<Exit, Fault> {
    match command {
        Call::List { server, unknown, limit } => {
            let standing = if unknown { vec![CallStanding::Unknown] } else { vec![] };
            let list = hub.call::<op::CallList>(&CallFilter { server, standing, limit })?;
            out.document(&list, |screen| show::calls::list(&list, screen))
        }
        Call::Settle { call, ran, .. } => {
            let finding = if ran { Finding::Ran } else { Finding::NotRan };
            let settled = pin::decide::<op::CallSettle>(hub, |pin| CallSettle { call: call.clone(), finding, pin })?;
            out.document(&settled, |screen| show::calls::settled(&settled, screen))
        }
    }
}

/// `callgate catalog …`
pub fn catalog(command: Catalog, hub: &Client, out: &Out) -> Result<Exit, Fault> {
    match command {
        Catalog::Diff { server, full } => {
            let length = if full { Length::Full } else { Length::Short };
            let diff = hub.call::<op::CatalogDiff>(&CatalogFilter { server })?;
            out.document(&diff, |screen| show::catalog::diff(&diff, length, screen))
        }
        Catalog::Approve { target, hash } => {
            let approved = pin::decide::<op::CatalogApprove>(hub, |pin| CatalogApprove {
                target: target.clone(),
                hash: hash.clone(),
                pin,
            })?;
            out.document(&approved, |screen| show::catalog::approved(&approved, screen))
        }
    }
}

/// `callgate policy …`
pub fn policy(command: Policy, hub: &Client, out: &Out) -> Result<Exit, Fault> {
    match command {
        Policy::Check => {
            let report = hub.call::<op::PolicyCheck>(&Nothing {})?;
            out.document(&report, |screen| show::policy::report(&report, screen))?;
            let wrong = report.problems.iter().any(|problem| problem.severity == Severity::Error);
            Ok(if wrong { Exit::Usage } else { Exit::Done })
        }
        Policy::Explain { tool, arguments, client, .. } => {
            let arguments = arguments.map(|text| read(&text, std::io::stdin())).transpose()?;
            let arguments = arguments.map(|raw| raw.get().to_owned());
            let one = tool.is_some();
            let explained = hub.call::<op::PolicyExplain>(&PolicyAsk { tool, arguments, client })?;
            out.document(&explained, |screen| match explained.tools.first() {
                Some(tool) if one => show::policy::one(tool, screen),
                _ => show::policy::all(&explained, screen),
            })
        }
    }
}
