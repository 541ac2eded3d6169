//! One request on its way in: judged by its head, its body received within bounds, then handed to the handler.

use super::answer::{Answer, AnswerBody, Responder, Slot};
use super::pulse::{Phase, Pulse};
use super::{Common, Head, Request};
use bytes::{Bytes, BytesMut};
use http::{Response, StatusCode};
use http_body::Body;
use hyper::body::Incoming;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// The largest buffer that is set up on a mere announcement of length.
const TRUSTED: usize = 1 << 20;

/// Makes a [`Call`] of every request on one connection.
pub struct Calls {
    pub common: Rc<Common>,
    pub pulse: Rc<Pulse>,
    pub peer: SocketAddr,
}

impl hyper::service::Service<http::Request<Incoming>> for Calls {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Call;

    fn call(&self, request: http::Request<Incoming>) -> Call {
        self.pulse.enter(Phase::Body);
        let (head, incoming) = request.into_parts();
        let slot = Slot::new(self.pulse.clone(), &head.method, self.common.limits.max_events);
        if let Some(refusal) = self.common.handler.refusal(&head) {
            slot.answer(refusal);
            return Call { slot, receiving: None };
        }
        self.pulse.admit();
        let mut receiving = Receiving {
            common: self.common.clone(),
            peer: self.peer,
            head,
            incoming,
            first: Bytes::new(),
            more: BytesMut::new(),
            held: 0,
            refusal: None,
            discarded: 0,
        };
        if receiving.incoming.size_hint().lower() > self.common.limits.max_body as u64 {
            receiving.refuse(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long");
        }
        Call { slot, receiving: Some(receiving) }
    }
}

/// One request until its answer begins.
pub struct Call {
    slot: Rc<Slot>,
    receiving: Option<Receiving>,
}

impl Future for Call {
    type Output = Result<Response<AnswerBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(receiving) = &mut self.receiving {
            let end = ready!(receiving.poll(cx));
            let Some(receiving) = self.receiving.take() else { return Poll::Pending };
            self.slot.pulse.enter(Phase::Answer);
            match end {
                Err(refusal) => self.slot.answer(refusal),
                Ok(()) => {
                    let handler = receiving.common.handler.clone();
                    handler.handle(receiving.finish(), Responder::new(self.slot.clone()));
                }
            }
        }
        self.slot.poll(cx).map(Ok)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // Without an answer taken from it, the connection has ended.
        self.slot.abandoned();
    }
}

struct Receiving {
    common: Rc<Common>,
    peer: SocketAddr,
    head: Head,
    incoming: Incoming,
    /// A body that comes in one piece is never copied.
    first: Bytes,
    more: BytesMut,
    /// What it counts for in the common sum.
    held: usize,
    /// Once set, what comes is thrown away: who is still writing would not read an early answer.
    refusal: Option<Answer>,
    discarded: usize,
}

impl Receiving {
    /// Ready at the end of the body.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Answer>> {
        while !self.incoming.is_end_stream() {
            match ready!(Pin::new(&mut self.incoming).poll_frame(cx)) {
                None => break,
                Some(Err(_)) => return Poll::Ready(Err(Answer::text(StatusCode::BAD_REQUEST, "the body is broken"))),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.add(data);
                    }
                }
            }
            if self.discarded > self.common.limits.max_body {
                break;
            }
        }
        Poll::Ready(self.refusal.take().map_or(Ok(()), Err))
    }

    fn add(&mut self, data: Bytes) {
        let limits = &self.common.limits;
        if self.refusal.is_some() {
            self.discarded += data.len();
        } else if self.held + data.len() > limits.max_body {
            self.refuse(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long");
        } else if self.common.bodies.get() + data.len() > limits.max_bodies {
            self.refuse(StatusCode::SERVICE_UNAVAILABLE, "too much is being sent at this moment");
        } else {
            self.held += data.len();
            self.common.bodies.set(self.common.bodies.get() + data.len());
            if self.held == data.len() {
                self.first = data;
                return;
            }
            if self.more.is_empty() {
                let announced = usize::try_from(self.incoming.size_hint().lower()).unwrap_or(TRUSTED);
                self.more.reserve(self.held + announced.min(TRUSTED));
                self.more.extend_from_slice(&std::mem::take(&mut self.first));
            }
            self.more.extend_from_slice(&data);
        }
    }

    fn refuse(&mut self, status: StatusCode, why: &'static str) {
        self.refusal = Some(Answer::text(status, why));
        self.first = Bytes::new();
        self.more = BytesMut::new();
        self.release();
    }

    fn release(&mut self) {
        self.common.bodies.set(self.common.bodies.get() - std::mem::take(&mut self.held));
    }

    fn finish(mut self) -> Request {
        self.release();
        let body = if self.more.is_empty() { self.first } else { self.more.freeze() };
        Request { head: self.head, body, peer: self.peer }
    }
}
