//! One JSON text, read once into a flat list of where its values lie: number text, spans and key order are kept.
//! What two readers could understand in two ways (a key twice, half a surrogate pair) is refused. Never recursive.

use std::borrow::Cow;
use std::collections::HashSet;
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
    /// Whether a string has escapes in it.
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
        let text = std::str::from_utf8(raw).map_err(|fault| TextFault::BadUtf8(fault.valid_up_to()))?;
        Tree::of(Cow::Borrowed(text))
    }

    /// Reads a whole text that may be the tree's own.
    pub(crate) fn of(text: Cow<'a, str>) -> Result<Tree<'a>, TextFault> {
        if u32::try_from(text.len()).is_err() {
            return Err(TextFault::TooLong);
        }
        let mut entries = Vec::with_capacity(text.len() / 10 + 4);
        Reader { text: text.as_bytes(), entries: &mut entries }.read()?;
        Ok(Tree { text, entries })
    }

    /// The whole value.
    pub(crate) fn root(&self) -> Value<'_> {
        Value { tree: self, at: 0 }
    }
}

impl<'t> Value<'t> {
    fn entry(self) -> &'t Entry {
        &self.tree.entries[self.at as usize]
    }
    pub(crate) fn kind(self) -> Kind {
        self.entry().kind
    }
    /// Where it stands in the text.
    pub(crate) fn span(self) -> Range<usize> {
        let entry = self.entry();
        entry.start as usize..entry.end as usize
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
        if entry.escaped { unescape(inner) == text } else { inner == text }
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
        let escape = rest.as_bytes()[found + 1];
        rest = &rest[found + 2..];
        out.push(match escape {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = hex4(rest.as_bytes(), 0).unwrap_or(0);
                let low = if rest.get(4..6) == Some("\\u") { hex4(rest.as_bytes(), 6) } else { None };
                let (c, used) = match (high, low) {
                    (0xD800..=0xDBFF, Some(low)) => (char::decode_utf16([high, low]).next().and_then(Result::ok), 10),
                    _ => (char::from_u32(u32::from(high)), 4),
                };
                rest = &rest[used..];
                c.unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            other => char::from(other),
        });
    }
    out.push_str(rest);
    out
}

fn hex4(text: &[u8], at: usize) -> Option<u16> {
    text.get(at..at + 4)?
        .iter()
        .try_fold(0u16, |sum, &byte| Some(sum << 4 | u16::try_from(char::from(byte).to_digit(16)?).ok()?))
}

struct Reader<'r> {
    text: &'r [u8],
    entries: &'r mut Vec<Entry>,
}

/// Offsets fit in 32 bits: `Tree::of` refuses longer texts.
#[allow(clippy::cast_possible_truncation)]
fn narrow(at: usize) -> u32 {
    at as u32
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), TextFault> {
        let mut open = [0u32; MAX_DEPTH];
        let mut depth = 0;
        let mut at = self.space(0);
        loop {
            at = match self.text.get(at) {
                Some(b'"') => self.string(at)?,
                Some(&bracket @ (b'{' | b'[')) => {
                    if depth == MAX_DEPTH {
                        return Err(TextFault::TooDeep);
                    }
                    let is_object = bracket == b'{';
                    let inner = self.space(at + 1);
                    let index = self.push(if is_object { Kind::Object } else { Kind::Array }, at, at + 1);
                    if self.text.get(inner) == Some(if is_object { &b'}' } else { &b']' }) {
                        self.entries[index as usize].end = narrow(inner + 1);
                        inner + 1
                    } else {
                        open[depth] = index;
                        depth += 1;
                        at = if is_object { self.key(inner)? } else { inner };
                        continue;
                    }
                }
                Some(b't') => self.literal(at, "true", Kind::True)?,
                Some(b'f') => self.literal(at, "false", Kind::False)?,
                Some(b'n') => self.literal(at, "null", Kind::Null)?,
                Some(b'-' | b'0'..=b'9') => self.number(at)?,
                _ => return Err(TextFault::Syntax(at)),
            };
            // A value has ended: close what ends with it, or go on to the next one.
            loop {
                at = self.space(at);
                let Some(&index) = depth.checked_sub(1).and_then(|inner| open.get(inner)) else {
                    return if at == self.text.len() { Ok(()) } else { Err(TextFault::Syntax(at)) };
                };
                let after = narrow(self.entries.len());
                let parent = &mut self.entries[index as usize];
                parent.count += 1;
                let is_object = parent.kind == Kind::Object;
                match self.text.get(at) {
                    Some(b',') => {
                        at = self.space(at + 1);
                        if is_object {
                            at = self.key(at)?;
                        }
                        break;
                    }
                    Some(b'}') if is_object => {}
                    Some(b']') if !is_object => {}
                    _ => return Err(TextFault::Syntax(at)),
                }
                at += 1;
                parent.end = narrow(at);
                parent.after = after;
                depth -= 1;
                if is_object {
                    self.distinct(index)?;
                }
            }
        }
    }

    fn space(&self, mut at: usize) -> usize {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(at) {
            at += 1;
        }
        at
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize) -> u32 {
        let index = narrow(self.entries.len());
        let entry = Entry { kind, escaped: false, start: narrow(start), end: narrow(end), after: index + 1, count: 0 };
        self.entries.push(entry);
        index
    }

    /// A key and its colon; returns where its value begins.
    fn key(&mut self, at: usize) -> Result<usize, TextFault> {
        if self.text.get(at) != Some(&b'"') {
            return Err(TextFault::Syntax(at));
        }
        let end = self.string(at)?;
        let colon = self.space(end);
        if self.text.get(colon) != Some(&b':') {
            return Err(TextFault::Syntax(colon));
        }
        Ok(self.space(colon + 1))
    }

    fn string(&mut self, start: usize) -> Result<usize, TextFault> {
        let mut at = start + 1;
        let mut escaped = false;
        loop {
            let rest = &self.text[at..];
            let run = rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20);
            at += run.ok_or(TextFault::Syntax(self.text.len()))?;
            match self.text[at] {
                b'"' => break,
                b'\\' => escaped = true,
                _ => return Err(TextFault::Syntax(at)),
            }
            at = match self.text.get(at + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at + 2,
                Some(b'u') => self.unicode(at)?,
                _ => return Err(TextFault::Syntax(at)),
            };
        }
        let index = self.push(Kind::String, start, at + 1);
        self.entries[index as usize].escaped = escaped;
        Ok(at + 1)
    }

    /// The end of the `\u` escape, or pair of them, at `at`.
    fn unicode(&self, at: usize) -> Result<usize, TextFault> {
        match hex4(self.text, at + 2).ok_or(TextFault::Syntax(at))? {
            0xD800..=0xDBFF => {
                let low = if self.text.get(at + 6..at + 8) == Some(b"\\u") { hex4(self.text, at + 8) } else { None };
                match low {
                    Some(0xDC00..=0xDFFF) => Ok(at + 12),
                    _ => Err(TextFault::LoneSurrogate(at)),
                }
            }
            0xDC00..=0xDFFF => Err(TextFault::LoneSurrogate(at)),
            _ => Ok(at + 6),
        }
    }

    fn literal(&mut self, at: usize, word: &str, kind: Kind) -> Result<usize, TextFault> {
        if !self.text[at..].starts_with(word.as_bytes()) {
            return Err(TextFault::Syntax(at));
        }
        self.push(kind, at, at + word.len());
        Ok(at + word.len())
    }

    fn digits(&self, mut at: usize) -> Result<usize, TextFault> {
        let start = at;
        while self.text.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        if at == start { Err(TextFault::Syntax(at)) } else { Ok(at) }
    }

    fn number(&mut self, start: usize) -> Result<usize, TextFault> {
        let mut at = start + usize::from(self.text[start] == b'-');
        at = if self.text.get(at) == Some(&b'0') { at + 1 } else { self.digits(at)? };
        if self.text.get(at) == Some(&b'.') {
            at = self.digits(at + 1)?;
        }
        if let Some(b'e' | b'E') = self.text.get(at) {
            at += 1;
            if let Some(b'+' | b'-') = self.text.get(at) {
                at += 1;
            }
            at = self.digits(at)?;
        }
        self.push(Kind::Number, start, at);
        Ok(at)
    }

    /// Refuses an object with a key twice. Keys are compared one by one while they are few, hashed when many.
    fn distinct(&self, index: u32) -> Result<(), TextFault> {
        let object = self.entries[index as usize];
        if object.count < 2 {
            return Ok(());
        }
        let mut at = index as usize + 1;
        let keys = std::iter::from_fn(|| {
            let key = (at < object.after as usize).then(|| self.entries[at])?;
            at = self.entries[at + 1].after as usize;
            Some(key)
        });
        if object.count > 16 {
            let mut seen = HashSet::with_capacity(object.count as usize);
            return self.all_new(keys, |key| seen.insert(key));
        }
        let mut seen: [Cow<'_, [u8]>; 16] = [const { Cow::Borrowed(&[]) }; 16];
        let mut known = 0;
        self.all_new(keys, |key| {
            if seen[..known].contains(&key) {
                return false;
            }
            seen[known] = key;
            known += 1;
            true
        })
    }

    fn all_new<'k>(
        &'k self,
        keys: impl Iterator<Item = Entry>,
        mut insert: impl FnMut(Cow<'k, [u8]>) -> bool,
    ) -> Result<(), TextFault> {
        for key in keys {
            let inner = &self.text[key.start as usize + 1..key.end as usize - 1];
            let spelled = match (key.escaped, std::str::from_utf8(inner)) {
                (true, Ok(inner)) => Cow::Owned(unescape(inner).into_bytes()),
                _ => Cow::Borrowed(inner),
            };
            if !insert(spelled) {
                return Err(TextFault::DuplicateKey(key.start as usize));
            }
        }
        Ok(())
    }
}
