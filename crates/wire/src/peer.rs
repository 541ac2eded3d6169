//! The far end of a line-based connection: bounded out-buffer, writes that never block, lines read in bulk.
//! The task that has a message writes it; what the pipe refuses waits here for the peer's own writer.

#[cfg(windows)]
mod windows;

#[cfg(windows)]
pub use windows::{Dest, Source, both};

use crate::link::SendFault;
use bytes::{Bytes, BytesMut};
use frame::{Line, LineBuf, Sink};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::rc::Rc;
#[cfg(unix)]
use tokio::net::UnixStream;
#[cfg(unix)]
use tokio::net::unix::pipe;
use tokio::sync::Notify;

/// Pieces from this size on are kept by reference instead of being copied, in bytes.
const SHARE: usize = 8 * 1024;
/// What one read asks for, in bytes; more while a long line comes in.
const READ: usize = 64 * 1024;
/// Reads of one peer before the others get their turn.
const TURN: usize = 16;
/// Lines of one peer before another has its turn: a call costs up to 10 µs, and a turn must stay under 1 ms.
const LINES: usize = 64;

/// Where bytes come from.
#[cfg(unix)]
#[derive(Debug)]
pub enum Source {
    /// A pipe's reading end.
    Pipe(pipe::Receiver),
    /// A socket.
    Socket(Rc<UnixStream>),
}

/// Where bytes go.
#[cfg(unix)]
#[derive(Debug)]
pub enum Dest {
    /// A pipe's writing end.
    Pipe(pipe::Sender),
    /// A socket.
    Socket(Rc<UnixStream>),
}

#[cfg(unix)]
impl Source {
    /// Takes a nonblocking pipe end or connected Unix socket.
    pub fn from_fd(fd: OwnedFd) -> io::Result<Source> {
        Ok(match kind(&fd)? {
            Plug::Pipe => Source::Pipe(pipe::Receiver::from_owned_fd(fd)?),
            Plug::Socket => Source::Socket(Rc::new(socket(fd)?)),
        })
    }
    async fn readable(&self) -> io::Result<()> {
        match self {
            Source::Pipe(pipe) => pipe.readable().await,
            Source::Socket(socket) => socket.readable().await,
        }
    }
    fn try_read(&self, into: &mut BytesMut) -> io::Result<usize> {
        match self {
            Source::Pipe(pipe) => pipe.try_read_buf(into),
            Source::Socket(socket) => socket.try_read_buf(into),
        }
    }
}

#[cfg(unix)]
impl Dest {
    /// Takes a nonblocking pipe end or connected Unix socket.
    pub fn from_fd(fd: OwnedFd) -> io::Result<Dest> {
        Ok(match kind(&fd)? {
            Plug::Pipe => Dest::Pipe(pipe::Sender::from_owned_fd(fd)?),
            Plug::Socket => Dest::Socket(Rc::new(socket(fd)?)),
        })
    }
    async fn writable(&self) -> io::Result<()> {
        match self {
            Dest::Pipe(pipe) => pipe.writable().await,
            Dest::Socket(socket) => socket.writable().await,
        }
    }
    fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Dest::Pipe(pipe) => pipe.try_write_vectored(parts),
            Dest::Socket(socket) => socket.try_write_vectored(parts),
        }
    }
}

#[cfg(unix)]
enum Plug {
    Pipe,
    Socket,
}

#[cfg(unix)]
fn kind(fd: &OwnedFd) -> io::Result<Plug> {
    let mode = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode);
    match mode {
        rustix::fs::FileType::Fifo => Ok(Plug::Pipe),
        rustix::fs::FileType::Socket => Ok(Plug::Socket),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a pipe nor a socket")),
    }
}

#[cfg(unix)]
fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(fd);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

#[derive(Debug, Default)]
struct Queue {
    ready: VecDeque<Bytes>,
    tail: BytesMut,
    length: usize,
}

impl Queue {
    fn seal(&mut self) {
        if !self.tail.is_empty() {
            self.ready.push_back(self.tail.split().freeze());
        }
    }
}

impl Sink for Queue {
    fn put(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        self.tail.extend_from_slice(bytes);
    }
    fn put_shared(&mut self, bytes: &Bytes) {
        if bytes.len() < SHARE {
            return self.put(bytes);
        }
        self.length += bytes.len();
        self.seal();
        self.ready.push_back(bytes.clone());
    }
}

/// The out-buffer of one peer.
pub struct Outbox {
    dest: RefCell<Option<Rc<Dest>>>,
    queue: RefCell<Queue>,
    bound: usize,
    dirty: Cell<bool>,
    /// The pipe refused bytes: only the writer task may go on, when the pipe says so.
    stuck: Cell<bool>,
    wake: Notify,
}

thread_local! {
    static DIRTY: RefCell<Vec<Rc<Outbox>>> = const { RefCell::new(Vec::new()) };
    static FLUSHER: Rc<Notify> = Rc::new(Notify::new());
}

/// Writes out what all peers of this thread got since the last time: one write per peer. Called at the end of a wake.
pub fn flush_all() {
    let mut dirty = DIRTY.with(|dirty| std::mem::take(&mut *dirty.borrow_mut()));
    for outbox in dirty.drain(..) {
        outbox.dirty.set(false);
        outbox.flush();
    }
    // Gives the vector's memory back for the next wake.
    DIRTY.with(|place| {
        let mut place = place.borrow_mut();
        if place.is_empty() {
            *place = dirty;
        }
    });
}

/// Flushes for senders that forget to: run it once per thread, for ever.
pub async fn flusher() {
    let wake = FLUSHER.with(Rc::clone);
    loop {
        wake.notified().await;
        flush_all();
    }
}

impl Outbox {
    /// A buffer for `dest` that holds `bound` bytes beyond one message. Its [`Outbox::writer`] must be run.
    pub fn new(dest: Dest, bound: usize) -> Rc<Outbox> {
        Rc::new(Outbox {
            dest: RefCell::new(Some(Rc::new(dest))),
            queue: RefCell::default(),
            bound,
            dirty: Cell::new(false),
            stuck: Cell::new(false),
            wake: Notify::new(),
        })
    }

    /// Bytes that wait.
    pub fn waiting(&self) -> usize {
        self.queue.borrow().length
    }

    /// Whether the connection has ended on our side.
    pub fn is_closed(&self) -> bool {
        self.dest.borrow().is_none()
    }

    /// Adds one line; `write` puts its text, the line end follows by itself.
    pub fn line(self: &Rc<Self>, write: impl FnOnce(&mut dyn Sink)) -> Result<(), SendFault> {
        if self.is_closed() {
            return Err(SendFault::Closed);
        }
        let mut queue = self.queue.borrow_mut();
        if queue.length > self.bound {
            return Err(SendFault::Full);
        }
        write(&mut *queue);
        queue.put(b"\n");
        drop(queue);
        if !self.stuck.get() && !self.dirty.replace(true) {
            let first = DIRTY.with(|dirty| {
                let mut dirty = dirty.borrow_mut();
                dirty.push(Rc::clone(self));
                dirty.len() == 1
            });
            if first {
                FLUSHER.with(|wake| wake.notify_one());
            }
        }
        Ok(())
    }

    /// Writes as much as the pipe takes now.
    fn flush(&self) {
        let Some(dest) = self.dest.borrow().clone() else { return };
        let mut queue = self.queue.borrow_mut();
        queue.seal();
        while !queue.ready.is_empty() {
            let parts: smallvec::SmallVec<[IoSlice<'_>; 16]> =
                queue.ready.iter().take(16).map(|part| IoSlice::new(part)).collect();
            match dest.try_write(&parts) {
                Ok(mut written) => {
                    drop(parts);
                    queue.length -= written;
                    while written > 0 {
                        let Some(front) = queue.ready.front_mut() else { break };
                        if written < front.len() {
                            bytes::Buf::advance(front, written);
                            break;
                        }
                        written -= front.len();
                        queue.ready.pop_front();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.stuck.set(true);
                    self.wake.notify_one();
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    drop(parts);
                    drop(queue);
                    self.close_now();
                    return;
                }
            }
        }
        self.stuck.set(false);
        if queue.tail.capacity() > 4 * READ {
            queue.tail = BytesMut::new();
        }
    }

    /// The peer's own writer: goes on where the pipe refused. Ends when the outbox is closed.
    pub async fn writer(self: Rc<Self>) {
        loop {
            self.wake.notified().await;
            while self.stuck.get() {
                let Some(dest) = self.dest.borrow().clone() else { return };
                if dest.writable().await.is_err() {
                    return self.close_now();
                }
                self.stuck.set(false);
                self.flush();
            }
            if self.is_closed() {
                return;
            }
        }
    }

    /// Ends the connection towards the peer; what waits is given up.
    pub fn close_now(&self) {
        *self.dest.borrow_mut() = None;
        let mut queue = self.queue.borrow_mut();
        queue.ready.clear();
        queue.tail = BytesMut::new();
        queue.length = 0;
        self.wake.notify_one();
    }

    /// Writes what can be written at once, then ends the connection.
    pub fn close(&self) {
        if !self.stuck.get() {
            self.flush();
        }
        self.close_now();
    }
}

/// Reads lines until the peer ends, gives each to `on_line` and flushes what came of them once per read.
///
/// # Errors
/// What the system says, when the connection broke and did not just end.
pub async fn read_lines(source: &Source, buf: &mut LineBuf, mut on_line: impl FnMut(Line)) -> io::Result<()> {
    let mut turns = 0;
    let mut lines = 0;
    loop {
        let room = if buf.pending() < READ { READ } else { READ.max(buf.pending()).min(16 * READ) };
        match source.try_read(buf.spare(room)) {
            Ok(0) => return Ok(()),
            Ok(_) => {
                while let Some(line) = buf.next_line() {
                    on_line(line);
                    lines += 1;
                    // Short lines cost far more than their bytes.
                    if lines == LINES {
                        lines = 0;
                        flush_all();
                        tokio::task::yield_now().await;
                    }
                }
                flush_all();
                turns += 1;
                if turns == TURN {
                    turns = 0;
                    tokio::task::yield_now().await;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                turns = 0;
                source.readable().await?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::io::Write;

    #[test]
    fn a_flood_of_short_lines_leaves_others_their_turn() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let tasks = tokio::task::LocalSet::new();
        let (from, mut to) = io::pipe().unwrap();
        // All of it fits into the pipe and into one read.
        to.write_all(&b"x\n".repeat(20_000)).unwrap();
        drop(to);
        let turn = Rc::new(Cell::new(0u32));
        let other = Rc::clone(&turn);
        let (mut seen, mut longest, mut last, mut run) = (0, 0, 0, 0);
        tasks.block_on(&runtime, async {
            crate::task::spawn("test", async move {
                loop {
                    other.set(other.get() + 1);
                    tokio::task::yield_now().await;
                }
            });
            let source = Source::from_fd(from.into()).unwrap();
            read_lines(&source, &mut LineBuf::new(100), |_| {
                seen += 1;
                run = if turn.get() == last { run + 1 } else { 1 };
                last = turn.get();
                longest = longest.max(run);
            })
            .await
            .unwrap();
        });
        assert_eq!(seen, 20_000);
        assert!(longest <= 2 * LINES, "{longest} lines in one turn");
    }
}
