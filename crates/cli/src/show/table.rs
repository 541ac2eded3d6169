//! Tables: aligned, and on a terminal never wider than it.

use super::screen::{Ink, Screen, columns, cut};
use operator::visible::escape;

/// Between two columns.
const GAP: &str = "  ";
/// A long text is not cut below this while something else can go.
const READABLE: usize = 24;
/// Nothing is cut below this.
const NARROWEST: usize = 6;

/// What a column does where there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Yield {
    /// Stays whole to the last.
    Never,
    /// Is cut, the widest first.
    Cut,
    /// Is left out, the last one first.
    Leave,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    head: &'static str,
    gives: Yield,
    to_the_right: bool,
}

impl Column {
    /// Short words that must stay whole.
    pub const fn word(head: &'static str) -> Column {
        Column { head, gives: Yield::Never, to_the_right: false }
    }
    /// Text that may be cut.
    pub const fn text(head: &'static str) -> Column {
        Column { head, gives: Yield::Cut, to_the_right: false }
    }
    /// Numbers, one under the other.
    pub const fn number(head: &'static str) -> Column {
        Column { head, gives: Yield::Never, to_the_right: true }
    }
    /// The same, but left out where there is no room.
    pub const fn or_not(self) -> Column {
        Column { gives: Yield::Leave, ..self }
    }
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
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(columns: &[Column]) -> Table {
        let heads = columns.iter().map(|column| Cell::new(Ink::Faint, column.head)).collect();
        Table { columns: columns.to_vec(), rows: vec![heads] }
    }

    /// Adds a row: one cell per column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as text. Columns that are empty in every row are left out.
    pub fn draw(&self, screen: &Screen, indent: usize) -> String {
        let natural: Vec<usize> = (0..self.columns.len()).map(|at| self.widest(at)).collect();
        let mut shown: Vec<usize> = (0..self.columns.len()).filter(|&at| self.is_used(at)).collect();
        let mut widths: Vec<usize> = shown.iter().map(|&at| natural[at]).collect();
        if let Some(width) = screen.width {
            self.fit(&mut shown, &mut widths, width.saturating_sub(indent));
        }
        let mut out = String::new();
        for row in &self.rows {
            out.push_str(&" ".repeat(indent));
            self.draw_row(&mut out, screen, &shown, &widths, row);
        }
        out
    }

    fn widest(&self, at: usize) -> usize {
        self.rows.iter().filter_map(|row| row.get(at)).map(|cell| columns(&cell.text)).max().unwrap_or(0)
    }

    fn is_used(&self, at: usize) -> bool {
        self.rows.iter().skip(1).any(|row| row.get(at).is_some_and(|cell| !cell.text.is_empty()))
    }

    /// First the long texts give, as long as they stay readable; then columns that may be left out go; then everything gives.
    fn fit(&self, shown: &mut Vec<usize>, widths: &mut Vec<usize>, room: usize) {
        loop {
            let gives = |place: usize| self.columns[shown[place]].gives == Yield::Cut;
            narrow(widths, room, READABLE, gives);
            let left_out = shown.iter().rposition(|&at| self.columns[at].gives == Yield::Leave);
            match left_out {
                Some(place) if total(widths) > room => {
                    shown.remove(place);
                    *widths = shown.iter().map(|&at| self.widest(at)).collect();
                }
                _ => break,
            }
        }
        let gives = |place: usize| self.columns[shown[place]].gives == Yield::Cut;
        narrow(widths, room, NARROWEST, gives);
        narrow(widths, room, NARROWEST, |_| true);
    }

    fn draw_row(&self, out: &mut String, screen: &Screen, shown: &[usize], widths: &[usize], row: &[Cell]) {
        let last = shown.iter().rposition(|&at| !row[at].text.is_empty()).unwrap_or(0);
        for (place, (&at, &width)) in shown.iter().zip(widths).enumerate().take(last + 1) {
            if place > 0 {
                out.push_str(GAP);
            }
            let text = cut(&row[at].text, width);
            let space = " ".repeat(width.saturating_sub(columns(&text)));
            let painted = screen.paint(row[at].ink, &text);
            if self.columns[at].to_the_right {
                out.push_str(&space);
            }
            out.push_str(&painted);
            if !self.columns[at].to_the_right && place != last {
                out.push_str(&space);
            }
        }
        out.push('\n');
    }
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

/// Takes from the widest of those that give, equally, until all fits or none of them is wider than `least`.
fn narrow(widths: &mut [usize], room: usize, least: usize, gives: impl Fn(usize) -> bool) {
    loop {
        let over = total(widths).saturating_sub(room);
        let giving = || (0..widths.len()).filter(|&place| gives(place) && widths[place] > least);
        let Some(widest) = giving().map(|place| widths[place]).max() else { return };
        if over == 0 {
            return;
        }
        let next = giving().map(|place| widths[place]).filter(|&width| width < widest).max().unwrap_or(least);
        let widest: Vec<usize> = giving().filter(|&place| widths[place] == widest).collect();
        for place in &widest {
            widths[*place] -= over.div_ceil(widest.len()).min(widths[*place] - next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(widths: &[usize], room: usize, expect: &[usize]) {
        let mut narrowed = widths.to_vec();
        narrow(&mut narrowed, room, 8, |place| place != 0);
        assert_eq!(narrowed, expect);
    }

    #[test]
    fn the_widest_give_first() {
        check(&[10, 20], 40, &[10, 20]);
        check(&[10, 100], 40, &[10, 28]);
        check(&[10, 100, 90], 64, &[10, 25, 25]);
        check(&[10, 100, 20], 50, &[10, 18, 18]);
        check(&[100, 10], 20, &[100, 8]);
        check(&[4, 3], 0, &[4, 3]);
        check(&[], 10, &[]);
    }

    #[test]
    fn words_stay_whole_and_numbers_go_before_text_is_unreadable() {
        let heads =
            [Column::text("NAME"), Column::word("STATE"), Column::number("TOOLS").or_not(), Column::text("NOTE")];
        let mut table = Table::new(&heads);
        let long = "a reason that is told at some length";
        table.row(["a-rather-long-name".into(), "installing".into(), "12".into(), long.into()]);
        let draw = |width| {
            let (colour, zone) = (super::super::screen::Colour::Never, super::super::screen::Zone::Utc);
            table.draw(&Screen { width: Some(width), colour, now_ms: 0, zone }, 0)
        };
        assert!(draw(80).ends_with("a-rather-long-name  installing     12  a reason that is told at some length\n"));
        assert!(
            draw(70).ends_with("a-rather-long-name  installing     12  a reason that is told at some…\n"),
            "{}",
            draw(70)
        );
        assert!(draw(60).ends_with("a-rather-long-name  installing  a reason that is told at so…\n"), "{}", draw(60));
        assert!(draw(40).ends_with("a-rather-lon…  installing  a reason tha…\n"), "{}", draw(40));
    }
}
