//! The real door and the real client around a fake hub that answers operations.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod door;
pub(crate) mod fake;
mod operations;
mod person;
