//! What each key does.

use super::super::panes::Focus;
use super::{Effect, Key, Mode, Now, State};
use crate::show::json::pretty;
use crate::show::screen::Ink;
use operator::words::{ApprovalKind, ApprovalState, Scope};

/// Longest text that can be typed, in characters.
const LONGEST: usize = 500;

impl State {
    pub(super) fn key(&mut self, now: Now, key: Key, effects: &mut Vec<Effect>) {
        match key {
            Key::Ctrl('c') => return self.interrupt(effects),
            Key::Ctrl('z') => return effects.push(Effect::Suspend),
            Key::Ctrl('l') => {
                self.lock.restart(now);
                return effects.push(Effect::Redraw);
            }
            _ => {}
        }
        match std::mem::take(&mut self.mode) {
            Mode::Browse => self.browse(now, key, effects),
            Mode::Search => self.search(now, key),
            Mode::Reason(act, mut text) => match key {
                Key::Esc => {}
                Key::Enter => self.deny(now, act, text, effects),
                key => {
                    typed(&mut text, key);
                    self.mode = Mode::Reason(act, text);
                }
            },
            Mode::Pin(act, mut text, wrong) => match key {
                Key::Esc => self.say(now, Ink::Plain, "Nothing was decided."),
                Key::Enter if text.is_empty() => self.mode = Mode::Pin(act, text, wrong),
                Key::Enter => self.confirm(now, act, &text, effects),
                key => {
                    typed(&mut text, key);
                    self.mode = Mode::Pin(act, text, wrong);
                }
            },
            Mode::Refused(id, text, why) => match key {
                Key::Char('e') => effects.push(Effect::Edit { id, text }),
                Key::Esc | Key::Char('q') => {
                    self.lock.restart(now);
                    self.drop_draft(now);
                }
                _ => self.mode = Mode::Refused(id, text, why),
            },
            Mode::Gone => match key {
                Key::Enter | Key::Esc => self.lock.restart(now),
                _ => self.mode = Mode::Gone,
            },
            // Any key leaves it, and does nothing else.
            Mode::Help => self.lock.restart(now),
        }
    }

    /// Ctrl-C takes back what is being typed, and leaves where nothing is.
    fn interrupt(&mut self, effects: &mut Vec<Effect>) {
        match self.mode {
            Mode::Browse => effects.push(Effect::Leave),
            _ => self.mode = Mode::Browse,
        }
    }

    fn browse(&mut self, now: Now, key: Key, effects: &mut Vec<Effect>) {
        match key {
            Key::Char('q') => effects.push(Effect::Leave),
            Key::Char('?') => self.mode = Mode::Help,
            Key::Char('a') => self.approve(now, Scope::Once, effects),
            Key::Char('s') => self.approve(now, Scope::Session, effects),
            Key::Char('t') => self.approve(now, Scope::Tool, effects),
            Key::Char('d') => self.ask_reason(now),
            Key::Char('e') => self.edit(now, effects),
            Key::Char('/') => self.mode = Mode::Search,
            Key::Char('f') => self.narrow(now),
            Key::Char('o') => {
                let rows = self.list_rows();
                self.queue.turn(rows);
                self.lock.restart(now);
            }
            Key::Char('r') => self.turn_view(now),
            Key::Enter | Key::Tab => self.turn_focus(now),
            Key::Esc => self.back(now),
            Key::Char(' ') => self.scroll(self.page()),
            Key::Char('b') => self.scroll(-self.page()),
            Key::Ctrl('d') => self.scroll(self.page() / 2),
            Key::Ctrl('u') => self.scroll(-self.page() / 2),
            key => match self.focus {
                Focus::List => self.walk(key),
                Focus::Detail => self.read_on(key),
            },
        }
    }

    fn walk(&mut self, key: Key) {
        let page = isize::try_from(self.list_rows().max(2) - 1).unwrap_or(1);
        match key {
            Key::Char('j') | Key::Down => self.queue.step(1),
            Key::Char('k') | Key::Up => self.queue.step(-1),
            Key::PageDown => self.queue.step(page),
            Key::PageUp => self.queue.step(-page),
            Key::Char('g') | Key::Home => self.queue.put(0),
            Key::Char('G') | Key::End => self.queue.put(usize::MAX),
            _ => {}
        }
    }

    fn read_on(&mut self, key: Key) {
        match key {
            Key::Char('j') | Key::Down => self.scroll(1),
            Key::Char('k') | Key::Up => self.scroll(-1),
            Key::PageDown => self.scroll(self.page()),
            Key::PageUp => self.scroll(-self.page()),
            Key::Char('g') | Key::Home => self.scroll(isize::MIN),
            Key::Char('G') | Key::End => self.scroll(isize::MAX),
            // To the neighbours without leaving the detail.
            Key::Char('n') => self.queue.step(1),
            Key::Char('p') => self.queue.step(-1),
            _ => {}
        }
    }

    fn page(&self) -> isize {
        let height = self.shown.as_ref().map_or(2, super::Shown::height);
        isize::try_from(height.max(2) - 1).unwrap_or(1)
    }

    fn scroll(&mut self, by: isize) {
        if let Some(shown) = &mut self.shown {
            shown.scroll(by);
        }
    }

    fn turn_focus(&mut self, now: Now) {
        self.focus = match self.focus {
            Focus::List if self.queue.len() > 0 => Focus::Detail,
            Focus::List | Focus::Detail => Focus::List,
        };
        self.lock.restart(now);
    }

    fn turn_view(&mut self, now: Now) {
        let screen = self.screen;
        if let Some(shown) = &mut self.shown {
            shown.turn(&screen);
            self.lock.restart(now);
        }
    }

    /// Esc goes one step back: the draft, the detail, the search, the server.
    fn back(&mut self, now: Now) {
        let rows = self.list_rows();
        self.lock.restart(now);
        if self.shown.as_ref().is_some_and(|shown| shown.draft().is_some()) {
            self.drop_draft(now);
        } else if self.focus == Focus::Detail {
            self.focus = Focus::List;
        } else if !self.queue.search.is_empty() {
            self.queue.search_for(String::new(), rows);
        } else if self.queue.server.is_some() {
            self.queue.server = None;
            self.queue.search_for(String::new(), rows);
        }
    }

    fn drop_draft(&mut self, now: Now) {
        let screen = self.screen;
        let Some(shown) = self.shown.as_mut().filter(|shown| shown.draft().is_some()) else { return };
        shown.put_draft(None, &screen);
        self.say_of_it(now, Ink::Plain, "The edited arguments are dropped.");
    }

    fn narrow(&mut self, now: Now) {
        let rows = self.list_rows();
        self.queue.next_server(rows);
        self.lock.restart(now);
    }

    fn edit(&mut self, now: Now, effects: &mut Vec<Effect>) {
        let Some(shown) = &self.shown else { return };
        if shown.approval().state != ApprovalState::Waiting {
            return self.say_of_it(now, Ink::Warm, "This one is decided.");
        }
        if shown.approval().kind != ApprovalKind::Tool {
            return self.say_of_it(now, Ink::Warm, "It is no call of a tool: its params are never edited.");
        }
        let id = shown.approval().id.clone();
        effects.push(Effect::Edit { id, text: pretty(shown.arguments()) + "\n" });
        // What was said of an edit before is not said of this one.
        self.notice = None;
    }

    fn search(&mut self, now: Now, key: Key) {
        let rows = self.list_rows();
        let before = self.queue.place();
        match key {
            Key::Enter => {}
            Key::Esc => self.queue.search_for(String::new(), rows),
            key => {
                let mut words = self.queue.search.clone();
                typed(&mut words, key);
                self.mode = Mode::Search;
                self.queue.search_for(words, rows);
            }
        }
        self.moved(now, before);
        self.lock.restart(now);
    }

    /// Pasted text is text where text is typed, and nothing elsewhere: it must not decide.
    pub(super) fn paste(&mut self, now: Now, pasted: &str) {
        let line: String = pasted.split_whitespace().collect::<Vec<_>>().join(" ");
        let into = match &mut self.mode {
            Mode::Reason(_, text) | Mode::Pin(_, text, _) => text,
            Mode::Search => &mut self.queue.search,
            Mode::Browse | Mode::Refused(..) | Mode::Gone | Mode::Help => {
                return self.say(now, Ink::Warm, "What was pasted is ignored here.");
            }
        };
        into.extend(line.chars().take(LONGEST.saturating_sub(into.chars().count())));
        if self.mode == Mode::Search {
            let (words, rows) = (self.queue.search.clone(), self.list_rows());
            self.queue.search_for(words, rows);
        }
    }
}

/// What a key does to a line of text.
fn typed(text: &mut String, key: Key) {
    match key {
        Key::Char(c) if text.chars().count() < LONGEST => text.push(c),
        Key::Backspace => drop(text.pop()),
        Key::Ctrl('u') => text.clear(),
        Key::Ctrl('w') => {
            let kept = text.trim_end().rfind(' ').map_or(0, |at| at + 1);
            text.truncate(kept);
        }
        _ => {}
    }
}
