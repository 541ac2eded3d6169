//! Messages: what they are taken for, what they are refused for, and which id is still read.

use super::{bytes, damaged, value};
use crate::strict::MAX_DEPTH;
use crate::{Fault, FaultKind, Frame, Kind, own_id, readable_id};
use proptest::prelude::*;

fn text(bytes: impl AsRef<[u8]>) -> String {
    String::from_utf8(bytes.as_ref().to_vec()).unwrap()
}

/// Kind, id, method and body.
fn check(input: &str, kind: Kind, id: &str, method: &str, body: Option<&str>) {
    let frame = Frame::parse(bytes(input)).unwrap_or_else(|fault| panic!("{input}: {fault:?}"));
    let got = (frame.kind(), text(frame.id()), frame.method().into_owned(), frame.body().map(text));
    assert_eq!(got, (kind, id.to_owned(), method.to_owned(), body.map(str::to_owned)), "{input}");
    assert_eq!(frame.raw(), input.as_bytes());
}

#[test]
fn messages_are_taken_apart() {
    use Kind::{Error, Notification, Request, Response};
    check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Request, "1", "ping", None);
    check(
        r#"{"jsonrpc":"2.0","id":"req-abc","method":"m","params":{"a":1}}"#,
        Request,
        "\"req-abc\"",
        "m",
        Some("{\"a\":1}"),
    );
    check(r#"{"jsonrpc":"2.0","id":"","method":"m"}"#, Request, "\"\"", "m", None);
    check(r#"{"jsonrpc":"2.0","id":"7","method":"m"}"#, Request, "\"7\"", "m", None);
    check(r#"{"jsonrpc":"2.0","id":-0,"method":"m"}"#, Request, "-0", "m", None);
    let long = "123456789012345678901234567890";
    check(&format!(r#"{{"jsonrpc":"2.0","id":{long},"method":"m"}}"#), Request, long, "m", None);
    check(r#"{"jsonrpc":"2.0","method":"notifications/x","params":null}"#, Notification, "", "notifications/x", None);
    check(" {\r\n \"method\" : \"m\" ,\t\"jsonrpc\" : \"2.0\" , \"id\" : 3 } \r\n", Request, "3", "m", None);
    check(r#"{"\u006aso\u006Erpc":"2\u002e0","i\u0064":1,"method":"a\/b"}"#, Request, "1", "a/b", None);
    check(r#"{"jsonrpc":"2.0","id":1,"result":{"x":[1]}}"#, Response, "1", "", Some("{\"x\":[1]}"));
    check(r#"{"result":null,"jsonrpc":"2.0","id":1}"#, Response, "1", "", Some("null"));
    check(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1}}"#, Error, "1", "", Some("{\"code\":-1}"));
    // Writers that put out every field that they know.
    check(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#, Response, "1", "", Some("{}"));
    check(r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{}}"#, Error, "1", "", Some("{}"));
    check(r#"{"jsonrpc":"2.0","id":1,"method":null,"params":null,"result":{}}"#, Response, "1", "", Some("{}"));
    check(r#"{"jsonrpc":"2.0","id":1,"method":"m","result":null,"error":null}"#, Request, "1", "m", None);
    // Unknown members, and the envelope's own names deeper down, mean nothing.
    check(
        r#"{"jsonrpc":"2.0","id":1,"ID":2,"method":"m","x":{"id":3,"id":4},"y":["method"]}"#,
        Request,
        "1",
        "m",
        None,
    );
    // What the strict check refuses may still pass here.
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":"\ud800"}}"#,
        Response,
        "1",
        "",
        Some(r#"{"a":1,"a":"\ud800"}"#),
    );
}

/// Kind, id and whether it has a method.
fn refused(input: impl AsRef<[u8]>, kind: FaultKind, id: Option<&str>, has_method: bool) {
    let input = input.as_ref();
    let shown = String::from_utf8_lossy(input);
    let fault = Frame::parse(bytes(input)).expect_err(&shown);
    assert_eq!(fault, Fault { kind, id: id.map(bytes), has_method }, "{shown}");
}

#[test]
fn what_is_no_message_says_why_and_for_whom() {
    use FaultKind::{BadId, BadParams, BadShape, BadUtf8, Batch, DuplicateKey, NotJson, NotRpc};
    for input in
        ["", "  ", "{", "x", "Server listening on 3000", "{}}", "{} {}", "\u{feff}{}", "nul", "'a'", "[1,]", "{\"a\":}"]
    {
        refused(input, NotJson, None, false);
    }
    for input in ["1", "\"x\"", "null", "{}", "{\"level\":\"info\"}", r#"{"jsonrpc":"1.0"}"#, r#"{"jsonrpc":2.0}"#] {
        refused(input, NotRpc, None, false);
    }
    refused(r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#, Batch, None, false);
    // Ids that cannot be answered.
    for id in ["null", "1.5", "1.0", "1e2", "true", "{}", "[1]"] {
        refused(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#), BadId, None, true);
        refused(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#), BadId, None, false);
    }
    refused(r#"{"jsonrpc":"2.0","result":{}}"#, BadId, None, false);
    refused(r#"{"jsonrpc":"2.0","error":{"code":-32700},"id":null}"#, BadId, None, false);
    // A reply that is odd, but whose caller is known.
    refused(r#"{"id":7,"result":{}}"#, NotRpc, Some("7"), false);
    refused(r#"{"jsonrpc":"2.0","id":7}"#, BadShape, Some("7"), false);
    refused(r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#, BadShape, Some("7"), false);
    refused(r#"{"jsonrpc":"2.0","id":7,"error":"boom"}"#, BadShape, Some("7"), false);
    refused(r#"{"jsonrpc":"2.0","id":7,"result":{"a":NaN}}"#, NotJson, Some("7"), false);
    refused(r#"{"result":{"a":NaN,"id":3},"id":"7","jsonrpc":"2.0"}"#, NotJson, Some("\"7\""), false);
    refused(r#"{"jsonrpc":"2.0","id":7,"result":{"a":[1,"#, NotJson, Some("7"), false);
    refused(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"\xff\"}", BadUtf8, Some("7"), false);
    refused(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"\xff", BadUtf8, Some("7"), false);
    refused(b"\xff\xfe{", BadUtf8, None, false);
    // The tail of a message that began elsewhere.
    refused("of the text\"}]},\"jsonrpc\":\"2.0\",\"id\":7}", NotJson, Some("7"), false);
    // Requests.
    refused(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":[1]}"#, BadParams, Some("7"), true);
    refused(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":"x"}"#, BadParams, Some("7"), true);
    refused(r#"{"jsonrpc":"2.0","id":7,"method":1}"#, BadShape, Some("7"), true);
    refused(r#"{"jsonrpc":"2.0","id":7,"method":"m","result":{}}"#, BadShape, Some("7"), true);
    refused(r#"{"jsonrpc":"2.0","id":7,"id":7,"method":"m"}"#, DuplicateKey, Some("7"), true);
    refused(r#"{"jsonrpc":"2.0","id":7,"method":"a","m\u0065thod":"b"}"#, DuplicateKey, Some("7"), true);
    // An id that is itself broken is not sent back.
    refused(b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"m\"}", BadUtf8, None, true);
    refused(r#"{"jsonrpc":"2.0","id":01,"method":"m"}"#, NotJson, None, true);
    refused(r#"{"jsonrpc":"2.0","method":"m","id":12"#, NotJson, None, true);
}

#[test]
fn depth_is_bounded_at_any_size() {
    let nested =
        |depth: usize| format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}1{}}}"#, "[".repeat(depth), "]".repeat(depth));
    assert!(Frame::parse(bytes(nested(MAX_DEPTH - 1))).is_ok());
    refused(nested(MAX_DEPTH), FaultKind::TooDeep, Some("7"), false);
    refused(nested(100_000), FaultKind::TooDeep, Some("7"), false);
    refused("[".repeat(100_000), FaultKind::TooDeep, None, false);
    refused("{\"id\":".repeat(100_000), FaultKind::TooDeep, None, false);
}

#[test]
fn ids_of_cut_messages() {
    let check = |text: &[u8], expect: Option<&str>| {
        assert_eq!(readable_id(text), expect.map(bytes), "{}", String::from_utf8_lossy(text));
    };
    check(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"text\":\"aaa", Some("5"));
    check(b"{\"result\":{\"text\":\"aaa\0bbb\"}},\"jsonrpc\":\"2.0\",\"id\":5}", Some("5"));
    check(
        b"{\"result\":{\"text\":\"aaa\0bbb\"}},\"id\" : \"a\\\"\\\\\" , \"jsonrpc\":\"2.0\" } \r",
        Some("\"a\\\"\\\\\""),
    );
    // What stands deeper in the cut part is not taken for the message's own.
    check(b"{\"result\":[{\"x\":[\0],\"y\":1}],\"id\":9},\"jsonrpc\":\"2.0\"}", None);
    check(b"{\"id\":12\0,\"result\":{}}", None);
    check(b"{\"id\":1234\0\"a\":{}}", None);
    for text in ["", "}", "{}", "\"id\":5", ":5}", "\"}", "{\"id\":\"}"] {
        check(text.as_bytes(), None);
    }
}

#[test]
fn own_ids_are_plain_digits() {
    for (id, expect) in [
        ("7", Some(7)),
        ("\"7\"", Some(7)),
        ("0", Some(0)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("\"+7\"", None),
        ("\"007\"", None),
        ("-7", None),
        ("\"\"", None),
        ("", None),
        ("\"", None),
        ("\"7", None),
        ("\"a7\"", None),
    ] {
        assert_eq!(own_id(id.as_bytes()), expect, "{id}");
    }
}

proptest! {
    #[test]
    fn accepts_what_serde_accepts(text in damaged(value())) {
        let other = std::str::from_utf8(&text).is_ok_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
        let ours = match Frame::parse(bytes(&text)) {
            Ok(_) => true,
            Err(fault) => !matches!(fault.kind, FaultKind::NotJson | FaultKind::BadUtf8 | FaultKind::TooDeep),
        };
        prop_assert_eq!(ours, other, "{}", String::from_utf8_lossy(&text));
    }

    #[test]
    fn reads_the_parts_that_serde_reads(body in value(), id in any::<i64>(), order in Just(["jsonrpc", "id", "result", "x"]).prop_shuffle()) {
        let members: Vec<_> = order
            .iter()
            .map(|key| match *key {
                "jsonrpc" => "\"jsonrpc\":\"2.0\"".to_owned(),
                "id" => format!("\"id\" : {id}"),
                key => format!(" \"{key}\":{body} "),
            })
            .collect();
        let frame = Frame::parse(bytes(format!("{{{}}}", members.join(",")))).unwrap();
        prop_assert_eq!(frame.kind(), Kind::Response);
        prop_assert_eq!(frame.id(), id.to_string());
        prop_assert_eq!(frame.body().unwrap(), body);
    }

    #[test]
    fn any_bytes_are_survived(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Frame::parse(bytes(&text));
        let _ = readable_id(&text);
    }

    #[test]
    fn a_known_id_survives_any_damage_behind_it(text in damaged(value()), id in any::<u32>()) {
        let mut message = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":").into_bytes();
        message.extend_from_slice(&text);
        if let Err(fault) = Frame::parse(bytes(&message)) {
            // Damage may close the message and open another member of that name; nothing else takes the id away.
            if !text.windows(2).any(|pair| pair == b"id") {
                prop_assert_eq!(fault.id, Some(bytes(id.to_string())));
            }
        }
    }
}
