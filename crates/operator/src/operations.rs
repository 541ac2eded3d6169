//! The closed list of operations: name, mark, time limit, input, output. Every front end and the door read this one
//! table; nothing else may name an operation by text.

use crate::words;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;
use ts_rs::TS;

/// What an operation may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Changes nothing.
    Read,
    /// Changes what runs or what is configured.
    Act,
    /// Decides for a person: never from the process tree of an agent.
    Person,
}

/// How an operation answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One JSON document.
    Document,
    /// One JSON document per line, maybe without an end.
    Lines,
}

/// One operation, as a type: ties the name to its words.
pub trait Operation {
    /// Its place in the list.
    const NAME: Name;
    /// Body of the request.
    type Input: Serialize + DeserializeOwned + Send + TS + 'static;
    /// The answer, or one line of it.
    type Output: Serialize + DeserializeOwned + Send + TS + 'static;
}

/// An operation that answers with one document.
pub trait Document: Operation {}
/// An operation that answers with lines.
pub trait Lines: Operation {}

macro_rules! operations {
    ($($(#[$doc:meta])* $op:ident: $name:literal, $mark:ident, $seconds:literal s, $input:ident => $shape:ident<$output:ident>;)*) => {
        /// Name of an operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Name { $($(#[$doc])* $op),* }

        impl Name {
            /// All of them, in the order of the table.
            pub const ALL: &'static [Name] = &[$(Name::$op),*];

            /// The verb path with dots.
            pub const fn as_str(self) -> &'static str {
                match self { $(Name::$op => $name),* }
            }
            /// The operation of that name.
            pub fn parse(text: &str) -> Option<Name> {
                match text { $($name => Some(Name::$op),)* _ => None }
            }
            /// What it may do.
            pub const fn mark(self) -> Mark {
                match self { $(Name::$op => Mark::$mark),* }
            }
            /// How it answers.
            pub const fn shape(self) -> Shape {
                match self { $(Name::$op => Shape::$shape),* }
            }
            /// How long it may take until its answer begins.
            pub const fn limit(self) -> Duration {
                Duration::from_secs(match self { $(Name::$op => $seconds),* })
            }
        }

        /// The operations as types.
        pub mod op {
            use super::*;
            $(
                $(#[$doc])*
                #[derive(Clone, Copy, Debug)]
                pub struct $op;
                impl Operation for $op {
                    const NAME: Name = Name::$op;
                    type Input = words::$input;
                    type Output = words::$output;
                }
                impl $shape for $op {}
            )*
        }

        /// Calls `$visit` with each operation and its two words.
        pub(crate) fn each_word(visit: &mut impl WordVisitor) {
            $(visit.operation::<words::$input, words::$output>(Name::$op);)*
        }
    };
}

/// Something that wants to see the words of every operation.
pub(crate) trait WordVisitor {
    /// One row of the table.
    fn operation<I: TS + 'static, O: TS + 'static>(&mut self, name: Name);
}

operations! {
    /// The hub at a glance.
    Status: "status", Read, 10 s, Nothing => Document<Status>;
    /// Stops the hub: answered when it takes no more calls.
    Stop: "stop", Act, 10 s, Nothing => Document<Stopping>;
    /// All servers.
    ServerList: "server.list", Read, 10 s, Nothing => Document<ServerList>;
    /// One server in full.
    ServerShow: "server.show", Read, 10 s, ServerName => Document<ServerDetail>;
    /// Writes new entries into the config and applies it.
    ServerAdd: "server.add", Act, 30 s, ServerAdd => Document<ConfigChange>;
    /// Takes an entry out of the config and applies it.
    ServerRemove: "server.remove", Act, 30 s, ServerName => Document<ConfigChange>;
    /// Switches a server on in the config.
    ServerEnable: "server.enable", Act, 30 s, ServerName => Document<ConfigChange>;
    /// Switches a server off in the config; its process is stopped.
    ServerDisable: "server.disable", Act, 30 s, ServerName => Document<ConfigChange>;
    /// Starts a server now: answered when it is ready or has failed.
    ServerStart: "server.start", Act, 600 s, ServerName => Document<Server>;
    /// Stops a server until a person starts it again.
    ServerStop: "server.stop", Act, 60 s, ServerName => Document<Server>;
    /// Stops and starts a server.
    ServerRestart: "server.restart", Act, 660 s, ServerName => Document<Server>;
    /// What a server wrote to its stderr, and noise on its stdout.
    ServerLogs: "server.logs", Read, 10 s, ServerLogs => Lines<LogLine>;
    /// The catalog, without the definitions.
    ToolList: "tool.list", Read, 10 s, ToolFilter => Document<ToolList>;
    /// One tool with its definition.
    ToolShow: "tool.show", Read, 10 s, ToolName => Document<ToolDetail>;
    /// A call, on the same road as any agent's.
    ToolCall: "tool.call", Act, 3600 s, ToolCall => Document<CallResult>;
    /// Makes a token for an HTTP client; it is told this once.
    TokenAdd: "token.add", Person, 10 s, TokenName => Document<NewToken>;
    /// Names of the tokens.
    TokenList: "token.list", Read, 10 s, Nothing => Document<TokenList>;
    /// Makes a token worthless.
    TokenRemove: "token.remove", Person, 10 s, TokenName => Document<TokenRemoved>;
    /// The hub's own log.
    Logs: "logs", Read, 10 s, LogFilter => Lines<LogLine>;
    /// Checks the config file as it lies on disk, and changes nothing.
    ConfigCheck: "config.check", Read, 10 s, Nothing => Document<ConfigReport>;
    /// Where the config and the state are.
    ConfigPath: "config.path", Read, 10 s, Nothing => Document<ConfigPaths>;
    /// Calls that wait for a person.
    ApprovalList: "approval.list", Read, 10 s, ApprovalFilter => Document<ApprovalList>;
    /// One of them with everything that a decision is about.
    ApprovalShow: "approval.show", Read, 10 s, ApprovalId => Document<ApprovalDetail>;
    /// Lets a call run, exactly as shown or with other arguments.
    ApprovalApprove: "approval.approve", Person, 30 s, Approve => Document<Decided>;
    /// Refuses a call.
    ApprovalDeny: "approval.deny", Person, 30 s, Deny => Document<Decided>;
    /// What was approved that holds for calls to come.
    ApprovalRemembered: "approval.remembered", Read, 10 s, RememberedFilter => Document<RememberedList>;
    /// Takes some of that back: such calls ask again.
    ApprovalForget: "approval.forget", Act, 30 s, Forget => Document<Forgotten>;
    /// Sets, changes or removes the PIN that decisions need.
    ApprovalPin: "approval.pin", Person, 30 s, PinChange => Document<PinStatus>;
    /// Calls that the hub keeps a record of, unknown ones first.
    CallList: "call.list", Read, 10 s, CallFilter => Document<CallList>;
    /// Says whether an unknown call ran.
    CallSettle: "call.settle", Person, 30 s, CallSettle => Document<CallSettled>;
    /// Holds all risky calls from now on.
    Pause: "pause", Act, 10 s, Nothing => Document<PauseState>;
    /// Ends that hold.
    Resume: "resume", Person, 30 s, Resume => Document<PauseState>;
    /// What is new or changed against what was approved.
    CatalogDiff: "catalog.diff", Read, 30 s, CatalogFilter => Document<CatalogDiff>;
    /// Approves exactly what was reviewed.
    CatalogApprove: "catalog.approve", Person, 30 s, CatalogApprove => Document<CatalogApproved>;
    /// The policy, and what is wrong with it.
    PolicyCheck: "policy.check", Read, 30 s, Nothing => Document<PolicyReport>;
    /// What happens to a call, and which rule decides; nothing is called.
    PolicyExplain: "policy.explain", Read, 30 s, PolicyAsk => Document<PolicyExplained>;
    /// A page of the log, the latest first.
    AuditList: "audit.list", Read, 60 s, AuditQuery => Document<AuditPage>;
    /// What the log has of one call.
    AuditShow: "audit.show", Read, 60 s, AuditCall => Document<AuditTrail>;
    /// Values that the log keeps of one call, opened.
    AuditValues: "audit.values", Person, 60 s, AuditOpen => Document<AuditValues>;
    /// The log as it grows.
    AuditTail: "audit.tail", Read, 10 s, AuditTail => Lines<AuditRow>;
    /// Checks that the log is whole.
    AuditVerify: "audit.verify", Read, 600 s, Nothing => Document<AuditReport>;
    /// Accepts a log that no longer reaches its anchor, such as a restored backup.
    AuditAccept: "audit.accept", Person, 600 s, AuditAccept => Document<AuditAccepted>;
    /// The rows, oldest first.
    AuditExport: "audit.export", Read, 60 s, AuditExport => Lines<AuditRow>;
    /// The same with the values that are kept, opened.
    AuditTake: "audit.take", Person, 60 s, AuditTake => Lines<AuditRow>;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn names_are_verb_paths_and_found_again() {
        assert_eq!(Name::ALL.len(), 44);
        for &name in Name::ALL {
            assert_eq!(Name::parse(name.as_str()), Some(name));
            assert!(name.as_str().bytes().all(|b| b.is_ascii_lowercase() || b == b'.'), "{}", name.as_str());
            assert!(name.limit() >= Duration::from_secs(1));
        }
        assert_eq!(Name::parse("server"), None);
        assert_eq!(Name::parse("Status"), None);
    }

    #[test]
    fn only_reading_is_marked_read() {
        let marked = |mark: Mark| {
            Name::ALL.iter().filter(|name| name.mark() == mark).map(|name| name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(
            marked(Mark::Read),
            [
                "status",
                "server.list",
                "server.show",
                "server.logs",
                "tool.list",
                "tool.show",
                "token.list",
                "logs",
                "config.check",
                "config.path",
                "approval.list",
                "approval.show",
                "approval.remembered",
                "call.list",
                "catalog.diff",
                "policy.check",
                "policy.explain",
                "audit.list",
                "audit.show",
                "audit.tail",
                "audit.verify",
                "audit.export"
            ]
        );
        assert_eq!(
            marked(Mark::Person),
            [
                "token.add",
                "token.remove",
                "approval.approve",
                "approval.deny",
                "approval.pin",
                "call.settle",
                "resume",
                "catalog.approve",
                "audit.values",
                "audit.accept",
                "audit.take"
            ]
        );
    }
}
