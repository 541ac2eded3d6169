//! Cells on a terminal that may think otherwise of their widths: what was drawn there before never shows through, and what
//! stands beside them stays in its place. Decides nothing about what is drawn.

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect, Size};
use std::collections::BTreeMap;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// A terminal. Where a row holds, or held, anything of which terminals differ, the whole row is written, and the cursor put
/// anew after each such cell.
pub struct Steady<W: Write> {
    inner: CrosstermBackend<W>,
    /// What should be seen.
    seen: Buffer,
}

impl<W: Write> Steady<W> {
    /// Over a terminal that shows nothing yet.
    pub fn new(writer: W, size: (u16, u16)) -> Steady<W> {
        let seen = Buffer::empty(Rect::new(0, 0, size.0, size.1));
        Steady { inner: CrosstermBackend::new(writer), seen }
    }

    fn emptied(&mut self) {
        // Where the size cannot be told, it is as it was.
        let area = self.inner.size().map_or(self.seen.area, |size| Rect::new(0, 0, size.width, size.height));
        self.seen = Buffer::empty(area);
    }

    fn row(&self, y: u16) -> impl Iterator<Item = &Cell> {
        (0..self.seen.area.width).filter_map(move |x| self.seen.cell((x, y)))
    }

    fn is_unsure(&self, y: u16) -> bool {
        self.row(y).any(|cell| !is_sure(cell.symbol()))
    }

    /// Puts a cell where it should be seen; what a wide one covers is blank.
    fn put(&mut self, x: u16, y: u16, cell: &Cell) {
        for covered in 1..wide(cell) {
            if let Some(under) = self.seen.cell_mut((x.saturating_add(covered), y)) {
                *under = blank(cell);
            }
        }
        if let Some(place) = self.seen.cell_mut((x, y)) {
            *place = cell.clone();
        }
    }

    /// The columns of a row that have a cell of their own.
    fn columns(&self, y: u16) -> Vec<u16> {
        let mut columns = Vec::new();
        let mut x = 0;
        while let Some(cell) = self.seen.cell((x, y)) {
            columns.push(x);
            x = x.saturating_add(wide(cell));
        }
        columns
    }

    /// Cells in runs: the cursor is put anew where each begins.
    fn runs(&self, touched: BTreeMap<u16, (bool, Vec<u16>)>) -> Vec<Vec<(u16, u16, Cell)>> {
        let mut runs = vec![Vec::new()];
        for (y, (was_unsure, columns)) in touched {
            let columns = if was_unsure || self.is_unsure(y) { self.columns(y) } else { columns };
            for x in columns {
                let Some(cell) = self.seen.cell((x, y)) else { continue };
                if is_sure(cell.symbol()) {
                    if let Some(run) = runs.last_mut() {
                        run.push((x, y, cell.clone()));
                    }
                    continue;
                }
                // Blank first: it may cover less than we think.
                runs.push((0..wide(cell)).map(|more| (x.saturating_add(more), y, blank(cell))).collect());
                runs.push(vec![(x, y, cell.clone())]);
                runs.push(Vec::new());
            }
        }
        runs.retain(|run| !run.is_empty());
        runs
    }
}

fn wide(cell: &Cell) -> u16 {
    u16::try_from(cell.symbol().width()).unwrap_or(u16::MAX).max(1)
}

fn blank(cell: &Cell) -> Cell {
    let mut blank = cell.clone();
    blank.set_symbol(" ");
    blank
}

/// Whether every terminal thinks the same of a symbol: one character of those that are as wide everywhere.
fn is_sure(symbol: &str) -> bool {
    let mut chars = symbol.chars();
    let (Some(c), None) = (chars.next(), chars.next()) else { return symbol.is_empty() };
    matches!(c, ' '..='~' | '─' | '│' | '…' | '·' | '•' | '●' | '✗' | '↑' | '↓' | '⟨' | '⟩' | '\u{C0}'..='\u{24F}'
        | '\u{391}'..='\u{3C9}' | '\u{410}'..='\u{44F}' | '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}'
        | '\u{4E00}'..='\u{9FCC}' | '\u{AC00}'..='\u{D7A3}')
}

impl<W: Write> Backend for Steady<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut touched: BTreeMap<u16, (bool, Vec<u16>)> = BTreeMap::new();
        for (x, y, cell) in content {
            let was_unsure = || (self.is_unsure(y), Vec::new());
            touched.entry(y).or_insert_with(was_unsure).1.push(x);
            self.put(x, y, cell);
        }
        for run in self.runs(touched) {
            self.inner.draw(run.iter().map(|(x, y, cell)| (*x, *y, cell)))?;
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.inner.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()?;
        self.emptied();
        Ok(())
    }

    fn clear_region(&mut self, part: ClearType) -> io::Result<()> {
        self.inner.clear_region(part)?;
        if part == ClearType::All {
            self.emptied();
        }
        Ok(())
    }

    fn size(&self) -> io::Result<Size> {
        self.inner.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.inner.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use ratatui::style::Style;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// What was written, also while somebody else writes.
    #[derive(Clone, Default)]
    struct Tape(Rc<RefCell<Vec<u8>>>);

    impl Write for Tape {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is written when a row of one text becomes one of another, each place of the cursor as `⟦column⟧`.
    fn check(before: &str, after: &str, expect: &str) {
        let tape = Tape::default();
        let area = Rect::new(0, 0, 8, 1);
        let of = |text: &str| {
            let mut buffer = Buffer::empty(area);
            buffer.set_string(0, 0, text, Style::default());
            buffer
        };
        let (blank, before, after) = (Buffer::empty(area), of(before), of(after));
        let mut steady = Steady::new(tape.clone(), (8, 1));
        steady.draw(blank.diff(&before).into_iter()).unwrap();
        tape.0.borrow_mut().clear();
        steady.draw(before.diff(&after).into_iter()).unwrap();
        let text = String::from_utf8(tape.0.borrow().clone()).unwrap();
        let mut seen = String::new();
        for piece in text.split("\u{1b}[") {
            match piece.split_once('H') {
                Some((place, rest)) if place.starts_with("1;") => seen.push_str(&format!("⟦{}⟧{rest}", &place[2..])),
                _ => seen.push_str(piece.split_once('m').map_or(piece, |(_, rest)| rest)),
            }
        }
        assert_eq!(seen, expect, "{text:?}");
    }

    #[test]
    fn only_what_changed_is_written_where_every_terminal_agrees() {
        check("abc", "abd", "⟦3⟧d");
        check("日本", "日木", "⟦3⟧木");
        check("─│", "─·", "⟦2⟧·");
    }

    #[test]
    fn a_row_with_anything_else_is_written_whole_and_kept_in_place() {
        let heart = "❤\u{FE0F}";
        check("abcdefgh", &format!("ab{heart}"), "⟦1⟧ab⟦3⟧  ⟦3⟧❤\u{FE0F}⟦5⟧    ");
        check(&format!("ab{heart}x"), "abyyx", "⟦1⟧abyyx   ");
        check("aबिx", "aबिy", "⟦1⟧a⟦2⟧  ⟦2⟧बि⟦4⟧y    ");
    }
}
