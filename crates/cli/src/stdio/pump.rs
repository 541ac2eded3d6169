//! The adapter: copies lines between a host and a hub, remembers what is open, and carries the host over to another
//! hub. How bytes are waited for is the system's own file. Nothing but MCP goes to stdout.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use super::lender::{Lender, Word};
use super::memory::{Memory, Said, answered};
use super::start;
use bytes::{Bytes, BytesMut};
use endpoint::socket::{Attach, Attached, Hello, Question, Silence};
use frame::{Line, LineBuf, object};
use hub::config::Places;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, Instant, SystemTime};

/// Longest message in bytes; the hub's own limit refuses it with an answer, so ours is wider.
const MAX_LINE: usize = 64 << 20;
/// Longest wait between two looks for a hub that has gone.
const LONGEST_LOOK: Duration = Duration::from_secs(5);

/// Hubs that may end before they greet, one after the other.
const TRIES: u32 = 40;
/// How long until the next one is looked for.
const AGAIN: Duration = Duration::from_millis(25);

/// Messages that no hub has taken up for certain.
#[derive(Default)]
struct Unsure {
    lines: BytesMut,
    /// Whether `initialize` is among them.
    is_first: bool,
    tries: u32,
}

/// One adapter.
pub struct Pump<'a> {
    places: &'a Places,
    attach: Attach,
    launched: SystemTime,
    hub: Option<system::Hub>,
    from_host: LineBuf,
    from_hub: LineBuf,
    to_host: BytesMut,
    to_hub: BytesMut,
    /// Requests of the host without an answer, by raw id.
    open: BTreeMap<Bytes, Question>,
    memory: Memory,
    greeted: bool,
    /// What this hub was told before it has greeted: it has taken nothing of it up then.
    unsure: Unsure,
    lender: Lender,
    /// What open requests are told when the hub has gone.
    lost: Silence<'static>,
    look_at: Option<Instant>,
    look_wait: Duration,
    ears: system::Ears,
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
    pub fn new(places: &'a Places, attach: Attach, launched: SystemTime) -> Pump<'a> {
        let lender = Lender::new(attach.mode.as_deref() == Some("lend"));
        Pump {
            lender,
            lost: Silence::HubEnded,
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
            unsure: Unsure::default(),
            look_at: None,
            look_wait: Duration::from_millis(50),
            ears: system::Ears::new(),
        }
    }

    /// What the host has said, as far as it is whole.
    fn host_lines(&mut self) {
        while let Some(line) = self.from_host.next_line() {
            match line {
                Line::Whole(text) => self.host_said(&text),
                Line::TooLong { head, .. } => {
                    let [id] = object::pick(&head, ["id"]);
                    let id = id.map_or_else(|| Bytes::from_static(b"null"), |range| head.slice(range));
                    self.fail(&id, Question::Other, Silence::TooLong);
                }
            }
        }
    }

    /// What the hub has said, as far as it is whole. Some: why it is over.
    fn hub_lines(&mut self) -> Option<End> {
        while let Some(line) = self.from_hub.next_line() {
            let Line::Whole(text) = line else { continue };
            if !self.greeted {
                self.greeted = true;
                self.unsure = Unsure::default();
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
                Word::Unread => {
                    self.lost = Silence::Unread;
                    continue;
                }
                Word::Loan => continue,
                Word::Mcp => {}
            }
            for id in answered(&text) {
                self.open.remove(&id);
                self.lender.answered();
            }
            self.to_host.extend_from_slice(&text);
            self.to_host.extend_from_slice(b"\n");
        }
        None
    }

    fn host_said(&mut self, text: &Bytes) {
        let Said { is_first, requests, cancelled } = self.memory.note(text);
        if self.hub.is_none() {
            match start::reach(self.places, self.launched) {
                Ok(stream) => self.adopt(stream, is_first),
                Err(why) => {
                    tracing_line(&why);
                    for (id, question) in requests {
                        self.fail(&id, question, Silence::NoHub(&why));
                    }
                    return;
                }
            }
        }
        self.open.extend(requests);
        if let Some(id) = cancelled {
            self.open.remove(&id);
        }
        self.to_hub.extend_from_slice(text);
        self.to_hub.extend_from_slice(b"\n");
        if !self.greeted {
            self.unsure.is_first |= is_first;
            self.unsure.lines.extend_from_slice(text);
            self.unsure.lines.extend_from_slice(b"\n");
        }
    }

    /// Greets a hub: who we are, and what the host had said to the one before.
    fn adopt(&mut self, stream: start::Stream, is_first: bool) {
        let Ok(hub) = self.ears.listen(stream) else { return };
        self.attach.initialize = None;
        self.attach.level = None;
        if !is_first && !self.unsure.is_first {
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
            let sent = self.lender.offer(&hub, &line).min(line.len());
            self.to_hub.extend_from_slice(&line[sent..]);
        }
        self.to_hub.extend_from_slice(&self.unsure.lines);
        self.hub = Some(hub);
        self.look_at = None;
        self.look_wait = Duration::from_millis(50);
    }

    /// Looks whether there is a hub again, without starting one.
    fn look(&mut self) {
        self.look_at = None;
        if self.hub.is_some() {
            return;
        }
        if !self.unsure.lines.is_empty() {
            match start::reach(self.places, self.launched) {
                Ok(stream) => self.adopt(stream, false),
                Err(why) => self.fail_all(Silence::NoHub(&why)),
            }
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
                let requests = self.memory.note(&text).requests;
                self.open.extend(requests);
            }
            if let Some(level) = left.level {
                self.memory.level = Some(level.as_str().into());
            }
            self.from_host.spare(left.rest.len()).extend_from_slice(&left.rest);
        }
        self.unsure.tries += 1;
        if !self.greeted && !self.unsure.lines.is_empty() && self.unsure.tries <= TRIES {
            // It was on its way out when it was met. The next one gets what it was told.
            self.look_at = Some(Instant::now() + AGAIN);
            return;
        }
        let why = std::mem::replace(&mut self.lost, Silence::HubEnded);
        self.fail_all(why);
        self.look_at = Some(Instant::now() + self.look_wait);
    }

    fn fail_all(&mut self, silence: Silence<'_>) {
        self.unsure = Unsure::default();
        for (id, question) in std::mem::take(&mut self.open) {
            self.fail(&id, question, silence);
        }
    }

    fn fail(&mut self, id: &[u8], question: Question, silence: Silence<'_>) {
        self.to_host.extend_from_slice(&question.answer(id, silence));
    }
}

/// One line on stderr, where a host's log shows it.
fn tracing_line(text: &str) {
    let _ = writeln!(io::stderr(), "callgate: {text}");
}
