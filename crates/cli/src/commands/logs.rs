//! `callgate logs` and `callgate server logs`

use super::fault::{Exit, Fault};
use super::out::Out;
use crate::args::LogRange;
use crate::show;
use operator::ClientError;
use operator::client::blocking::Client;
use operator::op;
use operator::words::{LogFilter, LogLine, ServerLogs, Tail};

/// The hub's own log.
pub fn hub(range: LogRange, hub: &Client, out: &Out) -> Result<Exit, Fault> {
    print(hub.lines::<op::Logs>(&LogFilter { lines: range.lines, tail: tail(range) })?, out)
}

/// A server's log.
pub fn server(name: String, range: LogRange, hub: &Client, out: &Out) -> Result<Exit, Fault> {
    print(hub.lines::<op::ServerLogs>(&ServerLogs { name, lines: range.lines, tail: tail(range) })?, out)
}

const fn tail(range: LogRange) -> Tail {
    if range.follow { Tail::Follow } else { Tail::Last }
}

fn print(lines: impl Iterator<Item = Result<LogLine, ClientError>>, out: &Out) -> Result<Exit, Fault> {
    for line in lines {
        let line = line?;
        out.line(&line, || show::logs::line(&line))?;
    }
    Ok(Exit::Done)
}
