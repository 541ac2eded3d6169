//! Writing of the config file and of what lies beside it: whole or not at all, through symbolic links, private when
//! new, with the mode it had when not.

use super::edit::{Edit, EditError, Edited, edit};
use super::problem::{Problem, ReadError};
use super::{Places, json_schema, read, starter};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Changes one entry of a config file. A file that is absent begins with the commented default. Returns what to know
/// about the entry.
pub fn apply(file: &Path, change: &Edit) -> Result<Vec<Problem>, EditError> {
    apply_all(file, std::slice::from_ref(change))
}

/// Changes several entries: all of them or, at the first that cannot be, none.
pub fn apply_all(file: &Path, changes: &[Edit]) -> Result<Vec<Problem>, EditError> {
    let old = match read(file) {
        Ok(text) => Some(text),
        Err(ReadError::Absent(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let mut text = old.clone().unwrap_or_else(|| starter::TEXT.to_owned());
    let mut warnings = Vec::new();
    for change in changes {
        let edited: Edited = edit(file, &text, change)?;
        text = edited.text;
        warnings.extend(edited.warnings);
    }
    let now = read(file);
    let raced = match (&old, &now) {
        (Some(old), Ok(now)) => old != now,
        (None, Err(ReadError::Absent(_))) => false,
        (Some(_) | None, Ok(_) | Err(_)) => true,
    };
    if raced {
        return Err(EditError::Raced);
    }
    replace(file, &text).map_err(|source| EditError::Write { file: file.to_owned(), source })?;
    Ok(warnings)
}

/// Writes the commented default config if there is none.
pub fn prepare(places: &Places) -> io::Result<()> {
    if !places.config.try_exists()? {
        replace(&places.config, starter::TEXT)?;
    }
    Ok(())
}

/// Writes the JSON Schema beside the config if that is not current.
pub fn publish(places: &Places) -> io::Result<()> {
    let schema = json_schema();
    if std::fs::read(places.schema()).ok().as_deref() != Some(schema.as_bytes()) {
        replace(&places.schema(), schema)?;
    }
    Ok(())
}

/// The new text takes the place of the file in one step, and is on the disk before that.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let target = target(file)?;
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = target.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?.to_string_lossy();
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let temporary = folder.join(format!(".{name}.{:016x}.tmp", u64::from_ne_bytes(random)));
    let written = create(&temporary)
        .and_then(|mut new| {
            new.write_all(text.as_bytes())?;
            keep_mode(&target, &new)?;
            new.sync_all()
        })
        .and_then(|()| std::fs::rename(&temporary, &target));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
        return written;
    }
    sync_folder(folder)
}

/// Where a chain of symbolic links ends, whether there is a file or not.
pub(super) fn target(file: &Path) -> io::Result<PathBuf> {
    let mut path = file.to_owned();
    for _ in 0..32 {
        match std::fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("")).join(next),
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => {
                return Ok(path);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

#[cfg(unix)]
fn create(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Mode and, as far as we may, owner of the file that is replaced.
#[cfg(unix)]
fn keep_mode(target: &Path, new: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let Ok(old) = std::fs::metadata(target) else { return Ok(()) };
    let own = new.metadata()?;
    if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
        // Only root may give a file away; an editor that cannot do so keeps it too.
        let _ = fchown(new, Some(old.uid()), Some(old.gid()));
    }
    new.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn keep_mode(_: &Path, _: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
