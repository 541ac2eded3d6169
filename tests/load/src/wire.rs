//! Messages: made once and then only given another id; answers are looked at just enough to be sure of them.

use super::args::Era;
use super::peer::{Fault, Peer, ask};
use frame::object;
use memchr::memmem;
use std::time::{Duration, Instant};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A request without its id.
pub struct Request {
    rest: String,
}

impl Request {
    /// `params` are the members of the params object.
    pub fn new(method: &str, params: &str, era: Era) -> Request {
        let meta = if era == Era::Modern { META } else { "" };
        let comma = if meta.is_empty() || params.is_empty() { "" } else { "," };
        Request { rest: format!(",\"method\":\"{method}\",\"params\":{{{params}{comma}{meta}}}}}") }
    }
    pub fn call(tool: &str, arguments: &str, era: Era) -> Request {
        Request::new("tools/call", &format!("\"name\":{},\"arguments\":{arguments}", object::quote(tool)), era)
    }
    pub fn write(&self, id: u64, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        out.extend_from_slice(id.to_string().as_bytes());
        out.extend_from_slice(self.rest.as_bytes());
    }
    pub fn text(&self, id: u64) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(id, &mut out);
        out
    }
}

/// The id of a message; None for notices.
pub fn id_of(text: &[u8]) -> Option<u64> {
    let digits = |text: &[u8]| {
        let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
        std::str::from_utf8(&text[..end]).ok()?.parse().ok()
    };
    // Nearly all put it at the beginning or at the end.
    if let Some(rest) = text.strip_prefix(b"{\"jsonrpc\":\"2.0\",\"id\":") {
        return digits(rest);
    }
    frame::own_id(&frame::readable_id(text)?)
}

/// Whether an answer is a result without `isError`; long texts are looked at at both ends only.
pub fn is_good(text: &[u8]) -> bool {
    let ends = [&text[..text.len().min(512)], &text[text.len().saturating_sub(256)..]];
    ends.iter().all(|end| memmem::find(end, b"\"isError\":true").is_none())
        && (memmem::find(ends[0], b"\"result\":").is_some() || memmem::find(ends[1], b"\"result\":").is_some())
}

/// Says hello in the way of the era.
pub fn hello(peer: &mut dyn Peer, era: Era) -> Result<(), Fault> {
    let request = match era {
        Era::Legacy => {
            let params =
                r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}"#;
            Request::new("initialize", params, era)
        }
        Era::Modern => Request::new("server/discover", "", era),
    };
    let answer = ask(peer, &request.text(1))?;
    if !is_good(&answer) {
        return Err(Fault::Peer(format!("hello was answered by {}", String::from_utf8_lossy(&answer))));
    }
    if era == Era::Legacy {
        peer.send(0, br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
    }
    Ok(())
}

/// All pages of the tools.
#[derive(Default)]
pub struct Listed {
    pub tools: usize,
    pub bytes: usize,
    /// Time until the answers were here, without reading them.
    pub took: Duration,
}

/// Asks for all pages of the tools.
pub fn list(peer: &mut dyn Peer, era: Era, next_id: &mut u64) -> Result<Listed, Fault> {
    let (mut all, mut params) = (Listed::default(), String::new());
    loop {
        *next_id += 1;
        let request = Request::new("tools/list", &params, era).text(*next_id);
        let start = Instant::now();
        let answer = bytes::Bytes::from(ask(peer, &request)?);
        all.took += start.elapsed();
        all.bytes += answer.len();
        let Some(result) = object::get(&answer, "result") else {
            // The list has changed between two pages: as clients do, it is read anew.
            if !params.is_empty() {
                (all, params) = (Listed { took: all.took, ..Listed::default() }, String::new());
                continue;
            }
            return Err(Fault::Peer(format!("tools/list was answered by {}", String::from_utf8_lossy(&answer))));
        };
        let listed = object::get(&result, "tools").unwrap_or_default();
        all.tools += object::elements(&listed).count();
        match object::get(&result, "nextCursor") {
            Some(cursor) if cursor.first() == Some(&b'"') => {
                params = format!("\"cursor\":{}", String::from_utf8_lossy(&cursor));
            }
            _ => return Ok(all),
        }
    }
}
