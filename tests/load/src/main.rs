//! The load generator: one peer, one kind of load, one line of JSON with what was measured. Raw messages over plain
//! descriptors in one thread, so that it adds little of its own; it is also the fast server at the other end
//! (`load sample-server …`). Meant for Linux: it reads /proc.
#![allow(missing_docs, clippy::expect_used)]

mod args;
mod beside;
mod http;
mod peer;
mod pipe;
mod process;
mod relay;
mod run;
mod start;
mod wire;

use args::{Args, Mode, Target};
use peer::{Fault, Peer};
use serde_json::Value;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("sample-server") {
        return sample_server::run();
    }
    if std::env::args().nth(1).as_deref() == Some("relay") {
        return relay::run(std::env::args().skip(2));
    }
    match Args::parse(std::env::args().skip(1)).and_then(|args| measure(&args)) {
        Ok(figures) => {
            let written = writeln!(std::io::stdout(), "{figures}");
            if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(fault) => {
            let _ = writeln!(std::io::stderr(), "load: {fault}\n{}", args::USAGE);
            ExitCode::FAILURE
        }
    }
}

fn measure(args: &Args) -> Result<Value, Fault> {
    match args.mode {
        Mode::Idle => process::idle(args),
        Mode::Beside => beside::beside(args),
        Mode::Start => start::start(args),
        Mode::Ready => start::ready(args),
        Mode::Calls | Mode::List => {
            let lanes = if args.mode == Mode::List { 1 } else { args.in_flight };
            let mut peer: Box<dyn Peer> = match &args.target {
                Target::Command(command) => Box::new(pipe::Pipe::spawn(command)?),
                Target::Socket(path) => Box::new(pipe::Pipe::connect(path)?),
                Target::Url(url) => Box::new(http::Http::connect(url, args.token.as_deref(), args.era, lanes)?),
            };
            run::run(args, peer.as_mut())
        }
    }
}
