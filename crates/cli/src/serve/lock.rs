//! One hub per user and home: an exclusive lock on a file that holds the pid of whoever has it.

use super::Fault;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

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
        if rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut holder = String::new();
            file.read_to_string(&mut holder).map_err(broken)?;
            return Err(Fault::Running(holder.trim().parse().unwrap_or(0)));
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(broken)?;
        writeln!(file, "{}", std::process::id()).map_err(broken)?;
        Ok(Lock { _file: file })
    }
}
