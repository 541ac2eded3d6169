//! A line that is typed and does not show. The terminal is as before however this ends, short of a kill.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Longest hidden line, in bytes.
const LONGEST_LINE: usize = 1024;

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
