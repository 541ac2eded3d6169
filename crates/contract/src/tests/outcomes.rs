//! The shape of refusals.

use crate::{CallId, Code, Output, Problem, Refusal};
use serde_json::{Value, json};

#[test]
fn a_refusal_is_a_tool_result() {
    let refusal = Refusal::new(Code::InvalidArguments, "Two \"problems\".")
        .with_details(vec![Problem::new("/n", "is missing")])
        .of_call(CallId::new(33));
    let object = json!({"ok": false, "error": "invalid_arguments", "message": "Two \"problems\".",
        "details": [{"path": "/n", "problem": "is missing"}], "call_id": "c-11"});
    assert_eq!(serde_json::from_str::<Value>(&refusal.object()).unwrap(), object);
    let mut expect = json!({"content": [{"type": "text", "text": refusal.object()}], "structuredContent": object,
        "isError": true, "_meta": {"dev.callgate/outcome": object}});
    assert_eq!(serde_json::from_str::<Value>(&refusal.tool_result(Output::Free)).unwrap(), expect);
    expect.as_object_mut().unwrap().remove("structuredContent");
    assert_eq!(serde_json::from_str::<Value>(&refusal.tool_result(Output::Declared)).unwrap(), expect);
}

#[test]
fn what_is_not_known_is_left_out() {
    let refusal = Refusal::new(Code::QueueFull, "Full.");
    assert_eq!(refusal.object(), r#"{"ok":false,"error":"queue_full","message":"Full."}"#);
}

#[test]
fn codes_are_words() {
    let words: std::collections::HashSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(words.len(), Code::ALL.len());
    assert!(Code::ALL.iter().all(|&code| Code::parse(code.as_str()) == Some(code)));
    assert_eq!(Code::parse("ok"), None);
}
