//! Both ends of a connection on Windows: named pipes, also for the standard streams of servers, because those are the
//! pipes that can be waited for. Type-checked, not run yet.

use super::Reads;
use bytes::BytesMut;
use named_pipe::Server;
use std::io::{self, IoSlice};
use std::rc::Rc;

/// Where bytes come from.
#[derive(Debug)]
pub struct Source(Rc<Server>);

/// Where bytes go.
#[derive(Debug)]
pub struct Dest(Rc<Server>);

/// Both directions of one connection.
pub fn both(pipe: Server) -> (Source, Dest) {
    let pipe = Rc::new(pipe);
    (Source(Rc::clone(&pipe)), Dest(pipe))
}

impl Source {
    /// Takes our end of a pipe that a program writes into.
    pub fn from_fd(pipe: Server) -> io::Result<Source> {
        Ok(Source(Rc::new(pipe)))
    }
}

impl Reads for Source {
    async fn read(&mut self, into: &mut BytesMut) -> io::Result<usize> {
        loop {
            match self.0.try_read_buf(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.0.readable().await?,
                // How the other side's end is told here.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(0),
                read => return read,
            }
        }
    }
}

impl Dest {
    /// Takes our end of a pipe that a program reads from.
    pub fn from_fd(pipe: Server) -> io::Result<Dest> {
        Ok(Dest(Rc::new(pipe)))
    }
    pub(super) async fn writable(&self) -> io::Result<()> {
        self.0.writable().await
    }
    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }
    pub(super) fn try_write_all(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(parts)
    }
}
