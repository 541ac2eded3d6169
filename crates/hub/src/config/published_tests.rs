//! The schema and the page that are checked in are those that the checker's table gives.
//! `UPDATE=1 cargo nextest run -p callgate-hub published` writes them anew.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::schema::SCHEMA;
use super::tests::TWELVE;
use super::*;
use jsonc_parser::parse_to_ast;
use serde_json::Value;
use std::path::PathBuf;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn is_current(name: &str, text: &str) {
    let file = docs().join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let checked_in = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(checked_in == text, "docs/{name} is not current; run the test once with UPDATE=1");
}

#[test]
fn published_schema_is_current() {
    is_current("callgate.schema.json", &json_schema());
}

#[test]
fn published_reference_is_current() {
    is_current("config.md", &reference());
}

fn json(text: &str) -> Value {
    let source = source::Source::new(Path::new("x"), text);
    let parsed = parse_to_ast(source.text, &Default::default(), &source::SYNTAX).unwrap();
    walk::any(&parsed.value.unwrap())
}

#[test]
fn published_schema_takes_the_examples_and_refuses_mistakes() {
    let validator = jsonschema::validator_for(&SCHEMA).unwrap();
    let mut examples = 0;
    for entry in std::fs::read_dir(docs().join("examples")).unwrap() {
        let file = entry.unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        check_text(&file, &text).unwrap_or_else(|problems| panic!("{problems:#?}"));
        let errors: Vec<String> = validator.iter_errors(&json(&text)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", file.display());
        examples += 1;
    }
    assert!(examples > 0);
    assert!(!validator.is_valid(&json(TWELVE)));
}

/// The schema and the checker agree wherever a schema can tell.
#[test]
fn published_schema_and_checker_agree() {
    let validator = jsonschema::validator_for(&SCHEMA).unwrap();
    let check = |text: &str, right: bool| {
        assert_eq!(validator.is_valid(&json(text)), right, "schema: {text}");
        assert_eq!(check_text(Path::new("x"), text).is_ok(), right, "checker: {text}");
    };
    check("{}", true);
    check(r#"{"mcpServers": {"a": {"command": "x", "idleStopSeconds": 604801}}}"#, false);
    check(r#"{"mcpServers": {"a": {"command": "x", "idleStopSeconds": 604800}}}"#, true);
    check(r#"{"mcpServers": {"a": {"command": ""}}}"#, false);
    check(r#"{"mcpServers": {"a": {"command": "x", "cwd": null}}}"#, false);
    check(r#"{"mcpServers": {"a": {"command": "x", "lanes": {"l": "x"}}}}"#, false);
    check(r#"{"mcpServers": {"a": {"command": "x", "start": "soon"}}}"#, false);
    check(r#"{"mcpServers": {"a": {"command": "x", "alwaysAllow": {"any": [null]}}}}"#, true);
    check(r#"{"hub": {"audit": {"payloads": "none", "keepDays": 0}}}"#, false);
    check(r#"{"hub": {"audit": {"payload": "none"}}}"#, false);
}

#[test]
fn published_keys_all_have_a_meaning() {
    fn check(path: &str, schema: &Value) {
        for (key, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = format!("{path}.{key}");
            assert!(schema.get("description").is_some(), "{path} has no description");
            check(&path, schema);
            check(&path, schema.get("additionalProperties").unwrap_or(&Value::Null));
        }
    }
    check("", &SCHEMA);
}
