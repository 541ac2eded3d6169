//! The door behind a real server on a real port, with a scripted hub behind it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answers;
mod fake;
mod gate;
mod legacy;
mod messages;
mod modern;
mod rig;
