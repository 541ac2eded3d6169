//! Streamable HTTP: the link to a server, the bounded server for the agents' door, and what both share.
//! Runs on the relay thread; knows the framing of MCP over HTTP, never what a method means.

mod body;
pub mod server;
pub mod sse;
