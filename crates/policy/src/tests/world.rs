//! The small world of the model: calls of one client, the hub that moves them by `next`, its disk and flight file, the
//! server, and everything that can happen to them. It plays a hub; what must hold is checked elsewhere.

use crate::{CallState, Event, Leave, Then, next};
use std::ops::{Deref, DerefMut};

/// How many new calls there are (retries are not counted), and how often the hub crashes and the rules change, in one history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Bounds {
    pub(super) calls: u8,
    pub(super) crashes: u8,
    pub(super) reloads: u8,
    /// Most rows that are on their way to the disk; with 0 each is durable at once.
    pub(super) rows: u8,
}

/// What the client sends: the same call or, under the same key, another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sent {
    Keyed,
    KeyedOther,
    Plain,
}

/// What became of the bytes that left the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fate {
    NotSent,
    /// With the server, which may still do it.
    Pending,
    Ran,
    /// The server will never do it.
    Dropped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Record {
    pub(super) sent: Sent,
    /// As the hub has it.
    pub(super) live: CallState,
    /// As the disk has it; None before its first row.
    pub(super) disk: Option<CallState>,
    /// By what it was claimed.
    pub(super) leave: Leave,
    /// Its number is in the flight file; the file goes no earlier than what follows from it is durable.
    pub(super) flight: bool,
    /// The machine was restarted since: the flight file says nothing about it.
    pub(super) old_boot: bool,
    pub(super) fate: Fate,
    /// Its time to be decided and used is over.
    pub(super) over: bool,
    /// The truth, for the checks: it was allowed or approved when it was claimed; it was refused for good.
    pub(super) permitted: bool,
    pub(super) refused: bool,
}

/// A short list without memory of its own: millions of worlds are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Short<T, const N: usize> {
    items: [T; N],
    len: usize,
}

impl<T: Copy, const N: usize> Short<T, N> {
    fn new(filler: T) -> Short<T, N> {
        Short { items: [filler; N], len: 0 }
    }
    fn push(&mut self, item: T) {
        self.items[self.len] = item;
        self.len += 1;
    }
    fn pop_front(&mut self, filler: T) -> T {
        let first = self.items[0];
        self.items.copy_within(1.., 0);
        self.items[N - 1] = filler;
        self.len -= 1;
        first
    }
    fn clear(&mut self, filler: T) {
        *self = Short::new(filler);
    }
}

impl<T, const N: usize> Deref for Short<T, N> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.items[..self.len]
    }
}

impl<T, const N: usize> DerefMut for Short<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[..self.len]
    }
}

/// Fills the places that are not used.
const NO_ROW: (u8, CallState) = (0, CallState::Freed);
const NO_RECORD: Record = Record {
    sent: Sent::Plain,
    live: CallState::Reserved,
    disk: None,
    leave: Leave::Rules,
    flight: false,
    old_boot: false,
    fate: Fate::NotSent,
    over: false,
    permitted: false,
    refused: false,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) records: Short<Record, 2>,
    /// Rows on their way to the disk, in order.
    rows: Short<(u8, CallState), 5>,
    pub(super) rules: u8,
    /// What may still happen.
    pub(super) left: Bounds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Call(Sent),
    /// What was checked meanwhile is judged.
    Judge(usize),
    /// A person, whoever is first.
    Decide(usize, Event),
    Expire(usize),
    /// The oldest row becomes durable.
    Commit,
    Mark(usize),
    Send(usize),
    Server(usize, Fate),
    Answer(usize),
    Cancel(usize),
    TimeOut(usize),
    Settle(usize, Event),
    /// What no hub should try: to run any call as if it had been approved, to forget any call.
    Claim(usize),
    Forget(usize),
    Crash {
        same_boot: bool,
    },
    Reload(u8),
}

const RULES: [Then; 3] = [Then::Allow, Then::Ask, Then::Deny];

impl World {
    /// Before anything has happened.
    pub(super) fn new(rules: u8, left: Bounds) -> World {
        World { records: Short::new(NO_RECORD), rows: Short::new(NO_ROW), rules, left }
    }

    /// Moves a record and writes the row that this needs.
    fn apply(&mut self, at: usize, event: Event) -> bool {
        let Ok(to) = next(self.records[at].live, event) else { return false };
        self.records[at].live = to;
        self.rows.push((u8::try_from(at).unwrap(), to));
        if self.rows.len() > usize::from(self.left.rows) {
            self.commit();
        }
        true
    }

    /// The oldest row becomes durable.
    fn commit(&mut self) {
        let (at, state) = self.rows.pop_front(NO_ROW);
        let at = usize::from(at);
        self.records[at].disk = Some(state);
        self.records[at].refused |= matches!(state, CallState::Denied | CallState::Expired);
    }

    /// Whether all that the hub knows of a record is durable.
    fn is_durable(&self, at: usize) -> bool {
        self.rows.iter().all(|(row, _)| usize::from(*row) != at)
    }

    fn judge(&self) -> Then {
        RULES[usize::from(self.rules)]
    }

    /// What the hub does with a call; false where nothing changes.
    fn call(&mut self, sent: Sent) -> bool {
        let is_keyed = |sent| sent != Sent::Plain;
        let holds = |record: &Record| match is_keyed(sent) {
            true => is_keyed(record.sent) && !record.live.frees_key(),
            false => record.sent == Sent::Plain && matches!(record.live, CallState::Waiting | CallState::Approved),
        };
        let Some(at) = self.records.iter().position(holds) else {
            return self.reserve(sent);
        };
        if self.records[at].sent != sent {
            // The same key with other arguments.
            return false;
        }
        match self.records[at].live {
            CallState::Approved if self.is_durable(at) => self.redeem(at),
            // Attached, replayed, or told that nobody knows.
            _ => false,
        }
    }

    fn reserve(&mut self, sent: Sent) -> bool {
        if self.left.calls == 0 {
            return false;
        }
        self.left.calls -= 1;
        self.records.push(Record { sent, ..NO_RECORD });
        true
    }

    fn redeem(&mut self, at: usize) -> bool {
        if self.judge() == Then::Deny {
            return self.apply(at, Event::Forbid);
        }
        self.claim(at, Leave::Person)
    }

    fn claim(&mut self, at: usize, leave: Leave) -> bool {
        let permitted = match leave {
            Leave::Rules => self.judge() == Then::Allow,
            Leave::Person => self.records[at].live == CallState::Approved,
        };
        let done = self.apply(at, Event::Claim);
        if done {
            (self.records[at].leave, self.records[at].permitted) = (leave, permitted);
        }
        done
    }

    /// After a crash: what is on the disk and in the flight file is all that is known.
    fn crash(&mut self, same_boot: bool) {
        self.rows.clear(NO_ROW);
        for at in 0..self.records.len() {
            let record = &mut self.records[at];
            record.old_boot |= !same_boot;
            // The server goes down with the machine.
            if !same_boot && record.fate == Fate::Pending {
                record.fate = Fate::Dropped;
            }
            // What is told to nobody before its row is durable is gone without a trace.
            record.live = record.disk.unwrap_or(CallState::Freed);
            if record.live == CallState::Intent {
                let surely_unsent = !record.old_boot && !record.flight;
                let event = if surely_unsent { Event::NotSent(record.leave) } else { Event::Lost };
                self.apply(at, event);
            }
            // The clock went on.
            if self.records[at].over {
                self.apply(at, Event::Expire);
            }
        }
    }

    /// Does it; false where it can't happen or changes nothing.
    pub(super) fn act(&mut self, action: Action) -> bool {
        match action {
            Action::Call(sent) => self.call(sent),
            Action::Judge(at) if self.records[at].live == CallState::Reserved => match self.judge() {
                Then::Allow => self.claim(at, Leave::Rules),
                Then::Ask => self.apply(at, Event::Ask),
                Then::Deny => {
                    self.records[at].refused = true;
                    self.apply(at, Event::Refuse)
                }
            },
            Action::Judge(_) => false,
            Action::Decide(at, event) => self.is_durable(at) && self.apply(at, event),
            Action::Expire(at) => {
                let Record { live, leave, over, .. } = self.records[at];
                let counts = matches!(live, CallState::Waiting | CallState::Approved)
                    || (live == CallState::Intent && leave == Leave::Person);
                if over || !counts {
                    return false;
                }
                self.records[at].over = true;
                // What is on its way takes no notice.
                self.apply(at, Event::Expire);
                true
            }
            Action::Commit => {
                let waits = !self.rows.is_empty();
                if waits {
                    self.commit();
                }
                waits
            }
            Action::Mark(at) => {
                let is_declared = self.records[at].live == CallState::Intent && self.is_durable(at);
                is_declared && !std::mem::replace(&mut self.records[at].flight, true)
            }
            Action::Send(at) => {
                let record = &mut self.records[at];
                let is_ready = record.flight && record.live == CallState::Intent && record.fate == Fate::NotSent;
                if is_ready {
                    record.fate = Fate::Pending;
                }
                is_ready
            }
            Action::Server(at, fate) => {
                let is_there = self.records[at].fate == Fate::Pending;
                if is_there {
                    self.records[at].fate = fate;
                }
                is_there
            }
            Action::Answer(at) => self.records[at].fate == Fate::Ran && self.apply(at, Event::End),
            Action::Cancel(at) => {
                let Record { leave, flight, over, .. } = self.records[at];
                let done = !flight && self.apply(at, Event::NotSent(leave));
                if done && over {
                    self.apply(at, Event::Expire);
                }
                done
            }
            Action::TimeOut(at) => self.records[at].flight && self.apply(at, Event::Lost),
            // An honest person, who looks whether it ran and knows whether it still may.
            Action::Settle(at, event) => {
                let truth = match self.records[at].fate {
                    Fate::Ran => Some(Event::Ran),
                    Fate::Dropped | Fate::NotSent => Some(Event::NotRan),
                    Fate::Pending => None,
                };
                truth == Some(event) && self.is_durable(at) && self.apply(at, event)
            }
            Action::Claim(at) => self.records[at].live != CallState::Reserved && self.claim(at, Leave::Person),
            // A settled call is forgotten when its key is a day old: the next call is another one then.
            Action::Forget(at) => self.records[at].live != CallState::Settled && self.apply(at, Event::Forget),
            Action::Crash { same_boot } => {
                let may = self.left.crashes > 0;
                if may {
                    self.left.crashes -= 1;
                    self.crash(same_boot);
                }
                may
            }
            Action::Reload(rules) => {
                let may = self.left.reloads > 0 && self.rules != rules;
                if may {
                    self.left.reloads -= 1;
                    self.rules = rules;
                }
                may
            }
        }
    }

    pub(super) fn actions(&self) -> impl Iterator<Item = Action> {
        let always = [
            Action::Call(Sent::Keyed),
            Action::Call(Sent::KeyedOther),
            Action::Call(Sent::Plain),
            Action::Commit,
            Action::Crash { same_boot: true },
            Action::Crash { same_boot: false },
            Action::Reload(0),
            Action::Reload(1),
            Action::Reload(2),
        ];
        let one = |at| {
            [
                Action::Judge(at),
                Action::Decide(at, Event::Approve),
                Action::Decide(at, Event::Deny),
                Action::Decide(at, Event::Stricter),
                Action::Decide(at, Event::Reopen),
                Action::Expire(at),
                Action::Mark(at),
                Action::Send(at),
                Action::Server(at, Fate::Ran),
                Action::Server(at, Fate::Dropped),
                Action::Answer(at),
                Action::Cancel(at),
                Action::TimeOut(at),
                Action::Settle(at, Event::Ran),
                Action::Settle(at, Event::NotRan),
                Action::Claim(at),
                Action::Forget(at),
            ]
        };
        always.into_iter().chain((0..self.records.len()).flat_map(one))
    }
}
