//! The check for gated calls: nothing in them may be read in two ways. Duplicate keys (escapes read),
//! lone surrogates and depth are refused at the door, so that policy and server see the same call.

use crate::object::{self, Member};
use crate::scan::{self, Met, Visit};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::ops::Range;

/// Deepest nesting that is accepted anywhere; serde_json's own limit.
pub const MAX_DEPTH: usize = 127;

/// Why a gated text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ambiguity {
    /// One object has the same key twice.
    #[error("the same key stands twice in one object")]
    DuplicateKey,
    /// A key is a word of the protocol in other letters: readers that take `Name` for `name` would see another request.
    #[error("a key is a word of the protocol but for the case of its letters")]
    OtherCase,
    /// A `\u` escape is half of a surrogate pair.
    #[error("a string holds half of a surrogate pair")]
    LoneSurrogate,
    /// Not one complete JSON text in UTF-8, or nested too deep: nobody has checked it.
    #[error("not one complete JSON text")]
    NotJson,
}

/// What the protocol calls the members of params that decide what is done.
const WORDS: [&str; 13] = [
    "_meta",
    "argument",
    "arguments",
    "context",
    "cursor",
    "inputResponses",
    "level",
    "name",
    "ref",
    "requestState",
    "task",
    "taskId",
    "uri",
];

/// Whether a key with its quotes is one of the protocol's words for readers that do not mind the case of letters, and
/// none for others. Such readers fold the long s and the Kelvin sign too.
pub(crate) fn is_disguised(quoted: &[u8]) -> bool {
    let Some(inner) = quoted.get(1..quoted.len().saturating_sub(1)) else { return false };
    // What nearly every request has.
    if let b"name" | b"arguments" | b"_meta" | b"uri" = inner {
        return false;
    }
    if inner.is_ascii() && memchr::memchr(b'\\', inner).is_none() {
        return WORDS.iter().any(|word| inner.eq_ignore_ascii_case(word.as_bytes()) && inner != word.as_bytes());
    }
    let key = object::text(quoted).unwrap_or_default();
    let fold = |letter: char| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    WORDS.iter().any(|word| *key != **word && key.chars().map(fold).eq(word.chars().map(fold)))
}

/// Refuses a JSON text that two readers could understand differently. One pass, no recursion.
pub fn check(text: &[u8]) -> Result<(), Ambiguity> {
    check_members(text, &mut SmallVec::new())
}

/// As [`check`], and tells the members of the text itself where it is an object.
pub(crate) fn check_members(text: &[u8], members: &mut SmallVec<[Member; 4]>) -> Result<(), Ambiguity> {
    let mut met = Met::default();
    let mut keys = Keys { text, open: SmallVec::new(), seen: SmallVec::new(), twice: false, members };
    let end = scan::walk(text, scan::skip_space(text, 0), &mut met, &mut keys).map_err(|_| Ambiguity::NotJson)?;
    if scan::skip_space(text, end) != text.len() || (met.non_ascii && std::str::from_utf8(text).is_err()) {
        return Err(Ambiguity::NotJson);
    }
    if met.lone_surrogate {
        return Err(Ambiguity::LoneSurrogate);
    }
    if keys.twice { Err(Ambiguity::DuplicateKey) } else { Ok(()) }
}

/// Up to so many keys of one object are compared as they come; more are sorted when the object ends.
const FEW: usize = 16;

/// The keys of all objects that are open, those of the innermost last.
struct Keys<'a> {
    text: &'a [u8],
    /// Where the keys of each open object begin in `seen`.
    open: SmallVec<[usize; 16]>,
    seen: SmallVec<[Cow<'a, [u8]>; 32]>,
    twice: bool,
    members: &'a mut SmallVec<[Member; 4]>,
}

impl Visit for Keys<'_> {
    fn open_object(&mut self, _depth: usize) {
        self.open.push(self.seen.len());
    }
    fn key(&mut self, depth: usize, key: Range<usize>, value: usize) {
        if depth == 1 {
            self.members.push(Member { key: key.clone(), value: value..value });
        }
        let quoted = &self.text[key];
        let inner = &quoted[1..quoted.len() - 1];
        let key = if memchr::memchr(b'\\', inner).is_none() {
            Cow::Borrowed(inner)
        } else {
            // Text that is no UTF-8 is refused at the end anyway.
            Cow::Owned(object::text(quoted).unwrap_or_default().into_owned().into_bytes())
        };
        let own = &self.seen[self.open.last().copied().unwrap_or_default()..];
        if own.len() < FEW {
            self.twice |= own.contains(&key);
        }
        self.seen.push(key);
    }
    fn end(&mut self, depth: usize, end: usize) {
        if depth == 1
            && let Some(member) = self.members.last_mut()
        {
            member.value.end = end;
        }
    }
    fn close_object(&mut self, _depth: usize) {
        let Some(start) = self.open.pop() else { return };
        let own = &mut self.seen[start..];
        if own.len() > FEW {
            own.sort_unstable();
            self.twice |= own.windows(2).any(|pair| pair[0] == pair[1]);
        }
        self.seen.truncate(start);
    }
}
