//! What lies over the rest: help, and why edited arguments were refused.

use super::Pen;
use crate::show::screen::Ink;
use crate::watch::machine::{Mode, reasons};
use crate::watch::text::Line;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Widget};

const HELP: [(&str, &str); 19] = [
    ("j k ↓ ↑", "move in the list; scroll in the detail"),
    ("g G", "first, last"),
    ("Enter Tab", "to the detail and back"),
    ("Space b", "scroll the detail by a page"),
    ("a", "approve this call, once"),
    ("s", "approve it for this session of its client"),
    ("t", "approve this tool for this client until it changes"),
    ("e", "edit the arguments in $EDITOR, then approve them"),
    ("d", "deny, with a reason for the agent"),
    ("r", "the arguments as they would be sent, and back"),
    ("n p", "next and previous from within the detail"),
    ("/", "search; Esc shows all again"),
    ("f", "only one server, the next, all"),
    ("o", "oldest or newest first"),
    ("q", "quit; what waits goes on waiting"),
    ("", ""),
    ("", "The list: time left, tool, effect, client (? its own word)."),
    ("", "A decision needs the call still on screen for 0.7 s,"),
    ("", "and its arguments read to their end."),
];

/// Draws it, where there is something.
pub fn draw(out: &mut Buffer, pen: &Pen<'_>) {
    let (title, lines) = match &pen.state.mode {
        Mode::Help => ("Keys", HELP.iter().map(|(key, what)| help(key, what)).collect()),
        Mode::Refused(_, _, why) => {
            let width = usize::from(pen.state.size.0).saturating_sub(8).clamp(10, 80);
            ("Not sent: the edited arguments do not fit", reasons(why, width))
        }
        Mode::Browse | Mode::Search | Mode::Reason(..) | Mode::Pin(..) | Mode::Gone => return,
    };
    window(out, title, &lines, pen);
}

fn help(key: &str, what: &str) -> Line {
    Line::of(Ink::Bold, format!("{key:<10}")).and(Ink::Plain, what)
}

fn window(out: &mut Buffer, title: &str, lines: &[Line], pen: &Pen<'_>) {
    let (width, height) = pen.state.size;
    let wide = |line: &Line| line.0.iter().map(|(_, text)| crate::show::screen::columns(text)).sum::<usize>();
    let widest = lines.iter().map(wide).max().unwrap_or(0).max(title.len() + 2);
    let inner = u16::try_from(widest).unwrap_or(u16::MAX).min(width.saturating_sub(4));
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(height.saturating_sub(5));
    let at = Rect {
        x: (width.saturating_sub(inner + 4)) / 2,
        y: (height.saturating_sub(rows + 3)) / 2,
        width: (inner + 4).min(width),
        height: (rows + 2).min(height),
    };
    Clear.render(at, out);
    ratatui::widgets::Block::bordered().border_style(pen.style(Ink::Faint)).render(at, out);
    let line = |y: u16| Rect { x: at.x + 2, y, width: at.width.saturating_sub(4), height: 1 };
    pen.row(out, line(at.y), &[(Ink::Bold, format!(" {title} "))]);
    for (y, text) in (at.y + 1..at.bottom().saturating_sub(1)).zip(lines) {
        pen.row(out, line(y), &text.0);
    }
    let hidden = lines.len().saturating_sub(usize::from(rows));
    if hidden > 0 {
        pen.row(out, line(at.bottom().saturating_sub(1)), &[(Ink::Warm, format!(" … {hidden} more "))]);
    }
}
