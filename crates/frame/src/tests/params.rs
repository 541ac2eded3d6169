//! Params are read once; what is set takes its old place or the end, and nothing else changes.

use crate::strict::Ambiguity;
use crate::{Params, object};
use bytes::Bytes;
use proptest::prelude::*;

fn check(text: &'static str, values: [(&str, &[u8]); 2], expect: &str) {
    assert_eq!(Params::from(text).with(values), expect, "{text}");
}

#[test]
fn values_are_set_in_place_or_at_the_end() {
    let name: (&str, &[u8]) = ("name", b"\"b\"");
    let arguments: (&str, &[u8]) = ("arguments", b"{}");
    check(r#"{"name":"a","arguments":{"x":1}}"#, [name, arguments], r#"{"name":"b","arguments":{}}"#);
    check(r#"{"arguments":{"x":1}, "name" : "a" }"#, [name, arguments], r#"{"arguments":{}, "name" : "b" }"#);
    check(r#"{"name":"a"}"#, [name, arguments], r#"{"name":"b","arguments":{}}"#);
    check(r#"{"_meta":{"k":[1]}}"#, [name, arguments], r#"{"_meta":{"k":[1]},"name":"b","arguments":{}}"#);
    check(" { } ", [name, arguments], r#" {"name":"b","arguments":{} } "#);
    check(r#"{"n\u0061me":1,"x":2}"#, [name, arguments], r#"{"n\u0061me":"b","x":2,"arguments":{}}"#);
}

#[test]
fn what_can_be_read_in_two_ways_is_told() {
    let table = [
        (r#"{"a":1,"b":{"c":2}}"#, None),
        (r#"{"a":1,"\u0061":2}"#, Some(Ambiguity::DuplicateKey)),
        (r#"{"a":{"b":1,"b":1}}"#, Some(Ambiguity::DuplicateKey)),
        (r#"{"name":"a","arguments":{"Name":1}}"#, None),
        (r#"{"name":"a","Name":"b"}"#, Some(Ambiguity::OtherCase)),
        (r#"{"n\u0041me":"b"}"#, Some(Ambiguity::OtherCase)),
        (r#"{"n\u0061me":"b"}"#, None),
        (r#"{"argument\u017f":{}}"#, Some(Ambiguity::OtherCase)),
        (r#"{"taſk":{}}"#, Some(Ambiguity::OtherCase)),
        (r#"{"tas\u212a":{}}"#, Some(Ambiguity::OtherCase)),
        (r#"{"requeststate":""}"#, Some(Ambiguity::OtherCase)),
        (r#"{"names":"a","Nam":1,"日付":2}"#, None),
        (r#"{"a":"\ud800"}"#, Some(Ambiguity::LoneSurrogate)),
        (r#"{"a":"#, Some(Ambiguity::NotJson)),
    ];
    for (text, expect) in table {
        assert_eq!(Params::from(text).ambiguity(), expect, "{text}");
    }
}

proptest! {
    #[test]
    fn members_are_those_of_a_walk_over_the_text(keys in proptest::collection::btree_set("[a-e]{1,3}", 0..6)) {
        let members: Vec<String> = keys.iter().map(|key| format!("\"{key}\": [{{\"a\":\"{key}\"}}]")).collect();
        let text = Bytes::from(format!("{{{}}}", members.join(" , ")));
        let params = Params::read(text.clone());
        for key in ["a", "b", "c", "aa", "ab", "ea", "zz"] {
            prop_assert_eq!(params.get(key), object::get(&text, key));
        }
    }
}
