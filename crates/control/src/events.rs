//! What happens in the hub, as server-sent events.

use crate::routes::Stopping;
use crate::views;
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use hub::operate::Event as Happening;
use operator::words::Event;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// After so long without an event a comment is sent, so that a dead listener is noticed.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The stream; it ends when the hub does. A comment comes at once, so that the head reaches the listener.
pub fn stream(happenings: Receiver<Happening>, stopping: Stopping) -> Response {
    let opening = stream::once(async { Bytes::from_static(b": callgate\n\n") });
    let events = stream::unfold(happenings, |mut happenings| async move {
        let text = match tokio::time::timeout(HEARTBEAT, happenings.recv()).await {
            Err(_) => Bytes::from_static(b":\n\n"),
            Ok(Ok(happening)) => written(&views::event(happening)),
            Ok(Err(RecvError::Lagged(count))) => written(&Event::Missed { count }),
            Ok(Err(RecvError::Closed)) => return None,
        };
        Some((text, happenings))
    });
    let body = Body::from_stream(opening.chain(events).take_until(stopping.come()).map(Ok::<_, Infallible>));
    ([(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")], body).into_response()
}

fn written(event: &Event) -> Bytes {
    let data = serde_json::to_string(event).unwrap_or_else(|_| "{}".into());
    format!("event: {}\ndata: {data}\n\n", event.as_str()).into()
}
