//! What the tests stand on: a runtime, scripts, and ways to see whether a process lives.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::future::Future;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::unix::pipe;
use upstream::launch::{Child, Launch, Launcher, Patience, Step};

/// The role of a hub that starts the scripts given as arguments, tells their pids, and waits to be killed.
pub const HUB: &str = "hub";

pub type Tests = Vec<(&'static str, fn())>;

/// Long enough also on a machine that is busy with other things; waits end as soon as they can.
pub const LONG: Duration = Duration::from_secs(20);

/// Short for the steps before the one that is expected, long for that one.
pub fn patience(expected: Step) -> Patience {
    let time = |step| if step < expected { Duration::from_millis(100) } else { LONG };
    let close = time(Step::Closed);
    Patience { close, offspring: close, terminate: time(Step::Terminated), kill: LONG }
}

pub fn local<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

/// A home with a launcher.
pub struct Stage {
    pub home: TempDir,
    pub launcher: Launcher,
}

impl Stage {
    pub fn new() -> Stage {
        let home = tempfile::tempdir().unwrap();
        let launcher =
            Launcher::start(&std::env::current_exe().unwrap(), home.path(), None, upstream::launch::Past::Unknown)
                .unwrap();
        Stage { home, launcher }
    }

    pub async fn sh(&self, script: &str) -> Running {
        Running::new(self.launcher.spawn(shell(script)).await.unwrap())
    }
}

pub fn shell(script: &str) -> Launch {
    program("/bin/sh", &["-c", script])
}

pub fn program(path: &str, args: &[&str]) -> Launch {
    Launch {
        program: PathBuf::from(path),
        args: args.iter().map(Into::into).collect(),
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        cwd: PathBuf::from("/"),
    }
}

/// A child whose output is read by lines.
pub struct Running {
    pub stdin: Option<OwnedFd>,
    pub lines: Lines<BufReader<pipe::Receiver>>,
    pub stderr: Option<OwnedFd>,
    pub tree: upstream::launch::Tree,
}

impl Running {
    pub fn new(child: Child) -> Running {
        let (mut running, stderr) = Running::apart(child);
        running.stderr = Some(stderr);
        running
    }

    /// With its stderr aside.
    pub fn apart(child: Child) -> (Running, OwnedFd) {
        let lines = BufReader::new(pipe::Receiver::from_owned_fd(child.stdout).unwrap()).lines();
        (Running { stdin: Some(child.stdin), lines, stderr: None, tree: child.tree }, child.stderr)
    }

    pub async fn line(&mut self) -> String {
        self.lines.next_line().await.unwrap().expect("a line")
    }

    /// The next `count` lines are process numbers.
    pub async fn pids(&mut self, count: usize) -> Witness {
        let mut pids = Vec::new();
        for _ in 0..count {
            pids.push(self.line().await.trim().parse().unwrap());
        }
        Witness::new(&pids)
    }
}

/// Holds on to processes, so that their end can be waited for without asking by number.
pub struct Witness(Vec<(i32, OwnedFd)>);

impl Witness {
    pub fn new(pids: &[i32]) -> Witness {
        let open = |&pid: &i32| (pid, pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).expect("lives"));
        Witness(pids.iter().map(open).collect())
    }

    /// Those that still live after `limit`; returns as soon as none does.
    pub fn survivors(&self, limit: Duration) -> Vec<i32> {
        let deadline = Instant::now() + limit;
        for (_, handle) in &self.0 {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&timeout)).unwrap();
        }
        self.0.iter().map(|(pid, _)| *pid).filter(|pid| lives(*pid)).collect()
    }

    pub fn living(&self) -> usize {
        self.0.iter().filter(|(pid, _)| lives(*pid)).count()
    }
}

/// Whether more is running than this machine has cores for.
pub fn busy() -> bool {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    let load: f64 = load.split(' ').next().unwrap().parse().unwrap();
    load > std::thread::available_parallelism().unwrap().get() as f64
}

/// A zombie does not count.
pub fn lives(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| !state.trim_start().starts_with(['Z', 'X']))
}

/// A wrapper that starts a shell that starts the real server, which ignores SIGTERM and its closed stdin; one more
/// leaves the session, one leaves by a double fork, one leaves both and wears other variables. Tells six pids.
pub const FAMILY: &str = r#"
    stubborn='trap "" TERM HUP INT; echo $$; exec 0</dev/null; while :; do sleep 1000 & wait; done'
    export stubborn
    sh -c "$stubborn" &
    setsid sh -c "$stubborn" &
    (setsid sh -c "$stubborn" &)
    (setsid env -i PATH="$PATH" sh -c "$stubborn" &)
    sh -c 'echo $$; sh -c "$stubborn" & wait' &
    wait
"#;
pub const FAMILY_SIZE: usize = 6;

pub fn hub() -> ExitCode {
    local(async {
        let args: Vec<String> = std::env::args().skip(2).collect();
        let launcher = Launcher::start(
            &std::env::current_exe().unwrap(),
            Path::new(&args[0]),
            None,
            upstream::launch::Past::Unknown,
        )
        .unwrap();
        let mut children = Vec::new();
        for script in &args[1..] {
            let mut running = Running::new(launcher.spawn(shell(script)).await.unwrap());
            println!("{}", running.tree.pid());
            while let Some(line) = running.lines.next_line().await.unwrap() {
                if line == "done" {
                    break;
                }
                println!("{line}");
            }
            children.push(running);
        }
        println!("{}", launcher.guard().unwrap());
        println!("ready");
        std::future::pending::<()>().await;
        drop(children);
    });
    ExitCode::SUCCESS
}
