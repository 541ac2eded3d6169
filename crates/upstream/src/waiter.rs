//! Who waits for an answer of a server, and what may come instead of one.

use bytes::Bytes;
use frame::{Answer, FaultKind, Level, Progress};
use std::borrow::Cow;

/// Why a request got no answer from its server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It could not be sent: the server is not running and cannot be started now.
    #[error("{0}")]
    Unavailable(String),
    /// It could not be sent: too much waits for this server already.
    #[error("too many requests wait for this server")]
    Full,
    /// It was sent; then the server or its connection ended.
    #[error("{0}")]
    Crashed(String),
    /// It was sent; then the server was stopped on purpose.
    #[error("{0}")]
    Stopped(String),
    /// It was sent; no sign of life came within the limit, in seconds.
    #[error("no answer within {0} s")]
    Timeout(u64),
    /// It was sent; the answer was over the limit, in bytes.
    #[error("the answer has {0} bytes or more, which is more than is accepted")]
    TooLarge(u64),
    /// It was sent; the answer cannot be read.
    #[error("the server's answer is no valid message: {0}")]
    Unreadable(Cow<'static, str>),
    /// The same of a request of the hub's own; with the answer's text.
    #[error("the server's answer is no valid message: {}", FaultKind::TooDeep)]
    TooDeep(Bytes),
}

impl Failure {
    /// Whether the server may have acted on the request.
    pub fn was_sent(&self) -> bool {
        !matches!(self, Failure::Unavailable(_) | Failure::Full)
    }
}

/// Takes what comes back for one request, on the relay thread, in arrival order; must not block.
pub trait Waiter {
    /// The bytes of the request are about to be handed to the transport. False: they must not be.
    fn sending(&mut self) -> bool;
    /// A progress notice.
    fn progress(&mut self, progress: &Progress);
    /// A log message that belongs to this request.
    fn log(&mut self, level: Level, params: &Bytes);
    /// The end; nothing follows.
    fn done(self: Box<Self>, end: Result<Answer, Failure>);
}
