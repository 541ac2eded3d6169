//! Where logs lie: a folder and files that nobody else can read. Follows no symlink, and never blocks on what is no
//! plain file.

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fchmod, fstat, mkdirat, open, openat, renameat, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

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

    /// Opens a file for appending, made with mode 0600 if it is missing; its size in bytes.
    pub(super) fn append(&self, name: &str) -> io::Result<(File, u64)> {
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = openat(&*self.0, name, flags, mode)?;
        let size = own(&file, FileType::RegularFile, mode)?;
        Ok((File::from(file), size))
    }

    /// Gives a file another name, in place of what has that name.
    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&*self.0, from, &*self.0, to)?)
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&*self.0, name, AtFlags::empty())?)
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
