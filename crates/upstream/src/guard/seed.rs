//! The first guard of a hub: a fork of the hub's own process from before it had threads, files or secrets. It shares
//! the hub's pages and costs no second loading of the binary. A guard that takes its place is the binary run again.

use std::io;
use std::os::unix::net::UnixStream;
use std::process::exit;

/// A guard that waits for its hub's first word; it leaves when this is dropped.
pub struct Seed {
    pub(crate) socket: UnixStream,
    pub(crate) pid: i32,
}

/// Makes a guard of this process. To be called first of all: what is open by then stays open in the guard, a lock
/// too. Refused by the system when there is a second thread.
pub fn sow() -> io::Result<Seed> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    if let Some(child) = safe_fork::fork()? {
        let pid = i32::try_from(child.pid()).map_err(io::Error::other)?;
        return Ok(Seed { socket: ours, pid });
    }
    drop(ours);
    let prepared = (|| {
        rustix::stdio::dup2_stdin(&theirs)?;
        rustix::stdio::dup2_stdout(std::fs::OpenOptions::new().write(true).open("/dev/null")?)?;
        std::env::set_current_dir("/")
    })();
    drop(theirs);
    match prepared.and_then(|()| super::guard()) {
        Ok(()) => exit(0),
        Err(fault) => {
            super::complain(&fault);
            exit(1)
        }
    }
}
