//! The hub's record of a lent connection: everything read since some quiet moment, which of its requests are answered,
//! and whether the host's stdout stands in the middle of a line. Kept in the adapter's memory files, so that it outlives
//! the hub. Never blocks: the files are memory.

use super::super::unanswered::Question;
use super::memory::{Form, INITIALIZE, LONGEST_INITIALIZE, MARKS};
use bytes::Bytes;
use frame::Level;
use rustix::net::RecvFlags;
use rustix::pipe::SpliceFlags;
use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::os::fd::{BorrowedFd, OwnedFd};
use wire::peer::Watch;

/// From this size on the input file is emptied at the next quiet moment, in bytes.
const LARGE: u64 = 256 * 1024;
/// From this size on it is written anew with what is open, in bytes.
const TOO_LARGE: u64 = 4 << 20;
/// Up to this size a write to a pipe is taken whole or not at all (PIPE_BUF).
const ATOMIC: usize = 4096;

/// A line that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Slot(usize);

struct Open {
    line: u64,
    /// Its requests by their ids; a batch has several.
    requests: Vec<(Bytes, Question)>,
}

struct State {
    /// Where the lines begin that count, and where they end.
    base: u64,
    end: u64,
    /// The value of a mark that counts; 1 to 255.
    generation: u8,
    /// Whether one was made in this generation.
    is_marked: bool,
    /// Lines since `base`.
    lines: u64,
    open: Vec<Option<Open>>,
    free: Vec<usize>,
    /// Lines that are answered, but not yet marked, and where in all bytes to the host their answers end.
    answered: Vec<(u64, u64)>,
    held: usize,
    is_inside: bool,
    level: Option<Level>,
    limit: u64,
}

/// The record.
pub(in super::super) struct Journal {
    marks: OwnedFd,
    input: OwnedFd,
    form: Form,
    state: RefCell<State>,
}

impl Journal {
    /// Over two empty memory files.
    pub(super) fn new(marks: OwnedFd, input: OwnedFd, form: Form) -> Journal {
        let state = State {
            base: 0,
            end: 0,
            generation: 1,
            is_marked: false,
            lines: 0,
            open: Vec::new(),
            free: Vec::new(),
            answered: Vec::new(),
            held: 0,
            is_inside: false,
            level: None,
            limit: TOO_LARGE,
        };
        Journal { marks, input, form, state: RefCell::new(state) }
    }

    /// The loan begins.
    pub(super) fn begin(&self) {
        self.told(self.header(&self.state.borrow()));
    }

    /// Takes what is there from the host's stdin, first into the file, then into `chunk`. 0: the end.
    pub(super) fn take(&self, host: BorrowedFd<'_>, chunk: &mut [u8]) -> io::Result<usize> {
        let mut state = self.state.borrow_mut();
        match self.form {
            Form::Pipe => {
                let mut to = state.end;
                let flags = SpliceFlags::NONBLOCK;
                let length = rustix::pipe::splice(host, None, &self.input, Some(&mut to), chunk.len(), flags)?;
                let mut at = 0;
                while at < length {
                    at += match rustix::io::pread(&self.input, &mut chunk[at..length], state.end + at as u64)? {
                        0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                        more => more,
                    };
                }
                state.end += length as u64;
                Ok(length)
            }
            Form::Socket => {
                let (_, length) = rustix::net::recv(host, &mut *chunk, RecvFlags::PEEK | RecvFlags::DONTWAIT)?;
                if length == 0 {
                    return Ok(0);
                }
                state.end += self.block(state.end, &chunk[..length])?;
                let (_, taken) = rustix::net::recv(host, &mut chunk[..length], RecvFlags::DONTWAIT)?;
                if taken == length { Ok(length) } else { Err(io::ErrorKind::InvalidData.into()) }
            }
        }
    }

    /// Writes a block behind its length; how long both are.
    pub(super) fn block(&self, at: u64, bytes: &[u8]) -> io::Result<u64> {
        let length = (bytes.len() as u32).to_le_bytes();
        let whole = length.len() + bytes.len();
        let written = rustix::io::pwritev(&self.input, &[IoSlice::new(&length), IoSlice::new(bytes)], at)?;
        if written == whole { Ok(whole as u64) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    #[cfg(test)]
    pub(super) fn end(&self) -> u64 {
        self.state.borrow().end
    }

    /// A line was read; its number.
    pub(in super::super) fn line(&self) -> u64 {
        let mut state = self.state.borrow_mut();
        state.lines += 1;
        state.lines - 1
    }

    /// The line's requests wait for their answers, which come together.
    pub(in super::super) fn open(&self, line: u64, requests: &[(Bytes, Question)]) -> Slot {
        let mut state = self.state.borrow_mut();
        let copy = |(id, question): &(Bytes, Question)| (Bytes::copy_from_slice(id), *question);
        let open = Some(Open { line, requests: requests.iter().map(copy).collect() });
        match state.free.pop() {
            Some(slot) => {
                state.open[slot] = open;
                Slot(slot)
            }
            None => {
                state.open.push(open);
                Slot(state.open.len() - 1)
            }
        }
    }

    /// Its answer is in the out-buffer, before the byte `end` of all.
    pub(in super::super) fn close(&self, slot: Slot, end: u64) {
        let mut state = self.state.borrow_mut();
        if let Some(open) = state.open[slot.0].take() {
            state.free.push(slot.0);
            state.answered.push((open.line, end));
        }
    }

    /// The line wanted no answer, or its answer is in the out-buffer, before the byte `end` of all.
    pub(in super::super) fn done(&self, line: u64, end: u64) {
        self.state.borrow_mut().answered.push((line, end));
    }

    /// So much of what was read last is no whole line yet.
    pub(super) fn held(&self, held: usize) {
        self.state.borrow_mut().held = held;
    }

    /// What the next hub has to know of the host: params of its `initialize`.
    pub(in super::super) fn initialized(&self, params: &[u8]) {
        let kept = if params.len() <= LONGEST_INITIALIZE { params } else { b"" };
        let length = (kept.len() as u32).to_le_bytes();
        self.told(rustix::io::pwritev(&self.marks, &[IoSlice::new(&length), IoSlice::new(kept)], INITIALIZE).map(drop));
    }

    /// The same of its log level.
    pub(in super::super) fn level(&self, level: Option<Level>) {
        let mut state = self.state.borrow_mut();
        state.level = level;
        self.told(self.header(&state));
    }

    fn header(&self, state: &State) -> rustix::io::Result<()> {
        let mut header = [0; 18];
        header[..8].copy_from_slice(&state.base.to_le_bytes());
        header[8] = state.generation;
        header[9] = u8::from(state.is_inside);
        header[10] = state.level.map_or(0, |level| level as u8 + 1);
        rustix::io::pwrite(&self.marks, &header, 0).map(drop)
    }

    /// Memory that cannot be written only costs what a dead hub's successor would have known.
    fn told(&self, result: rustix::io::Result<()>) {
        if let Err(error) = result {
            tracing::warn!(%error, "a lent connection's memory cannot be written");
        }
    }

    /// All lines are answered and nothing is held: what was read need not be known any more.
    fn forget(&self, state: &mut State) -> rustix::io::Result<()> {
        if state.end >= LARGE {
            // Before the header: a base behind the end means that there is nothing.
            rustix::fs::ftruncate(&self.input, 0)?;
            state.end = 0;
        }
        state.base = state.end;
        state.limit = TOO_LARGE;
        let begins_anew = state.next_generation();
        self.header(state)?;
        // After the header, which says that nothing is open.
        if begins_anew { self.unmark() } else { Ok(()) }
    }

    /// The values of marks begin anew: none of the old ones may stand there.
    fn unmark(&self) -> rustix::io::Result<()> {
        rustix::fs::ftruncate(&self.marks, MARKS)
    }

    /// Writes what is open behind what was read, as the only lines that count.
    fn compact(&self, state: &mut State) -> io::Result<()> {
        let mut text = Vec::new();
        let mut line = 0;
        for open in state.open.iter_mut().flatten() {
            open.line = line;
            line += 1;
            let is_batch = open.requests.len() > 1;
            text.extend_from_slice(if is_batch { b"[" } else { b"" });
            for (at, (id, question)) in open.requests.iter().enumerate() {
                text.extend_from_slice(if at == 0 { b"" } else { b"," });
                text.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
                text.extend_from_slice(id);
                text.push(b',');
                text.extend_from_slice(question.members().as_bytes());
                text.push(b'}');
            }
            text.extend_from_slice(if is_batch { b"]\n" } else { b"\n" });
        }
        let old_end = state.end;
        let added = match self.form {
            Form::Pipe => rustix::io::pwrite(&self.input, &text, old_end)? as u64,
            Form::Socket => self.block(old_end, &text)?,
        };
        state.end += added;
        state.base = old_end;
        state.limit = TOO_LARGE.max(4 * added);
        if state.next_generation() {
            self.unmark()?;
        }
        state.lines = line;
        self.header(state)?;
        let hole = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&self.input, hole, 0, old_end & !4095)?;
        Ok(())
    }

    /// Marks the lines whose answers are out.
    fn mark(&self, state: &mut State, out: u64) -> rustix::io::Result<()> {
        let mut lines: Vec<u64> = state.answered.extract_if(.., |(_, end)| *end <= out).map(|(line, _)| line).collect();
        lines.sort_unstable();
        state.is_marked |= !lines.is_empty();
        let mut rest = &lines[..];
        while let Some(&first) = rest.first() {
            let marks = [state.generation; 64];
            let run = rest.iter().zip(first..).take(marks.len()).take_while(|(line, expect)| *line == expect).count();
            rustix::io::pwrite(&self.marks, &marks[..run], MARKS + first)?;
            rest = &rest[run..];
        }
        Ok(())
    }

    fn settle(&self, state: &mut State, out: u64, waiting: usize) -> io::Result<()> {
        let was_inside = std::mem::replace(&mut state.is_inside, waiting > 0);
        let is_all = waiting == 0 && state.held == 0;
        if is_all && state.lines > 0 && state.free.len() == state.open.len() {
            return Ok(self.forget(state)?);
        }
        if !state.answered.is_empty() {
            self.mark(state, out)?;
        }
        if is_all && state.end - state.base > state.limit {
            return self.compact(state);
        }
        if was_inside == state.is_inside { Ok(()) } else { Ok(self.header(state)?) }
    }
}

impl State {
    /// From now on other marks count; true where their values begin anew.
    fn next_generation(&mut self) -> bool {
        self.lines = 0;
        self.answered.clear();
        if !std::mem::take(&mut self.is_marked) {
            return false;
        }
        self.generation = self.generation % 255 + 1;
        self.generation == 1
    }
}

impl Watch for Journal {
    fn writing(&self, bytes: usize) {
        let mut state = self.state.borrow_mut();
        if bytes > ATOMIC && !state.is_inside {
            state.is_inside = true;
            self.told(self.header(&state));
        }
    }
    fn written(&self, out: u64, waiting: usize) {
        let mut state = self.state.borrow_mut();
        if let Err(error) = self.settle(&mut state, out, waiting) {
            tracing::warn!(%error, "a lent connection's memory cannot be written");
        }
    }
}
