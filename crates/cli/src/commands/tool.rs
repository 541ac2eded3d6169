//! `callgate tool …`

use super::fault::{Exit, Fault};
use super::out::Out;
use crate::args::Tool;
use crate::show;
use operator::client::blocking::Client;
use operator::op;
use operator::words::{CallOutcome, Raw, ToolCall, ToolFilter, ToolName};
use std::io::Read;

/// Longest arguments read from stdin, in bytes; the door accepts no more anyway.
const LONGEST_ARGUMENTS: u64 = 1024 * 1024;

/// Does one of them.
pub fn tool(command: Tool, hub: &Client, out: &Out) -> Result<Exit, Fault> {
    match command {
        Tool::List { server } => {
            let list = hub.call::<op::ToolList>(&ToolFilter { server })?;
            out.document(&list, |screen| show::tools::list(&list.tools, screen))
        }
        Tool::Show { name } => {
            let detail = hub.call::<op::ToolShow>(&ToolName { name })?;
            out.document(&detail, |screen| show::tools::detail(&detail, screen))
        }
        Tool::Call { name, arguments } => {
            let arguments = arguments.map(|text| read(&text, std::io::stdin())).transpose()?;
            let result = hub.call::<op::ToolCall>(&ToolCall { name, arguments })?;
            out.document(&result, |screen| show::result::result(&result, screen))?;
            Ok(exit(result.outcome))
        }
    }
}

/// JSON that was typed, or with `-` comes on stdin.
pub fn read(text: &str, stdin: impl Read) -> Result<Raw, Fault> {
    let mut read = String::new();
    let text = match text {
        "-" => {
            let stdin = &mut stdin.take(LONGEST_ARGUMENTS);
            stdin.read_to_string(&mut read).map_err(|cause| Fault::io("cannot read stdin", cause))?;
            &read
        }
        text => text,
    };
    Raw::parse(text).ok_or_else(|| Fault::Usage("the arguments are not JSON".into()))
}

const fn exit(outcome: CallOutcome) -> Exit {
    match outcome {
        CallOutcome::Done => Exit::Done,
        CallOutcome::ToolError | CallOutcome::RpcError => Exit::Failed,
        CallOutcome::Refused => Exit::Refused,
        CallOutcome::Pending => Exit::Pending,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn arguments_are_typed_or_read() {
        assert_eq!(read("{\"a\":1.0}", "".as_bytes()).unwrap().get(), "{\"a\":1.0}");
        assert_eq!(read("-", " {\"a\":2}\n".as_bytes()).unwrap().get(), "{\"a\":2}");
        assert!(matches!(read("{a:1}", "".as_bytes()), Err(Fault::Usage(_))));
        assert!(matches!(read("-", "".as_bytes()), Err(Fault::Usage(_))));
    }

    #[test]
    fn outcomes_have_their_exit_codes() {
        use CallOutcome::*;
        assert_eq!([Done, ToolError, RpcError, Refused, Pending].map(|outcome| exit(outcome) as u8), [0, 1, 1, 4, 5]);
    }
}
