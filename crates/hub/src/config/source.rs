//! The text of a config file as a tree with positions. Knows nothing of keys.

use super::problem::Problem;
use jsonc_parser::ast::Value;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use std::path::Path;

/// JSON with comments and trailing commas, and nothing else.
pub(super) const SYNTAX: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Byte order mark, kept by edits and not counted as a column.
pub(super) const BOM: char = '\u{feff}';

/// A text and where it came from.
pub(super) struct Source<'a> {
    pub(super) file: &'a Path,
    /// Without a byte order mark.
    pub(super) text: &'a str,
}

impl<'a> Source<'a> {
    pub(super) fn new(file: &'a Path, text: &'a str) -> Source<'a> {
        Source { file, text: text.strip_prefix(BOM).unwrap_or(text) }
    }

    /// The tree, or the one problem that a text has that does not parse.
    pub(super) fn parse(&self) -> Result<Value<'a>, Problem> {
        let parsed = parse_to_ast(self.text, &CollectOptions::default(), &SYNTAX)
            .map_err(|error| self.problem(error.range().start, "", error.kind().to_string()))?;
        parsed.value.ok_or_else(|| self.problem(0, "", "the file is empty; a config without servers is `{}`".into()))
    }

    pub(super) fn problem(&self, offset: usize, key_path: &str, message: String) -> Problem {
        let (line, column) = self.position(offset);
        Problem { file: self.file.to_owned(), line, column, key_path: key_path.to_owned(), message }
    }

    /// A problem where the text ends.
    pub(super) fn end(&self, message: String) -> Problem {
        self.problem(self.text.len(), "", message)
    }

    /// Line and column, both from 1; a column is a character.
    pub(super) fn position(&self, offset: usize) -> (u32, u32) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.bytes().filter(|byte| *byte == b'\n').count();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before[start..].chars().count();
        (count(line), count(column))
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n + 1).unwrap_or(u32::MAX)
}
