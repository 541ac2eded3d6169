//! One MCP server: launch, connect, list, call, watch, stop. Knows nothing of other servers, of policy
//! (but for the word `Permit`), the database or the keychain.

mod connect;
mod drive;
pub mod environ;
#[cfg(unix)]
pub mod guard;
mod handshake;
mod heard;
#[cfg(unix)]
pub mod launch;
#[cfg(windows)]
#[path = "launch/windows.rs"]
pub mod launch;
mod listing;
pub mod logs;
mod mirror;
mod open;
mod own;
mod parts;
mod port;
pub mod search_path;
mod server;
mod session;
pub mod spec;
mod stopping;
mod told;
mod waiter;
mod wired;

pub use listing::Listing;
pub use parts::Parts;
pub use server::{Call, Server, State, Watcher};
pub use spec::{PortOwner, Process, Spec, Transport};
pub use stopping::Stopping;
pub use waiter::{Failure, Waiter};
pub use wire::{linger, task};
