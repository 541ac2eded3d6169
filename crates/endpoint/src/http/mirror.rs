//! Headers of 2026-07-28 that repeat what the body says (`Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`): whoever routes by
//! them and whoever reads the body must see the same call. Nothing of a call that fails here goes anywhere.

use super::gate::{Twice, sole};
use super::post::Message;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use frame::object;
use http::{HeaderMap, HeaderName};
use std::borrow::Cow;

/// Revision of the protocol, in both eras.
pub const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// Session of a legacy client.
pub const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAM: &str = "mcp-param-";
/// Key of a property's schema that names the header mirroring it.
const ANNOTATION: &str = "x-mcp-header";
/// Deepest property that a header may mirror.
const MAX_DEPTH: usize = 16;

/// Why headers and body are not the same call; goes out with `-32020`.
pub type Mismatch = Cow<'static, str>;

/// No header of the protocol stands twice: two readers could take different ones.
pub fn single(headers: &HeaderMap) -> Result<(), Mismatch> {
    for name in headers.keys().filter(|name| name.as_str().starts_with("mcp-")) {
        if sole(headers, name).is_err() {
            return Err(format!("{name} stands more than once").into());
        }
    }
    Ok(())
}

/// A header as text; its value is visible ASCII.
pub fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Mismatch> {
    match sole(headers, name) {
        Err(Twice) => Err(format!("{name} stands more than once").into()),
        Ok(None) => Ok(None),
        Ok(Some(value)) => value.to_str().map(Some).map_err(|_| format!("{name} is not visible ASCII").into()),
    }
}

/// `Mcp-Method` says what the body says.
pub fn method(headers: &HeaderMap, body: &str) -> Result<(), Mismatch> {
    match text(headers, &METHOD)? {
        None => Err("Mcp-Method is missing".into()),
        Some(value) if value == body => Ok(()),
        Some(_) => Err("Mcp-Method is not the method of the body".into()),
    }
}

/// As [`method`], for messages that may come without it.
pub fn method_if_any(headers: &HeaderMap, body: &str) -> Result<(), Mismatch> {
    if headers.contains_key(METHOD) { method(headers, body) } else { Ok(()) }
}

/// `Mcp-Name` and the `Mcp-Param-*` say what the body says. `schema` gives the input schema of a tool.
pub fn params(
    headers: &HeaderMap,
    message: &Message,
    schema: impl FnOnce(&str) -> Option<Bytes>,
) -> Result<(), Mismatch> {
    let Some((key, named)) = message.named() else { return Ok(()) };
    let named = named.as_ref().and_then(|name| object::text(name));
    match (text(headers, &NAME)?, &named) {
        (None, None) => {}
        (None, Some(_)) => return Err("Mcp-Name is missing".into()),
        (Some(_), None) => return Err(format!("Mcp-Name is there, but the body has no {key}").into()),
        (Some(value), Some(name)) => {
            if decoded(value).ok_or("Mcp-Name is not valid Base64")? != *name {
                return Err(format!("Mcp-Name is not the {key} of the body").into());
            }
        }
    }
    if message.frame.method() != "tools/call" {
        return Ok(());
    }
    let Some(schema) = named.and_then(|name| schema(&name)) else { return Ok(()) };
    if memchr::memmem::find(&schema, ANNOTATION.as_bytes()).is_none() {
        return Ok(());
    }
    properties(headers, &schema, message.params.get("arguments").as_ref(), 0)
}

/// Compares every property of `schema` that a header mirrors with the argument at its place; `values` is the object
/// that holds them, if there is one.
fn properties(headers: &HeaderMap, schema: &Bytes, values: Option<&Bytes>, depth: usize) -> Result<(), Mismatch> {
    let Some(properties_text) = object::get(schema, "properties").filter(|_| depth < MAX_DEPTH) else { return Ok(()) };
    for member in object::members(&properties_text) {
        let Some(name) = object::text(&properties_text[member.key]) else { continue };
        let property = properties_text.slice(member.value);
        if property.first() != Some(&b'{') {
            continue;
        }
        let value = values.and_then(|values| object::get(values, &name)).filter(|value| &value[..] != b"null");
        if let Some(annotation) = object::get(&property, ANNOTATION)
            && let Some(header) = object::text(&annotation).filter(|header| !header.is_empty())
        {
            mirrored(headers, &header, value.as_ref())?;
        }
        properties(headers, &property, value.as_ref(), depth + 1)?;
    }
    Ok(())
}

fn mirrored(headers: &HeaderMap, name: &str, value: Option<&Bytes>) -> Result<(), Mismatch> {
    let Ok(full) = HeaderName::from_bytes(format!("{PARAM}{name}").as_bytes()) else { return Ok(()) };
    // Objects and arrays are never mirrored.
    let value = value.filter(|value| !matches!(value.first(), Some(b'{' | b'[')));
    match (text(headers, &full)?, value) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(format!("{full} is missing").into()),
        (Some(_), None) => Err(format!("{full} is there, but its argument is not").into()),
        (Some(header), Some(value)) => {
            let header = decoded(header).ok_or_else(|| format!("{full} is not valid Base64"))?;
            let same = match object::text(value) {
                Some(text) => text == header,
                None => value.as_ref() == header.as_bytes() || same_number(value, &header),
            };
            if same { Ok(()) } else { Err(format!("{full} is not the argument of the body").into()) }
        }
    }
}

/// Two spellings of one whole number that a double holds exactly: `5` and `5.0`.
fn same_number(value: &[u8], header: &str) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.fract() == 0.0 && number.abs() < EXACT);
    // `inf` and `+5` parse as floats too, but no JSON spells a number so.
    let plain = header.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    plain && std::str::from_utf8(value).ok().and_then(number).is_some_and(|value| number(header) == Some(value))
}

/// A value that is not plain text stands as `=?base64?…?=`.
fn decoded(value: &str) -> Option<Cow<'_, str>> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        None => Some(value.into()),
        Some(inner) => String::from_utf8(BASE64_STANDARD.decode(inner).ok()?).ok().map(Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SCHEMA: &str = r#"{"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"},
        "count":{"type":"integer","x-mcp-header":"Count"},
        "dry":{"type":"boolean","x-mcp-header":"Dry"},
        "deep":{"type":"object","properties":{"key":{"type":"string","x-mcp-header":"Deep-Key"}}},
        "odd":{"x-mcp-header":7},"bad":{"x-mcp-header":"not a token"},"plain":true}}"#;

    fn check(fields: &[(&str, &str)], method_name: &str, body: &str, expect: Option<&str>) {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method_name}","params":{body}}}"#);
        let message = Message::new(frame::Frame::parse(text.into()).unwrap());
        let seen = single(&headers)
            .and_then(|()| method(&headers, method_name))
            .and_then(|()| params(&headers, &message, |tool| (tool == "t").then(|| SCHEMA.into())));
        match expect {
            None => assert_eq!(seen, Ok(()), "{fields:?} {body:?}"),
            Some(word) => assert!(seen.as_ref().is_err_and(|why| why.contains(word)), "{seen:?} {fields:?} {body:?}"),
        }
    }

    #[test]
    fn method_and_name() {
        let call = r#"{"name":"danger"}"#;
        check(&[("mcp-method", "tools/call"), ("mcp-name", "danger")], "tools/call", call, None);
        check(&[("MCP-METHOD", "tools/call"), ("Mcp-Name", "danger")], "tools/call", call, None);
        check(
            &[("mcp-method", "tools/call"), ("mcp-name", "safe")],
            "tools/call",
            call,
            Some("Mcp-Name is not the name"),
        );
        check(&[("mcp-method", "tools/call"), ("mcp-name", "DANGER")], "tools/call", call, Some("Mcp-Name is not"));
        check(&[("mcp-method", "tools/call")], "tools/call", call, Some("Mcp-Name is missing"));
        check(&[("mcp-name", "danger")], "tools/call", call, Some("Mcp-Method is missing"));
        check(&[("mcp-method", "tools/list"), ("mcp-name", "danger")], "tools/call", call, Some("Mcp-Method is not"));
        check(&[("mcp-method", "TOOLS/CALL"), ("mcp-name", "danger")], "tools/call", call, Some("Mcp-Method is not"));
        let twice = [("mcp-method", "tools/call"), ("mcp-name", "danger"), ("mcp-name", "danger")];
        check(&twice, "tools/call", call, Some("mcp-name stands more than once"));
        let twice = [("mcp-method", "tools/list"), ("mcp-method", "tools/call"), ("mcp-name", "danger")];
        check(&twice, "tools/call", call, Some("mcp-method stands more than once"));
        check(&[("mcp-method", "tools/call"), ("mcp-name", "x")], "tools/call", "{}", Some("the body has no name"));
        check(&[("mcp-method", "tools/list")], "tools/list", "{}", None);
        check(&[("mcp-method", "resources/read"), ("mcp-name", "a:b")], "resources/read", r#"{"uri":"a:b"}"#, None);
        check(
            &[("mcp-method", "resources/read"), ("mcp-name", "a:c")],
            "resources/read",
            r#"{"uri":"a:b"}"#,
            Some("uri"),
        );
        let coded = [("mcp-method", "prompts/get"), ("mcp-name", "=?base64?Y2Fmw6k=?=")];
        check(&coded, "prompts/get", r#"{"name":"caf\u00e9"}"#, None);
        check(&[("mcp-method", "tasks/get"), ("mcp-name", "1")], "tasks/get", r#"{"taskId":"2"}"#, Some("taskId"));
    }

    #[test]
    fn mirrored_arguments() {
        let param = |fields: &[(&str, &str)], arguments: &str, expect: Option<&str>| {
            let mut all = vec![("mcp-method", "tools/call"), ("mcp-name", "t")];
            all.extend(fields);
            check(&all, "tools/call", &format!(r#"{{"name":"t","arguments":{arguments}}}"#), expect);
        };
        param(&[("mcp-param-region", "eu")], r#"{"region":"eu"}"#, None);
        param(&[("Mcp-Param-Region", "eu")], r#"{"region":"\u0065u"}"#, None);
        param(&[("mcp-param-region", "us")], r#"{"region":"eu"}"#, Some("mcp-param-region is not the argument"));
        param(&[], r#"{"region":"eu"}"#, Some("mcp-param-region is missing"));
        param(&[("mcp-param-region", "eu")], "{}", Some("its argument is not"));
        param(&[("mcp-param-region", "eu")], r#"{"region":null}"#, Some("its argument is not"));
        param(&[], r#"{"region":null}"#, None);
        param(&[], "{}", None);
        param(&[("mcp-param-region", "=?base64?SGVsbG8=?=")], r#"{"region":"Hello"}"#, None);
        param(&[("mcp-param-region", "=?base64?SGVsbG8?=")], r#"{"region":"Hello"}"#, Some("Base64"));
        param(&[("mcp-param-region", "=?base64?SGVs!!!bG8=?=")], r#"{"region":"Hello"}"#, Some("Base64"));
        param(&[("mcp-param-region", "SGVsbG8=")], r#"{"region":"SGVsbG8="}"#, None);
        param(&[("mcp-param-region", "=?base64?SGVsbG8=")], r#"{"region":"=?base64?SGVsbG8="}"#, None);
        param(&[("mcp-param-count", "5")], r#"{"count":5}"#, None);
        param(&[("mcp-param-count", "5")], r#"{"count":5.0}"#, None);
        param(&[("mcp-param-count", "6")], r#"{"count":5}"#, Some("mcp-param-count"));
        param(&[("mcp-param-count", "9007199254740993")], r#"{"count":9007199254740992}"#, Some("mcp-param-count"));
        param(&[("mcp-param-count", "5")], r#"{"count":"5"}"#, None);
        param(&[("mcp-param-dry", "true")], r#"{"dry":true}"#, None);
        param(&[("mcp-param-dry", "1")], r#"{"dry":true}"#, Some("mcp-param-dry"));
        param(&[("mcp-param-deep-key", "k")], r#"{"deep":{"key":"k"}}"#, None);
        param(&[("mcp-param-deep-key", "x")], r#"{"deep":{"key":"k"}}"#, Some("deep-key"));
        param(&[], r#"{"deep":{"key":"k"}}"#, Some("deep-key is missing"));
        param(&[("mcp-param-other", "x")], r#"{"other":"y"}"#, None);
    }
}
