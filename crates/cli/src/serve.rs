//! `callgate serve`

use crate::args::{Globals, Serve};
use std::process::ExitCode;

/// Runs the hub until it is stopped.
pub fn run(_args: Serve, _globals: Globals) -> ExitCode {
    ExitCode::FAILURE
}
