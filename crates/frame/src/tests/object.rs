//! Reading and editing one object, against serde's view of the same text.

use super::{bytes, damaged, object_of, string, value};
use crate::Rope;
use crate::object::{Edit, elements, get, key_is, members, pick, quote, text};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn object() -> impl Strategy<Value = String> {
    object_of(value())
}

/// The members as serde reads them, duplicates and all.
fn pairs(text: &str) -> Vec<(String, Value)> {
    struct Pairs;
    impl<'de> serde::de::Visitor<'de> for Pairs {
        type Value = Vec<(String, Value)>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut all = Vec::new();
            while let Some(pair) = map.next_entry()? {
                all.push(pair);
            }
            Ok(all)
        }
    }
    serde::Deserializer::deserialize_map(&mut serde_json::Deserializer::from_str(text), Pairs).unwrap()
}

#[test]
fn edits_keep_what_they_do_not_name() {
    let check = |object: &str, edit: Edit<'_>, expect: &str| {
        let rope = edit.apply(&bytes(object));
        assert_eq!(rope.join(), expect, "{object}");
        assert_eq!(rope.len(), expect.len());
    };
    check("{}", Edit::new(), "{}");
    check(" { } ", Edit::new().set("a", "1"), "{\"a\":1}");
    check(r#"{"a":1, "b" : [2 ,3],"c":"\u00e9"}"#, Edit::new(), r#"{"a":1, "b" : [2 ,3],"c":"\u00e9"}"#);
    check(r#"{"a":1,"b":2,"c":3}"#, Edit::new().set("b", "[]"), r#"{"a":1,"b":[],"c":3}"#);
    check(r#"{"a":1,"b":2,"c":3}"#, Edit::new().remove("b"), r#"{"a":1,"c":3}"#);
    check(r#"{"a":1,"b":2,"c":3}"#, Edit::new().remove("a").remove("c"), r#"{"b":2}"#);
    check(r#"{"a":1}"#, Edit::new().remove("a").set("z", "2").remove("x"), r#"{"z":2}"#);
    check(r#"{"a":1}"#, Edit::new().set("a", "2").set("a", "3"), r#"{"a":3}"#);
    check(r#"{"b":1}"#, Edit::new().set("a", "2").set("a", "3"), r#"{"b":1,"a":3}"#);
    check(r#"{"b":1}"#, Edit::new().set("a", "2").remove("a"), r#"{"b":1}"#);
    // A key that stands twice is changed once and gone the second time.
    check(r#"{"a":1,"\u0061":2,"b":3,"a":4}"#, Edit::new().set("a", "9"), r#"{"a":9,"b":3}"#);
    check(r#"{"a":1,"\u0061":2}"#, Edit::new().remove("a"), "{}");
    check(r#"{"a":1}"#, Edit::new().set("q\"\n", "true"), r#"{"a":1,"q\"\n":true}"#);
    let mut rope = Rope::from("[1,");
    rope.push_copy(b"2]");
    check(r#"{"a":1}"#, Edit::new().set("a", rope), r#"{"a":[1,2]}"#);
}

#[test]
fn text_of_strings() {
    for (quoted, expect) in [
        (r#""""#, Some("")),
        (r#""a\"b\\c\/d""#, Some("a\"b\\c/d")),
        (r#""\b\f\n\r\t""#, Some("\u{8}\u{c}\n\r\t")),
        (r#""\u00e9\uD83D\uDE00""#, Some("é😀")),
        (r#""\ud83d""#, Some("\u{fffd}")),
        (r#""\ude00\ud83d x""#, Some("\u{fffd}\u{fffd} x")),
        (r#""\ud83d\ud83d\ude00""#, Some("\u{fffd}😀")),
        ("\"", None),
        ("", None),
        ("7", None),
        ("\"a", None),
        (r#""\u12""#, None),
    ] {
        assert_eq!(text(quoted.as_bytes()).as_deref(), expect, "{quoted}");
    }
    assert_eq!(text(b"\"\xff\""), None);
}

#[test]
fn keys_are_compared_as_read() {
    for (quoted, name, expect) in [
        (r#""id""#, "id", true),
        (r#""i\u0064""#, "id", true),
        (r#""ID""#, "id", false),
        (r#""\\""#, "\\", true),
        (r#""\b""#, "\\b", false),
        (r#""\b""#, "\u{8}", true),
        (r#""\\b""#, "\\b", true),
        (r#""""#, "", true),
        ("\"", "", false),
        ("", "", false),
    ] {
        assert_eq!(key_is(quoted.as_bytes(), name), expect, "{quoted} {name}");
    }
    let [a, none] = pick(br#"{"a":1,"b":2,"\u0061":3}"#, ["a", "z"]);
    assert_eq!((a, none), (Some(22..23), None));
}

#[test]
fn walks_end_where_the_text_is_no_container() {
    for text in [
        "",
        " ",
        "[1]",
        "1",
        "\"a\"",
        "{",
        "{\"",
        "{\"a",
        "{\"a\"",
        "{\"a\" 1}",
        "{\"a\":",
        "{\"a\":[",
        "{1:2}",
        "{\"a\":\"\\",
    ] {
        assert_eq!(members(text.as_bytes()).count(), 0, "{text}");
    }
    for text in ["", "{}", "1", "[", "[]", "[ ", "[,", "[\"", "[[", "[}"] {
        assert_eq!(elements(text.as_bytes()).count(), 0, "{text}");
    }
    assert_eq!(members(br#"{"a":1,"b":{"c":[}"#).count(), 1);
    assert_eq!(elements(b" [ 1 , [2,3] , \"]\" ] ").count(), 3);
}

proptest! {
    #[test]
    fn members_are_those_that_serde_reads(object in object()) {
        let ours: Vec<(String, Value)> = members(object.as_bytes())
            .map(|member| {
                let key = text(&object.as_bytes()[member.key]).unwrap().into_owned();
                (key, serde_json::from_str(&object[member.value]).unwrap())
            })
            .collect();
        let theirs = pairs(&object);
        prop_assert_eq!(&ours, &theirs);
        let parsed: Map<String, Value> = serde_json::from_str(&object).unwrap();
        for (key, value) in &parsed {
            let [found] = pick(object.as_bytes(), [key]);
            let got = get(&bytes(&object), key).unwrap();
            prop_assert_eq!(&object[found.unwrap()], std::str::from_utf8(&got).unwrap());
            prop_assert_eq!(&serde_json::from_slice::<Value>(&got).unwrap(), value);
        }
    }

    #[test]
    fn elements_are_those_that_serde_reads(items in proptest::collection::vec(value(), 0..6)) {
        let array = format!(" [ {} ]", items.join(" ,"));
        let ours: Vec<&str> = elements(array.as_bytes()).map(|range| &array[range]).collect();
        prop_assert_eq!(ours, items);
    }

    #[test]
    fn an_edit_does_what_serde_does(object in object(), set in proptest::collection::vec((0usize..8, value()), 0..3), gone in 0usize..8) {
        let mut theirs: Map<String, Value> = serde_json::from_str(&object).unwrap();
        // Some of the object's own keys, and some that it does not have.
        let mut keys: Vec<String> = theirs.keys().cloned().collect();
        keys.extend(["new".to_owned(), "n\"w".to_owned()]);
        let mut edit = Edit::new();
        for (place, value) in &set {
            let key = &keys[place % keys.len()];
            edit = edit.set(key, value.clone());
            theirs.insert(key.clone(), serde_json::from_str(value).unwrap());
        }
        let gone = &keys[gone % keys.len()];
        edit = edit.remove(gone);
        theirs.shift_remove(gone);
        let ours = edit.apply(&bytes(&object)).join();
        let read: Map<String, Value> = serde_json::from_slice(&ours).unwrap();
        prop_assert_eq!(&read, &theirs);
        prop_assert!(crate::Frame::parse(ours).is_err_and(|fault| fault.kind == crate::FaultKind::NotRpc));
    }

    #[test]
    fn text_is_what_serde_reads(quoted in string(0..40)) {
        prop_assert_eq!(text(quoted.as_bytes()).unwrap(), serde_json::from_str::<String>(&quoted).unwrap());
    }

    #[test]
    fn quote_is_what_serde_writes(plain in proptest::collection::vec(any::<char>(), 0..40)) {
        let plain: String = plain.into_iter().collect();
        prop_assert_eq!(quote(&plain), json!(plain).to_string());
    }

    #[test]
    fn unchecked_text_ends_every_walk(object in damaged(object())) {
        let longest = object.len();
        prop_assert!(members(&object).count() <= longest);
        prop_assert!(elements(&object).count() <= longest);
        for member in members(&object) {
            prop_assert!(member.key.end <= member.value.start && member.value.end <= longest);
        }
        let _ = Edit::new().set("a", "1").remove("b").apply(&bytes(&object)).join();
        let _ = crate::object::last_scalar(&object, "a");
    }
}

#[test]
fn a_flag_is_found_wherever_it_stands() {
    let table = [
        (r#"{"content":[],"isError":true}"#, true),
        (r#"{"content":[],"isError":false}"#, false),
        (r#"{"isError":true,"content":[{"text":"x"}]}"#, true),
        (r#"{"isError":false,"content":[{"isError":true}]}"#, false),
        (r#"{"content":[{"isError":true}]}"#, false),
        (r#"{"content":[],"isError":"true"}"#, false),
        (r#"{"isError":true,"isError":false}"#, false),
        (r#"{}"#, false),
    ];
    for (text, expect) in table {
        assert_eq!(crate::object::is_true(text.as_bytes(), "isError"), expect, "{text}");
    }
}
