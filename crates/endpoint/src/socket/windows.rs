//! The door on Windows: a named pipe that only this user can open. Type-checked, not run yet.

use std::io;
use std::path::Path;

pub(super) use wire::peer::both;

/// A connection.
pub type Stream = named_pipe::Server;

/// Where agents come in.
#[derive(Debug)]
pub struct Listener(named_pipe::Listener);

impl Listener {
    /// Listens; `path` is where the pipe's name is told. Needs a tokio runtime with I/O.
    pub fn open(path: &Path) -> io::Result<Listener> {
        named_pipe::Listener::open(path).map(Listener)
    }

    /// The next connection. The pipe lets nobody else in.
    pub(super) async fn accept(&mut self) -> io::Result<Option<Stream>> {
        self.0.accept().await.map(Some)
    }
}

/// The process at the other end: not asked for here.
pub(super) fn peer(_: &Stream) -> Option<u32> {
    None
}
