//! One JSON text, read once into a flat list of where its values lie: number text, spans and key order are kept.
//! What two readers could understand in two ways (a key twice, half a surrogate pair) is refused, but for what a
//! server answered, which is passed on as it is. Never recursive.

mod read;

use crate::fuel::Fuel;
use read::Reader;
use std::borrow::Cow;
use std::ops::Range;

/// Deepest nesting of arrays and objects in any text that is read; serde_json's own limit.
pub const MAX_DEPTH: usize = 127;

/// Why a text is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextFault {
    /// Not one complete JSON text (RFC 8259).
    #[error("it is not valid JSON (byte {0})")]
    Syntax(usize),
    /// Not UTF-8.
    #[error("it is not valid UTF-8 (byte {0})")]
    BadUtf8(usize),
    /// Arrays and objects nested deeper than [`MAX_DEPTH`].
    #[error("it is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// One object has the same key twice, escapes read.
    #[error("the same key stands twice in one object (byte {0})")]
    DuplicateKey(usize),
    /// A `\u` escape is half of a surrogate pair.
    #[error("a string holds half of a surrogate pair (byte {0})")]
    LoneSurrogate(usize),
    /// Longer than 4 GiB.
    #[error("it is too long")]
    TooLong,
}

/// Whether what can be read in two ways is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strictness {
    Strict,
    /// Half a surrogate pair reads as U+FFFD, and a key may stand twice.
    Lenient,
}

/// The kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    True,
    False,
    Number,
    String,
    Array,
    Object,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: Kind,
    /// A string with escapes in it; a number that is so long or has such an exponent that it may be beyond doubles.
    escaped: bool,
    start: u32,
    end: u32,
    /// Index of the first entry behind this value and all that is in it.
    after: u32,
    /// Elements of an array, members of an object.
    count: u32,
}

/// A text and the places of its values, in the order of the text; a member is its key's entry and its value's.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    text: Cow<'a, str>,
    entries: Vec<Entry>,
    /// Levels of arrays and objects in one another.
    depth: usize,
    /// What a check may still spend on this tree.
    pub(crate) fuel: Fuel,
}

/// One value of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'t> {
    pub(crate) tree: &'t Tree<'t>,
    pub(crate) at: u32,
}

impl<'a> Tree<'a> {
    /// Reads a whole text.
    pub(crate) fn read(raw: &'a [u8]) -> Result<Tree<'a>, TextFault> {
        Tree::of(Cow::Borrowed(utf8(raw)?))
    }

    /// Reads what a server answered: a key may stand twice, and half a surrogate pair reads as U+FFFD.
    pub(crate) fn lenient(raw: &'a [u8]) -> Result<Tree<'a>, TextFault> {
        Tree::reading(Cow::Borrowed(utf8(raw)?), Strictness::Lenient)
    }

    /// Reads a whole text that may be the tree's own.
    pub(crate) fn of(text: Cow<'a, str>) -> Result<Tree<'a>, TextFault> {
        Tree::reading(text, Strictness::Strict)
    }

    fn reading(text: Cow<'a, str>, strictness: Strictness) -> Result<Tree<'a>, TextFault> {
        if u32::try_from(text.len()).is_err() {
            return Err(TextFault::TooLong);
        }
        let mut entries = Vec::with_capacity(text.len() / 10 + 4);
        let depth = Reader { text: text.as_bytes(), entries: &mut entries, strictness }.read()?;
        Ok(Tree { text, entries, depth, fuel: Fuel::default() })
    }

    /// The tree of `{}`.
    pub(crate) fn empty_object() -> Tree<'a> {
        let entry = Entry { kind: Kind::Object, escaped: false, start: 0, end: 2, after: 1, count: 0 };
        Tree { text: Cow::Borrowed("{}"), entries: vec![entry], depth: 0, fuel: Fuel::default() }
    }

    /// The whole value.
    pub(crate) fn root(&self) -> Value<'_> {
        Value { tree: self, at: 0 }
    }
    /// Levels of arrays and objects in one another, empty ones not counted.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }
    /// How many values and keys are in it.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
    /// The text that was read.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
    /// All values and keys, in the order of the text.
    pub(crate) fn all(&self) -> impl Iterator<Item = Value<'_>> {
        (0..narrow(self.entries.len())).map(|at| Value { tree: self, at })
    }
}

fn utf8(raw: &[u8]) -> Result<&str, TextFault> {
    std::str::from_utf8(raw).map_err(|fault| TextFault::BadUtf8(fault.valid_up_to()))
}

/// Appends one step to a JSON pointer (RFC 6901).
pub(crate) fn push_segment(pointer: &mut String, key: &str) {
    pointer.push('/');
    if key.contains(['~', '/']) {
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
    } else {
        pointer.push_str(key);
    }
}

impl<'t> Value<'t> {
    fn entry(self) -> &'t Entry {
        &self.tree.entries[self.at as usize]
    }
    /// The first number in it whose value is beyond every double.
    pub(crate) fn endless_number(self) -> Option<Value<'t>> {
        let mut numbers = (self.at..self.entry().after).map(|at| Value { tree: self.tree, at });
        numbers.find(|value| {
            let entry = value.entry();
            let is_odd = entry.kind == Kind::Number && entry.escaped;
            is_odd && value.source().parse::<f64>().is_ok_and(f64::is_infinite)
        })
    }
    /// The JSON pointer from it to a value in it.
    pub(crate) fn pointer_to(self, target: Value<'_>) -> String {
        let mut path = String::new();
        let mut at = self;
        while at.at != target.at {
            let holds = |value: Value<'_>| (value.at..value.entry().after).contains(&target.at);
            let next = match at.kind() {
                Kind::Array => at.elements().enumerate().find(|(_, value)| holds(*value)).map(|(place, value)| {
                    path.push_str(&format!("/{place}"));
                    value
                }),
                _ => at.members().find(|(_, value)| holds(*value)).map(|(key, value)| {
                    push_segment(&mut path, &key.string().unwrap_or_default());
                    value
                }),
            };
            let Some(next) = next else { break };
            at = next;
        }
        path
    }
    /// The value at a JSON pointer from it.
    pub(crate) fn at_pointer(self, pointer: &str) -> Option<Value<'t>> {
        pointer.split('/').skip(1).try_fold(self, |value, segment| match value.kind() {
            Kind::Array => value.elements().nth(segment.parse().ok()?),
            _ => value.get(&segment.replace("~1", "/").replace("~0", "~")),
        })
    }
    pub(crate) fn kind(self) -> Kind {
        self.entry().kind
    }
    /// Where it stands in the text.
    pub(crate) fn span(self) -> Range<usize> {
        let entry = self.entry();
        entry.start as usize..entry.end as usize
    }
    /// Where the characters of a string stand, without its quotes.
    pub(crate) fn inner_span(self) -> Range<usize> {
        let span = self.span();
        span.start + 1..span.end - 1
    }
    /// It as it stands in the text.
    pub(crate) fn source(self) -> &'t str {
        &self.tree.text[self.span()]
    }
    /// Elements of an array, members of an object; 0 for others.
    pub(crate) fn count(self) -> usize {
        self.entry().count as usize
    }
    /// The characters of a string, escapes read.
    pub(crate) fn string(self) -> Option<Cow<'t, str>> {
        let entry = self.entry();
        if entry.kind != Kind::String {
            return None;
        }
        let inner = &self.tree.text[entry.start as usize + 1..entry.end as usize - 1];
        Some(if entry.escaped { Cow::Owned(unescape(inner)) } else { Cow::Borrowed(inner) })
    }
    pub(crate) fn boolean(self) -> Option<bool> {
        match self.kind() {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }
    /// The elements of an array; none for other kinds.
    pub(crate) fn elements(self) -> Elements<'t> {
        let left = if self.kind() == Kind::Array { self.count() } else { 0 };
        Elements { tree: self.tree, at: self.at + 1, left }
    }
    /// The members of an object; none for other kinds.
    pub(crate) fn members(self) -> Members<'t> {
        let left = if self.kind() == Kind::Object { self.count() } else { 0 };
        Members { tree: self.tree, at: self.at + 1, left }
    }
    /// The value of one key of an object.
    pub(crate) fn get(self, key: &str) -> Option<Value<'t>> {
        self.members().find(|(name, _)| name.spells(key)).map(|(_, value)| value)
    }
    /// Whether it is a string of these characters.
    pub(crate) fn spells(self, text: &str) -> bool {
        let entry = self.entry();
        let inner = &self.tree.text[entry.start as usize + 1..entry.end as usize - 1];
        // An escape of six bytes stands for at least one.
        let may_be = inner.len() <= text.len().saturating_mul(6);
        if entry.escaped { may_be && unescape(inner) == text } else { inner == text }
    }
}

/// The iterator of [`Value::elements`].
#[derive(Clone)]
pub(crate) struct Elements<'t> {
    tree: &'t Tree<'t>,
    at: u32,
    left: usize,
}

impl<'t> Iterator for Elements<'t> {
    type Item = Value<'t>;
    fn next(&mut self) -> Option<Value<'t>> {
        self.left = self.left.checked_sub(1)?;
        let value = Value { tree: self.tree, at: self.at };
        self.at = value.entry().after;
        Some(value)
    }
}

/// The iterator of [`Value::members`]: key and value.
#[derive(Clone)]
pub(crate) struct Members<'t> {
    tree: &'t Tree<'t>,
    at: u32,
    left: usize,
}

impl<'t> Iterator for Members<'t> {
    type Item = (Value<'t>, Value<'t>);
    fn next(&mut self) -> Option<(Value<'t>, Value<'t>)> {
        self.left = self.left.checked_sub(1)?;
        let key = Value { tree: self.tree, at: self.at };
        let value = Value { tree: self.tree, at: self.at + 1 };
        self.at = value.entry().after;
        Some((key, value))
    }
}

/// Reads the escapes of a checked string.
fn unescape(inner: &str) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(found) = rest.find('\\') {
        out.push_str(&rest[..found]);
        let escape = Escape::at(rest.as_bytes(), found);
        out.push(escape.c);
        rest = &rest[found + escape.length..];
    }
    out.push_str(rest);
    out
}

/// One escape of a checked string.
pub(crate) struct Escape {
    /// What it stands for.
    pub(crate) c: char,
    /// How many bytes it takes.
    pub(crate) length: usize,
    /// Whether it is half of a surrogate pair, which stands for U+FFFD.
    pub(crate) is_half: bool,
}

impl Escape {
    /// The escape whose backslash stands at `at`.
    pub(crate) fn at(text: &[u8], at: usize) -> Escape {
        let short = |c| Escape { c, length: 2, is_half: false };
        match text.get(at + 1) {
            Some(b'b') => short('\u{8}'),
            Some(b'f') => short('\u{c}'),
            Some(b'n') => short('\n'),
            Some(b'r') => short('\r'),
            Some(b't') => short('\t'),
            Some(b'u') => {
                let high = hex4(text, at + 2).unwrap_or(0);
                let low = if text.get(at + 6..at + 8) == Some(b"\\u") { hex4(text, at + 8) } else { None };
                if let (0xD800..=0xDBFF, Some(low @ 0xDC00..=0xDFFF)) = (high, low) {
                    let pair = char::decode_utf16([high, low]).next().and_then(Result::ok);
                    let c = pair.unwrap_or(char::REPLACEMENT_CHARACTER);
                    return Escape { c, length: 12, is_half: false };
                }
                let c = char::from_u32(u32::from(high));
                Escape { c: c.unwrap_or(char::REPLACEMENT_CHARACTER), length: 6, is_half: c.is_none() }
            }
            Some(&other) => short(char::from(other)),
            None => Escape { c: '\\', length: 1, is_half: false },
        }
    }
}

pub(crate) fn hex4(text: &[u8], at: usize) -> Option<u16> {
    text.get(at..at + 4)?
        .iter()
        .try_fold(0u16, |sum, &byte| Some(sum << 4 | u16::try_from(char::from(byte).to_digit(16)?).ok()?))
}

/// Offsets fit in 32 bits: `Tree::of` refuses longer texts.
#[allow(clippy::cast_possible_truncation)]
fn narrow(at: usize) -> u32 {
    at as u32
}
