//! Windows: a log file that keeps within its size. Who may read it is decided by the access list that the user's own
//! profile folder hands down; none is set here. Type-checked, not run yet.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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

    fn path(&self, number: u32) -> PathBuf {
        let name = if number == 0 { format!("{}.log", self.stem) } else { format!("{}.log.{number}", self.stem) };
        self.folder.0.join(name)
    }

    fn open(&self) -> io::Result<(File, u64)> {
        let path = self.path(0);
        // A link would lead elsewhere; only the user's own processes could have put one here.
        if fs::symlink_metadata(&path).is_ok_and(|about| !about.is_file()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is something else than expected"));
        }
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        let size = file.metadata()?.len();
        Ok((file, size))
    }

    fn rotate(&mut self) -> io::Result<()> {
        let missing = |result: io::Result<()>| match result {
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        for number in (0..self.bounds.old).rev() {
            // Replaces what has that name.
            missing(fs::rename(self.path(number), self.path(number + 1)))?;
        }
        if self.bounds.old == 0 {
            missing(fs::remove_file(self.path(0)))?;
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
            // Closed before it is renamed.
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
