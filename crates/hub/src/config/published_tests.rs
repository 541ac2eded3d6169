//! The schema and the page that are checked in are those that the checker's table gives.
//! `UPDATE=1 cargo nextest run -p callgate-hub published` writes them anew.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::schema::SCHEMA;
use super::tests::TWELVE;
use super::*;
use jsonc_parser::parse_to_ast;
use proptest::prelude::*;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::LazyLock;

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
    is_current("callgate.schema.json", &schema::of_types());
    assert!(SCHEMA.is_object());
}

#[test]
fn published_reference_is_current() {
    let schema = serde_json::from_str(&schema::of_types()).unwrap();
    is_current("config.md", &reference(&schema));
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

/// Trees that are mostly made of known keys, with values that are often of the wrong kind.
fn trees() -> impl Strategy<Value = Value> {
    fn keys(schema: &Value, out: &mut Vec<String>) {
        for (key, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            out.push(key.clone());
            keys(schema, out);
            keys(schema.get("additionalProperties").unwrap_or(&Value::Null), out);
        }
    }
    let mut known = vec!["a".to_owned()];
    keys(&SCHEMA, &mut known);
    let texts = ["x", "", "http://h/", "lazy", "all", "stdio", "http", "read", "${home}", "${", "allow", "a\0"];
    let leaf = prop_oneof![
        prop::sample::select(texts.to_vec()).prop_map(Value::from),
        prop::sample::select(vec![0, 1, 60, 2000, -1, i64::MAX]).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        Just(serde_json::json!(1.5)),
    ];
    let tree = leaf.prop_recursive(4, 40, 5, move |inner| {
        let key = prop::sample::select(known.clone());
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6).prop_map(|pairs| pairs.into_iter().collect::<Value>()),
        ]
    });
    let server = prop_oneof![
        tree.clone(),
        tree.clone().prop_map(|mut tree| {
            if let Some(entry) = tree.as_object_mut() {
                entry.insert("command".into(), "x".into());
            }
            tree
        })
    ];
    let root = prop::sample::select(vec!["mcpServers", "policy", "profiles", "hub"]);
    prop_oneof![
        tree.clone(),
        (root, tree).prop_map(|(key, tree)| serde_json::json!({ key: tree })),
        server.prop_map(|server| serde_json::json!({"mcpServers": {"s": server}})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn published_schema_takes_whatever_the_checker_takes(tree in trees()) {
        static VALIDATOR: LazyLock<jsonschema::Validator> =
            LazyLock::new(|| jsonschema::validator_for(&SCHEMA).unwrap());
        match check_text(Path::new("x"), &format!("{tree:#}")) {
            Ok(_) => prop_assert!(VALIDATOR.is_valid(&tree), "{tree:#}"),
            // The types never find anything that the walk has not found.
            Err(problems) if tree.is_object() => {
                prop_assert!(problems.iter().all(|problem| !problem.key_path.is_empty()), "{problems:#?}");
            }
            Err(_) => {}
        }
    }

    #[test]
    fn no_text_is_too_odd(text in "[{}\\[\\]\",:/*\\\\ \\n\\ré0-9a-z$]{0,60}") {
        let _ = check_text(Path::new("x"), &text);
        let _ = edit(Path::new("x"), &text, &Edit::Remove { name: "a".into() });
    }
}
