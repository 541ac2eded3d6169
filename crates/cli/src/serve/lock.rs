//! One hub per user and home: an exclusive lock on a file that holds the pid of whoever has it.

use super::Fault;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a hub that was just killed may still hold the lock while the system takes it down.
const DYING: Duration = Duration::from_millis(300);

/// The lock; it ends with the process, however that ends.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, or tells who has it.
    pub(super) fn take(path: &Path) -> Result<Lock, Fault> {
        let broken = |error| Fault::System(format!("{} cannot be locked", path.display()), error);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(path)
            .map_err(broken)?;
        let deadline = Instant::now() + DYING;
        let is_ours = loop {
            if rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok() {
                break true;
            }
            if Instant::now() > deadline {
                break false;
            }
            // A timed poll of nothing: the system tells nobody when a lock becomes free.
            let pause = rustix::event::Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
            let _ = rustix::event::poll(&mut [], Some(&pause));
        };
        if !is_ours {
            let mut holder = String::new();
            file.read_to_string(&mut holder).map_err(broken)?;
            return Err(Fault::Running(holder.trim().parse().unwrap_or(0)));
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(broken)?;
        writeln!(file, "{}", std::process::id()).map_err(broken)?;
        Ok(Lock { _file: file })
    }
}
