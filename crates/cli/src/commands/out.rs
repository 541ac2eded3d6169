//! Where results are written: JSON or text, with or without a terminal.

use super::fault::{Exit, Fault};
use crate::args::Globals;
use crate::show::json;
use crate::show::screen::{Colour, Screen, Zone};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::time::{SystemTime, UNIX_EPOCH};

/// The form of what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON, for programs.
    Json,
    /// For people.
    Text,
}

impl Form {
    /// The form that was asked for.
    pub fn of(globals: &Globals) -> Form {
        if globals.json { Form::Json } else { Form::Text }
    }
}

/// Where results go.
#[derive(Clone, Copy, Debug)]
pub struct Out {
    form: Form,
    screen: Screen,
}

impl Out {
    /// The stdout of this process.
    pub fn of_process(globals: &Globals) -> Out {
        let form = Form::of(globals);
        let width = terminal_width();
        let wanted = width.is_some() && unset("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let colour = if wanted { Colour::Ansi } else { Colour::Never };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        Out { form, screen: Screen { width, colour, now_ms, zone: Zone::Local } }
    }

    /// The form of what is written.
    pub fn form(&self) -> Form {
        self.form
    }
    /// When this command began, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.screen.now_ms
    }
    /// The surface that people see.
    pub fn screen(&self) -> Screen {
        self.screen
    }

    /// One document, or its text for people.
    pub fn document<T: Serialize>(&self, words: &T, text: impl FnOnce(&Screen) -> String) -> Result<Exit, Fault> {
        match self.form {
            Form::Text => self.text(&text(&self.screen))?,
            Form::Json if self.screen.width.is_some() => self.text(&(json::pretty(&encoded(words)?) + "\n"))?,
            Form::Json => self.text(&(json::visible(&encoded(words)?) + "\n"))?,
        }
        Ok(Exit::Done)
    }

    /// One line of a stream.
    pub fn line<T: Serialize>(&self, words: &T, text: impl FnOnce(&Screen) -> String) -> Result<(), Fault> {
        match self.form {
            Form::Text => self.text(&text(&self.screen)),
            Form::Json => self.json_line(words),
        }
    }

    /// One line of a stream that is JSON in any form.
    pub fn json_line<T: Serialize>(&self, words: &T) -> Result<(), Fault> {
        self.text(&(json::visible(&encoded(words)?) + "\n"))
    }

    /// Writes text as it is, at once.
    pub fn text(&self, text: &str) -> Result<(), Fault> {
        let mut stdout = io::stdout().lock();
        stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush())
            .map_err(|cause| Fault::io("cannot write to stdout", cause))
    }

    /// A word beside the result, for people only.
    pub fn aside(&self, text: &str) {
        if let Form::Text = self.form {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }
}

fn encoded<T: Serialize>(words: &T) -> Result<String, Fault> {
    serde_json::to_string(words).map_err(|cause| Fault::io("cannot write JSON", cause.into()))
}

fn unset(name: &str) -> bool {
    std::env::var_os(name).is_none_or(|value| value.is_empty())
}

fn terminal_width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let size = crate::system::columns();
    Some(if size == 0 { 80 } else { size })
}
