//! One HTTP/1.1 connection that lives inside the future that uses it: whoever waits for an answer also moves the bytes.

use super::ClientError;
use super::door::Stream;
use bytes::{Bytes, BytesMut};
use http::{Request, StatusCode};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

type Wire = http1::Connection<TokioIo<Stream>, Full<Bytes>>;

/// A connection, and the body of its answer once there is one.
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    wire: Option<Pin<Box<Wire>>>,
    body: Option<Incoming>,
}

impl Connection {
    pub async fn new(stream: Stream) -> Result<Connection, ClientError> {
        let (sender, wire) = http1::handshake(TokioIo::new(stream)).await.map_err(ClientError::broken)?;
        Ok(Connection { sender, wire: Some(Box::pin(wire)), body: None })
    }

    /// Sends the one request of this connection and waits for the head of the answer.
    pub async fn ask(&mut self, request: Request<Full<Bytes>>) -> Result<StatusCode, ClientError> {
        let mut answer = pin!(self.sender.send_request(request));
        let wire = &mut self.wire;
        let answer = poll_fn(|cx| {
            move_bytes(wire, cx);
            answer.as_mut().poll(cx)
        });
        let (head, body) = answer.await.map_err(ClientError::broken)?.into_parts();
        self.body = Some(body);
        Ok(head.status)
    }

    /// The next piece of the answer; None at its proper end.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, ClientError> {
        poll_fn(|cx| {
            loop {
                move_bytes(&mut self.wire, cx);
                let Some(body) = &mut self.body else { return Poll::Ready(Ok(None)) };
                let Poll::Ready(frame) = Pin::new(body).poll_frame(cx) else { return Poll::Pending };
                match frame.map(|frame| frame.map(hyper::body::Frame::into_data)) {
                    None => return Poll::Ready(Ok(None)),
                    Some(Err(cause)) => return Poll::Ready(Err(ClientError::broken(cause))),
                    Some(Ok(Ok(data))) if !data.is_empty() => return Poll::Ready(Ok(Some(data))),
                    Some(Ok(_)) => {}
                }
            }
        })
        .await
    }

    /// The whole answer, if it is no longer than `longest` bytes.
    pub async fn collect(mut self, longest: usize) -> Result<Bytes, ClientError> {
        let mut whole = BytesMut::new();
        while let Some(piece) = self.piece().await? {
            if whole.len() + piece.len() > longest {
                return Err(ClientError::broken(std::io::Error::other("the answer is too long")));
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    }
}

/// A finished connection must not be polled again; its error reaches the one who waits for the answer anyway.
fn move_bytes(wire: &mut Option<Pin<Box<Wire>>>, cx: &mut Context<'_>) {
    if let Some(moving) = wire
        && moving.as_mut().poll(cx).is_ready()
    {
        *wire = None;
    }
}
