//! Names and encodings of the header fields that MCP puts around its messages, the same for both sides.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, header};
use std::borrow::Cow;

/// The session of the revisions with `initialize`.
pub const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The revision that is spoken.
pub const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The method of the message in the body (2026-07-28).
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// The tool, prompt, resource or task that the message in the body is about (2026-07-28).
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// How the fields begin that repeat arguments (2026-07-28).
pub const PARAM_PREFIX: &str = "mcp-param-";
/// The event after which a broken stream is resumed.
pub const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// The media type of one message.
pub const JSON: &str = "application/json";

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// A text as a field value: as it is where a field can carry it, else wrapped in Base64.
pub fn encode(text: &str) -> Cow<'_, str> {
    let is_printable = text.bytes().all(|byte| (0x20..=0x7E).contains(&byte));
    let is_trimmed = text.trim_matches([' ', '\t']).len() == text.len();
    let looks_wrapped = text.starts_with(OPEN) && text.ends_with(CLOSE);
    if is_printable && is_trimmed && !looks_wrapped {
        Cow::Borrowed(text)
    } else {
        format!("{OPEN}{}{CLOSE}", STANDARD.encode(text)).into()
    }
}

/// The text of a field value; None where it is wrapped, but not in Base64 of UTF-8.
pub fn decode(value: &str) -> Option<Cow<'_, str>> {
    match value.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE)) {
        None => Some(Cow::Borrowed(value)),
        Some(wrapped) => String::from_utf8(STANDARD.decode(wrapped).ok()?).ok().map(Cow::Owned),
    }
}

/// Whether the content type is `media_type`, whatever its parameters.
pub fn is_media_type(headers: &HeaderMap, media_type: &str) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|value| {
        let essence = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
        essence.trim_ascii().eq_ignore_ascii_case(media_type.as_bytes())
    })
}

/// Whether a field is set by the protocol or by the connection, so that no configuration may set it.
pub fn is_reserved(name: &HeaderName) -> bool {
    const RESERVED: [HeaderName; 14] = [
        header::ACCEPT,
        header::ACCEPT_ENCODING,
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::CONTENT_TYPE,
        header::EXPECT,
        header::HOST,
        header::PROXY_AUTHENTICATE,
        header::PROXY_AUTHORIZATION,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
        LAST_EVENT,
    ];
    RESERVED.contains(name)
        || matches!(name.as_str(), "keep-alive" | "proxy-connection")
        || name.as_str().starts_with("mcp-")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    #[test]
    fn only_what_a_field_cannot_carry_is_wrapped() {
        let check = |text: &str, expect: &str| assert_eq!(encode(text), expect, "{text:?}");
        check("place_order", "place_order");
        check("two words", "two words");
        check("", "");
        check(" edge", "=?base64?IGVkZ2U=?=");
        check("Größe", "=?base64?R3LDtsOfZQ==?=");
        check("a\nb", "=?base64?YQpi?=");
        check("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?=");
        assert_eq!(decode("=?base64?!?="), None);
    }

    #[test]
    fn media_types_are_compared_without_parameters() {
        let check = |value: &'static str, expect: bool| {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(value))]);
            assert_eq!(is_media_type(&headers, JSON), expect, "{value}");
        };
        check("application/json", true);
        check("Application/JSON ; charset=utf-8", true);
        check("application/jsonx", false);
        check("application/json, text/event-stream", false);
        assert!(!is_media_type(&HeaderMap::new(), JSON));
    }

    proptest! {
        #[test]
        fn every_text_survives(text in ".*") {
            let value = encode(&text).into_owned();
            prop_assert!(HeaderValue::from_str(&value).is_ok());
            prop_assert_eq!(decode(&value).unwrap(), text);
        }
    }
}
