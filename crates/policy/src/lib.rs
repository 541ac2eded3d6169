//! Whether a call may run, and in which lane. The only maker of [`Permit`]; pure, time is an argument.

mod effect;
mod permit;
mod words;

pub use effect::{Effect, Hints};
pub use permit::{Permit, Request, Verdict, decide};
pub use words::{CallState, Grant, Scope, Tier};
