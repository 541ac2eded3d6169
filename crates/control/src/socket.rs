//! The socket in the run folder: it appears under its name complete, with mode 0600, or not at all.

use rustix::process::geteuid;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::net::{UnixListener, UnixStream};

/// A connection.
pub(crate) type Stream = UnixStream;

/// A listening socket; its file goes when this is dropped.
#[derive(Debug)]
pub struct Door {
    listener: UnixListener,
    path: PathBuf,
    inode: u64,
}

impl Door {
    /// Listens at `path`. What a dead hub left there is replaced: the caller must hold the hub's lock.
    /// The socket is made inside a folder of its own (0700) and moved to its place, so that nobody ever sees it open.
    /// Needs a tokio runtime with I/O.
    pub fn open(path: &Path) -> io::Result<Door> {
        let nest = path.with_extension("new");
        clear(&nest)?;
        DirBuilder::new().mode(0o700).create(&nest)?;
        let fresh = nest.join("s");
        let opened = listen(&fresh).and_then(|(listener, inode)| fs::rename(&fresh, path).map(|()| (listener, inode)));
        let cleared = clear(&nest);
        let (listener, inode) = opened?;
        cleared?;
        Ok(Door { listener, path: path.into(), inode })
    }

    /// The next connection; `None` if it is of another user.
    pub(crate) async fn accept(&mut self) -> io::Result<Option<Stream>> {
        let (stream, _) = self.listener.accept().await?;
        Ok(is_ours(&stream).then_some(stream))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // Another hub may have put its own there since.
        if fs::symlink_metadata(&self.path).is_ok_and(|meta| meta.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The folder and the mode of the socket keep others out already; this holds even if somebody has loosened them.
fn is_ours(stream: &Stream) -> bool {
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == geteuid().as_raw() => true,
        Ok(peer) => {
            tracing::warn!(uid = peer.uid(), pid = peer.pid(), "operator.sock: refused another user");
            false
        }
        Err(error) => {
            tracing::warn!(%error, "operator.sock: refused a connection of an unknown user");
            false
        }
    }
}

/// The process at the other end.
pub(crate) fn peer(stream: &Stream) -> Option<u32> {
    u32::try_from(stream.peer_cred().ok()?.pid()?).ok()
}

fn listen(path: &Path) -> io::Result<(UnixListener, u64)> {
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok((listener, fs::symlink_metadata(path)?.ino()))
}

/// Removes the nest of an interrupted start; never follows it elsewhere.
fn clear(nest: &Path) -> io::Result<()> {
    match fs::symlink_metadata(nest) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(nest),
        Ok(_) => fs::remove_file(nest),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[tokio::test]
    async fn the_socket_is_closed_to_others_and_replaces_a_stale_one() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("operator.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        fs::create_dir_all(path.with_extension("new")).unwrap();
        let door = Door::open(&path).unwrap();
        assert_eq!(fs::symlink_metadata(&path).unwrap().mode() & 0o7777, 0o600);
        tokio::net::UnixStream::connect(&path).await.unwrap();
        let second = Door::open(&path).unwrap();
        drop(door);
        tokio::net::UnixStream::connect(&path).await.unwrap();
        drop(second);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }
}
