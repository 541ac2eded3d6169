//! `callgate stdio`

use crate::args::Stdio;
use std::process::ExitCode;

/// Runs the adapter until its host is gone.
pub fn run(_args: Stdio) -> ExitCode {
    ExitCode::FAILURE
}
