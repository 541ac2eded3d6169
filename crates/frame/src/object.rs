//! Reading and changing one object of an already checked JSON text, level by level.

use crate::body::Rope;
use crate::scan;
use bytes::Bytes;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::ops::Range;

/// One `"key": value` of an object, as ranges of the object's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The key with its quotes.
    pub key: Range<usize>,
    /// The value.
    pub value: Range<usize>,
}

/// Walks the members of an object in the order in which they stand. Ends early where the text is no object. The text
/// should be a checked one: of any other, some members are given and then no more.
pub fn members(object: &[u8]) -> Members<'_> {
    Members { object, at: first(object, b'{') }
}

/// The iterator of [`members`].
#[derive(Clone, Debug)]
pub struct Members<'a> {
    object: &'a [u8],
    at: usize,
}

impl Iterator for Members<'_> {
    type Item = Member;
    #[inline]
    fn next(&mut self) -> Option<Member> {
        let start = scan::skip_space(self.object, self.at);
        let key_end = scan::skip_string(self.object, start)?;
        let colon = scan::skip_space(self.object, key_end);
        if self.object.get(colon) != Some(&b':') {
            return None;
        }
        let value_start = scan::skip_space(self.object, colon + 1);
        let value_end = scan::skip(self.object, value_start)?;
        self.at = following(self.object, value_end);
        Some(Member { key: start..key_end, value: value_start..value_end })
    }
}

/// Walks the elements of an array, as [`members`] does with an object.
pub fn elements(array: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = first(array, b'[');
    std::iter::from_fn(move || {
        let start = scan::skip_space(array, at);
        let end = scan::skip(array, start)?;
        at = following(array, end);
        Some(start..end)
    })
}

/// Behind the opening brace of an object.
pub(crate) fn inside(object: &[u8]) -> usize {
    first(object, b'{')
}

/// Behind the opening bracket; the end of the text where there is none.
fn first(text: &[u8], bracket: u8) -> usize {
    let start = scan::skip_space(text, 0);
    if text.get(start) == Some(&bracket) { start + 1 } else { text.len() }
}

/// Behind the comma after a value that ends at `end`; the end of the text where there is none.
#[inline]
fn following(text: &[u8], end: usize) -> usize {
    let comma = scan::skip_space(text, end);
    if text.get(comma) == Some(&b',') { comma + 1 } else { text.len() }
}

/// The last value of `key` in an object whose beginning is missing or broken: read backwards from its end, for as long
/// as the members there are strings, numbers or words.
pub(crate) fn last_scalar<'a>(text: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let mut rest = text.trim_ascii_end().strip_suffix(b"}")?;
    loop {
        let (before, value) = scalar_before(rest.trim_ascii_end())?;
        let (before, name) = scalar_before(before.trim_ascii_end().strip_suffix(b":")?.trim_ascii_end())?;
        if name.first() != Some(&b'"') {
            return None;
        }
        if key_is(name, key) {
            return Some(value);
        }
        rest = before.trim_ascii_end().strip_suffix(b",")?;
    }
}

/// A string or a bare word at the end of `text`, and what stands before it.
fn scalar_before(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = match text.strip_suffix(b"\"") {
        Some(mut inner) => loop {
            let quote = memchr::memrchr(b'"', inner)?;
            let slashes = inner[..quote].iter().rev().take_while(|byte| **byte == b'\\').count();
            if slashes % 2 == 0 {
                break quote;
            }
            inner = &inner[..quote];
        },
        None => {
            text.iter().rposition(|byte| !matches!(byte, b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E'))? + 1
        }
    };
    (start < text.len()).then(|| text.split_at(start))
}

/// Whether a key with its quotes spells `name`, escapes read.
#[inline]
pub fn key_is(quoted: &[u8], name: &str) -> bool {
    let Some(inner) = quoted.get(1..quoted.len().saturating_sub(1)) else { return false };
    // An escape is longer than what it stands for, and none of its spellings is what it stands for.
    if inner.len() == name.len() {
        return inner == name.as_bytes() && memchr::memchr(b'\\', inner).is_none();
    }
    inner.len() > name.len() && memchr::memchr(b'\\', inner).is_some() && text(quoted).is_some_and(|key| key == name)
}

/// The values of several keys at once; the last one where a key stands twice.
pub fn pick<const N: usize>(object: &[u8], keys: [&str; N]) -> [Option<Range<usize>>; N] {
    let mut found = [const { None }; N];
    for member in members(object) {
        if let Some(place) = keys.iter().position(|name| key_is(&object[member.key.clone()], name)) {
            found[place] = Some(member.value);
        }
    }
    found
}

/// The value of one key as a slice of the object's own buffer.
pub fn get(object: &Bytes, key: &str) -> Option<Bytes> {
    let [range] = pick(object, [key]);
    range.map(|range| object.slice(range))
}

/// Whether a member of a checked object is `true`. Looked for at the end first, where such a flag mostly stands.
pub fn is_true(object: &[u8], key: &str) -> bool {
    if let Some(value) = last_scalar(object, key) {
        return value == b"true";
    }
    matches!(pick(object, [key]), [Some(range)] if &object[range.clone()] == b"true")
}

/// The characters of a JSON string; lone surrogates become U+FFFD. None where the text is no string.
pub fn text(quoted: &[u8]) -> Option<Cow<'_, str>> {
    let inner = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', inner).is_none() {
        return std::str::from_utf8(inner).ok().map(Cow::Borrowed);
    }
    let mut out = String::with_capacity(inner.len());
    let mut at = 0;
    while at < inner.len() {
        let run = memchr::memchr(b'\\', &inner[at..]).unwrap_or(inner.len() - at);
        out.push_str(std::str::from_utf8(&inner[at..at + run]).ok()?);
        at += run;
        let Some(&escape) = inner.get(at + 1) else { break };
        at += 2;
        out.push(match escape {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let (unit, used) = unicode(inner, at)?;
                at += used;
                unit
            }
            other => char::from(other),
        });
    }
    Some(Cow::Owned(out))
}

/// The character of a `\u` escape whose digits begin at `at`, and how many bytes it took from there.
fn unicode(text: &[u8], at: usize) -> Option<(char, usize)> {
    let high = scan::hex4(text, at)?;
    if let (0xD800..=0xDBFF, Some(low @ 0xDC00..=0xDFFF)) = (high, scan::low_half(text, at + 4)) {
        let pair = char::decode_utf16([high, low]).next()?.ok()?;
        return Some((pair, 10));
    }
    Some((char::from_u32(u32::from(high)).unwrap_or('\u{FFFD}'), 4))
}

/// `text` as a JSON string with its quotes.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0C => out.push_str("\\f"),
            control => out.push_str(&format!("\\u{control:04x}")),
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
    out
}

/// An object without some of its members. `members` are all of them, as [`members`] gives them; `drops` is asked for
/// each key with its quotes.
pub fn without(object: &Bytes, members: &[Member], drops: impl Fn(&[u8]) -> bool) -> Rope {
    if !members.iter().any(|member| drops(&object[member.key.clone()])) {
        return object.clone().into();
    }
    let mut out = Written { object, rope: Rope::new(), first: true };
    out.rope.push_static("{");
    for run in members.chunk_by(|a, b| drops(&object[a.key.clone()]) == drops(&object[b.key.clone()])) {
        if let (Some(first), Some(last)) = (run.first(), run.last())
            && !drops(&object[first.key.clone()])
        {
            out.member(first.key.start..last.value.end);
        }
    }
    out.rope.push_static("}");
    out.rope
}

/// A change to one object: everything that is not named keeps its bytes, order and spelling.
#[derive(Default)]
pub struct Edit<'a> {
    changes: SmallVec<[(&'a str, Option<Rope>); 4]>,
}

impl<'a> Edit<'a> {
    /// No change yet.
    pub fn new() -> Edit<'a> {
        Edit::default()
    }
    /// Gives `key` this value, in its old place or at the end. What was said of `key` before no longer counts.
    pub fn set(self, key: &'a str, value: impl Into<Rope>) -> Edit<'a> {
        self.change(key, Some(value.into()))
    }
    /// Takes `key` away. What was said of `key` before no longer counts.
    pub fn remove(self, key: &'a str) -> Edit<'a> {
        self.change(key, None)
    }
    fn change(mut self, key: &'a str, value: Option<Rope>) -> Edit<'a> {
        self.changes.retain(|(other, _)| *other != key);
        self.changes.push((key, value));
        self
    }
    /// The changed text of `object`, which must be a checked JSON object.
    pub fn apply(self, object: &Bytes) -> Rope {
        let mut out = Written { object, rope: Rope::new(), first: true };
        let mut done: SmallVec<[bool; 4]> = SmallVec::from_elem(false, self.changes.len());
        // Neighbours that stay as they are go out as one piece.
        let mut run: Option<Range<usize>> = None;
        out.rope.push_static("{");
        for member in members(object) {
            let quoted = &object[member.key.clone()];
            let start = run.as_ref().map_or(member.key.start, |run| run.start);
            match self.changes.iter().position(|(name, _)| key_is(quoted, name)) {
                None => run = Some(start..member.value.end),
                Some(place) => {
                    let value = if done[place] { None } else { self.changes[place].1.as_ref() };
                    done[place] = true;
                    if let Some(value) = value {
                        run = None;
                        out.member(start..member.value.start);
                        out.rope.append(value);
                    } else if let Some(run) = run.take() {
                        out.member(run);
                    }
                }
            }
        }
        if let Some(run) = run {
            out.member(run);
        }
        for (place, (key, value)) in self.changes.iter().enumerate() {
            if let (Some(value), false) = (value, done[place]) {
                out.separate();
                out.rope.push(format!("{}:", quote(key)).into());
                out.rope.append(value);
            }
        }
        out.rope.push_static("}");
        out.rope
    }
}

struct Written<'a> {
    object: &'a Bytes,
    rope: Rope,
    first: bool,
}

impl Written<'_> {
    fn separate(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.rope.push_static(",");
        }
    }
    fn member(&mut self, range: Range<usize>) {
        self.separate();
        self.rope.push(self.object.slice(range));
    }
}
