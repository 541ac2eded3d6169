//! The names that hosts see: `SERVER__TOOL`, a pure function of the two names alone, so that they are the same
//! whatever else is connected. Never a registry: nothing here knows what other names there are.

use crate::hash::Hash;
use std::fmt;

/// Longest exposed name; the bound of the model APIs.
pub const MAX_EXPOSED: usize = 64;
/// Longest prefix, so that a long server key never eats the tool's name.
const MAX_SLUG: usize = 32;
/// Between a prefix and a tool's own name, and before an exposed name's hash tail.
const JOINT: &str = "__";
const SLUG_TAIL: usize = 8;
const EXPOSED_TAIL: usize = 12;
/// The prefix of the hub's own tools: no server gets it, however its key is spelled.
pub const RESERVED: &str = "callgate";

/// A server's prefix: letters, digits, `_` and `-`, without `__` and without `_` at its edges, so that the first
/// `__` of an exposed name always ends it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slug(Box<str>);

impl Slug {
    /// The prefix of a server's key in the config: the key itself where it can be one, else a readable head of it
    /// and a hash tail of the whole key.
    pub fn of(key: &str) -> Slug {
        if is_plain_slug(key) {
            return Slug(key.into());
        }
        let mut head = legal(key);
        while head.contains(JOINT) {
            head = head.replace(JOINT, "_");
        }
        let head = cut(head.trim_matches(['_', '-']), MAX_SLUG - SLUG_TAIL - 1);
        let head = if head.is_empty() { "server" } else { head };
        Slug(format!("{head}-{}", Hash::of(key.as_bytes()).head(SLUG_TAIL)).into())
    }

    /// The prefix itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name that hosts see for a tool or prompt of this server: `^[a-zA-Z0-9_-]{1,64}$`. Longer or illegal
    /// names keep a readable head and get a hash tail of the full identity.
    pub fn exposed(&self, name: &str) -> String {
        let full = format!("{}{JOINT}{name}", self.0);
        // A name that looks as if it had a tail gets one, so that it can't be mistaken for another one's.
        if full.len() <= MAX_EXPOSED && !name.is_empty() && full.chars().all(is_legal) && !has_tail(&full) {
            return full;
        }
        let tail = Hash::of(full.as_bytes()).head(EXPOSED_TAIL);
        let head = legal(&full);
        let head = cut(&head, MAX_EXPOSED - EXPOSED_TAIL - JOINT.len());
        // The joint after the prefix stays whole even where nothing of the name does.
        let head = if head.len() > self.0.len() + JOINT.len() { head.trim_end_matches('_') } else { head };
        format!("{head}{JOINT}{tail}")
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for Slug {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, out)
    }
}

/// The prefix of an exposed name: what stands before its first `__`.
pub fn prefix_of(exposed: &str) -> Option<&str> {
    exposed.split_once(JOINT).map(|(prefix, _)| prefix)
}

/// Whether a server may call a tool so: `[A-Za-z0-9_.-]{1,128}`.
pub fn is_tool_name(name: &str) -> bool {
    (1..=128).contains(&name.len()) && name.chars().all(|c| is_legal(c) || c == '.')
}

fn is_plain_slug(key: &str) -> bool {
    (1..=MAX_SLUG).contains(&key.len())
        && key.chars().all(is_legal)
        && !key.contains(JOINT)
        && !key.starts_with('_')
        && !key.ends_with('_')
        && !key.eq_ignore_ascii_case(RESERVED)
        && !ends_in_hex(key, "-", SLUG_TAIL)
}

fn has_tail(exposed: &str) -> bool {
    ends_in_hex(exposed, JOINT, EXPOSED_TAIL)
}

fn ends_in_hex(text: &str, joint: &str, digits: usize) -> bool {
    let Some((head, tail)) = text.len().checked_sub(digits).and_then(|at| text.split_at_checked(at)) else {
        return false;
    };
    head.ends_with(joint) && tail.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_legal(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// ASCII only, so that it can be cut anywhere.
fn legal(text: &str) -> String {
    text.chars().map(|c| if is_legal(c) { c } else { '_' }).collect()
}

fn cut(ascii: &str, length: usize) -> &str {
    &ascii[..length.min(ascii.len())]
}
