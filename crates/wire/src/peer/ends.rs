//! The ends of a connection: pipes and Unix sockets, read in bulk and written without blocking.

use super::Reads;
use bytes::BytesMut;
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Where bytes come from.
#[derive(Debug)]
pub enum Source {
    /// A pipe's reading end.
    Pipe(pipe::Receiver),
    /// A socket.
    Socket(Rc<UnixStream>),
}

/// Where bytes go.
#[derive(Debug)]
pub enum Dest {
    /// A pipe's writing end.
    Pipe(pipe::Sender),
    /// A socket.
    Socket(Rc<UnixStream>),
}

impl Source {
    /// Takes a nonblocking pipe end or connected Unix socket.
    pub fn from_fd(fd: OwnedFd) -> io::Result<Source> {
        Ok(match kind(&fd)? {
            Plug::Pipe => Source::Pipe(pipe::Receiver::from_owned_fd(fd)?),
            Plug::Socket => Source::Socket(Rc::new(socket(fd)?)),
        })
    }
}

impl Reads for Source {
    // A read that fills less than its room has emptied the pipe: to note that saves a system call for each wake.
    async fn read(&mut self, into: &mut BytesMut) -> io::Result<usize> {
        let socket = match self {
            Source::Pipe(pipe) => return pipe.read_buf(into).await,
            Source::Socket(socket) => socket,
        };
        loop {
            let room = into.capacity() - into.len();
            match socket.try_read_buf(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => socket.readable().await?,
                Ok(length) => {
                    if length < room {
                        let empty = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
                        let _ = socket.try_io(tokio::io::Interest::READABLE, empty);
                    }
                    return Ok(length);
                }
                other => return other,
            }
        }
    }
}

impl Dest {
    /// Takes a nonblocking pipe end or connected Unix socket.
    pub fn from_fd(fd: OwnedFd) -> io::Result<Dest> {
        Ok(match kind(&fd)? {
            Plug::Pipe => Dest::Pipe(pipe::Sender::from_owned_fd(fd)?),
            Plug::Socket => Dest::Socket(Rc::new(socket(fd)?)),
        })
    }
    pub(super) async fn writable(&self) -> io::Result<()> {
        match self {
            Dest::Pipe(pipe) => pipe.writable().await,
            Dest::Socket(socket) => socket.writable().await,
        }
    }
    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Dest::Pipe(pipe) => pipe.try_write(bytes),
            Dest::Socket(socket) => socket.try_write(bytes),
        }
    }
    pub(super) fn try_write_all(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Dest::Pipe(pipe) => pipe.try_write_vectored(parts),
            Dest::Socket(socket) => socket.try_write_vectored(parts),
        }
    }
}

enum Plug {
    Pipe,
    Socket,
}

fn kind(fd: &OwnedFd) -> io::Result<Plug> {
    let mode = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode);
    match mode {
        rustix::fs::FileType::Fifo => Ok(Plug::Pipe),
        rustix::fs::FileType::Socket => Ok(Plug::Socket),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a pipe nor a socket")),
    }
}

fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(fd);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
