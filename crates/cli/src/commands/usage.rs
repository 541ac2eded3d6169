//! What is typed: parsed, or answered with help, the version, or why it makes no sense.

use super::fault::{Exit, Fault};
use super::out::{Form, Out};
use crate::args::Globals;
use clap::Parser;
use clap::error::ErrorKind;
use serde::Serialize;
use std::ffi::OsString;
use std::process::ExitCode;

/// `callgate --version --json`
#[derive(Serialize)]
struct Version {
    version: &'static str,
}

/// Parses `words`, the first of which is the program; on anything but a command it says what there is to say.
///
/// # Errors
/// The exit code of a process that has nothing more to do.
pub fn parse<T: Parser>(words: Vec<OsString>) -> Result<T, ExitCode> {
    let form = form(&words);
    T::try_parse_from(words).map_err(|error| answer(&error, form))
}

/// Before anything is parsed, and also where nothing can be.
fn form(words: &[OsString]) -> Form {
    let ours = words.iter().take_while(|word| *word != "--");
    if ours.into_iter().any(|word| word == "--json") { Form::Json } else { Form::Text }
}

fn answer(error: &clap::Error, form: Form) -> ExitCode {
    match (error.kind(), form) {
        (ErrorKind::DisplayVersion, Form::Json) => {
            let out = Out::of_process(&Globals { json: true, config: None });
            match out.document(&Version { version: env!("CARGO_PKG_VERSION") }, |_| String::new()) {
                Ok(exit) => exit.into(),
                Err(fault) => fault.report(form),
            }
        }
        (ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, _) | (_, Form::Text) => {
            // Where nobody reads there is nobody to tell.
            let _ = error.print();
            if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
        }
        (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, Form::Json) => {
            Fault::Usage("a part of the command is missing".into()).report(form)
        }
        (_, Form::Json) => Fault::Usage(reason(&error.to_string())).report(form),
    }
}

/// The reason alone, in one line, of clap's text for people.
fn reason(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let end = ["\n\nUsage:", "\n\nFor more information"].iter().filter_map(|mark| text.find(mark)).min();
    let text = text[..end.unwrap_or(text.len())].replace("\n\n", "; ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, ServeAlone};
    use clap::CommandFactory;

    fn check(line: &str, expect: &str) {
        let error = Cli::try_parse_from(line.split(' ')).map(|_| ());
        assert_eq!(error.map_err(|error| reason(&error.to_string())), Err(expect.to_owned()), "{line}");
    }

    #[test]
    fn the_reason_is_one_line() {
        check("callgate nonsense", "unrecognized subcommand 'nonsense'");
        check("callgate tool show", "the following required arguments were not provided: <NAME>");
        check("callgate status extra", "unexpected argument 'extra' found");
        check("callgate serve --port 70000", "invalid value '70000' for '--port <N>': 70000 is not in 0..=65535");
        check("callgate stats", "unrecognized subcommand 'stats'; tip: a similar subcommand exists: 'status'");
    }

    #[test]
    fn serve_alone_is_the_serve_of_the_whole_tree() {
        let shown = |command: &clap::Command| {
            let text = |help: Option<&clap::builder::StyledStr>| help.map(ToString::to_string);
            let args = command.get_arguments();
            let mut args: Vec<_> =
                args.map(|arg| (arg.get_id().to_string(), arg.is_hide_set(), text(arg.get_help()))).collect();
            args.sort();
            (args, text(command.get_about()))
        };
        let (mut whole, mut alone) = (Cli::command(), ServeAlone::command());
        whole.build();
        alone.build();
        assert_eq!(whole.find_subcommand("serve").map(shown), Some(shown(&alone)));
    }

    #[test]
    fn what_belongs_to_a_servers_command_is_not_ours() {
        let of = |line: &str| form(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(of("callgate server add x -- npx --json"), Form::Text);
        assert_eq!(of("callgate server add x --json -- npx"), Form::Json);
    }
}
