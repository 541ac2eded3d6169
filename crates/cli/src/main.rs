//! The callgate binary: the hub, the adapter that hosts launch, the guard of the servers, and the command line.
//! What hosts and the hub launch by themselves (`serve`, `stdio`, `guard`) is told apart first, before anything is parsed.

mod args;
mod commands;
mod serve;
mod show;
mod stdio;
mod system;
mod watch;

use args::{ServeAlone, Stdio};
use std::process::ExitCode;

fn main() -> ExitCode {
    let verb = std::env::args_os().nth(1);
    match verb.as_deref().and_then(std::ffi::OsStr::to_str) {
        // Their arguments alone: the whole command tree costs more than they have time for.
        Some("stdio") => match commands::parse::<Stdio>(std::env::args_os().skip(1).collect()) {
            Ok(args) => stdio::run(args),
            Err(exit) => exit,
        },
        Some("serve") => match commands::parse::<ServeAlone>(std::env::args_os().skip(1).collect()) {
            Ok(args) => serve::run(&args.serve, &args.globals),
            Err(exit) => exit,
        },
        Some("sample-server") => system::sample_server(),
        Some("guard") => system::guard(),
        _ => commands::run(),
    }
}
