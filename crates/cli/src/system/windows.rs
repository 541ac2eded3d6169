//! Windows: files inherit the access list of the user's own profile folder, nothing is set here; a hub that is to
//! outlive its starter leaves the starter's job. Type-checked, not run yet.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::windows::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;
use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};

/// Has no console.
const DETACHED_PROCESS: u32 = 0x8;
/// The keys of its starter's console do not reach it.
const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
/// Leaves the job of its starter, where that is allowed: terminals and hosts end theirs with all that is in it.
const CREATE_BREAKAWAY_FROM_JOB: u32 = 0x0100_0000;

/// Longest hidden line, in bytes.
const LONGEST_LINE: usize = 1024;

/// New files take the access list of their folder.
pub fn keep_private() {}

/// Was done by the starter.
pub fn leave_session() {}

/// Options for a file; its folder decides who may read it.
pub fn private_file() -> OpenOptions {
    OpenOptions::new()
}

/// Returns when the system or a person tells this process to end. After a closed console or at logoff the system
/// leaves only a few seconds.
pub async fn told_to_stop() {
    let handlers =
        || -> io::Result<_> { Ok((ctrl_c()?, ctrl_break()?, ctrl_close()?, ctrl_logoff()?, ctrl_shutdown()?)) };
    let Ok((mut key, mut other_key, mut close, mut logoff, mut shutdown)) = handlers() else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = key.recv() => {}
        _ = other_key.recv() => {}
        _ = close.recv() => {}
        _ = logoff.recv() => {}
        _ = shutdown.recv() => {}
    }
}

/// Prepares a hub that outlives its starter: no console, no drive held that somebody may want to unplug.
pub fn detach(command: &mut Command, state: &Path) {
    command.current_dir(state).creation_flags(DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP | CREATE_BREAKAWAY_FROM_JOB);
}

/// Starts what was prepared; inside the starter's job where that does not let anybody go.
pub fn start(command: &mut Command) -> io::Result<()> {
    match command.spawn() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            command.creation_flags(DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP).spawn().map(drop)
        }
        other => other.map(drop),
    }
}

/// Waits for a time: for what the system tells nobody, such as a lock that becomes free.
pub fn pause(time: Duration) {
    std::thread::park_timeout(time);
}

/// Not asked for.
pub fn columns() -> usize {
    0
}

/// What tells a program with a screen to leave.
pub struct Ends;

impl Ends {
    /// Listens from now on.
    pub fn listen() -> io::Result<Ends> {
        Ok(Ends)
    }
    /// Returns when the system or a person tells this process to end, or its console goes.
    pub async fn come(&mut self) {
        told_to_stop().await;
    }
    /// Keys of the console come as keys.
    pub async fn forget_keys(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// There are no jobs here: nothing happens.
pub fn suspend() {}

/// Not known here: whoever is asked for is there.
pub fn is_running(_pid: i32) -> bool {
    true
}

/// The editor where none is named.
pub const EDITOR: &str = "notepad";

/// A command line in words; None where a quote is open. A backslash is a part of a path here.
pub fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let (mut word, mut quoted, mut begun) = (String::new(), false, false);
    for c in line.chars() {
        match c {
            '"' => (quoted, begun) = (!quoted, true),
            c if c.is_whitespace() && !quoted => {
                if std::mem::take(&mut begun) {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => {
                word.push(c);
                begun = true;
            }
        }
    }
    words.extend(begun.then_some(word));
    (!quoted).then_some(words)
}

/// A folder takes the access list of the one that it lies in.
pub fn private_folder(builder: &mut DirBuilder) -> &mut DirBuilder {
    builder
}

/// A line typed at the console that does not show. Fails where there is none; `Interrupted` where it was taken back.
pub fn read_hidden(prompt: &str) -> io::Result<String> {
    if !io::stdin().is_terminal() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let mut console = io::stderr();
    console.write_all(prompt.as_bytes())?;
    console.flush()?;
    crossterm::terminal::enable_raw_mode()?;
    let typed = typed();
    crossterm::terminal::disable_raw_mode()?;
    let _ = console.write_all(b"\r\n");
    typed
}

fn typed() -> io::Result<String> {
    use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, read};
    let mut line = String::new();
    loop {
        let Event::Key(key) = read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        match key.code {
            KeyCode::Enter => return Ok(line),
            KeyCode::Esc => return Err(io::ErrorKind::Interrupted.into()),
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Err(io::ErrorKind::Interrupted.into());
            }
            KeyCode::Backspace => drop(line.pop()),
            KeyCode::Char(c) if line.len() < LONGEST_LINE => line.push(c),
            _ => {}
        }
    }
}

/// The system holds the servers by their job objects: there is no guard.
pub fn guard() -> ExitCode {
    ExitCode::from(2)
}

/// It waits with poll(2), which is not there.
pub fn sample_server() -> ExitCode {
    let _ = writeln!(io::stderr(), "callgate: the sample server does not run on Windows yet");
    ExitCode::FAILURE
}
