//! Windows: a host's pipes and a hub's cannot be waited for together, so one thread listens to the host and one to
//! the hub. Everything is decided and written here. Type-checked, not run yet.

use super::{End, Pump};
use crate::stdio::start::Stream;
use named_pipe::{Hearing, Speaking};
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Bytes of one read.
const CHUNK: usize = 64 << 10;
/// Reads that may wait: 4 MiB, then whoever speaks has to wait.
const WAITING: usize = 64;
/// How long a host that has closed its side may wait for answers.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// What a thread has heard. The end of a hub is told with its number: it may come after the next one has been met.
enum Heard {
    Host(Vec<u8>),
    HostLeft,
    Hub(u32, Vec<u8>),
    HubLeft(u32),
}

/// The connection to a hub.
pub struct Hub {
    number: u32,
    speaking: Speaking,
}

/// Where the threads tell what they hear.
pub struct Ears {
    tell: SyncSender<Heard>,
    told: Receiver<Heard>,
    hubs: u32,
}

impl Ears {
    pub fn new() -> Ears {
        let (tell, told) = sync_channel(WAITING);
        Ears { tell, told, hubs: 0 }
    }

    /// From now on the hub is heard.
    pub fn listen(&mut self, stream: Stream) -> io::Result<Hub> {
        self.hubs += 1;
        let number = self.hubs;
        let (hearing, speaking) = stream.split();
        let tell = self.tell.clone();
        let thread = std::thread::Builder::new().name("hub".into());
        thread.spawn(move || hear_hub(hearing, number, &tell))?;
        Ok(Hub { number, speaking })
    }

    /// The next thing heard; `None` if nothing was until then.
    fn next(&self, until: Option<Instant>) -> Option<Heard> {
        match until {
            None => self.told.recv().ok(),
            Some(until) => match self.told.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(heard) => Some(heard),
                // Cannot be disconnected: a sender is kept here.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
            },
        }
    }
}

fn hear_hub(mut hearing: Hearing, number: u32, tell: &SyncSender<Heard>) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(length @ 1..) = hearing.read(&mut chunk) {
        if tell.send(Heard::Hub(number, chunk[..length].to_vec())).is_err() {
            return;
        }
    }
    let _ = tell.send(Heard::HubLeft(number));
}

fn hear_host(tell: &SyncSender<Heard>) {
    let mut host = io::stdin().lock();
    let mut chunk = vec![0; CHUNK];
    while let Ok(length @ 1..) = host.read(&mut chunk) {
        if tell.send(Heard::Host(chunk[..length].to_vec())).is_err() {
            return;
        }
    }
    let _ = tell.send(Heard::HostLeft);
}

impl Pump<'_> {
    /// Copies until the host leaves. The hub is looked for at once, but nothing depends on it before the first message.
    pub fn run(&mut self) -> io::Result<End> {
        let tell = self.ears.tell.clone();
        std::thread::Builder::new().name("host".into()).spawn(move || hear_host(&tell))?;
        loop {
            let heard = self.ears.next(self.look_at);
            if matches!(heard, Some(Heard::HostLeft)) {
                self.settle();
                return Ok(End::HostLeft);
            }
            if let Some(end) = heard.and_then(|heard| self.take(heard)) {
                return Ok(end);
            }
            if self.look_at.is_some_and(|at| at <= Instant::now()) {
                self.look();
            }
            if !self.speak() {
                return Ok(End::HostLeft);
            }
        }
    }

    /// Some: why it is over.
    fn take(&mut self, heard: Heard) -> Option<End> {
        let current = self.hub.as_ref().map(|hub| hub.number);
        match heard {
            Heard::Host(bytes) => {
                self.from_host.spare(bytes.len()).extend_from_slice(&bytes);
                self.host_lines();
            }
            Heard::Hub(number, bytes) if current == Some(number) => {
                self.from_hub.spare(bytes.len()).extend_from_slice(&bytes);
                return self.hub_lines();
            }
            Heard::HubLeft(number) if current == Some(number) => self.lose_hub(),
            Heard::HostLeft | Heard::Hub(..) | Heard::HubLeft(_) => {}
        }
        None
    }

    /// What a host that has closed its side may still read.
    fn settle(&mut self) {
        // It may have piped its requests in and now waits for the answers: they are read until none is open.
        let deadline = Instant::now() + LAST_WORDS;
        while self.speak() && !self.open.is_empty() && Instant::now() < deadline {
            let heard = self.ears.next(Some(deadline));
            if heard.and_then(|heard| self.take(heard)).is_some() {
                return;
            }
        }
    }

    /// Writes out all that waits; false if the host reads no more.
    fn speak(&mut self) -> bool {
        self.say_hub();
        let mut host = io::stdout().lock();
        let said = host.write_all(&self.to_host).and_then(|()| host.flush());
        self.to_host.clear();
        said.is_ok()
    }

    pub(super) fn say_hub(&mut self) {
        let Some(hub) = &mut self.hub else { return };
        let said = hub.speaking.write_all(&self.to_hub);
        self.to_hub.clear();
        if said.is_err() {
            self.lose_hub();
        }
    }
}
