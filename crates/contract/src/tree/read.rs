//! The reading itself: one validating walk (RFC 8259) that notes where values begin and end. Never recursive.

use super::{Entry, Kind, MAX_DEPTH, Strictness, TextFault, hex4, narrow, unescape};
use std::borrow::Cow;
use std::collections::HashSet;

pub(super) struct Reader<'r> {
    pub(super) text: &'r [u8],
    pub(super) entries: &'r mut Vec<Entry>,
    pub(super) strictness: Strictness,
}

impl Reader<'_> {
    /// Reads everything; returns the deepest nesting.
    pub(super) fn read(&mut self) -> Result<usize, TextFault> {
        let mut open = [0u32; MAX_DEPTH];
        let mut depth = 0;
        let mut deepest = 0;
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
                        deepest = deepest.max(depth);
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
                    return if at == self.text.len() { Ok(deepest) } else { Err(TextFault::Syntax(at)) };
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
            at = plain_run(self.text, at);
            if at == self.text.len() {
                return Err(TextFault::Syntax(at));
            }
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
                    _ if self.strictness == Strictness::Lenient => Ok(at + 6),
                    _ => Err(TextFault::LoneSurrogate(at)),
                }
            }
            0xDC00..=0xDFFF if self.strictness == Strictness::Strict => Err(TextFault::LoneSurrogate(at)),
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
        let exponent = matches!(self.text.get(at), Some(b'e' | b'E'));
        if exponent {
            at += 1;
            if let Some(b'+' | b'-') = self.text.get(at) {
                at += 1;
            }
            at = self.digits(at)?;
        }
        let index = self.push(Kind::Number, start, at);
        self.entries[index as usize].escaped = exponent || at - start > 300;
        Ok(at)
    }

    /// Refuses an object with a key twice. Keys are compared one by one while they are few, hashed when many.
    fn distinct(&self, index: u32) -> Result<(), TextFault> {
        let object = self.entries[index as usize];
        if object.count < 2 || self.strictness == Strictness::Lenient {
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

/// Where the run of characters that stand for themselves ends: at a quote, a backslash, a control character or the end.
fn plain_run(text: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    // Eight bytes at once; a mark may be false only above a true one, so the lowest is exact.
    while let Some(word) = text.get(at..at + 8).and_then(|word| <[u8; 8]>::try_from(word).ok()).map(u64::from_le_bytes)
    {
        let none = |byte: u8| word ^ (ONES * u64::from(byte));
        let zero = |word: u64| word.wrapping_sub(ONES) & !word;
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let marks = (zero(none(b'"')) | zero(none(b'\\')) | control) & (ONES * 0x80);
        if marks != 0 {
            return at + (marks.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while text.get(at).is_some_and(|&byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        at += 1;
    }
    at
}
