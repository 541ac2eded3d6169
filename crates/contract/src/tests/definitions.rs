//! One entry of a list: what is read from it, and what costs it its place.

use crate::{DefinitionFault, Hints, Listed, Tool, Visibility};

const MINIMAL: &str = r#"{"name":"t","inputSchema":{"type":"object"}}"#;

#[test]
fn a_tool_is_read() {
    let raw = r#" {"name":"files.write","description":"Writes\n","annotations":{"title":"Write","readOnlyHint":false,
        "destructiveHint":true,"idempotentHint":null,"later":1},"inputSchema":{"type":"object","properties":
        {"path":{"type":"string"},"idempotency_key":{"type":"string"}}},"outputSchema":null,"icons":null,
        "_meta":{"ui":{"visibility":["app"]}}}"#;
    let tool = Tool::read(raw.as_bytes()).unwrap();
    assert_eq!(&*tool.name, "files.write");
    assert_eq!(tool.title.as_deref(), Some("Write"));
    assert_eq!(tool.description.as_deref(), Some("Writes\n"));
    let hints = Hints { read_only: Some(false), destructive: Some(true), idempotent: None, open_world: None };
    assert_eq!(tool.hints, hints);
    assert!(raw[tool.input_schema.clone()].starts_with("{\"type\":\"object\",\"properties\""));
    assert_eq!(tool.output_schema, None);
    assert!(raw[tool.annotations.clone().unwrap()].starts_with("{\"title\":\"Write\""));
    assert!(!tool.takes_url);
    assert!(tool.takes("idempotency_key") && !tool.takes("idempotency"));
    assert_eq!(tool.visibility, Visibility::AppOnly);
    assert_eq!(tool.nulls.iter().map(|key| &**key).collect::<Vec<_>>(), ["outputSchema", "icons"]);
    assert_eq!(tool.definition_hash, crate::definition_hash(raw.as_bytes()).unwrap());
    assert_eq!(tool.schema_hash, crate::schema_hash(raw.as_bytes()).unwrap());
}

#[test]
fn a_small_tool_is_for_models() {
    let tool = Tool::read(MINIMAL.as_bytes()).unwrap();
    assert_eq!((tool.visibility, tool.hints, tool.title), (Visibility::Model, Hints::default(), None));
    let both = MINIMAL.replacen('{', r#"{"_meta":{"ui":{"visibility":["app","model"]}},"#, 1);
    assert_eq!(Tool::read(both.as_bytes()).unwrap().visibility, Visibility::Model);
}

#[test]
fn arguments_that_are_urls_are_seen_at_any_depth() {
    let check = |properties: &str, expect: bool| {
        let raw = format!(r#"{{"name":"t","inputSchema":{{"type":"object","properties":{{{properties}}}}}}}"#);
        assert_eq!(Tool::read(raw.as_bytes()).unwrap().takes_url, expect, "{properties}");
    };
    for name in ["url", "imageUrl", "callback_url", "base-uri", "URL", "webhook", "targetURL", "url2", "siteURLs"] {
        check(&format!(r#""{name}":{{"type":"string"}}"#), true);
    }
    for name in ["curl", "urla", "query", "blink", "hourly"] {
        check(&format!(r#""{name}":{{"type":"string","description":"a url"}}"#), false);
    }
    check(r#""site":{"type":"string","format":"uri"}"#, true);
    check(r#""pages":{"type":"array","items":{"anyOf":[{"type":"string","format":"uri"},{"type":"null"}]}}"#, true);
    check(r#""request":{"type":"object","properties":{"url":{}}}"#, true);
    check(r#""when":{"type":"string","format":"date"}"#, false);
}

fn check_fault(raw: &str, reason: &str) {
    let fault = Tool::read(raw.as_bytes()).unwrap_err();
    assert_eq!(fault.to_string(), reason);
}

#[test]
fn a_bad_tool_says_why() {
    check_fault("[]", "its definition is no JSON object");
    check_fault("{}", "it has no name");
    check_fault(r#"{"name":""}"#, "it has no name");
    check_fault(r#"{"name":7}"#, "its name is not a string");
    check_fault(r#"{"name":"t"}"#, "it has no inputSchema");
    let no_object = "its inputSchema is not an object with \"type\": \"object\"";
    check_fault(r#"{"name":"t","inputSchema":{}}"#, no_object);
    check_fault(r#"{"name":"t","inputSchema":{"type":"string"}}"#, no_object);
    check_fault(r#"{"name":"t","inputSchema":true}"#, no_object);
    let properties = r#"{"name":"t","inputSchema":{"type":"object","properties":[]}}"#;
    check_fault(properties, "its inputSchema.properties is not an object");
    let with = |member: &str| MINIMAL.replacen('{', &format!("{{{member},"), 1);
    check_fault(&with(r#""description":7"#), "its description is not a string");
    check_fault(&with(r#""outputSchema":[]"#), "its outputSchema is not a JSON Schema");
    let hint = r#""annotations":{"readOnlyHint":"yes"}"#;
    check_fault(&with(hint), "its annotations.readOnlyHint is not true or false");
    let twice = with(r#""n\u0061me":"u""#);
    check_fault(&twice, "its definition can't be read: the same key stands twice in one object (byte 17)");
    let name = |name: &str| MINIMAL.replace("\"t\"", &format!("\"{name}\""));
    let rule = "is not made of 1 to 128 letters, digits, '_', '-' and '.'";
    check_fault(&name("a b"), &format!("its name \"a b\" {rule}"));
    check_fault(&name("gith\u{57D}b"), &format!("its name \"gith\u{57D}b\" {rule}"));
    check_fault(&name("a\u{202E}"), &format!("its name \"a\\\\u{{202E}}\" {rule}"));
    assert!(matches!(Tool::read(name(&"x".repeat(129)).as_bytes()), Err(DefinitionFault::IllegalName(_))));
    let large = with(&format!("\"x\":\"{}\"", "x".repeat(1 << 20)));
    assert!(matches!(Tool::read(large.as_bytes()), Err(DefinitionFault::TooLarge(_))));
    let deep = with(&format!("\"x\":{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    assert!(matches!(Tool::read(deep.as_bytes()), Err(DefinitionFault::Unreadable(_))));
}

#[test]
fn other_entries_have_one_name() {
    assert_eq!(&*Listed::prompt(br#"{"name":"a b"}"#).unwrap().name, "a b");
    assert_eq!(&*Listed::resource(br#"{"uri":"file:///x","name":"n"}"#).unwrap().name, "file:///x");
    let template = Listed::template(br#"{"uriTemplate":"file:///{p}"}"#).unwrap();
    assert_eq!(template.definition_hash, crate::definition_hash(br#"{"uriTemplate":"file:///{p}"}"#).unwrap());
    assert_eq!(Listed::resource(br#"{"name":"n"}"#), Err(DefinitionFault::Unnamed("uri")));
    let long = format!(r#"{{"uri":"x:{}"}}"#, "x".repeat(2048));
    assert_eq!(Listed::resource(long.as_bytes()), Err(DefinitionFault::LongName("uri")));
}
