//! A text as the reader of the JSON in it sees it, and of the JSON in that: each time with one layer of escapes read, and
//! for every character the place where it came from. Finds nothing by itself.

use crate::tree::hex4;
use std::borrow::Cow;
use std::ops::Range;

/// So many times over JSON within JSON is read.
const DEEPEST: u8 = 4;

/// One layer.
pub(super) struct Level<'t> {
    pub(super) text: Cow<'t, str>,
    /// For every byte, where in the first text the character that it belongs to begins and ends; empty for that itself.
    origins: Vec<(usize, usize)>,
    depth: u8,
}

impl<'t> Level<'t> {
    /// The text itself.
    pub(super) fn first(text: &'t str) -> Level<'t> {
        Level { text: Cow::Borrowed(text), origins: Vec::new(), depth: 0 }
    }

    /// Where in the first text a part of this one, not an empty one, came from.
    pub(super) fn origin(&self, part: Range<usize>) -> Range<usize> {
        match self.origins.is_empty() {
            true => part,
            false => self.origins[part.start].0..self.origins[part.end - 1].1,
        }
    }

    /// What the JSON in it says, where anything is escaped.
    pub(super) fn within(&self) -> Option<Level<'static>> {
        let mut found = memchr::memchr(b'\\', self.text.as_bytes()).filter(|_| self.depth < DEEPEST);
        found?;
        let mut text = String::with_capacity(self.text.len());
        let mut origins = Vec::with_capacity(self.text.len());
        let mut done = 0;
        while let Some(at) = found {
            let escape = escape(&self.text.as_bytes()[at..]);
            let (c, length) = escape.unwrap_or(('\\', 1));
            text.push_str(&self.text[done..at]);
            origins.extend((done..at).map(|at| self.of_byte(at)));
            text.push(c);
            let whole = self.origin(at..at + length);
            origins.resize(text.len(), (whole.start, whole.end));
            done = at + length;
            found = memchr::memchr(b'\\', &self.text.as_bytes()[done..]).map(|next| done + next);
        }
        text.push_str(&self.text[done..]);
        origins.extend((done..self.text.len()).map(|at| self.of_byte(at)));
        (text != *self.text).then(|| Level { text: Cow::Owned(text), origins, depth: self.depth + 1 })
    }

    fn of_byte(&self, at: usize) -> (usize, usize) {
        let whole = self.origin(at..at + 1);
        (whole.start, whole.end)
    }
}

/// What the escape that a text begins with stands for, and its length; None where it is none of JSON's.
fn escape(text: &[u8]) -> Option<(char, usize)> {
    let c = match text.get(1)? {
        b'u' => return Some((char::from_u32(u32::from(hex4(text, 2)?)).unwrap_or(char::REPLACEMENT_CHARACTER), 6)),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        byte @ (b'"' | b'\\' | b'/') => char::from(*byte),
        _ => return None,
    };
    Some((c, 2))
}
