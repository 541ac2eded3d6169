//! The shape of refusals.

use crate::answer::Changes;
use crate::outcome::{Pending, Told, tell, tell_error};
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

/// Hosts and programs know them by these words: a change of any of them breaks somebody.
#[test]
fn codes_are_words() {
    let words: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    let expect = "invalid_arguments unknown_tool denied approval_expired definition_changed quarantined idempotency_conflict \
                  outcome_unknown already_ran timeout server_unavailable server_crashed invalid_result result_too_large \
                  queue_full secret_unavailable audit_unavailable cancelled";
    assert_eq!(words.join(" "), expect);
    assert!(Code::ALL.iter().all(|&code| Code::parse(code.as_str()) == Some(code)));
    assert_eq!(Code::parse("ok"), None);
}

#[test]
fn a_waiting_call_is_no_error_but_where_a_schema_would_refuse_it() {
    let pending = Pending::new("a-1", "2026-12-01T10:00:00Z", CallId::new(33));
    let object = json!({"ok": false, "status": "pending", "approval_id": "a-1", "expires_at": "2026-12-01T10:00:00Z",
        "message": "Not executed yet: a person has to decide. Call again with the same arguments.", "call_id": "c-11"});
    assert_eq!(serde_json::from_str::<Value>(&pending.object()).unwrap(), object);
    let mut expect = json!({"content": [{"type": "text", "text": pending.object()}], "structuredContent": object,
        "isError": false, "_meta": {"dev.callgate/outcome": object}});
    assert_eq!(serde_json::from_str::<Value>(&pending.tool_result(Output::Free)).unwrap(), expect);
    expect.as_object_mut().unwrap().remove("structuredContent");
    expect["isError"] = true.into();
    assert_eq!(serde_json::from_str::<Value>(&pending.tool_result(Output::Declared)).unwrap(), expect);
}

fn check_told(result: &str, all: &[Told<'_>], expect: &str) {
    let told = String::from_utf8(tell(result.as_bytes(), all).unwrap()).unwrap();
    assert_eq!(told, expect);
    assert!(serde_json::from_str::<Value>(&told).is_ok(), "{told}");
}

#[test]
fn what_is_told_leaves_every_byte_of_the_server() {
    let changes = Changes { secrets: 2, tags: 1, ..Changes::default() };
    let changed = Told::Changed(&changes);
    check_told(
        r#" { "content" : [ {"type":"text","text":"\u0061"} ], "n":1.50 } "#,
        &[changed],
        r#" {"_meta":{"dev.callgate/changed":{"secrets":2,"tags":1}}, "content" : [ {"type":"text","text":"\u0061"} ], "n":1.50 } "#,
    );
    let lost = r#"{"type":"text","text":"[callgate] This is the reply to the identical call of T, which could not be delivered then. The call was not run again. Calling once more with the same arguments runs it again."}"#;
    check_told(
        r#"{"content":[{"x":1}],"_meta":{ "k":1}}"#,
        &[Told::Lost("T"), changed],
        &format!(
            r#"{{"content":[{lost},{{"x":1}}],"_meta":{{"dev.callgate/replayed":true,"dev.callgate/changed":{{"secrets":2,"tags":1}}, "k":1}}}}"#
        ),
    );
    check_told(
        "{}",
        &[Told::Lost("T")],
        &format!(r#"{{"content":[{lost}],"_meta":{{"dev.callgate/replayed":true}}}}"#),
    );
    let waited = r#"{"type":"text","text":"[callgate] This is the reply to the identical call that waited for a person and ran once, at T. The call was not run again. Calling once more with the same arguments is another call."}"#;
    let adopted = r#"{"type":"text","text":"[callgate] This is the reply to the identical call of T, which had not been delivered. The call was not run again; the idempotency key of now stands for that one. To run it again, use a new key."}"#;
    for (told, block) in [(Told::Waited("T"), waited), (Told::Adopted("T"), adopted)] {
        check_told("{}", &[told], &format!(r#"{{"content":[{block}],"_meta":{{"dev.callgate/replayed":true}}}}"#));
    }
    let edited = r#"{"type":"text","text":"[callgate] A person changed the arguments of this call before it ran. It ran with these: {\"p\":\"x\"}"}"#;
    check_told(
        r#"{"content":[],"_meta":null}"#,
        &[Told::Edited(r#"{"p":"x"}"#)],
        &format!(r#"{{"content":[{edited}],"_meta":{{"dev.callgate/editedArguments":{{"p":"x"}}}}}}"#),
    );
}

#[test]
fn a_replay_says_so_and_an_error_says_how_to_run_it_again() {
    let replayed = r#""_meta":{"dev.callgate/replayed":true}"#;
    check_told(r#"{"content":[]}"#, &[Told::Replayed], &format!(r#"{{{replayed},"content":[]}}"#));
    let again = "[callgate] This is the stored result of the earlier call with the same idempotency key; nothing was \
                 run again. To run it again, use a new key.";
    check_told(
        r#"{"isError":true,"content":[]}"#,
        &[Told::Replayed],
        &format!(r#"{{{replayed},"isError":true,"content":[{{"type":"text","text":"{again}"}}]}}"#),
    );
    let twice = r#"{"_meta":{"dev.callgate\/replayed":false},"content":[]}"#;
    check_told(twice, &[Told::Replayed, Told::Replayed], r#"{"_meta":{"dev.callgate\/replayed":true},"content":[]}"#);
    for bad in ["[]", "1", "{", ""] {
        assert!(tell(bad.as_bytes(), &[Told::Replayed]).is_err(), "{bad}");
    }
    assert!(tell(b"{}", &[Told::Edited("{")]).is_err());
}

#[test]
fn an_error_is_told_in_front_of_its_message() {
    let check = |error: &str, expect: &str| {
        let told = tell_error(error.as_bytes(), &[Told::Edited("{\"n\":2}")]).unwrap();
        let told = String::from_utf8(told).unwrap();
        assert!(told.starts_with(expect.split('…').next().unwrap()), "{told}");
        assert!(told.ends_with(expect.split('…').next_back().unwrap()), "{told}");
    };
    check(
        r#"{"code":1,"message":"no \"x\"","data":{"a":1.10}}"#,
        r#"{"code":1,"message":"[callgate] A person changed … with these: {\"n\":2} no \"x\"","data":{"a":1.10}}"#,
    );
    check(r#"{"code":1}"#, r#"{"message":"[callgate] A person changed … with these: {\"n\":2}","code":1}"#);
    assert!(tell_error(b"[]", &[Told::Replayed]).is_err());
}
