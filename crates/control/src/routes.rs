//! The two paths of the door, and what a request must look like before an operation sees it.

use crate::person::{self, Attempts, Caller, Here, Hosts};
use crate::problems::{Failure, Outcome};
use crate::{ControlParts, events, operations};
use axum::Router;
use axum::body::{self, Body};
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use operator::Name;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, watch};

/// Longest body of a request, in bytes.
const LONGEST_BODY: usize = 1024 * 1024;
/// How long a body may take to arrive.
const BODY_LIMIT: Duration = Duration::from_secs(10);

/// Turns true when the hub ends: streams without an end of their own end then.
#[derive(Clone)]
pub struct Stopping(pub watch::Receiver<bool>);

impl Stopping {
    /// Waits for the hub's end.
    pub async fn come(mut self) {
        let _ = self.0.wait_for(|stopping| *stopping).await;
    }
}

/// What every request gets.
#[derive(Clone)]
pub struct Shared {
    /// What the door was given.
    pub parts: ControlParts,
    /// The hub's end.
    pub stopping: Stopping,
    /// Attempts at what only a person may do.
    pub attempts: Arc<Attempts>,
    /// Hosts that are or were attached.
    pub hosts: Arc<Hosts>,
    /// Held while the config file is changed.
    pub edits: Arc<Mutex<()>>,
}

pub fn router(parts: ControlParts, attempts: Arc<Attempts>, hosts: Arc<Hosts>, stopping: Stopping) -> Router {
    Router::new()
        .route("/op/{name}", post(operation))
        .route("/events", get(listen))
        .fallback(async || Failure::new("unknown_path", "there are only POST /op/NAME and GET /events"))
        .method_not_allowed_fallback(async || {
            Failure::new("wrong_method", "there are only POST /op/NAME and GET /events")
        })
        .layer(middleware::from_fn(at_the_right_door))
        .with_state(Shared { parts, stopping, attempts, hosts, edits: Arc::default() })
}

/// An agent's token opens nothing here, and no browser has business at a local socket: whoever brings one of these
/// has been led here by a forwarder.
async fn at_the_right_door(request: Request, next: Next) -> Response {
    for name in [header::AUTHORIZATION, header::ORIGIN, header::COOKIE] {
        if request.headers().contains_key(&name) {
            return Failure::new("wrong_door", format!("requests with the header {name} are not accepted here"))
                .into_response();
        }
    }
    next.run(request).await
}

async fn listen(State(shared): State<Shared>) -> Response {
    events::stream(shared.parts.hub.events(), shared.stopping)
}

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its process, where the system tells.
    pub caller: Option<Caller>,
}

impl Peer {
    /// The process of this number as it is now.
    pub fn of(pid: Option<u32>) -> Peer {
        Peer { caller: pid.and_then(|pid| Caller::of(&Here, pid)) }
    }
    /// What people read of who decided.
    pub fn name(&self) -> String {
        self.caller.map_or_else(|| "an untold process".to_owned(), |caller| person::describe(&Here, caller))
    }
}

async fn operation(
    State(shared): State<Shared>,
    Extension(peer): Extension<Peer>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Outcome<Response> {
    let name = Name::parse(&name).ok_or_else(|| Failure::new("unknown_operation", "there is no such operation"))?;
    let body = read(&headers, body).await?;
    let answer = operations::run(name, body, shared, &peer);
    match tokio::time::timeout(name.limit(), answer).await {
        Ok(answer) => answer,
        Err(_) => {
            let message = format!("{} was not done within {} s", name.as_str(), name.limit().as_secs());
            Err(Failure::new("timeout", message).next("callgate logs"))
        }
    }
}

async fn read(headers: &HeaderMap, body: Body) -> Outcome<Bytes> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
        return Err(Failure::new("wrong_content_type", "the body must be application/json"));
    }
    match tokio::time::timeout(BODY_LIMIT, body::to_bytes(body, LONGEST_BODY)).await {
        Ok(Ok(bytes)) if bytes.is_empty() => Ok(Bytes::from_static(b"{}")),
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => {
            Err(Failure::new("body_too_large", format!("the body is longer than {LONGEST_BODY} bytes, or broke off")))
        }
        Err(_) => Err(Failure::new("timeout", "the body did not arrive in time")),
    }
}
