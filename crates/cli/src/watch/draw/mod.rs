//! What the screen looks like: a pure function of its state and the time. Draws nothing but visible text.

mod detail;
mod list;
mod over;

use super::machine::{Link, Mode, Now, Order, State};
use super::panes::Focus;
use crate::show::screen::{Colour, Ink, Screen, columns, cut};
use crate::show::when;
use operator::visible::escape;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// Everything that a line is drawn with.
pub struct Pen<'a> {
    /// The screen's state.
    pub state: &'a State,
    /// The time.
    pub now: Now,
    /// Colours, clock.
    pub screen: &'a Screen,
}

/// Draws the whole screen.
pub fn draw(frame: &mut Frame<'_>, pen: &Pen<'_>) {
    let panes = pen.state.panes();
    let cursor = {
        let out = frame.buffer_mut();
        pen.head(out, panes.head);
        if let Some(rect) = panes.list {
            list::draw(out, rect, pen);
        }
        if let (Some(list), Some(detail)) = (panes.list, panes.detail)
            && list.right() < detail.x
        {
            for y in list.y..list.bottom() {
                out.set_string(detail.x - 1, y, "│", pen.style(Ink::Faint));
            }
        }
        if let (Some(title), Some(rect)) = (panes.title, panes.detail) {
            detail::draw(out, title, rect, pen);
        }
        let cursor = pen.notice(out, panes.notice);
        pen.keys(out, panes.keys);
        over::draw(out, pen);
        cursor
    };
    if let Some(at) = cursor {
        frame.set_cursor_position(at);
    }
}

impl Pen<'_> {
    /// The style of an ink; without colour only weight is left.
    pub fn style(&self, ink: Ink) -> Style {
        let style = Style::default();
        let coloured = |colour: Color| match self.screen.colour {
            Colour::Ansi => style.fg(colour),
            Colour::Never => style,
        };
        match ink {
            Ink::Plain => style,
            Ink::Bold => style.add_modifier(Modifier::BOLD),
            Ink::Faint => style.add_modifier(Modifier::DIM),
            Ink::Good => coloured(Color::Green),
            Ink::Warm => coloured(Color::Yellow),
            Ink::Bad => coloured(Color::Red).add_modifier(Modifier::BOLD),
        }
    }

    /// Pieces one after the other on one row, cut where it ends; the column after the last.
    pub fn row(&self, out: &mut Buffer, at: Rect, pieces: &[(Ink, String)]) -> u16 {
        let mut x = at.x;
        for (ink, text) in pieces {
            let left = at.right().saturating_sub(x);
            if left == 0 || at.height == 0 {
                break;
            }
            (x, _) = out.set_stringn(x, at.y, cut(text, usize::from(left)), usize::from(left), self.style(*ink));
        }
        x
    }

    fn head(&self, out: &mut Buffer, at: Rect) {
        let state = self.state;
        let waiting = state.queue.waiting();
        let mut pieces = vec![(Ink::Bold, format!(" {waiting} waiting"))];
        let others = state.queue.items().len() - waiting;
        if others > 0 {
            pieces.push((Ink::Faint, format!(" · {others} approved, not called again")));
        }
        if let Some(server) = &state.queue.server {
            pieces.push((Ink::Warm, format!(" · only {}", escape(server))));
        }
        if !state.queue.search.is_empty() && state.mode != Mode::Search {
            pieces.push((Ink::Warm, format!(" · {} with /{}", state.queue.len(), escape(&state.queue.search))));
        }
        if state.queue.order == Order::Newest {
            pieces.push((Ink::Faint, " · newest first".into()));
        }
        if state.paused_since_ms.is_some() {
            pieces.push((Ink::Bad, " · ALL RISKY CALLS ARE HELD".into()));
        }
        let (ink, link) = match &state.link {
            Link::Unknown => (Ink::Faint, "connecting".into()),
            Link::Up => (Ink::Good, "● live".into()),
            Link::Down { since_ms, .. } => {
                let gone = when::lasting(*since_ms, self.now.wall_ms);
                (Ink::Bad, format!("✗ no hub for {gone}, trying again"))
            }
        };
        let wide = u16::try_from(columns(&link)).unwrap_or(u16::MAX).saturating_add(1).min(at.width);
        let left = Rect { width: at.width - wide, ..at };
        self.row(out, left, &pieces);
        self.row(out, Rect { x: at.right() - wide, width: wide, ..at }, &[(ink, link)]);
    }

    /// What is being typed, or what was just said; the place of the cursor while somebody types.
    fn notice(&self, out: &mut Buffer, at: Rect) -> Option<(u16, u16)> {
        let (label, text) = match &self.state.mode {
            Mode::Search => ("/".to_owned(), escape(&self.state.queue.search).into_owned()),
            Mode::Reason(_, text) => (" Why not? The agent reads it: ".to_owned(), escape(text).into_owned()),
            Mode::Pin(_, text, wrong) => {
                let wrong = wrong.as_ref().map(|wrong| format!(" {}.", escape(wrong.trim_end_matches('.'))));
                (format!("{} PIN: ", wrong.unwrap_or_default()), "•".repeat(text.chars().count()))
            }
            Mode::Browse | Mode::Refused(..) | Mode::Gone | Mode::Help => {
                let ink = self.state.notice.as_ref().map_or(Ink::Plain, |notice| notice.ink);
                for (y, line) in (at.y..at.bottom()).zip(self.state.said()) {
                    self.row(out, Rect { y, height: 1, ..at }, &[(ink, format!(" {line}"))]);
                }
                return None;
            }
        };
        // The end of what is typed stays in sight.
        let room = usize::from(at.width).saturating_sub(columns(&label) + 1).max(1);
        let mut tail = text.as_str();
        while columns(tail) > room {
            let mut rest = tail.chars();
            rest.next();
            tail = rest.as_str();
        }
        let x = self.row(out, at, &[(Ink::Bold, label), (Ink::Plain, tail.to_owned())]);
        Some((x.min(at.right().saturating_sub(1)), at.y))
    }

    /// The keys that mean something now; those that decide are faint as long as they do nothing.
    fn keys(&self, out: &mut Buffer, at: Rect) {
        let state = self.state;
        let decide = match state.queue.selected() {
            Some(_) if state.link == Link::Up && !state.is_locked(self.now) => Ink::Bold,
            _ => Ink::Faint,
        };
        let draft = state.shown.as_ref().is_some_and(|shown| shown.draft().is_some());
        let keys: &[(&str, &str, Ink)] = match &state.mode {
            Mode::Search => &[("Enter", "keep", Ink::Bold), ("Esc", "all", Ink::Bold)],
            Mode::Reason(..) => &[("Enter", "deny", decide), ("Esc", "back", Ink::Bold)],
            Mode::Pin(..) => &[("Enter", "decide", Ink::Bold), ("Esc", "back", Ink::Bold)],
            Mode::Refused(..) => &[("e", "edit again", Ink::Bold), ("Esc", "drop it", Ink::Bold)],
            Mode::Gone => &[("Enter", "go on: what you were typing about is gone", Ink::Bold)],
            Mode::Help => &[("any key", "back", Ink::Bold)],
            Mode::Browse if draft => &[
                ("a", "approve edited", decide),
                ("e", "edit again", Ink::Bold),
                ("Esc", "drop it", Ink::Bold),
                ("d", "deny", decide),
                ("?", "help", Ink::Bold),
            ],
            Mode::Browse => &[
                ("a", "once", decide),
                ("s", "session", decide),
                ("t", "tool", decide),
                ("d", "deny", decide),
                ("e", "edit", decide),
                ("?", "help", Ink::Bold),
                ("q", "quit", Ink::Bold),
                ("/", "search", Ink::Bold),
            ],
        };
        let mut pieces = Vec::new();
        let alone = state.mode == Mode::Browse && state.focus == Focus::Detail && state.panes().list.is_none();
        if alone {
            pieces.push((Ink::Bold, " Esc".to_owned()));
            pieces.push((Ink::Faint, " list ".to_owned()));
        }
        for (key, what, ink) in keys.iter().filter(|(key, ..)| !alone || *key != "/") {
            pieces.push((*ink, format!(" {key}")));
            pieces.push((Ink::Faint, format!(" {what} ")));
        }
        self.row(out, at, &pieces);
    }
}
