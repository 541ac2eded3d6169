//! One JSON-RPC 2.0 message: the received bytes and where its parts lie in them.

use crate::object;
use crate::scan::{self, Met, ScanFault, Visit};
use bytes::Bytes;
use std::borrow::Cow;
use std::ops::Range;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Has a method and an id.
    Request,
    /// Has a method and no id.
    Notification,
    /// Has an id and a result.
    Response,
    /// Has an id and an error.
    Error,
}

/// Why a text is no usable message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// Not one complete JSON text.
    #[error("it is not one complete JSON text")]
    NotJson,
    /// Not UTF-8.
    #[error("it is not UTF-8")]
    BadUtf8,
    /// Nested deeper than [`crate::strict::MAX_DEPTH`].
    #[error("it is nested deeper than {} levels", crate::strict::MAX_DEPTH)]
    TooDeep,
    /// One of the envelope's own keys occurs twice.
    #[error("a key of its envelope stands twice")]
    DuplicateKey,
    /// A JSON text, but no JSON-RPC 2.0 object (`jsonrpc` missing or other).
    #[error("it does not say that it is JSON-RPC 2.0")]
    NotRpc,
    /// A JSON array: a batch (only 2025-03-26 has those).
    #[error("it is a batch")]
    Batch,
    /// The id is neither a string nor an integer; or it is missing where an answer needs one.
    #[error("its id is neither a string nor an integer")]
    BadId,
    /// `params` is neither an object, absent nor null.
    #[error("its params are no object")]
    BadParams,
    /// Neither method, result nor error; or more than one of them; a method that is no string, an error that is no
    /// object.
    #[error("it is neither a request, a result nor an error")]
    BadShape,
}

/// A text that is no usable message, with its id where one could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// Raw JSON text of a readable `id`, so that nobody waits in vain for an answer.
    pub id: Option<Bytes>,
    /// Whether the text has a `method`, so that it would have been a request or notification.
    pub has_method: bool,
}

/// One message. Cheap to clone: the parts are slices of one reference-counted buffer.
#[derive(Clone, Debug)]
pub struct Frame {
    pub(crate) raw: Bytes,
    pub(crate) kind: Kind,
    pub(crate) id: Range<usize>,
    pub(crate) method: Range<usize>,
    pub(crate) body: Range<usize>,
}

impl Frame {
    /// Reads one message. The whole text is checked: what passes is JSON that any parser can read.
    ///
    /// # Errors
    /// A [`Fault`] with the message's id, where one could be read.
    pub fn parse(raw: Bytes) -> Result<Frame, Fault> {
        match Parts::read(&raw).and_then(|parts| parts.shape(&raw)) {
            Ok(Shape { kind, id, method, body }) => Ok(Frame { raw, kind, id, method, body }),
            Err(kind) => Err(Fault::of(kind, &raw)),
        }
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }
    /// The id as it stands in the text (`7`, `"7"`); empty for a notification.
    pub fn id(&self) -> Bytes {
        self.raw.slice(self.id.clone())
    }
    /// The method; empty for answers.
    pub fn method(&self) -> Cow<'_, str> {
        object::text(&self.raw[self.method.clone()]).unwrap_or_default()
    }
    /// `params`, `result` or `error` as it stands in the text; None where absent, or `params: null`.
    pub fn body(&self) -> Option<Bytes> {
        (!self.body.is_empty()).then(|| self.raw.slice(self.body.clone()))
    }
    /// `params`, an empty object where there are none.
    pub fn params(&self) -> Bytes {
        self.body().unwrap_or_else(|| Bytes::from_static(b"{}"))
    }
    /// The whole text.
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }
}

impl Fault {
    /// A fault of `raw`, with whatever id and method it still tells.
    #[cold]
    fn of(kind: FaultKind, raw: &[u8]) -> Fault {
        if kind == FaultKind::Batch {
            return Fault { kind, id: None, has_method: false };
        }
        let [method] = object::pick(raw, ["method"]);
        let has_method = method.is_some_and(|method| &raw[method] != b"null");
        Fault { kind, id: readable_id(raw), has_method }
    }
}

/// The id of a message that is broken or cut (a zero byte stands where something was cut out): from its head, or,
/// where its last members are plain (`…,"id":7}`), from its end. None where it has none that could be answered.
pub fn readable_id(text: &[u8]) -> Option<Bytes> {
    let cut = memchr::memchr(0, text).unwrap_or(text.len());
    let [id] = object::pick(&text[..cut], ["id"]);
    // A value at the very end may have been cut.
    let id = id.filter(|id| id.end < cut).map(|id| &text[id]).or_else(|| object::last_scalar(text, "id"))?;
    is_whole_id(id).then(|| Bytes::copy_from_slice(id))
}

/// The number in an id that the hub gave out itself: plain digits, also as a string (some servers answer so).
pub fn own_id(id: &[u8]) -> Option<u64> {
    let digits = id.strip_prefix(b"\"").and_then(|id| id.strip_suffix(b"\"")).unwrap_or(id);
    if !digits.first().is_some_and(u8::is_ascii_digit) || (digits[0] == b'0' && digits.len() > 1) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Whether a checked value is a string or an integer.
fn is_id(value: &[u8]) -> bool {
    match value.first() {
        Some(b'"') => true,
        Some(b'-' | b'0'..=b'9') => !value.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')),
        _ => false,
    }
}

/// The same for a value that nobody has checked.
fn is_whole_id(value: &[u8]) -> bool {
    is_id(value)
        && std::str::from_utf8(value).is_ok()
        && scan::walk(value, 0, &mut Met::default(), &mut scan::Blind) == Ok(value.len())
}

/// Where the envelope's own members lie; an empty range = absent.
#[derive(Default)]
struct Parts {
    found: [Range<usize>; 6],
    /// The place in `found` of the member whose value is being read.
    current: Option<usize>,
    twice: bool,
}

const VERSION: usize = 0;
const ID: usize = 1;
const METHOD: usize = 2;
const PARAMS: usize = 3;
const RESULT: usize = 4;
const ERROR: usize = 5;

fn place(key: &[u8]) -> Option<usize> {
    match key {
        b"jsonrpc" => Some(VERSION),
        b"id" => Some(ID),
        b"method" => Some(METHOD),
        b"params" => Some(PARAMS),
        b"result" => Some(RESULT),
        b"error" => Some(ERROR),
        _ => None,
    }
}

struct Reading<'a> {
    raw: &'a [u8],
    parts: Parts,
}

impl Visit for Reading<'_> {
    #[inline]
    fn key(&mut self, depth: usize, key: Range<usize>, value: usize) {
        if depth != 1 {
            return;
        }
        let quoted = &self.raw[key];
        let inner = &quoted[1..quoted.len() - 1];
        self.parts.current = place(inner).or_else(|| {
            if memchr::memchr(b'\\', inner).is_none() { None } else { place(object::text(quoted)?.as_bytes()) }
        });
        if let Some(current) = self.parts.current {
            self.parts.twice |= !self.parts.found[current].is_empty();
            self.parts.found[current] = value..value;
        }
    }
    #[inline]
    fn end(&mut self, depth: usize, end: usize) {
        if depth == 1
            && let Some(current) = self.parts.current.take()
        {
            self.parts.found[current].end = end;
        }
    }
}

struct Shape {
    kind: Kind,
    id: Range<usize>,
    method: Range<usize>,
    body: Range<usize>,
}

impl Parts {
    fn read(raw: &[u8]) -> Result<Parts, FaultKind> {
        let start = scan::skip_space(raw, 0);
        let mut met = Met::default();
        let mut reading = Reading { raw, parts: Parts::default() };
        let scanned = scan::walk(raw, start, &mut met, &mut reading);
        // What the walk ends on before a bad byte says less than the bad byte.
        if (met.non_ascii || scanned.is_err()) && std::str::from_utf8(raw).is_err() {
            return Err(FaultKind::BadUtf8);
        }
        match scanned {
            Ok(end) if scan::skip_space(raw, end) == raw.len() => {}
            Err(ScanFault::TooDeep) => return Err(FaultKind::TooDeep),
            Ok(_) | Err(ScanFault::Syntax) => return Err(FaultKind::NotJson),
        }
        match raw[start] {
            b'{' if reading.parts.twice => Err(FaultKind::DuplicateKey),
            b'{' => Ok(reading.parts),
            b'[' => Err(FaultKind::Batch),
            _ => Err(FaultKind::NotRpc),
        }
    }

    /// The value of a member. Some writers put out every field that they know, with null where there is none.
    fn some(&self, raw: &[u8], place: usize) -> Option<Range<usize>> {
        let part = self.found[place].clone();
        (!part.is_empty() && &raw[part.clone()] != b"null").then_some(part)
    }

    fn shape(self, raw: &[u8]) -> Result<Shape, FaultKind> {
        let version = &raw[self.found[VERSION].clone()];
        if version != b"\"2.0\"" && object::text(version).is_none_or(|version| version != "2.0") {
            return Err(FaultKind::NotRpc);
        }
        let id = self.found[ID].clone();
        if !id.is_empty() && !is_id(&raw[id.clone()]) {
            return Err(FaultKind::BadId);
        }
        let begins = |part: &Range<usize>, byte: u8| raw[part.start] == byte;
        let result = self.found[RESULT].clone();
        let no_result = || self.some(raw, RESULT).is_none();
        let (kind, body) = match (self.some(raw, METHOD), self.some(raw, ERROR)) {
            (Some(method), None) if no_result() && begins(&method, b'"') => {
                let params = self.some(raw, PARAMS).unwrap_or_default();
                if !params.is_empty() && !begins(&params, b'{') {
                    return Err(FaultKind::BadParams);
                }
                (if id.is_empty() { Kind::Notification } else { Kind::Request }, params)
            }
            (None, None) if !result.is_empty() => (Kind::Response, result),
            (None, Some(error)) if no_result() && begins(&error, b'{') => (Kind::Error, error),
            _ => return Err(FaultKind::BadShape),
        };
        if matches!(kind, Kind::Response | Kind::Error) && id.is_empty() {
            return Err(FaultKind::BadId);
        }
        let method = self.some(raw, METHOD).unwrap_or_default();
        Ok(Shape { kind, id, method, body })
    }
}
