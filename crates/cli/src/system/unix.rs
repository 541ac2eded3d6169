//! Linux and macOS: modes, sessions, signals.

mod hidden;

pub use hidden::read_hidden;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, kill_process, test_kill_process};
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

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

/// What tells a program with a screen to leave: a signal to end, a terminal that goes, or a key of the terminal.
pub struct Ends {
    told: [Signals; 2],
    keys: [Signals; 2],
}

impl Ends {
    /// Listens from now on. The signals do nothing else any more.
    pub fn listen() -> io::Result<Ends> {
        Ok(Ends { told: [signal(SignalKind::terminate())?, signal(SignalKind::hangup())?], keys: Ends::keys()? })
    }

    fn keys() -> io::Result<[Signals; 2]> {
        Ok([signal(SignalKind::interrupt())?, signal(SignalKind::quit())?])
    }

    /// Returns when one of them comes.
    pub async fn come(&mut self) {
        let ([term, hup], [int, quit]) = (&mut self.told, &mut self.keys);
        tokio::select! {
            _ = term.recv() => {}
            _ = hup.recv() => {}
            _ = int.recv() => {}
            _ = quit.recv() => {}
        }
    }

    /// Forgets the keys that came so far: they were typed at another program that had the terminal.
    pub async fn forget_keys(&mut self) -> io::Result<()> {
        // The runtime hands on what came while it did not run.
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.keys = Ends::keys()?;
        Ok(())
    }
}

/// Stops this process until its shell lets it go on.
pub fn suspend() {
    // With a shell that knows no jobs nothing happens.
    let _ = kill_process(getpid(), Signal::TSTP);
}

/// Whether there is such a process.
pub fn is_running(pid: i32) -> bool {
    // One of another user cannot be asked, and is there.
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// The editor where none is named.
pub const EDITOR: &str = "vi";

/// A command line in words, as a shell would split it; None where a quote is open.
pub fn split(line: &str) -> Option<Vec<String>> {
    shlex::split(line)
}

/// A folder that nobody else may enter.
pub fn private_folder(builder: &mut DirBuilder) -> &mut DirBuilder {
    builder.mode(0o700)
}

/// Runs as the guard of a hub.
pub fn guard() -> ExitCode {
    upstream::guard::run()
}

/// Runs as the sample server.
pub fn sample_server() -> ExitCode {
    sample_server::run()
}
