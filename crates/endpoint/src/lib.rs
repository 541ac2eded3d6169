//! Door for agents: MCP over socket and HTTP.

pub mod http;
