//! What a server does with what its session tells it: notes it and wakes the driver, which acts on it.

use crate::server::{Server, State};
use crate::waiter::Waiter;
use crate::wired::{End, Errand, List, Listener};
use bytes::Bytes;
use frame::Level;

impl Listener for Server {
    fn list_changed(&self, list: List) {
        let mut stale = self.stale.borrow_mut();
        if !stale.contains(&list) {
            stale.push(list);
        }
        self.wake.notify_one();
    }
    fn log(&self, level: Level, params: &Bytes) {
        self.watcher.log(level, params);
    }
    fn noise(&self, head: &[u8]) {
        self.parts.note_noise(&self.name, head);
    }
    fn ended(&self, end: End) {
        if end == End::Forgotten && self.state().0 == State::Ready {
            // What comes from now on waits for the new session.
            self.enter(State::Starting { installs: false }, Some("it has forgotten the session".into()));
        }
        let mut ended = self.ended.borrow_mut();
        // Nothing is worse than what has ended for good.
        if !matches!(*ended, Some(End::Broken(_) | End::SignIn)) {
            *ended = Some(end);
        }
        self.wake.notify_one();
    }
    fn again(&self, id: u64, errand: Errand, waiter: Box<dyn Waiter>) {
        self.dispatch(id, errand, waiter);
    }
}

impl Server {
    /// A list could not be read.
    pub(crate) fn unread(&self, list: List) {
        let mut unread = self.unread.borrow_mut();
        if !unread.contains(&list) {
            unread.push(list);
        }
    }
}
