//! The two memory files of a loan, and what goes with the attach line.

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Where the marks begin in their file; before them the header and what the host said of itself.
pub(super) const MARKS: u64 = 128 * 1024;
/// Where the params of the host's `initialize` stand, behind their length.
pub(super) const INITIALIZE: u64 = 64;
/// Longest params that are kept, in bytes.
pub(super) const LONGEST_INITIALIZE: usize = MARKS as usize - INITIALIZE as usize - 4;

/// How a host's stdin is read without a gap in which its bytes are nowhere but in the hub's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A pipe: spliced into `input`, which holds its very bytes.
    Pipe,
    /// A socket: looked at, written to `input` as a block behind its length, then taken.
    Socket,
}

impl Form {
    pub(super) fn of(fd: BorrowedFd<'_>) -> Option<Form> {
        use rustix::fs::FileType;
        match FileType::from_raw_mode(rustix::fs::fstat(fd).ok()?.st_mode) {
            FileType::Fifo => Some(Form::Pipe),
            FileType::Socket => Some(Form::Socket),
            _ => None,
        }
    }
}

/// The adapter's memory files.
#[derive(Debug)]
pub struct Memory {
    pub(super) marks: OwnedFd,
    pub(super) input: OwnedFd,
}

impl Memory {
    /// Two empty files.
    ///
    /// # Errors
    /// What the system says; then messages are copied.
    pub fn new() -> io::Result<Memory> {
        let file = |name| rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING);
        Ok(Memory { marks: file("callgate-marks")?, input: file("callgate-input")? })
    }
}

/// Whether these can be lent.
pub fn can_lend(host_in: BorrowedFd<'_>, host_out: BorrowedFd<'_>) -> bool {
    Form::of(host_in).is_some() && Form::of(host_out).is_some()
}

/// Sends the attach line, and with it what may be lent later.
///
/// # Errors
/// What the system says; the connection is of no more use then.
pub fn offer(
    hub: BorrowedFd<'_>,
    line: &[u8],
    host_in: BorrowedFd<'_>,
    host_out: BorrowedFd<'_>,
    memory: &Memory,
) -> io::Result<usize> {
    let fds = [host_in, host_out, memory.marks.as_fd(), memory.input.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&fds));
    Ok(rustix::net::sendmsg(hub, &[IoSlice::new(line)], &mut control, SendFlags::NOSIGNAL)?)
}

/// Whether writing to a received file can only touch memory, and never hold the hub up.
pub(super) fn is_memory(fd: &OwnedFd) -> bool {
    rustix::fs::fcntl_get_seals(fd).is_ok_and(|seals| !seals.intersects(SealFlags::WRITE | SealFlags::GROW))
}
