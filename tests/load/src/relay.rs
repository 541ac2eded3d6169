//! The least that anything between a host and a server can do: copies bytes both ways, one blocking thread each. What it
//! costs is the price of the place, not of any work.

use std::io::{self, Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::thread;

/// Copies between its own stdin and stdout and those of a command, until one side ends.
pub fn run(command: impl IntoIterator<Item = String>) -> ExitCode {
    match start(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "load: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start(command: impl IntoIterator<Item = String>) -> io::Result<()> {
    let mut words = command.into_iter();
    let program = words.next().ok_or_else(|| io::Error::other("relay what?"))?;
    #[allow(clippy::disallowed_methods, reason = "a measuring tool owns its child")]
    let mut child = Command::new(program).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else { return Ok(()) };
    let inward = thread::spawn(move || copy(io::stdin(), to));
    copy(from, io::stdout())?;
    drop(inward);
    child.wait().map(drop)
}

fn copy(from: impl std::os::fd::AsFd, to: impl std::os::fd::AsFd) -> io::Result<()> {
    // Descriptors of their own, without the buffers of std's stdin and stdout.
    let mut from = std::fs::File::from(from.as_fd().try_clone_to_owned()?);
    let mut to = std::fs::File::from(to.as_fd().try_clone_to_owned()?);
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let length = from.read(&mut chunk)?;
        if length == 0 {
            return Ok(());
        }
        to.write_all(&chunk[..length])?;
    }
}
