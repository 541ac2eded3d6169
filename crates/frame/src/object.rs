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

/// Walks the members of an object in the order in which they stand. Ends early where the text is no object.
pub fn members(object: &[u8]) -> Members<'_> {
    let start = scan::skip_space(object, 0);
    let at = if object.get(start) == Some(&b'{') { start + 1 } else { object.len() };
    Members { object, at }
}

/// The iterator of [`members`].
pub struct Members<'a> {
    object: &'a [u8],
    at: usize,
}

impl Iterator for Members<'_> {
    type Item = Member;
    fn next(&mut self) -> Option<Member> {
        let start = scan::skip_space(self.object, self.at);
        let key_end = scan::string(self.object, start).ok()?;
        let colon = scan::skip_space(self.object, key_end);
        let value_start = scan::skip_space(self.object, colon + 1);
        let value_end = scan::value(self.object, value_start).ok()?;
        let comma = scan::skip_space(self.object, value_end);
        self.at = if self.object.get(comma) == Some(&b',') { comma + 1 } else { self.object.len() };
        Some(Member { key: start..key_end, value: value_start..value_end })
    }
}

/// Walks the elements of an array. Ends early where the text is no array.
pub fn elements(array: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let start = scan::skip_space(array, 0);
    let mut at = if array.get(start) == Some(&b'[') { start + 1 } else { array.len() };
    std::iter::from_fn(move || {
        let start = scan::skip_space(array, at);
        let end = scan::value(array, start).ok()?;
        let comma = scan::skip_space(array, end);
        at = if array.get(comma) == Some(&b',') { comma + 1 } else { array.len() };
        Some(start..end)
    })
}

/// Whether a key with its quotes spells `name`, escapes read.
pub fn key_is(quoted: &[u8], name: &str) -> bool {
    let inner = &quoted[1..quoted.len() - 1];
    if memchr::memchr(b'\\', inner).is_none() {
        return inner == name.as_bytes();
    }
    text(quoted).is_some_and(|key| key == name)
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
    let low = if text.get(at + 4..at + 6) == Some(b"\\u") { scan::hex4(text, at + 6) } else { None };
    if let (0xD800..=0xDBFF, Some(low @ 0xDC00..=0xDFFF)) = (high, low) {
        let pair = char::decode_utf16([high, low]).next()?.ok()?;
        return Some((pair, 10));
    }
    Some((char::from_u32(u32::from(high)).unwrap_or('\u{FFFD}'), 4))
}

/// `text` as a JSON string with its quotes.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if u32::from(c) < 0x20 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
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
    /// Gives `key` this value, in its old place or at the end.
    pub fn set(mut self, key: &'a str, value: impl Into<Rope>) -> Edit<'a> {
        self.changes.push((key, Some(value.into())));
        self
    }
    /// Takes `key` away.
    pub fn remove(mut self, key: &'a str) -> Edit<'a> {
        self.changes.push((key, None));
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
