//! A log file that keeps within its size.

#[cfg(unix)]
#[path = "folder.rs"]
mod folder;
#[cfg(windows)]
#[path = "folder_windows.rs"]
mod folder;

pub use folder::Folder;

use std::fs::File;
use std::io::{self, Write};

/// How large a log may get.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of one file.
    pub size: u64,
    /// Older files that are kept, numbered from 1.
    pub old: u32,
}

impl Default for Bounds {
    /// 16 MiB for each server.
    fn default() -> Bounds {
        Bounds { size: 4 << 20, old: 3 }
    }
}

/// A file that starts anew when it is full. Each write goes into one file whole.
#[derive(Debug)]
pub struct Rotating {
    folder: Folder,
    stem: String,
    bounds: Bounds,
    file: Option<(File, u64)>,
}

impl Rotating {
    /// `STEM.log` in the folder; opened at the first write.
    pub fn new(folder: Folder, stem: String, bounds: Bounds) -> Rotating {
        Rotating { folder, stem, bounds, file: None }
    }

    fn name(&self, number: u32) -> String {
        if number == 0 { format!("{}.log", self.stem) } else { format!("{}.log.{number}", self.stem) }
    }

    fn open(&self) -> io::Result<(File, u64)> {
        self.folder.append(&self.name(0))
    }

    fn rotate(&self) -> io::Result<()> {
        let missing = |result: io::Result<()>| match result {
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        for number in (0..self.bounds.old).rev() {
            missing(self.folder.rename(&self.name(number), &self.name(number + 1)))?;
        }
        if self.bounds.old == 0 {
            missing(self.folder.remove(&self.name(0)))?;
        }
        Ok(())
    }
}

impl Write for Rotating {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (mut file, mut size) = match self.file.take() {
            Some(open) => open,
            None => self.open()?,
        };
        if size > 0 && size + bytes.len() as u64 > self.bounds.size {
            // Windows renames no open file.
            drop(file);
            self.rotate()?;
            (file, size) = self.open()?;
        }
        file.write_all(bytes)?;
        self.file = Some((file, size + bytes.len() as u64));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rustix::fs::{CWD, FileType, Mode};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::Path;

    fn log(home: &Path, bounds: Bounds) -> Rotating {
        Rotating::new(Folder::open(&home.join("logs")).unwrap(), "x".into(), bounds)
    }

    fn read(home: &Path, name: &str) -> String {
        fs::read_to_string(home.join("logs").join(name)).unwrap_or_default()
    }

    #[test]
    fn a_full_file_makes_room() {
        let home = tempfile::tempdir().unwrap();
        let bounds = Bounds { size: 10, old: 2 };
        let mut file = log(home.path(), bounds);
        for text in ["aaaa\n", "bbbb\n", "cccc\n", "dddddddddddddddd\n", "ee\n", "ff\n"] {
            file.write_all(text.as_bytes()).unwrap();
        }
        assert_eq!(read(home.path(), "x.log"), "ee\nff\n");
        assert_eq!(read(home.path(), "x.log.1"), "dddddddddddddddd\n");
        assert_eq!(read(home.path(), "x.log.2"), "cccc\n");
        assert_eq!(fs::read_dir(home.path().join("logs")).unwrap().count(), 3);
        // What is there already counts after a restart.
        log(home.path(), bounds).write_all(b"gggg\n").unwrap();
        assert_eq!(read(home.path(), "x.log"), "gggg\n");
    }

    #[test]
    fn only_we_can_read_it() {
        let home = tempfile::tempdir().unwrap();
        let old = rustix::process::umask(Mode::empty());
        log(home.path(), Bounds::default()).write_all(b"x").unwrap();
        rustix::process::umask(old);
        let logs = home.path().join("logs");
        assert_eq!(logs.metadata().unwrap().mode() & 0o7777, 0o700);
        assert_eq!(logs.join("x.log").metadata().unwrap().mode() & 0o7777, 0o600);
        // Loosened by someone: tightened at the next opening.
        fs::set_permissions(&logs, Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(logs.join("x.log"), Permissions::from_mode(0o644)).unwrap();
        log(home.path(), Bounds::default()).write_all(b"x").unwrap();
        assert_eq!(logs.metadata().unwrap().mode() & 0o7777, 0o700);
        assert_eq!(logs.join("x.log").metadata().unwrap().mode() & 0o7777, 0o600);
    }

    #[test]
    fn a_planted_target_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join("logs").join(name);
        Folder::open(&home.path().join("logs")).unwrap();
        let victim = home.path().join("victim");
        fs::write(&victim, "mine").unwrap();

        symlink(&victim, at("x.log")).unwrap();
        assert!(log(home.path(), Bounds::default()).write_all(b"x").is_err());
        fs::remove_file(at("x.log")).unwrap();
        fs::hard_link(&victim, at("x.log")).unwrap();
        assert!(log(home.path(), Bounds::default()).write_all(b"x").is_err());
        fs::remove_file(at("x.log")).unwrap();
        rustix::fs::mknodat(CWD, at("x.log"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(log(home.path(), Bounds::default()).write_all(b"x").is_err(), "and it does not wait for a reader");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");

        let elsewhere = home.path().join("elsewhere");
        symlink(home.path().join("logs"), &elsewhere).unwrap();
        assert!(Folder::open(&elsewhere).is_err());
        // A symlink put in the place of an old file is renamed away or replaced, never written through.
        fs::remove_file(at("x.log")).unwrap();
        symlink(&victim, at("x.log.1")).unwrap();
        let mut file = log(home.path(), Bounds { size: 1, old: 1 });
        file.write_all(b"one").unwrap();
        file.write_all(b"two").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert_eq!(read(home.path(), "x.log.1"), "one");
    }
}
