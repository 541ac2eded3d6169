//! The door for agents: MCP over a Unix socket and Streamable HTTP. Holds the agents' handle and nothing a person's.

pub mod http;
pub mod socket;
