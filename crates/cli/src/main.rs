//! The callgate binary: the hub, the adapter that hosts launch, the guard of the servers, and the command line.
//! What hosts and the hub launch by themselves (`stdio`, `guard`) is told apart first, before anything is parsed.

mod args;
mod commands;
mod serve;
mod show;
mod stdio;
mod system;
mod watch;

use args::Stdio;
use std::process::ExitCode;

fn main() -> ExitCode {
    let verb = std::env::args_os().nth(1);
    match verb.as_deref().and_then(std::ffi::OsStr::to_str) {
        // The adapter's arguments alone: the whole command tree costs more than the adapter has time for.
        Some("stdio") => match commands::parse::<Stdio>(std::env::args_os().skip(1).collect()) {
            Ok(args) => stdio::run(args),
            Err(exit) => exit,
        },
        Some("sample-server") => system::sample_server(),
        Some("guard") => system::guard(),
        _ => commands::run(),
    }
}
