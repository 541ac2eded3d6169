//! The `_meta` of requests: which keys are reserved, and how one is turned into what a server gets.

use bytes::Bytes;
use frame::object::{self, Edit};
use frame::{Origin, Rope};

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

/// The raw progress token of a request, where it has one (a string or a number).
pub fn progress_token(params: &Bytes) -> Option<Bytes> {
    object::get(params, "_meta").as_ref().and_then(token_in)
}

/// As [`progress_token`], where the `_meta` is at hand.
pub fn token_in(meta: &Bytes) -> Option<Bytes> {
    object::get(meta, "progressToken").filter(|token| token.first() != Some(&b'n'))
}

/// Params for a server: the client's progress token and all reserved and own keys are gone from `_meta`; `token` and
/// the keys of `stamp` (a modern server's) are in it. Everything else keeps its bytes.
pub(crate) fn for_server(params: &Bytes, token: Option<u64>, stamp: Option<&Origin>) -> Rope {
    let old = object::get(params, "_meta").filter(|meta| meta.first() == Some(&b'{'));
    if old.is_none() && token.is_none() && stamp.is_none() {
        return params.clone().into();
    }
    let mut members: Vec<(Bytes, Rope)> = Vec::new();
    if let Some(old) = &old {
        for member in object::members(old) {
            let quoted = old.slice(member.key);
            let ours = object::text(&quoted)
                .is_none_or(|key| key == "progressToken" || key.starts_with(RESERVED) || key.starts_with(OWN));
            if !ours {
                members.push((quoted, old.slice(member.value).into()));
            }
        }
    }
    if let Some(token) = token {
        members.push((Bytes::from_static(b"\"progressToken\""), token.to_string().into()));
    }
    if let Some(origin) = stamp {
        members.extend(stamped(origin));
    }
    if members.is_empty() {
        return Edit::new().remove("_meta").apply(params);
    }
    let mut meta = Rope::new();
    for (place, (key, value)) in members.into_iter().enumerate() {
        meta.push_static(if place == 0 { "{" } else { "," });
        meta.push(key);
        meta.push_static(":");
        meta.append(&value);
    }
    meta.push_static("}");
    Edit::new().set("_meta", meta).apply(params)
}

fn stamped(origin: &Origin) -> Vec<(Bytes, Rope)> {
    let key = |name: &str| Bytes::from(object::quote(name));
    let mut members = vec![
        (key(VERSION), Rope::from("\"2026-07-28\"")),
        (key(CLIENT_INFO), origin.client_info.clone().into()),
        (key(CLIENT_CAPABILITIES), origin.capabilities.clone().into()),
    ];
    if let Some(level) = origin.level.get() {
        members.push((key(LOG_LEVEL), object::quote(level.as_str()).into()));
    }
    members
}
