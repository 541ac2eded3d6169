//! Windows: where logs lie. Who may read them is decided by the access list that the user's own profile folder hands
//! down; none is set here. Type-checked, not run yet.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A folder of logs.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Made if it is missing; refused if it is a link.
    pub fn open(path: &Path) -> io::Result<Folder> {
        match fs::create_dir(path) {
            Err(fault) if fault.kind() != io::ErrorKind::AlreadyExists => return Err(fault),
            Ok(()) | Err(_) => {}
        }
        if fs::symlink_metadata(path)?.is_dir() {
            return Ok(Folder(path.into()));
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is something else than expected"))
    }

    /// Reads a file of the folder whole; `None` if there is none.
    pub fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.0.join(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Opens a file for appending, made if it is missing; its size in bytes.
    pub(super) fn append(&self, name: &str) -> io::Result<(File, u64)> {
        let path = self.0.join(name);
        // A link would lead elsewhere; only the user's own processes could have put one here.
        if fs::symlink_metadata(&path).is_ok_and(|about| !about.is_file()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is something else than expected"));
        }
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        let size = file.metadata()?.len();
        Ok((file, size))
    }

    /// Gives a file another name, in place of what has that name.
    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }
}
