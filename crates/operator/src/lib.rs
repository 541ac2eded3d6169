//! What a person can ask of the hub: the closed list of operations, their words, and the client for `operator.sock`.
//! Shared by the door that serves them, the command line and the app. It must never know how the hub does any of it.

pub mod client;
pub mod operations;
mod problem;
pub mod typescript;
pub mod words;

pub use client::{Client, ClientError};
pub use contract::visible;
pub use operations::{Mark, Name, Operation, Shape, op};
pub use problem::{Problem, code};
