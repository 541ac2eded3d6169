//! Stories with real processes. One binary; each module tells one side of the hub.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a story that cannot go on ends")]

#[cfg(all(unix, feature = "abort-points"))]
mod abort;
#[cfg(unix)]
mod absent;
#[cfg(unix)]
mod attach;
#[cfg(unix)]
mod calls;
#[cfg(unix)]
mod cases;
#[cfg(unix)]
mod catalog;
#[cfg(unix)]
mod crash;
#[cfg(unix)]
mod eras;
#[cfg(unix)]
mod fake;
#[cfg(unix)]
mod forget;
#[cfg(unix)]
mod framing;
#[cfg(unix)]
mod gate;
#[cfg(unix)]
mod glances;
#[cfg(unix)]
mod held;
#[cfg(unix)]
mod http_cut;
#[cfg(unix)]
mod http_door;
#[cfg(unix)]
mod http_up;
#[cfg(unix)]
mod identity;
#[cfg(unix)]
mod isolation;
#[cfg(unix)]
mod keys;
#[cfg(unix)]
mod launches;
mod layers;
#[cfg(unix)]
mod legs;
#[cfg(target_os = "linux")]
mod lend;
#[cfg(unix)]
mod listening;
mod log_first;
#[cfg(unix)]
mod long;
mod loosened;
#[cfg(target_os = "linux")]
mod lost;
#[cfg(unix)]
mod manage;
#[cfg(unix)]
mod once;
#[cfg(unix)]
mod order;
#[cfg(unix)]
mod orders;
#[cfg(unix)]
mod others;
#[cfg(unix)]
mod pauses;
#[cfg(unix)]
mod person;
#[cfg(unix)]
mod pins;
#[cfg(unix)]
mod reasons;
#[cfg(unix)]
mod retries;
#[cfg(unix)]
mod rules;
#[cfg(unix)]
mod sealed;
#[cfg(unix)]
mod secrets;
#[cfg(unix)]
mod single;
#[cfg(unix)]
mod tasks;
mod threats;
#[cfg(unix)]
mod unwritten;
#[cfg(unix)]
mod values;
