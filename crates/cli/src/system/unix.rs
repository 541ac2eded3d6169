//! Linux and macOS: modes, sessions, signals.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Everything that this process makes is its user's alone from now on.
pub fn keep_private() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}

/// Leaves the session of whoever started us.
pub fn leave_session() {
    // Refused only to a leader of a group, who has a session of his own already.
    let _ = rustix::process::setsid();
}

/// Options for a file that nobody else may read or write, from its first byte on.
pub fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Returns when the system or a person tells this process to end.
pub async fn told_to_stop() {
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}

/// Prepares a hub that outlives its starter: no folder held. Its session it leaves by itself.
pub fn detach(command: &mut Command, _state: &Path) {
    command.current_dir("/");
}

/// Starts what was prepared.
pub fn start(command: &mut Command) -> std::io::Result<()> {
    command.spawn().map(drop)
}

/// Waits for a time: for what the system tells nobody, such as a lock that becomes free.
pub fn pause(time: Duration) {
    let timeout = rustix::event::Timespec::try_from(time).ok();
    let _ = rustix::event::poll(&mut [], timeout.as_ref());
}

/// Columns of the terminal on stdout; 0 if the system does not say.
pub fn columns() -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout()).map_or(0, |size| usize::from(size.ws_col))
}

/// Runs as the guard of a hub.
pub fn guard() -> ExitCode {
    upstream::guard::run()
}

/// Runs as the sample server.
pub fn sample_server() -> ExitCode {
    sample_server::run()
}
