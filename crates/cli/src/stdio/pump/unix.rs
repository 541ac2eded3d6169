//! Linux and macOS: one loop around poll(2), no thread.

mod descriptor;

use super::{End, Pump};
use descriptor::{Quiet, Read, read_some, write_some};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Bytes that may wait for the hub before the host is no longer read.
const BACKLOG: usize = 4 << 20;
/// Bytes that may wait for the host before the hub is no longer read. Little: of what the hub still has it knows that
/// it was lost when the host goes, and an identical call finds it again.
const AHEAD: usize = 64 << 10;

/// The connection to a hub; does not block.
pub type Hub = UnixStream;

/// What bytes are read into.
pub struct Ears {
    chunk: Box<[u8]>,
}

impl Ears {
    pub fn new() -> Ears {
        Ears { chunk: vec![0; 256 * 1024].into_boxed_slice() }
    }

    /// From now on the hub is heard.
    pub fn listen(&mut self, stream: UnixStream) -> io::Result<Hub> {
        stream.set_nonblocking(true)?;
        Ok(stream)
    }
}

impl Pump<'_> {
    /// Copies until the host leaves. The hub is looked for at once, but nothing depends on it before the first message.
    pub fn run(&mut self) -> io::Result<End> {
        let (stdin, stdout) = (io::stdin(), io::stdout());
        let (host_in, host_out) = (stdin.as_fd(), stdout.as_fd());
        let _quiet = [Quiet::new(host_in), Quiet::new(host_out)];
        loop {
            let closed =
                if self.lender.is_away() { self.wait_for_hub(host_out) } else { self.wait(host_in, host_out) }?;
            if let Some(end) = closed {
                return Ok(end);
            }
        }
    }

    /// While the hub has the host's pipes, or is about to get them: only what the hub says counts.
    fn wait_for_hub(&mut self, host_out: BorrowedFd<'_>) -> io::Result<Option<End>> {
        let Some(hub) = self.hub.take() else { return Ok(None) };
        let wants = |wanted: bool, flag| if wanted { flag } else { PollFlags::empty() };
        let mut fds = vec![PollFd::new(&hub, PollFlags::IN | wants(!self.to_hub.is_empty(), PollFlags::OUT))];
        if !self.to_host.is_empty() {
            fds.push(PollFd::from_borrowed_fd(host_out, PollFlags::OUT));
        }
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        drop(fds);
        self.hub = Some(hub);
        if let Some(end) = self.hear_hub() {
            return Ok(Some(end));
        }
        if write_some(host_out, &mut self.to_host).is_err() {
            return Ok(Some(End::HostLeft));
        }
        if self.hub.is_some() {
            self.to_hub.extend_from_slice(self.lender.go(self.to_host.is_empty()));
        }
        self.say_hub();
        Ok(None)
    }

    fn wait(&mut self, host_in: BorrowedFd<'_>, host_out: BorrowedFd<'_>) -> io::Result<Option<End>> {
        let hub = self.hub.take();
        let mut fds = Vec::with_capacity(4);
        let wants = |wanted: bool, flag| if wanted { flag } else { PollFlags::empty() };
        fds.push(PollFd::from_borrowed_fd(host_in, wants(self.to_hub.len() < BACKLOG, PollFlags::IN)));
        fds.push(PollFd::from_borrowed_fd(host_out, wants(!self.to_host.is_empty(), PollFlags::OUT)));
        if let Some(hub) = &hub {
            let reads = wants(self.to_host.len() < AHEAD, PollFlags::IN);
            let writes = wants(!self.to_hub.is_empty(), PollFlags::OUT);
            fds.push(PollFd::new(hub, reads | writes));
        }
        let timeout = self.look_at.map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|wait| Timespec::try_from(wait).ok());
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let heard: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        drop(fds);
        self.hub = hub;
        if heard[1].intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL) {
            return Ok(Some(End::HostLeft));
        }
        if heard.get(2).is_some_and(|flags| !flags.is_empty())
            && let Some(end) = self.hear_hub()
        {
            return Ok(Some(end));
        }
        if !heard[0].is_empty() && !self.hear_host(host_in)? {
            self.settle(host_out)?;
            return Ok(Some(End::HostLeft));
        }
        if self.look_at.is_some_and(|at| at <= Instant::now()) {
            self.look();
        }
        let is_quiet = self.open.is_empty() && self.to_hub.is_empty() && self.from_host.pending() == 0;
        if self.hub.is_some() && is_quiet {
            self.to_hub.extend_from_slice(self.lender.ask());
        }
        self.say_hub();
        if write_some(host_out, &mut self.to_host).is_err() {
            return Ok(Some(End::HostLeft));
        }
        Ok(None)
    }

    /// What a host that has closed its side may still read.
    fn settle(&mut self, host_out: BorrowedFd<'_>) -> io::Result<()> {
        // It may have piped its requests in and now waits for the answers: they are read until none is open.
        let deadline = Instant::now() + Duration::from_secs(10);
        while !(self.open.is_empty() && self.to_host.is_empty()) && Instant::now() < deadline {
            self.say_hub();
            let Some(hub) = self.hub.take() else {
                // What the loss of the hub made of the open ones.
                let _ = write_some(host_out, &mut self.to_host);
                break;
            };
            let waits = if self.to_host.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
            let hub_waits = if self.to_hub.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
            let mut fds = [PollFd::new(&hub, hub_waits), PollFd::from_borrowed_fd(host_out, waits)];
            let second = Timespec { tv_sec: 1, tv_nsec: 0 };
            let _ = poll(&mut fds, Some(&second));
            let heard = [fds[0].revents(), fds[1].revents()];
            self.hub = Some(hub);
            if heard[1].intersects(PollFlags::ERR | PollFlags::HUP) {
                break;
            }
            if !heard[0].is_empty() && self.hear_hub().is_some() {
                break;
            }
            if write_some(host_out, &mut self.to_host).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// False: the host has closed its side.
    fn hear_host(&mut self, host_in: BorrowedFd<'_>) -> io::Result<bool> {
        match read_some(host_in, &mut self.ears.chunk) {
            Ok(Read::Some(length)) => self.from_host.spare(length).extend_from_slice(&self.ears.chunk[..length]),
            Ok(Read::Nothing) => return Ok(true),
            Ok(Read::End) => return Ok(false),
            Err(error) => return Err(error),
        }
        self.host_lines();
        Ok(true)
    }

    /// Some: why it is over.
    fn hear_hub(&mut self) -> Option<End> {
        let hub = self.hub.as_ref()?;
        match read_some(hub.as_fd(), &mut self.ears.chunk) {
            Ok(Read::Some(length)) => self.from_hub.spare(length).extend_from_slice(&self.ears.chunk[..length]),
            Ok(Read::Nothing) => return None,
            Ok(Read::End) | Err(_) => {
                self.lose_hub();
                return None;
            }
        }
        self.hub_lines()
    }

    pub(super) fn say_hub(&mut self) {
        let Some(hub) = &self.hub else { return };
        if write_some(hub.as_fd(), &mut self.to_hub).is_err() {
            self.lose_hub();
        }
    }
}
