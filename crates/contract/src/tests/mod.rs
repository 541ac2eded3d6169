//! Tests of the whole crate by its public face.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answers;
mod arguments;
mod changes;
mod definitions;
mod findings;
mod hashes;
mod hostile;
mod json;
mod masks;
mod names;
mod numbers;
mod outcomes;
mod outputs;
mod scans;
mod schemas;
mod visible;
