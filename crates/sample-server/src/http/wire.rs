//! HTTP/1.1 as far as this server needs it: requests with a length, one at a time on a connection; answers of one
//! JSON text or of events in chunks.

use crate::out::Part;
use crate::stdio::MAX_MESSAGE;
use bytes::{Buf, Bytes, BytesMut};
use std::net::TcpStream;

/// Longest head of a request in bytes.
const MAX_HEAD: usize = 16 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Post,
    Get,
    Delete,
    Other,
}

/// What the head of a request says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) verb: Verb,
    pub(super) modern: bool,
    pub(super) session: Option<u64>,
    /// From a web page.
    pub(super) foreign: bool,
    length: usize,
}

/// How the request that is being answered is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Asked,
    Streaming,
}

/// One connection.
pub(super) struct Conn {
    pub(super) stream: TcpStream,
    pub(super) serial: u64,
    pub(super) input: BytesMut,
    pub(super) out: Vec<u8>,
    /// Takes the unsolicited notices of the legacy era.
    pub(super) listening: bool,
    /// Ends when everything is written.
    pub(super) closing: bool,
    state: State,
    modern: bool,
    new_session: Option<u64>,
    /// Where the length of the piece that is being written belongs, and where the piece begins.
    length_at: usize,
    piece_at: usize,
}

/// Room for a length, filled in when it is known: white space in front of a header's value means nothing.
const DECIMAL: &[u8] = b"          \r\n\r\n";
const HEX: &[u8] = b"00000000\r\n";
const STREAM: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\ntransfer-encoding: chunked\r\n\r\n";

impl Conn {
    pub(super) fn new(stream: TcpStream, serial: u64) -> Conn {
        Conn {
            stream,
            serial,
            input: BytesMut::new(),
            out: Vec::new(),
            listening: false,
            closing: false,
            state: State::Idle,
            modern: false,
            new_session: None,
            length_at: 0,
            piece_at: 0,
        }
    }

    /// The next complete request, once the one before is answered; or the status that refuses it.
    pub(super) fn next_request(&mut self) -> Result<Option<(Head, Bytes)>, &'static str> {
        if self.state != State::Idle || self.closing {
            return Ok(None);
        }
        let Some(end) = memchr::memmem::find(&self.input, b"\r\n\r\n") else {
            return if self.input.len() > MAX_HEAD { Err("431 Request Header Fields Too Large") } else { Ok(None) };
        };
        let head = Head::read(&self.input[..end])?;
        if head.length > MAX_MESSAGE {
            return Err("413 Content Too Large");
        }
        if self.input.len() < end + 4 + head.length {
            return Ok(None);
        }
        self.input.advance(end + 4);
        Ok(Some((head, self.input.split_to(head.length).freeze())))
    }

    /// A message is being answered.
    pub(super) fn ask(&mut self, modern: bool, new_session: Option<u64>) {
        self.state = State::Asked;
        self.modern = modern;
        self.new_session = new_session;
    }

    /// An answer without a body.
    pub(super) fn plain(&mut self, status: &str) {
        self.out.extend_from_slice(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes());
        self.state = State::Idle;
    }

    /// A stream without an end.
    pub(super) fn listen(&mut self) {
        self.out.extend_from_slice(STREAM);
        self.state = State::Streaming;
        self.listening = true;
    }

    pub(super) fn begin(&mut self, part: Part) {
        if self.state == State::Asked && part == Part::Notice {
            self.out.extend_from_slice(STREAM);
            self.state = State::Streaming;
        }
        if self.state == State::Streaming {
            self.length_at = self.out.len();
            self.out.extend_from_slice(HEX);
            self.piece_at = self.out.len();
            self.out.extend_from_slice(b"event: message\ndata: ");
        } else {
            let status = match part {
                Part::Error(-32700 | -32600) => "400 Bad Request",
                Part::Error(-32022..=-32020) if self.modern => "400 Bad Request",
                Part::Error(-32601) if self.modern => "404 Not Found",
                Part::Notice | Part::Result | Part::Error(_) => "200 OK",
            };
            self.out.extend_from_slice(b"HTTP/1.1 ");
            self.out.extend_from_slice(status.as_bytes());
            self.out.extend_from_slice(b"\r\ncontent-type: application/json\r\n");
            if let Some(session) = self.new_session.take() {
                self.out.extend_from_slice(format!("mcp-session-id: sample-{session}\r\n").as_bytes());
            }
            self.out.extend_from_slice(b"content-length: ");
            self.length_at = self.out.len();
            self.out.extend_from_slice(DECIMAL);
            self.piece_at = self.out.len();
        }
    }

    pub(super) fn end(&mut self, part: Part) {
        let place = self.length_at;
        if self.state == State::Streaming {
            self.out.extend_from_slice(b"\n\n");
            let length = self.out.len() - self.piece_at;
            self.out[place..place + 8].copy_from_slice(format!("{length:08x}").as_bytes());
            self.out.extend_from_slice(if part == Part::Notice { b"\r\n" } else { b"\r\n0\r\n\r\n" });
        } else {
            let length = self.out.len() - self.piece_at;
            self.out[place..place + 10].copy_from_slice(format!("{length:>10}").as_bytes());
        }
        if part != Part::Notice {
            self.state = State::Idle;
        }
    }
}

impl Head {
    fn read(text: &[u8]) -> Result<Head, &'static str> {
        let text = std::str::from_utf8(text).map_err(|_| "400 Bad Request")?;
        let mut lines = text.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let verb = match words.next().unwrap_or_default() {
            "POST" => Verb::Post,
            "GET" => Verb::Get,
            "DELETE" => Verb::Delete,
            _ => Verb::Other,
        };
        if words.next().is_none_or(|path| path != "/mcp" && !path.starts_with("/mcp?")) {
            return Err("404 Not Found");
        }
        let mut head = Head { verb, modern: false, session: None, foreign: false, length: 0 };
        for line in lines {
            let (name, value) = line.split_once(':').ok_or("400 Bad Request")?;
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                head.length = value.parse().map_err(|_| "400 Bad Request")?;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                return Err("411 Length Required");
            } else if name.eq_ignore_ascii_case("origin") {
                head.foreign = true;
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                // One that is not ours is as good as one that has ended.
                head.session = Some(value.strip_prefix("sample-").and_then(|n| n.parse().ok()).unwrap_or_default());
            } else if name.eq_ignore_ascii_case("mcp-protocol-version") {
                head.modern = value == "2026-07-28";
            }
        }
        Ok(head)
    }
}
