//! Stdio, socket and HTTP transports with bounds, and the four era adapters. Knows no servers, hosts or policy.

pub mod era;
pub mod http;
pub mod linger;
pub mod link;
pub mod peer;
pub mod pipe;
pub mod stdio;
pub mod task;
