//! Inputs, outputs and events of the operations. Plain words: times in milliseconds since 1970, text as servers sent
//! it (a front end must make it visible before it shows it), secrets never.

mod config;
mod event;
mod log;
mod raw;
mod server;
mod status;
mod token;
mod tool;

pub use config::{ConfigChange, ConfigPaths, ConfigProblem, ConfigReport};
pub use event::Event;
pub use log::{LogFilter, LogLine, ServerLogs, Tail};
pub use raw::Raw;
pub use server::{Server, ServerAdd, ServerDetail, ServerList, ServerName, ServerState, Transport};
pub use status::{Attached, Nothing, Relay, Status, Stopping};
pub use token::{NewToken, Token, TokenList, TokenName, TokenRemoved};
pub use tool::{CallOutcome, CallResult, Effect, Tool, ToolCall, ToolDetail, ToolFilter, ToolList, ToolName};
