//! A small honest MCP server for first runs, tests and benchmarks.
