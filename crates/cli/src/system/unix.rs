//! Linux and macOS: modes, sessions, signals.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, kill_process, test_kill_process};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Longest hidden line, in bytes.
const LONGEST_LINE: usize = 1024;

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

/// A line typed at the terminal that does not show. Fails where there is none; `Interrupted` where it was taken back
/// or the process is to end.
pub fn read_hidden(prompt: &str) -> io::Result<String> {
    let mut tty = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    let quiet = Quiet::new(tty.try_clone()?)?;
    let ended = Arc::new(AtomicBool::new(false));
    let ends = [signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP, signal_hook::consts::SIGINT];
    let handlers = ends.map(|signal| signal_hook::flag::register(signal, Arc::clone(&ended)));
    tty.write_all(prompt.as_bytes())?;
    let typed = typed(&tty, &ended);
    let _ = tty.write_all(b"\r\n");
    for handler in handlers.into_iter().flatten() {
        signal_hook::low_level::unregister(handler);
    }
    drop(quiet);
    typed
}

/// No echo, no line editing, no keys that end the process while the terminal is quiet; as before when dropped.
struct Quiet(File, Termios);

impl Quiet {
    fn new(tty: File) -> io::Result<Quiet> {
        let before = tcgetattr(&tty)?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(&tty, OptionalActions::Flush, &quiet)?;
        Ok(Quiet(tty, before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // A terminal that is gone has nothing to be put back.
        let _ = tcsetattr(&self.0, OptionalActions::Flush, &self.1);
    }
}

fn typed(mut tty: &File, ended: &AtomicBool) -> io::Result<String> {
    let mut line = Vec::new();
    loop {
        match poll(&mut [PollFd::new(tty, PollFlags::IN)], None) {
            Ok(_) => {}
            Err(Errno::INTR) if !ended.load(Ordering::Relaxed) => continue,
            Err(cause) => return Err(cause.into()),
        }
        let mut byte = [0];
        if tty.read(&mut byte)? == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match byte[0] {
            b'\r' | b'\n' => return String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData.into()),
            // Ctrl-C, Ctrl-D, Ctrl-Z
            3 | 4 | 26 => return Err(io::ErrorKind::Interrupted.into()),
            // Backspace: the whole of a character that takes several bytes.
            8 | 127 => while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {},
            // Ctrl-U
            21 => line.clear(),
            _ if line.len() >= LONGEST_LINE => {}
            byte => line.push(byte),
        }
    }
}

/// Returns when the system or a person tells this process to end, or its terminal goes.
pub async fn told_to_leave() {
    let end = |kind| signal(kind);
    let handlers = || {
        Ok::<_, io::Error>((
            end(SignalKind::terminate())?,
            end(SignalKind::interrupt())?,
            end(SignalKind::hangup())?,
            end(SignalKind::quit())?,
        ))
    };
    let Ok((mut term, mut int, mut hup, mut quit)) = handlers() else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
        _ = hup.recv() => {}
        _ = quit.recv() => {}
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
