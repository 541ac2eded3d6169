//! The person's PIN: typed at the terminal, without echo. Never taken from arguments, variables or stdin, where a
//! program could put it.

use super::fault::Fault;
use crate::system;
use operator::client::blocking::Client;
use operator::operations::Document;
use operator::words::PinCode;
use operator::{ClientError, Problem, code};
use std::io;

/// Does what only a person may do.
pub fn decide<O: Document>(hub: &Client, input: impl Fn(Option<PinCode>) -> O::Input) -> Result<O::Output, Fault> {
    attempt(|pin| hub.call::<O>(&input(pin)))
}

/// Tries it: where the hub wants the PIN, it is asked for until it is right or the hub has had enough.
pub fn attempt<T>(this: impl Fn(Option<PinCode>) -> Result<T, ClientError>) -> Result<T, Fault> {
    let mut pin = None;
    loop {
        let problem = match this(pin.take()) {
            Err(ClientError::Refused(problem)) => problem,
            other => return Ok(other?),
        };
        let again = match problem.code.as_str() {
            code::PIN_REQUIRED => "PIN: ".to_owned(),
            code::PIN_WRONG => format!("{}. PIN: ", operator::visible::escape(problem.message.trim_end_matches('.'))),
            _ => return Err(ClientError::Refused(problem).into()),
        };
        pin = match system::read_hidden(&again) {
            Ok(typed) => Some(PinCode::new(typed)),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => return Err(Fault::Interrupted),
            Err(_) => return Err(ClientError::Refused(unasked(problem)).into()),
        };
    }
}

fn unasked(problem: Problem) -> Problem {
    problem.next("run it in a terminal: the PIN is read from there only")
}

/// Asks for a PIN.
pub fn ask(prompt: &str) -> Result<PinCode, Fault> {
    system::read_hidden(prompt).map(PinCode::new).map_err(|cause| match cause.kind() {
        io::ErrorKind::Interrupted => Fault::Interrupted,
        _ => Fault::Usage("there is no terminal: the PIN is read from there only".into()),
    })
}

/// Asks for a new PIN, twice.
pub fn ask_twice() -> Result<PinCode, Fault> {
    let first = ask("New PIN: ")?;
    if first.reveal().is_empty() {
        return Err(Fault::Usage("the PIN is empty; to have none:  callgate approval pin --remove".into()));
    }
    if ask("New PIN once more: ")? != first {
        return Err(Fault::Usage("the two are not the same".into()));
    }
    Ok(first)
}
