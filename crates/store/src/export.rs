//! Audit rows for other programs: CSV that a spreadsheet can't take for formulas. JSON lines need nothing of ours: a
//! record is serializable.

use crate::AuditRecord;
use std::io::{self, Write};

/// Names of the columns, in order.
pub const CSV_COLUMNS: [&str; 20] = [
    "seq",
    "call",
    "kind",
    "at_ms",
    "client",
    "server",
    "item",
    "definition",
    "method",
    "effect",
    "outcome",
    "args_bytes",
    "result_bytes",
    "checked_us",
    "held_us",
    "queued_us",
    "ran_us",
    "answered_us",
    "arguments",
    "detail",
];

/// Writes the line of column names (RFC 4180: CRLF).
pub fn csv_head(out: &mut impl Write) -> io::Result<()> {
    write!(out, "{}\r\n", CSV_COLUMNS.join(","))
}

/// Writes one record. A cell that a spreadsheet would calculate gets an apostrophe in front; control characters become
/// visible escapes, so that the file can be shown in a terminal.
pub fn csv_row(record: &AuditRecord, out: &mut impl Write) -> io::Result<()> {
    let text = |out: &mut _, text: &str| cell(text, out);
    let numbers = |out: &mut dyn Write, numbers: &[u64]| numbers.iter().try_for_each(|number| write!(out, ",{number}"));
    write!(out, "{}", record.seq)?;
    for part in [&record.call, &record.kind] {
        text(out, part)?;
    }
    numbers(out, &[record.at_ms])?;
    for part in [
        &record.client,
        &record.server,
        &record.item,
        &record.definition,
        &record.method,
        &record.effect,
        &record.outcome,
    ] {
        text(out, part)?;
    }
    numbers(
        out,
        &[
            record.args_bytes,
            record.result_bytes,
            record.checked_us,
            record.held_us,
            record.queued_us,
            record.ran_us,
            record.answered_us,
        ],
    )?;
    text(out, &record.arguments.join("; "))?;
    text(out, &record.detail)?;
    out.write_all(b"\r\n")
}

/// A comma, and the text of a cell.
fn cell(text: &str, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b",")?;
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '|', '%']);
    let needs_quotes = is_formula || text.contains(|c: char| c.is_control() || matches!(c, ',' | '"' | ';' | ' '));
    if !needs_quotes {
        return out.write_all(text.as_bytes());
    }
    out.write_all(if is_formula { b"\"'" } else { b"\"" })?;
    for c in text.chars() {
        match c {
            '"' => out.write_all(b"\"\"")?,
            c if c.is_control() => write!(out, "{}", c.escape_default())?,
            c => write!(out, "{c}")?,
        }
    }
    out.write_all(b"\"")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn check(text: &str, expect: &str) {
        let mut out = Vec::new();
        cell(text, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), format!(",{expect}"), "{text:?}");
    }

    #[test]
    fn a_cell_is_never_a_formula_and_never_breaks_its_line() {
        check("read_text_file", "read_text_file");
        check("", "");
        check("=1+1", "\"'=1+1\"");
        check("+1", "\"'+1\"");
        check("-cmd|' /C calc'!A0", "\"'-cmd|' /C calc'!A0\"");
        check("@SUM(A1)", "\"'@SUM(A1)\"");
        check("\t=1", "\"'\\t=1\"");
        check("\r=1", "\"'\\r=1\"");
        check("a,b", "\"a,b\"");
        check("a;=b", "\"a;=b\"");
        check("say \"hi\"", "\"say \"\"hi\"\"\"");
        check("one\ntwo", "\"one\\ntwo\"");
        check("\u{1b}[31mred", "\"\\u{1b}[31mred\"");
        check("\u{9b}31m", "\"\\u{9b}31m\"");
        check("żółć", "żółć");
    }

    #[test]
    fn a_row_has_as_many_cells_as_there_are_columns() {
        let (mut head, mut row) = (Vec::new(), Vec::new());
        csv_head(&mut head).unwrap();
        let record =
            AuditRecord { seq: 7, at_ms: 9, client: "=c".into(), detail: "d".into(), ..AuditRecord::default() };
        csv_row(&record, &mut row).unwrap();
        assert_eq!(String::from_utf8(row.clone()).unwrap(), "7,,,9,\"'=c\",,,,,,,0,0,0,0,0,0,0,,d\r\n");
        assert_eq!(row.iter().filter(|&&byte| byte == b',').count(), CSV_COLUMNS.len() - 1);
        assert_eq!(head.iter().filter(|&&byte| byte == b',').count(), CSV_COLUMNS.len() - 1);
    }
}
