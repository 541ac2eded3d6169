//! The door's side towards clients of 2024-11-05 to 2025-11-25.

use super::{Out, error_code, has_cache_hints};
use bytes::Bytes;
use frame::object::{self, Edit, Member};
use frame::{Answer, Era, Origin, Rope, Version};
use smallvec::SmallVec;
use std::rc::Rc;

/// Reads the params of `initialize`.
///
/// # Errors
/// A JSON-RPC error object where `protocolVersion` is missing or no string.
pub fn initialize(params: &Bytes) -> Result<Rc<Origin>, Answer> {
    let [version, info, capabilities] = object::pick(params, ["protocolVersion", "clientInfo", "capabilities"]);
    let Some(asked) = version.and_then(|range| object::text(&params[range]).map(String::from)) else {
        return Err(Answer::error(-32602, "initialize needs protocolVersion, a string"));
    };
    // An unknown or modern version is answered with the newest one that has a handshake, never with an error.
    let version = Version::parse(&asked).filter(|version| version.era() == Era::Legacy).unwrap_or(Version::LEGACY);
    let part = |range: Option<std::ops::Range<usize>>| {
        range
            .map(|range| params.slice(range))
            .filter(|text| text.first() == Some(&b'{'))
            .unwrap_or_else(|| Bytes::from_static(b"{}"))
    };
    Ok(Rc::new(Origin::new(version, part(info), part(capabilities), None)))
}

/// The result of `initialize`. `capabilities` and `server_info` are JSON objects.
pub fn initialized(version: Version, capabilities: &str, server_info: &str, instructions: Option<&str>) -> Out {
    let mut text = format!(
        "{{\"protocolVersion\":\"{}\",\"capabilities\":{capabilities},\"serverInfo\":{server_info}",
        version.as_str()
    );
    if let Some(instructions) = instructions {
        text.push_str(",\"instructions\":");
        text.push_str(&object::quote(instructions));
    }
    text.push('}');
    Out::Result(text.into())
}

/// The end of a request as a legacy client understands it.
pub fn answer(answer: Answer, method: &str) -> Out {
    match answer {
        Answer::Result { era: Era::Legacy, body } => Out::Result(body),
        Answer::Result { era: Era::Modern, body } => from_modern(body, method),
        Answer::Error(error) => from_error(error, method),
    }
}

fn from_modern(body: Rope, method: &str) -> Out {
    let text = body.join();
    let members: SmallVec<[Member; 8]> = object::members(&text).collect();
    let value = |name: &str| {
        let found = members.iter().rev().find(|member| object::key_is(&text[member.key.clone()], name))?;
        Some(&text[found.value.clone()])
    };
    if value("resultType").and_then(object::text).is_some_and(|kind| kind != "complete") {
        return needs(method, "the server asks for input that this hub cannot pass to this client yet");
    }
    // Before 2026-07-28 structured output is always an object; any other value stays readable in `content`.
    let is_structured = value("structuredContent").is_none_or(|value| value.first() == Some(&b'{'));
    let hints = has_cache_hints(method);
    let drops = |key: &[u8]| {
        object::key_is(key, "resultType")
            || hints && (object::key_is(key, "ttlMs") || object::key_is(key, "cacheScope"))
            || !is_structured && object::key_is(key, "structuredContent")
    };
    Out::Result(object::without(&text, &members, drops))
}

fn needs(method: &str, what: &str) -> Out {
    if method == "tools/call" {
        let text = object::quote(what);
        return Out::Result(format!("{{\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"isError\":true}}").into());
    }
    Out::Error(format!("{{\"code\":-32603,\"message\":{}}}", object::quote(what)).into())
}

/// Whether it is the hub's own word about the request, not that there is no such thing.
fn is_own(error: &Bytes) -> bool {
    object::get(error, "data").and_then(|data| object::get(&data, "ok")).as_deref() == Some(b"false")
}

fn from_error(error: Rope, method: &str) -> Out {
    let text = error.join();
    let code = error_code(&text);
    match code {
        // "Resource not found" had a code of its own before 2026-07-28.
        Some(-32602) if method == "resources/read" && !is_own(&text) => {
            Out::Error(Edit::new().set("code", "-32002").apply(&text))
        }
        Some(-32021) if method == "tools/call" => {
            let message = object::get(&text, "message").and_then(|raw| object::text(&raw).map(String::from));
            let what = message.unwrap_or_else(|| "the server needs a client capability that is missing".into());
            needs(method, &what)
        }
        Some(-32022..=-32020) => Out::Error(Edit::new().set("code", "-32603").apply(&text)),
        _ => Out::Error(text.into()),
    }
}
