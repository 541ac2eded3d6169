//! One request as the server reads it: the parts that decide how it is answered.

use crate::out::{Seat, To};
use bytes::Bytes;
use frame::{Frame, Level, object};
use std::ops::Range;

pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";
pub(crate) const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// A request and what its `_meta` says.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) to: To,
    pub(crate) params: Bytes,
    name: Option<Range<usize>>,
    arguments: Option<Range<usize>>,
    /// The version in `_meta`, which only modern requests have.
    pub(crate) version: Option<Bytes>,
    /// The progress token as it stands there.
    pub(crate) token: Option<Bytes>,
    /// The level of a modern request.
    pub(crate) level: Option<Level>,
}

impl Request {
    pub(crate) fn read(frame: &Frame, seat: Seat, session: u64) -> Request {
        let params = frame.params();
        let [meta, name, arguments] = object::pick(&params, ["_meta", "name", "arguments"]);
        let mut request = Request {
            to: To { seat, session, id: frame.id(), modern: false },
            name,
            arguments,
            version: None,
            token: None,
            level: None,
            params: Bytes::new(),
        };
        if let Some(meta) = meta {
            let meta = params.slice(meta);
            let [version, token, level] = object::pick(&meta, [VERSION_KEY, "progressToken", LEVEL_KEY]);
            request.version = version.map(|range| meta.slice(range));
            request.token = token.map(|range| meta.slice(range));
            request.level = level.and_then(|range| Level::parse(&object::text(&meta[range])?));
        }
        request.params = params;
        request
    }

    /// `params.name` with its quotes.
    pub(crate) fn name(&self) -> &[u8] {
        self.name.clone().map_or(b"", |range| &self.params[range])
    }

    /// `params.arguments`; an empty object where it has none.
    pub(crate) fn arguments(&self) -> Bytes {
        match &self.arguments {
            Some(range) if self.params[range.start] == b'{' => self.params.slice(range.clone()),
            _ => Bytes::from_static(b"{}"),
        }
    }

    /// A string in the params.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        text(&self.params, key)
    }
}

/// A string member.
pub(crate) fn text(object: &Bytes, key: &str) -> Option<String> {
    object::get(object, key).and_then(|value| Some(object::text(&value)?.into_owned()))
}

/// A member that is a whole number.
pub(crate) fn number(object: &Bytes, key: &str) -> Option<u64> {
    std::str::from_utf8(&object::get(object, key)?).ok()?.parse().ok()
}
