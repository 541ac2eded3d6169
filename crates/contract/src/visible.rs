//! Makes hidden text visible for people: controls, ANSI, bidi, zero width, tags, variation selectors and whatever else
//! does not show as what it is are written as `\u{202E}`. For human views only: nothing that a model or a server gets passes through here.

use std::borrow::Cow;
use std::fmt::Write;
use unicode_normalization::char::is_combining_mark;

/// Marks that are shown upon one letter: as many as writing needs. A stack of them would be drawn over its neighbours.
const MOST_MARKS: usize = 4;

/// What kind of hidden character it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hidden {
    /// C0 and C1 controls, with ESC that begins ANSI sequences and OSC links; line and paragraph separators.
    Control,
    /// Marks and overrides that change the direction of what follows.
    Bidi,
    /// Takes no room: zero-width spaces and joiners, fillers, invisible operators, soft hyphens.
    ZeroWidth,
    /// Tag characters and the other ignorable code points of their plane.
    Tag,
    /// Variation selectors, which can carry any bytes.
    Variation,
}

impl Hidden {
    /// The word for it in findings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Hidden::Control => "control character",
            Hidden::Bidi => "text direction mark",
            Hidden::ZeroWidth => "zero-width character",
            Hidden::Tag => "tag character",
            Hidden::Variation => "variation selector",
        }
    }

    /// The kind of a character by itself; None for one that shows.
    pub const fn of(c: char) -> Option<Hidden> {
        Some(match c {
            '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}' | '\u{2028}' | '\u{2029}' => Hidden::Control,
            '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => Hidden::Bidi,
            '\u{AD}' | '\u{34F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180E}' => Hidden::ZeroWidth,
            '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{2065}' | '\u{206A}'..='\u{206F}' => Hidden::ZeroWidth,
            '\u{2800}' | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' => Hidden::ZeroWidth,
            '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' => Hidden::ZeroWidth,
            '\u{180B}'..='\u{180D}' | '\u{180F}' | '\u{FE00}'..='\u{FE0F}' => Hidden::Variation,
            '\u{E0100}'..='\u{E01EF}' => Hidden::Variation,
            '\u{E0000}'..='\u{E0FFF}' => Hidden::Tag,
            _ => return None,
        })
    }
}

/// Whether a character shows as what it is, wherever a person may look: hidden ones do not, nor do other format
/// characters, those of private use, those that are none, and spaces that look like the plain one.
pub const fn shows(c: char) -> bool {
    let is_format = matches!(c, '\u{600}'..='\u{605}' | '\u{6DD}' | '\u{70F}' | '\u{890}' | '\u{891}' | '\u{8E2}'
        | '\u{FFFC}' | '\u{110BD}' | '\u{110CD}' | '\u{13430}'..='\u{1343F}' | '\u{16FE4}' | '\u{1D159}');
    let is_space = matches!(c, '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}');
    let is_nobodys =
        matches!(c, '\u{E000}'..='\u{F8FF}' | '\u{FDD0}'..='\u{FDEF}' | '\u{F0000}'..) || (c as u32) & 0xFFFE == 0xFFFE;
    Hidden::of(c).is_none() && !is_format && !is_space && !is_nobodys
}

/// `text` on one line with everything hidden made visible; line ends and tabs as `\n`, `\r`, `\t`.
pub fn escape(text: &str) -> Cow<'_, str> {
    escaped(text, |c| !shows(c))
}

/// The same for text of several lines: line feeds and tabs stay.
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| !matches!(c, '\n' | '\t') && !shows(c))
}

/// The same as [`escape`] for bytes that may be no UTF-8: what isn't is written as `\xFF`.
pub fn escape_bytes(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return escape(text);
    }
    let mut out = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        out.push_str(&escape(chunk.valid()));
        for byte in chunk.invalid() {
            // Writing to a string can't fail.
            let _ = write!(out, "\\x{byte:02X}");
        }
    }
    Cow::Owned(out)
}

/// The hidden characters of a text, without those that belong to an emoji; `\n`, `\r` and `\t` don't count.
pub fn hidden(text: &str) -> impl Iterator<Item = (char, Hidden)> {
    hidden_at(text).map(|(_, c, kind)| (c, kind))
}

/// The same, with where each stands.
pub(crate) fn hidden_at(text: &str) -> impl Iterator<Item = (usize, char, Hidden)> {
    let plain = text.bytes().all(|byte| (0x20..0x7F).contains(&byte) || matches!(byte, b'\n' | b'\r' | b'\t'));
    let text = if plain { "" } else { text };
    text.char_indices().filter_map(|(at, c)| {
        let kind = Hidden::of(c).filter(|_| !matches!(c, '\n' | '\r' | '\t'))?;
        (!in_emoji(text, at, c)).then_some((at, c, kind))
    })
}

fn escaped(text: &str, is_hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    // Marks upon the letter before; where there is no letter, none may stand.
    let mut marks = MOST_MARKS;
    let mut out: Option<String> = None;
    for (at, c) in text.char_indices() {
        let is_mark = !c.is_ascii() && is_combining_mark(c);
        let is_shown = (!is_hidden(c) || stays(text, at, c)) && (!is_mark || marks < MOST_MARKS);
        marks = match (is_mark, is_shown) {
            (true, _) => marks.saturating_add(1),
            (false, true) if !c.is_control() => 0,
            (false, _) => MOST_MARKS,
        };
        if is_shown {
            if let Some(out) = &mut out {
                out.push(c);
            }
            continue;
        }
        let out = out.get_or_insert_with(|| {
            let mut out = String::with_capacity(text.len() + 16);
            out.push_str(&text[..at]);
            out
        });
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => {
                // Writing to a string can't fail.
                let _ = write!(out, "\\u{{{:X}}}", u32::from(c));
            }
        }
    }
    out.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Whether a hidden character is shown as it is: the selector of an emoji. A joiner is not, since terminals differ in how
/// much of what it joins they show.
fn stays(text: &str, at: usize, c: char) -> bool {
    c != '\u{200D}' && in_emoji(text, at, c)
}

/// Whether the character at `at` is the one selector or joiner that an emoji may have in this place.
fn in_emoji(text: &str, at: usize, c: char) -> bool {
    let before = text[..at].chars().next_back();
    match c {
        '\u{FE0F}' => before.is_some_and(|base| is_pictograph(base) || matches!(base, '#' | '*' | '0'..='9')),
        '\u{200D}' => {
            let after = text[at + c.len_utf8()..].chars().next();
            before.is_some_and(|base| is_pictograph(base) || base == '\u{FE0F}') && after.is_some_and(is_pictograph)
        }
        _ => false,
    }
}

const fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{A9}' | '\u{AE}' | '\u{203C}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{27FF}'
        | '\u{2900}'..='\u{2BFF}' | '\u{3030}' | '\u{303D}' | '\u{3297}' | '\u{3299}' | '\u{1F000}'..='\u{1FAFF}')
}
