//! Files and folders that only this user may see, from their first byte, whatever the umask.
//! Never follows a link for a file of ours.

use crate::StoreFault;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// What was in the place of a file. Whatever can't be read is a [`StoreFault`], never one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Absent,
    /// A file without a byte in it.
    Empty,
    /// A file with content.
    Present,
}

/// The database inside the data folder.
pub(crate) const DATABASE: &str = "callgate.db";

/// Makes a folder of mode 0700, or brings an own one to it.
pub(crate) fn private_folder(path: &Path) -> Result<(), StoreFault> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(StoreFault::file(path, "making the folder"))?;
    let found = fs::metadata(path).map_err(StoreFault::file(path, "looking at the folder"))?;
    check_owner(path, &found)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        if found.mode() & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700))
                .map_err(StoreFault::file(path, "closing the folder to others"))?;
        }
    }
    Ok(())
}

fn check_owner(path: &Path, found: &Metadata) -> Result<(), StoreFault> {
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::uid(found) != rustix::process::geteuid().as_raw() {
        return Err(StoreFault::Untrusted { path: path.to_owned(), problem: "belongs to another user" });
    }
    #[cfg(not(unix))]
    let _ = (path, found);
    Ok(())
}

/// Options that neither follow a link nor give others a look.
pub(crate) fn private_options() -> OpenOptions {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "only the mode changes it"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    }
    options
}

/// Looks at a file of ours without changing more than a mode that is too open.
pub(crate) fn examine(path: &Path) -> Result<Found, StoreFault> {
    let looking = StoreFault::file(path, "looking at the file");
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Absent),
        found => found.map_err(looking)?,
    };
    if !found.is_file() {
        return Err(StoreFault::Untrusted { path: path.to_owned(), problem: "is no plain file" });
    }
    check_owner(path, &found)?;
    let file =
        private_options().read(true).write(true).open(path).map_err(StoreFault::file(path, "opening the file"))?;
    close_to_others(path, &file)?;
    Ok(if found.len() == 0 { Found::Empty } else { Found::Present })
}

fn close_to_others(path: &Path, file: &File) -> Result<(), StoreFault> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let found = file.metadata().map_err(StoreFault::file(path, "looking at the file"))?;
        if found.mode() & 0o077 != 0 {
            file.set_permissions(fs::Permissions::from_mode(0o600))
                .map_err(StoreFault::file(path, "closing the file to others"))?;
        }
    }
    #[cfg(not(unix))]
    let _ = (path, file);
    Ok(())
}

/// Reads a small file of ours; None where there is none.
pub(crate) fn read_private(path: &Path) -> Result<Option<Vec<u8>>, StoreFault> {
    if examine(path)? == Found::Absent {
        return Ok(None);
    }
    let reading = || StoreFault::file(path, "reading");
    let file = private_options().read(true).open(path).map_err(reading())?;
    let mut content = Vec::new();
    file.take(4096).read_to_end(&mut content).map_err(reading())?;
    Ok(Some(content))
}

/// Puts a small file in place as a whole: a reader, or a crash, finds the old content or the new.
pub(crate) fn replace_private(path: &Path, content: &[u8]) -> Result<(), StoreFault> {
    put(vec![Draft::new(path, content)?])
}

/// The same for what is worth nothing after a power loss, and so is not waited for.
pub(crate) fn replace_volatile(path: &Path, content: &[u8]) -> Result<(), StoreFault> {
    Draft::new(path, content)?.put()
}

/// A file that does not stand in its place yet.
pub(crate) struct Draft {
    file: File,
    draft: PathBuf,
    place: PathBuf,
}

impl Draft {
    /// A draft with that content, whatever an earlier one left.
    pub(crate) fn new(path: &Path, content: &[u8]) -> Result<Draft, StoreFault> {
        let writing = || StoreFault::file(path, "writing");
        let mut draft = PathBuf::from(path);
        draft.as_mut_os_string().push(".new");
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(writing()(error)),
            _ => {}
        }
        let mut file = private_options().write(true).create_new(true).open(&draft).map_err(writing())?;
        file.write_all(content).map_err(writing())?;
        Ok(Draft { file, draft, place: path.to_owned() })
    }
    /// Where it is written.
    pub(crate) fn path(&self) -> &Path {
        &self.draft
    }
    fn put(self) -> Result<(), StoreFault> {
        fs::rename(&self.draft, &self.place).map_err(StoreFault::file(&self.place, "writing"))
    }
}

/// Puts drafts of one folder in their places, in this order, each whole.
pub(crate) fn put(drafts: Vec<Draft>) -> Result<(), StoreFault> {
    for draft in &drafts {
        draft.file.sync_data().map_err(StoreFault::file(&draft.place, "writing"))?;
    }
    let folder = drafts.last().map(|draft| draft.place.clone());
    for draft in drafts {
        draft.put()?;
    }
    if let Some(path) = folder {
        sync_folder(&path);
    }
    Ok(())
}

/// Makes a rename durable where the system allows to sync a folder; elsewhere it is durable soon.
fn sync_folder(path: &Path) {
    #[cfg(unix)]
    if let Some(folder) = path.parent().and_then(|folder| File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
    #[cfg(not(unix))]
    let _ = path;
}

/// Whether a folder lies on a network file system; false where the system can't be asked.
pub(crate) fn is_on_network(dir: &Path) -> bool {
    #[cfg(target_os = "linux")]
    return rustix::fs::statfs(dir).is_ok_and(|found| is_network_kind(found.f_type as u32));
    #[cfg(not(target_os = "linux"))]
    {
        let _ = dir;
        false
    }
}

/// File system numbers of NFS, SMB (two), CIFS, 9P, Ceph, AFS (two), Coda.
#[cfg(target_os = "linux")]
fn is_network_kind(kind: u32) -> bool {
    const NETWORK: [u32; 9] =
        [0x6969, 0x517b, 0xfe53_4d42, 0xff53_4d42, 0x0102_1997, 0x00c3_6400, 0x5346_414f, 0x6b41_4653, 0x7375_7245];
    NETWORK.contains(&kind)
}

/// Looks for the database.
pub(crate) fn find_database(dir: &Path) -> Result<(PathBuf, Found), StoreFault> {
    let path = dir.join(DATABASE);
    let found = examine(&path)?;
    if found != Found::Present {
        let log = dir.join(format!("{DATABASE}-wal"));
        if examine(&log)? == Found::Present {
            return Err(StoreFault::Untrusted { path: log, problem: "is there without its database" });
        }
    }
    Ok((path, found))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_number() {
        let check = |kind, expect| assert_eq!(is_network_kind(kind), expect, "{kind:x}");
        check(0x6969, true);
        check(0xff53_4d42, true);
        check(0xef53, false);
        check(0x0102_1994, false);
        assert!(!is_on_network(Path::new("/proc")));
    }
}

/// Which file stood at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(Option<(u64, u64)>);

impl Place {
    pub(crate) fn of(path: &Path) -> Place {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Place(std::fs::symlink_metadata(path).ok().map(|file| (file.dev(), file.ino())))
        }
        // An open file can't be taken away there.
        #[cfg(not(unix))]
        {
            let _ = path;
            Place(None)
        }
    }
    /// Whether it still stands there. It costs a microsecond, once per transaction.
    pub(crate) fn holds(self, path: &Path) -> bool {
        self.0.is_none() || Place::of(path) == self
    }
}
