//! Lets connections in: only of our own user, bounded in number, each in a task that this future owns.

use crate::person::{self, Attempts, Hosts};
use crate::routes::{self, Peer, Stopping};
use crate::socket::{self, Stream};
use crate::{ControlParts, Door};
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Most connections at once; more wait in the socket's backlog.
const MOST_CONNECTIONS: usize = 256;
/// How long a client may take for the head of a request.
const HEAD_LIMIT: Duration = Duration::from_secs(10);
/// How long answers that are under way may take once the hub ends.
const FAREWELL: Duration = Duration::from_secs(2);
/// Pause after the system gave no connection, so that a lack of file handles does not become a busy loop.
const BREATH: Duration = Duration::from_millis(50);

/// Serves the operations until `end` comes; then streams are ended, answers under way are given [`FAREWELL`], and the
/// socket's file is removed. Needs a tokio runtime with I/O and time; spawns only tasks that die with this future.
pub async fn serve(mut door: Door, parts: ControlParts, end: impl Future<Output = ()>) {
    let (ending, stopping) = watch::channel(false);
    let attempts = Arc::new(Attempts::new(Arc::clone(&parts.audit)));
    let hosts = Arc::new(Hosts::kept(&parts.places));
    let mut following = pin!(person::follow(parts.clone(), Arc::clone(&hosts)));
    let router = routes::router(parts, Arc::clone(&attempts), hosts, Stopping(stopping.clone()));
    let mut connections = JoinSet::new();
    let mut end = pin!(end);
    let mut settling = pin!(attempts.settle());
    loop {
        tokio::select! {
            biased;
            () = &mut end => break,
            () = &mut settling => {}
            () = &mut following => {}
            Some(_) = connections.join_next() => {}
            stream = door.accept(), if connections.len() < MOST_CONNECTIONS => match stream {
                Ok(Some(stream)) => {
                    let peer = Peer::of(socket::peer(&stream));
                    let router = router.clone().layer(Extension(peer));
                    connections.spawn(connection(stream, router, stopping.clone()));
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "operator.sock: no connection");
                    tokio::time::sleep(BREATH).await;
                }
            },
        }
    }
    drop(door);
    let _ = ending.send(true);
    let farewell = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(FAREWELL, farewell).await.is_err() {
        tracing::warn!(left = connections.len(), "operator.sock: connections cut off");
    }
    attempts.end();
}

async fn connection(stream: Stream, router: Router, mut stopping: watch::Receiver<bool>) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut served = pin!(served);
    tokio::select! {
        result = served.as_mut() => return trace(result),
        _ = stopping.wait_for(|stopping| *stopping) => served.as_mut().graceful_shutdown(),
    }
    trace(served.await);
}

fn trace(result: hyper::Result<()>) {
    if let Err(error) = result {
        tracing::debug!(%error, "operator.sock: connection ended");
    }
}
