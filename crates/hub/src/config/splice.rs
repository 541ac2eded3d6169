//! Insertions into and removals from the text of an object, found by the positions of its tree. Bytes that are not
//! part of the entry, its comma or its own line stay as they are: comments, order, line ends and indentation.

use jsonc_parser::ast::Object;
use serde_json::Value;

/// Longest line that is written for one entry, in characters.
const LINE: usize = 110;

/// One replacement of a stretch of text.
pub(super) struct Splice {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

/// Makes all replacements; they do not overlap.
pub(super) fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| splice.start);
    let mut out = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for splice in splices {
        out.push_str(&text[at..splice.start]);
        out.push_str(&splice.text);
        at = splice.end;
    }
    out.push_str(&text[at..]);
    out
}

/// How a file is laid out.
pub(super) struct Layout<'a> {
    text: &'a str,
    line_end: &'static str,
    unit: String,
}

impl<'a> Layout<'a> {
    /// Reads the habits of a file off its text and its outermost object.
    pub(super) fn of(text: &'a str, root: &Object<'_>) -> Layout<'a> {
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = root.properties.first().and_then(|property| indent_before(text, property.range.start));
        let unit = first.filter(|indent| !indent.is_empty()).unwrap_or("  ").to_owned();
        Layout { text, line_end, unit }
    }

    /// Adds a property at the end of an object.
    pub(super) fn insert(&self, object: &Object<'_>, key: &str, value: &Value) -> Vec<Splice> {
        let key = Value::from(key).to_string();
        let (open, close) = (object.range.start + 1, object.range.end - 1);
        let outer = self.line_indent(object.range.start);
        let Some(last) = object.properties.last() else {
            let trivia = Trivia::read(self.text, open, close);
            let indent = format!("{outer}{}", self.unit);
            let entry = self.entry(&key, value, &indent);
            let mut text = format!("{}{indent}{entry}", self.line_end);
            if !self.text[trivia.end..close].contains('\n') {
                text.push_str(self.line_end);
                text.push_str(outer);
            }
            return vec![Splice { start: trivia.end, end: trivia.end, text }];
        };
        let trivia = Trivia::read(self.text, last.range.end, close);
        let first_start = object.properties[0].range.start;
        let on_lines = self.text[open..first_start].contains('\n');
        let mut splices = Vec::new();
        let comma = if trivia.comma.is_some() { "" } else { "," };
        let own_comma = if trivia.comma.is_some() { "," } else { "" };
        let mut text = if on_lines || trivia.ends_in_line_comment {
            let mut indents = object.properties.iter().filter_map(|p| indent_before(self.text, p.range.start));
            let indent = indents.next().map_or_else(|| format!("{outer}{}", self.unit), str::to_owned);
            let mut text = format!("{}{indent}{}{own_comma}", self.line_end, self.entry(&key, value, &indent));
            if !self.text[trivia.end..close].contains('\n') {
                text.push_str(self.line_end);
                text.push_str(outer);
            }
            text
        } else {
            format!(" {key}: {}{own_comma}", inline(value))
        };
        if trivia.end == last.range.end {
            text.insert_str(0, comma);
        } else if !comma.is_empty() {
            splices.push(Splice { start: last.range.end, end: last.range.end, text: comma.into() });
        }
        splices.push(Splice { start: trivia.end, end: trivia.end, text });
        splices
    }

    /// Takes a property out of an object: its own text, one comma, and what is left of its lines if that is blank.
    pub(super) fn remove(&self, object: &Object<'_>, at: usize) -> Vec<Splice> {
        let property = &object.properties[at];
        let close = object.range.end - 1;
        let next = object.properties.get(at + 1).map_or(close, |next| next.range.start);
        let trivia = Trivia::read(self.text, property.range.end, next);
        let (mut start, mut end) = (property.range.start, property.range.end);
        let mut splices = Vec::new();
        match (trivia.comma, at.checked_sub(1).map(|before| &object.properties[before])) {
            (Some(comma), _) if self.text[end..comma].trim().is_empty() => end = comma + 1,
            (Some(comma), _) => splices.push(cut(comma, comma + 1)),
            // The comma before would become a trailing one, which this file does not use.
            (None, Some(before)) => {
                if let Some(comma) = Trivia::read(self.text, before.range.end, start).comma {
                    if self.text[comma + 1..start].chars().all(|c| c == ' ' || c == '\t') {
                        start = comma;
                    } else {
                        splices.push(cut(comma, comma + 1));
                    }
                }
            }
            (None, None) => {}
        }
        let line = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let rest = &self.text[end..close];
        let line_end = rest.find('\n');
        let blank_after = rest[..line_end.unwrap_or(rest.len())].trim().is_empty();
        match line_end {
            Some(at) if blank_after && start == property.range.start && self.text[line..start].trim().is_empty() => {
                (start, end) = (line, end + at + 1);
            }
            _ if start == property.range.start => {
                end += rest.len() - rest.trim_start_matches([' ', '\t']).len();
            }
            _ => {}
        }
        splices.push(cut(start, end));
        splices
    }

    fn entry(&self, key: &str, value: &Value, indent: &str) -> String {
        format!("{key}: {}", self.render(value, indent, key.chars().count() + 2))
    }

    /// On one line where that is short enough. `before` is what stands on the line already, without the indentation.
    fn render(&self, value: &Value, indent: &str, before: usize) -> String {
        let short = inline(value);
        if indent.chars().count() + before + short.chars().count() <= LINE {
            return short;
        }
        let inner = format!("{indent}{}", self.unit);
        let (open, close, parts): (_, _, Vec<String>) = match value {
            Value::Object(map) => {
                let entry =
                    |(key, value): (&String, &Value)| self.entry(&Value::from(key.as_str()).to_string(), value, &inner);
                ('{', '}', map.iter().map(entry).collect())
            }
            Value::Array(list) => ('[', ']', list.iter().map(|value| self.render(value, &inner, 0)).collect()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return short,
        };
        if parts.is_empty() {
            return short;
        }
        let line_end = self.line_end;
        let parts = parts.join(&format!(",{line_end}{inner}"));
        format!("{open}{line_end}{inner}{parts}{line_end}{indent}{close}")
    }

    /// The indentation of the line on which an offset lies.
    fn line_indent(&self, offset: usize) -> &'a str {
        let line = self.text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let line = &self.text[line..offset];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }
}

fn cut(start: usize, end: usize) -> Splice {
    Splice { start, end, text: String::new() }
}

/// White space between the start of the line and an offset, if nothing else is there and the line is not the first.
fn indent_before(text: &str, offset: usize) -> Option<&str> {
    let line = &text[text[..offset].rfind('\n')? + 1..offset];
    line.chars().all(|c| c == ' ' || c == '\t').then_some(line)
}

fn inline(value: &Value) -> String {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let parts: Vec<String> =
                map.iter().map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), inline(value))).collect();
            format!("{{ {} }}", parts.join(", "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// What lies between two values: white space, comments, at most one comma.
struct Trivia {
    comma: Option<usize>,
    /// Behind the last comment or comma.
    end: usize,
    ends_in_line_comment: bool,
}

impl Trivia {
    fn read(text: &str, from: usize, to: usize) -> Trivia {
        let mut trivia = Trivia { comma: None, end: from, ends_in_line_comment: false };
        let mut at = from;
        while at < to {
            let rest = &text[at..to];
            let (length, line_comment) = if rest.starts_with("//") {
                (rest.find(['\n', '\r']).unwrap_or(rest.len()), true)
            } else if rest.starts_with("/*") {
                (rest.find("*/").map_or(rest.len(), |end| end + 2), false)
            } else if rest.starts_with(',') {
                trivia.comma = Some(at);
                (1, false)
            } else {
                at += rest.chars().next().map_or(1, char::len_utf8);
                continue;
            };
            at += length;
            trivia.end = at;
            trivia.ends_in_line_comment = line_comment;
        }
        trivia
    }
}
