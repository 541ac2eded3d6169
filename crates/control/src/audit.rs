//! The log for a person: pages, one call, a live tail, a check of the whole, rows to take away.

use crate::person::Deed;
use crate::problems::{Failure, Outcome};
use crate::routes::Stopping;
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use operator::Problem;
use operator::words::{
    AuditAccepted, AuditFilter, AuditPage, AuditQuery, AuditReport, AuditRow, AuditTail, AuditTrail, AuditValues, Tail,
};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How often a tail looks for new rows.
const PACE: Duration = Duration::from_millis(250);
/// Rows of one look, and rows that are read back at most.
const PIECE: u32 = 1_000;
/// Rows of an export on their way.
const AHEAD: usize = 256;

/// Where the log is read. The hub's process gives it to the door. All of it may read files: blocking pool only.
pub trait AuditSource: Send + Sync {
    /// One page, the latest first.
    ///
    /// # Errors
    /// The log cannot be read. So the others.
    fn page(&self, query: &AuditQuery) -> Result<AuditPage, Problem>;
    /// All rows of one call, oldest first.
    fn trail(&self, call: &str) -> Result<AuditTrail, Problem>;
    /// Values that are kept of one call, opened.
    fn values(&self, call: &str) -> Result<AuditValues, Problem>;
    /// Rows of each call of a page that a person has decided or that expired, the latest first; where the next page begins.
    fn decided(&self, filter: &AuditFilter, before: Option<u64>, limit: u32) -> Result<Decided, Problem>;
    /// How often a person was asked about this client's calls of this tool (client, server, name): all, and denied.
    fn asked(&self, of: &[[String; 3]]) -> Result<Vec<(u32, u32)>, Problem>;
    /// Rows after that one, oldest first, at most `limit`.
    fn newer(&self, filter: &AuditFilter, after: u64, limit: u32) -> Result<Vec<AuditRow>, Problem>;
    /// The whole log checked.
    fn verify(&self) -> Result<AuditReport, Problem>;
    /// Writes what was refused to somebody. Returns at once.
    fn deed(&self, deed: &Deed);
    /// Writes what a person does that has no row of its own; durable when it returns.
    fn write(&self, deed: &Deed) -> Result<(), Problem>;
    /// Accepts a log that does not reach its anchor, exactly as it was reported.
    fn accept(&self, what: &str) -> Result<AuditAccepted, Problem>;
    /// Every row of a filter, oldest first, until `take` says that it wants no more.
    fn export(&self, filter: &AuditFilter, with: With, take: &mut dyn FnMut(AuditRow) -> bool) -> Result<(), Problem>;
}

/// What an export tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    /// Names, types and sizes.
    Nothing,
    /// The values that were kept, too.
    Values,
}

/// A page of calls that were decided.
pub struct Decided {
    /// Their rows.
    pub calls: Vec<AuditTrail>,
    /// Before which row the next page begins; None: there is none.
    pub before: Option<u64>,
}

/// Does one thing with the log on the blocking pool.
pub(crate) async fn read<T: Send + 'static>(
    source: &Arc<dyn AuditSource>,
    what: impl FnOnce(&dyn AuditSource) -> Result<T, Problem> + Send + 'static,
) -> Outcome<T> {
    let source = Arc::clone(source);
    let read = tokio::task::spawn_blocking(move || what(&*source)).await;
    Ok(read.map_err(|_| Failure::new("internal", "the log could not be read"))??)
}

/// The answer of `audit.tail`.
pub(crate) async fn tail(source: &Arc<dyn AuditSource>, asked: AuditTail, stopping: Stopping) -> Outcome<Response> {
    let query = AuditQuery { filter: asked.filter.clone(), before: None, limit: asked.lines.clamp(1, PIECE) };
    let mut last = read(source, move |source| source.page(&query)).await?.rows;
    let seen = last.first().map_or(0, |row| row.seq);
    last.truncate(asked.lines as usize);
    last.reverse();
    let live = match asked.tail {
        Tail::Last => stream::empty().boxed(),
        Tail::Follow => follow(Arc::clone(source), asked.filter, seen),
    };
    Ok(lines(stream::iter(last).chain(live).take_until(stopping.come()).boxed()))
}

fn follow(source: Arc<dyn AuditSource>, filter: AuditFilter, seen: u64) -> BoxStream<'static, AuditRow> {
    let pieces = stream::unfold((source, filter, seen), |(source, filter, seen)| async move {
        loop {
            let wanted = filter.clone();
            let rows = read(&source, move |source| source.newer(&wanted, seen, PIECE)).await.ok()?;
            if let Some(last) = rows.last().map(|row| row.seq) {
                return Some((stream::iter(rows), (source, filter, last)));
            }
            tokio::time::sleep(PACE).await;
        }
    });
    pieces.flatten().boxed()
}

/// The answer of `audit.export` and `audit.take`.
pub(crate) fn export(source: &Arc<dyn AuditSource>, filter: AuditFilter, with: With, stopping: Stopping) -> Response {
    let (send, rows) = mpsc::channel(AHEAD);
    let source = Arc::clone(source);
    // It ends when nobody takes its rows any more.
    tokio::task::spawn_blocking(move || {
        let mut take = |row| send.blocking_send(row).is_ok();
        if let Err(problem) = source.export(&filter, with, &mut take) {
            tracing::error!(%problem, "the log could not be written out to its end");
        }
    });
    let rows = stream::unfold(rows, |mut rows| async move { rows.recv().await.map(|row| (row, rows)) });
    lines(rows.take_until(stopping.come()).boxed())
}

fn lines(rows: BoxStream<'static, AuditRow>) -> Response {
    let body = Body::from_stream(rows.map(|row| Ok::<_, Infallible>(written(&row))));
    ([(header::CONTENT_TYPE, "application/x-ndjson"), (header::CACHE_CONTROL, "no-store")], body).into_response()
}

fn written(row: &AuditRow) -> Bytes {
    let mut line = serde_json::to_vec(row).unwrap_or_default();
    line.push(b'\n');
    line.into()
}
