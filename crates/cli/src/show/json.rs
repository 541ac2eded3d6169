//! JSON for the terminal: the same value, but nothing in it can act on a terminal or hide.

use operator::visible::shows;
use std::fmt::Write;

/// The same JSON with hidden characters as `\u` escapes. Outside of strings there are none, so nothing else changes.
pub fn visible(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii_whitespace() || shows(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// JSON text with line breaks and indents, every value as it was written: no digit changes.
pub fn pretty(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0usize;
    let mut chars = json.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                out.push('"');
                string(&mut chars, &mut out);
            }
            '{' | '[' => {
                out.push(c);
                while chars.next_if(|c| c.is_ascii_whitespace()).is_some() {}
                if let Some(close) = chars.next_if(|&c| c == '}' || c == ']') {
                    out.push(close);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(',');
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    visible(&out)
}

fn string(chars: &mut impl Iterator<Item = char>, out: &mut String) {
    while let Some(c) = chars.next() {
        out.push(c);
        match c {
            '"' => return,
            '\\' => out.extend(chars.next()),
            _ => {}
        }
    }
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    for _ in 0..depth {
        out.push_str("  ");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn value_and_digits_stay() {
        let json = "{\"a\":[1.10,{}, [ ],\"x\\\"{,\"],\"b\":{\"c\":9007199254740993}}";
        let expect = "{\n  \"a\": [\n    1.10,\n    {},\n    [],\n    \"x\\\"{,\"\n  ],\n  \"b\": {\n    \"c\": 9007199254740993\n  }\n}";
        assert_eq!(pretty(json), expect);
        assert_eq!(pretty("1"), "1");
    }

    #[test]
    fn hidden_characters_are_escaped_and_still_the_same_value() {
        let value =
            serde_json::json!({"k\u{202e}": "\u{9b}2J tag \u{e0041} zero\u{200b}width \u{600}\u{e000}\u{a0} é 日本"});
        let text = visible(&value.to_string());
        assert!(text.chars().all(shows));
        assert!(text.contains("\\u202e") && text.contains("\\udb40\\udc41") && text.contains("é 日本"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
