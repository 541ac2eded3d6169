//! Small files that only their owner may read: written whole and durable or not at all, with mode 0600 from the first
//! byte. Absent is told apart from unreadable.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// The file's bytes up to `most`; None where there is no file.
pub(crate) fn read(file: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    opened.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Puts these bytes in the place of whatever the file was.
pub(crate) fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = file.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut opened = options.open(&fresh)?;
    #[cfg(unix)]
    opened.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    opened.write_all(bytes)?;
    opened.sync_all()?;
    std::fs::rename(&fresh, file)?;
    settle(file)
}

/// Takes the file away; it need not be there.
pub(crate) fn remove(file: &Path) -> io::Result<()> {
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
