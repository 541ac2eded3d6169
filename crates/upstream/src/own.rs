//! Waiters for what the hub asks a server for its own sake and does not wait for.

use crate::server::Server;
use crate::session::Session;
use crate::waiter::{Failure, Waiter};
use crate::wired::List;
use bytes::Bytes;
use frame::{Answer, Level, Progress};
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::time::Instant;

/// An answer that nobody needs.
pub(crate) struct Ignored;

impl Waiter for Ignored {
    fn sending(&mut self) -> bool {
        true
    }
    fn progress(&mut self, _progress: &frame::Progress) {}
    fn log(&mut self, _level: Level, _params: &Bytes) {}
    fn done(self: Box<Self>, _end: Result<frame::Answer, Failure>) {}
}

/// A subscription that lasted so long forgives earlier failures.
const SUSTAINED: Duration = Duration::from_secs(60);

/// The hub's one `subscriptions/listen`: when it ends by itself it is made anew, and the lists are read again.
pub(crate) struct Listening {
    server: Weak<Server>,
    session: Weak<Session>,
    since: Instant,
}

impl Listening {
    pub(crate) fn new(server: &Rc<Server>, session: &Rc<Session>) -> Listening {
        Listening { server: Rc::downgrade(server), session: Rc::downgrade(session), since: Instant::now() }
    }
}

impl Waiter for Listening {
    fn sending(&mut self) -> bool {
        true
    }
    fn progress(&mut self, _progress: &Progress) {}
    fn log(&mut self, _level: Level, _params: &Bytes) {}
    fn done(self: Box<Self>, end: Result<Answer, Failure>) {
        let (Some(server), Some(session)) = (self.server.upgrade(), self.session.upgrade()) else { return };
        session.listening.set(false);
        // An error is the server's word that it does not offer this.
        if !session.is_open() || matches!(end, Ok(Answer::Error(_))) {
            return;
        }
        let failures = if self.since.elapsed() >= SUSTAINED { 0 } else { server.listen_failures.get() + 1 };
        server.listen_failures.set(failures);
        let wait = crate::drive::back_off(failures + 1, 0).max(Duration::from_secs(1));
        server.listen_again.set(Some(Instant::now() + wait));
        server.wake.notify_one();
    }
}

/// What may have changed while nobody listened.
pub(crate) const ALL: [List; 3] = [List::Tools, List::Prompts, List::Resources];
