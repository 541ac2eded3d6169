//! The guard's end of the socket to the hub, which is its stdin. Never waits.

use super::ward::Event;
use super::words::{Garbled, Request};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg, send};
use rustix::stdio::stdin;
use std::collections::{BTreeMap, VecDeque};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

/// Stdin, stdout and stderr for one program: fewer than three if the system could not hand them over.
pub type Descriptors = Vec<OwnedFd>;

/// What has come and what is still to be sent.
#[derive(Default)]
pub struct Socket {
    unread: Vec<u8>,
    unsent: Vec<u8>,
    /// One set for each start whose frame is not complete yet, in the order of the frames.
    arrived: VecDeque<Descriptors>,
    /// Sets of starts that were asked for.
    ready: BTreeMap<u64, Descriptors>,
    closed: bool,
}

impl Socket {
    /// What to poll for; None once the hub is gone.
    pub fn interest(&self) -> Option<PollFlags> {
        let writing = if self.unsent.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        (!self.closed).then_some(PollFlags::IN | writing)
    }

    /// The descriptors that came with a start.
    pub fn descriptors(&mut self, id: u64) -> Descriptors {
        self.ready.remove(&id).unwrap_or_default()
    }

    /// All that has come, and in the end that the hub is gone.
    pub fn read(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while !self.closed {
            match self.receive() {
                Ok(0) | Err(Errno::CONNRESET) => self.closed = true,
                Ok(_) => {}
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                Err(_) => self.closed = true,
            }
            if self.decode(&mut events).is_err() {
                self.closed = true;
            }
        }
        if self.closed {
            events.push(Event::HubGone);
        }
        events
    }

    fn receive(&mut self) -> Result<usize, Errno> {
        let mut bytes = [0; 8 << 10];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        #[cfg(target_os = "linux")]
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        #[cfg(not(target_os = "linux"))]
        let flags = RecvFlags::DONTWAIT;
        let got = recvmsg(stdin(), &mut [IoSliceMut::new(&mut bytes)], &mut control, flags)?;
        let mut set = Descriptors::new();
        let mut any = got.flags.contains(ReturnFlags::CTRUNC);
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                any = true;
                set.extend(descriptors);
            }
        }
        #[cfg(not(target_os = "linux"))]
        for descriptor in &set {
            rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC)?;
        }
        // Also an empty set keeps its place: it belongs to the next start, which then fails alone.
        if any {
            self.arrived.push_back(set);
        }
        self.unread.extend_from_slice(&bytes[..got.bytes]);
        Ok(got.bytes)
    }

    fn decode(&mut self, events: &mut Vec<Event>) -> Result<(), Garbled> {
        let mut at = 0;
        while let Some((request, used)) = Request::decode(&self.unread[at..])? {
            at += used;
            if let Request::Start(start) = &request {
                self.ready.insert(start.id, self.arrived.pop_front().unwrap_or_default());
            }
            events.push(Event::Asked(request));
        }
        self.unread.drain(..at);
        if self.unread.is_empty() {
            self.unread.shrink_to(8 << 10);
        }
        Ok(())
    }

    /// Sends, or keeps what the hub does not take now: a few dozen bytes for each program it started.
    pub fn write(&mut self, frame: &[u8]) {
        self.unsent.extend_from_slice(frame);
        self.flush();
    }

    /// Sends what was kept.
    pub fn flush(&mut self) {
        while !self.closed && !self.unsent.is_empty() {
            match send(stdin(), &self.unsent, super::SENDING) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // The other side is gone; reading tells so in its turn.
                Err(_) => self.unsent.clear(),
            }
        }
    }
}
