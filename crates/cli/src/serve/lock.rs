//! One hub per user and home: an exclusive lock on a file that holds the pid of whoever has it.

use super::Fault;
use crate::system;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use upstream::launch::Past;

/// How long a hub that was just killed may still hold the lock while the system takes it down.
const DYING: Duration = Duration::from_millis(300);
/// Room for any pid.
const WIDTH: usize = 10;
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(2);

/// The lock; it ends with the process, however that ends.
pub(super) struct Lock {
    file: File,
    past: Past,
}

impl Lock {
    /// Takes the lock, or tells who has it.
    pub(super) fn take(path: &Path) -> Result<Lock, Fault> {
        let broken = |error| Fault::System(format!("{} cannot be locked", path.display()), error);
        let mut options = system::private_file();
        let mut file = options.create(true).truncate(false).read(true).write(true).open(path).map_err(broken)?;
        let deadline = Instant::now() + DYING;
        let is_ours = loop {
            if file.try_lock().is_ok() {
                break true;
            }
            if Instant::now() > deadline {
                break false;
            }
            system::pause(PAUSE);
        };
        if !is_ours {
            let mut holder = String::new();
            match file.read_to_string(&mut holder) {
                // Nobody but the holder may read a locked file there.
                Err(_) if cfg!(windows) => return Err(Fault::Running(announced(path))),
                read => read.map_err(broken)?,
            };
            let pid = holder.split_whitespace().next().and_then(|pid| pid.parse().ok());
            return Err(Fault::Running(pid.unwrap_or(0)));
        }
        // Who leaves in order takes the pid out.
        let past = if file.metadata().map_err(broken)?.len() == 0 { Past::Left } else { Past::Unknown };
        // Over what is there, at one width: a file that is cut waits until the disk has what a killed hub wrote.
        let pid = format!("{:<WIDTH$}\n", std::process::id());
        file.rewind().and_then(|()| file.write_all(pid.as_bytes())).map_err(broken)?;
        Ok(Lock { file, past })
    }

    /// Whether the hub before this one left in order, with all that it had started.
    pub(super) fn past(&self) -> Past {
        self.past
    }

    /// Notes that everything that was started is gone.
    pub(super) fn all_left(&self) {
        // Where it fails the next hub looks for what is left.
        let _ = self.file.set_len(0);
    }
}

/// The pid that the running hub has told in the document beside the lock; 0 before it is ready.
fn announced(lock: &Path) -> u32 {
    let told = std::fs::read(lock.with_file_name("endpoint.json")).ok();
    let document = told.and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
    document.and_then(|document| document.get("pid")?.as_u64()?.try_into().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn whoever_comes_is_told_who_has_it_whatever_stood_there() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("hub.lock");
        for (before, left) in
            [("", true), ("7\n", false), ("4194304   \n", false), ("4194304 and more than fits\n", false)]
        {
            std::fs::write(&path, before).unwrap();
            let lock = Lock::take(&path).unwrap();
            assert_eq!(matches!(lock.past(), Past::Left), left, "{before}");
            assert!(matches!(Lock::take(&path), Err(Fault::Running(pid)) if pid == std::process::id()), "{before}");
            lock.all_left();
            drop(lock);
            assert!(matches!(Lock::take(&path).unwrap().past(), Past::Left), "{before}");
        }
    }
}
