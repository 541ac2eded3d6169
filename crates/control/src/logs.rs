//! Logs as lines of JSON: the last ones from the files, then the live tail.

use crate::problems::{Failure, Outcome};
use crate::routes::Stopping;
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use operator::words::{LogLine, Tail};
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// Most lines that are read back.
const MOST_LINES: usize = 10_000;

/// Whose log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogOf {
    /// The hub's own.
    Hub,
    /// One server's, by its key in the config.
    Server(String),
}

/// Lines of a log.
pub struct LogLines {
    /// The last lines, oldest first, without line ends.
    pub last: Vec<String>,
    /// Every line after the last one, without a gap; None where the log was not to be followed.
    pub live: Option<Live>,
}

/// Lines as they are written.
pub struct Live(BoxStream<'static, String>);

impl Live {
    /// The lines of a channel, each written out by `shown`; a line of its own tells of those that were missed.
    pub fn of<T: Clone + Send + 'static>(lines: Receiver<T>, shown: fn(&T) -> String) -> Live {
        let lines = stream::unfold(lines, move |mut lines| async move {
            let line = match lines.recv().await {
                Ok(line) => shown(&line),
                Err(RecvError::Lagged(count)) => {
                    format!("… {count} lines came too fast to follow; they are in the file")
                }
                Err(RecvError::Closed) => return None,
            };
            Some((line, lines))
        });
        Live(lines.boxed())
    }
}

/// Where the logs are read. The hub's process gives it to the door.
pub trait LogSource: Send + Sync {
    /// The last `lines` lines, and with [`Tail::Follow`] what comes after them: nothing lost between, nothing twice.
    /// May read files: it is called on the blocking pool. `NotFound` where nothing was logged yet.
    fn open(&self, of: &LogOf, lines: usize, tail: Tail) -> io::Result<LogLines>;
}

/// The answer of `logs` and `server.logs`.
pub async fn answer(
    source: Arc<dyn LogSource>,
    of: LogOf,
    lines: u32,
    tail: Tail,
    stopping: Stopping,
) -> Outcome<Response> {
    let lines = usize::try_from(lines).unwrap_or(MOST_LINES).min(MOST_LINES);
    let opened = tokio::task::spawn_blocking(move || source.open(&of, lines, tail)).await;
    let opened = match opened.map_err(|_| Failure::new("internal", "the log could not be read"))? {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound && tail == Tail::Last => {
            LogLines { last: vec![], live: None }
        }
        Err(error) => return Err(Failure::io("the log cannot be read", &error)),
    };
    let live = opened.live.map_or_else(|| stream::empty().boxed(), |live| live.0);
    let lines = stream::iter(opened.last).chain(live).take_until(stopping.come());
    let body = Body::from_stream(lines.map(|text| Ok::<_, Infallible>(written(text))));
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson"), (header::CACHE_CONTROL, "no-store")], body).into_response())
}

fn written(text: String) -> Bytes {
    let mut line = serde_json::to_vec(&LogLine { text }).unwrap_or_default();
    line.push(b'\n');
    line.into()
}
