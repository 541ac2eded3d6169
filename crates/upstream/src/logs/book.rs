//! One server's log as the reading, the writing and the asking threads share it: a bounded tail, live readers, and what
//! may pass to the file. Waits for nothing but its own short lock.

use super::budget::Budget;
use super::lines::{LONGEST, Splitter};
use super::masks::Masks;
use super::{Line, Source, lock};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;
use tokio::sync::broadcast;
use tracing_appender::non_blocking::NonBlocking;

/// Lines and bytes of the tail in memory, for each server.
const TAIL_LINES: usize = 400;
pub const TAIL_BYTES: usize = 128 << 10;
/// Lines that a live reader may lag behind.
pub const LAG: usize = 256;
/// Stderr: bytes at once, and a second.
pub const STDERR: (u64, u64) = (4 << 20, 64 << 10);
/// Noise on stdout: lines at once, and a second.
pub const NOISE: (u64, u64) = (100, 10);
/// Of what is dropped, so much is kept until the flood ends: the last words may tell why.
const LAST_WORDS: usize = 2 << 10;

/// One server's log, as both threads share it.
pub struct Book {
    pub number: u32,
    pub stem: String,
    pub unwritten: AtomicU64,
    page: Mutex<Page>,
}

pub struct Page {
    pub tail: VecDeque<Line>,
    tail_bytes: usize,
    /// Made for the first who follows: its room is that of a few hundred lines.
    live: Option<broadcast::Sender<Line>>,
    /// Text for the file that is not sent yet.
    text: String,
    pen: NonBlocking,
    stderr: Budget,
    noise: Budget,
    last_words: Vec<u8>,
    /// What no line keeps.
    pub masks: Masks,
    pub heard: Option<Instant>,
    pub trouble: Option<String>,
}

impl Book {
    pub fn new(number: u32, stem: String, pen: NonBlocking) -> Book {
        let page = Page {
            tail: VecDeque::new(),
            tail_bytes: 0,
            live: None,
            text: String::new(),
            pen,
            stderr: Budget::new(STDERR.0, STDERR.1),
            noise: Budget::new(NOISE.0, NOISE.1),
            last_words: Vec::new(),
            masks: Masks::default(),
            heard: None,
            trouble: None,
        };
        Book { number, stem, unwritten: AtomicU64::new(0), page: Mutex::new(page) }
    }

    pub fn page(&self) -> MutexGuard<'_, Page> {
        lock(&self.page)
    }

    pub fn piece(&self, source: Source, splitter: &mut Splitter, bytes: &[u8]) {
        let now = Instant::now();
        let mut page = self.page();
        page.heard = Some(now);
        page.settle(now);
        let masks = page.masks.clone();
        let cut = |piece: &[u8]| masks.cut(piece);
        if !page.stderr.pass(bytes.len() as u64, now) {
            splitter.break_off(&cut, &mut |line| page.write(source, line));
            page.last_words.extend_from_slice(&bytes[bytes.len().saturating_sub(2 * LAST_WORDS)..]);
            let over = page.last_words.len().saturating_sub(2 * LAST_WORDS);
            page.last_words.drain(..over);
            return;
        }
        splitter.take(bytes, &cut, &mut |line| page.write(source, line));
        page.send(self.number);
    }

    pub fn end(&self, source: Source, splitter: &mut Splitter) {
        let mut page = self.page();
        splitter.finish(&mut |line| page.write(source, line));
        page.close();
        page.send(self.number);
    }

    pub fn note(&self, noise: &[u8], now: Instant) {
        let mut page = self.page();
        page.heard = Some(now);
        page.settle(now);
        if page.noise.pass(1, now) {
            let head = &noise[..noise.len().min(LONGEST)];
            let (head, cut) = match head.len() < noise.len() {
                true => (&head[..page.masks.cut(head)], " \u{2026}"),
                false => (head, ""),
            };
            let text = String::from_utf8_lossy(head);
            page.write(Source::Stdout, &format!("{}{cut}", text.trim_end_matches(['\n', '\r'])));
            page.send(self.number);
        }
    }
}

impl Page {
    /// All lines from now on.
    pub fn follow(&mut self) -> broadcast::Receiver<Line> {
        self.live.get_or_insert_with(|| broadcast::channel(LAG).0).subscribe()
    }

    pub fn write(&mut self, source: Source, text: &str) {
        let line = Line { at: jiff::Timestamp::now(), source, text: self.masks.redact(text).into() };
        let _ = writeln!(self.text, "{}", line.shown());
        self.tail_bytes += line.text.len();
        self.tail.push_back(line.clone());
        while self.tail.len() > TAIL_LINES || self.tail_bytes > TAIL_BYTES {
            let Some(oldest) = self.tail.pop_front() else { break };
            self.tail_bytes -= oldest.text.len();
        }
        // Nobody may be listening any more.
        let _ = self.live.as_ref().map(|live| live.send(line));
    }

    /// Tells what was dropped, once the flood is over.
    pub fn settle(&mut self, now: Instant) {
        let stderr = self.stderr.settle(now);
        let noise = self.noise.settle(now);
        self.tell(stderr, noise);
    }

    fn close(&mut self) {
        let stderr = self.stderr.close();
        let noise = self.noise.close();
        self.tell(stderr, noise);
    }

    fn tell(&mut self, stderr: Option<(u64, u64)>, noise: Option<(u64, u64)>) {
        if let Some((_, bytes)) = stderr {
            self.write(Source::Hub, &format!("{bytes} bytes of stderr dropped: too much at once; its end follows"));
            // Where they begin, half a secret may stand: it is known only with what came before.
            let last = String::from_utf8_lossy(&std::mem::take(&mut self.last_words)).into_owned();
            let last = self.masks.redact(&last).into_owned();
            let begin = last.ceil_char_boundary(last.len().saturating_sub(LAST_WORDS));
            let mut splitter = Splitter::default();
            let mut each = |line: &str| self.write(Source::Stderr, line);
            splitter.take(&last.as_bytes()[begin..], &<[u8]>::len, &mut each);
            splitter.finish(&mut each);
        }
        if let Some((lines, _)) = noise {
            self.write(Source::Hub, &format!("{lines} more lines on stdout that were no messages"));
        }
    }

    pub fn send(&mut self, number: u32) {
        if self.text.is_empty() {
            return;
        }
        let mut piece = number.to_le_bytes().to_vec();
        piece.append(&mut std::mem::take(&mut self.text).into_bytes());
        let _ = self.pen.write(&piece);
    }
}
