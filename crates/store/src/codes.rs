//! The small numbers in audit rows and what they mean. A number is never given a second meaning.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Number of one call, unique over all runs of a home: `run << 40 | count`. 0 in rows that belong to no call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallNumber(pub u64);

impl CallNumber {
    /// Bits that count calls within a run.
    const COUNT_BITS: u32 = 40;

    /// The number before the first call of a run.
    pub(crate) fn base(run: u64) -> CallNumber {
        CallNumber(run << Self::COUNT_BITS)
    }
    /// The number after this one.
    pub fn next(self) -> CallNumber {
        CallNumber(self.0 + 1)
    }
    /// The run of the hub in which the call was made.
    pub fn run(self) -> u64 {
        self.0 >> Self::COUNT_BITS
    }
    /// Reads what `Display` wrote.
    pub fn parse(text: &str) -> Option<CallNumber> {
        let (run, count) = text.strip_prefix('c')?.split_once('-')?;
        let (run, count): (u64, u64) = (run.parse().ok()?, count.parse().ok()?);
        (run >> 23 == 0 && count >> Self::COUNT_BITS == 0).then_some(CallNumber(run << Self::COUNT_BITS | count))
    }
}

impl fmt::Display for CallNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}-{}", self.run(), self.0 & ((1 << Self::COUNT_BITS) - 1))
    }
}

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $code:literal, $text:literal;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant = $code,)+ }

        impl $name {
            /// The number in the database.
            pub const fn code(self) -> u64 {
                self as u64
            }
            /// The word in commands and exports.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)+ }
            }
            /// The one of that word.
            pub fn parse(word: &str) -> Option<$name> {
                match word { $($text => Some($name::$variant),)+ _ => None }
            }
            /// The meaning of a number; None for one that this version doesn't know.
            pub const fn from_code(code: u64) -> Option<$name> {
                match code { $($code => Some($name::$variant),)+ _ => None }
            }
        }
    };
}

codes! {
    /// What an audit row tells.
    Kind {
        /// A whole read call with all its stage times.
        Read = 1, "read";
        /// A call that may change something is about to be sent. Durable before its first byte leaves.
        Intent = 2, "intent";
        /// The end of a call that has an intent row.
        End = 3, "end";
        /// A call that was refused before anything was sent.
        Refused = 4, "refused";
        /// A call waits for a person. Durable before anybody is told.
        Asked = 5, "asked";
        /// A person or a remembered approval decided. Durable before anybody is told.
        Decision = 6, "decision";
        /// Nobody decided, or nobody came back, in time.
        Expired = 7, "expired";
        /// A retry was answered by the result of the call that it repeats; nothing ran.
        Replayed = 8, "replayed";
        /// A person said what became of a call of which nobody knew.
        Settled = 9, "settled";
        /// The hub began to run.
        Start = 16, "start";
        /// The hub stopped in order: every row before it is there.
        Stop = 17, "stop";
        /// Rows may be missing before this one; the detail says why.
        Gap = 18, "gap";
        /// A person accepted that the log no longer reaches its old anchor.
        Epoch = 19, "epoch";
        /// Rows older than they are kept were removed; the detail names the last of them and its link.
        Cut = 20, "cut";
        /// The lists of a server changed.
        Catalog = 32, "catalog";
        /// A config was applied.
        Setting = 33, "setting";
        /// A token of a client was added or removed.
        Token = 34, "token";
        /// A server was started, stopped, or failed.
        Server = 35, "server";
        /// A client came or went.
        Client = 36, "client";
        /// Definitions were approved, or seen for the first time and trusted.
        Pin = 37, "pin";
        /// An approval was remembered or forgotten.
        Grant = 38, "grant";
        /// Somebody wanted done what only a person may do, and was refused; the tool is the operation.
        Person = 39, "person";
        /// Something in the result of a call that a person should know of; the detail says what, and how often.
        Finding = 40, "finding";
        /// Values of a call were kept, sealed; the shape is their hashes.
        Values = 41, "values";
        /// Sealed values cannot be opened any more: their key is gone, or they were changed.
        Seal = 42, "seal";
    }
}

codes! {
    /// How a call ended. Words for agents are those of the outcome object.
    Outcome {
        /// Nothing ended: the row is no end.
        None = 0, "";
        /// A result without `isError`.
        Ok = 1, "ok";
        /// A result of the server with `isError`.
        ToolError = 2, "tool_error";
        /// A JSON-RPC error of the server.
        RpcError = 3, "rpc_error";
        /// Surely never sent.
        NotSent = 4, "not_sent";
        /// Sent, and nobody knows what came of it.
        OutcomeUnknown = 5, "outcome_unknown";
        /// Arguments did not match the schema.
        InvalidArguments = 16, "invalid_arguments";
        /// No such tool in this view.
        UnknownTool = 17, "unknown_tool";
        /// A rule or a person said no.
        Denied = 18, "denied";
        /// Nobody decided in time.
        ApprovalExpired = 19, "approval_expired";
        /// The definition is another one than was approved.
        DefinitionChanged = 20, "definition_changed";
        /// The tool is withheld.
        Quarantined = 21, "quarantined";
        /// The same key with other arguments.
        IdempotencyConflict = 22, "idempotency_conflict";
        /// It ran before and its result is gone.
        AlreadyRan = 23, "already_ran";
        /// No answer in time.
        Timeout = 24, "timeout";
        /// The server could not be reached or started.
        ServerUnavailable = 25, "server_unavailable";
        /// The server ended while the call ran.
        ServerCrashed = 26, "server_crashed";
        /// The result broke the tool's own schema.
        InvalidResult = 27, "invalid_result";
        /// The result was over the bound.
        ResultTooLarge = 28, "result_too_large";
        /// Too many calls wait.
        QueueFull = 29, "queue_full";
        /// A secret that the call needs could not be had.
        SecretUnavailable = 30, "secret_unavailable";
        /// The audit could not be written.
        AuditUnavailable = 31, "audit_unavailable";
        /// The client took it back.
        Cancelled = 32, "cancelled";
        /// It waits for a person: an asked row.
        Pending = 48, "pending";
        /// A person said yes: a decision row.
        Approved = 49, "approved";
        /// A person found that it ran: a settled row.
        Ran = 50, "ran";
        /// A person found that it did not run: a settled row.
        NotRan = 51, "not_ran";
    }
}

codes! {
    /// What was asked for.
    Method {
        /// Nothing: the row belongs to no call.
        None = 0, "";
        /// `tools/call`
        ToolCall = 1, "tools/call";
        /// `prompts/get`
        PromptGet = 2, "prompts/get";
        /// `resources/read`
        ResourceRead = 3, "resources/read";
        /// `completion/complete`
        Complete = 4, "completion/complete";
        /// `resources/subscribe` and `resources/unsubscribe`
        Subscribe = 5, "resources/subscribe";
        /// `tasks/…`
        Task = 6, "tasks";
        /// A method that this version doesn't know.
        Other = 255, "other";
    }
}

codes! {
    /// What a pin holds fast.
    PinKind {
        /// The definition of a tool.
        Tool = 1, "tool";
        /// The definition of a prompt.
        Prompt = 2, "prompt";
        /// The entry of a resource.
        Resource = 3, "resource";
        /// The entry of a resource template.
        Template = 4, "template";
        /// A server's instructions.
        Instructions = 5, "instructions";
        /// How a server is launched.
        Launch = 6, "launch";
    }
}

codes! {
    /// How a pin came to be.
    PinHow {
        /// It was seen for the first time and policy allowed it (docs/servers-words.md).
        FirstUse = 1, "first_use";
        /// A person approved it.
        Person = 2, "person";
    }
}
