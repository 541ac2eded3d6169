//! Schemas that must not hold a thread, load anything or overflow a stack; patterns that the engine lacks.

use crate::arguments::{Arguments, Effort, Unfit};
use crate::{Compiled, SchemaFault};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn compile(schema: &Value) -> Result<Compiled, SchemaFault> {
    Compiled::compile(schema.to_string().as_bytes())
}

fn passes(schema: &Value, arguments: &Value) -> bool {
    judge(&compile(schema).unwrap(), &arguments.to_string(), Effort::LONG).is_ok()
}

fn judge(schema: &Compiled, arguments: &str, effort: Effort) -> Result<(), Unfit> {
    Arguments::read(Some(arguments.as_bytes())).unwrap().check(schema, effort)
}

/// Runs on a stack as small as a pool thread's; an overflow would end the whole test run.
fn on_small_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap()
}

#[test]
fn every_dialect_that_there_is() {
    let check = |uri: &str, expect: bool| {
        let schema = json!({"$schema": uri, "type": "object", "properties": {"n": {"type": "integer"}}});
        match compile(&schema) {
            Ok(_) => {
                assert!(expect && !passes(&schema, &json!({"n": "x"})) && passes(&schema, &json!({"n": 1})), "{uri}");
            }
            Err(fault) => assert!(!expect && matches!(fault, SchemaFault::Dialect(_)), "{uri} {fault}"),
        }
    };
    for uri in [
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-04/schema#",
    ] {
        check(uri, true);
    }
    check("http://json-schema.org/draft-03/schema#", false);
    check("https://spec.openapis.org/oas/3.1/dialect/base", false);
    check("", false);
}

/// Each dialect means what it says, also where another one means something else.
#[test]
fn older_dialects_keep_their_meaning() {
    let draft = |uri: &str, n: Value| json!({"$schema": uri, "type": "object", "properties": {"n": n}});
    let check = |schema: &Value, good: Value, bad: Value| {
        assert!(passes(schema, &json!({"n": good})), "{schema} {good}");
        assert!(!passes(schema, &json!({"n": bad})), "{schema} {bad}");
    };
    let (four, six, seven) = (
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
    );
    check(&draft(four, json!({"minimum": 1, "exclusiveMinimum": true})), json!(2), json!(1));
    check(&draft(six, json!({"exclusiveMinimum": 1})), json!(2), json!(1));
    let pair = json!({"items": [{"type": "integer"}, {"type": "string"}], "additionalItems": false});
    check(&draft(seven, pair.clone()), json!([1, "a"]), json!([1, "a", 2]));
    check(&draft(four, pair), json!([1]), json!(["a"]));
    let conditional = json!({"if": {"minimum": 10}, "then": {"multipleOf": 10}});
    check(&draft(seven, conditional.clone()), json!(20), json!(15));
    assert!(passes(&draft(six, conditional), &json!({"n": 15})));
    let dependent = json!({"dependencies": {"a": ["b"]}});
    check(&draft(seven, dependent), json!({"a": 1, "b": 2}), json!({"a": 1}));
    // Without a word it is 2020-12.
    let newest = |n: Value| json!({"type": "object", "properties": {"n": n}});
    check(&newest(json!({"prefixItems": [{"type": "integer"}], "items": false})), json!([1]), json!([1, 2]));
    check(&newest(json!({"dependentRequired": {"a": ["b"]}})), json!({"a": 1, "b": 2}), json!({"a": 1}));
    assert!(passes(&draft(seven, json!({"prefixItems": [{"type": "integer"}]})), &json!({"n": ["a"]})));
    let recursive = json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor": true,
        "type": "object", "properties": {"n": {"$recursiveRef": "#"}}, "additionalProperties": false});
    check(&recursive, json!({"n": {}}), json!({"m": 1}));
}

/// A part that names another dialect, known or not, loads nothing and is not followed blindly.
#[test]
fn dialects_of_parts_load_nothing() {
    for uri in ["http://127.0.0.1:9/dialect", "http://json-schema.org/draft-04/schema#", "file:///etc/passwd"] {
        let part = json!({"$id": "https://example.com/part", "$schema": uri, "type": "integer"});
        let schema = json!({"type": "object", "properties": {"n": part}});
        match compile(&schema) {
            Ok(_) => assert!(!passes(&schema, &json!({"n": "x"})), "{uri}"),
            Err(fault) => assert!(matches!(fault, SchemaFault::Invalid(_)), "{uri} {fault}"),
        }
    }
}

#[test]
fn nothing_is_loaded() {
    for reference in [
        "http://127.0.0.1:9/schema.json",
        "https://example.com/x",
        "file:///etc/passwd",
        "\\\\host\\share",
        "other.json",
        "#/$defs/none",
        "#nowhere",
        "//host/x",
    ] {
        for keyword in ["$ref", "$dynamicRef"] {
            let schema = json!({"type": "object", "properties": {"x": {keyword: reference}}});
            let fault = compile(&schema).unwrap_err();
            assert_eq!(fault, SchemaFault::Reference(reference.to_owned()), "{keyword}");
        }
    }
    let outside = json!({"$id": "https://example.com/root", "type": "object", "properties": {
        "x": {"$ref": "https://example.com/other"}}});
    assert_eq!(compile(&outside).unwrap_err(), SchemaFault::Elsewhere);
    let wrong = compile(&json!({"type": "object", "properties": {"x": {"type": 5}}})).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "the schema is not valid: what stands at /properties/x/type is not allowed by its dialect"
    );
}

#[test]
fn references_within_are_followed() {
    let cases = [
        (json!({"$ref": "#/$defs/n"}), json!({"$defs": {"n": {"type": "integer"}}})),
        (json!({"$ref": "#/%24defs/a~1b"}), json!({"$defs": {"a/b": {"type": "integer"}}})),
        (json!({"$ref": "#n"}), json!({"$defs": {"x": {"$anchor": "n", "type": "integer"}}})),
        (json!({"$dynamicRef": "#n"}), json!({"$defs": {"x": {"$dynamicAnchor": "n", "type": "integer"}}})),
        (json!({"$ref": "n"}), json!({"$id": "https://example.com/", "$defs": {"x": {"$id": "n", "type": "integer"}}})),
        (json!({"$ref": "#/x-own/n"}), json!({"x-own": {"n": {"type": "integer"}}})),
    ];
    for (property, mut schema) in cases {
        schema["type"] = "object".into();
        schema["properties"] = json!({"n": property});
        assert!(passes(&schema, &json!({"n": 1})), "{schema}");
        assert!(!passes(&schema, &json!({"n": "x"})), "{schema}");
    }
}

#[test]
fn recursive_values_are_checked_to_their_end() {
    let tree = json!({"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": {
        "type": "object", "required": ["v"], "properties": {"v": {"type": "integer"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}});
    assert!(passes(&tree, &json!({"root": {"v": 1, "children": [{"v": 2}, {"v": 3, "children": []}]}})));
    assert!(!passes(&tree, &json!({"root": {"v": 1, "children": [{"v": 2, "children": [{}]}]}})));
}

fn doubling(levels: usize) -> Value {
    let mut defs = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
        defs.insert(format!("a{level}"), json!({"allOf": [next, next]}));
    }
    defs.insert(format!("a{levels}"), json!({"minProperties": 0}));
    json!({"type": "object", "allOf": [{"$ref": "#/$defs/a0"}], "$defs": defs})
}

#[test]
fn what_multiplies_or_never_ends_is_refused_at_once() {
    let circle = |a: Value, b: Value| json!({"type": "object", "allOf": [a], "$defs": {"b": b}});
    let faults = [
        (doubling(30), SchemaFault::Multiplies),
        (json!({"type": "object", "allOf": [{"$ref": "#"}]}), SchemaFault::Endless),
        (circle(json!({"$ref": "#/$defs/b"}), json!({"anyOf": [{"$ref": "#/allOf/0"}]})), SchemaFault::Endless),
        (
            circle(json!({"$dynamicRef": "#b"}), json!({"$dynamicAnchor": "b", "not": {"$dynamicRef": "#b"}})),
            SchemaFault::Endless,
        ),
    ];
    for (schema, fault) in faults {
        let start = Instant::now();
        assert_eq!(compile(&schema).unwrap_err(), fault);
        assert!(start.elapsed() < Duration::from_secs(10));
    }
    let mut chain = serde_json::Map::new();
    for n in 0..10_000 {
        chain.insert(format!("a{n}"), json!({"$ref": format!("#/$defs/a{}", n + 1)}));
    }
    chain.insert("a10000".into(), json!({}));
    let chain = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": chain});
    assert!(matches!(compile(&chain), Err(SchemaFault::Multiplies | SchemaFault::TooLarge(_))));
}

/// Compiling takes a bounded time, whatever a schema holds; these took longest.
#[test]
fn what_takes_long_to_compile_is_bounded_or_refused() {
    let resources = |all: usize| {
        let defs: serde_json::Map<String, Value> = (0..all)
            .map(|n| {
                (format!("d{n}"), json!({"$id": format!("https://a.b/{n}"), "items": {"$ref": format!("{}", n + 1)}}))
            })
            .collect();
        json!({"$id": "https://a.b/root", "$defs": defs, "properties": {"x": {"$ref": "0"}}})
    };
    let anchors = |all: usize| {
        let part = |n: usize| json!({"items": {"$dynamicRef": "#m", "$id": format!("u{n}")}, "$dynamicAnchor": "m"});
        json!({"prefixItems": (0..all).map(part).collect::<Vec<Value>>()})
    };
    let same_anchor = |all: usize| {
        let part = json!({"items": {"$dynamicRef": "#m"}, "$dynamicAnchor": "m"});
        json!({"prefixItems": vec![part; all]})
    };
    let patterns: serde_json::Map<String, Value> =
        (0..256).map(|n| (format!("p{n}"), json!({"pattern": format!("([a-z]{{40}}){{{}}}", 400 + n)}))).collect();
    let mut unfit: serde_json::Map<String, Value> =
        (0..32).map(|n| (format!("u{n}"), json!({"pattern": "^(?!a)"}))).collect();
    unfit.insert("last".to_owned(), json!({"pattern": "^b$"}));
    assert_eq!(skipped(&json!({"type": "object", "properties": unfit})).len(), 33);
    let start = Instant::now();
    assert!(matches!(compile(&resources(3000)), Err(SchemaFault::TooLarge(_))));
    assert!(matches!(compile(&anchors(2000)), Err(SchemaFault::TooLarge(_))));
    assert_eq!(compile(&same_anchor(2000)).unwrap_err(), SchemaFault::Multiplies);
    assert_eq!(skipped(&json!({"type": "object", "properties": patterns})).len(), 256);
    let references = vec![json!({"$ref": "#/$defs/a"}); 10_000];
    compile(&json!({"prefixItems": references, "$defs": {"a": {"type": "string"}}})).unwrap();
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// Each level of the arguments doubles the work; told apart only by doing it.
#[test]
fn work_that_grows_with_the_arguments_is_bounded() {
    let schema = json!({"type": "object", "properties": {"x": {"anyOf": [
        {"allOf": [{"$ref": "#"}, {"$ref": "#/$defs/twin"}, {"required": ["y"]}]}, {"$ref": "#"}]}},
        "$defs": {"twin": {"type": "object", "properties": {"x": {"allOf": [{"$ref": "#/$defs/twin"}, {"$ref": "#"}]}}}}});
    let compiled = compile(&schema).unwrap();
    let arguments = format!("{}1{}", "{\"x\":".repeat(60), "}".repeat(60));
    for (effort, bound) in [(Effort::QUICK, 10_000), (Effort::LONG, 60_000)] {
        let start = Instant::now();
        let judged = judge(&compiled, &arguments, effort);
        assert!(judged.is_err());
        assert!(start.elapsed() < Duration::from_millis(bound), "{effort:?} {:?}", start.elapsed());
    }
}

#[test]
fn long_chains_of_parts_keep_the_stack_flat() {
    let mut defs = serde_json::Map::new();
    for n in 0..2000 {
        defs.insert(format!("a{n}"), json!({"properties": {"x": {"$ref": format!("#/$defs/a{}", n + 1)}}}));
    }
    defs.insert("a2000".into(), json!({}));
    let chain = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": defs});
    on_small_stack(move || {
        let compiled = compile(&chain).unwrap();
        let arguments = format!("{}1{}", "{\"x\":".repeat(126), "}".repeat(126));
        let _ = judge(&compiled, &arguments, Effort::LONG);
    });
}

/// The deepest schemas and arguments that are let in, both ways of checking, a debug build.
#[test]
fn the_deepest_case_fits_a_small_stack() {
    on_small_stack(|| {
        let mut nested = json!({"type": "integer"});
        for _ in 0..46 {
            nested = json!({"properties": {"x": nested}});
        }
        compile(&nested).unwrap();
        let mut nested = json!({"type": "integer"});
        for _ in 0..30 {
            nested = json!({"oneOf": [nested]});
        }
        compile(&json!({"properties": {"x": nested}})).unwrap();
        // A chain of 31 at each level of the arguments, as many levels as are let in.
        let mut chain = json!({"properties": {"x": {"$ref": "#"}}, "additionalProperties": false});
        for level in 0..29 {
            chain = match level % 10 {
                9 => json!({"allOf": [chain], "unevaluatedProperties": false}),
                even if even % 2 == 0 => json!({"anyOf": [chain]}),
                _ => json!({"allOf": [chain]}),
            };
        }
        let compiled = compile(&chain).unwrap();
        let mut judged = 0;
        for levels in 1..127 {
            let (open, close) = ("{\"x\":".repeat(levels), "}".repeat(levels));
            judged += usize::from(judge(&compiled, &format!("{open}1{close}"), Effort::LONG) != Err(Unfit::Costly));
            let _ = judge(&compiled, &format!("{open}{{\"y\":1}}{close}"), Effort::LONG);
        }
        assert!(judged > 5, "{judged}");
        let loose = compile(&json!({"properties": {"x": {"$ref": "#"}}, "maxProperties": 1})).unwrap();
        assert_eq!(judge(&loose, &format!("{}1{}", "{\"x\":".repeat(126), "}".repeat(126)), Effort::QUICK), Ok(()));
    });
}

#[test]
fn oversized_schemas_are_refused() {
    let values: Vec<Value> = (0..50_000).map(|_| json!(1)).collect();
    assert!(matches!(compile(&json!({"enum": values})), Err(SchemaFault::TooLarge(_))));
    let deep = format!("{}{{}}{}", "{\"not\":".repeat(100), "}".repeat(100));
    assert!(matches!(Compiled::compile(deep.as_bytes()), Err(SchemaFault::TooLarge(_))));
    let long = json!({"description": "x".repeat(300_000)});
    assert!(matches!(compile(&long), Err(SchemaFault::TooLarge(_))));
    assert_eq!(compile(&json!([])).unwrap_err(), SchemaFault::NoObject);
    assert!(matches!(compile(&json!({"type": "strin"})), Err(SchemaFault::Invalid(_))));
    assert!(matches!(Compiled::compile(b"{\"a\":1,\"a\":2}"), Err(SchemaFault::Unreadable(_))));
}

fn skipped(schema: &Value) -> Vec<String> {
    compile(schema).unwrap().skipped_patterns().to_vec()
}

fn patterned(pattern: &str) -> Value {
    json!({"type": "object", "properties": {"x": {"type": "string", "maxLength": 60, "pattern": pattern}}})
}

#[test]
fn patterns_are_checked_as_ecma_says_or_not_at_all() {
    let check = |pattern: &str, good: &[&str], bad: &[&str]| {
        let schema = patterned(pattern);
        assert_eq!(skipped(&schema), [""; 0], "{pattern}");
        good.iter().for_each(|text| assert!(passes(&schema, &json!({ "x": text })), "{pattern} {text}"));
        bad.iter().for_each(|text| assert!(!passes(&schema, &json!({ "x": text })), "{pattern} {text}"));
    };
    check(r"^[\w\-\.\+]+$", &["a-b.c+d"], &["a b", "é"]);
    check(r"^\p{L}+$", &["né"], &["n1"]);
    check(r"^\d+$", &["12"], &["١٢", "x"]);
    check(r"\cA", &["\u{1}"], &["A"]);
    check("(a+)+$", &["aaa"], &[&format!("{}b", "a".repeat(50))]);
    for pattern in [
        "^(?!eo:)",
        r"^([\x09\x0a\x0d\x20-\ud7ff\ue000-\ufffd]|\ud800[\udc00-\udfff])*$",
        r"(a)\1",
        "(",
        r"(\p{L}x){9000}",
    ] {
        let schema = patterned(pattern);
        assert_eq!(skipped(&schema), [pattern], "{pattern}");
        assert!(passes(&schema, &json!({"x": "eo:"})) && passes(&schema, &json!({"x": "y"})), "{pattern}");
        assert!(!passes(&schema, &json!({"x": 1})) && !passes(&schema, &json!({"x": "y".repeat(61)})), "{pattern}");
    }
}

/// Where a pattern is not looked at, nothing may be refused for what it would have said.
#[test]
fn a_skipped_pattern_never_refuses_more() {
    let p = || json!({"pattern": "^(?!a)"});
    let accepts = [
        json!({"properties": {"x": {"not": p()}}}),
        json!({"properties": {"x": {"oneOf": [p(), {"type": "string"}]}}}),
        json!({"properties": {"x": {"if": p(), "then": {"type": "integer"}, "else": {"const": "q"}}}}),
        json!({"properties": {"x": {"not": {"$ref": "#/$defs/p"}}}, "$defs": {"p": {"allOf": [p()]}}}),
        json!({"patternProperties": {"^(?!y)": {"type": "string"}}, "additionalProperties": false}),
        json!({"patternProperties": {"^(?!y)": {"type": "string"}}, "additionalProperties": {"type": "integer"}}),
        json!({"allOf": [{"patternProperties": {"^(?!y)": true}}], "unevaluatedProperties": false}),
        json!({"oneOf": [{"properties": {"x": p()}}, {"properties": {"x": false}}], "unevaluatedProperties": false}),
    ];
    for schema in accepts {
        assert_eq!(skipped(&schema).len(), 1, "{schema}");
        assert!(passes(&schema, &json!({"x": "b"})) && passes(&schema, &json!({"x": "a"})), "{schema}");
    }
    let list = json!({"properties": {"l": {"contains": p(), "maxContains": 1}}});
    assert!(passes(&list, &json!({"l": ["a", "b", "c"]})));
}

#[test]
fn two_thousand_patterns_are_bounded() {
    let properties: serde_json::Map<String, Value> =
        (0..2000).map(|n| (format!("p{n}"), json!({"pattern": format!("^(a+)+{n}$")}))).collect();
    let start = Instant::now();
    let compiled = compile(&json!({"type": "object", "properties": properties})).unwrap();
    assert_eq!(compiled.skipped_patterns().len(), 2000 - 256);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(judge(&compiled, r#"{"p7":"aaa7"}"#, Effort::QUICK).is_ok());
    assert!(judge(&compiled, r#"{"p7":"aaa8"}"#, Effort::QUICK).is_err());
}

/// A pattern that can't be run as a small automaton against a long text: not on the relay thread.
#[test]
fn long_texts_under_patterns_go_elsewhere() {
    let hard = compile(&json!({"properties": {"x": {"pattern": "(?:[ab]*a[ab]{60}c)$"}}})).unwrap();
    let text = json!({"x": "ab".repeat(30_000)}).to_string();
    let start = Instant::now();
    assert_eq!(judge(&hard, &text, Effort::QUICK), Err(Unfit::Costly));
    assert!(start.elapsed() < Duration::from_secs(10));
    let plain = compile(&json!({"properties": {"x": {"type": "string", "minLength": 1}}})).unwrap();
    assert_eq!(judge(&plain, &text, Effort::QUICK), Ok(()));
}
