//! Where messages are written to, and their envelopes. Never parses.

use bytes::Bytes;
use frame::object;

/// Whoever gets the answers of one request: the one host on stdio, one connection on HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    /// Place in the door's own table.
    pub(crate) slot: usize,
    /// Tells two that had the same place apart.
    pub(crate) serial: u64,
}

/// What kind of message begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A notification; more follows for this seat.
    Notice,
    /// The result of a request; nothing follows.
    Result,
    /// The error of a request, with its code; nothing follows.
    Error(i32),
}

/// A door's way out.
pub(crate) trait Out {
    /// Where the text of one message goes, which `end` ends.
    fn begin(&mut self, seat: Seat, part: Part) -> &mut Vec<u8>;
    /// The text is complete.
    fn end(&mut self, seat: Seat, part: Part);
    /// A line that is no message.
    fn noise(&mut self, text: &str);
    /// All who take unsolicited notices of the legacy era.
    fn listeners(&self) -> Vec<Seat>;
}

/// Whom a request is answered to.
#[derive(Clone, Debug)]
pub(crate) struct To {
    pub(crate) seat: Seat,
    /// The legacy session, for cancels: 0 on stdio.
    pub(crate) session: u64,
    pub(crate) id: Bytes,
    pub(crate) modern: bool,
}

/// Writes a result; `members` writes what stands between its braces.
pub(crate) fn result(out: &mut impl Out, to: &To, members: impl FnOnce(&mut Vec<u8>)) {
    let text = out.begin(to.seat, Part::Result);
    text.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    text.extend_from_slice(&to.id);
    text.extend_from_slice(b",\"result\":{");
    let start = text.len();
    members(text);
    if to.modern {
        if text.len() > start {
            text.push(b',');
        }
        text.extend_from_slice(b"\"resultType\":\"complete\"");
    }
    text.extend_from_slice(b"}}");
    out.end(to.seat, Part::Result);
}

/// Writes a result of one text block, whose JSON string is given.
pub(crate) fn quoted_text(out: &mut impl Out, to: &To, quoted: &[u8]) {
    result(out, to, |text| {
        text.extend_from_slice(b"\"content\":[{\"type\":\"text\",\"text\":");
        text.extend_from_slice(quoted);
        text.extend_from_slice(b"}]");
    });
}

/// Writes a result of one text block.
pub(crate) fn plain_text(out: &mut impl Out, to: &To, words: &str) {
    quoted_text(out, to, object::quote(words).as_bytes());
}

/// Writes a tool result that tells the model of a failure.
pub(crate) fn tool_error(out: &mut impl Out, to: &To, words: &str) {
    let quoted = object::quote(words);
    result(out, to, |text| {
        text.extend_from_slice(
            format!("\"content\":[{{\"type\":\"text\",\"text\":{quoted}}}],\"isError\":true").as_bytes(),
        );
    });
}

/// Writes a JSON-RPC error; `more` are further members of the error object, with their comma.
pub(crate) fn error(out: &mut impl Out, seat: Seat, id: &[u8], code: i32, message: &str, more: &str) {
    let text = out.begin(seat, Part::Error(code));
    text.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    text.extend_from_slice(if id.is_empty() { b"null" } else { id });
    let message = object::quote(message);
    text.extend_from_slice(format!(",\"error\":{{\"code\":{code},\"message\":{message}{more}}}}}").as_bytes());
    out.end(seat, Part::Error(code));
}

/// Writes a notification.
pub(crate) fn notice(out: &mut impl Out, seat: Seat, method: &str, params: &[&[u8]]) {
    let text = out.begin(seat, Part::Notice);
    text.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":\"");
    text.extend_from_slice(method.as_bytes());
    text.extend_from_slice(b"\",\"params\":{");
    for piece in params {
        text.extend_from_slice(piece);
    }
    text.extend_from_slice(b"}}");
    out.end(seat, Part::Notice);
}
