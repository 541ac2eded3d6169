//! One string of a received text as its reader will see it: escapes read, tag characters and terminal escapes gone, and
//! for every byte the place where it came from. Says what to change, changes nothing.

use super::Changes;
use super::ansi;
use crate::tree::Escape;
use std::ops::Range;

/// The replacement of half a surrogate pair.
const HALF: &str = "\\uFFFD";

/// A change to the received text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    /// What is replaced.
    pub(super) span: Range<usize>,
    /// By what; plain ASCII that needs no escapes.
    pub(super) by: &'static str,
}

/// A string as it will be read.
pub(super) struct View<'r> {
    pub(super) text: String,
    raw: &'r [u8],
    /// For every byte of the text, where the character that it belongs to, or the byte itself, begins in `raw`.
    origins: Vec<u32>,
}

impl<'r> View<'r> {
    /// Reads the characters of a string, which stand in `raw` at `inner`. What has to go in any case is added to
    /// `edits` and counted.
    pub(super) fn of(raw: &'r str, inner: Range<usize>, edits: &mut Vec<Edit>, changes: &mut Changes) -> View<'r> {
        let mut view = View { text: String::with_capacity(inner.len()), raw: raw.as_bytes(), origins: Vec::new() };
        let mut at = inner.start;
        while at < inner.end {
            let run = memchr::memchr(b'\\', &raw.as_bytes()[at..inner.end]).map_or(inner.end, |found| at + found);
            view.text.push_str(&raw[at..run]);
            view.origins.extend((at..run).map(narrow));
            at = run;
            if at < inner.end {
                let escape = Escape::at(raw.as_bytes(), at);
                view.text.push(escape.c);
                view.origins.resize(view.text.len(), narrow(at));
                if escape.is_half {
                    edits.push(Edit { span: at..at + escape.length, by: HALF });
                    changes.surrogates += 1;
                }
                at += escape.length;
            }
        }
        view.strip(edits, changes);
        view
    }

    /// Takes out tag characters and terminal escapes.
    fn strip(&mut self, edits: &mut Vec<Edit>, changes: &mut Changes) {
        let gone = ansi::find(&self.text);
        if gone.is_empty() {
            return;
        }
        let mut text = String::with_capacity(self.text.len());
        let mut origins = Vec::with_capacity(self.origins.len());
        let mut done = 0;
        for found in gone {
            *match found.kind {
                ansi::Kind::Tag => &mut changes.tags,
                ansi::Kind::Escape => &mut changes.ansi,
            } += 1;
            edits.push(Edit { span: self.origin(found.span.clone()), by: "" });
            text.push_str(&self.text[done..found.span.start]);
            origins.extend_from_slice(&self.origins[done..found.span.start]);
            done = found.span.end;
        }
        text.push_str(&self.text[done..]);
        origins.extend_from_slice(&self.origins[done..]);
        (self.text, self.origins) = (text, origins);
    }

    /// Where a part of the text, not an empty one, came from.
    pub(super) fn origin(&self, part: Range<usize>) -> Range<usize> {
        let place = |at: usize| self.origins[at] as usize;
        let last = place(part.end - 1);
        let length = if self.raw[last] == b'\\' { Escape::at(self.raw, last).length } else { 1 };
        place(part.start)..last + length
    }
}

/// Trees are refused where an offset does not fit.
#[allow(clippy::cast_possible_truncation)]
fn narrow(at: usize) -> u32 {
    at as u32
}
