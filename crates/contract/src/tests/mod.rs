//! Tests of the whole crate by its public face.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod definitions;
mod hashes;
mod names;
mod visible;
