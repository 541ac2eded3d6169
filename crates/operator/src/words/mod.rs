//! Inputs, outputs and events of the operations. Plain words: times in milliseconds since 1970, text as servers sent
//! it (a front end must make it visible before it shows it), secrets never.

mod approval;
mod audit;
mod call;
mod catalog;
mod config;
mod decision;
mod event;
mod log;
mod policy;
mod raw;
mod remembered;
mod server;
mod status;
mod token;
mod tool;
mod verdict;

pub use approval::{
    Approval, ApprovalDetail, ApprovalFilter, ApprovalId, ApprovalKind, ApprovalList, ApprovalPart, ApprovalState,
};
pub use audit::{
    AuditAccept, AuditAccepted, AuditCall, AuditExport, AuditFilter, AuditOpen, AuditPage, AuditQuery, AuditReport,
    AuditRow, AuditTail, AuditTake, AuditTrail, AuditValue, AuditValues,
};
pub use call::{Call, CallFilter, CallList, CallSettle, CallSettled, CallStanding, Finding, PauseState, Rest, Resume};
pub use catalog::{
    CatalogApprove, CatalogApproved, CatalogDiff, CatalogFilter, DiffLine, DiffSide, DiffWord, EntryKind, EntryReview,
    ServerReview,
};
pub use config::{ConfigChange, ConfigPaths, ConfigProblem, ConfigReport};
pub use decision::{Approve, Decided, Decision, DecisionKind, Deny, Follows, PinChange, PinStatus, Winner};
pub use event::Event;
pub use log::{LogFilter, LogLine, ServerLogs, Tail};
pub use policy::{
    Explained, PolicyAsk, PolicyExplained, PolicyProblem, PolicyReport, PolicyTotals, RuleView, Severity,
};
pub use raw::Raw;
pub use remembered::{Forget, Forgotten, Remembered, RememberedFilter, RememberedList};
pub use server::{Server, ServerAdd, ServerDetail, ServerList, ServerName, ServerState, Transport};
pub use status::{Attached, HeldConfig, Nothing, Relay, Status, Stopping, Waiting};
pub use token::{NewToken, Token, TokenList, TokenName, TokenRemoved};
pub use tool::{CallOutcome, CallResult, Effect, Tool, ToolCall, ToolDetail, ToolFilter, ToolList, ToolName};
pub use verdict::{PinCode, PinState, Scope, Then, Tier};
