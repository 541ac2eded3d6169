//! The `_meta` of requests: which keys are reserved, and how one is turned into what a server gets.

use bytes::Bytes;
use frame::object::{self, Edit};
use frame::{Level, Rope};

/// Every key under it belongs to the protocol and is made or removed only by the era adapters.
pub const RESERVED: &str = "io.modelcontextprotocol/";
/// Every key under it is the hub's own.
pub const OWN: &str = "dev.callgate/";
/// Version of a modern request.
pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Implementation of a modern client.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// Capabilities of a modern client, per request.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Log level of a modern request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Implementation of a modern server, in results.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The listen request that a modern notice belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The raw progress token in the `_meta` of a request, where there is one (a string or a number).
pub fn token_in(meta: &Bytes) -> Option<Bytes> {
    object::get(meta, "progressToken").filter(|token| token.first() != Some(&b'n'))
}

/// What a modern server's requests say of the client.
pub(crate) struct Stamp<'a> {
    /// Members as [`stamp`] makes them.
    pub members: &'a Bytes,
    /// The log level that is wanted.
    pub level: Option<Level>,
}

/// The members that say who asks and what it can do, without the braces around them.
pub(crate) fn stamp(client_info: &[u8], capabilities: &[u8]) -> Bytes {
    let mut text = format!("\"{VERSION}\":\"2026-07-28\",\"{CLIENT_INFO}\":").into_bytes();
    text.extend_from_slice(client_info);
    text.extend_from_slice(format!(",\"{CLIENT_CAPABILITIES}\":").as_bytes());
    text.extend_from_slice(capabilities);
    text.into()
}

/// Params for a server: the client's progress token and all reserved and own keys are gone from `_meta`; `token` and
/// the keys of `stamp` (a modern server's) are in it. Everything else keeps its bytes.
pub(crate) fn for_server(params: &Bytes, token: Option<u64>, stamp: Option<Stamp<'_>>) -> Rope {
    let there = object::get(params, "_meta");
    let is_there = there.is_some();
    let old = there.filter(|meta| meta.first() == Some(&b'{'));
    if old.is_none() && token.is_none() && stamp.is_none() {
        return params.clone().into();
    }
    let mut meta = Vec::with_capacity(stamp.as_ref().map_or(0, |stamp| stamp.members.len()) + 128);
    let next = |text: &mut Vec<u8>| {
        text.push(if text.is_empty() { b'{' } else { b',' });
    };
    if let Some(old) = &old {
        for member in object::members(old) {
            let quoted = &old[member.key.clone()];
            let ours = object::text(quoted)
                .is_none_or(|key| key == "progressToken" || key.starts_with(RESERVED) || key.starts_with(OWN));
            if !ours {
                next(&mut meta);
                meta.extend_from_slice(&old[member.key.start..member.value.end]);
            }
        }
    }
    if let Some(token) = token {
        next(&mut meta);
        meta.extend_from_slice(format!("\"progressToken\":{token}").as_bytes());
    }
    if let Some(stamp) = stamp {
        next(&mut meta);
        meta.extend_from_slice(stamp.members);
        if let Some(level) = stamp.level {
            meta.extend_from_slice(format!(",\"{LOG_LEVEL}\":\"{}\"", level.as_str()).as_bytes());
        }
    }
    if meta.is_empty() {
        return Edit::new().remove("_meta").apply(params);
    }
    meta.push(b'}');
    if is_there || !params.ends_with(b"}") {
        return Edit::new().set("_meta", Bytes::from(meta)).apply(params);
    }
    // Most requests have none: it is put behind the last member.
    let inner = &params[..params.len() - 1];
    let is_first = inner.trim_ascii_end().ends_with(b"{");
    let mut rope = Rope::from(params.slice(..inner.len()));
    rope.push_static(if is_first { "\"_meta\":" } else { ",\"_meta\":" });
    meta.push(b'}');
    rope.push(meta.into());
    rope
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(params: &'static str, token: Option<u64>, level: Option<Level>, legacy: &str, modern: &str) {
        let text = Bytes::from_static(params.as_bytes());
        assert_eq!(for_server(&text, token, None).join(), legacy, "{params}");
        let members = Bytes::from_static(b"\"S\":1");
        assert_eq!(for_server(&text, token, Some(Stamp { members: &members, level })).join(), modern, "{params}");
    }

    #[test]
    fn a_server_gets_what_is_its_own() {
        check(r#"{"a":1}"#, None, None, r#"{"a":1}"#, r#"{"a":1,"_meta":{"S":1}}"#);
        check("{ }", None, None, "{ }", r#"{ "_meta":{"S":1}}"#);
        check(
            r#"{"a":1}"#,
            Some(7),
            Some(Level::Info),
            r#"{"a":1,"_meta":{"progressToken":7}}"#,
            r#"{"a":1,"_meta":{"progressToken":7,"S":1,"io.modelcontextprotocol/logLevel":"info"}}"#,
        );
        // The client's own keys stay, its token and what is reserved go.
        check(
            r#"{"_meta":{"x":[1, 2],"progressToken":"t","dev.callgate/a":1,"io.modelcontextprotocol/b":2},"a":1}"#,
            None,
            None,
            r#"{"_meta":{"x":[1, 2]},"a":1}"#,
            r#"{"_meta":{"x":[1, 2],"S":1},"a":1}"#,
        );
        check(r#"{"_meta":{"progressToken":1},"a":1}"#, None, None, r#"{"a":1}"#, r#"{"_meta":{"S":1},"a":1}"#);
        // One that is no object is not added to, and never stands twice.
        check(r#"{"_meta":5,"a":1}"#, None, None, r#"{"_meta":5,"a":1}"#, r#"{"_meta":{"S":1},"a":1}"#);
    }
}
