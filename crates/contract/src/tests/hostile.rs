//! Texts made to take long: everything that reads what a server wrote takes a time that grows with its length alone.

use crate::answer::{Cleaner, look};
use crate::change::{Version, compare};
use crate::definition_hash;
use crate::scan::scan_text;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Far more than it takes in a debug build on a busy machine, far less than a square of the length would.
const BOUND: Duration = Duration::from_secs(20);

fn bounded<T>(what: &str, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    assert!(start.elapsed() < BOUND, "{what}: {:?}", start.elapsed());
    result
}

const PIECES: [&str; 30] = [
    "[",
    "![",
    "](http",
    "![](http",
    "<",
    "<system>",
    "<!--",
    "<!-- -->",
    "[SYSTEM",
    ":",
    "|",
    "\u{9D}",
    "\u{1B}]",
    "\u{9B}1;",
    "\u{E0041}",
    "\u{200F}",
    "a\u{200D}",
    "%41",
    "&#65;",
    "\\x41",
    "QUJD",
    "ok false ",
    "status pending ",
    "call_id ",
    "[ca",
    "[callgate]",
    "ignore all ",
    "send the token to ",
    "read copy put the token argument ",
    "\u{1F3F4}\u{E0067}",
];

#[test]
fn no_text_takes_long() {
    let cleaner = Cleaner::new(["secret-value-1", "\"\"\"\"\"\"\"\""]);
    for piece in PIECES {
        let text = piece.repeat(100_000 / piece.len());
        bounded(piece, || scan_text(&text));
        let body = json!({"content": [{"type": "text", "text": text}]}).to_string();
        bounded(piece, || cleaner.clean(body.as_bytes()).unwrap());
    }
    let escapes = format!("{{\"t\":\"{}\"}}", "\\\\\\u005b".repeat(30_000));
    bounded("escapes", || cleaner.clean(escapes.as_bytes()).unwrap());
    let metas: Vec<Value> = (0..10_000).map(|n| json!({"_meta": {"dev.callgate/a": n, "b": {"_meta": {}}}})).collect();
    let body = Value::from(metas).to_string();
    assert_eq!(bounded("names", || cleaner.clean(body.as_bytes()).unwrap()).changes.names, 10_000);
    bounded("a look", || look(body.as_bytes()));
}

#[test]
fn no_comparison_takes_long() {
    let compared = |what: &str, old: &Value, new: &Value| {
        let (old, new) = (old.to_string(), new.to_string());
        let version =
            |raw: &'static str| Version { hash: definition_hash(raw.as_bytes()).unwrap(), raw: raw.as_bytes() };
        let (old, new) = (version(old.leak()), version(new.leak()));
        bounded(what, || compare(&[old, old, old], new, &|_| true))
    };
    let nested = |last: &str| {
        let mut value = json!({ "x": last.repeat(50_000) });
        for _ in 0..100 {
            value = json!([value]);
        }
        json!({ "name": "t", "d": value })
    };
    compared("nested", &nested("a "), &nested("b "));
    let keys = |value: u64| (0..10_000).map(|n| (format!("k{n}"), value.into())).collect::<serde_json::Map<_, _>>();
    compared("keys", &keys(1).into(), &keys(2).into());
    let list = |value: &str| json!({"name": "t", "d": vec![value; 20_000]});
    compared("lists", &list("a"), &list("b"));
    let words = |value: &str| json!({"name": "t", "d": value.repeat(20_000)});
    compared("words", &words("a b "), &words("c d "));
    compared("lines", &words("a\nb\n"), &words("c\nd\n"));
}
