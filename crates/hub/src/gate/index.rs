//! Where case records are found: by call, by key, by likeness. Keys that are settled are kept small: they are many and
//! live for a day.

use super::case::Case;
use super::meet::Key;
use super::tally::Tally;
use crate::thing::Thing;
use bytes::Bytes;
use contract::Hash;
use policy::CallState;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use store::{CallNumber, KEYS_KEPT_MS, Method, Outcome};
use tokio::time::Instant;

/// A key whose call has ended.
#[derive(Clone, Debug)]
pub(crate) struct SettledKey {
    pub call: CallNumber,
    pub asked: Hash,
    pub outcome: Outcome,
    pub has_result: bool,
    pub ended_ms: u64,
    /// Since when this run of the hub knows that it has ended: keys are kept by time that passes, not by a clock that
    /// may jump.
    pub since: Instant,
}

/// Who holds a key.
#[derive(Clone)]
pub(crate) enum Holder {
    /// A call that has not ended.
    Live(Rc<Case>),
    /// One that has.
    Settled(SettledKey),
}

/// All case records of the hub.
#[derive(Default)]
pub(crate) struct Index {
    by_call: RefCell<FxHashMap<CallNumber, Rc<Case>>>,
    by_key: RefCell<FxHashMap<Hash, Holder>>,
    /// Cases that an identical call without a key may join; of one with a key only those who left it.
    by_likeness: RefCell<FxHashMap<Hash, Rc<Case>>>,
    /// How many such cases a thing has, by [`thing_of`]: most calls need no digest for having none.
    open: Tally,
    /// Tasks that clients were told of, also those that have ended.
    by_task: RefCell<FxHashMap<String, Rc<Case>>>,
    /// Results that are on their way to the store.
    unwritten: RefCell<FxHashMap<CallNumber, Bytes>>,
    /// When settled keys were looked at last.
    swept: Cell<Option<Instant>>,
}

/// How often settled keys are looked at.
const SWEEP: Duration = Duration::from_secs(15 * 60);
/// How long settled keys and ended tasks are kept at least.
const KEPT: Duration = Duration::from_millis(KEYS_KEPT_MS);

/// What makes two calls the same, but for the definition: that is judged when the second one comes.
fn likeness(client: &str, server: &str, launch: &str, what: (Method, &str), asked: Hash) -> Hash {
    of(&[client, server, launch, what.0.as_str(), what.1, &asked.to_string()])
}

/// The same of one request.
pub(crate) fn likeness_of(client: &str, thing: &Thing, asked: Hash) -> Hash {
    let backend = thing.backend();
    likeness(client, backend.key(), &backend.rules().launch_hash, (thing.method(), thing.label()), asked)
}

/// A tool, or what else can be asked for, as one client sees it.
pub(crate) fn thing_of(client: &str, server: &str, method: Method, label: &str) -> Hash {
    of(&[client, server, method.as_str(), label])
}

/// A key belongs to a client, a server and a tool (the tool by its own name).
pub(crate) fn key_of(client: &str, server: &str, tool: &str, key: &Key) -> Hash {
    match key {
        Key::Text(key) => of(&[client, server, tool, key]),
        Key::Integer(key) => of(&[client, server, tool, "integer", key]),
    }
}

/// Lengths first, so that no two lists of texts share a hash.
fn of(parts: &[&str]) -> Hash {
    let mut text = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
    for part in parts {
        text.extend_from_slice(&(part.len() as u64).to_le_bytes());
        text.extend_from_slice(part.as_bytes());
    }
    Hash::of(&text)
}

impl Index {
    pub(crate) fn enter(&self, case: &Rc<Case>) {
        self.by_call.borrow_mut().insert(case.call(), Rc::clone(case));
        self.enter_task(case);
        if let Some(key) = case.key() {
            self.enter_key(key, case);
        }
        if let Some(alike) = alike(case) {
            let mut cases = self.by_likeness.borrow_mut();
            match case.key() {
                Some(_) => drop(cases.entry(alike).or_insert_with(|| Rc::clone(case))),
                None => drop(cases.insert(alike, Rc::clone(case))),
            }
            self.open.add(case.thing());
        }
    }
    /// A key stands for this case.
    pub(crate) fn enter_key(&self, key: Hash, case: &Rc<Case>) {
        self.by_key.borrow_mut().insert(key, Holder::Live(Rc::clone(case)));
    }

    /// The case is over; its key is free.
    pub(crate) fn leave(&self, case: &Case) {
        if self.by_call.borrow_mut().remove(&case.call()).is_none() {
            return;
        }
        let is_it = |holder: &Holder| matches!(holder, Holder::Live(live) if live.call() == case.call());
        if let Some(key) = case.key() {
            let mut keys = self.by_key.borrow_mut();
            if keys.get(&key).is_some_and(is_it) {
                keys.remove(&key);
            }
        }
        self.part(case);
    }

    /// An identical call finds this one no more.
    pub(crate) fn part(&self, case: &Case) {
        let Some(alike) = alike(case).filter(|_| !case.is_apart.replace(true)) else { return };
        let mut cases = self.by_likeness.borrow_mut();
        if cases.get(&alike).is_some_and(|other| other.call() == case.call()) {
            cases.remove(&alike);
        }
        self.open.take(case.thing());
    }

    /// A call that was the same as this one and of which nobody knows whether it ran.
    pub(crate) fn unknown_like(&self, case: &Case) -> Option<Rc<Case>> {
        let wanted = alike(case)?;
        let is_it = |other: &Rc<Case>| other.state() == CallState::Unknown && alike(other) == Some(wanted);
        self.all().into_iter().rev().find(is_it)
    }

    /// The case is over; its key stays taken.
    pub(crate) fn settle(&self, case: &Case, settled: SettledKey) {
        self.leave(case);
        if let Some(key) = case.key() {
            self.keep(key, settled);
        }
    }
    pub(crate) fn keep(&self, key: Hash, settled: SettledKey) {
        self.by_key.borrow_mut().insert(key, Holder::Settled(settled));
    }
    /// Forgets keys and tasks that ended a day ago; looks at them once in a quarter of an hour at most.
    pub(crate) fn sweep(&self, now: Instant) {
        if self.swept.get().is_some_and(|swept| now < swept + SWEEP) {
            return;
        }
        self.swept.set(Some(now));
        let is_young = |since: Instant| now.saturating_duration_since(since) < KEPT;
        self.by_key.borrow_mut().retain(|_, holder| match holder {
            Holder::Live(_) => true,
            Holder::Settled(settled) => is_young(settled.since),
        });
        self.by_task.borrow_mut().retain(|_, case| {
            let has_ended = matches!(case.state(), CallState::Settled | CallState::Denied | CallState::Expired);
            if !has_ended {
                return true;
            }
            // Counted from the first look that found it ended.
            let since = case.ended.get().unwrap_or(now);
            case.ended.set(Some(since));
            is_young(since)
        });
    }

    /// A case is a task from now on: it is found by its id, also when it is over.
    pub(crate) fn enter_task(&self, case: &Rc<Case>) {
        if let Some(id) = &case.row().task {
            self.by_task.borrow_mut().insert(id.clone(), Rc::clone(case));
        }
    }
    /// Nothing is remembered of a task any more.
    pub(crate) fn leave_task(&self, case: &Case) {
        if let Some(id) = &case.row().task {
            self.by_task.borrow_mut().remove(id);
        }
    }
    pub(crate) fn of_task(&self, id: &str) -> Option<Rc<Case>> {
        self.by_task.borrow().get(id).cloned()
    }

    /// A result is on its way to the store, or is there.
    pub(crate) fn unwritten(&self, call: CallNumber, result: Option<Bytes>) {
        match result {
            Some(result) => self.unwritten.borrow_mut().insert(call, result),
            None => self.unwritten.borrow_mut().remove(&call),
        };
    }
    pub(crate) fn is_unwritten(&self, call: CallNumber) -> Option<Bytes> {
        self.unwritten.borrow().get(&call).cloned()
    }

    pub(crate) fn of_call(&self, call: CallNumber) -> Option<Rc<Case>> {
        self.by_call.borrow().get(&call).cloned()
    }
    pub(crate) fn of_key(&self, key: &Hash) -> Option<Holder> {
        self.by_key.borrow().get(key).cloned()
    }
    pub(crate) fn of_likeness(&self, alike: &Hash) -> Option<Rc<Case>> {
        self.by_likeness.borrow().get(alike).cloned()
    }
    /// Whether an identical request for this could find anything.
    pub(crate) fn has_open(&self, client: &str, server: &str, method: Method, label: &str) -> bool {
        self.open.has(|| thing_of(client, server, method, label))
    }
    /// All cases, oldest first.
    pub(crate) fn all(&self) -> Vec<Rc<Case>> {
        let mut all: Vec<Rc<Case>> = self.by_call.borrow().values().cloned().collect();
        all.sort_by_key(|case| case.call());
        all
    }
}

/// The likeness of its calls; None where nothing is like it.
pub(crate) fn alike(case: &Case) -> Option<Hash> {
    let row = case.row();
    Some(likeness(&row.client, &row.server, &row.launch, (row.method, &row.tool), row.asked?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_key_lives_for_a_day_that_passes_whatever_the_clock_on_the_wall_says() {
        let index = Index::default();
        let now = Instant::now();
        let hour = Duration::from_secs(60 * 60);
        let key = key_of("h", "s", "t", &Key::Text("k".into()));
        // By the wall it ended long ago.
        let settled = SettledKey {
            call: CallNumber(1),
            asked: key,
            outcome: Outcome::Ok,
            has_result: true,
            ended_ms: 1,
            since: now,
        };
        index.keep(key, settled);
        for (passed, expect) in [(Duration::ZERO, true), (hour * 23, true), (hour * 25, false)] {
            index.sweep(now + passed);
            assert_eq!(index.of_key(&key).is_some(), expect, "{passed:?}");
        }
    }

    #[test]
    fn an_integer_is_another_key_than_its_text() {
        let of = |key: Key| key_of("h", "s", "t", &key);
        assert_ne!(of(Key::Text("5".into())), of(Key::Integer("5".into())));
        assert_eq!(of(Key::Integer("5".into())), of(Key::Integer("5".into())));
    }
}
