//! The product without a face: config, servers, catalog, routing, the road of a call, events.
//! No sockets, no SQL, no spawning.

pub mod abort;
pub mod agent;
mod ask;
pub mod backend;
pub mod catalog;
pub mod config;
pub mod core;
pub mod gate;
mod lanes;
mod murmur;
pub mod operate;
pub mod person;
pub mod pin;
pub mod prepared;
pub mod private_file;
pub mod record;
pub mod relay;
mod road;
mod secrets;
mod thing;
pub mod tokens;
mod views;
pub mod who;
