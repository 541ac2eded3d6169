//! Any bytes as a message: no panic, no text accepted or refused that serde_json judges otherwise, and an edit that
//! leaves a text which still reads the same.
#![no_main]

use bytes::Bytes;
use frame::object::{self, Edit};
use frame::{FaultKind, Frame, readable_id, strict};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|input: &[u8]| {
    let text = Bytes::copy_from_slice(input);
    let _ = readable_id(input);
    let parsed = Frame::parse(text.clone());
    let is_json = match &parsed {
        Ok(_) => true,
        Err(fault) => match fault.kind {
            FaultKind::TooDeep => return,
            FaultKind::NotJson | FaultKind::BadUtf8 => false,
            _ => true,
        },
    };
    let theirs =
        std::str::from_utf8(input).is_ok_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
    assert_eq!(is_json, theirs);
    let strict = strict::check(input);
    assert_eq!(strict == Err(strict::Ambiguity::NotJson), !is_json);
    let edited = Edit::new().set("a", "[1]").remove("b").apply(&text).join();
    if strict.is_ok()
        && let Ok(Value::Object(mut object)) = serde_json::from_slice(input)
    {
        object.insert("a".to_owned(), serde_json::json!([1]));
        object.remove("b");
        assert_eq!(serde_json::from_slice::<Value>(&edited).expect("edited text is JSON"), Value::Object(object));
    }
    if let Ok(frame) = parsed {
        assert_eq!(
            frame.method().is_empty(),
            object::get(&text, "method").is_none_or(|method| &method[..] == b"null" || &method[..] == b"\"\"")
        );
        if !frame.id().is_empty() {
            assert_eq!(object::get(&text, "id"), Some(frame.id()));
        }
    }
});
