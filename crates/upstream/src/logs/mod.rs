//! What servers say besides the protocol: stderr, noise on stdout, and what the hub has to say about them. Kept in
//! bounded files, in a bounded tail in memory, and told live. Never waits for a disk or for a reader.

mod book;
mod budget;
#[cfg(unix)]
mod drain;
#[cfg(windows)]
#[path = "drain_windows.rs"]
mod drain;
pub mod file;
mod lines;
mod masks;

use book::Book;
use contract::answer::Cleaner;
use drain::Drains;
use file::{Bounds, Folder, Rotating};
use lines::escaped;
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;
use tokio::sync::{broadcast, oneshot};
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use wire::pipe::Incoming;

/// Pieces of text on their way to the disk, each of at most some 20 KiB. What comes on top is dropped and counted.
const ON_THE_WAY: usize = 512;
/// The name of the hub's own log.
pub const HUB_LOG: &str = "callgate";

/// Where a line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The server's stderr.
    Stderr,
    /// The server's stdout, which should have carried protocol only.
    Stdout,
    /// The hub, about the server.
    Hub,
}

impl Source {
    /// As in the files.
    pub fn word(self) -> &'static str {
        match self {
            Source::Stderr => "err",
            Source::Stdout => "out",
            Source::Hub => "hub",
        }
    }
}

/// One line. The text is as the server wrote it (broken characters replaced): escape it before a terminal sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When it came.
    pub at: jiff::Timestamp,
    /// From where.
    pub source: Source,
    /// Without its end, at most 8 KiB.
    pub text: Arc<str>,
}

impl Line {
    /// As it stands in the file, without its end: no control character in it acts.
    pub fn shown(&self) -> String {
        let mut text = format!("{:.3} {} ", self.at, self.source.word());
        escaped(&self.text, &mut text);
        text
    }
}

/// All logs of one hub. Clones are of the same logs; when the last one is dropped, what is on its way is written.
#[derive(Clone)]
pub struct Logs(Arc<Shelf>);

struct Shelf {
    // Dropped in this order: first the pipes, then what they still gave is written.
    drains: Drains,
    pen: NonBlocking,
    dropped: ErrorCounter,
    books: Arc<Mutex<Vec<Arc<Book>>>>,
    by_name: Mutex<BTreeMap<String, Arc<Book>>>,
    folder: Folder,
    bounds: Bounds,
    _writer: WorkerGuard,
}

impl Logs {
    /// Keeps logs in a folder of mode 0700, made if missing. Starts two threads: one reads, one writes.
    pub fn open(folder: &Path) -> io::Result<Logs> {
        Logs::bounded(folder, Bounds::default())
    }

    /// With other bounds for each file.
    pub fn bounded(folder: &Path, bounds: Bounds) -> io::Result<Logs> {
        let folder = Folder::open(folder)?;
        let books: Arc<Mutex<Vec<Arc<Book>>>> = Arc::default();
        let desk = Desk { folder: folder.clone(), bounds, books: books.clone(), files: BTreeMap::new() };
        let builder = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(ON_THE_WAY).thread_name("logs");
        let (pen, writer) = builder.finish(desk);
        Ok(Logs(Arc::new(Shelf {
            drains: Drains::start()?,
            dropped: pen.error_counter(),
            pen,
            books,
            by_name: Mutex::default(),
            folder,
            bounds,
            _writer: writer,
        })))
    }

    /// The log of one server, by its name in the config.
    pub fn server(&self, name: &str) -> ServerLog {
        let mut by_name = lock(&self.0.by_name);
        let book = by_name.entry(name.to_owned()).or_insert_with(|| {
            let mut books = lock(&self.0.books);
            let book = Arc::new(Book::new(books.len() as u32, stem(name), self.0.pen.clone()));
            books.push(book.clone());
            book
        });
        ServerLog { book: book.clone(), logs: self.clone() }
    }

    /// Pieces of text that the disk did not take in time, of all servers together.
    pub fn dropped(&self) -> usize {
        self.0.dropped.dropped_lines()
    }

    /// The hub's own log: a writer for the subscriber of `tracing`, to be put behind its own worker.
    pub fn hub(&self) -> Rotating {
        Rotating::new(self.0.folder.clone(), HUB_LOG.into(), self.0.bounds)
    }

    /// Takes the secrets of all servers out of the lines of the hub's own log, as long as these logs live.
    pub fn redactor(&self) -> Redactor {
        Redactor(Arc::downgrade(&self.0.books))
    }
}

/// Knows the secrets of all servers that have a log.
pub struct Redactor(Weak<Mutex<Vec<Arc<Book>>>>);

impl Redactor {
    /// A text without them.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let books = self.0.upgrade().map(|books| lock(&books).clone()).unwrap_or_default();
        let all: Vec<_> = books.iter().map(|book| book.page().masks.clone()).collect();
        all.iter().fold(Cow::Borrowed(text), masks::redacted)
    }
}

/// The log of one server.
#[derive(Clone)]
pub struct ServerLog {
    book: Arc<Book>,
    logs: Logs,
}

impl ServerLog {
    /// Empties a stderr pipe from now on, at whatever rate it comes. What is returned ends when every process that
    /// holds the other end has closed it; nobody need wait for it.
    pub fn drain(&self, stderr: Incoming) -> io::Result<oneshot::Receiver<()>> {
        self.logs.0.drains.take(stderr, Source::Stderr, self.book.clone())
    }

    /// The same for the stdout of a program that speaks elsewhere.
    pub fn drain_stdout(&self, stdout: Incoming) -> io::Result<oneshot::Receiver<()>> {
        self.logs.0.drains.take(stdout, Source::Stdout, self.book.clone())
    }

    /// Notes a line that came on stdout and was no message. Of a flood some are kept and the rest is counted.
    pub fn note(&self, noise: &[u8]) {
        self.book.note(noise, Instant::now());
    }

    /// Lines from now on are without these secrets, nor those it was told of before: a process that had them may still
    /// be writing.
    pub fn mask(&self, cleaner: Arc<Cleaner>) {
        self.book.page().masks.add(cleaner);
    }

    /// A text about the server without its secrets.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let masks = self.book.page().masks.clone();
        masks.redact(text)
    }

    /// Says something about the server: that it was started, how it ended.
    pub fn say(&self, text: &str) {
        let mut page = self.book.page();
        page.write(Source::Hub, text);
        page.send(self.book.number);
    }

    /// The last lines, the oldest first.
    pub fn tail(&self, count: usize) -> Vec<Line> {
        let mut page = self.book.page();
        page.settle(Instant::now());
        page.send(self.book.number);
        page.tail.iter().skip(page.tail.len().saturating_sub(count)).cloned().collect()
    }

    /// The last lines, and all that follow them: none is missing or doubled in between. A reader that lags too far
    /// behind is told how many it missed.
    pub fn follow(&self, count: usize) -> (Vec<Line>, broadcast::Receiver<Line>) {
        let mut page = self.book.page();
        let last = page.tail.iter().skip(page.tail.len().saturating_sub(count)).cloned().collect();
        (last, page.follow())
    }

    /// The last lines from the files, as they stand there: those of earlier runs too. Reads up to two whole files, so
    /// it is not for the relay thread.
    pub fn read_back(&self, count: usize) -> io::Result<Vec<String>> {
        let mut lines: VecDeque<String> = VecDeque::new();
        for name in [format!("{}.log", self.book.stem), format!("{}.log.1", self.book.stem)] {
            let text = self.logs.0.folder.read(&name)?.unwrap_or_default();
            for line in String::from_utf8_lossy(&text).lines().rev() {
                if lines.len() == count {
                    return Ok(lines.into());
                }
                lines.push_front(line.to_owned());
            }
        }
        Ok(lines.into())
    }

    /// The name of its file in the folder.
    pub fn file(&self) -> String {
        format!("{}.log", self.book.stem)
    }

    /// When the server last wrote to stderr or made noise: a sign of life while it installs itself.
    pub fn last_heard(&self) -> Option<Instant> {
        self.book.page().heard
    }

    /// Why its file can't be written at present, if it can't.
    pub fn trouble(&self) -> Option<String> {
        self.book.page().trouble.clone()
    }

    /// Pieces of text that could not be written to its file.
    pub fn unwritten(&self) -> u64 {
        self.book.unwritten.load(Ordering::Relaxed)
    }
}

/// The writing thread's side: each piece begins with the number of its book.
struct Desk {
    folder: Folder,
    bounds: Bounds,
    books: Arc<Mutex<Vec<Arc<Book>>>>,
    files: BTreeMap<u32, Rotating>,
}

impl Desk {
    fn put(&mut self, piece: &[u8]) {
        let Some((number, text)) = piece.split_first_chunk::<4>() else { return };
        let number = u32::from_le_bytes(*number);
        let Some(book) = lock(&self.books).get(number as usize).cloned() else { return };
        let file = self
            .files
            .entry(number)
            .or_insert_with(|| Rotating::new(self.folder.clone(), book.stem.clone(), self.bounds));
        let trouble = file.write_all(text).err().map(|fault| fault.to_string());
        if trouble.is_some() {
            book.unwritten.fetch_add(1, Ordering::Relaxed);
        }
        let mut page = book.page();
        if let Some(fault) = trouble.as_ref().filter(|_| page.trouble.is_none()) {
            tracing::warn!(file = book.stem, fault, "a server's log can't be written");
        }
        page.trouble = trouble;
    }
}

impl Write for Desk {
    /// Takes each piece whole, and never tells a fault: the worker would lose the pieces behind it.
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.put(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A panic elsewhere does not make a log unreadable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file name for any server name: the name itself where it can be one, else something readable and unique.
fn stem(name: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.');
    let fits = (1..=64).contains(&name.len()) && name.chars().all(plain);
    if fits && !name.starts_with('.') && !name.eq_ignore_ascii_case(HUB_LOG) {
        return name.to_owned();
    }
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let head: String = name.chars().filter(|character| plain(*character) && *character != '.').take(40).collect();
    format!("{head}-{hash:016x}")
}

#[cfg(test)]
mod tests;
