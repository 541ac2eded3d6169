//! Results against the schemas that their tools promised, and JSON written into texts.

use crate::answer::{Costly, OutputCheck, check_output, inner};
use crate::{Compiled, Effort, Problem};
use serde_json::{Value, json};

fn schema(schema: &Value) -> Compiled {
    Compiled::compile(schema.to_string().as_bytes()).unwrap()
}

fn totals() -> Compiled {
    schema(&json!({"type": "object", "required": ["total"], "properties": {
        "total": {"type": "integer"}, "state": {"enum": ["open", "closed"]}}}))
}

fn check(result: &str, expect: &OutputCheck) {
    assert_eq!(check_output(result.as_bytes(), &totals(), Effort::QUICK).as_ref(), Ok(expect), "{result}");
}

fn check_broken(result: &str, expect: Value) {
    match check_output(result.as_bytes(), &totals(), Effort::QUICK) {
        Ok(OutputCheck::Breaks(problems)) => assert_eq!(serde_json::to_value(problems).unwrap(), expect, "{result}"),
        other => panic!("{other:?} {result}"),
    }
}

#[test]
fn structure_must_be_what_was_promised_and_errors_need_not() {
    check(r#"{"content":[],"structuredContent":{"total":3.0,"more":1}}"#, &OutputCheck::Fits);
    check(r#"{"isError":false,"structuredContent":{"total":9007199254740993}}"#, &OutputCheck::Fits);
    check(r#"{"isError":true,"content":[{"type":"text","text":"no"}]}"#, &OutputCheck::IsError);
    check(r#"{"structuredContent":{"total":"x"},"isError":true}"#, &OutputCheck::IsError);
    check_broken(
        r#"{"content":[],"structuredContent":{"total":"secret","state":"Open"}}"#,
        json!([{"path": "/total", "problem": "has the wrong type, is a string", "expected": "integer"},
               {"path": "/state", "problem": "is not one of the allowed values", "allowed": ["open", "closed"],
                "nearest": "open"}]),
    );
    let missing = json!([{"path": "", "problem": "is missing, though the tool has an output schema"}]);
    check_broken(r#"{"content":[]}"#, missing.clone());
    check_broken(r#"{"structuredContent":null}"#, missing);
    let endless = json!([{"path": "/total", "problem": "is a number beyond all that can be handled"}]);
    check_broken(r#"{"n":1e999,"structuredContent":{"total":1e999}}"#, endless);
    check(r#"{"n":1e999,"structuredContent":{"total":1}}"#, &OutputCheck::Fits);
    let twice = json!([{"path": "", "problem": "the same key stands twice in one object (byte 32)"}]);
    check_broken(r#"{"structuredContent":{"total":1,"total":2}}"#, twice);
}

#[test]
fn a_costly_check_is_told_as_such() {
    let doubling = schema(&json!({"type": "object", "properties": {"x": {"anyOf": [
        {"allOf": [{"$ref": "#"}, {"$ref": "#/$defs/twin"}, {"required": ["y"]}]}, {"$ref": "#"}]}},
        "$defs": {"twin": {"properties": {"x": {"allOf": [{"$ref": "#/$defs/twin"}, {"$ref": "#"}]}}}}}));
    let result = format!("{{\"structuredContent\":{}1{}}}", "{\"x\":".repeat(60), "}".repeat(60));
    assert_eq!(check_output(result.as_bytes(), &doubling, Effort::QUICK), Err(Costly));
}

#[test]
fn a_problem_never_quotes_the_value() {
    let closed = schema(&json!({"type": "object", "additionalProperties": false,
        "properties": {"a": {"type": "string", "pattern": "^x$", "maxLength": 3}, "b": {"const": 1}}}));
    let result = r#"{"structuredContent":{"a":"hunter2","b":"hunter2"}}"#;
    let Ok(OutputCheck::Breaks(problems)) = check_output(result.as_bytes(), &closed, Effort::QUICK) else { panic!() };
    assert_eq!(problems.iter().map(|Problem { path, .. }| path.as_str()).collect::<Vec<_>>(), ["/a", "/a", "/b"]);
    assert!(!format!("{problems:?}").contains("hunter2"));
}

#[test]
fn json_in_a_text_is_found_and_nothing_else() {
    let check = |text: &str, expect: Option<&str>| assert_eq!(inner(text).map(|inner| inner.json), expect, "{text:?}");
    check(r#"{"a":1}"#, Some(r#"{"a":1}"#));
    check("\u{FEFF} [1, 2.50]\n", Some("[1, 2.50]"));
    check("```json\n{\"a\":[]}\n```", Some("{\"a\":[]}"));
    check("Found:\n```\n[1]\n```\nThat is all.", Some("[1]"));
    for text in ["", "1", "\"x\"", "{", "{a:1}", "see {\"a\":1}", "```json\n{}\n```\n```json\n{}\n```", "```\nls\n```"]
    {
        check(text, None);
    }
    check(r#"{"a":1,"a":2}"#, None);
}
