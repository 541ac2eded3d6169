//! The adapter's side of lent pipes: offers them with the attach line, asks for the hand-over at a quiet moment, and
//! takes them back when the hub has gone. Knows the words, not what is said by the host.

use endpoint::socket::lend::{self, Memory, Recovered};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Messages are copied.
    Copies,
    /// The pipes went with the attach line.
    Offered,
    /// The hub would take them, and the host has had its first answer.
    Wanted,
    /// The hub was told that nothing is under way.
    Asked,
    /// The hub is ready; our own last bytes are on their way to the host.
    Ready,
    /// The hub has them.
    Away,
}

/// What the hub said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A message for the host.
    Mcp,
    /// It was about the loan.
    Loan,
    /// The host has left.
    Left,
    /// The hub lets go of a host that does not read.
    Unread,
}

/// A host's pipes, to be lent.
pub struct Lender {
    may_lend: bool,
    memory: Option<Memory>,
    stage: Stage,
    takes: bool,
}

impl Lender {
    /// Lends nothing unless `wanted`, and stdin and stdout are pipes or sockets.
    pub fn new(wanted: bool) -> Lender {
        let may_lend = wanted && lend::can_lend(io::stdin().as_fd(), io::stdout().as_fd());
        Lender { may_lend, memory: None, stage: Stage::Copies, takes: false }
    }

    /// A new hub was met; the mode to attach with.
    pub fn begin(&mut self) -> &'static str {
        self.stage = Stage::Copies;
        self.takes = false;
        self.memory = if self.may_lend { Memory::new().ok() } else { None };
        if self.memory.is_some() { "lend" } else { "copy" }
    }

    /// Sends the attach line; how much of it has left.
    pub fn offer(&mut self, hub: &UnixStream, line: &[u8]) -> usize {
        let Some(memory) = &self.memory else { return 0 };
        match lend::offer(hub.as_fd(), line, io::stdin().as_fd(), io::stdout().as_fd(), memory) {
            Ok(sent) => {
                self.stage = Stage::Offered;
                sent
            }
            Err(_) => 0,
        }
    }

    /// The hub answered the attach line.
    pub fn attached(&mut self, mode: &str) {
        self.takes = mode == "lend" && self.stage == Stage::Offered;
    }

    /// The host gets an answer.
    pub fn answered(&mut self) {
        if self.takes && self.stage == Stage::Offered {
            self.stage = Stage::Wanted;
        }
    }

    /// Nothing is under way: what to tell the hub.
    pub fn ask(&mut self) -> &'static [u8] {
        if self.stage != Stage::Wanted {
            return b"";
        }
        self.stage = Stage::Asked;
        lend::LEND
    }

    /// What a line of the hub is.
    pub fn hear(&mut self, text: &[u8]) -> Word {
        let is = |word: &[u8]| word.strip_suffix(b"\n") == Some(text);
        match self.stage {
            Stage::Asked if is(lend::LEND) => self.stage = Stage::Ready,
            Stage::Asked if is(lend::KEEP) => self.stage = Stage::Wanted,
            Stage::Away if is(lend::LEFT) => return Word::Left,
            Stage::Away if is(lend::UNREAD) => return Word::Unread,
            _ => return Word::Mcp,
        }
        Word::Loan
    }

    /// Whether the host is no longer read here.
    pub fn is_away(&self) -> bool {
        matches!(self.stage, Stage::Asked | Stage::Ready | Stage::Away)
    }

    /// What to tell the hub once all that was for the host has been written.
    pub fn go(&mut self, all_written: bool) -> &'static [u8] {
        if self.stage != Stage::Ready || !all_written {
            return b"";
        }
        self.stage = Stage::Away;
        lend::GO
    }

    /// The hub has gone; what it leaves behind, if it had the pipes.
    pub fn take_back(&mut self, longest: usize) -> Option<Recovered> {
        let stage = std::mem::replace(&mut self.stage, Stage::Copies);
        let memory = self.memory.take()?;
        if stage != Stage::Away {
            return None;
        }
        match lend::recover(&memory, io::stdin().as_fd(), longest) {
            Ok(left) => Some(left),
            Err(_) => Some(Recovered::default()),
        }
    }
}
