//! The answer to one POST under way, for one request or a batch: one JSON text if the end comes first and soon, a
//! stream of events otherwise. Order is kept, and the end always goes out, whatever was dropped before it.

use super::gate::Takes;
use super::open::Open;
use bytes::Bytes;
use frame::object::quote;
use frame::{Era, Receipt, Rope};
use http::{HeaderMap, StatusCode};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;
use wire::era::{Out, error_code};
use wire::http::server::{Answer, Callback, Events, Refused, Responder};

/// Bodies up to here are copied into one buffer; larger ones go out by reference.
const SMALL: usize = 4096;

/// The text of an answer to the request of that raw id.
pub fn response(id: &[u8], out: &Out) -> Rope {
    let (key, body) = out.parts();
    if body.len() <= SMALL {
        let mut text = Vec::with_capacity(body.len() + id.len() + 40);
        out.write(id, &mut text);
        return Bytes::from(text).into();
    }
    let mut text = Rope::new();
    text.push_static("{\"jsonrpc\":\"2.0\",\"id\":");
    text.push_copy(id);
    text.push_static(if key == "result" { ",\"result\":" } else { ",\"error\":" });
    text.append(body);
    text.push_static("}");
    text
}

/// The text of an error of this door's own; `id` is raw, `null` where it could not be read.
pub fn failure(id: &[u8], code: i32, message: &str) -> Rope {
    let id = String::from_utf8_lossy(id);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{}}}}}", quote(message)).into()
}

/// The HTTP status that a lone answer rides on: legacy errors always on 200.
pub fn status(era: Era, out: &Out) -> StatusCode {
    match (era, out) {
        (Era::Modern, Out::Error(error)) => match error_code(&error.join()) {
            Some(-32022..=-32020) => StatusCode::BAD_REQUEST,
            Some(-32601) => StatusCode::NOT_FOUND,
            _ => StatusCode::OK,
        },
        _ => StatusCode::OK,
    }
}

/// Sends one answer that is there at once.
pub fn send(responder: Responder, takes: Takes, status: StatusCode, headers: HeaderMap, text: Rope) {
    if takes == Takes::Events && status == StatusCode::OK {
        // A fresh stream that refuses its first event has no client any more.
        let _ = responder.stream(headers).end(&text);
        return;
    }
    let mut answer = Answer::json(status, text);
    answer.headers.extend(headers);
    responder.send(answer);
}

enum Way {
    Waiting(Responder),
    Streaming(Events),
    Over,
}

/// Where the answers to one POST go.
pub struct Delivery {
    way: RefCell<Way>,
    takes: Takes,
    since: Instant,
    /// Requests that have not ended.
    left: Cell<usize>,
    batch: Option<RefCell<Vec<Rope>>>,
    receipts: RefCell<Vec<Receipt>>,
    open: Rc<Open>,
    key: Cell<Option<u64>>,
}

impl Delivery {
    /// For one request.
    pub fn single(responder: Responder, takes: Takes, open: Rc<Open>) -> Rc<Delivery> {
        Delivery::new(responder, takes, open, 1, None)
    }

    /// For `requests` of a batch, at least one: their answers go out as one array.
    pub fn batch(responder: Responder, takes: Takes, open: Rc<Open>, requests: usize) -> Rc<Delivery> {
        Delivery::new(responder, takes, open, requests, Some(RefCell::new(Vec::with_capacity(requests))))
    }

    fn new(
        responder: Responder,
        takes: Takes,
        open: Rc<Open>,
        left: usize,
        batch: Option<RefCell<Vec<Rope>>>,
    ) -> Rc<Delivery> {
        Rc::new(Delivery {
            way: RefCell::new(Way::Waiting(responder)),
            takes,
            since: Instant::now(),
            left: Cell::new(left),
            batch,
            receipts: RefCell::default(),
            open,
            key: Cell::new(None),
        })
    }

    /// Everything has been asked: what has not ended by now may have to become a stream.
    pub fn wait(self: &Rc<Self>) {
        if self.takes != Takes::Json && self.left.get() > 0 {
            self.key.set(Some(self.open.add(self)));
        }
    }

    /// Whether whoever is to get it has gone.
    pub fn is_closed(&self) -> bool {
        match &*self.way.borrow() {
            Way::Waiting(responder) => responder.is_closed(),
            Way::Streaming(events) => events.is_closed(),
            Way::Over => true,
        }
    }

    /// Sends a progress or log notice before the end; dropped where the client does not read or takes no stream.
    pub fn note(&self, text: &Rope) {
        self.stream();
        let sent = match &*self.way.borrow() {
            Way::Streaming(events) => events.event(text),
            Way::Waiting(_) | Way::Over => Ok(()),
        };
        if sent == Err(Refused::Gone) {
            self.way.replace(Way::Over);
        }
    }

    /// Ends one request with an answer that must not be lost unnoticed.
    pub fn deliver(&self, answer: (StatusCode, Rope), receipt: Receipt) {
        self.receipts.borrow_mut().push(receipt);
        self.finish(Some(answer));
    }

    /// Ends one request; without a text nothing is said about it.
    pub fn finish(&self, answer: Option<(StatusCode, Rope)>) {
        let left = self.left.get().saturating_sub(1);
        self.left.set(left);
        let answer = match &self.batch {
            None => answer,
            Some(texts) => {
                texts.borrow_mut().extend(answer.map(|(_, text)| text));
                if left > 0 {
                    return;
                }
                array(&texts.take()).map(|text| (StatusCode::OK, text))
            }
        };
        if let Some(key) = self.key.take() {
            self.open.remove(key);
        }
        let receipts = self.receipts.take();
        let lost = (!receipts.is_empty()).then(|| -> Callback {
            // Called where the connection ends before the last byte has left, else dropped.
            Box::new(move || receipts.into_iter().for_each(Receipt::lost))
        });
        match (self.way.replace(Way::Over), answer) {
            (Way::Waiting(responder), Some((status, text))) => {
                if let Some(lost) = lost {
                    responder.on_closed(lost);
                }
                send(responder, self.takes, status, HeaderMap::new(), text);
            }
            (Way::Waiting(responder), None) if self.takes == Takes::Json => {
                responder.send(Answer::empty(StatusCode::ACCEPTED));
            }
            (Way::Waiting(responder), None) => drop(responder.stream(HeaderMap::new())),
            // Who has gone has gone: the hub keeps what has to be kept.
            (Way::Streaming(events), Some((_, text))) => {
                if let Some(lost) = lost {
                    events.on_closed(lost);
                }
                let _ = events.end(&text);
            }
            (Way::Streaming(_), None) => {}
            (Way::Over, _) => {
                if let Some(lost) = lost {
                    lost();
                }
            }
        }
    }

    /// Turns it into a stream if it has waited for so long.
    pub fn hurry(&self, now: Instant, patience: Duration) {
        if now.duration_since(self.since) >= patience {
            self.stream();
            if let Some(key) = self.key.take() {
                self.open.remove(key);
            }
        }
    }

    fn stream(&self) {
        if self.takes == Takes::Json || !matches!(*self.way.borrow(), Way::Waiting(_)) {
            return;
        }
        if let Way::Waiting(responder) = self.way.replace(Way::Over) {
            self.way.replace(Way::Streaming(responder.stream(HeaderMap::new())));
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.open.remove(key);
        }
    }
}

/// The texts as one JSON array; None where there are none.
fn array(texts: &[Rope]) -> Option<Rope> {
    let mut out = Rope::new();
    for (place, text) in texts.iter().enumerate() {
        out.push_static(if place == 0 { "[" } else { "," });
        out.append(text);
    }
    out.push_static("]");
    (!texts.is_empty()).then_some(out)
}
