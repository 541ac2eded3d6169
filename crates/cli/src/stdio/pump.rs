//! The adapter's one loop around poll(2): copies lines between a host and a hub, remembers what is open, and carries
//! the host over to another hub. Nothing but MCP goes to stdout.

use super::lender::{Lender, Word};
use super::memory::{Memory, Said, answered};
use super::pipe::{Read, quiet, read_some, write_some};
use super::start;
use bytes::{Bytes, BytesMut};
use endpoint::socket::{Attach, Attached, Hello};
use frame::{Line, LineBuf, object};
use hub::config::Places;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant, SystemTime};

/// Longest message in bytes; the hub's own limit refuses it with an answer, so ours is wider.
const MAX_LINE: usize = 64 << 20;
/// Bytes that may wait for one side before the other one is no longer read.
const BACKLOG: usize = 4 << 20;
/// Longest wait between two looks for a hub that has gone.
const LONGEST_LOOK: Duration = Duration::from_secs(5);

/// One adapter.
pub struct Pump<'a> {
    host_in: BorrowedFd<'a>,
    host_out: BorrowedFd<'a>,
    places: &'a Places,
    attach: Attach,
    launched: SystemTime,
    hub: Option<UnixStream>,
    from_host: LineBuf,
    from_hub: LineBuf,
    to_host: BytesMut,
    to_hub: BytesMut,
    /// Requests of the host without an answer, by raw id.
    open: BTreeMap<Bytes, ()>,
    memory: Memory,
    greeted: bool,
    lender: Lender<'a>,
    look_at: Option<Instant>,
    look_wait: Duration,
    chunk: Box<[u8]>,
}

/// Why the adapter ends.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// The host closed its side.
    HostLeft,
    /// The hub does not let us in.
    Refused(String),
}

impl<'a> Pump<'a> {
    /// An adapter that has not met a hub yet.
    pub fn new(
        places: &'a Places,
        attach: Attach,
        launched: SystemTime,
        host_in: BorrowedFd<'a>,
        host_out: BorrowedFd<'a>,
    ) -> Pump<'a> {
        let lender = Lender::new(host_in, host_out, attach.mode.as_deref() == Some("lend"));
        Pump {
            host_in,
            host_out,
            lender,
            places,
            attach,
            launched,
            hub: None,
            from_host: LineBuf::new(MAX_LINE),
            from_hub: LineBuf::new(MAX_LINE),
            to_host: BytesMut::new(),
            to_hub: BytesMut::new(),
            open: BTreeMap::new(),
            memory: Memory::default(),
            greeted: false,
            look_at: None,
            look_wait: Duration::from_millis(50),
            chunk: vec![0; 256 * 1024].into_boxed_slice(),
        }
    }

    /// Copies until the host leaves. The hub is looked for at once, but nothing depends on it before the first message.
    pub fn run(&mut self) -> io::Result<End> {
        quiet(self.host_in);
        quiet(self.host_out);
        loop {
            let closed = if self.lender.is_away() { self.wait_for_hub() } else { self.wait() }?;
            if let Some(end) = closed {
                return Ok(end);
            }
        }
    }

    /// While the hub has the host's pipes, or is about to get them: only what the hub says counts.
    fn wait_for_hub(&mut self) -> io::Result<Option<End>> {
        let Some(hub) = self.hub.take() else { return Ok(None) };
        let wants = |wanted: bool, flag| if wanted { flag } else { PollFlags::empty() };
        let mut fds = vec![PollFd::new(&hub, PollFlags::IN | wants(!self.to_hub.is_empty(), PollFlags::OUT))];
        if !self.to_host.is_empty() {
            fds.push(PollFd::from_borrowed_fd(self.host_out, PollFlags::OUT));
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
        if write_some(self.host_out, &mut self.to_host).is_err() {
            return Ok(Some(End::HostLeft));
        }
        if self.hub.is_some() {
            self.to_hub.extend_from_slice(self.lender.go(self.to_host.is_empty()));
        }
        self.say_hub();
        Ok(None)
    }

    fn wait(&mut self) -> io::Result<Option<End>> {
        let hub = self.hub.take();
        let mut fds = Vec::with_capacity(4);
        let wants = |wanted: bool, flag| if wanted { flag } else { PollFlags::empty() };
        fds.push(PollFd::from_borrowed_fd(self.host_in, wants(self.to_hub.len() < BACKLOG, PollFlags::IN)));
        fds.push(PollFd::from_borrowed_fd(self.host_out, wants(!self.to_host.is_empty(), PollFlags::OUT)));
        if let Some(hub) = &hub {
            let reads = wants(self.to_host.len() < BACKLOG, PollFlags::IN);
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
        if !heard[0].is_empty() && !self.hear_host()? {
            self.settle()?;
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
        if write_some(self.host_out, &mut self.to_host).is_err() {
            return Ok(Some(End::HostLeft));
        }
        Ok(None)
    }

    /// What a host that has closed its side may still read.
    fn settle(&mut self) -> io::Result<()> {
        let host_out = self.host_out;
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
    fn hear_host(&mut self) -> io::Result<bool> {
        match read_some(self.host_in, &mut self.chunk) {
            Ok(Read::Some(length)) => self.from_host.spare(length).extend_from_slice(&self.chunk[..length]),
            Ok(Read::Nothing) => return Ok(true),
            Ok(Read::End) => return Ok(false),
            Err(error) => return Err(error),
        }
        while let Some(line) = self.from_host.next_line() {
            match line {
                Line::Whole(text) => self.host_said(&text),
                Line::TooLong { head, .. } => {
                    let [id] = object::pick(&head, ["id"]);
                    let id = id.map_or_else(|| Bytes::from_static(b"null"), |range| head.slice(range));
                    self.fail(&id, "the message is too long");
                }
            }
        }
        Ok(true)
    }

    fn host_said(&mut self, text: &Bytes) {
        let Said { is_first, ids } = self.memory.note(text);
        if self.hub.is_none() {
            match start::reach(self.places, self.launched) {
                Ok(stream) => self.adopt(stream, is_first),
                Err(why) => {
                    tracing_line(&why);
                    for id in ids {
                        self.fail(&id, &why);
                    }
                    return;
                }
            }
        }
        self.open.extend(ids.into_iter().map(|id| (id, ())));
        self.to_hub.extend_from_slice(text);
        self.to_hub.extend_from_slice(b"\n");
    }

    /// Greets a hub: who we are, and what the host had said to the one before.
    fn adopt(&mut self, stream: UnixStream, is_first: bool) {
        if stream.set_nonblocking(true).is_err() {
            return;
        }
        self.attach.initialize = None;
        self.attach.level = None;
        if !is_first {
            let said = self.memory.initialize.as_ref().and_then(|params| std::str::from_utf8(params).ok());
            self.attach.initialize =
                said.and_then(|params| serde_json::value::RawValue::from_string(params.to_owned()).ok());
            self.attach.level.clone_from(&self.memory.level);
        }
        self.to_hub.clear();
        self.from_hub = LineBuf::new(MAX_LINE);
        self.greeted = false;
        self.attach.mode = Some(self.lender.begin().into());
        if let Ok(mut line) = serde_json::to_vec(&Hello { callgate: &self.attach }) {
            line.push(b'\n');
            // What is lent goes with the first bytes; a fresh socket takes them all.
            let sent = self.lender.offer(stream.as_fd(), &line).min(line.len());
            self.to_hub.extend_from_slice(&line[sent..]);
        }
        self.hub = Some(stream);
        self.look_at = None;
        self.look_wait = Duration::from_millis(50);
    }

    /// Looks whether there is a hub again, without starting one.
    fn look(&mut self) {
        self.look_at = None;
        if self.hub.is_some() {
            return;
        }
        match start::connect(self.places) {
            Ok(stream) => self.adopt(stream, false),
            Err(_) => {
                self.look_at = Some(Instant::now() + self.look_wait);
                self.look_wait = LONGEST_LOOK.min(self.look_wait * 2);
            }
        }
    }

    /// Some: why it is over.
    fn hear_hub(&mut self) -> Option<End> {
        let hub = self.hub.as_ref()?;
        match read_some(hub.as_fd(), &mut self.chunk) {
            Ok(Read::Some(length)) => self.from_hub.spare(length).extend_from_slice(&self.chunk[..length]),
            Ok(Read::Nothing) => return None,
            Ok(Read::End) | Err(_) => {
                self.lose_hub();
                return None;
            }
        }
        while let Some(line) = self.from_hub.next_line() {
            let Line::Whole(text) = line else { continue };
            if !self.greeted {
                self.greeted = true;
                let hello: Result<Hello<Attached>, _> = serde_json::from_slice(&text);
                if let Ok(Hello { callgate: attached }) = hello {
                    if let Some(refused) = attached.refused {
                        return Some(End::Refused(refused));
                    }
                    self.lender.attached(&attached.mode);
                    continue;
                }
            }
            match self.lender.hear(&text) {
                Word::Left => return Some(End::HostLeft),
                Word::Loan => continue,
                Word::Mcp => {}
            }
            if let Some(id) = answered(&text) {
                self.open.remove(&id);
                self.lender.answered();
            }
            self.to_host.extend_from_slice(&text);
            self.to_host.extend_from_slice(b"\n");
        }
        None
    }

    /// The hub has gone: everything open is answered, nothing is said twice.
    fn lose_hub(&mut self) {
        self.hub = None;
        self.to_hub.clear();
        if let Some(left) = self.lender.take_back(MAX_LINE) {
            if left.is_inside {
                self.to_host.extend_from_slice(b"\n");
            }
            if left.initialize.is_some() {
                self.memory.initialize = left.initialize;
            }
            for line in left.lines {
                let (Line::Whole(text) | Line::TooLong { head: text, .. }) = line;
                let ids = self.memory.note(&text).ids;
                self.open.extend(ids.into_iter().map(|id| (id, ())));
            }
            if let Some(level) = left.level {
                self.memory.level = Some(level.as_str().into());
            }
            self.from_host.spare(left.rest.len()).extend_from_slice(&left.rest);
        }
        for (id, ()) in std::mem::take(&mut self.open) {
            self.fail(&id, "the hub ended while this was running; whether it was executed is unknown");
        }
        self.look_at = Some(Instant::now() + self.look_wait);
    }

    fn fail(&mut self, id: &[u8], why: &str) {
        self.to_host.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        self.to_host.extend_from_slice(id);
        let text = object::quote(why);
        self.to_host.extend_from_slice(format!(",\"error\":{{\"code\":-32603,\"message\":{text}}}}}\n").as_bytes());
    }

    fn say_hub(&mut self) {
        let Some(hub) = &self.hub else { return };
        if write_some(hub.as_fd(), &mut self.to_hub).is_err() {
            self.lose_hub();
        }
    }
}

/// One line on stderr, where a host's log shows it.
fn tracing_line(text: &str) {
    use std::io::Write;
    let _ = writeln!(io::stderr(), "callgate: {text}");
}
