//! The surface that is written on: how wide, whether with colour, and what time it is.

use operator::visible::escape;
use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The surface.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Columns of the terminal; None: no terminal, nothing is cut.
    pub width: Option<usize>,
    /// Whether colour is wanted.
    pub colour: Colour,
    /// Milliseconds since 1970.
    pub now_ms: u64,
    /// Whose clock is shown.
    pub zone: Zone,
}

/// Whose clock is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// That of this machine.
    Local,
    /// Everybody's.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests must not depend on where they run"))]
    Utc,
}

/// Whether colour is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Never,
    /// ANSI colours.
    Ansi,
}

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ink {
    /// As it is.
    #[default]
    Plain,
    /// What the eye should find first.
    Bold,
    /// What only completes the picture.
    Faint,
    /// All is well.
    Good,
    /// On its way, or worth a look.
    Warm,
    /// Wrong.
    Bad,
}

impl Screen {
    /// The text in that ink. The text must hold nothing hidden.
    pub fn paint(&self, ink: Ink, text: &str) -> String {
        let code = match ink {
            _ if self.colour == Colour::Never || text.is_empty() => return text.into(),
            Ink::Plain => return text.into(),
            Ink::Bold => "1",
            Ink::Faint => "2",
            Ink::Good => "32",
            Ink::Warm => "33",
            Ink::Bad => "31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// One line of foreign text, cut to the columns that are left after `used`.
    pub fn line(&self, used: usize, text: &str) -> String {
        let shown = escape(text);
        match self.width {
            Some(width) => cut(&shown, width.saturating_sub(used).max(8)).into_owned(),
            None => shown.into_owned(),
        }
    }
}

/// Columns that a text takes.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// The text in at most `width` columns, with an ellipsis in place of what is left out.
pub fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if columns(text) <= width {
        return text.into();
    }
    let room = width.saturating_sub(1);
    let mut taken = 0;
    let mut end = 0;
    for (at, c) in text.char_indices() {
        taken += c.width().unwrap_or(0);
        if taken > room {
            break;
        }
        end = at + c.len_utf8();
    }
    format!("{}…", text[..end].trim_end()).into()
}

/// The text in lines of at most `width` columns, broken between words. A longer word stays whole, so that it can be
/// taken from the screen as it is.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let words = text.trim_start_matches(' ');
    // What a line is indented by is a part of it.
    let indent = &text[..text.len() - words.len()];
    let mut lines = Vec::new();
    let mut line = indent.to_owned();
    let mut taken = None;
    for word in words.split(' ') {
        let wide = columns(word);
        match taken {
            Some(used) if used + 1 + wide > width => {
                lines.push(std::mem::replace(&mut line, word.to_owned()));
                taken = Some(wide);
            }
            Some(used) => {
                line.push(' ');
                line.push_str(word);
                taken = Some(used + 1 + wide);
            }
            None => {
                line.push_str(word);
                taken = Some(columns(&line));
            }
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, width: usize, expect: &str) {
        assert_eq!(cut(text, width), expect);
        assert!(columns(&cut(text, width)) <= width.max(1));
    }

    #[test]
    fn cutting_counts_columns() {
        check("short", 5, "short");
        check("longer", 5, "long…");
        check("日本語の名前", 7, "日本語…");
        check("日本語の名前", 6, "日本…");
        check("two words", 5, "two…");
        check("x", 0, "…");
        check("", 0, "");
    }

    #[test]
    fn wrapping_breaks_between_words() {
        let check = |text: &str, width: usize, expect: &[&str]| assert_eq!(wrap(text, width), expect, "{text}");
        check("one two three", 7, &["one two", "three"]);
        check("one two three", 80, &["one two three"]);
        check("a-word-that-is-long and on", 6, &["a-word-that-is-long", "and on"]);
        check("日本 語の", 5, &["日本", "語の"]);
        check("", 5, &[""]);
        check("  in  the middle", 9, &["  in  the", "middle"]);
        check("   ", 5, &["   "]);
    }
}
