//! The three pipes of a program: our ends do not block, none is inherited by anyone, and those that carry messages
//! are enlarged so that a large result crosses in a few wakes.

use super::Capacity;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::io;
use std::os::fd::OwnedFd;

/// What a message pipe is enlarged to.
#[cfg(target_os = "linux")]
const LARGE: usize = 1 << 20;
/// The system counts a user's enlarged pipes against 64 MiB and makes all later ones tiny: stay at half of it.
#[cfg(target_os = "linux")]
const ENLARGED: usize = 16;

pub struct Ours {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    pub capacity: Capacity,
}

/// Our ends, and the program's in the order 0, 1, 2. `running`: how many programs have such pipes already.
pub fn three(running: usize) -> io::Result<(Ours, [OwnedFd; 3])> {
    let (their_stdin, stdin) = pipe()?;
    let (stdout, their_stdout) = pipe()?;
    let (stderr, their_stderr) = pipe()?;
    for end in [&stdin, &stdout, &stderr] {
        fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
    }
    let capacity = Capacity { stdin: enlarge(&stdin, running), stdout: enlarge(&stdout, running) };
    Ok((Ours { stdin, stdout, stderr, capacity }, [their_stdin, their_stdout, their_stderr]))
}

#[cfg(target_os = "linux")]
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
}

/// Without pipe2 there is a moment in which a fork would inherit the ends; only the guard is ever forked here.
#[cfg(not(target_os = "linux"))]
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe()?;
    for end in [&read, &write] {
        rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC)?;
    }
    Ok((read, write))
}

#[cfg(target_os = "linux")]
fn enlarge(end: &OwnedFd, running: usize) -> usize {
    if running < ENLARGED {
        for size in [LARGE, LARGE / 4] {
            match rustix::pipe::fcntl_setpipe_size(end, size) {
                Ok(size) => return size,
                Err(fault) => tracing::debug!(size, %fault, "the system does not enlarge a pipe so far"),
            }
        }
    }
    rustix::pipe::fcntl_getpipe_size(end).unwrap_or(64 << 10)
}

/// Other systems size pipes by themselves.
#[cfg(not(target_os = "linux"))]
fn enlarge(_end: &OwnedFd, _running: usize) -> usize {
    64 << 10
}
