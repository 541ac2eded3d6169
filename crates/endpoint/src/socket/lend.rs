//! Lent pipes: an adapter hands its host's stdin and stdout over, the hub reads and writes them itself, and the adapter
//! only waits. What a dead hub would have known lies in two memory files that the adapter keeps: all that was read
//! (`input`), and which of it has been answered (`marks`). Linux only; elsewhere messages are copied.

#[cfg(target_os = "linux")]
mod journal;
#[cfg(target_os = "linux")]
mod loan;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(not(target_os = "linux"))]
mod none;
#[cfg(target_os = "linux")]
mod recover;
#[cfg(target_os = "linux")]
mod source;
#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests;

#[cfg(target_os = "linux")]
pub(super) use journal::Slot;
#[cfg(target_os = "linux")]
pub(super) use loan::Loan;
#[cfg(target_os = "linux")]
pub use memory::{Memory, can_lend, offer};
#[cfg(not(target_os = "linux"))]
pub(super) use none::{LentSource, Loan, Offer, Slot, first, tell};
#[cfg(target_os = "linux")]
pub use recover::recover;
#[cfg(target_os = "linux")]
pub(super) use source::{LentSource, Offer, first, tell};

use bytes::Bytes;
use frame::{Level, Line};

/// What the adapter says when it would now lend, and the hub when it is ready to take over.
pub const LEND: &[u8] = b"{\"callgate\":{\"lend\":\"ready\"}}\n";
/// The hub's answer where it cannot take over now.
pub const KEEP: &[u8] = b"{\"callgate\":{\"lend\":\"keep\"}}\n";
/// What the adapter says when it has written its last byte: from now on the pipes are the hub's.
pub const GO: &[u8] = b"{\"callgate\":{\"lend\":\"go\"}}\n";
/// What the hub says when the host has left.
pub const LEFT: &[u8] = b"{\"callgate\":{\"lend\":\"left\"}}\n";

/// What the hub says when it lets go of a host that does not read what it is told.
pub const UNREAD: &[u8] = b"{\"callgate\":{\"lend\":\"unread\"}}\n";

/// What the hub left behind.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Messages that were read and may be unanswered, oldest first; requests among them wait for an answer.
    pub lines: Vec<Line>,
    /// The beginning of a message whose end the host has yet to send.
    pub rest: Bytes,
    /// Whether the host's stdout may stand in the middle of a line.
    pub is_inside: bool,
    /// Params of the latest `initialize` during the loan.
    pub initialize: Option<Bytes>,
    /// Log level that the host had set during the loan.
    pub level: Option<Level>,
}
