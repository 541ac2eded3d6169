//! Tables and properties of this crate, with serde_json as the other reader; here: the texts that they share.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod body;
mod envelope;
mod exchange;
mod lines;
mod object;
mod params;
mod strict;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;

fn bytes(text: impl AsRef<[u8]>) -> Bytes {
    Bytes::copy_from_slice(text.as_ref())
}

/// White space as writers put it between tokens.
fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![8 => Just(""), 2 => Just(" "), 1 => Just("\n\t"), 1 => Just("\r\n  ")]
}

/// One character inside a string, in one of its spellings.
fn character() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-e]",
        2 => "[ -!#-\\[\\]-~]",
        2 => prop::sample::select(vec!["\\n", "\\\\", "\\\"", "\\/", "\\b", "\\f", "\\t", "\\r", "\\u0000"]).prop_map(String::from),
        1 => prop::sample::select(vec!["é", "漢", "😀", "\u{7f}", "\u{fffd}", "\u{2028}"]).prop_map(String::from),
        1 => prop::char::any().prop_map(|c| {
            c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }),
    ]
}

fn string(length: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = String> {
    vec(character(), length).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i32>().prop_map(|n| n.to_string()),
        Just("0".to_owned()),
        Just("-0.5e+3".to_owned()),
        Just("9007199254740993".to_owned()),
        Just("1.25E-2".to_owned())
    ]
}

/// A JSON value as text; objects have few different keys, so that some stand twice.
fn value() -> impl Strategy<Value = String> {
    let plain = prop_oneof![
        number(),
        string(0..6),
        string(60..90),
        prop::sample::select(vec!["true", "false", "null", "{}", "[]", "[ ]", "{\n}"]).prop_map(String::from)
    ];
    plain.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            vec((space(), inner.clone(), space()), 1..6).prop_map(|items| {
                let items: Vec<_> = items.iter().map(|(a, value, b)| format!("{a}{value}{b}")).collect();
                format!("[{}]", items.join(","))
            }),
            object_of(inner),
        ]
    })
}

fn object_of(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    vec((string(1..3), space(), space(), value, space()), 1..6).prop_map(|members| {
        let members: Vec<_> =
            members.iter().map(|(key, a, b, value, c)| format!("{c}{key}{a}:{b}{value}{c}")).collect();
        format!("{{{}}}", members.join(","))
    })
}

/// A text in which a few bytes were changed.
fn damaged(text: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => prop::sample::select(b"{}[]\",:\\u019-+.eEtrfn \n\t\x00\x1f\x7f\xc3\xa9\xff".to_vec()),
        1 => any::<u8>()
    ];
    (text, vec((any::<prop::sample::Index>(), byte, 0..3u8), 0..4)).prop_map(|(text, changes)| {
        let mut text = text.into_bytes();
        for (place, byte, kind) in changes {
            let at = place.index(text.len() + 1);
            match kind {
                0 => text.insert(at, byte),
                1 if at < text.len() => text[at] = byte,
                _ if at < text.len() => drop(text.remove(at)),
                _ => {}
            }
        }
        text
    })
}
