//! Who may decide: every operation that is marked `Mark::Person` passes here before it runs, and none can pass by.
//! A PIN that is set is always needed; without one nothing is taken from the processes of hosts and of servers.
//! Never logs what was typed.

mod attempts;
mod hosts;
mod processes;
mod tree;
#[cfg(test)]
mod tree_tests;

pub use attempts::{Attempts, Deed};
pub use hosts::{Hosts, follow};
pub use processes::Here;
pub use tree::{Caller, describe};

use crate::ControlParts;
use crate::problems::{Failure, Outcome};
use crate::routes::{Peer, Shared};
use hub::operate::{ClientView, Status};
use hub::pin::{Pin, PinError, Shown};
use operator::words::{PinChange, PinCode, PinStatus};
use operator::{Mark, Name, code};
use serde::Deserialize;
use std::sync::Arc;
use tree::{Attached, Speaker, Suspicion};

/// Refusals that say that somebody asked for what only a person may do and did not show to be one.
const ATTEMPTS: [&str; 4] = [code::PIN_REQUIRED, code::PIN_WRONG, code::PIN_LOCKED, code::NOT_A_PERSON];

/// The part of every such request that says who asks; the rest is read by the operation.
#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    pin: Option<PinCode>,
    /// In place of `pin` where the PIN itself is changed.
    #[serde(default)]
    old: Option<PinCode>,
}

/// Lets an operation run, or says why not, which leaves a row.
pub async fn admit(name: Name, body: &[u8], shared: &Shared, peer: &Peer) -> Outcome<()> {
    match name.mark() {
        Mark::Read | Mark::Act => return Ok(()),
        Mark::Person => {}
    }
    let admitted = may(name, body, shared, peer).await;
    match &admitted {
        Ok(()) => shared.attempts.admitted(name, peer),
        Err(failure) => refused(name, shared, peer, failure),
    }
    admitted
}

async fn may(name: Name, body: &[u8], shared: &Shared, peer: &Peer) -> Outcome<()> {
    let parts = &shared.parts;
    let asked: Asked = serde_json::from_slice(body)
        .map_err(|error| Failure::new("bad_input", format!("{}: {error}", name.as_str())))?;
    let typed = if name == Name::ApprovalPin { asked.old } else { asked.pin };
    let shown = on_pool(parts, move |pin| pin.check(typed.as_ref().map(PinCode::reveal))).await;
    match shown? {
        Shown::Right => return Ok(()),
        Shown::NotSet => {}
    }
    let status = parts.hub.status().await?;
    if status.from_host_tree {
        return Ok(());
    }
    let (caller, hub, clients) = (peer.caller, status.pid, attached(&status.clients));
    let hosts = Arc::clone(&shared.hosts);
    let look = tokio::task::spawn_blocking(move || {
        let known = hosts.look(&Here, &clients);
        tree::suspect(&Here, caller, hub, &clients, &known)
    });
    let suspicion = look.await.map_err(|_| Failure::new("internal", "the processes could not be looked at"))?;
    match suspicion {
        None => Ok(()),
        Some(Suspicion::Untold) if name == Name::ApprovalPin && nobody_else_is_here(&status) => Ok(()),
        Some(suspicion) => Err(Failure::new(code::NOT_A_PERSON, suspicion.to_string()).next(next(&suspicion))),
    }
}

/// Sets, changes or removes the PIN; [`admit`] has seen who asks, and whether the old one is right. Durable in the log
/// before it holds.
pub async fn change(shared: &Shared, asked: PinChange, peer: &Peer) -> Outcome<PinStatus> {
    let parts = &shared.parts;
    if let Some(new) = &asked.new {
        hub::pin::is_fit(new.reveal()).map_err(failure)?;
    }
    let about = match (parts.pin.is_set(), &asked.new) {
        (false, Some(_)) => "set",
        (true, Some(_)) => "changed",
        (_, None) => "removed",
    };
    let deed = Deed::done(Name::ApprovalPin, peer, Some(about.to_owned()));
    shared.attempts.write(deed.clone()).await?;
    let change = move |pin: &Pin| {
        pin.change(asked.old.as_ref().map(PinCode::reveal), asked.new.as_ref().map(PinCode::reveal))?;
        Ok(PinStatus { pin_set: pin.is_set() })
    };
    let status = on_pool(parts, change).await.inspect_err(|failure| shared.attempts.failed(deed, failure))?;
    tracing::info!(pin_set = status.pin_set, "the PIN was changed");
    Ok(status)
}

/// Clients with a process. Those over HTTP have none that could be told: their hosts may run anywhere.
fn attached(clients: &[ClientView]) -> Vec<Attached> {
    let one = |client: &ClientView| {
        let speaker = match client.transport.as_str() {
            "stdio" => Speaker::Adapter,
            _ => Speaker::Host,
        };
        Some(Attached { name: client.name.clone(), pid: client.process?, speaker })
    };
    clients.iter().filter_map(one).collect()
}

/// Where nothing can be told of processes, the first PIN is taken while there is nobody who could be mistaken for the
/// person: no client and no running server.
fn nobody_else_is_here(status: &Status) -> bool {
    status.clients.is_empty() && status.servers.iter().all(|server| server.pid.is_none())
}

fn next(suspicion: &Suspicion) -> &'static str {
    match suspicion {
        Suspicion::Host(_) | Suspicion::Server => {
            "do it in a terminal that neither a host nor a server started; with a PIN, set there, it can be done from here too:  callgate approval pin"
        }
        Suspicion::Untold => "set a PIN while no host is attached and no server runs:  callgate approval pin",
    }
}

/// People look for this when they wonder who tries. A body that cannot be read was no attempt at anything.
fn refused(name: Name, shared: &Shared, peer: &Peer, failure: &Failure) {
    if ATTEMPTS.contains(&failure.0.code.as_str()) {
        shared.attempts.refused(name, peer, failure);
    }
    if failure.0.code != code::PIN_REQUIRED {
        tracing::warn!(operation = name.as_str(), by = %peer.name(), code = %failure.0.code, "refused what only a person may do");
    }
}

/// Hashing takes long on purpose, and the file is synced.
async fn on_pool<T: Send + 'static>(
    parts: &ControlParts,
    work: impl FnOnce(&Pin) -> Result<T, PinError> + Send + 'static,
) -> Outcome<T> {
    let pin = Arc::clone(&parts.pin);
    let done = tokio::task::spawn_blocking(move || work(&pin)).await;
    done.map_err(|_| Failure::new("internal", "the PIN could not be compared"))?.map_err(failure)
}

fn failure(error: PinError) -> Failure {
    let code = match error {
        PinError::Required => code::PIN_REQUIRED,
        PinError::Wrong { .. } => code::PIN_WRONG,
        PinError::Locked { .. } => code::PIN_LOCKED,
        PinError::Length => "bad_input",
        PinError::Hash(_) | PinError::File(_) => "io",
    };
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Failure::new(code, format!("{error}{cause}"))
}
