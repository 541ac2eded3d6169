//! The check for gated calls: nothing in them may be read in two ways. Duplicate keys (escapes read),
//! lone surrogates and depth are refused at the door, so that policy and server see the same call.

use crate::{object, scan};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::HashSet;

/// Deepest nesting that is accepted anywhere; serde_json's own limit.
pub const MAX_DEPTH: usize = 127;

/// Why a gated text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ambiguity {
    /// One object has the same key twice.
    #[error("the same key stands twice in one object")]
    DuplicateKey,
    /// A `\u` escape is half of a surrogate pair.
    #[error("a string holds half of a surrogate pair")]
    LoneSurrogate,
}

/// Refuses a checked JSON text that two readers could understand differently.
pub fn check(text: &[u8]) -> Result<(), Ambiguity> {
    if memchr::memmem::find(text, b"\\u").is_some() && lone_surrogate(text) {
        return Err(Ambiguity::LoneSurrogate);
    }
    duplicates(text)
}

fn lone_surrogate(text: &[u8]) -> bool {
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &text[at..]) {
        at += found;
        if text.get(at + 1) != Some(&b'u') {
            at += 2;
            continue;
        }
        match scan::hex4(text, at + 2) {
            Some(0xD800..=0xDBFF) => {
                let low = if text.get(at + 6..at + 8) == Some(b"\\u") { scan::hex4(text, at + 8) } else { None };
                if !matches!(low, Some(0xDC00..=0xDFFF)) {
                    return true;
                }
                at += 12;
            }
            Some(0xDC00..=0xDFFF) => return true,
            _ => at += 6,
        }
    }
    false
}

fn duplicates(text: &[u8]) -> Result<(), Ambiguity> {
    match text.get(scan::skip_space(text, 0)) {
        Some(b'{') => {
            let mut seen = Keys::default();
            for member in object::members(text) {
                if !seen.insert(&text[member.key]) {
                    return Err(Ambiguity::DuplicateKey);
                }
                nested(&text[member.value])?;
            }
            Ok(())
        }
        Some(b'[') => object::elements(text).try_for_each(|element| nested(&text[element])),
        _ => Ok(()),
    }
}

fn nested(value: &[u8]) -> Result<(), Ambiguity> {
    match value.first() {
        Some(b'{' | b'[') => duplicates(value),
        _ => Ok(()),
    }
}

/// The keys of one object: compared one by one while they are few, hashed when they are many.
#[derive(Default)]
struct Keys<'a> {
    few: SmallVec<[Cow<'a, str>; 16]>,
    many: HashSet<Cow<'a, str>>,
}

impl<'a> Keys<'a> {
    fn insert(&mut self, quoted: &'a [u8]) -> bool {
        let Some(key) = object::text(quoted) else { return true };
        if !self.many.is_empty() {
            return self.many.insert(key);
        }
        if self.few.contains(&key) {
            return false;
        }
        if self.few.len() < 16 {
            self.few.push(key);
            return true;
        }
        self.many.extend(self.few.drain(..));
        self.many.insert(key)
    }
}
