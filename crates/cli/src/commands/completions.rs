//! `callgate completions`

use super::fault::{Exit, Fault};
use super::out::Out;
use crate::args::Cli;
use clap::CommandFactory;
use clap_complete::Shell;

/// Prints the script.
pub fn completions(shell: Shell, out: &Out) -> Result<Exit, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "callgate", &mut script);
    out.text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
