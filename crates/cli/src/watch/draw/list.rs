//! The list: only the rows that are on the screen are ever looked at.

use super::Pen;
use crate::show::approvals::{name as name_of, standing};
use crate::show::screen::{Ink, columns, cut};
use crate::show::tools;
use crate::watch::machine::Link;
use crate::watch::text::padded;
use operator::visible::escape;
use operator::words::{Approval, ApprovalState, PinState};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

/// Columns of the time that is left.
const LEFT: usize = 8;
/// From this width on, clients are shown.
const CLIENTS: usize = 56;

/// The list, or why it is empty.
pub fn draw(out: &mut Buffer, at: Rect, pen: &Pen<'_>) {
    let queue = &pen.state.queue;
    if queue.len() == 0 {
        let row = Rect { height: 1, ..at };
        pen.row(out, row, &[(Ink::Faint, format!(" {}", empty(pen)))]);
        return;
    }
    for (offset, (item, selected)) in (0..at.height).zip(queue.window(usize::from(at.height))) {
        let row = Rect { y: at.y + offset, height: 1, ..at };
        pen.row(out, row, &pieces(item, usize::from(at.width), pen));
        if selected {
            out.set_style(row, ratatui::style::Style::default().add_modifier(Modifier::REVERSED));
        }
    }
}

fn empty(pen: &Pen<'_>) -> &'static str {
    let queue = &pen.state.queue;
    match pen.state.link {
        Link::Unknown => "Reading the queue …",
        _ if !queue.items().is_empty() => "Nothing that waits is like that; Esc shows all.",
        Link::Up | Link::Down { .. } => "Nothing waits for a person.",
    }
}

fn pieces(item: &Approval, width: usize, pen: &Pen<'_>) -> Vec<(Ink, String)> {
    let faint = match pen.state.link {
        Link::Up if item.state == ApprovalState::Waiting => Ink::Plain,
        _ => Ink::Faint,
    };
    let mark = match item.definition {
        _ if item.again.is_some() => (Ink::Bad, "!"),
        PinState::Approved => (Ink::Plain, " "),
        PinState::New | PinState::Changed | PinState::Blocked => (Ink::Bad, "!"),
    };
    let left = format!("{:>LEFT$}", cut(&standing(item, pen.now.wall_ms), LEFT));
    let effect = item.effect.as_str();
    let client = if width >= CLIENTS { width / 4 } else { 0 };
    let more = if item.waiters > 1 { format!(" ×{}", item.waiters) } else { String::new() };
    // The effect is the last to go: what a call may do is seen before it is opened.
    let taken = 1 + LEFT + 2 + 2 + effect.len().max(11) + if client > 0 { client + 2 } else { 0 };
    let room = width.saturating_sub(taken + columns(&more)).max(8);
    let name = escape(&name_of(item)).into_owned();
    let name = format!("{}{more}", cut(&name, room));
    let mut pieces = vec![
        (mark.0, mark.1.to_owned()),
        (if item.expires_ms.saturating_sub(pen.now.wall_ms) < 60_000 { Ink::Warm } else { Ink::Faint }, left + "  "),
        (if faint == Ink::Plain { Ink::Bold } else { Ink::Faint }, padded(&name, room + columns(&more)) + "  "),
        (tools::ink(item.effect), format!("{effect:<11}")),
    ];
    if client > 0 {
        let who = item.client.strip_suffix(" (unverified)").filter(|_| item.unverified);
        let who = who.map_or_else(|| escape(&item.client).into_owned(), |name| format!("{} ?", escape(name)));
        pieces.push((Ink::Faint, format!("  {}", cut(&who, client))));
    }
    pieces
}
