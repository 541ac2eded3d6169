//! How far the lending of one connection has come: offered with the attach line, asked for at a quiet moment, begun
//! when the adapter has written its last byte.

use super::journal::Journal;
use super::source::{Lent, LentSource, Offer};
use super::{GO, KEEP, LEND};
use frame::Sink;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use tokio::sync::Notify;
use wire::peer::Outbox;

/// The loan of one connection.
#[derive(Default)]
pub(in super::super) struct Loan {
    offered: RefCell<Option<Lent>>,
    /// Whether the adapter waits for us with its last byte written.
    is_ready: Cell<bool>,
    begun: RefCell<Option<LentSource>>,
    rings: Notify,
    journal: OnceCell<Rc<Journal>>,
}

impl Loan {
    /// What came with the attach line.
    pub(in super::super) fn offer(&self, fds: Offer) {
        *self.offered.borrow_mut() = Lent::new(fds);
    }

    /// Whether there is something to lend.
    pub(in super::super) fn is_offered(&self) -> bool {
        self.offered.borrow().is_some()
    }

    /// The record, once the loan has begun.
    pub(in super::super) fn journal(&self) -> Option<&Journal> {
        self.journal.get().map(|journal| &**journal)
    }

    /// Whether the line was about the loan.
    pub(in super::super) fn hear(&self, text: &[u8], out: &Rc<Outbox>) -> bool {
        if !self.is_offered() {
            return false;
        }
        let is = |word: &[u8]| word.strip_suffix(b"\n") == Some(text);
        let say = |word: &'static [u8]| {
            let _ = out.line(|sink: &mut dyn Sink| sink.put(&word[..word.len() - 1]));
        };
        if is(LEND) {
            if out.waiting() > 0 {
                say(KEEP);
                return true;
            }
            // Behind this word nothing may follow on the socket.
            say(LEND);
            self.is_ready.set(out.pause());
            if !self.is_ready.get() {
                out.close_now();
            }
            return true;
        }
        if is(GO) && self.is_ready.get() {
            if let Some(lent) = self.offered.take() {
                let _ = self.journal.set(Rc::clone(&lent.journal));
                *self.begun.borrow_mut() = Some(lent.take(out));
                self.rings.notify_one();
            }
            return true;
        }
        false
    }

    /// The host's stdin, when it has been lent.
    pub(in super::super) async fn begun(&self) -> LentSource {
        loop {
            if let Some(source) = self.begun.take() {
                return source;
            }
            self.rings.notified().await;
        }
    }
}
