//! Every attempt at what only a person may do leaves a row in the audit: who asked, for which operation, why it was
//! refused. Of a flood each process leaves one row a minute and operation, which names the gravest refusal; many
//! processes share one. Never what was typed, never an argument.

use super::processes::{Here, Processes};
use super::tree::Caller;
use crate::AuditSource;
use crate::audit::read;
use crate::problems::{Failure, Outcome};
use crate::routes::Peer;
use operator::{Name, code};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// After the first row of an operation further attempts share rows in this time.
const WINDOW: Duration = Duration::from_secs(60);
/// So many processes have a row of their own then; all others share one.
const MOST_ROWS: usize = 8;

/// What a person did, or what somebody wanted done as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// The operation.
    pub operation: Name,
    /// Who asked, for people.
    pub by: String,
    /// The process that asked, where the system tells.
    pub pid: Option<u32>,
    /// The file that it ran.
    pub program: Option<PathBuf>,
    /// Code and sentence of a refusal; None: it was done.
    pub refused: Option<(String, String)>,
    /// The name of what was changed, where it is no secret: a token's.
    pub about: Option<String>,
    /// How many attempts the row stands for; why is the gravest refusal's of them, who and when the last one's.
    pub times: u32,
}

impl Deed {
    /// Something that is done.
    pub fn done(operation: Name, peer: &Peer, about: Option<String>) -> Deed {
        let pid = peer.caller.map(|caller| caller.pid);
        let program = pid.and_then(|pid| Here.program(pid));
        Deed { operation, by: peer.name(), pid, program, refused: None, about, times: 1 }
    }
    fn refused(operation: Name, peer: &Peer, failure: &Failure) -> Deed {
        let refused = Some((failure.0.code.clone(), failure.0.message.clone()));
        Deed { refused, ..Deed::done(operation, peer, None) }
    }
    /// After how many wrong PINs this is said, as it were.
    fn gravity(&self) -> usize {
        let rising = [code::NOT_A_PERSON, code::PIN_REQUIRED, code::PIN_WRONG, code::PIN_LOCKED];
        self.refused.as_ref().and_then(|(code, _)| rising.iter().position(|it| it == code)).unwrap_or(0)
    }
}

/// One operation that was refused not long ago.
struct Window {
    since: Instant,
    /// Whether a row was written at its beginning.
    told: bool,
    /// What came since then, by process.
    held: Vec<(Option<Caller>, Deed)>,
    /// Asked without the PIN, and not asked again with it so far: that is how a person's own command line begins.
    unanswered: Option<(Option<Caller>, Deed)>,
}

impl Window {
    fn new() -> Window {
        Window { since: Instant::now(), told: false, held: Vec::new(), unanswered: None }
    }
    fn hold(&mut self, caller: Option<Caller>, deed: Deed) {
        let of_caller = self.held.iter().position(|(of, _)| *of == caller);
        let place = of_caller.or_else(|| (self.held.len() > MOST_ROWS).then_some(MOST_ROWS));
        match place.and_then(|place| self.held.get_mut(place)) {
            None => self.held.push((caller, deed)),
            Some((of, before)) => {
                let times = before.times.saturating_add(deed.times);
                let refused =
                    if before.gravity() > deed.gravity() { before.refused.take() } else { deed.refused.clone() };
                (*of, *before) = (caller, Deed { times, refused, ..deed });
            }
        }
    }
}

/// The attempts of the last minute.
pub struct Attempts {
    audit: Arc<dyn AuditSource>,
    windows: Mutex<HashMap<Name, Window>>,
    first: Notify,
}

impl Attempts {
    pub fn new(audit: Arc<dyn AuditSource>) -> Attempts {
        Attempts { audit, windows: Mutex::default(), first: Notify::new() }
    }

    fn windows(&self) -> MutexGuard<'_, HashMap<Name, Window>> {
        // Nothing in here is left half done by a panic.
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An operation was refused.
    pub fn refused(&self, operation: Name, peer: &Peer, failure: &Failure) {
        let deed = Deed::refused(operation, peer, failure);
        let mut windows = self.windows();
        if windows.is_empty() {
            self.first.notify_one();
        }
        let window = windows.entry(operation).or_insert_with(Window::new);
        if failure.0.code == code::PIN_REQUIRED {
            if let Some((caller, before)) = window.unanswered.replace((peer.caller, deed)) {
                window.hold(caller, before);
            }
        } else if window.told {
            window.hold(peer.caller, deed);
        } else {
            window.told = true;
            self.audit.deed(&deed);
        }
    }

    /// An operation was let through: that its PIN was missing before was no attempt of somebody else.
    pub fn admitted(&self, operation: Name, peer: &Peer) {
        let mut windows = self.windows();
        let Some(window) = windows.get_mut(&operation) else { return };
        if peer.caller.is_some() && window.unanswered.as_ref().is_some_and(|(caller, _)| *caller == peer.caller) {
            window.unanswered = None;
        }
    }

    /// Something that a person does and that has no row of its own: it is answered, and holds, after this.
    pub async fn write(&self, deed: Deed) -> Outcome<()> {
        read(&self.audit, move |audit| audit.write(&deed)).await
    }

    /// The same of what holds already: why it could not be written down, where it is tried again.
    pub async fn write_or_later(&self, deed: Deed) -> Option<String> {
        let failure = self.write(deed.clone()).await.err()?;
        self.audit.deed(&deed);
        Some(failure.0.message)
    }

    /// What was written as done could not be done.
    pub fn failed(&self, deed: Deed, failure: &Failure) {
        let refused = Some((failure.0.code.clone(), failure.0.message.clone()));
        self.audit.deed(&Deed { refused, ..deed });
    }

    /// Writes what attempts were held back, each when its minute is over; for ever.
    pub async fn settle(&self) {
        loop {
            let first = self.first.notified();
            let next = self.windows().values().map(|window| window.since + WINDOW).min();
            match next {
                None => first.await,
                Some(next) => tokio::time::sleep_until(next).await,
            }
            self.close(|window| window.since.elapsed() >= WINDOW);
        }
    }

    /// Writes all that was held back.
    pub fn end(&self) {
        self.close(|_| true);
    }

    fn close(&self, is_over: impl Fn(&Window) -> bool) {
        self.windows().retain(|_, window| {
            if !is_over(window) {
                return true;
            }
            if let Some((caller, deed)) = window.unanswered.take() {
                window.hold(caller, deed);
            }
            if window.held.is_empty() {
                return false;
            }
            window.held.iter().for_each(|(_, deed)| self.audit.deed(deed));
            *window = Window { told: true, ..Window::new() };
            true
        });
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::tests::fake::Deeds;

    fn peer(pid: u32) -> Peer {
        Peer { caller: Some(Caller { pid, born: 1 }) }
    }

    /// Attempts (`pid` and code, or nothing for "let in"), then a minute, then what was written: code and number.
    async fn check(tries: &[(u32, &str)], expect: &[(&str, u32)], later: &[(&str, u32)]) {
        let deeds = Arc::new(Deeds::default());
        let attempts = Attempts::new(deeds.clone());
        for (pid, code) in tries {
            match *code {
                "" => attempts.admitted(Name::TokenAdd, &peer(*pid)),
                code => attempts.refused(Name::TokenAdd, &peer(*pid), &Failure::new(code, "no")),
            }
        }
        assert_eq!(deeds.told(), expect, "{tries:?} at once");
        let settling = attempts.settle();
        let _ = tokio::time::timeout(WINDOW + Duration::from_secs(1), settling).await;
        assert_eq!(deeds.told()[expect.len()..], *later, "{tries:?} after a minute");
        attempts.end();
        assert_eq!(deeds.told().len(), expect.len() + later.len(), "{tries:?}: nothing twice");
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_leaves_one_row_a_minute_and_what_a_person_does_in_two_steps_leaves_none() {
        check(&[(7, "pin_wrong")], &[("pin_wrong", 1)], &[]).await;
        check(&[(7, "pin_wrong"); 1000], &[("pin_wrong", 1)], &[("pin_wrong", 999)]).await;
        check(&[(7, "pin_required"), (7, "")], &[], &[]).await;
        check(&[(7, "pin_required"), (8, "")], &[], &[("pin_required", 1)]).await;
        check(&[(7, "pin_required"), (8, "pin_required"), (8, "")], &[], &[("pin_required", 1)]).await;
        let mixed = [(7, "not_a_person"), (7, "pin_required"), (7, "pin_locked")];
        check(&mixed, &[("not_a_person", 1)], &[("pin_locked", 2)]).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_row_of_many_attempts_names_the_gravest_and_each_process_has_its_own() {
        let guesses = [(7, "pin_wrong"), (7, "pin_wrong"), (7, "pin_locked"), (7, "pin_required"), (8, "pin_required")];
        check(&guesses, &[("pin_wrong", 1)], &[("pin_locked", 3), ("pin_required", 1)]).await;
        // Processes without end are no way to rows without end.
        let many: Vec<(u32, &str)> =
            (0..100).map(|pid| (pid, if pid == 50 { "pin_locked" } else { "pin_wrong" })).collect();
        let mut later = vec![("pin_wrong", 1); MOST_ROWS];
        later.push(("pin_locked", 99 - u32::try_from(MOST_ROWS).unwrap()));
        check(&many, &[("pin_wrong", 1)], &later).await;
    }
}
