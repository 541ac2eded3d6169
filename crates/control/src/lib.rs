//! Door for the person: serves the closed list of `operator` on a local socket, over HTTP/1.1.
//! Never on a TCP port, never to another user, never with an agent's token; knows nothing of MCP.

mod accept;
mod audit;
mod events;
mod logs;
mod operations;
mod person;
mod problems;
mod routes;
#[cfg(unix)]
mod socket;
#[cfg(windows)]
#[path = "socket_windows.rs"]
mod socket;
mod views;

#[cfg(all(test, unix))]
mod tests;

pub use accept::serve;
pub use audit::{AuditSource, Decided, With};
pub use logs::{Live, LogLines, LogOf, LogSource};
pub use operations::{config_paths, config_report};
pub use person::Deed;
pub use socket::Door;

use hub::config::Places;
use hub::operate::OperatorHandle;
use hub::pin::Pin;
use hub::tokens::Tokens;
use std::sync::Arc;

/// What the door needs.
#[derive(Clone)]
pub struct ControlParts {
    /// The person's handle of the hub.
    pub hub: OperatorHandle,
    /// The logs.
    pub logs: Arc<dyn LogSource>,
    /// The audit log.
    pub audit: Arc<dyn AuditSource>,
    /// The tokens of HTTP clients.
    pub tokens: Arc<Tokens>,
    /// The person's PIN.
    pub pin: Arc<Pin>,
    /// Where everything is.
    pub places: Places,
}
