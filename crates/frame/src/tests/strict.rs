//! Texts with two meanings, against a reader that notices them.

use super::{damaged, value};
use crate::strict::{Ambiguity, MAX_DEPTH, check};
use proptest::prelude::*;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::HashSet;

#[test]
fn what_is_refused() {
    use Ambiguity::{DuplicateKey, LoneSurrogate, NotJson};
    let table = |text: &str, expect: Result<(), Ambiguity>| assert_eq!(check(text.as_bytes()), expect, "{text}");
    for text in [
        "{}",
        " [1, 2] ",
        r#"{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}"#,
        r#"{"a":1,"A":2,"a ":3,"":4}"#,
        r#"{"x":"\ud83d\ude00","y":"\\ud800","z":"\\\\\ud83d\ude00"}"#,
        r#"{"n":1e400,"m":9007199254740993}"#,
    ] {
        table(text, Ok(()));
    }
    for text in [
        r#"{"a":1,"a":1}"#,
        r#"{"name":"a","x":0,"n\u0061me":"b"}"#,
        r#"{"é":1,"\u00e9":2}"#,
        r#"{"\/":1,"/":2}"#,
        r#"[0,{"b":[[{"a":1,"b":{},"a":{}}]]}]"#,
        r#"{"a":{"x":1},"b":{"x":1},"a":0}"#,
        r#"{"":1,"":2}"#,
    ] {
        table(text, Err(DuplicateKey));
    }
    for text in [
        r#""\ud800""#,
        r#"["\udc00"]"#,
        r#"{"\ud800":1}"#,
        r#""\ud800\ud800\udc00""#,
        r#""\ud83dx\ude00""#,
        r#""\uD83D\\uDE00""#,
        r#""\\\udead""#,
    ] {
        table(text, Err(LoneSurrogate));
    }
    for text in ["", "{", "{} {}", "{\"a\":1,}", "NaN", "{'a':1}", "\"\\x\""] {
        table(text, Err(NotJson));
    }
    assert_eq!(check(b"\"\xff\""), Err(NotJson));
}

#[test]
fn many_keys_and_much_depth() {
    let object = |keys: &mut dyn Iterator<Item = String>| {
        format!("{{{}}}", keys.map(|key| format!("\"{key}\":0")).collect::<Vec<_>>().join(","))
    };
    for many in [15usize, 16, 17, 18, 5000] {
        let mut keys = (0..many).map(|n| format!("key{n}"));
        assert_eq!(check(object(&mut keys).as_bytes()), Ok(()), "{many}");
        for twice in [0, many / 2, many - 1] {
            let mut keys = (0..many).map(|n| format!("key{n}")).chain([format!("\\u006bey{twice}")]);
            assert_eq!(check(object(&mut keys).as_bytes()), Err(Ambiguity::DuplicateKey), "{many} {twice}");
        }
    }
    let nested = |depth: usize| format!("{}0{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    assert_eq!(check(nested(MAX_DEPTH).as_bytes()), Ok(()));
    assert_eq!(check(nested(MAX_DEPTH + 1).as_bytes()), Err(Ambiguity::NotJson));
    assert_eq!(check("{\"a\":".repeat(100_000).as_bytes()), Err(Ambiguity::NotJson));
}

/// Reads any value and fails at a key that stands twice.
struct Unique;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unique, D::Error> {
        deserializer.deserialize_any(Unique)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Unique;
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }
    fn visit_bool<E>(self, _: bool) -> Result<Unique, E> {
        Ok(Unique)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Unique, E> {
        Ok(Unique)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Unique, E> {
        Ok(Unique)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Unique, E> {
        Ok(Unique)
    }
    fn visit_str<E>(self, _: &str) -> Result<Unique, E> {
        Ok(Unique)
    }
    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Unique, A::Error> {
        while seq.next_element::<Unique>()?.is_some() {}
        Ok(Unique)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
        let mut seen = HashSet::new();
        while let Some((key, Unique)) = map.next_entry::<String, Unique>()? {
            if !seen.insert(key) {
                return Err(A::Error::custom("twice"));
            }
        }
        Ok(Unique)
    }
}

proptest! {
    #[test]
    fn refuses_what_a_watchful_reader_refuses(text in value()) {
        prop_assert_eq!(check(text.as_bytes()).is_ok(), serde_json::from_str::<Unique>(&text).is_ok(), "{}", text);
    }

    #[test]
    fn damaged_text_is_never_let_through(text in damaged(value())) {
        // serde also refuses numbers that a double cannot hold; those are kept as text here.
        if let (Ok(()), Err(error)) = (check(&text), serde_json::from_slice::<Unique>(&text)) {
            prop_assert!(error.to_string().contains("number out of range"), "{}: {error}", String::from_utf8_lossy(&text));
        }
    }
}
