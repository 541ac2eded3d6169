//! A server on two pipes: newline-delimited JSON-RPC with a bound on every line.

use crate::link::{Inbox, Link, Message, SendFault};
use crate::peer::{self, Dest, Outbox, Source};
use crate::pipe::{Incoming, Outgoing};
use crate::task;
use frame::{Frame, Line, LineBuf};
use std::io;
use std::rc::Rc;
use tokio::task::JoinHandle;

/// What a server may leave unread beyond one message, in bytes.
const OUT_BOUND: usize = 4 << 20;

/// The pipes of one server. Dropping it ends its tasks.
pub struct StdioLink {
    out: Rc<Outbox>,
    tasks: [JoinHandle<()>; 2],
}

impl StdioLink {
    /// Takes over the hub's ends of a child's stdin and stdout; must be called inside a `LocalSet`.
    /// Lines from the server may be `max_line` bytes long.
    pub fn open(stdin: Outgoing, stdout: Incoming, max_line: usize, inbox: Rc<dyn Inbox>) -> io::Result<StdioLink> {
        let out = Outbox::new(Dest::from_fd(stdin)?, OUT_BOUND);
        let source = Source::from_fd(stdout)?;
        let writer = task::spawn("write to a server", Rc::clone(&out).writer());
        let reader = task::spawn("read a server", read(source, max_line, inbox));
        Ok(StdioLink { out, tasks: [writer, reader] })
    }
}

async fn read(mut source: Source, max_line: usize, inbox: Rc<dyn Inbox>) {
    let mut buf = LineBuf::new(max_line);
    let ended = peer::read_lines(&mut source, &mut buf, |line| match line {
        Line::Whole(text) => match Frame::parse(text.clone()) {
            Ok(frame) => inbox.message(frame, None),
            Err(fault) => inbox.noise(fault, &text),
        },
        Line::TooLong { head, length } => inbox.too_long(&head, length),
    })
    .await;
    match ended {
        Ok(()) => inbox.closed("it closed its stdout"),
        Err(error) => inbox.closed(&format!("reading its stdout failed: {error}")),
    }
}

impl Link for StdioLink {
    fn send(&self, message: &Message<'_>) -> Result<(), SendFault> {
        self.out.line(|sink| message.write(sink))
    }
    fn abandon(&self, _id: u64) {}
    fn close(&self) {
        self.out.close();
    }
}

impl Drop for StdioLink {
    fn drop(&mut self) {
        self.out.close_now();
        for task in &self.tasks {
            task.abort();
        }
    }
}
