//! Arguments against schemas: what passes untouched, what is repaired, and what is told of the rest.

use crate::arguments::{Arguments, Effort, RepairKind, Unfit};
use crate::{Compiled, Problem, arguments_digest};
use proptest::prelude::*;
use serde_json::{Value, json};

fn schema(schema: Value) -> Compiled {
    Compiled::compile(schema.to_string().as_bytes()).unwrap()
}

fn checked(raw: &str, schema: &Compiled) -> Result<(String, Vec<String>), Vec<Problem>> {
    let mut arguments = Arguments::read(Some(raw.as_bytes())).map_err(Unfit::into_problems)?;
    arguments.check(schema, Effort::QUICK).map_err(Unfit::into_problems)?;
    let repairs = arguments.repairs().iter().map(|repair| repair.path.clone()).collect();
    Ok((arguments.text().to_owned(), repairs))
}

fn check_passes(raw: &str, schema: &Compiled) {
    assert_eq!(checked(raw, schema), Ok((raw.to_owned(), Vec::new())), "{raw}");
}

fn check_repaired(raw: &str, schema: &Compiled, text: &str, paths: &[&str]) {
    let paths = paths.iter().map(|&path| path.to_owned()).collect();
    assert_eq!(checked(raw, schema), Ok((text.to_owned(), paths)), "{raw}");
}

fn check_problems(raw: &str, schema: &Compiled, expect: Value) {
    let problems = checked(raw, schema).unwrap_err();
    assert_eq!(serde_json::to_value(&problems).unwrap(), expect, "{raw}");
}

#[test]
fn three_point_zero_is_an_integer() {
    let integers = schema(json!({"type": "object", "properties": {"n": {"type": "integer"}}}));
    for raw in [r#"{"n":3}"#, r#"{"n":3.0}"#, r#"{"n":3e0}"#, r#"{"n":9007199254740993}"#, r#"{"n":-0.0}"#] {
        check_passes(raw, &integers);
    }
    check_passes(r#"{"n":123456789012345678901234567890}"#, &integers);
    for (raw, found) in [("3.5", "a number"), ("true", "a boolean"), (r#""3""#, "a string"), ("null", "null")] {
        let problem = format!("has the wrong type, is {found}");
        let expect = json!([{"path": "/n", "problem": problem, "expected": "integer"}]);
        check_problems(&format!("{{\"n\":{raw}}}"), &integers, expect);
    }
    let endless = json!([{"path": "/n", "problem": "is a number beyond all that can be handled"}]);
    check_problems(r#"{"n":1e400}"#, &integers, endless);
}

#[test]
fn digits_are_compared_not_rounded() {
    let exact = schema(json!({"type": "object", "properties": {
        "c": {"const": 9_007_199_254_740_993_u64}, "e": {"enum": [1, 2.5]}, "u": {"uniqueItems": true}}}));
    check_passes(r#"{"c":9007199254740993,"e":1.0,"u":[9007199254740992,9007199254740993]}"#, &exact);
    assert!(checked(r#"{"c":9007199254740992}"#, &exact).is_err());
    assert!(checked(r#"{"e":1.0000000000000000001}"#, &exact).is_err());
    assert!(checked(r#"{"u":[1,1.0]}"#, &exact).is_err());
}

#[test]
fn nothing_is_an_empty_object() {
    let read = |raw: Option<&'static str>| {
        let arguments = Arguments::read(raw.map(str::as_bytes)).unwrap();
        let kinds: Vec<_> = arguments.repairs().iter().map(|repair| repair.kind).collect();
        assert_eq!(arguments.text(), "{}", "{raw:?}");
        kinds
    };
    for raw in [None, Some("null"), Some("{}"), Some(" {} ")] {
        assert_eq!(read(raw), [], "{raw:?}");
    }
    for raw in [r#""""#, r#"" \n ""#, r#""null""#, r#"" null ""#] {
        assert_eq!(read(Some(raw)), [RepairKind::BlankText], "{raw}");
    }
    assert_eq!(read(Some(r#""{}""#)), [RepairKind::WholeText]);
}

#[test]
fn what_is_no_object_is_told() {
    let check = |raw: &str, expect: &str| {
        let [problem] = &Arguments::read(Some(raw.as_bytes())).unwrap_err().into_problems()[..] else {
            panic!("{raw}")
        };
        assert_eq!((problem.path.as_str(), problem.problem.as_str()), ("", expect), "{raw:.60}");
    };
    check("[]", "must be an object, is an array");
    check("7", "must be an object, is a number");
    let text = "must be an object, is text that holds none";
    for raw in [r#""{}{\"a\":1}""#, r#""{\"a\":1""#, r#""secret""#, r#""[1]""#, r#""\"{\\\"a\\\":1}\"""#] {
        check(raw, text);
    }
    check(r#"{"a":1,"\u0061":2}"#, "the same key stands twice in one object (byte 7)");
    check(r#"{"a":"\ud800"}"#, "a string holds half of a surrogate pair (byte 6)");
    check("{", "is not valid JSON (byte 1)");
    check(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)), "is nested deeper than 127 levels");
}

fn texts() -> Compiled {
    schema(json!({"type": "object", "properties": {
        "a": {"type": "array", "items": {"type": "integer"}},
        "o": {"type": "object", "properties": {"in": {"$ref": "#/$defs/list"}}},
        "s": {"type": "string"},
        "u": {"type": ["string", "object"]},
        "m": {"anyOf": [{"type": "object"}, {"type": "null"}]},
        "t": {"anyOf": [{"type": "object"}, {"type": "string", "maxLength": 3}]},
        "r": {"$ref": "#/$defs/list"},
        "n": {"type": "number"}},
        "$defs": {"list": {"type": "array"}}}))
}

#[test]
fn fields_given_as_text_are_repaired_and_nothing_else_is_touched() {
    let schema = texts();
    check_repaired(r#"{"a":"[1,2]"}"#, &schema, r#"{"a":[1,2]}"#, &["/a"]);
    check_repaired(
        r#"{ "n":1.50, "a" : " [1, 2.0] ","o":"{\"k\":1}","s":"[1]", "u":"{\"k\":1}" }"#,
        &schema,
        r#"{ "n":1.50, "a" : [1, 2.0],"o":{"k":1},"s":"[1]", "u":"{\"k\":1}" }"#,
        &["/a", "/o"],
    );
    check_repaired(r#"{"m":"{\"big\":9007199254740993}"}"#, &schema, r#"{"m":{"big":9007199254740993}}"#, &["/m"]);
    check_repaired(r#"{"r":"[]"}"#, &schema, r#"{"r":[]}"#, &["/r"]);
    check_repaired(r#"{"o":"{\"in\":\"[1]\"}"}"#, &schema, r#"{"o":{"in":[1]}}"#, &["/o", "/o/in"]);
    check_repaired(r#""{\"a\":[1]}""#, &schema, r#"{"a":[1]}"#, &[""]);
}

#[test]
fn text_that_is_no_repair_stays_wrong() {
    let schema = texts();
    let wrong = |raw: &str, path: &str, expected: &str| {
        let expect = json!([{"path": path, "problem": "has the wrong type, is a string", "expected": expected}]);
        check_problems(raw, &schema, expect);
    };
    wrong(r#"{"a":"\"[1]\""}"#, "/a", "array");
    wrong(r#"{"a":"{}"}"#, "/a", "array");
    wrong(r#"{"a":"1,2"}"#, "/a", "array");
    wrong(r#"{"o":"{\"k\":1,\"k\":2}"}"#, "/o", "object");
    wrong(r#"{"m":"null"}"#, "/m", "object or null");
    wrong(r#"{"n":"1"}"#, "/n", "number");
    let too_long = json!([{"path": "/t", "problem": "is too long", "expected": "at most 3 characters"}]);
    check_problems(r#"{"t":"{\"k\":1}"}"#, &schema, too_long);
    let item = json!([{"path": "/a/0", "problem": "has the wrong type, is a string", "expected": "integer"}]);
    check_problems(r#"{"a":"[\"x\"]"}"#, &schema, item);
}

#[test]
fn all_problems_at_once_without_any_value() {
    let order =
        schema(json!({"type": "object", "required": ["sku", "count", "address"], "additionalProperties": false,
        "properties": {
            "sku": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"},
            "count": {"type": "integer", "minimum": 1, "maximum": 10},
            "priority": {"enum": ["standard", "expedited", 3]},
            "tags": {"type": "array", "maxItems": 2, "uniqueItems": true},
            "address": {"$ref": "#/$defs/address"}},
        "$defs": {"address": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}}}));
    check_passes(r#"{"sku":"AB-1","count":2,"address":{"city":"x"}}"#, &order);
    check_problems(
        r#"{"sku":"hunter2","count":0,"priority":"Expedite","tags":[1,1,2],"adress":{},"address":{}}"#,
        &order,
        json!([
            {"path": "/sku", "problem": "does not match the pattern", "expected": "^[A-Z]{2}-[0-9]+$"},
            {"path": "/count", "problem": "is too small", "expected": "at least 1"},
            {"path": "/priority", "problem": "is not one of the allowed values", "nearest": "expedited",
             "allowed": ["standard", "expedited", 3]},
            {"path": "/tags", "problem": "has too many items", "expected": "at most 2"},
            {"path": "/tags", "problem": "has the same item twice"},
            {"path": "/address/city", "problem": "is missing", "expected": "string"},
            {"path": "/adress", "problem": "is not a known argument", "nearest": "address",
             "allowed": ["sku", "count", "priority", "tags", "address"]},
        ]),
    );
    check_problems(
        "{}",
        &order,
        json!([
            {"path": "/sku", "problem": "is missing", "expected": "string"},
            {"path": "/count", "problem": "is missing", "expected": "integer"},
            {"path": "/address", "problem": "is missing"},
        ]),
    );
    let listed = schema(json!({"type": "object", "required": ["b", "c"], "properties": {
        "b": {"enum": ["x", 1]}, "c": {"type": "string", "const": "y"}}}));
    check_problems(
        "{}",
        &listed,
        json!([
            {"path": "/b", "problem": "is missing", "allowed": ["x", 1]},
            {"path": "/c", "problem": "is missing", "expected": "string", "allowed": ["y"]},
        ]),
    );
}

#[test]
fn alternatives_tell_of_the_one_that_was_meant() {
    let shapes = schema(json!({"type": "object", "properties": {"shape": {"oneOf": [
        {"type": "object", "required": ["r"], "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}},
        {"type": "object", "required": ["w", "h"], "properties": {"kind": {"const": "box"}, "w": {"type": "number"}}},
        {"type": "string", "maxLength": 3}]}}}));
    check_passes(r#"{"shape":{"kind":"box","w":1,"h":2}}"#, &shapes);
    check_problems(
        r#"{"shape":{"kind":"box","w":"1"}}"#,
        &shapes,
        json!([{"path": "/shape/h", "problem": "is missing"},
               {"path": "/shape/w", "problem": "has the wrong type, is a string", "expected": "number"}]),
    );
    let none = json!([{"path": "/shape", "problem": "fits none of the alternatives"}]);
    check_problems(r#"{"shape":{}}"#, &shapes, none);
    let types = json!([{"path": "/shape", "problem": "has the wrong type, is a number",
                        "expected": "object or object or string"}]);
    check_problems(r#"{"shape":1}"#, &shapes, types);
}

#[test]
fn many_problems_are_bounded() {
    let strict = schema(json!({"type": "object", "additionalProperties": {"type": "integer"}}));
    let members: Vec<String> = (0..500).map(|n| format!("\"{}{n}\":\"x\"", "k".repeat(400))).collect();
    let text = format!("{{{}}}", members.join(","));
    let mut arguments = Arguments::read(Some(text.as_bytes())).unwrap();
    let problems = arguments.check(&strict, Effort::LONG).unwrap_err().into_problems();
    assert_eq!(problems.len(), 21);
    assert!(problems.iter().all(|problem| problem.path.chars().count() <= 300));
}

#[test]
fn digests_and_keys_come_from_what_was_read() {
    let raw = br#"{"b":1.0,"idempotency_key":"k\u0031","a":"x"}"#;
    let arguments = Arguments::read(Some(raw)).unwrap();
    assert_eq!(arguments.string("idempotency_key").as_deref(), Some("k1"));
    assert_eq!(arguments.string("b"), None);
    let digest = arguments.digest(Some("idempotency_key"));
    assert_eq!(digest, arguments_digest(br#"{"a":"x","b":1.0}"#, None).unwrap());
    assert_ne!(digest, arguments.digest(None));
}

proptest! {
    /// What the validator reads of the text is what it would read of a parsed value.
    #[test]
    fn text_is_judged_like_a_value(
        n in prop_oneof![any::<i64>().prop_map(|n| n.to_string()), any::<f64>().prop_filter_map("finite", |n| {
            n.is_finite().then(|| Value::from(n).to_string())
        })],
        s in ".{0,8}", list in prop::collection::vec(0..4i64, 0..5), flag in any::<bool>(),
    ) {
        let schema_value = json!({"type": "object", "minProperties": 3, "properties": {
            "n": {"type": "integer", "minimum": -100, "exclusiveMaximum": 1e18},
            "s": {"minLength": 2, "maxLength": 6, "pattern": "[a-z]"}, "f": {"const": true},
            "list": {"uniqueItems": true, "contains": {"enum": [1, 2.0]}, "items": {"multipleOf": 1}}}});
        let text = json!({"s": s, "list": list, "f": flag}).to_string().replacen('{', &format!("{{\"n\":{n},"), 1);
        let mut arguments = Arguments::read(Some(text.as_bytes())).unwrap();
        let judged = arguments.check(&schema(schema_value.clone()), Effort::QUICK).is_ok();
        let value: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(judged, jsonschema::is_valid(&schema_value, &value), "{}", text);
    }
}

#[test]
fn a_declared_name_in_other_letters_is_no_argument_of_its_own() {
    let open = schema(json!({
        "type": "object",
        "properties": {
            "env": {"type": "string"},
            "token": {"type": "string"},
            "list": {"type": "array", "items": {"$ref": "#/$defs/entry"}},
            "free": {"type": "object"}
        },
        "anyOf": [{"properties": {"mode": {"type": "string"}}}, true],
        "$defs": {"entry": {"type": "object", "properties": {"path": {}, "more": {"$ref": "#/$defs/entry"}}}}
    }));
    check_passes(r#"{"env":"a","else":1,"free":{"Env":"b","env":"c"},"list":[{"path":1,"other":{"Path":2}}]}"#, &open);
    let check = |raw: &str, path: &str, meant: &str| {
        let problem = "is an argument's name in other letters; names have to be spelled exactly";
        check_problems(raw, &open, json!([{"path": path, "problem": problem, "nearest": meant}]));
    };
    check(r#"{"env":"dev","Env":"prod"}"#, "/Env", "env");
    check(r#"{"ENV":"prod"}"#, "/ENV", "env");
    check(r#"{"MODE":"x"}"#, "/MODE", "mode");
    check("{\"to\u{212a}en\":\"x\"}", "/to\u{212a}en", "token");
    check("{\"li\u{17f}t\":[]}", "/li\u{17f}t", "list");
    check(r#"{"list":[{},{"path":1,"more":{"PATH":2}}]}"#, "/list/1/more/PATH", "path");
    // What a schema that never ends says is not looked into without end.
    let wide: serde_json::Map<String, Value> = (0..60).map(|n| (format!("p{n}"), json!({"$ref": "#"}))).collect();
    let endless = schema(json!({"type": "object", "properties": wide}));
    check_passes(r#"{"p1":{"p2":{"p3":{"p4":{"p5":{"q":1}}}}}}"#, &endless);
}
