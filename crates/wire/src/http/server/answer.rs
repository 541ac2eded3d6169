//! What goes back: a whole answer in one write, or a stream of events, and the word that nobody takes it any more.

use super::pulse::{Pulse, Quiet};
use crate::http::body::Pieces;
use crate::http::sse;
use frame::Rope;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Called once, on the relay thread.
pub type Callback = Box<dyn FnOnce()>;

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its fields; length and date are added.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Rope,
}

impl Answer {
    /// An answer without body.
    pub fn empty(status: StatusCode) -> Answer {
        Answer { status, headers: HeaderMap::new(), body: Rope::new() }
    }
    /// A JSON text.
    pub fn json(status: StatusCode, body: impl Into<Rope>) -> Answer {
        let answer = Answer { status, headers: HeaderMap::new(), body: body.into() };
        answer.with(CONTENT_TYPE, HeaderValue::from_static("application/json"))
    }
    /// A line for people.
    pub fn text(status: StatusCode, line: &'static str) -> Answer {
        let answer = Answer { status, headers: HeaderMap::new(), body: line.into() };
        answer.with(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))
    }
    /// The same with one more field.
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Answer {
        self.headers.insert(name, value);
        self
    }
}

/// Why an event was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The client does not read, and its buffer is full.
    #[error("the client does not read what it is sent")]
    Full,
    /// The client has gone.
    #[error("the client has gone")]
    Gone,
}

/// Where a call waits for its answer.
pub struct Slot {
    pub(super) pulse: Rc<Pulse>,
    head_only: bool,
    max_events: usize,
    answer: Cell<Option<Response<AnswerBody>>>,
    waker: Cell<Option<Waker>>,
    on_closed: Cell<Option<Callback>>,
    /// Whether the answer has been given to the connection.
    taken: Cell<bool>,
    closed: Cell<bool>,
}

impl Slot {
    pub fn new(pulse: Rc<Pulse>, method: &Method, max_events: usize) -> Rc<Slot> {
        Rc::new(Slot {
            pulse,
            head_only: method == Method::HEAD,
            max_events,
            answer: Cell::new(None),
            waker: Cell::new(None),
            on_closed: Cell::new(None),
            taken: Cell::new(false),
            closed: Cell::new(false),
        })
    }

    pub fn answer(self: &Rc<Self>, answer: Answer) {
        let pieces = if self.head_only { Pieces::default() } else { Pieces::from(&answer.body) };
        self.put(answer.status, answer.headers, Source::Whole(pieces));
    }

    fn put(self: &Rc<Self>, status: StatusCode, headers: HeaderMap, source: Source) {
        if self.closed.get() {
            return;
        }
        let mut response = Response::new(AnswerBody { slot: self.clone(), source });
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        self.answer.set(Some(response));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    pub fn poll(&self, cx: &Context<'_>) -> Poll<Response<AnswerBody>> {
        match self.answer.take() {
            Some(answer) => {
                self.taken.set(true);
                Poll::Ready(answer)
            }
            None => {
                self.waker.set(Some(cx.waker().clone()));
                Poll::Pending
            }
        }
    }

    /// The call is dropped: unless its answer was taken, the connection has ended.
    pub fn abandoned(&self) {
        if !self.taken.get() {
            // The answer holds the slot; taking it out breaks the circle, and its body tells of the close.
            match self.answer.take() {
                Some(answer) => drop(answer),
                None => self.close(),
            }
        }
    }

    fn close(&self) {
        self.closed.set(true);
        if let Some(tell) = self.on_closed.take() {
            tell();
        }
    }

    fn on_closed(&self, tell: Callback) {
        if self.closed.get() {
            tell();
        } else {
            self.on_closed.set(Some(tell));
        }
    }
}

/// The duty to answer one request. Dropped unused, it answers 500.
pub struct Responder {
    slot: Option<Rc<Slot>>,
}

impl Responder {
    pub(super) fn new(slot: Rc<Slot>) -> Responder {
        Responder { slot: Some(slot) }
    }

    /// Answers with a whole body.
    pub fn send(mut self, answer: Answer) {
        if let Some(slot) = self.slot.take() {
            slot.answer(answer);
        }
    }

    /// Answers with a stream of events; content type and cache control are added to the fields.
    pub fn stream(mut self, mut headers: HeaderMap) -> Events {
        let stream = Rc::new(Stream {
            queue: RefCell::default(),
            waker: Cell::new(None),
            ended: Cell::new(false),
            closed: Cell::new(self.is_closed()),
            max: self.slot.as_ref().map_or(0, |slot| slot.max_events),
            pulse: self.slot.as_ref().map(|slot| slot.pulse.clone()),
        });
        if let Some(slot) = self.slot.take() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(sse::MEDIA_TYPE));
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            let quiet: Rc<dyn Quiet> = stream.clone();
            slot.pulse.keep_alive(Rc::downgrade(&quiet));
            slot.put(StatusCode::OK, headers, Source::Stream(stream.clone()));
            return Events { slot: Some(slot), stream };
        }
        Events { slot: None, stream }
    }

    /// Whether the client has gone.
    pub fn is_closed(&self) -> bool {
        self.slot.as_ref().is_none_or(|slot| slot.closed.get())
    }

    /// Has `tell` called once if the connection ends before the last byte of the answer is with the system; at once
    /// if it already has. Never called after a whole delivery. It replaces an earlier one, and may be set again on
    /// the stream.
    pub fn on_closed(&self, tell: Callback) {
        if let Some(slot) = &self.slot {
            slot.on_closed(tell);
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.answer(Answer::text(StatusCode::INTERNAL_SERVER_ERROR, "no answer"));
        }
    }
}

/// A stream of events to one client. Dropped, it ends the stream in good order.
pub struct Events {
    slot: Option<Rc<Slot>>,
    stream: Rc<Stream>,
}

impl Events {
    /// Sends one JSON text as an event, or queues it within the bound.
    ///
    /// # Errors
    /// [`Refused::Full`] while the client has not taken what it was sent, [`Refused::Gone`] for good.
    pub fn event(&self, text: &Rope) -> Result<(), Refused> {
        if self.is_closed() {
            return Err(Refused::Gone);
        }
        let mut queue = self.stream.queue.borrow_mut();
        if queue.len() > self.stream.max {
            return Err(Refused::Full);
        }
        sse::encode(&mut queue, text);
        drop(queue);
        self.stream.wake();
        Ok(())
    }

    /// Sends the last event, whatever is queued before it, and ends the stream in good order.
    ///
    /// # Errors
    /// [`Refused::Gone`]
    pub fn end(self, text: &Rope) -> Result<(), Refused> {
        if self.is_closed() {
            return Err(Refused::Gone);
        }
        sse::encode(&mut self.stream.queue.borrow_mut(), text);
        Ok(())
    }

    /// Whether the client has gone.
    pub fn is_closed(&self) -> bool {
        self.stream.closed.get() || self.slot.as_ref().is_none_or(|slot| slot.closed.get())
    }

    /// As [`Responder::on_closed`].
    pub fn on_closed(&self, tell: Callback) {
        if let Some(slot) = &self.slot {
            slot.on_closed(tell);
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.stream.ended.set(true);
        self.stream.wake();
    }
}

struct Stream {
    queue: RefCell<Pieces>,
    waker: Cell<Option<Waker>>,
    ended: Cell<bool>,
    closed: Cell<bool>,
    max: usize,
    pulse: Option<Rc<Pulse>>,
}

impl Stream {
    fn wake(&self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
    fn is_over(&self) -> bool {
        self.ended.get() && self.queue.borrow().len() == 0
    }
}

impl Quiet for Stream {
    fn comment(&self) {
        let mut queue = self.queue.borrow_mut();
        // What is queued already shows that the stream lives.
        if !self.ended.get() && queue.len() == 0 {
            queue.push(bytes::Bytes::from_static(b":\n\n"));
            drop(queue);
            self.wake();
        }
    }
}

enum Source {
    Whole(Pieces),
    Stream(Rc<Stream>),
}

/// The body of a response, as the connection takes it.
pub struct AnswerBody {
    slot: Rc<Slot>,
    source: Source,
}

impl Body for AnswerBody {
    type Data = Pieces;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Pieces>, Infallible>>> {
        match &mut self.source {
            Source::Whole(pieces) if pieces.len() == 0 => Poll::Ready(None),
            Source::Whole(pieces) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(pieces))))),
            Source::Stream(stream) => {
                let queued = std::mem::take(&mut *stream.queue.borrow_mut());
                if queued.len() > 0 {
                    if let Some(pulse) = &stream.pulse {
                        pulse.touch();
                    }
                    Poll::Ready(Some(Ok(Frame::data(queued))))
                } else if stream.ended.get() {
                    Poll::Ready(None)
                } else {
                    stream.waker.set(Some(cx.waker().clone()));
                    Poll::Pending
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Whole(pieces) => pieces.len() == 0,
            Source::Stream(stream) => stream.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Whole(pieces) => SizeHint::with_exact(pieces.len() as u64),
            Source::Stream(_) => SizeHint::default(),
        }
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        let whole = self.slot.taken.get() && self.is_end_stream();
        if let Source::Stream(stream) = &self.source {
            stream.closed.set(true);
        }
        if whole {
            self.slot.pulse.complete(self.slot.on_closed.take());
        } else {
            self.slot.close();
        }
    }
}
