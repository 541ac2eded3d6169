//! Canonical JSON (RFC 8785) over the received text, with one exception: a number never loses a digit.
//! Key order, white space and the spelling of escapes are free; nothing else is.

use crate::decimal::Decimal;
use crate::tree::{Kind, Value};
use std::borrow::Cow;
use std::cmp::Ordering;

/// How the numbers of a text are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// As RFC 8785 says where that text has the same decimal value, else as received (docs/approvals.md).
    Exact,
    /// As received: `1` and `1.0` differ.
    AsReceived,
    /// One text for all spellings of a value; no canonical JSON, only good for telling what is equal.
    ByValue,
}

/// Appends the canonical text of a value.
pub(crate) fn write(value: Value<'_>, numbers: Numbers, out: &mut Vec<u8>) {
    match value.kind() {
        Kind::Null | Kind::True | Kind::False => out.extend_from_slice(value.source().as_bytes()),
        Kind::Number if numbers == Numbers::AsReceived => out.extend_from_slice(value.source().as_bytes()),
        Kind::Number => match number(value.source()) {
            Some(text) => out.extend_from_slice(text.as_bytes()),
            None if numbers == Numbers::ByValue => by_value(value.source(), out),
            None => out.extend_from_slice(value.source().as_bytes()),
        },
        Kind::String => string(&value.string().unwrap_or_default(), out),
        Kind::Array => {
            out.push(b'[');
            for (place, element) in value.elements().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                write(element, numbers, out);
            }
            out.push(b']');
        }
        Kind::Object => write_without(value, None, numbers, out),
    }
}

/// Appends the canonical text of an object without one of its members; other values as [`write`] does.
pub(crate) fn write_without(value: Value<'_>, leave_out: Option<&str>, numbers: Numbers, out: &mut Vec<u8>) {
    if value.kind() != Kind::Object {
        return write(value, numbers, out);
    }
    let mut members = sorted(value);
    members.retain(|(key, _)| leave_out != Some(&**key));
    object(members.iter().map(|(key, value)| (&**key, *value)), numbers, out, |_, _| {});
}

/// Appends the canonical text of an object; `tell` is given each of its members' key and canonical text, in order.
pub(crate) fn write_telling(value: Value<'_>, numbers: Numbers, out: &mut Vec<u8>, tell: impl FnMut(&str, &[u8])) {
    object(sorted(value).iter().map(|(key, value)| (&**key, *value)), numbers, out, tell);
}

fn sorted(object: Value<'_>) -> Vec<(Cow<'_, str>, Value<'_>)> {
    let mut members: Vec<_> = object.members().map(|(key, value)| (key.string().unwrap_or_default(), value)).collect();
    members.sort_unstable_by(|(a, _), (b, _)| by_utf16(a, b));
    members
}

/// Appends an object of these members, which are already in canonical order.
pub(crate) fn object<'m>(
    members: impl Iterator<Item = (&'m str, Value<'m>)>,
    numbers: Numbers,
    out: &mut Vec<u8>,
    mut tell: impl FnMut(&str, &[u8]),
) {
    out.push(b'{');
    for (place, (key, value)) in members.enumerate() {
        if place > 0 {
            out.push(b',');
        }
        string(key, out);
        out.push(b':');
        let start = out.len();
        write(value, numbers, out);
        tell(key, &out[start..]);
    }
    out.push(b'}');
}

/// RFC 8785 sorts keys by UTF-16 code units, which is not the order of UTF-8 beyond U+FFFF.
fn by_utf16(a: &str, b: &str) -> Ordering {
    if a.is_ascii() || b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

/// Appends a string.
pub(crate) fn string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        out.extend_from_slice(&rest[..at]);
        let short = match rest[at] {
            byte @ (b'"' | b'\\') => Some(byte),
            0x8 => Some(b'b'),
            0xC => Some(b'f'),
            b'\n' => Some(b'n'),
            b'\r' => Some(b'r'),
            b'\t' => Some(b't'),
            _ => None,
        };
        match short {
            Some(letter) => out.extend_from_slice(&[b'\\', letter]),
            None => out.extend_from_slice(format!("\\u{:04x}", rest[at]).as_bytes()),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// The number as RFC 8785 writes it where that is the same decimal value.
fn number(source: &str) -> Option<Cow<'_, str>> {
    let plain = source.len() <= 15 && source.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if plain && source != "-0" {
        return Some(Cow::Borrowed(source));
    }
    double(source).map(|double| Cow::Owned(ecma(double)))
}

/// What is beyond RFC 8785 begins with a dot, as nothing else does.
fn by_value(source: &str, out: &mut Vec<u8>) {
    match Decimal::read(source) {
        Some(exact) => exact.write(out),
        None => out.extend_from_slice(source.as_bytes()),
    }
}

/// The double that has the same decimal value as this text when it is written as RFC 8785 says.
pub(crate) fn double(source: &str) -> Option<f64> {
    let double = source.parse::<f64>().ok().filter(|double| double.is_finite())?;
    let exact = Decimal::read(source)?;
    (exact.fits_double() || exact == Decimal::read(&ecma(double))?).then_some(double)
}

/// A double as ECMAScript's `Number::toString` writes it: the shortest digits that read back as the same double.
fn ecma(double: f64) -> String {
    if double == 0.0 {
        return "0".to_owned();
    }
    let shortest = format!("{:e}", double.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits = mantissa.replace('.', "");
    let length = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // The value is 0.DIGITS times ten to the power of `point`.
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let split = |at: i32| digits.split_at(usize::try_from(at).unwrap_or(0));
    let unsigned = match point {
        1..=21 if length <= point => format!("{digits}{}", zeros(point - length)),
        1..=21 => format!("{}.{}", split(point).0, split(point).1),
        -5..=0 => format!("0.{}{digits}", zeros(-point)),
        _ => {
            let (first, rest) = split(1);
            let dot = if rest.is_empty() { "" } else { "." };
            format!("{first}{dot}{rest}e{:+}", point - 1)
        }
    };
    if double < 0.0 { format!("-{unsigned}") } else { unsigned }
}
