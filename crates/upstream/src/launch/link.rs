//! The hub's end of the socket to one guard. Sending never waits; hearing is the listening task's alone.

use crate::guard::words::Report;
use crate::guard::{SENDING, Seed};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, Shutdown, sendmsg, shutdown};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::Notify;

/// What is still to be sent of one frame. Its descriptors travel with its first byte.
struct Frame {
    bytes: Vec<u8>,
    at: usize,
    descriptors: Vec<OwnedFd>,
}

/// The guard as our child.
enum Guard {
    Run(Child),
    Forked(Pid),
}

pub struct Link {
    guard: RefCell<Guard>,
    socket: UnixStream,
    unsent: RefCell<VecDeque<Frame>>,
    unread: RefCell<Vec<u8>>,
    /// Rings when something could not be sent at once.
    stuck: Notify,
    closing: Cell<bool>,
}

impl Link {
    /// Starts a guard with our other end of the socket as its stdin.
    pub fn start(binary: &Path, command: &str) -> io::Result<Link> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        #[allow(clippy::disallowed_methods, reason = "the guard itself has to be started by someone")]
        let guard = Command::new(binary)
            .arg0("callgate")
            .arg(command)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()?;
        Link::of(Guard::Run(guard), ours)
    }

    /// Takes over a guard that is there already.
    pub fn grow(seed: Seed) -> io::Result<Link> {
        let pid = Pid::from_raw(seed.pid).ok_or(io::ErrorKind::InvalidInput)?;
        Link::of(Guard::Forked(pid), seed.socket)
    }

    fn of(guard: Guard, ours: std::os::unix::net::UnixStream) -> io::Result<Link> {
        Ok(Link {
            guard: RefCell::new(guard),
            socket: UnixStream::from_std(ours)?,
            unsent: RefCell::default(),
            unread: RefCell::default(),
            stuck: Notify::new(),
            closing: Cell::new(false),
        })
    }

    pub fn pid(&self) -> u32 {
        match &*self.guard.borrow() {
            Guard::Run(guard) => guard.id(),
            Guard::Forked(pid) => pid.as_raw_nonzero().get().cast_unsigned(),
        }
    }

    /// Sends a frame, or keeps it until the guard reads again.
    pub fn send(&self, bytes: Vec<u8>, descriptors: Vec<OwnedFd>) {
        self.unsent.borrow_mut().push_back(Frame { bytes, at: 0, descriptors });
        self.flush();
        if !self.unsent.borrow().is_empty() {
            self.stuck.notify_one();
        }
    }

    fn flush(&self) {
        let mut unsent = self.unsent.borrow_mut();
        while let Some(frame) = unsent.front_mut() {
            match frame.send(self.socket.as_fd()) {
                Ok(()) if frame.at == frame.bytes.len() => drop(unsent.pop_front()),
                Ok(()) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // The guard is gone: hearing tells so in its turn.
                Err(_) => unsent.clear(),
            }
        }
    }

    /// What the guard has told; None when it has ended.
    pub async fn hear(&self) -> Option<Vec<Report>> {
        loop {
            let writing = !self.unsent.borrow().is_empty();
            let interest = if writing { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
            let ready = tokio::select! {
                ready = self.socket.ready(interest) => ready.ok()?,
                () = self.stuck.notified() => continue,
            };
            if ready.is_writable() {
                // By way of tokio, so that it notices when the socket is full again.
                let _ = self.socket.try_io(Interest::WRITABLE, || {
                    self.flush();
                    if self.unsent.borrow().is_empty() { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
                });
            }
            if ready.is_readable() || ready.is_read_closed() {
                let mut bytes = [0; 4 << 10];
                match self.socket.try_read(&mut bytes) {
                    Ok(0) => return None,
                    Ok(count) => {
                        let reports = self.decode(&bytes[..count])?;
                        if !reports.is_empty() {
                            return Some(reports);
                        }
                    }
                    Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => return None,
                }
            }
        }
    }

    fn decode(&self, bytes: &[u8]) -> Option<Vec<Report>> {
        let mut unread = self.unread.borrow_mut();
        unread.extend_from_slice(bytes);
        let mut reports = Vec::new();
        let mut at = 0;
        while let Some((report, used)) = Report::decode(&unread[at..]).ok()? {
            reports.push(report);
            at += used;
        }
        unread.drain(..at);
        Some(reports)
    }

    /// Tells the guard that no more will come, as if the hub were gone.
    pub fn close(&self) {
        self.closing.set(true);
        let _ = shutdown(&self.socket, Shutdown::Write);
    }

    pub fn closing(&self) -> bool {
        self.closing.get()
    }

    /// Takes the dead guard off the process table. It has closed its socket, so it is at its end, or it is
    /// broken and made to end.
    pub fn bury(&self) {
        match &mut *self.guard.borrow_mut() {
            Guard::Run(guard) => {
                let _ = guard.kill();
                let _ = guard.wait();
            }
            // Until it is waited for, here and once, the number is its own.
            Guard::Forked(pid) => {
                let _ = kill_process(*pid, Signal::KILL);
                let _ = waitpid(Some(*pid), WaitOptions::empty());
            }
        }
    }
}

impl Frame {
    fn send(&mut self, socket: BorrowedFd<'_>) -> Result<(), Errno> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors: Vec<BorrowedFd<'_>> = self.descriptors.iter().map(AsFd::as_fd).collect();
        if !descriptors.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&descriptors));
        }
        let bytes = [IoSlice::new(&self.bytes[self.at..])];
        self.at += sendmsg(socket, &bytes, &mut control, SENDING)?;
        self.descriptors.clear();
        Ok(())
    }
}
