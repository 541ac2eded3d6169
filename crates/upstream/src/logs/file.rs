//! A log file that nobody else can read and that keeps within its size. Follows no symlink, and never blocks on what
//! is no plain file.

use rustix::fs::{CWD, FileType, Mode, OFlags, fchmod, fstat, mkdirat, open, openat, renameat, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

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

/// A folder that only we can enter.
#[derive(Clone, Debug)]
pub struct Folder(Arc<OwnedFd>);

impl Folder {
    /// Made with mode 0700 if it is missing; refused if it is a symlink or another user's, tightened if it is open.
    pub fn open(path: &Path) -> io::Result<Folder> {
        match mkdirat(CWD, path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(fault) => return Err(fault.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = open(path, flags, Mode::empty())?;
        own(&folder, FileType::Directory, Mode::RWXU)?;
        Ok(Folder(Arc::new(folder)))
    }

    /// Reads a file of the folder whole; `None` if there is none.
    pub fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        match openat(&*self.0, name, flags, Mode::empty()) {
            Ok(file) => {
                let mut bytes = Vec::new();
                io::Read::read_to_end(&mut File::from(file), &mut bytes)?;
                Ok(Some(bytes))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(fault) => Err(fault.into()),
        }
    }
}

/// Of the expected kind, ours, and for nobody else.
fn own(file: &OwnedFd, kind: FileType, mode: Mode) -> io::Result<u64> {
    let about = fstat(file)?;
    if FileType::from_raw_mode(about.st_mode) != kind {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is something else than expected"));
    }
    if about.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    // A second name elsewhere may be readable by others.
    if kind == FileType::RegularFile && about.st_nlink != 1 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it has a second name"));
    }
    if about.st_mode & 0o077 != 0 {
        fchmod(file, mode)?;
    }
    Ok(u64::try_from(about.st_size).unwrap_or_default())
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
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = openat(&*self.folder.0, self.name(0), flags, mode)?;
        let size = own(&file, FileType::RegularFile, mode)?;
        Ok((File::from(file), size))
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file = None;
        let folder = self.folder.0.as_fd();
        let missing = |result: Result<(), Errno>| match result {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(fault) => Err(fault),
        };
        for number in (0..self.bounds.old).rev() {
            missing(renameat(folder, self.name(number), folder, self.name(number + 1)))?;
        }
        if self.bounds.old == 0 {
            missing(unlinkat(folder, self.name(0), rustix::fs::AtFlags::empty()))?;
        }
        Ok(())
    }
}

impl Write for Rotating {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut open = match self.file.take() {
            Some(open) => open,
            None => self.open()?,
        };
        if open.1 > 0 && open.1 + bytes.len() as u64 > self.bounds.size {
            self.rotate()?;
            open = self.open()?;
        }
        open.0.write_all(bytes)?;
        open.1 += bytes.len() as u64;
        self.file = Some(open);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

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
