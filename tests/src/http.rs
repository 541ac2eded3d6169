//! One HTTP request as raw bytes, so that a story can send what no library would.

use crate::LIMIT;
use std::io::{Read, Write};
use std::net::TcpStream;

/// What came back.
#[derive(Debug)]
pub struct HttpReply {
    /// The status code.
    pub status: u16,
    /// The head as text.
    pub head: String,
    /// The body as far as it came.
    pub body: String,
}

impl HttpReply {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| {
            line.split_once(':').filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|it| it.1.trim())
        })
    }
    /// The message in a JSON body, or in the first event of a stream.
    pub fn message(&self) -> serde_json::Value {
        let data = self.body.lines().find_map(|line| line.strip_prefix("data:")).unwrap_or(&self.body);
        serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Sends a request to `http://127.0.0.1:PORT/…`; `lines` are the head's lines after the first one, `Host` and
/// `Content-Length` not added where they are there already.
pub fn http(url: &str, method: &str, lines: &[String], body: &str) -> HttpReply {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let has = |name: &str| lines.iter().any(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")));
    let mut head = format!("{method} /{path} HTTP/1.1\r\nConnection: close\r\n");
    if !has("host") {
        head.push_str(&format!("Host: {host}\r\n"));
    }
    if !has("content-length") {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    for line in lines {
        head.push_str(line);
        head.push_str("\r\n");
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
    let mut bytes = Vec::new();
    // A reset after the answer is as good as an end.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { unchunk(body) } else { body.to_owned() };
    HttpReply { status, head: head.to_owned(), body }
}

fn unchunk(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let Ok(size) = usize::from_str_radix(size.trim(), 16) else { break };
        let Some(chunk) = rest.get(..size) else { break };
        out.push_str(chunk);
        body = rest.get(size + 2..).unwrap_or("");
        if size == 0 {
            break;
        }
    }
    out
}
