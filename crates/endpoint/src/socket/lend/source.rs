//! The hub's side of lent pipes: what an adapter offers, and reading a host's stdin so that a dead hub loses nothing.

use super::journal::Journal;
use super::memory::{Form, is_memory};
use bytes::BytesMut;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use wire::peer::{Dest, Outbox, Reads, Source, Watch};

/// How much a host's stdout holds, in bytes: what an unprivileged process may ask for.
const WIDE: usize = 1 << 20;
/// What one read takes at most, in bytes.
const CHUNK: usize = 64 * 1024;

/// What came with the first bytes of a connection.
pub(in super::super) type Offer = Vec<OwnedFd>;

/// Says a last word to an adapter that only waits. If it has gone itself, nobody is left to be told.
pub(in super::super) fn tell(adapter: &Source, word: &[u8]) {
    if let Source::Socket(socket) = adapter {
        let _ = socket.try_write(word);
    }
}

/// The first bytes of a connection, with the files that came with them.
pub(in super::super) async fn first(stream: &UnixStream) -> io::Result<(Vec<u8>, Offer)> {
    let mut bytes = vec![0; CHUNK];
    let mut fds = Vec::new();
    let length = stream
        .async_io(Interest::READABLE, || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
            let got = rustix::net::recvmsg(stream, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags)?;
            for message in control.drain() {
                if let RecvAncillaryMessage::ScmRights(received) = message {
                    fds.extend(received);
                }
            }
            Ok(got.bytes)
        })
        .await?;
    bytes.truncate(length);
    Ok((bytes, fds))
}

/// What an adapter offers to lend.
pub(in super::super) struct Lent {
    host: Host,
    dest: Dest,
    /// What is remembered of it.
    pub journal: Rc<Journal>,
}

impl Lent {
    /// None where they are not what they should be.
    pub(in super::super) fn new(fds: Offer) -> Option<Lent> {
        let [host_in, host_out, marks, input] = <[OwnedFd; 4]>::try_from(fds).ok()?;
        if !is_memory(&marks) || !is_memory(&input) {
            return None;
        }
        let form = Form::of(host_in.as_fd())?;
        if Form::of(host_out.as_fd()) == Some(Form::Pipe) {
            // A long result in one write instead of sixteen; where the system grants no more, it takes longer.
            let _ = rustix::pipe::fcntl_setpipe_size(&host_out, WIDE);
        }
        let journal = Rc::new(Journal::new(marks, input, form));
        let dest = Dest::from_fd(host_out).ok()?;
        let host = Host::new(host_in, form).ok()?;
        Some(Lent { host, dest, journal })
    }

    /// Takes both ends over: from now on what is in `out` goes to the host itself.
    pub(in super::super) fn take(self, out: &Rc<Outbox>) -> LentSource {
        let Lent { host, dest, journal } = self;
        journal.begin();
        out.resume(dest, Rc::clone(&journal) as Rc<dyn Watch>);
        LentSource { host, journal, out: Rc::clone(out), chunk: vec![0; CHUNK].into_boxed_slice() }
    }
}

enum Host {
    Pipe(pipe::Receiver),
    Socket(UnixStream),
}

impl Host {
    fn new(fd: OwnedFd, form: Form) -> io::Result<Host> {
        Ok(match form {
            Form::Pipe => Host::Pipe(pipe::Receiver::from_owned_fd(fd)?),
            Form::Socket => {
                let socket = std::os::unix::net::UnixStream::from(fd);
                socket.set_nonblocking(true)?;
                Host::Socket(UnixStream::from_std(socket)?)
            }
        })
    }
    async fn readable(&self) -> io::Result<()> {
        match self {
            Host::Pipe(pipe) => pipe.readable().await,
            Host::Socket(socket) => socket.readable().await,
        }
    }
    fn try_io(&self, take: impl FnOnce(BorrowedFd<'_>) -> io::Result<usize>) -> io::Result<usize> {
        match self {
            Host::Pipe(pipe) => pipe.try_io(|| take(pipe.as_fd())),
            Host::Socket(socket) => socket.try_io(Interest::READABLE, || take(socket.as_fd())),
        }
    }
}

/// A host's stdin.
pub(in super::super) struct LentSource {
    host: Host,
    journal: Rc<Journal>,
    out: Rc<Outbox>,
    chunk: Box<[u8]>,
}

impl Reads for LentSource {
    async fn read(&mut self, into: &mut BytesMut) -> io::Result<usize> {
        loop {
            match self.host.try_io(|host| self.journal.take(host, &mut self.chunk)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.host.readable().await?,
                Ok(length) => {
                    // A read that fills less than its room has emptied the pipe: to note that saves a system call.
                    if length < self.chunk.len() {
                        let _ = self.host.try_io(|_| Err(io::ErrorKind::WouldBlock.into()));
                    }
                    into.extend_from_slice(&self.chunk[..length]);
                    return Ok(length);
                }
                other => return other,
            }
        }
    }
    fn held(&mut self, held: usize) {
        self.journal.held(held);
        // What wants no answer is done with now.
        if self.out.waiting() == 0 {
            self.journal.written(self.out.added(), 0);
        }
    }
}
