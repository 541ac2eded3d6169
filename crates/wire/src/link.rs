//! A connection to one MCP server, whatever carries it. Everything happens on the relay thread and must not block.

use bytes::Bytes;
use frame::{Fault, Frame, Rope, Sink, object};
use smallvec::SmallVec;
use std::rc::Rc;

/// One message to a server.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// The hub's own id of a request; None for notifications and for answers to the server.
    pub id: Option<u64>,
    /// The method, for headers (`Mcp-Method`).
    pub method: &'a str,
    /// Tool name, prompt name, resource URI or task id, for `Mcp-Name`.
    pub name: Option<&'a str>,
    /// Further headers (`Mcp-Param-*`), already encoded.
    pub headers: &'a [(String, String)],
    /// What it says.
    pub text: Text<'a>,
}

/// The text of a message.
#[derive(Clone, Copy, Debug)]
pub enum Text<'a> {
    /// A request or notification with these params: the rest follows from its id and method.
    Params(&'a Rope),
    /// All of it: complete JSON without line end.
    Whole(&'a Rope),
}

impl Message<'_> {
    /// Puts out its complete JSON text without line end.
    pub fn write(&self, sink: &mut dyn Sink) {
        match self.text {
            Text::Whole(text) => text.write(sink),
            Text::Params(params) => {
                sink.put(&self.head(params));
                params.write(sink);
                sink.put(b"}");
            }
        }
    }

    /// The same as a text to keep.
    pub fn rope(&self) -> Rope {
        match self.text {
            Text::Whole(text) => text.clone(),
            Text::Params(params) => {
                let mut rope = Rope::new();
                rope.push_copy(&self.head(params));
                rope.append(params);
                rope.push_static("}");
                rope
            }
        }
    }

    /// What stands before the params.
    fn head(&self, params: &Rope) -> SmallVec<[u8; 128]> {
        let mut head = SmallVec::new();
        head.extend_from_slice(b"{\"jsonrpc\":\"2.0\",");
        if let Some(id) = self.id {
            head.extend_from_slice(b"\"id\":");
            head.extend_from_slice(itoa::Buffer::new().format(id).as_bytes());
            head.push(b',');
        }
        head.extend_from_slice(b"\"method\":");
        head.extend_from_slice(object::quote(self.method).as_bytes());
        if !params.is_empty() {
            head.extend_from_slice(b",\"params\":");
        }
        head
    }
}

/// Why a message was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendFault {
    /// The peer does not read, and its buffer is full.
    #[error("the other side does not read what it is sent")]
    Full,
    /// The connection has ended.
    #[error("the connection has ended")]
    Closed,
}

/// Sends to one server.
pub trait Link {
    /// Sends one message, or queues it in the bounded buffer.
    fn send(&self, message: &Message<'_>) -> Result<(), SendFault>;
    /// Nobody waits for this request any more (HTTP modern: closes its stream; others: nothing to do here).
    fn abandon(&self, id: u64);
    /// Ends the connection: stdio closes the server's stdin; HTTP legacy sends DELETE.
    fn close(&self);
}

/// Takes what one server sends, in arrival order.
pub trait Inbox {
    /// A message. `during` is the request on whose HTTP stream it came, None on stdio and on the GET stream.
    fn message(&self, frame: Frame, during: Option<u64>);
    /// A text that is no message: noise, or a broken answer whose id can still be read.
    fn noise(&self, fault: Fault, text: &Bytes);
    /// A line or body over the bound; its first bytes may tell the id.
    fn too_long(&self, head: &[u8], length: u64);
    /// One request will get no answer (HTTP: refused, broken stream); `sent` tells whether the server may have acted.
    fn failed(&self, id: u64, why: &str, sent: bool);
    /// The server has forgotten the session (HTTP 404 with a session id): initialize once more.
    fn session_lost(&self);
    /// The connection has ended; nothing follows.
    fn closed(&self, why: &str);
}

/// Shared between the link and its reader.
pub type SharedInbox = Rc<dyn Inbox>;
