//! The shape of arguments: field names, types, sizes and keyed hashes. Values never leave this file.

use crate::chain::Keys;
use crate::line::{put, put_bytes};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Fields beyond this number are only counted.
const MOST_FIELDS: usize = 64;
/// A field name over this many bytes is recorded like one that the schema doesn't know.
const LONGEST_NAME: usize = 128;
/// Bit of a field's type byte: its name is in clear text.
const KNOWN: u8 = 0x80;

/// Appends the shape of `arguments` (JSON text) to `out`; nothing if it is no JSON object. Tells which of the first 64
/// `known` names are there, a bit for each.
pub(crate) fn shape(arguments: &[u8], known: &[Box<str>], keys: &Keys, out: &mut Vec<u8>) -> u64 {
    let start = out.len();
    let mut reading = serde_json::Deserializer::from_slice(arguments);
    reading.deserialize_map(Fields { known, keys, out }).unwrap_or_else(|_| {
        out.truncate(start);
        0
    })
}

struct Fields<'k, 'o> {
    known: &'k [Box<str>],
    keys: &'k Keys,
    out: &'o mut Vec<u8>,
}

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Visitor<'de> for Fields<'_, '_> {
    type Value = u64;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u64, A::Error> {
        let mut present = 0;
        for _ in 0..MOST_FIELDS {
            let Some(Name(name)) = map.next_key::<Name<'de>>()? else { return Ok(present) };
            let value = map.next_value::<&RawValue>()?.get().as_bytes();
            let tag = self.keys.values.short(&[value]);
            let place = self.known.iter().position(|known| **known == *name).filter(|_| name.len() <= LONGEST_NAME);
            if let Some(place) = place {
                present |= u32::try_from(place).ok().and_then(|place| 1_u64.checked_shl(place)).unwrap_or(0);
                self.out.push(type_of(value) | KNOWN);
                put_bytes(self.out, name.as_bytes());
            } else {
                self.out.push(type_of(value));
                put(self.out, name.len() as u64);
                self.out.extend_from_slice(&self.keys.names.short(&[name.as_bytes()]));
            }
            put(self.out, value.len() as u64);
            self.out.extend_from_slice(&tag);
        }
        let mut more = 0;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            more += 1;
        }
        if more > 0 {
            self.out.push(0);
            put(self.out, more);
        }
        Ok(present)
    }
}

fn type_of(value: &[u8]) -> u8 {
    match value.first() {
        Some(b'n') => 1,
        Some(b't' | b'f') => 2,
        Some(b'"') => 4,
        Some(b'[') => 5,
        Some(b'{') => 6,
        _ => 3,
    }
}

/// The shape in words, for people: `name: string 12 B #1a2b…`.
pub(crate) fn describe(shape: &[u8]) -> Vec<String> {
    let mut fields = Vec::new();
    let mut rest = shape;
    while let Some((&head, after)) = rest.split_first() {
        rest = after;
        let Some(field) = describe_one(head, &mut rest) else {
            fields.push("(unreadable)".to_owned());
            break;
        };
        fields.push(field);
    }
    fields
}

fn describe_one(head: u8, rest: &mut &[u8]) -> Option<String> {
    let length = take_number(rest)?;
    if head == 0 {
        return Some(format!("(and {length} more)"));
    }
    let name = if head & KNOWN != 0 {
        std::str::from_utf8(rest.split_off(..usize::try_from(length).ok()?)?).ok()?.to_owned()
    } else {
        format!("({length} B #{})", crate::chain::hex(rest.split_off(..8)?))
    };
    let kind = match head & !KNOWN {
        1 => "null",
        2 => "boolean",
        3 => "number",
        4 => "string",
        5 => "array",
        6 => "object",
        _ => return None,
    };
    let size = take_number(rest)?;
    Some(format!("{name}: {kind} {size} B #{}", crate::chain::hex(rest.split_off(..8)?)))
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let &byte = rest.split_off_first()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &str, known: &[&str], expect: &[&str]) {
        let known: Vec<Box<str>> = known.iter().map(|&name| name.into()).collect();
        let mut out = Vec::new();
        shape(arguments.as_bytes(), &known, &Keys::new(&[7; 32]), &mut out);
        let got = describe(&out);
        assert_eq!(got.len(), expect.len(), "{got:?}");
        for (got, expect) in got.iter().zip(expect) {
            assert!(got.starts_with(expect), "{got} is not {expect}");
        }
        let text = String::from_utf8_lossy(&out);
        assert!(!text.contains("hunter2"), "a value is in the shape: {text}");
    }

    #[test]
    fn a_shape_has_names_types_and_sizes_but_no_values() {
        check("{}", &[], &[]);
        check(r#"{"path":"hunter2","n":12}"#, &["path", "n"], &["path: string 9 B #", "n: number 2 B #"]);
        check(
            r#"{"a":null,"b":[ 1 ],"c":{"path":"hunter2"}}"#,
            &["a", "b", "c"],
            &["a: null 4 B", "b: array 5 B", "c: object 18 B"],
        );
        check(r#"{"hunter2":true}"#, &["path"], &["(7 B #"]);
        check(r#"{"p\u0061th":-1}"#, &["path"], &["path: number 2 B"]);
        check(r#"["hunter2"]"#, &[], &[]);
        check(r#"{"a":"hunter2""#, &["a"], &[]);
        check("", &[], &[]);
    }

    #[test]
    fn many_fields_are_only_counted() {
        let fields: Vec<String> = (0..70).map(|i| format!("\"f{i}\":{i}")).collect();
        let mut out = Vec::new();
        shape(format!("{{{}}}", fields.join(",")).as_bytes(), &[], &Keys::new(&[7; 32]), &mut out);
        let got = describe(&out);
        assert_eq!(got.len(), 65);
        assert_eq!(got[64], "(and 6 more)");
    }

    #[test]
    fn equal_values_have_equal_tags_and_only_under_one_key() {
        let tag = |text: &str, key: u8| {
            let mut out = Vec::new();
            shape(text.as_bytes(), &["a".into()], &Keys::new(&[key; 32]), &mut out);
            out
        };
        assert_eq!(tag(r#"{"a":"x"}"#, 1), tag(r#"{ "a" : "x" }"#, 1));
        assert_ne!(tag(r#"{"a":"x"}"#, 1), tag(r#"{"a":"y"}"#, 1));
        assert_ne!(tag(r#"{"a":"x"}"#, 1), tag(r#"{"a":"x"}"#, 2));
    }
}
