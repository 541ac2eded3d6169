//! The door on Windows: a named pipe that only this user can open. Type-checked, not run yet.

use std::io;
use std::path::Path;

/// A connection.
pub(crate) type Stream = named_pipe::Server;

/// A listening pipe; the file that tells its name goes when this is dropped.
#[derive(Debug)]
pub struct Door(named_pipe::Listener);

impl Door {
    /// Listens; `path` is where the pipe's name is told. What a dead hub left there is replaced: the caller must hold
    /// the hub's lock. Needs a tokio runtime with I/O.
    pub fn open(path: &Path) -> io::Result<Door> {
        named_pipe::Listener::open(path).map(Door)
    }

    /// The next connection. The pipe lets nobody else in.
    pub(crate) async fn accept(&mut self) -> io::Result<Option<Stream>> {
        self.0.accept().await.map(Some)
    }
}

/// The process at the other end: not asked for here.
pub(crate) fn peer(_: &Stream) -> Option<u32> {
    None
}
