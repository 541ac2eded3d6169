//! A small honest MCP server for first runs, tests and benchmarks: tools that read, write, are slow, fail, hang and
//! crash, over stdio or HTTP, in both protocol eras. One thread; it never waits for one call while another could go on.

mod calls;
mod catalog;
mod http;
mod offers;
mod out;
mod request;
mod server;
mod settings;
mod stdio;
#[cfg(test)]
mod tests;

pub use settings::{Eras, Settings, Usage};

use std::io::Write;
use std::os::fd::AsFd;
use std::process::ExitCode;

/// The hidden command `callgate sample-server`: what follows that word on the command line are its arguments.
pub fn run() -> ExitCode {
    let mut args = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned());
    args.by_ref().find(|arg| arg == "sample-server");
    match Settings::parse(args, std::env::var_os("SAMPLE_FILE").map(Into::into)) {
        Ok(settings) => serve(settings, std::io::stdin(), std::io::stdout()),
        Err(usage) => {
            warn(&usage.to_string());
            ExitCode::from(2)
        }
    }
}

/// Serves until `input` ends, or, with a port in the settings, until the process is killed.
pub fn serve(settings: Settings, input: impl AsFd, output: impl AsFd) -> ExitCode {
    if let Some(delay) = settings.start_delay {
        // No descriptor to wait for: only the time.
        let _ = rustix::event::poll(&mut [], Some(&timeout(delay)));
    }
    let done = match settings.http {
        Some(port) => http::serve(settings, port, output.as_fd()),
        None => stdio::serve(settings, input.as_fd(), output.as_fd()),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            warn(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn warn(text: &str) {
    // Nobody is left to be told when stderr is gone.
    let _ = writeln!(std::io::stderr(), "sample-server: {text}");
}

fn timeout(wait: std::time::Duration) -> rustix::event::Timespec {
    rustix::event::Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(wait.subsec_nanos()),
    }
}
