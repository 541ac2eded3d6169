//! What every system's launcher takes and gives: a program to start, the program that runs, why it was not started.

use super::Tree;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use wire::pipe::{Incoming, Outgoing};

/// A program to start, with everything looked up already.
#[derive(Clone, PartialEq, Eq)]
pub struct Launch {
    /// Absolute path, see [`crate::search_path`].
    pub program: PathBuf,
    /// Without the program.
    pub args: Vec<OsString>,
    /// The whole environment, see [`crate::environ`]. May hold secrets.
    pub env: Vec<(OsString, OsString)>,
    /// Absolute path of the working folder.
    pub cwd: PathBuf,
}

impl std::fmt::Debug for Launch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launch").field("program", &self.program).field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

/// Why a program was not started. The text is for the person who wrote the config; no variable's value is in it.
#[derive(Debug, thiserror::Error)]
pub enum LaunchFault {
    /// The working folder is missing, no folder, or may not be entered.
    #[error("the working folder {} can't be used", .0.display())]
    Cwd(PathBuf, #[source] io::Error),
    /// The program's file is missing, may not be run, or is nothing that can be run.
    #[error("{} can't be run", .0.display())]
    Program(PathBuf, #[source] io::Error),
    /// The file is a script, and what its first line names is missing.
    #[error("{} can't be run: the program that its first line names was not found", .0.display())]
    Interpreter(PathBuf, #[source] io::Error),
    /// The system gives no more processes, pipes or descriptors.
    #[error("the system refused to start another process")]
    System(#[source] io::Error),
    /// A NUL in an argument or variable, a variable's name that is empty or has `=`, or a relative path.
    #[error("{0} can't be handed to a program")]
    Unfit(&'static str),
    /// Arguments and variables together are over the system's limit.
    #[error("the arguments and variables are too long")]
    TooLong,
    /// Too many starts are under way.
    #[error("too many servers are being started at once")]
    Busy,
    /// The guard cannot be started.
    #[error("the guard can't be started from {}", .0.display())]
    Guard(PathBuf, #[source] io::Error),
    /// The guard ended before it answered. The next start brings a new one.
    #[error("the guard ended while it was starting the program")]
    GuardLost,
}

/// How many bytes each message pipe holds; 64 KiB where the system refused more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Toward the program.
    pub stdin: usize,
    /// From the program.
    pub stdout: usize,
}

/// A program that runs, with our ends of its three pipes, which do not block.
#[derive(Debug)]
pub struct Child {
    /// Dropping it is how a server is told to leave.
    pub stdin: Outgoing,
    /// What it says.
    pub stdout: Incoming,
    /// What it complains about; must be drained.
    pub stderr: Incoming,
    /// How much the pipes hold.
    pub capacity: Capacity,
    /// It and all that it starts. When the last handle is dropped, they are killed.
    pub tree: Tree,
}

/// Whether a program can be handed over as it is.
pub(super) fn fit(launch: &Launch) -> Result<(), LaunchFault> {
    let nul = |text: &OsString| text.as_encoded_bytes().contains(&0);
    if !launch.program.is_absolute() || nul(&launch.program.clone().into_os_string()) {
        return Err(LaunchFault::Unfit("a program without an absolute path"));
    }
    if !launch.cwd.is_absolute() || nul(&launch.cwd.clone().into_os_string()) {
        return Err(LaunchFault::Unfit("a working folder without an absolute path"));
    }
    if launch.args.iter().any(nul) {
        return Err(LaunchFault::Unfit("an argument with a NUL character"));
    }
    for (name, value) in &launch.env {
        if name.is_empty() || name.as_encoded_bytes().contains(&b'=') || nul(name) {
            return Err(LaunchFault::Unfit("a variable whose name is empty or has = or NUL"));
        }
        if nul(value) {
            return Err(LaunchFault::Unfit("a variable with a NUL character"));
        }
    }
    Ok(())
}
