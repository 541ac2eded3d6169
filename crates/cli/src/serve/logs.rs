//! The hub's own log as JSON lines in a bounded file, and both kinds of logs for the person's door.

use control::{Live, LogLines, LogOf, LogSource};
use operator::words::Tail;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt::MakeWriter;
use upstream::logs::file::Rotating;
use upstream::logs::{HUB_LOG, Line, Logs, Redactor};

/// Lines that a live reader may lag behind.
const LAG: usize = 256;
/// Lines that wait for the file; more are dropped and counted.
const QUEUED: usize = 1024;
/// Lines that are kept for whoever begins to follow.
const RECENT: usize = 1000;

/// The end of the hub's own log. Of the process, as the subscriber of `tracing` is.
static RECENT_LINES: Mutex<Option<Recent>> = Mutex::new(None);

/// The last lines, and where the next ones are told.
struct Recent {
    lines: VecDeque<Arc<str>>,
    /// Made for the first who follows.
    live: Option<broadcast::Sender<Arc<str>>>,
}

fn recent() -> MutexGuard<'static, Option<Recent>> {
    RECENT_LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins the hub's log; it ends when the guard is dropped.
pub(super) fn begin(file: Rotating, redactor: Redactor) -> WorkerGuard {
    *recent() = Some(Recent { lines: VecDeque::new(), live: None });
    // Their room is touched at start: with the crate's own limit 4 MB.
    let (pen, guard) = NonBlockingBuilder::default().buffered_lines_limit(QUEUED).finish(file);
    let level = std::env::var("CALLGATE_LOG").unwrap_or_else(|_| "info".into());
    let filter = tracing_subscriber::EnvFilter::try_new(level).unwrap_or_else(|_| "info".into());
    let subscriber =
        tracing_subscriber::fmt().json().with_env_filter(filter).with_writer(Both { pen, redactor }).finish();
    // Refused only where a test of this process has one already.
    let _ = tracing::subscriber::set_global_default(subscriber);
    guard
}

struct Both {
    pen: tracing_appender::non_blocking::NonBlocking,
    redactor: Redactor,
}

/// One event on its way to the file and to whoever follows.
struct Page<'a> {
    both: &'a Both,
    text: Vec<u8>,
}

impl<'a> MakeWriter<'a> for Both {
    type Writer = Page<'a>;
    fn make_writer(&'a self) -> Page<'a> {
        Page { both: self, text: Vec::new() }
    }
}

impl Write for Page<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        // What a server said may stand in it.
        let text = String::from_utf8_lossy(&self.text);
        let text = self.both.redactor.redact(&text);
        // A full disk must not stop the hub; the worker counts what it drops.
        let _ = self.both.pen.clone().write_all(text.as_bytes());
        if let Some(recent) = &mut *recent() {
            recent.add(text.trim_end().into());
        }
    }
}

impl Recent {
    fn add(&mut self, line: Arc<str>) {
        if self.lines.len() == RECENT {
            self.lines.pop_front();
        }
        self.lines.push_back(Arc::clone(&line));
        // Nobody may be listening any more.
        let _ = self.live.as_ref().map(|live| live.send(line));
    }

    /// Both at one moment, so that nothing is missing or doubled between them.
    fn follow(&mut self, lines: usize) -> LogLines {
        let last =
            self.lines.iter().skip(self.lines.len().saturating_sub(lines)).map(|line| line.to_string()).collect();
        let live = self.live.get_or_insert_with(|| broadcast::channel(LAG).0);
        LogLines { last, live: Some(Live::of(live.subscribe(), |line| line.to_string())) }
    }
}

/// Reads logs for the person's door.
pub(super) struct Reading {
    servers: Logs,
    hub: PathBuf,
}

impl Reading {
    pub(super) fn new(servers: Logs, folder: &Path) -> Reading {
        Reading { servers, hub: folder.join(format!("{HUB_LOG}.log")) }
    }

    /// The last lines of the hub's own files, those of earlier runs too.
    fn read_back(&self, lines: usize) -> io::Result<Vec<String>> {
        let mut last = VecDeque::new();
        for file in [self.hub.clone(), self.hub.with_extension("log.1")] {
            let text = match std::fs::read(&file) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(error) => return Err(error),
            };
            for line in String::from_utf8_lossy(&text).lines().rev() {
                if last.len() == lines {
                    return Ok(last.into());
                }
                last.push_front(line.to_owned());
            }
        }
        Ok(last.into())
    }
}

impl LogSource for Reading {
    fn open(&self, of: &LogOf, lines: usize, tail: Tail) -> io::Result<LogLines> {
        match (of, tail) {
            (LogOf::Hub, Tail::Last) => Ok(LogLines { last: self.read_back(lines)?, live: None }),
            (LogOf::Hub, Tail::Follow) => Ok(match &mut *recent() {
                Some(recent) => recent.follow(lines),
                None => LogLines { last: self.read_back(lines)?, live: None },
            }),
            (LogOf::Server(name), Tail::Last) => {
                Ok(LogLines { last: self.servers.server(name).read_back(lines)?, live: None })
            }
            (LogOf::Server(name), Tail::Follow) => {
                let (last, live) = self.servers.server(name).follow(lines);
                let last = last.iter().map(Line::shown).collect();
                Ok(LogLines { last, live: Some(Live::of(live, Line::shown)) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn the_last_lines_come_from_both_files_in_order() {
        let home = tempfile::tempdir().unwrap();
        let logs = Logs::open(&home.path().join("servers")).unwrap();
        let reading = Reading::new(logs, home.path());
        let read = |lines| reading.open(&LogOf::Hub, lines, Tail::Last).unwrap().last;
        assert!(read(3).is_empty());
        std::fs::write(home.path().join(format!("{HUB_LOG}.log")), b"c\nd \xff\n").unwrap();
        std::fs::write(home.path().join(format!("{HUB_LOG}.log.1")), "a\nb\n").unwrap();
        assert_eq!(read(3), ["b", "c", "d \u{fffd}"]);
        assert_eq!(read(1), ["d \u{fffd}"]);
        assert_eq!(read(9).len(), 4);
    }

    #[test]
    fn following_begins_where_the_last_lines_end() {
        let mut recent = Recent { lines: VecDeque::new(), live: None };
        for n in 0..RECENT + 2 {
            recent.add(n.to_string().into());
        }
        assert_eq!(recent.lines.len(), RECENT);
        assert_eq!(recent.follow(2).last, [RECENT.to_string(), (RECENT + 1).to_string()]);
    }
}
