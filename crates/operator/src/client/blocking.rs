//! The same client for programs without a runtime, such as the command line.

use super::{ClientError, Events, LineStream};
use crate::operations::{Document, Lines};
use crate::words::Event;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use tokio::runtime::{Builder, Runtime};

/// A client that blocks its thread while it waits.
pub struct Client {
    runtime: Runtime,
    client: super::Client,
}

impl Client {
    /// A client for that socket. Fails only where the system gives no more file handles.
    pub fn new(socket: impl Into<PathBuf>) -> std::io::Result<Client> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        Ok(Client { runtime, client: super::Client::new(socket) })
    }
    /// The socket.
    pub fn socket(&self) -> &Path {
        self.client.socket()
    }
    /// Does an operation that answers with one document.
    pub fn call<O: Document>(&self, input: &O::Input) -> Result<O::Output, ClientError> {
        self.runtime.block_on(self.client.call::<O>(input))
    }
    /// Does an operation that answers with lines, each read when the iterator is asked for it.
    pub fn lines<O: Lines>(&self, input: &O::Input) -> Result<LineIter<'_, O::Output>, ClientError> {
        let lines = self.runtime.block_on(self.client.lines::<O>(input))?;
        Ok(LineIter { runtime: &self.runtime, lines })
    }
    /// Listens for what happens from now on.
    pub fn events(&self) -> Result<EventIter<'_>, ClientError> {
        let events = self.runtime.block_on(self.client.events())?;
        Ok(EventIter { runtime: &self.runtime, events })
    }
}

/// What happens in the hub, each read when the iterator is asked for it; ends with the hub.
pub struct EventIter<'a> {
    runtime: &'a Runtime,
    events: Events,
}

impl Iterator for EventIter<'_> {
    type Item = Result<Event, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.runtime.block_on(self.events.next()).transpose()
    }
}

/// The documents of an answer in lines.
pub struct LineIter<'a, T> {
    runtime: &'a Runtime,
    lines: LineStream<T>,
}

impl<T: DeserializeOwned> Iterator for LineIter<'_, T> {
    type Item = Result<T, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.runtime.block_on(self.lines.next()).transpose()
    }
}
