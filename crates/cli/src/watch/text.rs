//! Lines of the detail: inked pieces, broken to a width. Everything in them is visible text.

use crate::show::screen::{Ink, columns, wrap};
use unicode_width::UnicodeWidthChar;

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line(pub Vec<(Ink, String)>);

impl Line {
    /// A line of one ink.
    pub fn of(ink: Ink, text: impl Into<String>) -> Line {
        Line(vec![(ink, text.into())])
    }
    /// The same with another piece.
    pub fn and(mut self, ink: Ink, text: impl Into<String>) -> Line {
        self.0.push((ink, text.into()));
        self
    }
}

/// A text cut into pieces of at most `width` columns, anywhere: nothing is dropped.
pub fn chop(text: &str, width: usize) -> Vec<&str> {
    let width = width.max(2);
    let mut out = Vec::new();
    let (mut start, mut taken) = (0, 0);
    for (at, c) in text.char_indices() {
        let wide = c.width().unwrap_or(0);
        if taken + wide > width {
            out.push(&text[start..at]);
            (start, taken) = (at, 0);
        }
        taken += wide;
    }
    out.push(&text[start..]);
    out
}

/// Sentences broken between words, and longer words anywhere.
pub fn prose(text: &str, width: usize) -> Vec<String> {
    let lines = text.lines().flat_map(|line| wrap(line, width));
    lines.flat_map(|line| chop(&line, width).into_iter().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Text with spaces behind it up to a width.
pub fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chopping_loses_nothing() {
        let check = |text: &str, width: usize, expect: &[&str]| {
            assert_eq!(chop(text, width), expect);
            assert_eq!(chop(text, width).concat(), text);
        };
        check("", 5, &[""]);
        check("abcdefg", 3, &["abc", "def", "g"]);
        check("日本語", 5, &["日本", "語"]);
        check("日本", 1, &["日", "本"]);
        assert_eq!(prose("one twothree\nx", 5), ["one", "twoth", "ree", "x"]);
    }
}
