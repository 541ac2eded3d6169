//! Looking into a text from outside, and numbers by their exact values.

use crate::json::{Json, View, as_double, compare_numbers};
use std::cmp::Ordering;

#[test]
fn values_are_found_where_they_are() {
    let json = Json::read(br#"{"a":[1,"x\u0041",null,true],"b":{"c":12345678901234567890.5}}"#).unwrap();
    let root = json.root();
    assert!(matches!(root.view(), View::Object) && root.len() == 2 && !root.is_empty());
    assert_eq!(root.members().map(|(key, _)| key.into_owned()).collect::<Vec<_>>(), ["a", "b"]);
    let list: Vec<View<'_>> = root.get("a").unwrap().elements().map(|node| node.view()).collect();
    assert!(
        matches!(&list[..], [View::Number("1"), View::Text(text), View::Null, View::Boolean(true)] if text == "xA")
    );
    let inner = root.get("b").unwrap().get("c").unwrap();
    assert!(matches!(inner.view(), View::Number("12345678901234567890.5")) && inner.is_empty());
    assert!(root.get("c").is_none() && inner.get("c").is_none());
    assert!(Json::read(br#"{"a":1,"a":2}"#).is_err());
}

fn check_order(a: &str, b: &str, expect: Ordering) {
    assert_eq!(compare_numbers(a, b), Some(expect), "{a} {b}");
    assert_eq!(compare_numbers(b, a), Some(expect.reverse()), "{b} {a}");
}

#[test]
fn numbers_compare_by_their_exact_values() {
    use Ordering::{Equal, Less};
    check_order("1", "1.0", Equal);
    check_order("0", "-0.0e5", Equal);
    check_order("-1", "0", Less);
    check_order("-2", "-1.9", Less);
    check_order("-10", "-9", Less);
    check_order("9", "10", Less);
    check_order("0.09", "0.1", Less);
    check_order("1.5", "1.50001", Less);
    check_order("9007199254740992", "9007199254740993", Less);
    check_order("0.3", "0.30000000000000001", Less);
    check_order("1e-400", "1e-399", Less);
    check_order("1e400", "1e4000", Less);
    assert_eq!(compare_numbers("1e99999999999999999999", "1"), None);
}

#[test]
fn a_double_is_given_only_where_it_is_the_same_value() {
    assert_eq!(as_double("0.1"), Some(0.1));
    assert_eq!(as_double("1e3"), Some(1000.0));
    for lossy in ["9007199254740993", "0.30000000000000001", "1e400", "1e99999999999999999999"] {
        assert_eq!(as_double(lossy), None, "{lossy}");
    }
}
