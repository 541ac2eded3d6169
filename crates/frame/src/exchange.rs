//! The internal form of one exchange, modern-like: every request says by itself who asks, what that client can
//! do and what it wants to be told; its answers are progress, log lines and one end.
//! The era adapters translate from and to it; nothing else in the hub knows eras.

use crate::body::Rope;
use crate::object;
use crate::params::Params;
use bytes::Bytes;
use std::cell::{Cell, OnceCell};
use std::ops::Range;
use std::rc::Rc;

/// The two families of protocol revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// With `initialize` and a session: 2024-11-05 to 2025-11-25.
    Legacy,
    /// Stateless, everything in `_meta`: 2026-07-28.
    Modern,
}

/// A protocol revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// 2024-11-05
    V2024,
    /// 2025-03-26, the one with batches.
    V2025Mar,
    /// 2025-06-18
    V2025Jun,
    /// 2025-11-25
    V2025Nov,
    /// 2026-07-28
    V2026,
}

impl Version {
    /// All of them, oldest first.
    pub const ALL: [Version; 5] =
        [Version::V2024, Version::V2025Mar, Version::V2025Jun, Version::V2025Nov, Version::V2026];
    /// The newest revision that has `initialize`.
    pub const LEGACY: Version = Version::V2025Nov;

    /// The revision's date.
    pub const fn as_str(self) -> &'static str {
        match self {
            Version::V2024 => "2024-11-05",
            Version::V2025Mar => "2025-03-26",
            Version::V2025Jun => "2025-06-18",
            Version::V2025Nov => "2025-11-25",
            Version::V2026 => "2026-07-28",
        }
    }
    /// The revision of that date.
    pub fn parse(text: &str) -> Option<Version> {
        Version::ALL.into_iter().find(|version| version.as_str() == text)
    }
    /// The family it belongs to.
    pub const fn era(self) -> Era {
        match self {
            Version::V2026 => Era::Modern,
            _ => Era::Legacy,
        }
    }
}

/// Severity of a log message (RFC 5424), as MCP names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// debug
    Debug,
    /// info
    Info,
    /// notice
    Notice,
    /// warning
    Warning,
    /// error
    Error,
    /// critical
    Critical,
    /// alert
    Alert,
    /// emergency
    Emergency,
}

impl Level {
    /// All of them, quietest first.
    pub const ALL: [Level; 8] = [
        Level::Debug,
        Level::Info,
        Level::Notice,
        Level::Warning,
        Level::Error,
        Level::Critical,
        Level::Alert,
        Level::Emergency,
    ];
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Notice => "notice",
            Level::Warning => "warning",
            Level::Error => "error",
            Level::Critical => "critical",
            Level::Alert => "alert",
            Level::Emergency => "emergency",
        }
    }
    /// The level of that name.
    pub fn parse(text: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.as_str() == text)
    }
}

/// What a client said of itself: once in `initialize`, or in each modern request.
#[derive(Debug)]
pub struct Origin {
    /// The revision it speaks.
    pub version: Version,
    /// Its `clientInfo` as sent: an assertion, never an identity.
    pub client_info: Bytes,
    /// Its capabilities as sent.
    pub capabilities: Bytes,
    /// The lowest level of log messages that it wants; None: none at all.
    pub level: Cell<Option<Level>>,
    /// What an era adapter makes of the rest once for all requests.
    pub stamp: OnceCell<Bytes>,
}

impl Origin {
    /// What was said in these words. `client_info` and `capabilities` are JSON objects.
    pub fn new(version: Version, client_info: Bytes, capabilities: Bytes, level: Option<Level>) -> Origin {
        Origin { version, client_info, capabilities, level: Cell::new(level), stamp: OnceCell::new() }
    }
    /// Whether it said on this request that it takes a task in place of a result.
    pub fn takes_tasks(&self) -> bool {
        let extensions = object::get(&self.capabilities, "extensions").filter(|_| self.version.era() == Era::Modern);
        extensions.and_then(|all| object::get(&all, TASKS)).is_some_and(|said| said.first() == Some(&b'{'))
    }
}

/// The extension by which a client is told of a task in place of a result.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";

/// One request in internal form.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The method as it stands in the protocol.
    pub method: Rc<str>,
    /// As received; reserved `_meta` keys and the client's progress token still in it.
    pub params: Params,
    /// Who asks.
    pub origin: Rc<Origin>,
    /// Whether the client gave a progress token.
    pub wants_progress: bool,
}

/// One progress notice: the params as the server sent them, and where the token stands in them.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The params object.
    pub params: Bytes,
    /// The value of `progressToken`, to be replaced by the client's own.
    pub token: Range<usize>,
}

/// The end of an exchange.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A result object in the form of `era`: the host side adapts it to its client.
    Result {
        /// Whose form it has.
        era: Era,
        /// The JSON object.
        body: Rope,
    },
    /// A JSON-RPC error object (`code`, `message`, maybe `data`).
    Error(Rope),
}

impl Answer {
    /// An error object of the hub's own making.
    pub fn error(code: i32, message: &str) -> Answer {
        Answer::Error(format!("{{\"code\":{code},\"message\":{}}}", crate::object::quote(message)).into())
    }
    /// A result of the hub's own making, without `resultType`: the modern host side adds it.
    pub fn result(body: impl Into<Rope>) -> Answer {
        Answer::Result { era: Era::Legacy, body: body.into() }
    }
}

/// Where the answers of one exchange go. Called on the relay thread, in arrival order; must not block.
pub trait Reply {
    /// A progress notice.
    fn progress(&mut self, progress: &Progress);
    /// A log message (`notifications/message` params) that belongs to this exchange.
    fn log(&mut self, level: Level, params: &Bytes);
    /// Whether somebody is still there to be told. False for good.
    fn is_there(&self) -> bool {
        true
    }
    /// The end; nothing follows.
    fn done(self: Box<Self>, answer: Answer);
    /// The same where somebody has to know whether the answer left whole. By itself: as soon as it was taken.
    fn deliver(self: Box<Self>, answer: Answer, receipt: Receipt) {
        self.done(answer);
        drop(receipt);
    }
}

/// What became of an answer on its way to its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its last byte has left.
    Left,
    /// The connection broke, or the client went, before that.
    Lost,
}

/// The mark on an answer that must not be lost unnoticed. Whoever takes it keeps it until the answer's last byte has
/// left and drops it then.
pub struct Receipt(Option<Box<dyn FnOnce(Fate)>>);

impl Receipt {
    /// `tell` is called once, on the thread of its holder.
    pub fn new(tell: impl FnOnce(Fate) + 'static) -> Receipt {
        Receipt(Some(Box::new(tell)))
    }
    /// The answer did not leave whole.
    pub fn lost(mut self) {
        self.tell(Fate::Lost);
    }
    fn tell(&mut self, fate: Fate) {
        if let Some(tell) = self.0.take() {
            tell(fate);
        }
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        self.tell(Fate::Left);
    }
}
