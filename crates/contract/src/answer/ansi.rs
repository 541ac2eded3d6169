//! Finds what acts on terminals or carries hidden letters: escape sequences with all that belongs to them, and Unicode
//! tag characters. Every introducer is found, complete sequence or not, so that none is left to meet a later text.

use std::ops::Range;

/// Longest parameters of a control sequence, and longest string of a command, in bytes; longer ones lose only their
/// introducer, so that no text is swallowed.
const MAX_PARAMETERS: usize = 64;
const MAX_STRING: usize = 4096;
/// The flags of England, Scotland and Wales: the only emoji that are made of tag characters.
const FLAGS: [&str; 3] = [
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A tag character.
    Tag,
    /// A terminal escape sequence.
    Escape,
}

/// One thing to be taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

/// Everything to be taken out of a text, from left to right.
pub(super) fn find(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (length, kind) = match c {
            '\u{1F3F4}' => {
                let flag = FLAGS.iter().find(|flag| rest.starts_with(**flag));
                at += flag.map_or(c.len_utf8(), |flag| flag.len());
                continue;
            }
            '\u{E0000}'..='\u{E007F}' => (c.len_utf8(), Kind::Tag),
            '\u{1B}' | '\u{90}' | '\u{98}' | '\u{9B}'..='\u{9F}' => (sequence(rest), Kind::Escape),
            _ => {
                at += c.len_utf8();
                continue;
            }
        };
        found.push(Found { span: at..at + length, kind });
        at += length;
    }
    found
}

/// The length of the sequence that a text begins with (ECMA-48).
fn sequence(text: &str) -> usize {
    let mut chars = text.chars();
    let first = chars.next().unwrap_or_default();
    let (introducer, selector) = if first == '\u{1B}' {
        match chars.next() {
            Some(c @ '\u{20}'..='\u{7E}') => (2, c),
            _ => return 1,
        }
    } else {
        // A C1 control is ESC and the letter that stands 0x40 below it.
        (first.len_utf8(), char::from_u32(u32::from(first) - 0x40).unwrap_or_default())
    };
    let body = &text[introducer..];
    introducer
        + match selector {
            '[' => control_sequence(body),
            ']' | 'P' | 'X' | '^' | '_' => command_string(body),
            ' '..='/' => designation(body),
            _ => 0,
        }
}

/// Parameters, intermediates and the final byte; nothing where they are none.
fn control_sequence(body: &str) -> usize {
    let end = body.find(|c| !matches!(c, '0'..='?')).unwrap_or(body.len());
    let last = body[end..].find(|c| !matches!(c, ' '..='/')).map(|at| end + at);
    match last.filter(|at| *at <= MAX_PARAMETERS) {
        Some(at) if matches!(body.as_bytes()[at], b'@'..=b'~') => at + 1,
        _ => 0,
    }
}

/// Further intermediates and the final byte; nothing where there is none.
fn designation(body: &str) -> usize {
    let end = body.find(|c| !matches!(c, ' '..='/')).filter(|at| *at <= MAX_PARAMETERS);
    end.filter(|at| matches!(body.as_bytes()[*at], b'0'..=b'~')).map_or(0, |at| at + 1)
}

/// Everything up to BEL or the string terminator, both included; nothing where none comes.
fn command_string(body: &str) -> usize {
    // Another introducer ends it as well, so that many of them are not each looked at to the end.
    let ends = |c: char| matches!(c, '\u{7}' | '\u{1B}' | '\u{90}' | '\u{98}' | '\u{9B}'..='\u{9F}');
    let end = body.find(ends).filter(|at| *at <= MAX_STRING);
    let Some(end) = end else { return 0 };
    match &body[end..] {
        rest if rest.starts_with('\u{1B}') && !rest.starts_with("\u{1B}\\") => 0,
        rest if rest.starts_with('\u{7}') => end + 1,
        rest if rest.starts_with(['\u{1B}', '\u{9C}']) => end + 2,
        _ => 0,
    }
}
