//! Finds the program that a config names, also when the hub was started from a dock with a bare PATH. Runs nothing
//! but the login shell, once, and trusts no folder that anyone may write to.

mod folders;
#[cfg(unix)]
mod login;
#[cfg(windows)]
#[path = "login_windows.rs"]
mod login;
#[cfg(unix)]
#[path = "unix.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;

use crate::environ::{Family, minimal};
use crate::launch::Launcher;
use folders::{Folders, Unfit, well_known};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::{OnceCell, Semaphore};

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Absolute, symlinks kept: what some programs do hangs on the name they are called by.
    pub program: PathBuf,
    /// PATH for the program, in which it finds its own kind (`npx` its `node`).
    pub path: OsString,
}

/// Why a command can't be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchFault {
    /// No folder has it.
    #[error("{0}")]
    NotFound(Box<NotFound>),
    /// A path was given, and nothing that can be run is there.
    #[error("{} is no program that can be run", .0.display())]
    NoProgram(PathBuf),
    /// The same, where the path was given as seen from the server's working folder.
    #[error(
        "{command} is no program that can be run: a relative path is looked up in the server's working folder, which \
         is {}. Give the full path, or another \"cwd\".", .folder.display()
    )]
    NoneThere {
        /// As the config names it.
        command: String,
        /// Where it was looked up.
        folder: PathBuf,
    },
    /// The file, or the folder where it really lies, may be changed by anyone.
    #[error("{} is not run, because anyone may change it; take the write permission for others away", .0.display())]
    Writable(PathBuf),
    /// Nothing is named.
    #[error("the command is empty")]
    Empty,
}

/// What was tried for a command that was not found. Its text tells the person all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// As the config names it.
    pub command: String,
    /// In this order.
    pub looked_in: Vec<PathBuf>,
    /// Of PATH, but not looked into because anyone may write there.
    pub passed_over: Vec<PathBuf>,
    /// Why the login shell's PATH is not among them, if it is not.
    pub login: Option<String>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, folders: &[PathBuf]| {
            for (number, folder) in folders.iter().enumerate() {
                write!(f, "{}{}", if number == 0 { "" } else { ", " }, folder.display())?;
            }
            Ok(())
        };
        write!(f, "{} was not found. Looked in: ", self.command)?;
        list(f, &self.looked_in)?;
        if !self.passed_over.is_empty() {
            f.write_str(". Passed over, because anyone may write there: ")?;
            list(f, &self.passed_over)?;
        }
        if let Some(login) = &self.login {
            write!(f, ". The login shell's PATH is not known: {login}")?;
        }
        f.write_str(". ")?;
        let package = match self.command.as_str() {
            "npx" | "node" | "npm" => "Node.js",
            "uvx" | "uv" => "uv",
            "python" | "python3" | "pipx" => "Python",
            "docker" => "Docker",
            "bun" | "bunx" => "Bun",
            "deno" => "Deno",
            _ => "it",
        };
        write!(f, "Install {package}, or give the full path as \"command\".")
    }
}

/// Looks up commands; keeps the login shell's PATH once it is read. Lives on the relay thread; files are looked at
/// on the blocking pool.
pub struct Search {
    launcher: Launcher,
    env: BTreeMap<OsString, OsString>,
    patience: Duration,
    login: OnceCell<Result<OsString, String>>,
}

impl Search {
    /// With the environment of the hub, and how long the login shell may take (3 to 5 s).
    pub fn new(launcher: Launcher, env: BTreeMap<OsString, OsString>, patience: Duration) -> Search {
        Search { launcher, env, patience, login: OnceCell::new() }
    }

    fn var(&self, name: &str) -> &OsStr {
        let mut value = self.env.get(OsStr::new(name));
        if Family::HERE == Family::Windows && value.is_none() {
            value = self.env.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        }
        value.map(OsString::as_os_str).unwrap_or_default()
    }

    fn home(&self) -> PathBuf {
        let home = Path::new(self.var(if Family::HERE == Family::Windows { "USERPROFILE" } else { "HOME" }));
        if home.is_absolute() { home.to_owned() } else { PathBuf::from("/") }
    }

    /// Finds a command. One with a slash is a path, seen from `cwd`. `declared` is the PATH in the server's own
    /// config: it is looked into first.
    pub async fn resolve(&self, command: &str, cwd: &Path, declared: Option<&str>) -> Result<Found, SearchFault> {
        if command.is_empty() {
            return Err(SearchFault::Empty);
        }
        let hub = self.var("PATH").to_owned();
        let bare = folders::bare(&hub);
        let mut lists = vec![declared.unwrap_or_default().into()];
        if bare {
            lists.push(self.login().await.unwrap_or_default());
        }
        lists.push(hub);
        let path = system::is_path(command).then(|| system::files(&cwd.join(command)));
        if let Some(meant) = path {
            let relative = Path::new(command).is_relative().then(|| (command.to_owned(), cwd.to_owned()));
            return blocking(move || {
                let first = meant.iter().find(|file| file.exists()).or(meant.first());
                let path = first.cloned().unwrap_or_default();
                folders::runnable(&path).map_err(|unfit| match unfit {
                    Unfit::Writable(at) => SearchFault::Writable(at),
                    Unfit::Missing => match relative {
                        Some((command, folder)) => SearchFault::NoneThere { command, folder },
                        None => SearchFault::NoProgram(path.clone()),
                    },
                })?;
                Ok(Found { path: Folders::of(&lists).joined(None), program: path })
            })
            .await;
        }
        let wanted = command.to_owned();
        if let Some(found) = look(&wanted, lists.clone()).await {
            return Ok(found);
        }
        let login = self.login().await;
        if !bare {
            lists.insert(1, login.clone().unwrap_or_default());
            if let Some(found) = look(&wanted, lists.clone()).await {
                return Ok(found);
            }
        }
        let home = self.home();
        blocking(move || {
            let known = well_known(&home);
            let mut folders = Folders::of(&lists);
            if let Some(program) = known.find(&wanted) {
                let own = program.parent().map(Path::to_owned);
                return Ok(Found { path: folders.joined(own), program });
            }
            folders.add(known);
            Err(SearchFault::NotFound(Box::new(NotFound {
                command: wanted,
                looked_in: folders.trusted,
                passed_over: folders.passed_over,
                login: login.err(),
            })))
        })
        .await
    }

    /// The login shell's PATH, read once, or why there is none.
    async fn login(&self) -> Result<OsString, String> {
        let read = async {
            let env = minimal(self.env.clone(), self.var("PATH"), &BTreeMap::new(), Family::HERE);
            let shell = PathBuf::from(self.var("SHELL"));
            let answer = login::read(&self.launcher, shell, self.home(), env, self.patience).await;
            if let Err(why) = &answer {
                tracing::warn!(why, "the login shell's PATH was not read");
            }
            answer
        };
        self.login.get_or_init(|| read).await.clone()
    }
}

async fn look(command: &str, lists: Vec<OsString>) -> Option<Found> {
    let command = command.to_owned();
    blocking(move || {
        let folders = Folders::of(&lists);
        let program = folders.find(&command)?;
        Some(Found { path: folders.joined(None), program })
    })
    .await
}

/// A home may lie on a network drive: files are never looked at on the relay. Nor by more threads at once than it takes
/// to pass one that hangs: a thread costs more than a look.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    static LOOKING: Semaphore = Semaphore::const_new(2);
    let _turn = LOOKING.acquire().await;
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(fault) => std::panic::resume_unwind(fault.into_panic()),
    }
}
