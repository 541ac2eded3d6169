//! A 2025-03-26 batch: its answers leave together, as one array.

use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wire::era::Out;
use wire::peer::Outbox;

pub(super) struct Batch {
    out: Rc<Outbox>,
    answers: RefCell<Vec<u8>>,
    /// Requests without an answer, and one more while the batch is still being read.
    missing: Cell<usize>,
}

impl Batch {
    pub(super) fn new(out: Rc<Outbox>) -> Rc<Batch> {
        Rc::new(Batch { out, answers: RefCell::default(), missing: Cell::new(1) })
    }

    /// One more answer will come.
    pub(super) fn expect(&self) {
        self.missing.set(self.missing.get() + 1);
    }

    /// An answer.
    pub(super) fn add(&self, id: &Bytes, out: &Out) {
        {
            let mut answers = self.answers.borrow_mut();
            let first = answers.is_empty();
            answers.push(if first { b'[' } else { b',' });
            out.write(id, &mut *answers);
        }
        self.complete();
    }

    /// The whole batch was read, or one of its answers is there. A batch of notifications is answered by nothing.
    pub(super) fn complete(&self) {
        self.missing.set(self.missing.get() - 1);
        let mut answers = self.answers.borrow_mut();
        if self.missing.get() == 0 && !answers.is_empty() {
            answers.push(b']');
            let _ = self.out.line(|sink| frame::Sink::put(sink, &answers));
            answers.clear();
        }
    }
}
