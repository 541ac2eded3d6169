//! Answers without an end: JSON lines and server-sent events.

use super::ClientError;
use super::connection::Connection;
use crate::words::Event;
use bytes::BytesMut;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// Longest line in bytes: a log line may be cut by the hub, never longer than this.
const LONGEST_LINE: usize = 4 * 1024 * 1024;

/// The lines of an answer.
struct Text {
    connection: Connection,
    rest: BytesMut,
    searched: usize,
}

impl Text {
    fn new(connection: Connection) -> Text {
        Text { connection, rest: BytesMut::new(), searched: 0 }
    }

    /// The next line without its end; None at the end of the answer.
    async fn line(&mut self) -> Result<Option<BytesMut>, ClientError> {
        loop {
            if let Some(at) = self.rest[self.searched..].iter().position(|&byte| byte == b'\n') {
                let mut line = self.rest.split_to(self.searched + at + 1);
                self.searched = 0;
                line.truncate(line.len() - 1);
                return Ok(Some(line));
            }
            self.searched = self.rest.len();
            if self.searched > LONGEST_LINE {
                return Err(ClientError::broken(std::io::Error::other("a line of the answer is too long")));
            }
            match self.connection.piece().await? {
                Some(piece) => self.rest.extend_from_slice(&piece),
                None if self.rest.is_empty() => return Ok(None),
                None => {
                    self.searched = 0;
                    return Ok(Some(self.rest.split()));
                }
            }
        }
    }
}

/// The documents of an answer in lines.
pub struct LineStream<T> {
    text: Text,
    documents: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> LineStream<T> {
    pub(super) fn new(connection: Connection) -> LineStream<T> {
        LineStream { text: Text::new(connection), documents: PhantomData }
    }

    /// The next document; None at the end.
    pub async fn next(&mut self) -> Result<Option<T>, ClientError> {
        while let Some(line) = self.text.line().await? {
            if !line.is_empty() {
                return serde_json::from_slice(&line).map(Some).map_err(ClientError::Unreadable);
            }
        }
        Ok(None)
    }
}

/// What happens in the hub.
pub struct Events {
    text: Text,
}

impl Events {
    pub(super) fn new(connection: Connection) -> Events {
        Events { text: Text::new(connection) }
    }

    /// The next event; None when the hub has ended the stream. Events of newer hubs that this client cannot know are passed over.
    pub async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        while let Some(line) = self.text.line().await? {
            if let Some(data) = line.strip_prefix(b"data:")
                && let Ok(event) = serde_json::from_slice(data)
            {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }
}
