//! Why an exchange over HTTP failed, in words for people. Never quotes a header value or a URL's query: both may hold
//! a secret.

use super::target::AddressFault;
use http::StatusCode;
use std::error::Error;
use std::io;

/// How many bytes of an answer's body are shown.
pub const SHOWN: usize = 200;

/// The text of a failure that only signing in can cure.
pub const NEEDS_SIGN_IN: &str = "needs sign-in";

/// What went wrong, for the code that decides what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// No connection: name, address, time-out or TLS.
    Unreachable,
    /// The server wants credentials that it was not given (401), or more of them (403).
    SignIn,
    /// The server answered with this status.
    Status(StatusCode),
    /// The server has forgotten the session.
    SessionLost,
    /// A redirect that is not followed.
    Redirect,
    /// The connection broke before the answer was whole.
    Broken,
    /// What came is no answer.
    BadAnswer,
    /// The answer, or an event before it, has that many bytes or more, and that is over the bound.
    TooLong(u64),
    /// The link was closed, or the session begun anew.
    Ended,
}

/// Why one exchange failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong.
    pub kind: FailureKind,
    /// In words.
    pub text: String,
    /// Whether the server may have acted.
    pub sent: bool,
}

impl Failure {
    pub fn new(kind: FailureKind, text: impl Into<String>, sent: bool) -> Failure {
        Failure { kind, text: text.into(), sent }
    }

    /// A status that is no success, with the first bytes of its body.
    pub fn status(status: StatusCode, body: &[u8]) -> Failure {
        let name = status.canonical_reason().unwrap_or_default();
        let text = match visible(body) {
            shown if shown.is_empty() => format!("the server answered {} {name}", status.as_u16()),
            shown => format!("the server answered {} {name}: {shown}", status.as_u16()),
        };
        Failure::new(FailureKind::Status(status), text, !is_refusal(status))
    }
}

/// Whether a status says that the request was turned away at the door, so that the server has certainly not acted: what is
/// told by the head of a request alone. Frameworks give the others for what went wrong in a tool, too, and 303 after it ran.
fn is_refusal(status: StatusCode) -> bool {
    matches!(status.as_u16(), 307 | 308 | 401 | 405 | 411 | 413..=415 | 421 | 426 | 431)
}

/// The first bytes of a text from outside, everything invisible written as an escape.
pub fn visible(body: &[u8]) -> String {
    let head = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]);
    let mut text = String::with_capacity(head.len());
    for c in head.trim().chars() {
        match c {
            '"' | '\'' | '\\' => text.push(c),
            c => text.extend(c.escape_debug()),
        }
    }
    if body.len() > SHOWN {
        text.push('…');
    }
    text
}

/// Why there is no connection to `origin`, from whatever error the library gave.
pub fn unreachable(origin: &str, error: &(dyn Error + 'static)) -> String {
    let mut at = Some(error);
    let mut last = error;
    while let Some(error) = at {
        if let Some(refused) = error.downcast_ref::<AddressFault>() {
            return format!("{origin}: {refused}");
        }
        last = error;
        at = error.source();
        if let Some(io) = error.downcast_ref::<io::Error>() {
            // An I/O error names its inner error's source as its own, and so leaves the inner error out.
            let inner = io.get_ref().map(|inner| -> &(dyn Error + 'static) { inner });
            match io.kind() {
                io::ErrorKind::ConnectionRefused => return format!("{origin} refused the connection"),
                io::ErrorKind::TimedOut => return format!("{origin} did not answer in time"),
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
                    return format!("{origin} closed the connection");
                }
                io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                    return format!("{origin} cannot be reached from this network");
                }
                // Where the TLS library reports through the socket's error type.
                io::ErrorKind::InvalidData => {
                    let why = inner.map_or_else(|| io.to_string(), ToString::to_string);
                    return format!("{origin}: TLS problem: {}", visible(why.as_bytes()));
                }
                _ => at = inner,
            }
        }
    }
    format!("{origin}: {}", visible(last.to_string().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_shown_short_and_without_tricks() {
        let check = |body: &[u8], expect: &str| assert_eq!(visible(body), expect);
        check(b"", "");
        check(b" no \"such\" tool\r\n", "no \"such\" tool");
        check(b"a\x1b[31mred\0", "a\\u{1b}[31mred\\0");
        check("safe\u{202e}evil".as_bytes(), "safe\\u{202e}evil");
        check(b"\xff\xfe", "\u{fffd}\u{fffd}");
        assert_eq!(visible(&[b'x'; 1000]), "x".repeat(200) + "…");
    }

    #[test]
    fn only_a_refusal_at_the_door_is_surely_not_run() {
        let check = |status: u16, sent: bool| {
            let status = StatusCode::from_u16(status).unwrap_or_default();
            assert_eq!(Failure::status(status, b"").sent, sent, "{status}");
        };
        [307, 401, 405, 411, 413, 415, 421, 431].into_iter().for_each(|status| check(status, false));
        [301, 302, 303, 400, 402, 403, 404, 408, 409, 410, 422, 429, 500, 502, 503, 504]
            .into_iter()
            .for_each(|status| check(status, true));
    }

    #[test]
    fn causes_have_plain_words() {
        let check = |kind: io::ErrorKind, expect: &str| {
            assert_eq!(unreachable("http://x:1", &io::Error::from(kind)), expect);
        };
        check(io::ErrorKind::ConnectionRefused, "http://x:1 refused the connection");
        check(io::ErrorKind::TimedOut, "http://x:1 did not answer in time");
    }
}
