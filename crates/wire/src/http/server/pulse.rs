//! What a connection is doing and since when: the time limits of all connections hang on one coarse clock, so that a
//! request costs no timer of its own.

use super::{Limits, answer::Callback};
use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// Counts steps while there are connections; stands still otherwise.
pub struct Clock {
    now: Rc<Cell<u32>>,
    next: Cell<Instant>,
    step: Duration,
}

impl Clock {
    /// Fine enough for the smallest limit to be kept within a quarter.
    pub fn step(limits: &Limits) -> Duration {
        let times = [limits.head_time, limits.body_time, limits.idle_time, limits.stall_time, limits.comment_time];
        let smallest = times.into_iter().min().unwrap_or_default();
        (smallest / 4).clamp(Duration::from_millis(5), Duration::from_secs(1))
    }
    pub fn new(step: Duration) -> Clock {
        Clock { now: Rc::default(), next: Cell::new(Instant::now() + step), step }
    }
    /// When the next step is due.
    pub fn next(&self) -> Instant {
        self.next.get()
    }
    pub fn tick(&self) {
        self.now.set(self.now.get().wrapping_add(1));
        self.restart();
    }
    pub fn restart(&self) {
        self.next.set(Instant::now() + self.step);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Between two requests.
    Idle,
    /// The first byte of a head has come.
    Head,
    /// A head has come whole.
    Body,
    /// The handler has the request.
    Answer,
    /// The answer is complete, but not all of it is written.
    Flush,
}

/// How little is lost with a connection that is closed to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Worth {
    /// It never sent a head that was admitted, so that anybody may hold it.
    Stranger,
    /// It was admitted, and is between two requests.
    Known,
}

/// Something that wants to be told when its stream has been quiet.
pub trait Quiet {
    /// Sends a comment.
    fn comment(&self);
}

/// The state of one connection, shared by its socket, its call and the sweep.
pub struct Pulse {
    now: Rc<Cell<u32>>,
    phase: Cell<Phase>,
    since: Cell<u32>,
    stalled: Cell<Option<u32>>,
    admitted: Cell<bool>,
    closing: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    stream: RefCell<Option<Weak<dyn Quiet>>>,
    /// Whom to tell if the connection ends before all of the last answer is written.
    undelivered: Cell<Option<Callback>>,
}

impl Pulse {
    pub fn new(clock: &Clock) -> Pulse {
        Pulse {
            now: clock.now.clone(),
            phase: Cell::new(Phase::Idle),
            since: Cell::new(clock.now.get()),
            stalled: Cell::new(None),
            admitted: Cell::new(false),
            closing: Cell::new(false),
            waker: RefCell::new(None),
            stream: RefCell::new(None),
            undelivered: Cell::new(None),
        }
    }

    pub fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.touch();
    }
    /// Something went out on the stream that is being answered with.
    pub fn touch(&self) {
        self.since.set(self.now.get());
    }
    pub fn keep_alive(&self, stream: Weak<dyn Quiet>) {
        *self.stream.borrow_mut() = Some(stream);
    }
    /// The last byte of the answer is in the connection's buffer.
    pub fn complete(&self, undelivered: Option<Callback>) {
        self.undelivered.set(undelivered);
        self.enter(Phase::Flush);
    }

    /// A head of it was admitted.
    pub fn admit(&self) {
        self.admitted.set(true);
    }
    /// What it would be closed for, and since which step it waits for the rest of a head; None: it is being served.
    pub fn spare(&self) -> Option<(Worth, u32)> {
        let worth = match (self.phase.get(), self.admitted.get()) {
            (Phase::Idle | Phase::Head, false) => Worth::Stranger,
            (Phase::Idle, true) => Worth::Known,
            (Phase::Head, true) | (Phase::Body | Phase::Answer | Phase::Flush, _) => return None,
        };
        Some((worth, self.since.get()))
    }

    pub fn close_when_done(&self) {
        self.closing.set(true);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
    pub fn wants_close(&self, cx: &Context<'_>) -> bool {
        if !self.closing.get() {
            let mut waker = self.waker.borrow_mut();
            // One task polls it for its whole life, so its waker stays the same.
            if waker.is_none() {
                *waker = Some(cx.waker().clone());
            }
        }
        self.closing.get()
    }

    /// Why it should be closed now. Gives a quiet stream its comment.
    pub fn overdue(&self, limits: &Limits, step: Duration) -> Option<&'static str> {
        let passed = |since: u32| step * self.now.get().wrapping_sub(since);
        if self.stalled.get().is_some_and(|since| passed(since) >= limits.stall_time) {
            return Some("the client takes nothing");
        }
        let passed = passed(self.since.get());
        match self.phase.get() {
            Phase::Idle if passed >= limits.idle_time => Some("idle for too long"),
            Phase::Head if passed >= limits.head_time => Some("the head came too slowly"),
            Phase::Body if passed >= limits.body_time => Some("the body came too slowly"),
            Phase::Answer if passed >= limits.comment_time => {
                let stream = self.stream.borrow().as_ref().and_then(Weak::upgrade);
                if let Some(stream) = stream {
                    stream.comment();
                }
                None
            }
            Phase::Idle | Phase::Head | Phase::Body | Phase::Answer | Phase::Flush => None,
        }
    }

    fn received(&self) {
        if self.phase.get() == Phase::Idle {
            self.enter(Phase::Head);
        }
    }
    fn wrote(&self, progress: bool) {
        match (progress, self.stalled.get()) {
            (true, Some(_)) => self.stalled.set(None),
            (false, None) => self.stalled.set(Some(self.now.get())),
            (true, None) | (false, Some(_)) => {}
        }
    }
    fn flushed(&self) {
        if self.phase.get() == Phase::Flush {
            self.undelivered.set(None);
            self.enter(Phase::Idle);
        }
    }
}

/// The socket of a connection; tells the pulse what happens on it.
pub struct Watched {
    pub stream: TcpStream,
    pub pulse: Rc<Pulse>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(tell) = self.pulse.undelivered.take() {
            tell();
        }
    }
}

impl AsyncRead for Watched {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        if buf.filled().len() > before {
            self.pulse.received();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.pulse.wrote(written.is_ready());
        written
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.pulse.wrote(written.is_ready());
        written
    }
    fn is_write_vectored(&self) -> bool {
        true
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Called when all that was buffered has been written.
        self.pulse.flushed();
        Pin::new(&mut self.stream).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
