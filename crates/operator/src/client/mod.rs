//! The client of `operator.sock`: one connection per operation, driven by whoever awaits it (no task of its own).
//! It refuses a socket that another user could have put there.

pub mod blocking;
mod connection;
#[cfg(unix)]
mod door;
#[cfg(windows)]
#[path = "door_windows.rs"]
mod door;
mod stream;

pub use stream::{Events, LineStream};

use crate::operations::{Document, Lines, Name, Operation};
use crate::problem::Problem;
use bytes::Bytes;
use connection::Connection;
use http::{Method, Request};
use http_body_util::Full;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long past an operation's own limit the client waits for the hub.
const GRACE: Duration = Duration::from_secs(5);
/// Longest answer in one document, in bytes: a call's result may be as large as a message.
const LONGEST_ANSWER: usize = 256 * 1024 * 1024;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nothing listens there.
    #[error("no hub is running")]
    NoHub {
        /// The socket that was tried.
        socket: PathBuf,
    },
    /// Somebody else could be behind the socket.
    #[error("{path} is not to be trusted: {why}", path = path.display())]
    Untrusted {
        /// The file or folder at fault.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The hub says no.
    #[error(transparent)]
    Refused(#[from] Problem),
    /// The hub does not answer.
    #[error("the hub did not answer within {} s", .0.as_secs())]
    Silent(Duration),
    /// The connection broke before the answer was whole.
    #[error("the connection to the hub broke")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The answer makes no sense: hub and client are of different versions, perhaps.
    #[error("the answer of the hub cannot be read")]
    Unreadable(#[source] serde_json::Error),
}

impl ClientError {
    fn broken(cause: impl std::error::Error + Send + Sync + 'static) -> ClientError {
        ClientError::Broken(Box::new(cause))
    }
}

/// Asks the hub behind one socket.
#[derive(Clone, Debug)]
pub struct Client {
    socket: PathBuf,
}

impl Client {
    /// A client for that socket; connects anew for each operation.
    pub fn new(socket: impl Into<PathBuf>) -> Client {
        Client { socket: socket.into() }
    }
    /// The socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Does an operation that answers with one document.
    pub async fn call<O: Document>(&self, input: &O::Input) -> Result<O::Output, ClientError> {
        let answer = self.send(O::NAME, encode::<O>(input)?).await?;
        serde_json::from_slice(&answer).map_err(ClientError::Unreadable)
    }

    /// Does an operation that answers with lines.
    pub async fn lines<O: Lines>(&self, input: &O::Input) -> Result<LineStream<O::Output>, ClientError> {
        let connection = self.post(O::NAME, encode::<O>(input)?).await?;
        Ok(LineStream::new(connection))
    }

    /// Does an operation by name with its input as JSON, and gives its answer as JSON: for front ends that only pass on.
    pub async fn send(&self, name: Name, input: Bytes) -> Result<Bytes, ClientError> {
        self.post(name, input).await?.collect(LONGEST_ANSWER).await
    }

    /// Listens for what happens from now on.
    pub async fn events(&self) -> Result<Events, ClientError> {
        let request = Request::builder().method(Method::GET).uri("/events");
        let request = request.header("host", "callgate").header("accept", "text/event-stream");
        let request = request.body(Full::default()).map_err(ClientError::broken)?;
        Ok(Events::new(within(Duration::from_secs(10), self.ask(request)).await?))
    }

    async fn post(&self, name: Name, input: Bytes) -> Result<Connection, ClientError> {
        let request = Request::builder().method(Method::POST).uri(format!("/op/{}", name.as_str()));
        let request = request.header("host", "callgate").header("content-type", "application/json");
        let request = request.body(Full::new(input)).map_err(ClientError::broken)?;
        within(name.limit() + GRACE, self.ask(request)).await
    }

    async fn ask(&self, request: Request<Full<Bytes>>) -> Result<Connection, ClientError> {
        let mut connection = Connection::new(door::connect(&self.socket).await?).await?;
        let status = connection.ask(request).await?;
        if status.is_success() {
            return Ok(connection);
        }
        let body = connection.collect(1024 * 1024).await?;
        Err(ClientError::Refused(serde_json::from_slice(&body).map_err(ClientError::Unreadable)?))
    }
}

fn encode<O: Operation>(input: &O::Input) -> Result<Bytes, ClientError> {
    serde_json::to_vec(input).map(Bytes::from).map_err(ClientError::Unreadable)
}

async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, ClientError>>) -> Result<T, ClientError> {
    tokio::time::timeout(limit, work).await.unwrap_or(Err(ClientError::Silent(limit)))
}
