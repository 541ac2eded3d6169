//! Small files of JSON that only their owner may read: written whole and durable or not at all, with mode 0600 from the
//! first byte. Absent is told apart from unreadable.

use serde::Serialize;
use serde::de::{DeserializeOwned, Error};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Why such a file was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// It is there, and not as we wrote it.
    #[error("{} is not {what}", .file.display())]
    Garbled {
        /// Which file.
        file: PathBuf,
        /// What it should be.
        what: &'static str,
        /// Where.
        source: serde_json::Error,
    },
    /// It cannot be read or written.
    #[error("cannot read or write {}", .file.display())]
    Io {
        /// Which file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// One such file. Its calls sync: never on a thread that others wait for.
#[derive(Debug)]
pub struct PrivateFile {
    path: PathBuf,
    what: &'static str,
    most: u64,
}

impl PrivateFile {
    /// The file at `path`, which is called `what` where it is none, and of which `most` bytes are read.
    pub fn new(path: &Path, what: &'static str, most: u64) -> PrivateFile {
        PrivateFile { path: path.into(), what, most }
    }

    /// What stands in it, if `is_sound` finds nothing wrong with that; None where there is no file.
    ///
    /// # Errors
    /// Where it cannot be read, or is not as we wrote it.
    pub fn read<T: DeserializeOwned>(
        &self,
        is_sound: impl FnOnce(&T) -> Result<(), &'static str>,
    ) -> Result<Option<T>, FileFault> {
        let Some(bytes) = read(&self.path, self.most).map_err(|source| self.io(source))? else { return Ok(None) };
        let read = serde_json::from_slice::<T>(&bytes);
        let sound = read.and_then(|read| is_sound(&read).map(|()| read).map_err(serde_json::Error::custom));
        sound.map(Some).map_err(|source| FileFault::Garbled { file: self.path.clone(), what: self.what, source })
    }

    /// Puts this in the place of whatever stood in it; durable when this returns.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn write<T: Serialize>(&self, value: &T) -> Result<(), FileFault> {
        let bytes = serde_json::to_vec_pretty(value).map_err(|error| self.io(error.into()))?;
        write(&self.path, &bytes).map_err(|source| self.io(source))
    }

    /// The same where it need not outlive the system: nothing waits for the disk.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn note<T: Serialize>(&self, value: &T) -> Result<(), FileFault> {
        let bytes = serde_json::to_vec_pretty(value).map_err(|error| self.io(error.into()))?;
        draft(&self.path, &bytes, |_| Ok(())).map_err(|source| self.io(source))
    }

    /// Takes it away; it need not be there.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn remove(&self) -> Result<(), FileFault> {
        remove(&self.path).map_err(|source| self.io(source))
    }

    fn io(&self, source: io::Error) -> FileFault {
        FileFault::Io { file: self.path.clone(), source }
    }
}

fn read(file: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    opened.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    draft(file, bytes, File::sync_all)?;
    settle(file)
}

/// `before`: what is done before it takes its place.
fn draft(file: &Path, bytes: &[u8], before: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let fresh = file.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut opened = options.open(&fresh)?;
    #[cfg(unix)]
    opened.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    opened.write_all(bytes)?;
    before(&opened)?;
    std::fs::rename(&fresh, file)
}

fn remove(file: &Path) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    }
    settle(file)
}

/// Makes the change of the folder durable.
fn settle(file: &Path) -> io::Result<()> {
    match file.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}
