//! Door for agents: MCP over socket and HTTP.
