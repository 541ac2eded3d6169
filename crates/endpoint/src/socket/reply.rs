//! Writes what comes back for one request to its client, in the client's era, under the client's own id and token.

use super::batch::Batch;
use super::conn::Conn;
use bytes::Bytes;
use frame::{Answer, Era, Level, Origin, Progress, Receipt, Reply};
use std::rc::Rc;
use wire::era::{legacy_host, modern_host};

/// A client that leaves this many bytes unread gets no more progress, only answers.
const PATIENCE: usize = 256 * 1024;

/// Where an answer goes.
pub(super) struct Target {
    pub conn: Rc<Conn>,
    pub id: Bytes,
    pub method: Rc<str>,
    pub batch: Option<Rc<Batch>>,
}

pub(super) struct LineReply {
    target: Target,
    token: Option<Bytes>,
    origin: Rc<Origin>,
}

impl LineReply {
    pub(super) fn new(target: Target, token: Option<Bytes>, origin: Rc<Origin>) -> LineReply {
        LineReply { target, token, origin }
    }
}

impl Reply for LineReply {
    fn progress(&mut self, progress: &Progress) {
        let (Some(token), out) = (&self.token, &self.target.conn.out) else { return };
        if out.waiting() > PATIENCE {
            return;
        }
        let _ = out.line(|sink| {
            sink.put(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":");
            sink.put_shared(&progress.params.slice(..progress.token.start));
            sink.put(token);
            sink.put_shared(&progress.params.slice(progress.token.end..));
            sink.put(b"}");
        });
    }

    fn log(&mut self, level: Level, params: &Bytes) {
        let wanted = match (self.origin.version.era(), self.origin.level.get()) {
            (_, Some(wanted)) => level >= wanted,
            // A legacy client that never said how much it wants gets what is not only for debugging.
            (Era::Legacy, None) => level >= Level::Info,
            (Era::Modern, None) => false,
        };
        let out = &self.target.conn.out;
        if wanted && out.waiting() <= PATIENCE {
            let _ = out.line(|sink| {
                sink.put(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":");
                sink.put_shared(params);
                sink.put(b"}");
            });
        }
    }

    fn done(self: Box<Self>, answer: Answer) {
        self.end(answer, None);
    }

    fn deliver(self: Box<Self>, answer: Answer, receipt: Receipt) {
        self.end(answer, Some(receipt));
    }
}

impl LineReply {
    fn end(&self, answer: Answer, receipt: Option<Receipt>) {
        let Target { conn, id, method, batch } = &self.target;
        let out = match self.origin.version.era() {
            Era::Legacy => legacy_host::answer(answer, method),
            Era::Modern => modern_host::answer(answer, method),
        };
        conn.tell(id, &out, batch.as_ref(), receipt);
        conn.done(id);
    }
}
