//! Tables: aligned, and on a terminal never wider than it.

use super::screen::{Ink, Screen, columns, cut};
use operator::visible::escape;

/// Between two columns.
const GAP: &str = "  ";
/// A column is not made narrower than this while another one still has more.
const NARROWEST: usize = 8;

/// Where a column's text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// One cell: made visible when it is made.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    ink: Ink,
}

impl Cell {
    /// A cell with text of anybody.
    pub fn new(ink: Ink, text: &str) -> Cell {
        Cell { text: escape(text).into_owned(), ink }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::new(Ink::Plain, text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::new(Ink::Plain, &text)
    }
}

/// A table under construction.
pub struct Table {
    heads: Vec<(Cell, Side)>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with these columns; a head that begins with `>` stands to the right.
    pub fn new(heads: &[&str]) -> Table {
        let head = |head: &&str| match head.strip_prefix('>') {
            Some(head) => (Cell::new(Ink::Faint, head), Side::Right),
            None => (Cell::new(Ink::Faint, head), Side::Left),
        };
        Table { heads: heads.iter().map(head).collect(), rows: Vec::new() }
    }

    /// Adds a row: one cell per column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as text. Columns that are empty in every row are left out.
    pub fn draw(mut self, screen: &Screen, indent: usize) -> String {
        self.drop_empty_columns();
        let mut widths: Vec<usize> = self.heads.iter().map(|(head, _)| columns(&head.text)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(columns(&cell.text));
            }
        }
        if let Some(screen_width) = screen.width {
            fit(&mut widths, screen_width.saturating_sub(indent));
        }
        let heads: Vec<Cell> = self.heads.iter().map(|(head, _)| head.clone()).collect();
        let mut out = String::new();
        for row in std::iter::once(&heads).chain(&self.rows) {
            out.push_str(&" ".repeat(indent));
            self.draw_row(&mut out, screen, &widths, row);
        }
        out
    }

    fn draw_row(&self, out: &mut String, screen: &Screen, widths: &[usize], row: &[Cell]) {
        let last = row.iter().rposition(|cell| !cell.text.is_empty()).unwrap_or(0);
        for (at, ((cell, &width), (_, side))) in row.iter().zip(widths).zip(&self.heads).enumerate().take(last + 1) {
            if at > 0 {
                out.push_str(GAP);
            }
            let text = cut(&cell.text, width);
            let space = " ".repeat(width - columns(&text).min(width));
            let painted = screen.paint(cell.ink, &text);
            match side {
                Side::Right => {
                    out.push_str(&space);
                    out.push_str(&painted);
                }
                Side::Left if at == last => out.push_str(&painted),
                Side::Left => {
                    out.push_str(&painted);
                    out.push_str(&space);
                }
            }
        }
        out.push('\n');
    }

    fn drop_empty_columns(&mut self) {
        let used: Vec<bool> = (0..self.heads.len())
            .map(|at| self.rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.text.is_empty())))
            .collect();
        retain(&mut self.heads, &used);
        for row in &mut self.rows {
            retain(row, &used);
        }
    }
}

fn retain<T>(all: &mut Vec<T>, used: &[bool]) {
    let mut used = used.iter();
    all.retain(|_| used.next().copied().unwrap_or(false));
}

/// Takes from the widest columns, equally, until the row fits or every column is as narrow as it may be.
fn fit(widths: &mut [usize], room: usize) {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    loop {
        let total = widths.iter().sum::<usize>() + gaps;
        let Some(widest) = widths.iter().copied().max() else { return };
        if total <= room || widest <= NARROWEST {
            return;
        }
        let next = widths.iter().copied().filter(|&width| width < widest).max().unwrap_or(0).max(NARROWEST);
        let many = widths.iter().filter(|&&width| width == widest).count();
        let each = (total - room).div_ceil(many).min(widest - next).max(1);
        for width in widths.iter_mut().filter(|width| **width == widest) {
            *width = (*width - each).max(NARROWEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(widths: &[usize], room: usize, expect: &[usize]) {
        let mut fitted = widths.to_vec();
        fit(&mut fitted, room);
        assert_eq!(fitted, expect);
    }

    #[test]
    fn the_widest_give_first() {
        check(&[10, 20], 40, &[10, 20]);
        check(&[10, 100], 40, &[10, 28]);
        check(&[10, 100, 90], 64, &[10, 25, 25]);
        check(&[10, 100, 20], 50, &[10, 18, 18]);
        check(&[4, 100], 10, &[4, 8]);
        check(&[], 10, &[]);
    }
}
