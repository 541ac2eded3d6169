//! `callgate logs` and `callgate server logs`

use super::fault::{Exit, Fault};
use super::out::Out;
use crate::args::LogRange;
use crate::show;
use operator::client::blocking::Client;
use operator::op;
use operator::words::{LogFilter, ServerLogs, Tail};

/// The hub's own log.
pub fn hub(range: LogRange, hub: &Client, out: &Out) -> Result<Exit, Fault> {
    for line in hub.lines::<op::Logs>(&LogFilter { lines: range.lines, tail: tail(range) })? {
        let line = line?;
        out.line(&line, |screen| show::logs::hub(&line, screen))?;
    }
    Ok(Exit::Done)
}

/// A server's log.
pub fn server(name: String, range: LogRange, hub: &Client, out: &Out) -> Result<Exit, Fault> {
    for line in hub.lines::<op::ServerLogs>(&ServerLogs { name, lines: range.lines, tail: tail(range) })? {
        let line = line?;
        out.line(&line, |_| show::logs::server(&line))?;
    }
    Ok(Exit::Done)
}

const fn tail(range: LogRange) -> Tail {
    if range.follow { Tail::Follow } else { Tail::Last }
}
