//! One JSON-RPC 2.0 message: the received bytes and where its parts lie in them.

use crate::object;
use crate::scan::{self, ScanFault};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Not one complete JSON text.
    NotJson,
    /// Not UTF-8.
    BadUtf8,
    /// Nested deeper than [`crate::strict::MAX_DEPTH`].
    TooDeep,
    /// One of the envelope's own keys occurs twice.
    DuplicateKey,
    /// A JSON text, but no JSON-RPC 2.0 object (`jsonrpc` missing or other).
    NotRpc,
    /// A JSON array: a batch (only 2025-03-26 has those).
    Batch,
    /// The id is neither a string nor an integer.
    BadId,
    /// `params` is neither an object, absent nor null.
    BadParams,
    /// Neither method, result nor error; or more than one of them.
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
        let start = scan::skip_space(&raw, 0);
        if std::str::from_utf8(&raw).is_err() {
            return Err(Fault::of(FaultKind::BadUtf8, &raw));
        }
        match scan::value(&raw, start) {
            Ok(end) if scan::skip_space(&raw, end) == raw.len() => {}
            Err(ScanFault::TooDeep) => return Err(Fault::of(FaultKind::TooDeep, &raw)),
            Ok(_) | Err(ScanFault::Syntax) => return Err(Fault::of(FaultKind::NotJson, &raw)),
        }
        match raw[start] {
            b'{' => Parts::read(&raw).and_then(|parts| parts.frame(&raw)).map_err(|kind| Fault::of(kind, &raw)),
            b'[' => Err(Fault { kind: FaultKind::Batch, id: None, has_method: false }),
            _ => Err(Fault::of(FaultKind::NotRpc, &raw)),
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
    /// A fault of `raw`, with whatever id and method its head still tells.
    fn of(kind: FaultKind, raw: &Bytes) -> Fault {
        let [id, method] = object::pick(raw, ["id", "method"]);
        let id = id.filter(|id| is_id(&raw[id.clone()])).map(|id| raw.slice(id));
        Fault { kind, id, has_method: method.is_some() }
    }
}

/// The number in an id that the hub gave out itself: plain digits, also as a string (some servers answer so).
pub fn own_id(id: &[u8]) -> Option<u64> {
    let digits = id.strip_prefix(b"\"").and_then(|id| id.strip_suffix(b"\"")).unwrap_or(id);
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn is_id(text: &[u8]) -> bool {
    match text.first() {
        Some(b'"') => true,
        Some(b'-' | b'0'..=b'9') => !text.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')),
        _ => false,
    }
}

#[derive(Default)]
struct Parts {
    version: Option<Range<usize>>,
    id: Option<Range<usize>>,
    method: Option<Range<usize>>,
    params: Option<Range<usize>>,
    result: Option<Range<usize>>,
    error: Option<Range<usize>>,
}

impl Parts {
    fn read(raw: &[u8]) -> Result<Parts, FaultKind> {
        let mut parts = Parts::default();
        for member in object::members(raw) {
            let Some(key) = object::text(&raw[member.key]) else { continue };
            let place = match &*key {
                "jsonrpc" => &mut parts.version,
                "id" => &mut parts.id,
                "method" => &mut parts.method,
                "params" => &mut parts.params,
                "result" => &mut parts.result,
                "error" => &mut parts.error,
                _ => continue,
            };
            if place.replace(member.value).is_some() {
                return Err(FaultKind::DuplicateKey);
            }
        }
        Ok(parts)
    }

    fn frame(self, raw: &Bytes) -> Result<Frame, FaultKind> {
        let null = |part: &Range<usize>| &raw[part.clone()] == b"null";
        let spells = |part: Range<usize>, word: &str| object::text(&raw[part]).is_some_and(|text| text == word);
        if !self.version.is_some_and(|part| spells(part, "2.0")) {
            return Err(FaultKind::NotRpc);
        }
        let id = match self.id {
            None => None,
            Some(id) if is_id(&raw[id.clone()]) => Some(id),
            Some(_) => return Err(FaultKind::BadId),
        };
        let error = self.error.filter(|part| !null(part));
        let (kind, body) = match (&self.method, self.result, error) {
            (Some(method), None, None) => {
                if raw[method.start] != b'"' {
                    return Err(FaultKind::BadShape);
                }
                let params = self.params.filter(|part| !null(part));
                if params.as_ref().is_some_and(|part| raw[part.start] != b'{') {
                    return Err(FaultKind::BadParams);
                }
                (if id.is_some() { Kind::Request } else { Kind::Notification }, params)
            }
            (None, Some(result), None) => (Kind::Response, Some(result)),
            (None, _, Some(error)) => (Kind::Error, Some(error)),
            _ => return Err(FaultKind::BadShape),
        };
        if matches!(kind, Kind::Response | Kind::Error) && id.is_none() {
            return Err(FaultKind::BadId);
        }
        Ok(Frame {
            raw: raw.clone(),
            kind,
            id: id.unwrap_or(0..0),
            method: self.method.unwrap_or(0..0),
            body: body.unwrap_or(0..0),
        })
    }
}
