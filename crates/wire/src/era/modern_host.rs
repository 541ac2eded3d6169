//! The door's side towards 2026-07-28 clients: stateless, everything in `_meta`.

use super::{Out, error_code, has_cache_hints, meta};
use bytes::Bytes;
use frame::object::{self, Edit};
use frame::{Answer, Era, Level, Origin, Rope, TASKS, Version};
use std::rc::Rc;

/// How a request's `_meta` reads.
pub enum Claim {
    /// No protocol version in it: not a modern request.
    None,
    /// A complete modern request.
    Modern(Rc<Origin>),
    /// It claims a version, but is refused with this error object (`-32022` or `-32602`).
    Refused(Answer),
}

/// Reads the reserved keys of a request's `_meta`.
pub fn claim(params: &Bytes) -> Claim {
    claim_in(object::get(params, "_meta").as_ref())
}

/// As [`claim`], where the `_meta` is at hand.
pub fn claim_in(bag: Option<&Bytes>) -> Claim {
    let Some(bag) = bag else { return Claim::None };
    let [version, info, capabilities, level] =
        object::pick(bag, [meta::VERSION, meta::CLIENT_INFO, meta::CLIENT_CAPABILITIES, meta::LOG_LEVEL]);
    let Some(version) = version else { return Claim::None };
    let version = object::text(&bag[version]).unwrap_or_default();
    if Version::parse(&version) != Some(Version::V2026) {
        return Claim::Refused(unsupported(&version));
    }
    let Some(capabilities) = capabilities.filter(|range| bag[range.start] == b'{') else {
        return Claim::Refused(Answer::error(-32602, &format!("_meta needs {}, an object", meta::CLIENT_CAPABILITIES)));
    };
    let info = info.filter(|range| bag[range.start] == b'{');
    let level = match level.map(|range| object::text(&bag[range]).and_then(|name| Level::parse(&name))) {
        Some(None) => return Claim::Refused(Answer::error(-32602, "_meta has an unknown log level")),
        Some(level) => level,
        None => None,
    };
    let info = info.map_or_else(|| Bytes::from_static(b"{}"), |range| bag.slice(range));
    Claim::Modern(Rc::new(Origin::new(Version::V2026, info, bag.slice(capabilities), level)))
}

/// The error for a version that the hub does not speak in this form.
pub fn unsupported(asked: &str) -> Answer {
    Answer::Error(
        format!(
            "{{\"code\":-32022,\"message\":\"unsupported protocol version\",\"data\":{{\"supported\":[\"2026-07-28\"],\"requested\":{}}}}}",
            object::quote(asked)
        )
        .into(),
    )
}

/// The result of `server/discover`. `capabilities` and `server_info` are JSON objects; that the hub itself makes tasks of
/// calls is added here, as only this era has them.
pub fn discovered(capabilities: &str, server_info: &str, instructions: Option<&str>) -> Out {
    let capabilities = Bytes::copy_from_slice(capabilities.as_bytes());
    let extensions = object::get(&capabilities, "extensions").unwrap_or_else(|| Bytes::from_static(b"{}"));
    let extensions = Edit::new().set(TASKS, "{}").apply(&extensions).join();
    let capabilities = Edit::new().set("extensions", extensions).apply(&capabilities).join();
    let capabilities = String::from_utf8_lossy(&capabilities);
    let instructions =
        instructions.map(|text| format!("\"instructions\":{},", object::quote(text))).unwrap_or_default();
    Out::Result(
        format!(
            "{{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{capabilities},\
             {instructions}\"ttlMs\":0,\"cacheScope\":\"private\",\"_meta\":{{\"{}\":{server_info}}}}}",
            meta::SERVER_INFO
        )
        .into(),
    )
}

/// The end of a request as a modern client understands it.
pub fn answer(answer: Answer, method: &str) -> Out {
    match answer {
        Answer::Result { era: Era::Modern, body } => Out::Result(completed(body, method)),
        Answer::Result { era: Era::Legacy, body } => Out::Result(stamp(body, method)),
        Answer::Error(error) => from_error(error, method),
    }
}

/// A modern server's result; one that forgot to say what it is is taken for complete, as its client would have to.
fn completed(body: Rope, method: &str) -> Rope {
    let first = body.pieces().first().cloned().unwrap_or_default();
    if memchr::memmem::find(&first, b"\"resultType\"").is_some() {
        return body;
    }
    let text = body.join();
    if object::get(&text, "resultType").is_some() { text.into() } else { stamp(text.into(), method) }
}

/// Puts `resultType` and the cache hints in front of a legacy result's own members.
fn stamp(body: Rope, method: &str) -> Rope {
    // A legacy server's own member of that name would stand twice: it goes.
    let text = body.join();
    let [kind, ttl, scope] = object::pick(&text, ["resultType", "ttlMs", "cacheScope"]);
    let hints = has_cache_hints(method);
    let text = if kind.is_some() || (hints && (ttl.is_some() || scope.is_some())) {
        let mut edit = Edit::new().remove("resultType");
        if hints {
            edit = edit.remove("ttlMs").remove("cacheScope");
        }
        edit.apply(&text).join()
    } else {
        text
    };
    let open = text.iter().position(|&byte| byte == b'{').map_or(0, |at| at + 1);
    let inside = text[open..].iter().find(|byte| !byte.is_ascii_whitespace());
    let mut out = Rope::from("{\"resultType\":\"complete\"");
    if hints {
        out.push_static(",\"ttlMs\":0,\"cacheScope\":\"private\"");
    }
    if inside.is_some_and(|&byte| byte != b'}') {
        out.push_static(",");
    }
    out.push(text.slice(open..));
    out
}

fn from_error(error: Rope, method: &str) -> Out {
    let text = error.join();
    match error_code(&text) {
        Some(-32002) => Out::Error(Edit::new().set("code", "-32602").apply(&text)),
        // With -32601 HTTP would say that the method does not exist.
        Some(-32601) if method == "tools/call" => Out::Error(Edit::new().set("code", "-32602").apply(&text)),
        Some(-32042) => Out::Error(Edit::new().set("code", "-32603").apply(&text)),
        _ => Out::Error(text.into()),
    }
}
