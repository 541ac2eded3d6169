//! Answers that are under way: kept by weak reference, so that those that let their client wait can be turned into
//! streams in time. Never keeps an answer alive.

use super::delivery::Delivery;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The open answers of one door.
#[derive(Default)]
pub struct Open {
    list: RefCell<FxHashMap<u64, Weak<Delivery>>>,
    last: Cell<u64>,
    ticking: Cell<bool>,
    first: Notify,
}

impl Open {
    /// Takes one in; the key is for [`Open::remove`].
    pub fn add(&self, delivery: &Rc<Delivery>) -> u64 {
        let key = self.last.get() + 1;
        self.last.set(key);
        self.list.borrow_mut().insert(key, Rc::downgrade(delivery));
        if !self.ticking.replace(true) {
            self.first.notify_one();
        }
        key
    }

    /// Lets one go.
    pub fn remove(&self, key: u64) {
        self.list.borrow_mut().remove(&key);
    }

    /// Turns every answer that is older than `patience` into a stream.
    pub fn tick(&self, patience: Duration) {
        let now = Instant::now();
        let late: Vec<_> = self.list.borrow().values().filter_map(Weak::upgrade).collect();
        for delivery in late {
            delivery.hurry(now, patience);
        }
        if self.list.borrow().is_empty() {
            self.ticking.set(false);
        }
    }

    /// Waits for the next time to tick: `step` while something is open, `rest` at most while nothing is.
    pub async fn next(&self, step: Duration, rest: Duration) {
        if !self.ticking.get() {
            let _ = tokio::time::timeout(rest, self.first.notified()).await;
        }
        if self.ticking.get() {
            tokio::time::sleep(step).await;
        }
    }
}
