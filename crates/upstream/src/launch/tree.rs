//! A program that runs and all that it starts, as seen by the hub: how it ended, whether anything is left, and the
//! steps by which it is made to leave.

use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// How the program started came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Not known: the guard that watched it is gone.
    Lost,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "code {code}"),
            Exit::Signal(signal) => write!(f, "signal {signal}"),
            Exit::Lost => f.write_str("lost with its guard"),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Life {
    pub exit: Option<Exit>,
    pub gone: bool,
}

/// Whether a process is of a tree, once it is known.
pub(super) type Owns = Pin<Box<dyn Future<Output = bool>>>;

/// How a system holds a tree of processes.
pub(super) trait Hold {
    /// Asks every process of the tree to leave; where a system cannot ask, it does as `kill` does.
    fn terminate(&self);
    /// Ends every process of the tree.
    fn kill(&self);
    /// Whether a process is of the tree.
    fn owns(&self, pid: i32) -> Owns;
}

/// A handle on a tree of processes; clones are of the same tree. The last one to be dropped kills what is left.
#[derive(Clone)]
pub struct Tree {
    trunk: Rc<Trunk>,
}

struct Trunk {
    hold: Box<dyn Hold>,
    pid: i32,
    life: watch::Receiver<Life>,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree").field("pid", &self.trunk.pid).finish_non_exhaustive()
    }
}

impl Tree {
    pub(super) fn new(hold: Box<dyn Hold>, pid: i32, life: watch::Receiver<Life>) -> Tree {
        Tree { trunk: Rc::new(Trunk { hold, pid, life }) }
    }

    /// The process number of the program started.
    pub fn pid(&self) -> i32 {
        self.trunk.pid
    }

    /// How the program ended, if it has.
    pub fn exit(&self) -> Option<Exit> {
        self.trunk.life.borrow().exit
    }

    /// Waits until the program started has ended. What it started may live on.
    pub async fn exited(&self) -> Exit {
        let mut life = self.trunk.life.clone();
        match life.wait_for(|life| life.exit.is_some()).await {
            Ok(life) => life.exit.unwrap_or(Exit::Lost),
            Err(_) => self.exit().unwrap_or(Exit::Lost),
        }
    }

    /// Whether a process is of this tree: below the program, or of its process group, or adopted by the guard.
    pub async fn owns(&self, pid: i32) -> bool {
        self.trunk.hold.owns(pid).await
    }

    /// Waits until no process of the tree is left.
    pub async fn gone(&self) {
        let mut life = self.trunk.life.clone();
        let _ = life.wait_for(|life| life.gone).await;
    }

    /// SIGTERM to every process of the tree; on Windows, which has none, the same as `kill`.
    pub fn terminate(&self) {
        self.trunk.hold.terminate();
    }

    /// SIGKILL to every process of the tree, until none is left; on Windows the job is ended.
    pub fn kill(&self) {
        self.trunk.hold.kill();
    }
}

impl Drop for Trunk {
    fn drop(&mut self) {
        if !self.life.borrow().gone {
            self.hold.kill();
        }
    }
}

/// How long a server is waited for at each step of stopping.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// After its stdin was closed.
    pub close: Duration,
    /// For its offspring, once the program itself has ended.
    pub offspring: Duration,
    /// After SIGTERM.
    pub terminate: Duration,
    /// After SIGKILL.
    pub kill: Duration,
}

impl Default for Patience {
    /// The slowest of 55 real servers needs 2.8 s after its stdin was closed.
    fn default() -> Patience {
        Patience {
            close: Duration::from_secs(4),
            offspring: Duration::from_millis(500),
            terminate: Duration::from_secs(2),
            kill: Duration::from_secs(2),
        }
    }
}

/// The step that ended a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// It left when its stdin was closed.
    Closed,
    /// It left at SIGTERM.
    Terminated,
    /// It was killed.
    Killed,
    /// Something is still there after SIGKILL: stuck in the kernel, or another user's.
    Stuck,
}

/// How a tree was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Of the program started; None if it is stuck.
    pub exit: Option<Exit>,
    /// The step it took; beyond [`Step::Closed`] it was late.
    pub step: Step,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.step {
            Step::Closed => "left when its input was closed",
            Step::Terminated | Step::Killed if cfg!(windows) => {
                "was late: it did not leave when its input was closed, and was ended"
            }
            Step::Terminated => "was late: it did not leave when its input was closed, but at SIGTERM",
            Step::Killed => "was late: it ignored its closed input and SIGTERM, and was killed",
            Step::Stuck => "is stuck: something of it is left even after SIGKILL",
        })
    }
}

/// Ends a tree whose stdin the caller has just dropped: waits, then SIGTERM, then SIGKILL, to all of it.
pub async fn stop_ladder(tree: &Tree, patience: Patience) -> Stopped {
    let told = |step| Stopped { exit: tree.exit(), step };
    let closed = async {
        if timeout(patience.close, tree.exited()).await.is_err() {
            return false;
        }
        timeout(patience.offspring, tree.gone()).await.is_ok()
    };
    if closed.await {
        return told(Step::Closed);
    }
    tree.terminate();
    if timeout(patience.terminate, tree.gone()).await.is_ok() {
        return told(Step::Terminated);
    }
    tree.kill();
    match timeout(patience.kill, tree.gone()).await {
        Ok(()) => told(Step::Killed),
        Err(_) => told(Step::Stuck),
    }
}
