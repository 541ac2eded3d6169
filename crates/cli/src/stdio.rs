//! `callgate stdio`: the endpoint that a host launches. One thread; nothing but MCP on stdout; ends with its host.

mod ladder;
#[cfg(target_os = "linux")]
mod lender;
#[cfg(not(target_os = "linux"))]
#[path = "stdio/no_lender.rs"]
mod lender;
mod memory;
mod pump;
mod start;

use crate::args::Stdio;
use crate::commands::{Exit, Fault, Form, say};
use endpoint::socket::Attach;
use hub::config::Places;
use operator::Problem;
use pump::{End, Pump};
use std::process::ExitCode;
use std::time::SystemTime;

/// Runs the adapter until its host leaves.
pub fn run(options: Stdio) -> ExitCode {
    let launched = SystemTime::now();
    let form = if options.json { Form::Json } else { Form::Text };
    let places = match Places::here(options.config.as_deref()) {
        Ok(places) => places,
        Err(error) => return Fault::from(error).report(form),
    };
    let mut session = [0u8; 8];
    // Without randomness two adapters of one host look alike, nothing worse.
    let _ = getrandom::fill(&mut session);
    let attach = Attach {
        attach: 1,
        host: options.host,
        session: Some(session.iter().map(|byte| format!("{byte:02x}")).collect()),
        cwd: std::env::current_dir().ok().map(|path| path.display().to_string()),
        adapter: Some(env!("CARGO_PKG_VERSION").into()),
        mode: Some(options.mode.as_str().into()),
        server: options.server,
        profile: options.profile,
        initialize: None,
        level: None,
    };
    match Pump::new(&places, attach, launched).run() {
        Ok(End::HostLeft) => ExitCode::SUCCESS,
        Ok(End::Refused(why)) => {
            say(&Problem::new("refused", why), form);
            Exit::Usage.into()
        }
        Err(source) => Fault::io("the host's pipes failed", source).report(form),
    }
}
