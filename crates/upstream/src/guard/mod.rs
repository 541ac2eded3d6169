//! The guard: one small process per hub, its own fork or our binary run again, that starts all programs for the hub and ends
//! every one of them, with all they started, when the hub is gone. No threads, no runtime, no log of its own.

pub mod census;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(target_os = "macos", test))]
mod macos;
#[cfg(target_os = "linux")]
mod seed;
mod socket;
mod start;
pub mod ward;
pub mod words;

#[cfg(target_os = "linux")]
use linux::System;
#[cfg(target_os = "macos")]
use macos::System;

#[cfg(target_os = "linux")]
pub use seed::{Seed, sow};

use census::{Proc, Table};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{WaitOptions, getpid, getppid, setsid, wait};
use socket::Socket;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Instant;
use ward::{Effect, Event, Millis, Ward};
use words::{Ended, Force};

/// How both ends of the socket send: without waiting, and an end that is gone is an error and no signal. macOS lacks
/// the flag for that; programs in Rust ignore the signal from their start.
#[cfg(target_os = "linux")]
pub(crate) const SENDING: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
#[cfg(not(target_os = "linux"))]
pub(crate) const SENDING: SendFlags = SendFlags::DONTWAIT;
/// The hidden command that makes our binary a guard.
pub const COMMAND: &str = "guard";

/// The variable that the guard's children carry, and all that they start: by it they are found when they have
/// left their family. Its value is `HOME-RUN-NUMBER`. No other variable is added to a server's environment.
pub const MARK: &str = "CALLGATE_INSTANCE";

/// On other systems the first guard is the binary run again, as all later ones are.
#[cfg(not(target_os = "linux"))]
pub struct Seed {
    pub(crate) socket: UnixStream,
    pub(crate) pid: i32,
}

/// Refused here.
#[cfg(not(target_os = "linux"))]
pub fn sow() -> io::Result<Seed> {
    Err(io::ErrorKind::Unsupported.into())
}

/// What the guard needs from a system. One file each; a system without one (Windows: a job object that is closed
/// with the hub would do all of this) has no guard, and the launcher is not built there.
pub trait Platform: Sized {
    /// Makes this process answer for all below it.
    fn take_charge() -> io::Result<Self>;
    /// For looking only.
    fn observe() -> Self;
    /// When a process began, in the system's own unit; None if there is none.
    fn start_of(&mut self, pid: i32) -> Option<u64>;
    /// All living processes, at least those below the guard. `roots` are those it knows.
    fn table(&mut self, roots: &[Proc]) -> io::Result<Table>;
    /// The value of [`MARK`] that a process began with.
    fn mark(&mut self, pid: i32) -> Option<Vec<u8>>;
    /// Signals a process, unless its number belongs to another by now.
    fn signal(&mut self, proc: Proc, force: Force);
    /// Signals a process group that the table has just shown to exist.
    fn signal_group(&mut self, group: i32, force: Force);
}

/// Whether a process is of the tree of `root`: below it or of its process group, or below the guard and marked as of
/// that instance. Reads the process table, so it must not be called on the relay thread.
pub fn is_kin(pid: i32, root: i32, guard: Option<u32>, instance: &[u8]) -> bool {
    use rustix::process::{Pid, getpgid};
    let group =
        |pid: i32| Pid::from_raw(pid).and_then(|pid| getpgid(Some(pid)).ok()).map(|group| group.as_raw_nonzero().get());
    if pid == root || group(pid) == Some(root) {
        return true;
    }
    let mut system = System::observe();
    let Ok(table) = system.table(&[]) else { return false };
    let line: Vec<i32> = table.line(pid).map(|entry| entry.proc.pid).collect();
    let guard = guard.and_then(|guard| i32::try_from(guard).ok());
    line.contains(&root)
        || line
            .iter()
            .position(|step| Some(*step) == guard)
            .is_some_and(|above| line[..above].iter().any(|step| system.mark(*step).as_deref() == Some(instance)))
}

/// Runs as the guard until the hub is gone and nothing is left to guard. Stdin is the socket to the hub.
pub fn run() -> ExitCode {
    match guard() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            complain(&fault);
            ExitCode::FAILURE
        }
    }
}

fn complain(fault: &io::Error) {
    eprintln!("callgate guard: {fault}");
}

fn guard() -> io::Result<()> {
    // What our starter had open must reach no server.
    close_fds::set_fds_cloexec(3, &[]);
    let bell = signals()?;
    // Out of reach of the terminal's keys: servers are stopped by the hub's own order. It fails only for a
    // leader of a group, which is out of reach already.
    let _ = setsid();
    let hub = getppid();
    let system = System::take_charge()?;
    let ward = Ward::new(getpid().as_raw_nonzero().get());
    Loop { system, socket: Socket::default(), ward, began: Instant::now() }.run(&bell, hub)
}

/// Rings on every signal that may come. They are caught and not ignored, because what is ignored stays ignored
/// in the children. SIGTERM alone ends nothing: the hub's end does.
fn signals() -> io::Result<UnixStream> {
    use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    let (bell, rope) = UnixStream::pair()?;
    bell.set_nonblocking(true)?;
    for signal in [SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2] {
        signal_hook::low_level::pipe::register(signal, rope.try_clone()?)?;
    }
    Ok(bell)
}

struct Loop {
    system: System,
    socket: Socket,
    ward: Ward,
    began: Instant,
}

impl Loop {
    fn now(&self) -> Millis {
        self.began.elapsed().as_millis() as Millis
    }

    fn run(mut self, bell: &UnixStream, hub: Option<rustix::process::Pid>) -> io::Result<()> {
        loop {
            self.wait(bell)?;
            let mut events = self.socket.read();
            if getppid() != hub {
                events.push(Event::HubGone);
            }
            for event in events {
                self.take(event);
            }
            while let Some((pid, how)) = reap() {
                self.take(Event::Reaped(pid, how));
            }
            while self.ward.look_at().is_some_and(|at| at <= self.now()) {
                let roots: Vec<Proc> = self.ward.roots().collect();
                let now = self.now();
                let Ok(table) = self.system.table(&roots) else {
                    // Out of memory or descriptors. Leaving now would let everyone go.
                    self.ward.blind(now);
                    continue;
                };
                let effects = self.ward.seen(&table, &mut |pid| self.system.mark(pid), now);
                if self.perform(effects).is_break() {
                    return Ok(());
                }
            }
            self.socket.flush();
        }
    }

    /// Sleeps until there is something to do.
    fn wait(&mut self, bell: &UnixStream) -> io::Result<()> {
        let left = self.ward.look_at().map(|at| at.saturating_sub(self.now()));
        let timeout =
            left.map(|left| Timespec { tv_sec: (left / 1000) as i64, tv_nsec: (left % 1000 * 1_000_000) as _ });
        let mut fds = vec![PollFd::new(bell, PollFlags::IN)];
        if let Some(interest) = self.socket.interest() {
            fds.push(PollFd::from_borrowed_fd(rustix::stdio::stdin(), interest));
        }
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(fault) => return Err(fault.into()),
        }
        let mut bell = bell;
        while bell.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
        Ok(())
    }

    fn take(&mut self, event: Event) {
        let effects = self.ward.handle(event, self.now());
        let _ = self.perform(effects);
    }

    fn perform(&mut self, effects: Vec<Effect>) -> ControlFlow<()> {
        for effect in effects {
            match effect {
                Effect::Start(start) => {
                    let event = match start::start(&start, self.socket.descriptors(start.id)) {
                        Ok(pid) => {
                            // Not reaped yet, so it is there even if it has ended.
                            let began = self.system.start_of(pid).unwrap_or_default();
                            Event::Started(start.id, Proc { pid, start: began })
                        }
                        Err((stage, errno)) => Event::NotStarted(start.id, stage, errno),
                    };
                    self.take(event);
                }
                Effect::Report(report) => self.socket.write(&report.encode()),
                Effect::Group(group, force) => self.system.signal_group(group, force),
                Effect::One(proc, force) => self.system.signal(proc, force),
                Effect::Leave => {
                    self.socket.flush();
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The next child that has ended, started or adopted.
fn reap() -> Option<(i32, Ended)> {
    loop {
        let (pid, status) = wait(WaitOptions::NOHANG).ok().flatten()?;
        let pid = pid.as_raw_nonzero().get();
        if let Some(code) = status.exit_status() {
            return Some((pid, Ended::Code(code)));
        }
        if let Some(signal) = status.terminating_signal() {
            return Some((pid, Ended::Signal(signal)));
        }
    }
}
