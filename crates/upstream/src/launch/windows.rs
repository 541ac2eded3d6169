//! Windows: starts programs, each with all that it will ever start in a job object of its own, which ends them when
//! the hub ends, however that ends. No guard is needed. Type-checked, not run yet.

mod job;
mod program;
mod tree;

pub use program::{Capacity, Child, Launch, LaunchFault};
pub use tree::{Exit, Patience, Step, Stopped, Tree, stop_ladder};

use crate::task;
use job::Held;
use program::fit;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tree::Life;

/// What a pipe of [`named_pipe`] holds.
const PIPE: usize = 64 << 10;

/// What is still running: how to end it, and the task that watches it.
struct Running {
    held: Rc<Held>,
    task: JoinHandle<()>,
}

/// Starts programs.
#[derive(Clone, Default)]
pub struct Launcher {
    running: Rc<RefCell<BTreeMap<u64, Running>>>,
    next: Rc<Cell<u64>>,
}

/// There is no guard here.
pub enum Seed {}

/// What is known of those who ran before: a job ends with its hub, so that nothing is ever left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// They have left.
    Left,
    /// They may have been killed.
    Unknown,
}

/// Refused: job objects need nobody who waits.
pub fn sow() -> io::Result<Seed> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Launcher {
    /// Nothing has to be running beforehand. Needs a tokio `LocalSet` around it.
    pub fn start(_binary: &Path, _home: &Path, _seed: Option<Seed>, _past: Past) -> Result<Launcher, LaunchFault> {
        Ok(Launcher::default())
    }

    /// Starts a program. Dropped before it is ready, the program is not started, or ended again.
    pub async fn spawn(&self, launch: Launch) -> Result<Child, LaunchFault> {
        fit(&launch)?;
        let (stdin, their_stdin) = named_pipe::outbound().await.map_err(LaunchFault::System)?;
        let (stdout, their_stdout) = named_pipe::inbound().await.map_err(LaunchFault::System)?;
        let (stderr, their_stderr) = named_pipe::inbound().await.map_err(LaunchFault::System)?;
        let started = job::start(&launch, [their_stdin, their_stdout, their_stderr]);
        let (held, child) = started.map_err(|cause| fault(launch, cause))?;
        let held = Rc::new(held);
        let pid = child.id().unwrap_or_default().cast_signed();

        let id = self.next.replace(self.next.get() + 1);
        let (life, watching) = watch::channel(Life::default());
        let (running, watched) = (Rc::clone(&self.running), Rc::clone(&held));
        let task = task::spawn("server's job", async move {
            job::watch(child, &watched, &life).await;
            running.borrow_mut().remove(&id);
        });
        self.running.borrow_mut().insert(id, Running { held: Rc::clone(&held), task });
        let tree = Tree::new(Box::new(held), pid, watching);
        Ok(Child { stdin, stdout, stderr, capacity: Capacity { stdin: PIPE, stdout: PIPE }, tree })
    }

    /// Nothing is ever left of an earlier hub.
    pub fn swept(&self) -> u32 {
        0
    }

    /// There is no guard.
    pub fn guard(&self) -> Option<u32> {
        None
    }

    /// Ends whatever still runs, and waits until it is gone; false if that takes longer.
    pub async fn close(self, patience: Duration) -> bool {
        let running = std::mem::take(&mut *self.running.borrow_mut());
        let ended = async {
            for Running { held, task } in running.into_values() {
                held.kill();
                // A task that ended badly has let go of its job, which ends the programs too.
                let _ = task.await;
            }
        };
        tokio::time::timeout(patience, ended).await.is_ok()
    }
}

/// The codes are those of `CreateProcess`.
fn fault(launch: Launch, cause: io::Error) -> LaunchFault {
    const FILE_NAME_TOO_LONG: i32 = 206;
    const NOT_A_FOLDER: i32 = 267;
    const NO_PROGRAM: i32 = 193;
    match (cause.raw_os_error(), cause.kind()) {
        (Some(NOT_A_FOLDER), _) => LaunchFault::Cwd(launch.cwd, cause),
        (Some(FILE_NAME_TOO_LONG), _) => LaunchFault::TooLong,
        (Some(NO_PROGRAM), _) | (_, io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            LaunchFault::Program(launch.program, cause)
        }
        // The standard library refuses what `cmd.exe` would read as a command of its own.
        (_, io::ErrorKind::InvalidInput) => LaunchFault::Unfit("an argument that a batch file would misread"),
        (_, _) => LaunchFault::System(cause),
    }
}
