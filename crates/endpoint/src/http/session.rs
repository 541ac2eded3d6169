//! Sessions of legacy clients. An id is made here from 192 random bits, belongs to one token and one view, and is
//! worth nothing to anybody else; how many there are is bounded, and the one that idles longest makes room.

use super::Bounds;
use super::call::Calls;
use super::outbox::Outbox;
use super::place::Place;
use contract::Hash;
use frame::Origin;
use hub::agent::View;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tokio::time::Instant;

/// Who holds a session: the token and the view it was made for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// Hash of the token.
    pub token: Hash,
    /// The view.
    pub view: View,
}

/// One session.
pub struct Session {
    /// Who holds it.
    pub holder: Holder,
    /// What the client said in `initialize`, and its log level.
    pub origin: Rc<Origin>,
    /// Its place in the hub.
    pub place: Box<dyn Place>,
    /// What runs.
    pub calls: Rc<Calls>,
    /// What it is told unasked.
    pub outbox: Rc<Outbox>,
    /// When it was last used.
    pub used: Cell<Instant>,
}

impl Session {
    fn is_idle(&self) -> bool {
        self.calls.running() == 0 && !self.outbox.is_open()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.outbox.close();
    }
}

/// A secret id. Never printed, never part of an address.
fn fresh_id() -> Result<String, getrandom::Error> {
    let mut bits = [0; 24];
    getrandom::fill(&mut bits)?;
    Ok(bits.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Why there is no new session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSession {
    /// All that this client or all clients may have are in use.
    #[error("too many sessions are in use")]
    Full,
    /// The system gives no random numbers.
    #[error("no random numbers")]
    Random,
}

/// All of them.
#[derive(Default)]
pub struct Sessions {
    list: RefCell<FxHashMap<String, Rc<Session>>>,
}

impl Sessions {
    /// Takes one in and gives it an id.
    ///
    /// # Errors
    /// [`NoSession`] where no other one can make room.
    pub fn add(&self, session: Session, bounds: &Bounds) -> Result<String, NoSession> {
        let id = fresh_id().map_err(|_| NoSession::Random)?;
        let token = session.holder.token;
        let own = self.count(|other| other.holder.token == token);
        if own >= bounds.sessions_per_token {
            self.evict(|other| other.holder.token == token)?;
        } else if self.count(|_| true) >= bounds.sessions {
            self.evict(|_| true)?;
        }
        self.list.borrow_mut().insert(id.clone(), Rc::new(session));
        Ok(id)
    }

    /// The session of that id, if it is this holder's.
    pub fn get(&self, id: &str, holder: &Holder) -> Option<Rc<Session>> {
        let session = self.list.borrow().get(id).filter(|session| session.holder == *holder).cloned()?;
        session.used.set(Instant::now());
        Some(session)
    }

    /// Ends one: what runs in it is cancelled with its place.
    pub fn end(&self, id: &str) {
        let ended = self.list.borrow_mut().remove(id);
        drop(ended);
    }

    /// Ends those that nobody has used for so long, and those whose token is gone.
    pub fn sweep(&self, now: Instant, bounds: &Bounds, valid: impl Fn(&Hash) -> bool) {
        self.remove(|session| {
            if !session.is_idle() {
                session.used.set(now);
                return !valid(&session.holder.token);
            }
            !valid(&session.holder.token) || now.duration_since(session.used.get()) >= bounds.session_idle
        });
    }

    /// Ends the streams of all, so that their clients see the end of the hub in good order.
    pub fn close_streams(&self) {
        let all: Vec<_> = self.list.borrow().values().cloned().collect();
        all.iter().for_each(|session| session.outbox.close());
    }

    fn count(&self, of: impl Fn(&Session) -> bool) -> usize {
        self.list.borrow().values().filter(|session| of(session)).count()
    }

    /// Ends the one among `of` that has idled longest; one that only listens where none idles.
    fn evict(&self, of: impl Fn(&Session) -> bool) -> Result<(), NoSession> {
        let oldest = self
            .list
            .borrow()
            .iter()
            .filter(|(_, session)| of(session) && session.calls.running() == 0)
            .min_by_key(|(_, session)| (!session.is_idle(), session.used.get()))
            .map(|(id, _)| id.clone());
        self.end(&oldest.ok_or(NoSession::Full)?);
        Ok(())
    }

    fn remove(&self, of: impl Fn(&Session) -> bool) {
        // Dropped after the borrow: a session's end may speak to the hub.
        let mut list = self.list.borrow_mut();
        let ended: Vec<_> = list.extract_if(|_, session| of(session)).collect();
        drop(list);
        drop(ended);
    }
}
