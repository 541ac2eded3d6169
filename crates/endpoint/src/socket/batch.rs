//! A 2025-03-26 batch: its answers leave together, as one array.

use super::conn::Conn;
use super::lend::Slot;
use bytes::Bytes;
use frame::Receipt;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use wire::era::Out;

pub(super) struct Batch {
    conn: Weak<Conn>,
    /// Its place in the record of a loan.
    slot: Cell<Option<Slot>>,
    answers: RefCell<Vec<u8>>,
    receipts: RefCell<Vec<Receipt>>,
    /// Requests without an answer, and one more while the batch is still being read.
    missing: Cell<usize>,
}

impl Batch {
    pub(super) fn new(conn: Weak<Conn>, slot: Option<Slot>) -> Rc<Batch> {
        Rc::new(Batch {
            conn,
            slot: Cell::new(slot),
            answers: RefCell::default(),
            receipts: RefCell::default(),
            missing: Cell::new(1),
        })
    }

    /// One more answer will come.
    pub(super) fn expect(&self) {
        self.missing.set(self.missing.get() + 1);
    }

    /// An answer.
    pub(super) fn add(&self, id: &Bytes, out: &Out, receipt: Option<Receipt>) {
        self.receipts.borrow_mut().extend(receipt);
        {
            let mut answers = self.answers.borrow_mut();
            let first = answers.is_empty();
            answers.push(if first { b'[' } else { b',' });
            out.write(id, &mut *answers);
        }
        self.complete();
    }

    /// The whole batch was read, or one of its answers is there or will not come. A batch of notifications is answered by
    /// nothing.
    pub(super) fn complete(&self) {
        self.missing.set(self.missing.get() - 1);
        let Some(conn) = self.conn.upgrade().filter(|_| self.missing.get() == 0) else { return };
        let mut answers = std::mem::take(&mut *self.answers.borrow_mut());
        if !answers.is_empty() {
            answers.push(b']');
            conn.put(|sink| sink.put(&answers), self.receipts.take());
        }
        conn.close(self.slot.take());
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // The client left before its last answer was there.
        self.receipts.take().into_iter().for_each(Receipt::lost);
    }
}
