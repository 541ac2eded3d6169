//! One thread that empties the stderr pipes of all servers, so that no server ever waits for a reader. Reads a bounded
//! piece of each in turn, and writes to no file itself.

use super::Source;
use super::book::Book;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// Read from one pipe before the next has its turn.
const PIECE: usize = 16 << 10;
/// Pipes handed over and not taken up yet.
const WAITING: usize = 256;

/// A pipe that is being emptied.
struct Drain {
    pipe: OwnedFd,
    source: Source,
    book: Arc<Book>,
    splitter: super::lines::Splitter,
    /// Told by being dropped.
    _ended: oneshot::Sender<()>,
}

/// The handle on the thread. When it is dropped, the thread ends.
pub struct Drains {
    bell: UnixStream,
    pipes: Option<SyncSender<Drain>>,
    thread: Option<JoinHandle<()>>,
}

impl Drains {
    pub fn start() -> io::Result<Drains> {
        let (bell, rope) = UnixStream::pair()?;
        rope.set_nonblocking(true)?;
        bell.set_nonblocking(true)?;
        let (pipes, handed) = sync_channel(WAITING);
        let thread = std::thread::Builder::new()
            .name("stderr".into())
            .stack_size(256 << 10)
            .spawn(move || run(&rope, &handed))?;
        Ok(Drains { bell, pipes: Some(pipes), thread: Some(thread) })
    }

    /// Empties a pipe into a book. What is returned ends when the pipe does.
    pub fn take(&self, pipe: OwnedFd, source: Source, book: Arc<Book>) -> io::Result<oneshot::Receiver<()>> {
        fcntl_setfl(&pipe, fcntl_getfl(&pipe)? | OFlags::NONBLOCK)?;
        let (ended, ending) = oneshot::channel();
        let drain = Drain { pipe, source, book, splitter: Default::default(), _ended: ended };
        let gone = || io::Error::other("the thread that empties stderr pipes does not keep up");
        self.pipes.as_ref().ok_or_else(gone)?.try_send(drain).map_err(|_| gone())?;
        self.ring();
        Ok(ending)
    }

    fn ring(&self) {
        // Full means that it rings already.
        let _ = (&self.bell).write(&[1]);
    }
}

impl Drop for Drains {
    fn drop(&mut self) {
        self.pipes = None;
        self.ring();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(rope: &UnixStream, handed: &Receiver<Drain>) {
    let mut drains: Vec<Drain> = Vec::new();
    let mut buffer = vec![0; PIECE];
    loop {
        let ready: Vec<bool> = {
            let pipes = drains.iter().map(|drain| PollFd::new(&drain.pipe, PollFlags::IN));
            let mut fds: Vec<PollFd<'_>> = pipes.chain([PollFd::new(rope, PollFlags::IN)]).collect();
            match poll(&mut fds, None) {
                Ok(_) => fds.iter().map(|fd| !fd.revents().is_empty()).collect(),
                Err(_) => continue,
            }
        };
        let mut ended = Vec::new();
        for (number, drain) in drains.iter_mut().enumerate().filter(|(number, _)| ready[*number]) {
            match rustix::io::read(&drain.pipe, &mut buffer) {
                Ok(0) => ended.push(number),
                Ok(count) => drain.book.piece(drain.source, &mut drain.splitter, &buffer[..count]),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => ended.push(number),
            }
        }
        for number in ended.into_iter().rev() {
            let mut drain = drains.swap_remove(number);
            drain.book.end(drain.source, &mut drain.splitter);
        }
        if ready.last() == Some(&true) {
            let mut rope = rope;
            while rope.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
            loop {
                match handed.try_recv() {
                    Ok(drain) => drains.push(drain),
                    Err(std::sync::mpsc::TryRecvError::Empty) => break,
                    Err(std::sync::mpsc::TryRecvError::Disconnected) => return,
                }
            }
        }
    }
}
