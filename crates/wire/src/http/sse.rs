//! Server-sent events: reads them in whatever pieces they come, within a bound, and writes JSON texts as events.

use super::body::Pieces;
use bytes::{Buf, Bytes, BytesMut};
use frame::Rope;
use std::time::Duration;

/// The media type of a stream of events.
pub const MEDIA_TYPE: &str = "text/event-stream";

/// Room for field names, ids and line ends beside an event's data.
const AROUND: usize = 4096;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The `event` field; empty means `message`.
    pub name: Bytes,
    /// The `data` lines, joined by line feeds; None where there were none.
    pub data: Option<Bytes>,
    /// The `id` field, for resuming after this event.
    pub id: Option<Bytes>,
    /// How long to wait before connecting again.
    pub retry: Option<Duration>,
}

impl Event {
    /// Its text, if it is a message.
    pub fn message(self) -> Option<Bytes> {
        let is_message = self.name.is_empty() || &*self.name == b"message";
        self.data.filter(|data| is_message && !data.is_empty())
    }
}

/// An event over the bound; the stream can't be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {max} bytes")]
pub struct TooLong {
    /// The bound in bytes.
    pub max: usize,
}

/// Received bytes that have not yet become events.
#[derive(Debug)]
pub struct Parser {
    buf: BytesMut,
    /// Bytes at the front of `buf` that are known to hold no line end.
    scanned: usize,
    /// The last line ended in a carriage return: a line feed right behind belongs to it.
    after_return: bool,
    at_start: bool,
    max: usize,
    event: Event,
    /// Further data lines, joined; then `event.data` is empty.
    joined: BytesMut,
}

impl Parser {
    /// An event's data may be `max` bytes long.
    pub fn new(max: usize) -> Parser {
        Parser {
            buf: BytesMut::new(),
            scanned: 0,
            after_return: false,
            at_start: true,
            max,
            event: Event::default(),
            joined: BytesMut::new(),
        }
    }

    /// Adds received bytes; call [`Parser::next`] until it gives None before adding more.
    pub fn push(&mut self, chunk: &[u8]) {
        self.buf.extend_from_slice(chunk);
    }

    /// The next complete event; None until more bytes come.
    ///
    /// # Errors
    /// [`TooLong`] as soon as an event has grown over the bound.
    #[allow(clippy::should_implement_trait, reason = "ends for now, not for good")]
    pub fn next(&mut self) -> Option<Result<Event, TooLong>> {
        while let Some(line) = self.line() {
            if line.is_empty() {
                let mut event = std::mem::take(&mut self.event);
                if !self.joined.is_empty() {
                    event.data = Some(self.joined.split().freeze());
                }
                if event.data.is_some() || event.id.is_some() || event.retry.is_some() {
                    return Some(Ok(event));
                }
            } else {
                self.field(line);
            }
            if self.size() > self.max {
                return Some(Err(TooLong { max: self.max }));
            }
        }
        let pending = self.size() + self.buf.len();
        (pending > self.max + AROUND).then_some(Err(TooLong { max: self.max }))
    }

    fn size(&self) -> usize {
        self.joined.len() + self.event.data.as_ref().map_or(0, Bytes::len)
    }

    fn line(&mut self) -> Option<Bytes> {
        if self.at_start {
            let bom = b"\xEF\xBB\xBF";
            if bom.starts_with(&self.buf) && self.buf.len() < bom.len() {
                return None;
            }
            self.at_start = false;
            if self.buf.starts_with(bom) {
                self.buf.advance(bom.len());
            }
        }
        if self.after_return && !self.buf.is_empty() {
            self.after_return = false;
            if self.buf[0] == b'\n' {
                self.buf.advance(1);
            }
        }
        let Some(found) = memchr::memchr2(b'\n', b'\r', &self.buf[self.scanned..]) else {
            self.scanned = self.buf.len();
            return None;
        };
        let end = self.scanned + found;
        self.scanned = 0;
        if end == 0 {
            // A blank line: nothing to share a buffer for.
            self.after_return = self.buf[0] == b'\r';
            self.buf.advance(1);
            return Some(Bytes::new());
        }
        let mut line = self.buf.split_to(end + 1);
        self.after_return = line[end] == b'\r';
        line.truncate(end);
        Some(line.freeze())
    }

    fn field(&mut self, line: Bytes) {
        let colon = memchr::memchr(b':', &line[..line.len().min(8)]);
        let start = colon.map_or(line.len(), |colon| colon + 1 + usize::from(line.get(colon + 1) == Some(&b' ')));
        let value = line.slice(start..);
        match &line[..colon.unwrap_or(line.len())] {
            b"data" => match self.event.data.replace(Bytes::new()) {
                None => self.event.data = Some(value),
                Some(first) => {
                    self.joined.extend_from_slice(&first);
                    self.joined.extend_from_slice(b"\n");
                    self.joined.extend_from_slice(&value);
                }
            },
            b"event" => self.event.name = value,
            b"id" if !value.contains(&0) && value.len() <= AROUND => self.event.id = Some(value),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                let time = std::str::from_utf8(&value).ok().and_then(|digits| digits.parse().ok());
                self.event.retry = time.map(Duration::from_millis);
            }
            _ => {}
        }
    }
}

/// Writes a JSON text as one event. Line breaks between its tokens, the only place where JSON has any, become further
/// data lines.
pub(crate) fn encode(out: &mut Pieces, text: &Rope) {
    out.push(Bytes::from_static(b"event: message\ndata: "));
    for piece in text.pieces() {
        let mut rest = piece.clone();
        while let Some(found) = memchr::memchr2(b'\n', b'\r', &rest) {
            out.push(rest.split_to(found));
            rest.advance(1);
            out.push(Bytes::from_static(b"\ndata: "));
        }
        out.push(rest);
    }
    out.push(Bytes::from_static(b"\n\n"));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn read(chunks: &[&[u8]], max: usize) -> Vec<Result<Event, TooLong>> {
        let mut parser = Parser::new(max);
        let mut events = Vec::new();
        for chunk in chunks {
            parser.push(chunk);
            while let Some(event) = parser.next() {
                let failed = event.is_err();
                events.push(event);
                if failed {
                    return events;
                }
            }
        }
        events
    }

    fn check(text: &str, expect: &[(&str, Option<&str>, Option<&str>)]) {
        let whole: Vec<_> = read(&[text.as_bytes()], 1000).into_iter().map(Result::unwrap).collect();
        let seen: Vec<_> = whole
            .iter()
            .map(|event| {
                let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).unwrap();
                (text(&event.name), event.data.as_ref().map(text), event.id.as_ref().map(text))
            })
            .collect();
        let expect: Vec<_> = expect
            .iter()
            .map(|(name, data, id)| ((*name).to_owned(), data.map(str::to_owned), id.map(str::to_owned)))
            .collect();
        assert_eq!(seen, expect, "{text:?}");
        let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        let bytewise: Vec<_> = read(&single, 1000).into_iter().map(Result::unwrap).collect();
        assert_eq!(bytewise, whole, "byte by byte: {text:?}");
    }

    #[test]
    fn events_of_every_shape() {
        check("data: x\n\n", &[("", Some("x"), None)]);
        check("\u{feff}data:x\r\n\r\n", &[("", Some("x"), None)]);
        check("event: message\rdata:  x\r\rdata: y\r\n\n", &[("message", Some(" x"), None), ("", Some("y"), None)]);
        check("data: a\ndata\ndata: b\n\n", &[("", Some("a\n\nb"), None)]);
        check(": note\n\n\n\n:\n\ndata: x\n\n", &[("", Some("x"), None)]);
        check("id: 7\ndata:\n\n", &[("", Some(""), Some("7"))]);
        check("id: 7\n\ndata: x\n\n", &[("", None, Some("7")), ("", Some("x"), None)]);
        check("id: a\0b\ndata: x\n\n", &[("", Some("x"), None)]);
        check("event: ping\ndata: x\nother: 1\ndatax: 2\n\n", &[("ping", Some("x"), None)]);
        check("data: cut", &[]);
        check("data: cut\n", &[]);
    }

    #[test]
    fn retry_is_a_number_of_milliseconds() {
        let event = read(&[b"retry: 250\nretry: soon\n\n"], 100).remove(0).unwrap();
        assert_eq!(event.retry, Some(Duration::from_millis(250)));
    }

    #[test]
    fn only_messages_have_a_text() {
        let text = |input: &str| read(&[input.as_bytes()], 100).remove(0).unwrap().message();
        assert_eq!(text("data: {}\n\n").as_deref(), Some(&b"{}"[..]));
        assert_eq!(text("event: message\ndata: {}\n\n").as_deref(), Some(&b"{}"[..]));
        assert_eq!(text("event: endpoint\ndata: /x\n\n"), None);
        assert_eq!(text("id: 1\ndata:\n\n"), None);
    }

    #[test]
    fn an_event_without_end_is_bounded_whatever_it_is_made_of() {
        for line in
            [&b"data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"[..], b"x", b": comment that goes on ", b"id: "]
        {
            let chunks = vec![line; 50_000];
            let mut parser = Parser::new(10_000);
            let failed = chunks.iter().position(|chunk| {
                parser.push(chunk);
                let mut failed = false;
                while let Some(event) = parser.next() {
                    failed = event.is_err();
                    if failed {
                        break;
                    }
                }
                assert!(parser.buf.len() <= 10_000 + AROUND + 64);
                failed
            });
            assert!(failed.is_some(), "{line:?}");
        }
    }

    #[test]
    fn a_million_empty_events_give_nothing() {
        assert_eq!(read(&[&[b'\n'; 1_000_000]], 100), []);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(texts in prop::collection::vec("[a-z{}\\[\\]\" \r\n]{0,20}", 1..5), cut in 1_usize..40) {
            let mut out = Pieces::default();
            for text in &texts {
                let mut rope = Rope::new();
                text.as_bytes().chunks(3).for_each(|piece| rope.push_copy(piece));
                encode(&mut out, &rope);
            }
            let flat = out.copy_to_bytes(out.remaining());
            let chunks: Vec<&[u8]> = flat.chunks(cut).collect();
            let seen: Vec<Bytes> = read(&chunks, 1000).into_iter().map(|event| event.unwrap().data.unwrap()).collect();
            let expect: Vec<Bytes> = texts.iter().map(|text| text.replace('\r', "\n").into()).collect();
            prop_assert_eq!(seen, expect);
        }
    }
}
