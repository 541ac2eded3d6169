//! The detail: its title with the time that is left, then its lines.

use super::Pen;
use crate::show::approvals::name as name_of;
use crate::show::screen::{Ink, columns, cut};
use crate::watch::machine::{Shown, Verdict, View};
use operator::visible::escape;
use operator::words::{Approval, ApprovalState, Scope};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Title and lines.
pub fn draw(out: &mut Buffer, title: Rect, at: Rect, pen: &Pen<'_>) {
    for x in title.x..title.right() {
        out.set_string(x, title.y, "─", pen.style(Ink::Faint));
    }
    let Some(item) = pen.state.queue.selected() else { return };
    self::title(out, title, item, pen);
    let Some(shown) = &pen.state.shown else {
        pen.row(out, Rect { height: 1, ..at }, &[(Ink::Faint, "reading …".into())]);
        return;
    };
    for (y, line) in (at.y..at.bottom()).zip(shown.window()) {
        pen.row(out, Rect { y, height: 1, ..at }, &line.0);
    }
}

fn title(out: &mut Buffer, at: Rect, item: &Approval, pen: &Pen<'_>) {
    let (ink, time) = countdown(item, pen.now.wall_ms);
    let place = pen.state.shown.as_ref().map(place).unwrap_or_default();
    let right = columns(&time) + columns(&place) + 4;
    let room = usize::from(at.width).saturating_sub(right + columns(&item.id) + 4).max(8);
    let name = escape(&name_of(item)).into_owned();
    pen.row(
        out,
        Rect { x: at.x + 1, width: at.width.saturating_sub(1), ..at },
        &[(Ink::Faint, format!(" {} ", escape(&item.id))), (Ink::Bold, format!("{} ", cut(&name, room)))],
    );
    let wide = u16::try_from(right).unwrap_or(u16::MAX).min(at.width);
    let mut pieces = vec![(ink, format!(" {time} "))];
    if !place.is_empty() {
        let unseen = Verdict::Approve { remember: Scope::Once, args: None };
        let ink =
            if pen.state.bar(pen.now, &unseen).is_some_and(|bar| bar.is_unseen()) { Ink::Bad } else { Ink::Faint };
        pieces.push((ink, format!(" {place} ")));
    }
    pen.row(out, Rect { x: at.right() - wide, width: wide, ..at }, &pieces);
}

/// How much there is to scroll.
fn place(shown: &Shown) -> String {
    let raw = if shown.view() == View::Raw { "raw " } else { "" };
    match (shown.above(), shown.below()) {
        (0, 0) => raw.trim_end().to_owned(),
        (0, below) => format!("{raw}↓{below}"),
        (above, 0) => format!("{raw}↑{above}"),
        (above, below) => format!("{raw}↑{above} ↓{below}"),
    }
}

/// Time that is left, to the second.
fn countdown(item: &Approval, now_ms: u64) -> (Ink, String) {
    match item.state {
        ApprovalState::Waiting | ApprovalState::Approved => {}
        other => return (Ink::Faint, other.as_str().into()),
    }
    let left = item.expires_ms.saturating_sub(now_ms).div_ceil(1000);
    let word = if item.state == ApprovalState::Approved { "approved, " } else { "" };
    match left {
        0 => (Ink::Bad, format!("{word}expired")),
        seconds => {
            let ink = if seconds < 60 { Ink::Warm } else { Ink::Plain };
            let hours = if seconds >= 3600 { format!("{}:", seconds / 3600) } else { String::new() };
            (ink, format!("{word}{hours}{:02}:{:02} left", seconds % 3600 / 60, seconds % 60))
        }
    }
}
