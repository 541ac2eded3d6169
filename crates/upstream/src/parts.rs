//! What all servers of one hub share: the launcher, the logs, the way to find programs, room to start.

use crate::environ::{Family, minimal};
use crate::launch::{Child, Launch, LaunchFault, Launcher, Patience};
use crate::logs::{Line, Logs, Source};
use crate::search_path::Search;
use crate::spec::Process;
use crate::task;
use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wire::pipe::Incoming;

/// Servers that may start at the same moment: starting fifty at once is not an option on a laptop.
const STARTS: usize = 8;
/// How long one start may keep others waiting.
const TURN: Duration = Duration::from_secs(2);

/// Shared by all servers of a hub.
pub struct Parts {
    /// Starts programs.
    pub launcher: Launcher,
    /// Their logs.
    pub logs: Logs,
    /// Finds programs.
    pub search: Search,
    /// The hub's own environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The user's home folder.
    pub home: PathBuf,
    /// The steps of stopping.
    pub patience: Patience,
    starts: Arc<Semaphore>,
}

impl Parts {
    /// Puts them together.
    pub fn new(
        launcher: Launcher,
        logs: Logs,
        search: Search,
        environment: Vec<(OsString, OsString)>,
        home: PathBuf,
        patience: Patience,
    ) -> Rc<Parts> {
        let starts = Arc::new(Semaphore::new(STARTS));
        Rc::new(Parts { launcher, logs, search, environment, home, patience, starts })
    }

    /// Keeps servers from starting until it is dropped: what is done meanwhile has the processors to itself.
    pub fn hold_starts(&self) -> impl Drop + use<> {
        Held(Arc::clone(&self.starts).try_acquire_many_owned(STARTS as u32).ok())
    }

    /// A turn to start; it ends when it is dropped, or after two seconds so that one that hangs keeps nobody waiting.
    pub(crate) async fn turn(&self) -> Turn {
        let permit = Arc::clone(&self.starts).acquire_owned().await.ok();
        let task = task::spawn("turn to start", async move {
            tokio::time::sleep(TURN).await;
            drop::<Option<OwnedSemaphorePermit>>(permit);
        });
        Turn(task)
    }

    /// Starts a program for a server; its stderr is drained into the server's log.
    pub(crate) async fn launch(&self, name: &str, process: &Process) -> Result<(Child, PathBuf), String> {
        let cwd = process.cwd.clone().unwrap_or_else(|| self.home.clone());
        let declared = process.env.get("PATH").map(String::as_str);
        let found = self.search.resolve(&process.command, &cwd, declared).await.map_err(|fault| fault.to_string())?;
        // What the search found is part of it: a declared PATH is in there already.
        let mut declared = process.env.clone();
        declared.remove("PATH");
        let env = minimal(self.environment.clone(), &found.path, &declared, Family::HERE);
        let program = found.program.clone();
        let launch =
            Launch { program: found.program, args: process.args.iter().map(OsString::from).collect(), env, cwd };
        let child = self.launcher.spawn(launch).await.map_err(|fault| sentence(&fault))?;
        self.logs.server(name).say("started");
        Ok((child, program))
    }

    /// Empties a server's stderr into its log from now on.
    pub(crate) fn drain(&self, name: &str, stderr: Incoming) {
        let log = self.logs.server(name);
        if let Err(error) = log.drain(stderr) {
            log.say(&format!("its stderr cannot be read: {error}"));
        }
    }

    /// Empties a server's stdout into its log from now on, where it carries no protocol.
    pub(crate) fn drain_stdout(&self, name: &str, stdout: Incoming) {
        let log = self.logs.server(name);
        if let Err(error) = log.drain_stdout(stdout) {
            log.say(&format!("its stdout cannot be read: {error}"));
        }
    }

    /// Writes a line on stdout that was no message into the server's log.
    pub(crate) fn note_noise(&self, name: &str, head: &[u8]) {
        self.logs.server(name).note(head);
    }

    /// Writes a line of the hub's own into the server's log.
    pub(crate) fn note(&self, name: &str, line: &str) {
        self.logs.server(name).say(line);
    }

    /// `what`, and the server's last line on stderr where there is one.
    pub(crate) fn with_last_words(&self, name: &str, what: &str) -> String {
        let of_stderr = |line: &Line| line.source == Source::Stderr;
        let last = self.logs.server(name).tail(50).into_iter().rev().find(of_stderr);
        match last.map(|line| contract::visible::escape(&line.text).into_owned()) {
            Some(line) => format!("{what}; its last words: {}", line.chars().take(300).collect::<String>()),
            None => what.to_owned(),
        }
    }

    /// The last lines of a server's log, made visible.
    pub(crate) fn last_words(&self, name: &str, lines: usize) -> Vec<String> {
        self.logs.server(name).tail(lines).iter().map(Line::shown).collect()
    }

    /// Where a server's log is written.
    pub(crate) fn log_file(&self, name: &str) -> Option<String> {
        Some(self.logs.server(name).file())
    }
}

/// All turns to start at once.
struct Held(Option<OwnedSemaphorePermit>);

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

/// A turn to start.
pub(crate) struct Turn(tokio::task::JoinHandle<()>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An error and what it comes from, in one line.
fn sentence(fault: &LaunchFault) -> String {
    let mut text = fault.to_string();
    let mut source = fault.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}
