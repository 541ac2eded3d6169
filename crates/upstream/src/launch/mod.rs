//! The hub's side of the guard: starts programs, tells when they end, ends them. Lives on the relay thread, blocks
//! nowhere, and forks nothing but the guard.

mod held;
mod link;
mod pipes;
mod program;
mod tree;

pub use crate::guard::words::Past;
pub use crate::guard::{Seed, sow};
pub use program::{Capacity, Child, Launch, LaunchFault};
pub use tree::{Exit, Patience, Step, Stopped, Tree, stop_ladder};

use crate::guard::words::{Ended, Force, Report, Request, Stage, Start};
use crate::guard::{COMMAND, MARK};
use crate::task;
use held::Held;
use link::Link;
use program::fit;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;
use tree::Life;

/// At most so many starts may wait for the guard at once.
const WAITING: usize = 256;

/// Starts programs through one guard, and starts another guard when that one is lost.
#[derive(Clone)]
pub struct Launcher {
    inner: Rc<Inner>,
}

struct Inner {
    binary: PathBuf,
    home: String,
    run: RefCell<String>,
    next: Cell<u64>,
    link: RefCell<Option<Rc<Link>>>,
    task: RefCell<Option<JoinHandle<()>>>,
    instances: RefCell<BTreeMap<u64, Instance>>,
    /// Rings when a guard has ended.
    ended: Notify,
    swept: watch::Sender<u32>,
}

enum Instance {
    Waiting(oneshot::Sender<Result<Tree, (Stage, i32)>>),
    Running(watch::Sender<Life>),
}

impl Launcher {
    /// Starts the guard, or takes over the one that is there. `binary` is our own: on Linux best `/proc/self/exe`, which
    /// stays the same when the file is replaced by an upgrade. `home` is the folder whose hub this is: what an earlier
    /// hub of the same home may have left running is ended before anything is started. Needs a tokio `LocalSet` around it.
    pub fn start(binary: &Path, home: &Path, seed: Option<Seed>, past: Past) -> Result<Launcher, LaunchFault> {
        let inner = Rc::new(Inner {
            binary: binary.to_owned(),
            home: home_mark(home),
            run: RefCell::default(),
            next: Cell::new(1),
            link: RefCell::default(),
            task: RefCell::default(),
            instances: RefCell::default(),
            ended: Notify::new(),
            swept: watch::channel(0).0,
        });
        inner.begin(seed, past)?;
        Ok(Launcher { inner })
    }

    /// Starts a program. Dropped before it is ready, the program is ended again.
    pub async fn spawn(&self, launch: Launch) -> Result<Child, LaunchFault> {
        fit(&launch)?;
        let waiting = |instance: &Instance| matches!(instance, Instance::Waiting(_));
        if self.inner.instances.borrow().values().filter(|instance| waiting(instance)).count() >= WAITING {
            return Err(LaunchFault::Busy);
        }
        let link = self.inner.link()?;
        let running = self.inner.instances.borrow().len();
        let (ours, theirs) = pipes::three(running).map_err(LaunchFault::System)?;

        let id = self.inner.next.replace(self.inner.next.get() + 1);
        let bytes = |text: &OsString| text.clone().into_vec();
        let mut env: Vec<_> = launch.env.iter().map(|(name, value)| (bytes(name), bytes(value))).collect();
        env.retain(|(name, _)| name != MARK.as_bytes());
        env.push((MARK.into(), format!("{}{id}", self.inner.run.borrow()).into_bytes()));
        let request = Request::Start(Start {
            id,
            program: launch.program.clone().into_os_string().into_vec(),
            args: launch.args.iter().map(bytes).collect(),
            env,
            cwd: launch.cwd.clone().into_os_string().into_vec(),
        });
        let (answer, answered) = oneshot::channel();
        let frame = request.encode().ok_or(LaunchFault::TooLong)?;
        self.inner.instances.borrow_mut().insert(id, Instance::Waiting(answer));
        link.send(frame, Vec::from(theirs));
        match answered.await {
            Ok(Ok(tree)) => {
                let pipes::Ours { stdin, stdout, stderr, capacity } = ours;
                Ok(Child { stdin, stdout, stderr, capacity, tree })
            }
            Ok(Err((stage, errno))) => Err(fault(launch, stage, io::Error::from_raw_os_error(errno))),
            Err(_) => Err(LaunchFault::GuardLost),
        }
    }

    /// How many leftovers of an earlier hub or guard were ended so far.
    pub fn swept(&self) -> u32 {
        *self.inner.swept.borrow()
    }

    /// The process number of the guard, if one runs.
    pub fn guard(&self) -> Option<u32> {
        self.inner.guard()
    }

    /// Lets the guard go, which ends whatever still runs, and waits until it has left; false if it takes longer.
    pub async fn close(self, patience: Duration) -> bool {
        let Some(link) = self.inner.link.borrow().clone() else { return true };
        let ended = self.inner.ended.notified();
        link.close();
        tokio::time::timeout(patience, ended).await.is_ok()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(task) = self.task.get_mut().take() {
            task.abort();
        }
    }
}

impl Inner {
    /// The connection to the guard; starts one if there is none.
    fn link(self: &Rc<Self>) -> Result<Rc<Link>, LaunchFault> {
        if let Some(link) = &*self.link.borrow() {
            return Ok(link.clone());
        }
        self.begin(None, Past::Unknown)
    }

    fn begin(self: &Rc<Self>, seed: Option<Seed>, past: Past) -> Result<Rc<Link>, LaunchFault> {
        let broken = |fault| LaunchFault::Guard(self.binary.clone(), fault);
        let mut random = [0; 4];
        getrandom::fill(&mut random).map_err(|fault| broken(io::Error::other(fault)))?;
        let run = format!("{}{:08x}-", self.home, u32::from_le_bytes(random));
        let link = match seed {
            Some(seed) => Link::grow(seed),
            None => Link::start(&self.binary, COMMAND),
        };
        let link = Rc::new(link.map_err(broken)?);
        let hello = Request::Hello { home: self.home.clone(), run: run.clone(), past };
        link.send(hello.encode().ok_or(LaunchFault::TooLong)?, Vec::new());
        self.run.replace(run);
        self.link.replace(Some(link.clone()));
        let task = task::spawn("guard", listen(Rc::downgrade(self), link.clone()));
        self.task.replace(Some(task));
        Ok(link)
    }

    fn guard(&self) -> Option<u32> {
        self.link.borrow().as_ref().map(|link| link.pid())
    }

    fn end(&self, id: u64, force: Force) {
        if let (Some(link), Some(frame)) = (&*self.link.borrow(), Request::End(id, force).encode()) {
            link.send(frame, Vec::new());
        }
    }

    fn heard(self: &Rc<Self>, report: Report) {
        match report {
            Report::Started { id, pid } => {
                let (life, watching) = watch::channel(Life::default());
                let before = self.instances.borrow_mut().insert(id, Instance::Running(life));
                let tree = Tree::new(Box::new(Held::new(Rc::downgrade(self), id, pid)), pid, watching);
                if let Some(Instance::Waiting(answer)) = before {
                    // If nobody waits any more, the handle is dropped here, and that kills the tree.
                    let _ = answer.send(Ok(tree));
                }
            }
            Report::Failed { id, stage, errno } => {
                let before = self.instances.borrow_mut().remove(&id);
                if let Some(Instance::Waiting(answer)) = before {
                    let _ = answer.send(Err((stage, errno)));
                }
            }
            Report::Exited { id, how } => {
                if let Some(Instance::Running(life)) = self.instances.borrow().get(&id) {
                    let exit = match how {
                        Ended::Code(code) => Exit::Code(code),
                        Ended::Signal(signal) => Exit::Signal(signal),
                    };
                    life.send_modify(|life| life.exit = Some(exit));
                }
            }
            Report::Gone { id } => {
                let before = self.instances.borrow_mut().remove(&id);
                if let Some(Instance::Running(life)) = before {
                    life.send_modify(|life| life.gone = true);
                }
            }
            Report::Swept { count } => self.swept.send_modify(|swept| *swept += count),
        }
    }

    /// The guard has ended. Everything it started counts as ended; if there was anything, a new guard sweeps it up.
    fn lost(self: &Rc<Self>, link: &Rc<Link>) {
        self.link.replace(None);
        self.task.replace(None);
        link.bury();
        let instances = std::mem::take(&mut *self.instances.borrow_mut());
        let orphaned = instances.values().any(|instance| matches!(instance, Instance::Running(_)));
        if link.closing() {
            tracing::debug!("the guard has left");
        } else {
            tracing::error!(children = instances.len(), "the guard was lost, and with it the hold on its children");
        }
        if orphaned
            && !link.closing()
            && let Err(fault) = self.link()
        {
            tracing::error!(%fault, "no new guard");
        }
        for instance in instances.into_values() {
            if let Instance::Running(life) = instance {
                life.send_modify(|life| *life = Life { exit: Some(life.exit.unwrap_or(Exit::Lost)), gone: true });
            }
        }
        self.ended.notify_waiters();
    }
}

/// Hears one guard until it ends.
async fn listen(inner: Weak<Inner>, link: Rc<Link>) {
    loop {
        let reports = link.hear().await;
        let Some(inner) = inner.upgrade() else { return };
        let Some(reports) = reports else { return inner.lost(&link) };
        for report in reports {
            inner.heard(report);
        }
    }
}

/// Same folder on the same machine: same mark. A folder of the same path in a container has another.
fn home_mark(home: &Path) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let place = std::fs::metadata(home).map(|at| (at.dev(), at.ino())).unwrap_or_default();
    let text = format!("{place:?}{}", home.display());
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}-")
}

fn fault(launch: Launch, stage: Stage, cause: io::Error) -> LaunchFault {
    match stage {
        Stage::Cwd => LaunchFault::Cwd(launch.cwd, cause),
        Stage::Program => LaunchFault::Program(launch.program, cause),
        Stage::Interpreter => LaunchFault::Interpreter(launch.program, cause),
        Stage::Process if cause.raw_os_error() == Some(rustix::io::Errno::TOOBIG.raw_os_error()) => {
            LaunchFault::TooLong
        }
        Stage::Descriptors | Stage::Process => LaunchFault::System(cause),
    }
}
