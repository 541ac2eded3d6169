//! The far end of a line-based connection: bounded out-buffer, writes that never block, lines read in bulk.
//! The task that has a message writes it; what the pipe refuses waits here for the peer's own writer.

#[cfg(unix)]
mod ends;
mod queue;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use ends::{Dest, Source};
#[cfg(windows)]
pub use windows::{Dest, Source, both};

use crate::link::SendFault;
use bytes::BytesMut;
use frame::{Line, LineBuf, Receipt, Sink};
use queue::{OneLine, Queue};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use tokio::sync::Notify;

/// What one read asks for, in bytes; more while a long line comes in.
const READ: usize = 64 * 1024;
/// Bytes of one peer before the others get their turn: half a millisecond of reading and writing them.
const TURN: usize = 256 * 1024;
/// Lines of one peer before another has its turn: a call costs up to 10 µs, and a turn must stay under 1 ms.
const LINES: usize = 64;

/// Reads in bulk.
pub trait Reads {
    /// Appends what is there to the spare room of `into`, once something is there; 0: the end.
    fn read(&mut self, into: &mut BytesMut) -> impl Future<Output = io::Result<usize>>;
    /// Told before what was read is answered: `held` bytes of it are not yet dealt with.
    fn held(&mut self, _held: usize) {}
}

/// Told of what goes out of an [`Outbox`].
pub trait Watch {
    /// So many bytes are about to be written; not all of them may be taken at once.
    fn writing(&self, bytes: usize);
    /// What came of it: of all bytes that were ever added to the outbox, so many are out. `waiting` are not.
    fn written(&self, out: u64, waiting: usize);
}

/// The out-buffer of one peer.
pub struct Outbox {
    dest: RefCell<Option<Rc<Dest>>>,
    watch: RefCell<Option<Rc<dyn Watch>>>,
    queue: RefCell<Queue>,
    bound: usize,
    dirty: Cell<bool>,
    /// The pipe refused bytes: only the writer task may go on, when the pipe says so.
    stuck: Cell<bool>,
    paused: Cell<bool>,
    /// Bytes that were ever added.
    added: Cell<u64>,
    /// Marks on what was added before that byte of all.
    receipts: RefCell<VecDeque<(u64, Receipt)>>,
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
            watch: RefCell::default(),
            queue: RefCell::default(),
            bound,
            dirty: Cell::new(false),
            stuck: Cell::new(false),
            paused: Cell::new(false),
            added: Cell::new(0),
            receipts: RefCell::default(),
            wake: Notify::new(),
        })
    }

    /// Bytes that wait.
    pub fn waiting(&self) -> usize {
        self.queue.borrow().length()
    }

    /// Bytes that were ever added to it.
    pub fn added(&self) -> u64 {
        self.added.get()
    }

    /// Drops the mark when all that was added so far is out; where that never comes, what it marks was lost.
    pub fn keep(&self, receipt: Receipt) {
        if self.is_closed() {
            return receipt.lost();
        }
        self.receipts.borrow_mut().push_back((self.added(), receipt));
    }

    /// Whether the connection has ended on our side.
    pub fn is_closed(&self) -> bool {
        self.dest.borrow().is_none()
    }

    /// Writes what is there and keeps back what is added from now on, until [`Outbox::resume`]. False where the pipe does
    /// not take all of it now: then nothing has changed.
    pub fn pause(&self) -> bool {
        self.flush();
        let is_empty = self.waiting() == 0;
        self.paused.set(is_empty);
        is_empty
    }

    /// Goes on after [`Outbox::pause`], from now on to another place.
    pub fn resume(&self, dest: Dest, watch: Rc<dyn Watch>) {
        *self.dest.borrow_mut() = Some(Rc::new(dest));
        *self.watch.borrow_mut() = Some(watch);
        self.paused.set(false);
        self.flush();
    }

    /// Adds one line; `write` puts its text, the line end follows by itself. The text is JSON: line ends in it can only
    /// stand between tokens, and become spaces. Else what follows one would be a message of its own to whoever reads
    /// lines, which nobody has permitted.
    pub fn line(self: &Rc<Self>, write: impl FnOnce(&mut dyn Sink)) -> Result<(), SendFault> {
        if self.is_closed() {
            return Err(SendFault::Closed);
        }
        let mut queue = self.queue.borrow_mut();
        if queue.length() > self.bound {
            return Err(SendFault::Full);
        }
        let before = queue.length();
        write(&mut OneLine(&mut queue));
        queue.put(b"\n");
        self.added.set(self.added.get() + (queue.length() - before) as u64);
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
        let dest = self.dest.borrow();
        let Some(to) = dest.as_ref().filter(|_| !self.paused.get()) else { return };
        let watch = self.watch.borrow();
        if let Some(watch) = &*watch {
            watch.writing(self.queue.borrow().length());
        }
        let written = loop {
            match self.queue.borrow_mut().write(to) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        if let Some(watch) = &*watch {
            let waiting = self.waiting();
            watch.written(self.added.get() - waiting as u64, waiting);
        }
        drop((dest, watch));
        self.left();
        match written {
            Ok(()) => self.stuck.set(false),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.stuck.set(true);
                self.wake.notify_one();
            }
            Err(_) => self.close_now(),
        }
    }

    /// What is out is out.
    fn left(&self) {
        let out = self.added() - self.waiting() as u64;
        loop {
            // One at a time: whoever is told may write to this very peer.
            let next = self.receipts.borrow_mut().pop_front_if(|(end, _)| *end <= out);
            match next {
                Some(receipt) => drop(receipt),
                None => return,
            }
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
        *self.watch.borrow_mut() = None;
        self.queue.borrow_mut().clear();
        self.wake.notify_one();
        let lost = self.receipts.take();
        lost.into_iter().for_each(|(_, receipt)| receipt.lost());
    }

    /// Writes what can be written at once, then ends the connection.
    pub fn close(&self) {
        if !self.stuck.get() {
            self.flush();
        }
        self.close_now();
    }
}

/// Reads lines until the peer ends, gives each to `on_line` and flushes what came of them once per read. What `buf`
/// holds already comes first.
///
/// # Errors
/// What the system says, when the connection broke and did not just end.
pub async fn read_lines(source: &mut impl Reads, buf: &mut LineBuf, mut on_line: impl FnMut(Line)) -> io::Result<()> {
    let mut bytes = 0;
    let mut lines = 0;
    loop {
        while let Some(line) = buf.next_line() {
            on_line(line);
            lines += 1;
            // Short lines cost far more than their bytes.
            if lines == LINES {
                lines = 0;
                source.held(buf.pending());
                flush_all();
                tokio::task::yield_now().await;
            }
        }
        source.held(buf.pending());
        flush_all();
        if bytes >= TURN {
            bytes = 0;
            tokio::task::yield_now().await;
        }
        match source.read(buf.spare(READ)).await {
            Ok(0) => return Ok(()),
            Ok(length) => bytes += length,
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
    fn a_mark_tells_whether_what_it_marks_left_before_the_end() {
        use frame::Fate::{Left, Lost};
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let tasks = tokio::task::LocalSet::new();
        tasks.block_on(&runtime, async {
            let (mut from, to) = io::pipe().unwrap();
            let out = Outbox::new(Dest::from_fd(to.into()).unwrap(), 4 << 20);
            let told: Rc<RefCell<Vec<(u8, frame::Fate)>>> = Rc::default();
            let put = |mark: u8, length: usize| {
                out.line(|sink| sink.put(&vec![b'x'; length])).unwrap();
                let told = Rc::clone(&told);
                out.keep(Receipt::new(move |fate| told.borrow_mut().push((mark, fate))));
            };
            let dest = out.dest.borrow().clone().unwrap();
            put(1, 10);
            assert!(told.borrow().is_empty(), "nothing has left before it is written");
            dest.writable().await.unwrap();
            flush_all();
            assert_eq!(told.take(), [(1, Left)]);
            // More than a pipe takes; what stands behind it waits with it.
            put(2, 200_000);
            put(3, 10);
            flush_all();
            assert!(told.borrow().is_empty(), "{told:?}");
            let mut room = vec![0; 150_000];
            std::io::Read::read_exact(&mut from, &mut room[..60_000]).unwrap();
            dest.writable().await.unwrap();
            out.stuck.set(false);
            out.flush();
            assert!(told.borrow().is_empty(), "a part of it is not all of it");
            drop(from);
            let _ = dest.writable().await;
            out.stuck.set(false);
            out.flush();
            assert_eq!(told.take(), [(2, Lost), (3, Lost)]);
            let late = Rc::clone(&told);
            out.keep(Receipt::new(move |fate| late.borrow_mut().push((4, fate))));
            assert_eq!(told.take(), [(4, Lost)]);
        });
    }

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
            let mut source = Source::from_fd(from.into()).unwrap();
            read_lines(&mut source, &mut LineBuf::new(100), |_| {
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
