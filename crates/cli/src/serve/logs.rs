//! The hub's own log as JSON lines in a bounded file, and both kinds of logs for the person's door.

use control::{LogLines, LogOf, LogSource};
use operator::words::Tail;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::broadcast;
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::fmt::MakeWriter;
use upstream::logs::file::Rotating;
use upstream::logs::{HUB_LOG, Logs};

/// Lines that a live reader may lag behind.
const LAG: usize = 256;

/// The live end of the hub's own log.
static LIVE: Mutex<Option<broadcast::Sender<Arc<str>>>> = Mutex::new(None);

/// Begins the hub's log; it ends when the guard is dropped.
pub(super) fn begin(file: Rotating) -> WorkerGuard {
    let (live, _) = broadcast::channel(LAG);
    *LIVE.lock().unwrap_or_else(PoisonError::into_inner) = Some(live.clone());
    let (pen, guard) = tracing_appender::non_blocking(file);
    let level = std::env::var("CALLGATE_LOG").unwrap_or_else(|_| "info".into());
    let filter = tracing_subscriber::EnvFilter::try_new(level).unwrap_or_else(|_| "info".into());
    let subscriber = tracing_subscriber::fmt().json().with_env_filter(filter).with_writer(Both { pen, live }).finish();
    // Refused only where a test of this process has one already.
    let _ = tracing::subscriber::set_global_default(subscriber);
    guard
}

struct Both {
    pen: tracing_appender::non_blocking::NonBlocking,
    live: broadcast::Sender<Arc<str>>,
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
        // A full disk must not stop the hub; the worker counts what it drops.
        let _ = self.both.pen.clone().write_all(&self.text);
        let _ = self.both.live.send(String::from_utf8_lossy(&self.text).trim_end().into());
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
}

impl LogSource for Reading {
    fn open(&self, of: &LogOf, lines: usize, tail: Tail) -> io::Result<LogLines> {
        match of {
            LogOf::Hub => {
                let live = LIVE.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(broadcast::Sender::subscribe);
                let text = std::fs::read_to_string(&self.hub)?;
                let all: Vec<&str> = text.lines().collect();
                let last = all.iter().skip(all.len().saturating_sub(lines)).map(|line| (*line).to_owned()).collect();
                Ok(LogLines { last, live: live.filter(|_| tail == Tail::Follow) })
            }
            LogOf::Server(name) => {
                let log = self.servers.server(name);
                if tail == Tail::Follow {
                    let (last, live) = log.follow(lines);
                    let last = last.iter().map(upstream::logs::Line::shown).collect();
                    return Ok(LogLines { last, live: Some(relabel(live)) });
                }
                Ok(LogLines { last: log.read_back(lines)?, live: None })
            }
        }
    }
}

/// The live lines of a server as text. The thread ends with the server's log or when nobody listens any more.
fn relabel(mut live: broadcast::Receiver<upstream::logs::Line>) -> broadcast::Receiver<Arc<str>> {
    let (tell, told) = broadcast::channel(LAG);
    tokio::runtime::Handle::current().spawn(async move {
        loop {
            match live.recv().await {
                Ok(line) if tell.send(line.shown().into()).is_err() => return,
                Ok(_) => {}
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    let text = format!("({missed} lines were missed)");
                    if tell.send(text.into()).is_err() {
                        return;
                    }
                }
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    });
    told
}
