//! A peer behind Streamable HTTP: one keep-alive connection for each lane.

use super::args::Era;
use super::peer::{Fault, Peer};
use super::wire;
use memchr::memmem;
use rustix::event::{PollFd, PollFlags, poll};
use std::borrow::Cow;
use std::io::{Read, Write};
use std::net::TcpStream;

pub struct Http {
    path: String,
    host: String,
    /// Headers that do not change.
    headers: String,
    session: Option<String>,
    lanes: Vec<Lane>,
    chunk: Vec<u8>,
}

struct Lane {
    stream: TcpStream,
    waits: bool,
    input: Vec<u8>,
}

impl Http {
    pub fn connect(url: &str, token: Option<&str>, era: Era, lanes: usize) -> Result<Http, Fault> {
        let rest = url.strip_prefix("http://").ok_or_else(|| Fault::Usage("only http:// is spoken".to_owned()))?;
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let mut headers =
            "content-type: application/json\r\naccept: application/json, text/event-stream\r\n".to_owned();
        let version = if era == Era::Modern { "2026-07-28" } else { "2025-11-25" };
        headers.push_str(&format!("mcp-protocol-version: {version}\r\n"));
        if let Some(token) = token {
            headers.push_str(&format!("authorization: Bearer {token}\r\n"));
        }
        let lane = |_| -> Result<Lane, Fault> {
            let stream = TcpStream::connect(host)?;
            stream.set_nodelay(true)?;
            Ok(Lane { stream, waits: false, input: Vec::new() })
        };
        Ok(Http {
            path: if path.is_empty() { "/".to_owned() } else { path.to_owned() },
            host: host.to_owned(),
            headers,
            session: None,
            lanes: (0..lanes.max(1)).map(lane).collect::<Result<_, _>>()?,
            chunk: vec![0; 256 * 1024],
        })
    }

    /// Headers that a modern server compares with the message.
    fn message_headers(message: &[u8]) -> String {
        let text = bytes::Bytes::copy_from_slice(message);
        let Ok(frame) = frame::Frame::parse(text) else { return String::new() };
        let mut headers = format!("mcp-method: {}\r\n", frame.method());
        if let Some(name) = frame::object::get(&frame.params(), "name")
            && let Some(name) = frame::object::text(&name)
        {
            headers.push_str(&format!("mcp-name: {name}\r\n"));
        }
        headers
    }
}

impl Peer for Http {
    fn send(&mut self, lane: usize, message: &[u8]) -> Result<(), Fault> {
        let modern = self.headers.contains("2026-07-28");
        let more = if modern { Http::message_headers(message) } else { String::new() };
        let session = self.session.as_deref().unwrap_or_default();
        let mut request = Vec::with_capacity(512 + message.len());
        for piece in ["POST ", &self.path, " HTTP/1.1\r\nhost: ", &self.host, "\r\n", &self.headers, session, &more] {
            request.extend_from_slice(piece.as_bytes());
        }
        request.extend_from_slice(format!("content-length: {}\r\n\r\n", message.len()).as_bytes());
        request.extend_from_slice(message);
        let lane = &mut self.lanes[lane];
        lane.stream.write_all(&request)?;
        if wire::id_of(message).is_some() {
            lane.waits = true;
            return Ok(());
        }
        // A notice is answered by a status alone; it is waited for here, since nobody else will.
        loop {
            let read = lane.stream.read(&mut self.chunk)?;
            lane.input.extend_from_slice(&self.chunk[..read]);
            if memmem::find(&lane.input, b"\r\n\r\n").is_some() || read == 0 {
                lane.input.clear();
                return Ok(());
            }
        }
    }

    fn turn(&mut self, got: &mut dyn FnMut(usize, &[u8])) -> Result<(), Fault> {
        loop {
            let waiting: Vec<usize> = (0..self.lanes.len()).filter(|lane| self.lanes[*lane].waits).collect();
            let ready: Vec<usize> = match waiting[..] {
                // One lane: read without asking first.
                [lane] => vec![lane],
                _ => {
                    let mut fds: Vec<PollFd<'_>> =
                        waiting.iter().map(|lane| PollFd::new(&self.lanes[*lane].stream, PollFlags::IN)).collect();
                    poll(&mut fds, None)?;
                    let ready = waiting.iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
                    ready.map(|(lane, _)| *lane).collect()
                }
            };
            let mut any = false;
            for place in ready {
                let lane = &mut self.lanes[place];
                let read = lane.stream.read(&mut self.chunk)?;
                if read == 0 {
                    return Err(Fault::Peer("the peer has closed the connection".to_owned()));
                }
                lane.input.extend_from_slice(&self.chunk[..read]);
                let Some(answer) = Answer::read(&lane.input)? else { continue };
                if let Some(session) = answer.session {
                    self.session = Some(format!("mcp-session-id: {session}\r\n"));
                }
                lane.waits = false;
                for message in &answer.messages {
                    any = true;
                    got(place, message);
                }
                lane.input.clear();
                lane.input.shrink_to(1 << 20);
            }
            if any {
                return Ok(());
            }
        }
    }

    fn pid(&self) -> Option<u32> {
        None
    }
}

/// One complete answer.
struct Answer<'a> {
    session: Option<String>,
    messages: Vec<Cow<'a, [u8]>>,
}

impl Answer<'_> {
    fn read(input: &[u8]) -> Result<Option<Answer<'_>>, Fault> {
        let Some(end) = memmem::find(input, b"\r\n\r\n") else { return Ok(None) };
        let head = String::from_utf8_lossy(&input[..end]);
        let body = &input[end + 4..];
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap_or_default();
        let (mut length, mut chunked, mut events, mut session) = (0, false, false, None);
        for line in lines {
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().unwrap_or(0),
                "transfer-encoding" => chunked = true,
                "content-type" => events = value.starts_with("text/event-stream"),
                "mcp-session-id" => session = Some(value.to_owned()),
                _ => {}
            }
        }
        let body = if chunked {
            let Some(body) = unchunk(body) else { return Ok(None) };
            Cow::Owned(body)
        } else if body.len() >= length {
            Cow::Borrowed(&body[..length])
        } else {
            return Ok(None);
        };
        if !status.contains(" 200 ") {
            return Err(Fault::Peer(format!("{status}: {}", String::from_utf8_lossy(&body))));
        }
        let messages = if events {
            let lines = body.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data:"));
            lines
                .map(|data| Cow::Owned(data.trim_ascii().to_vec()))
                .filter(|data: &Cow<'_, [u8]>| !data.is_empty())
                .collect()
        } else {
            vec![body]
        };
        Ok(Some(Answer { session, messages }))
    }
}

/// The body of a chunked answer; None while it is not complete.
fn unchunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = memmem::find(rest, b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).ok()?.trim(), 16).ok()?;
        let chunk = rest.get(end + 2..end + 2 + size)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(chunk);
        rest = rest.get(end + 4 + size..)?;
    }
}
