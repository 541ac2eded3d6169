//! Streamable HTTP: the link to a server, the bounded server for the agents' door, and what both share.
//! Runs on the relay thread; knows the framing of MCP over HTTP, never what a method means.

mod body;
mod carrier;
mod exchange;
pub mod headers;
mod link;
mod pool;
mod remote;
pub mod server;
mod session;
pub mod sse;
mod stream;
mod target;
mod trouble;

pub use link::{HttpLimits, HttpLink};
pub use target::{AddressFault, PlainHttp, TargetFault};
pub use trouble::{FailureKind, NEEDS_SIGN_IN};

const USER_AGENT: &str = concat!("callgate/", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests;
