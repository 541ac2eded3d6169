//! The terminal: taken over for the whole screen, and given back however the process ends short of a kill.

use super::machine::{Input, Key};
use super::steady::Steady;
use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange, Event, EventStream, KeyCode,
    KeyEvent, KeyEventKind, KeyModifiers,
};
use crossterm::execute;
use crossterm::terminal::{
    DisableLineWrap, EnableLineWrap, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
    size,
};
use futures_util::StreamExt;
use ratatui::{Frame, Terminal};
use std::io::{self, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// The screen of the terminal, ours until this is dropped.
pub struct Surface {
    terminal: Terminal<Steady<Stdout>>,
}

impl Surface {
    /// Takes the terminal over. A panic gives it back before it is told.
    pub fn open() -> io::Result<Surface> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave();
            before(panic);
        }));
        enter().inspect_err(|_| leave())?;
        Ok(Surface { terminal: Terminal::new(Steady::new(io::stdout(), size()?))? })
    }

    /// Columns and rows.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        size()
    }

    /// Draws what has changed.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(draw).map(drop)
    }

    /// The next drawing is of everything. (`clear` would ask the terminal where its cursor is and wait for the answer.)
    pub fn redraw(&mut self) -> io::Result<()> {
        let area = self.terminal.size()?;
        self.terminal.resize(area.into())
    }

    /// Gives the terminal to somebody else for as long as they need it.
    pub fn away<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        leave();
        let done = work();
        enter()?;
        self.redraw()?;
        Ok(done)
    }
}

impl Drop for Surface {
    fn drop(&mut self) {
        leave();
    }
}

/// Whether the terminal is ours: to give it back twice would write over what came after.
static TAKEN: AtomicBool = AtomicBool::new(false);

fn enter() -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    // What is wider there than we think ends at the edge, and does not go on in the next row.
    execute!(io::stdout(), EnterAlternateScreen, DisableLineWrap, EnableBracketedPaste, EnableFocusChange)
}

/// As it was before. Where the terminal is gone there is nothing to put back.
fn leave() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    let _ = execute!(out, DisableFocusChange, DisableBracketedPaste, EnableLineWrap, LeaveAlternateScreen, Show);
    let _ = out.flush();
    let _ = disable_raw_mode();
}

/// What is typed. It reads the terminal only while it lives: before an editor starts it must be dropped.
pub struct Keyboard(EventStream);

impl Keyboard {
    /// Begins to read.
    pub fn open() -> Keyboard {
        Keyboard(EventStream::new())
    }

    /// The next input; None for one that means nothing here.
    pub async fn next(&mut self) -> io::Result<Option<Input>> {
        match self.0.next().await {
            Some(event) => Ok(input(event?)),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

fn input(event: Event) -> Option<Input> {
    Some(match event {
        // The release of a key decides nothing, and its repeat is a press that the lock sees.
        Event::Key(key) if key.kind != KeyEventKind::Release => Input::Key(self::key(key)?),
        Event::Paste(text) => Input::Paste(text),
        Event::Resize(width, height) => Input::Resize(width, height),
        Event::FocusGained => Input::Back,
        Event::Key(_) | Event::FocusLost | Event::Mouse(_) => return None,
    })
}

fn key(key: KeyEvent) -> Option<Key> {
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    if key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SUPER | KeyModifiers::META | KeyModifiers::HYPER) {
        return None;
    }
    Some(match key.code {
        KeyCode::Char(c) if ctrl => Key::Ctrl(c.to_ascii_lowercase()),
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Tab => Key::Tab,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_mean_something() {
        let check = |event: Event, expect: Option<Input>| assert_eq!(input(event), expect);
        let press = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        check(press(KeyCode::Char('a'), KeyModifiers::NONE), Some(Input::Key(Key::Char('a'))));
        check(press(KeyCode::Char('G'), KeyModifiers::SHIFT), Some(Input::Key(Key::Char('G'))));
        check(press(KeyCode::Char('a'), KeyModifiers::ALT), None);
        check(press(KeyCode::Char('C'), KeyModifiers::CONTROL), Some(Input::Key(Key::Ctrl('c'))));
        let release = KeyEvent::new_with_kind(KeyCode::Char('a'), KeyModifiers::NONE, KeyEventKind::Release);
        check(Event::Key(release), None);
        check(Event::FocusGained, Some(Input::Back));
        check(Event::FocusLost, None);
        check(Event::Paste("aaa".into()), Some(Input::Paste("aaa".into())));
    }
}
