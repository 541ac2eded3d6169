//! The product without a face: config, servers, catalog, routing, the road of a call, events.
//! No sockets, no SQL, no spawning.

pub mod agent;
pub mod config;
pub mod operate;
pub mod tokens;
