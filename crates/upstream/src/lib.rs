//! One MCP server: launch, connect, list, call, watch, stop. Knows nothing of other servers, of policy
//! (but for the word `Permit`), the database or the keychain.

pub mod environ;
#[cfg(unix)]
pub mod guard;
#[cfg(unix)]
pub mod launch;
#[cfg(unix)]
pub mod logs;
#[cfg(unix)]
pub mod search_path;
pub mod spec;

pub use spec::{Process, Spec, Transport};
