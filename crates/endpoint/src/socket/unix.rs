//! The door on Linux and macOS: a Unix socket. Its folder and mode keep other users out; `accept` keeps them out where
//! both fail.

use std::io;
use std::path::Path;
use std::rc::Rc;
use tokio::net::UnixStream;
use wire::peer::{Dest, Source};

/// A connection.
pub type Stream = UnixStream;

/// Where agents come in.
#[derive(Debug)]
pub struct Listener {
    socket: tokio::net::UnixListener,
    own: u32,
}

impl Listener {
    /// Listens at `path`, which must be free. Needs a tokio runtime with I/O.
    pub fn open(path: &Path) -> io::Result<Listener> {
        use std::os::unix::fs::PermissionsExt;
        let socket = tokio::net::UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Listener { socket, own: rustix::process::geteuid().as_raw() })
    }

    /// The next connection; `None` if it is of another user.
    pub(super) async fn accept(&mut self) -> io::Result<Option<Stream>> {
        let (stream, _) = self.socket.accept().await?;
        let is_own = stream.peer_cred().is_ok_and(|peer| peer.uid() == self.own || peer.uid() == 0);
        Ok(is_own.then_some(stream))
    }
}

/// Both directions of a connection.
pub(super) fn both(stream: Stream) -> (Source, Dest) {
    let stream = Rc::new(stream);
    (Source::Socket(Rc::clone(&stream)), Dest::Socket(stream))
}

/// The process at the other end.
pub(super) fn peer(stream: &Stream) -> Option<u32> {
    u32::try_from(stream.peer_cred().ok()?.pid()?).ok()
}
