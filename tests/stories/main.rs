//! Stories with real processes. One binary; each module tells one side of the hub.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a story that cannot go on ends")]

mod attach;
mod calls;
mod cases;
mod catalog;
mod crash;
mod eras;
mod fake;
mod framing;
mod http_door;
mod http_up;
mod isolation;
mod layers;
mod lend;
mod manage;
mod order;
mod secrets;
mod single;
