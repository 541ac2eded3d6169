//! Each operation of the closed list, and who does it. The match has no rest: a new operation does not compile without
//! its place here.

mod after;
mod approvals;
mod catalog;
mod config;
mod policy;
mod remembered;
mod servers;
mod tokens;
mod tools;

pub use config::{config_paths, config_report};

use crate::audit::{self, With};
use crate::logs::{self, LogOf};
use crate::person::{self, Deed};
use crate::problems::{Failure, Outcome};
use crate::routes::{Peer, Shared};
use crate::views;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hub::operate::ServerAction;
use operator::operations::{Document, Operation};
use operator::words::{ServerList, Status, Stopping as Ending};
use operator::{Name, op};

/// Does the operation with the body of its request, if whoever asks may have it done.
pub async fn run(name: Name, body: Bytes, shared: Shared, peer: &Peer) -> Outcome<Response> {
    let parts = &shared.parts;
    person::admit(name, &body, &shared, peer).await?;
    let hub = &parts.hub;
    match name {
        Name::Status => {
            nothing::<op::Status>(&body)?;
            let pin_locked_minutes = parts.pin.locked_minutes();
            document::<op::Status>(Status { pin_locked_minutes, ..views::status(hub.status().await?) })
        }
        Name::Stop => {
            nothing::<op::Stop>(&body)?;
            hub.stop().await?;
            document::<op::Stop>(Ending { pid: std::process::id() })
        }
        Name::ServerList => {
            nothing::<op::ServerList>(&body)?;
            document::<op::ServerList>(ServerList { servers: views::servers(hub.status().await?.servers) })
        }
        Name::ServerShow => {
            let server = input::<op::ServerShow>(&body)?.name;
            let mut detail = views::detail(hub.server(&server).await?);
            detail.findings.extend(tools::findings(hub, &server).await?);
            let file = |name: String| parts.places.logs().join(name).to_string_lossy().into_owned();
            detail.log_file = detail.log_file.map(file);
            detail.resting = views::rests(hub.status().await?.rests);
            detail.resting.retain(|rest| rest.server == server);
            document::<op::ServerShow>(detail)
        }
        Name::ServerAdd => document::<op::ServerAdd>(servers::add(&shared, input::<op::ServerAdd>(&body)?).await?),
        Name::ServerRemove => {
            document::<op::ServerRemove>(servers::remove(&shared, input::<op::ServerRemove>(&body)?.name).await?)
        }
        Name::ServerEnable => {
            document::<op::ServerEnable>(servers::enable(&shared, input::<op::ServerEnable>(&body)?.name).await?)
        }
        Name::ServerDisable => {
            document::<op::ServerDisable>(servers::disable(&shared, input::<op::ServerDisable>(&body)?.name).await?)
        }
        Name::ServerStart => {
            let server = input::<op::ServerStart>(&body)?.name;
            document::<op::ServerStart>(views::server(hub.act(&server, ServerAction::Start).await?))
        }
        Name::ServerStop => {
            let server = input::<op::ServerStop>(&body)?.name;
            document::<op::ServerStop>(views::server(hub.act(&server, ServerAction::Stop).await?))
        }
        Name::ServerRestart => {
            let server = input::<op::ServerRestart>(&body)?.name;
            document::<op::ServerRestart>(views::server(hub.act(&server, ServerAction::Restart).await?))
        }
        Name::ServerLogs => {
            let asked = input::<op::ServerLogs>(&body)?;
            // Asked first, so that a mistyped name is not an empty log.
            hub.server(&asked.name).await?;
            logs::answer(parts.logs.clone(), LogOf::Server(asked.name), asked.lines, asked.tail, shared.stopping).await
        }
        Name::ToolList => document::<op::ToolList>(tools::list(hub, input::<op::ToolList>(&body)?).await?),
        Name::ToolShow => document::<op::ToolShow>(tools::show(hub, input::<op::ToolShow>(&body)?).await?),
        Name::ToolCall => document::<op::ToolCall>(tools::call(hub, input::<op::ToolCall>(&body)?).await?),
        Name::TokenAdd => {
            let asked = input::<op::TokenAdd>(&body)?;
            document::<op::TokenAdd>(tokens::add(&shared, asked, peer).await?)
        }
        Name::TokenList => {
            nothing::<op::TokenList>(&body)?;
            document::<op::TokenList>(tokens::list(parts))
        }
        Name::TokenRemove => {
            let asked = input::<op::TokenRemove>(&body)?;
            document::<op::TokenRemove>(tokens::remove(&shared, asked, peer).await?)
        }
        Name::Logs => {
            let asked = input::<op::Logs>(&body)?;
            logs::answer(parts.logs.clone(), LogOf::Hub, asked.lines, asked.tail, shared.stopping).await
        }
        Name::ConfigCheck => {
            nothing::<op::ConfigCheck>(&body)?;
            document::<op::ConfigCheck>(config::check(parts).await?)
        }
        Name::ConfigPath => {
            nothing::<op::ConfigPath>(&body)?;
            document::<op::ConfigPath>(config_paths(&parts.places))
        }
        Name::ApprovalList => {
            let filter = input::<op::ApprovalList>(&body)?;
            document::<op::ApprovalList>(approvals::list(parts, filter).await?)
        }
        Name::ApprovalShow => {
            document::<op::ApprovalShow>(approvals::show(parts, &input::<op::ApprovalShow>(&body)?.id).await?)
        }
        Name::ApprovalApprove => {
            let asked = input::<op::ApprovalApprove>(&body)?;
            document::<op::ApprovalApprove>(approvals::approve(parts, asked, peer).await?)
        }
        Name::ApprovalDeny => {
            document::<op::ApprovalDeny>(approvals::deny(parts, input::<op::ApprovalDeny>(&body)?, peer).await?)
        }
        Name::ApprovalRemembered => {
            let filter = input::<op::ApprovalRemembered>(&body)?;
            document::<op::ApprovalRemembered>(remembered::list(hub, &filter).await?)
        }
        Name::ApprovalForget => {
            let asked = input::<op::ApprovalForget>(&body)?;
            document::<op::ApprovalForget>(remembered::forget(hub, asked, &peer.name()).await?)
        }
        Name::CallList => document::<op::CallList>(approvals::calls(hub, input::<op::CallList>(&body)?).await?),
        Name::CallSettle => {
            document::<op::CallSettle>(approvals::settle(hub, input::<op::CallSettle>(&body)?, peer).await?)
        }
        Name::Pause => {
            nothing::<op::Pause>(&body)?;
            document::<op::Pause>(approvals::paused(hub, hub.pause(&peer.name()).await?).await?)
        }
        Name::Resume => {
            let asked = input::<op::Resume>(&body)?;
            document::<op::Resume>(approvals::resume(hub, asked, &peer.name()).await?)
        }
        Name::PolicyExplain => {
            document::<op::PolicyExplain>(policy::explain(hub, input::<op::PolicyExplain>(&body)?).await?)
        }
        Name::CatalogDiff => document::<op::CatalogDiff>(catalog::diff(hub, input::<op::CatalogDiff>(&body)?).await?),
        Name::CatalogApprove => {
            document::<op::CatalogApprove>(catalog::approve(hub, input::<op::CatalogApprove>(&body)?, peer).await?)
        }
        Name::AuditList => {
            let query = input::<op::AuditList>(&body)?;
            document::<op::AuditList>(audit::read(&parts.audit, move |source| source.page(&query)).await?)
        }
        Name::AuditShow => {
            let call = input::<op::AuditShow>(&body)?.call;
            document::<op::AuditShow>(audit::read(&parts.audit, move |source| source.trail(&call)).await?)
        }
        Name::AuditValues => {
            let asked = input::<op::AuditValues>(&body)?;
            let opened = audit::read(&parts.audit, move |source| source.values(&asked.call)).await?;
            shared.attempts.write(Deed::done(name, peer, Some(opened.call.clone()))).await?;
            document::<op::AuditValues>(opened)
        }
        Name::AuditTail => audit::tail(&parts.audit, input::<op::AuditTail>(&body)?, shared.stopping).await,
        Name::AuditVerify => {
            nothing::<op::AuditVerify>(&body)?;
            document::<op::AuditVerify>(audit::read(&parts.audit, |source| source.verify()).await?)
        }
        Name::AuditAccept => {
            let asked = input::<op::AuditAccept>(&body)?;
            let accepted = audit::read(&parts.audit, move |source| source.accept(&asked.accept)).await?;
            shared.attempts.write(Deed::done(name, peer, None)).await?;
            hub.trust().await?;
            document::<op::AuditAccept>(accepted)
        }
        Name::AuditExport => {
            let filter = input::<op::AuditExport>(&body)?.filter;
            Ok(audit::export(&parts.audit, filter, With::Nothing, shared.stopping))
        }
        Name::AuditTake => {
            let filter = input::<op::AuditTake>(&body)?.filter;
            let about = serde_json::to_string(&filter).ok();
            shared.attempts.write(Deed::done(name, peer, about)).await?;
            Ok(audit::export(&parts.audit, filter, With::Values, shared.stopping))
        }
        Name::PolicyCheck => {
            nothing::<op::PolicyCheck>(&body)?;
            document::<op::PolicyCheck>(policy::check(hub).await?)
        }
        Name::ApprovalPin => {
            let asked = input::<op::ApprovalPin>(&body)?;
            document::<op::ApprovalPin>(person::change(&shared, asked, peer).await?)
        }
    }
}

fn input<O: Operation>(body: &[u8]) -> Outcome<O::Input> {
    serde_json::from_slice(body).map_err(|error| Failure::new("bad_input", format!("{}: {error}", O::NAME.as_str())))
}

fn nothing<O: Operation<Input = operator::words::Nothing>>(body: &[u8]) -> Outcome<()> {
    input::<O>(body).map(|_| ())
}

fn document<O: Document>(output: O::Output) -> Outcome<Response> {
    let body = serde_json::to_vec(&output).map_err(|error| Failure::new("internal", error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], body).into_response())
}
