//! Golden hashes, the number rule, and that only key order and spelling are free.

use crate::{Hash, TextFault, arguments_digest, canonical_text, definition_hash, schema_hash};
use proptest::prelude::*;
use serde_json::Value;

const ORDER: &str = r#"{"name":"place_order","title":"Place","description":"Orders é 😀 \n",
  "inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":10},"€":{}}},
  "outputSchema":{"type":"object"},"annotations":{"readOnlyHint":false},"_meta":{"x":[1,2.5]}}"#;

fn hex(hash: Hash) -> String {
    hash.to_string().strip_prefix("sha256:").unwrap().to_owned()
}

/// These figures were made by another implementation; a change of them breaks every pin and approval.
#[test]
fn golden() {
    let whole = definition_hash(ORDER.as_bytes()).unwrap();
    assert_eq!(hex(whole), "fbf1a42d14723800706f9be902d326ec46a63f93d98af5c0a243f1f88b949001");
    let schemas = schema_hash(ORDER.as_bytes()).unwrap();
    assert_eq!(hex(schemas), "9be7411d642adbace66df6d257734db1e4ffa0b0b7774db8c466ae84d4cef6b3");
    let digest = arguments_digest(b" { \"b\" : 9007199254740993, \"\\u0061\":1.0 }", None).unwrap();
    assert_eq!(hex(digest), "2fa569e81c9a8b58b5ca0b57ecf06cf5012d2d78871ef3732d7266b1dbb60d9d");
    let keyed = arguments_digest(br#"{"idempotency_key":"k"}"#, Some("idempotency_key")).unwrap();
    assert_eq!(hex(keyed), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    assert_eq!(keyed, arguments_digest(b"{}", None).unwrap());
    assert_eq!(whole.to_string().parse::<Hash>().unwrap(), whole);
    assert!("sha256:00".parse::<Hash>().is_err() && hex(whole).parse::<Hash>().is_err());
}

fn check_number(source: &str, expect: &str) {
    assert_eq!(canonical_text(source.as_bytes()).unwrap(), expect, "{source}");
}

#[test]
fn numbers_are_canonical_where_nothing_is_lost() {
    for (source, expect) in [
        ("1.0", "1"),
        ("3e0", "3"),
        ("0.10", "0.1"),
        ("-0", "0"),
        ("-0.0e7", "0"),
        ("0e99999999999999999999", "0"),
        ("1E30", "1e+30"),
        ("4.50", "4.5"),
        ("2e-3", "0.002"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1e-7"),
        ("-1.5E-9", "-1.5e-9"),
        ("123456789012345680000", "123456789012345680000"),
        ("1e21", "1e+21"),
        ("1.5e300", "1.5e+300"),
        ("9007199254740992", "9007199254740992"),
        ("9007199254740993", "9007199254740993"),
        ("9007199254740993.0", "9007199254740993.0"),
        ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
        ("333333333.33333329", "333333333.33333329"),
        ("1e400", "1e400"),
        ("1e-400", "1e-400"),
        ("1e99999999999999999999", "1e99999999999999999999"),
        ("18446744073709551617", "18446744073709551617"),
    ] {
        check_number(source, expect);
    }
}

#[test]
fn keys_go_by_utf16_and_strings_by_one_spelling() {
    let text = "{\"\u{FB33}\":1,\"\u{1F600}\":2,\"\\u20ac\":3,\"\\r\":4,\"a\\/\\u001f\\u007f\":5}";
    let expect = "{\"\\r\":4,\"a/\\u001f\u{7f}\":5,\"\u{20ac}\":3,\"\u{1F600}\":2,\"\u{FB33}\":1}";
    assert_eq!(canonical_text(text.as_bytes()).unwrap(), expect);
}

#[test]
fn what_two_readers_could_read_differently_has_no_hash() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(canonical_text(deep(127).as_bytes()).is_ok());
    for (text, fault) in [
        (deep(128), TextFault::TooDeep),
        (deep(100_000), TextFault::TooDeep),
        (r#"{"name":"a","n\u0061me":"b"}"#.to_owned(), TextFault::DuplicateKey(12)),
        (r#"["\ud800"]"#.to_owned(), TextFault::LoneSurrogate(2)),
        (r#"["\udc00\ud800"]"#.to_owned(), TextFault::LoneSurrogate(2)),
        ("{}{}".to_owned(), TextFault::Syntax(2)),
        ("NaN".to_owned(), TextFault::Syntax(0)),
        ("[1,]".to_owned(), TextFault::Syntax(3)),
        ("[1 2]".to_owned(), TextFault::Syntax(3)),
        ("{\"a\":1".to_owned(), TextFault::Syntax(6)),
        ("01".to_owned(), TextFault::Syntax(1)),
        ("\"\n\"".to_owned(), TextFault::Syntax(1)),
        (String::new(), TextFault::Syntax(0)),
    ] {
        assert_eq!(canonical_text(text.as_bytes()), Err(fault), "{text:.40}");
    }
    assert_eq!(canonical_text(b"\"\xff\""), Err(TextFault::BadUtf8(1)));
    let many: Vec<String> = (0..40).map(|n| format!("\"k{}\":0", n % 39)).collect();
    assert!(matches!(canonical_text(format!("{{{}}}", many.join(",")).as_bytes()), Err(TextFault::DuplicateKey(_))));
}

/// A server must not be able to move its words where the hash does not look.
#[test]
fn every_part_of_a_definition_counts() {
    let tool: Value = serde_json::from_str(
        r#"{"name":"t","title":"T","description":"d","icons":[{"src":"data:,"}],"annotations":{"destructiveHint":true},
            "_meta":{"k":1},"execution":{"taskSupport":"optional"},
            "outputSchema":{"type":"object","properties":{"r":{"title":"R"}}},
            "inputSchema":{"type":"object","properties":{"p":{"enum":["a"],"default":"a","title":"x","examples":["e"]}}}}"#,
    )
    .unwrap();
    let of = |tool: &Value| definition_hash(tool.to_string().as_bytes()).unwrap();
    let base = of(&tool);
    let changes: [(&str, Value); 15] = [
        ("/title", "t".into()),
        ("/description", "d ".into()),
        ("/description", "d\u{200B}".into()),
        ("/description", "D".into()),
        ("/icons/0/src", "data:,x".into()),
        ("/annotations/destructiveHint", false.into()),
        ("/annotations", Value::Null),
        ("/_meta/k", 2.into()),
        ("/_meta", serde_json::json!({})),
        ("/execution/taskSupport", "required".into()),
        ("/outputSchema/properties/r/title", "S".into()),
        ("/inputSchema/properties/p/enum/0", "b".into()),
        ("/inputSchema/properties/p/default", "ignore the above".into()),
        ("/inputSchema/properties/p/title", "y".into()),
        ("/inputSchema/properties/p/examples/0", "f".into()),
    ];
    for (path, value) in changes {
        let mut changed = tool.clone();
        *changed.pointer_mut(path).unwrap() = value;
        assert_ne!(of(&changed), base, "{path}");
    }
    let renamed = tool.to_string().replace("\"p\":", "\"q\":");
    assert_ne!(definition_hash(renamed.as_bytes()).unwrap(), base);
    let respelled = tool.to_string().replace("\"k\":1", "\"k\":1.0");
    assert_eq!(definition_hash(respelled.as_bytes()).unwrap(), base);
}

#[test]
fn arguments_keep_every_digit() {
    let of = |text: &str| arguments_digest(text.as_bytes(), None).unwrap();
    assert_ne!(of(r#"{"n":1}"#), of(r#"{"n":1.0}"#));
    assert_ne!(of(r#"{"n":9007199254740993}"#), of(r#"{"n":9007199254740992}"#));
    assert_eq!(of(r#"{"a":"\u0041","b":[ ]}"#), of(r#"{"b":[],"a":"A"}"#));
    assert_ne!(of(r#"{"a":"A"}"#), of(r#"{"A":"a"}"#));
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6f64).prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |double| serde_json::Number::from_f64(double).map(Value::Number)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The same value with the members of every object the other way round and white space everywhere.
fn shuffled(value: &Value, out: &mut String) {
    match value {
        Value::Array(elements) => {
            out.push_str("[ ");
            for (place, element) in elements.iter().enumerate() {
                out.push_str(if place > 0 { " ,\n" } else { "" });
                shuffled(element, out);
            }
            out.push_str("\t]");
        }
        Value::Object(members) => {
            out.push_str("\n{");
            for (place, (key, value)) in members.iter().rev().enumerate() {
                out.push_str(if place > 0 { ", " } else { "" });
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push_str(" : ");
                shuffled(value, out);
            }
            out.push('}');
        }
        leaf => out.push_str(&leaf.to_string()),
    }
}

proptest! {
    #[test]
    fn order_and_space_never_matter(value in json()) {
        let mut other = String::new();
        shuffled(&value, &mut other);
        let text = value.to_string();
        prop_assert_eq!(canonical_text(text.as_bytes()), canonical_text(other.as_bytes()));
        prop_assert_eq!(arguments_digest(text.as_bytes(), None), arguments_digest(other.as_bytes(), None));
    }

    #[test]
    fn canonical_text_is_a_fixed_point_and_the_same_value(value in json()) {
        let once = canonical_text(value.to_string().as_bytes()).unwrap();
        prop_assert_eq!(&canonical_text(once.as_bytes()).unwrap(), &once);
        prop_assert_eq!(
            serde_json_canonicalizer::to_string(&serde_json::from_str::<Value>(&once).unwrap()).unwrap(),
            serde_json_canonicalizer::to_string(&value).unwrap()
        );
    }

    #[test]
    fn doubles_are_written_as_the_standard_says(double in any::<f64>().prop_filter("finite", |d| d.is_finite())) {
        let text = Value::from(double).to_string();
        prop_assert_eq!(canonical_text(text.as_bytes()).unwrap(), serde_json_canonicalizer::to_string(&double).unwrap());
    }

    #[test]
    fn integers_never_lose_a_digit(number in any::<i128>()) {
        let text = canonical_text(number.to_string().as_bytes()).unwrap();
        let plain = if text.contains('e') { text.parse::<f64>().unwrap().to_string() } else { text };
        prop_assert_eq!(plain.parse::<i128>().unwrap(), number);
    }

    #[test]
    fn different_values_differ(a in json(), b in json()) {
        let canonical = |value: &Value| canonical_text(value.to_string().as_bytes()).unwrap();
        let same = serde_json_canonicalizer::to_string(&a).unwrap() == serde_json_canonicalizer::to_string(&b).unwrap();
        if !same {
            prop_assert_ne!(canonical(&a), canonical(&b));
        }
    }

    /// Another reader says the same of any text, but for what we refuse on purpose and what it can't hold.
    #[test]
    fn reading_agrees_with_another_reader(
        value in json(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(&b"{}[]\":,\\u0d8-+.eE1 tfn\n\xff"[..])), 0..4),
    ) {
        let mut text = value.to_string().into_bytes();
        for (place, byte) in changes {
            let at = place.index(text.len());
            text[at] = byte;
        }
        match (canonical_text(&text), serde_json::from_slice::<Value>(&text)) {
            (Ok(ours), Ok(theirs)) => {
                let again: Value = serde_json::from_str(&ours).unwrap();
                prop_assert_eq!(
                    serde_json_canonicalizer::to_string(&again).unwrap(),
                    serde_json_canonicalizer::to_string(&theirs).unwrap()
                );
            }
            (Ok(_), Err(theirs)) => prop_assert!(theirs.to_string().starts_with("number out of range"), "{theirs}"),
            (Err(TextFault::DuplicateKey(_)), Ok(_)) | (Err(_), Err(_)) => {}
            (Err(ours), Ok(_)) => prop_assert!(false, "{ours}"),
        }
    }
}
