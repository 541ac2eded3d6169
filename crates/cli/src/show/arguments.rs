//! A call's arguments, one by one: name, type, length, and every character of the value visible. What could push
//! something out of sight (empty lines, runs of spaces) is folded and says so. Nothing is ever left out.

use operator::visible::{escape, escape_lines, hidden};
use serde::Deserialize;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::fmt::Write;

/// Deeper values are shown as they were written.
const DEEPEST: usize = 32;
/// So many empty lines in a row are shown; more are folded.
const EMPTY_LINES: usize = 2;
/// So many spaces in a row are shown; more are folded.
const SPACES: usize = 24;

/// One argument, or one member of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// How deep it lies.
    pub depth: usize,
    /// Its name or its place in a list, visible.
    pub key: String,
    /// Type and length.
    pub kind: String,
    /// What to beware of in it.
    pub alarm: Option<String>,
    /// The value in visible lines; none for an object or a list, whose members follow.
    pub lines: Vec<String>,
}

/// The members of an object or list with their values as written: no digit, no second key is lost.
struct Members<'a>(Vec<(Option<String>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Members<'de>, D::Error> {
        struct Of;
        impl<'de> Visitor<'de> for Of {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or a list")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                    members.push((Some(key), value));
                }
                Ok(Members(members))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(value) = list.next_element::<&RawValue>()? {
                    members.push((None, value));
                }
                Ok(Members(members))
            }
        }
        from.deserialize_any(Of)
    }
}

/// The arguments of a JSON text, in order. A text that is no object is one field.
pub fn fields(json: &str) -> Vec<Field> {
    let mut out = Vec::new();
    match serde_json::from_str::<Members<'_>>(json) {
        Ok(Members(members)) if json.trim_start().starts_with('{') => each(&members, 0, &mut out),
        _ => value(json, 0, String::new(), &mut out),
    }
    out
}

/// JSON objects and lists that stand in texts of a JSON text, with the place of the text.
pub fn inner(json: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    if let Ok(value) = serde_json::from_str::<serde_json::Value>(json) {
        look(&value, &mut String::new(), &mut out);
    }
    out
}

fn look(value: &serde_json::Value, place: &mut String, out: &mut Vec<(String, String)>) {
    let length = place.len();
    match value {
        serde_json::Value::String(text) => {
            let found = contract::answer::inner(text);
            out.extend(found.map(|inner| (place.clone(), inner.json.to_owned())));
        }
        serde_json::Value::Array(list) => {
            for (at, member) in list.iter().enumerate() {
                place.push_str(&format!("[{at}]"));
                look(member, place, out);
                place.truncate(length);
            }
        }
        serde_json::Value::Object(members) => {
            for (key, member) in members {
                place.push_str(if place.is_empty() { "" } else { "." });
                place.push_str(key);
                look(member, place, out);
                place.truncate(length);
            }
        }
        _ => {}
    }
}

fn each(members: &[(Option<String>, &RawValue)], depth: usize, out: &mut Vec<Field>) {
    for (place, (key, member)) in members.iter().enumerate() {
        let key = key.as_ref().map_or_else(|| format!("[{place}]"), |key| escape(key).into_owned());
        value(member.get(), depth, key, out);
    }
}

fn value(json: &str, depth: usize, key: String, out: &mut Vec<Field>) {
    let plain = |kind: &str, text: &str| Field {
        depth,
        key: key.clone(),
        kind: kind.into(),
        alarm: None,
        lines: vec![escape(text).into_owned()],
    };
    match json.as_bytes().first() {
        Some(b'{' | b'[') if depth < DEEPEST => match serde_json::from_str::<Members<'_>>(json) {
            Ok(Members(members)) => {
                let (word, unit) = if json.starts_with('{') { ("object", "member") } else { ("list", "item") };
                out.push(Field {
                    kind: format!("{word}, {}", many(members.len(), unit)),
                    lines: vec![],
                    ..plain("", "")
                });
                each(&members, depth + 1, out);
            }
            Err(_) => out.push(plain("cannot be read", json)),
        },
        Some(b'"') => match serde_json::from_str::<String>(json) {
            Ok(text) => out.push(string(&text, depth, key)),
            Err(_) => out.push(Field { alarm: Some("not a text".into()), ..plain("string as it is written", json) }),
        },
        Some(b'{' | b'[') => out.push(plain("nested very deep, as it is written", json)),
        Some(b'-' | b'0'..=b'9') => out.push(plain("number", json)),
        _ if matches!(json, "true" | "false") => out.push(plain("true or false", json)),
        _ if json == "null" => out.push(plain("null", json)),
        _ => out.push(plain("no JSON, as it is written", json)),
    }
}

fn string(text: &str, depth: usize, key: String) -> Field {
    let lines = text.lines().count();
    let mut kind = format!("string, {}", many(text.chars().count(), "character"));
    if lines > 1 {
        let _ = write!(kind, ", {}", many(lines, "line"));
    }
    if is_json(text) {
        kind.push_str(", JSON in it");
    } else if is_base64(text) {
        let _ = write!(kind, ", base64 of {}", many(text.trim_end_matches('=').len() * 3 / 4, "byte"));
    }
    Field { depth, key, kind, alarm: alarm(text), lines: visible(text) }
}

/// What is hidden in a text, by kind.
fn alarm(text: &str) -> Option<String> {
    let mut kinds: Vec<(&'static str, usize)> = Vec::new();
    for (_, kind) in hidden(text) {
        match kinds.iter_mut().find(|(word, _)| *word == kind.as_str()) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind.as_str(), 1)),
        }
    }
    let words: Vec<String> = kinds.iter().map(|(word, count)| many(*count, word)).collect();
    (!words.is_empty()).then(|| format!("hidden: {}", words.join(", ")))
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<&RawValue>(text).is_ok()
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let all = body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_'));
    let mixed = body.bytes().any(|byte| byte.is_ascii_digit()) && body.bytes().any(|byte| byte.is_ascii_uppercase());
    text.len() >= 64 && text.len() - body.len() <= 2 && all && mixed
}

/// The lines of a text, between quotes, folded and with everything hidden made visible.
fn visible(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut empty = 0usize;
    let flush = |out: &mut Vec<String>, empty: &mut usize| {
        if *empty > EMPTY_LINES {
            out.push(format!("⟨{} empty lines⟩", grouped(*empty)));
        } else {
            out.extend(std::iter::repeat_n(String::new(), *empty));
        }
        *empty = 0;
    };
    let lines: Vec<&str> = text.split('\n').collect();
    for (at, line) in lines.iter().enumerate() {
        // The first and the last carry the quotes.
        if at > 0 && at + 1 < lines.len() && line.trim_matches([' ', '\t', '\r']).is_empty() {
            empty += 1;
            continue;
        }
        flush(&mut out, &mut empty);
        out.push(folded(&escape_lines(line)));
    }
    if let Some(first) = out.first_mut() {
        first.insert(0, '"');
    }
    if let Some(last) = out.last_mut() {
        last.push('"');
    }
    out
}

/// Tabs as `\t`, and long runs of spaces as their number.
fn folded(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut spaces = 0usize;
    for c in line.chars().chain(['\0']) {
        if c == ' ' {
            spaces += 1;
            continue;
        }
        match spaces {
            0..=SPACES => out.extend(std::iter::repeat_n(' ', spaces)),
            many => {
                let _ = write!(out, "⟨{} spaces⟩", grouped(many));
            }
        }
        spaces = 0;
        match c {
            '\0' => {}
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out
}

/// `1 character`, `12,345 characters`.
pub fn many(number: usize, unit: &str) -> String {
    format!("{} {unit}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A number in groups of three digits.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each field as `depth key|kind|alarm|lines`.
    fn check(json: &str, expect: &[&str]) {
        let shown: Vec<String> = fields(json)
            .into_iter()
            .map(|it| {
                let alarm = it.alarm.unwrap_or_default();
                format!("{} {}|{}|{alarm}|{}", it.depth, it.key, it.kind, it.lines.join("⏎"))
            })
            .collect();
        assert_eq!(shown, expect, "{json}");
    }

    #[test]
    fn every_value_is_shown_as_it_was_written() {
        check("{}", &[]);
        check(
            r#"{"a": 1.10, "b": 9007199254740993, "c": true, "d": null, "a": "x"}"#,
            &[
                "0 a|number||1.10",
                "0 b|number||9007199254740993",
                "0 c|true or false||true",
                "0 d|null||null",
                "0 a|string, 1 character||\"x\"",
            ],
        );
        check(
            r#"{"o": {"l": [1, {"deep": "é"}]}, "e": {}}"#,
            &[
                "0 o|object, 1 member||",
                "1 l|list, 2 items||",
                "2 [0]|number||1",
                "2 [1]|object, 1 member||",
                "3 deep|string, 1 character||\"é\"",
                "0 e|object, 0 members||",
            ],
        );
        check("[1]", &["0 |list, 1 item||", "1 [0]|number||1"]);
        check("nonsense", &["0 |no JSON, as it is written||nonsense"]);
        check(r#"{"s": "\ud800"}"#, &[r#"0 s|string as it is written|not a text|"\ud800""#]);
    }

    #[test]
    fn what_hides_is_announced() {
        check(
            "{\"t\": \"a\\u202eb\\u200bc\\u200b\"}",
            &[
                "0 t|string, 6 characters|hidden: 1 text direction mark, 2 zero-width characters|\"a\\u{202E}b\\u{200B}c\\u{200B}\"",
            ],
        );
        check(r#"{"t": "one\ntwo\tx\r\n"}"#, &["0 t|string, 11 characters, 2 lines||\"one⏎two\\tx\\r⏎\""]);
        let text = format!("{{\"t\": \"a{}b{}c\"}}", "\\n".repeat(5001), " ".repeat(4980));
        check(&text, &["0 t|string, 9,984 characters, 5,002 lines||\"a⏎⟨5,000 empty lines⟩⏎b⟨4,980 spaces⟩c\""]);
        check(r#"{"t": "{\"x\":1}"}"#, &["0 t|string, 7 characters, JSON in it||\"{\"x\":1}\""]);
        let base64 = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAx";
        check(
            &format!("{{\"t\": \"{base64}\"}}"),
            &[&format!("0 t|string, 72 characters, base64 of 54 bytes||\"{base64}\"")],
        );
    }

    #[test]
    fn depth_is_bounded_and_nothing_is_lost() {
        let json = format!("{{\"a\": {}1{}}}", "[".repeat(100), "]".repeat(100));
        let shown = fields(&json);
        assert_eq!(shown.len(), DEEPEST + 1);
        assert!(shown.last().is_some_and(|last| last.lines[0].contains("[[1]]")));
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
