//! The mark on the answer of a call that may have changed something: what follows when it has left, and when it has
//! not (docs/approvals.md). Answers to reads carry none.

use super::lost::{Kept, Lost, Which, Why};
use super::{now_ms, owed};
use crate::agent::SeatCore;
use crate::catalog::ToolEntry;
use crate::core::Core;
use crate::record::Audit;
use crate::thing;
use bytes::Bytes;
use contract::Hash;
use frame::{Answer, Fate, Receipt};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use store::{CallNumber, Job, Method};

/// Which results of calls that may change something have reached one client, by server. Each has a number.
#[derive(Default)]
pub(crate) struct Arrivals {
    last: Cell<u64>,
    left: RefCell<FxHashMap<Rc<str>, u64>>,
}

impl Arrivals {
    fn next(&self) -> u64 {
        self.last.set(self.last.get() + 1);
        self.last.get()
    }
    fn left(&self, server: &Rc<str>, number: u64) {
        let mut left = self.left.borrow_mut();
        let last = left.entry(Rc::clone(server)).or_default();
        *last = number.max(*last);
    }
    /// Whether one of that server came after that one.
    fn is_past(&self, server: &str, number: u64) -> bool {
        self.left.borrow().get(server).is_some_and(|last| *last > number)
    }
}

/// What the client asked for: its digest, or the raw arguments, of which one is made when it is needed.
pub(crate) enum Asked {
    Digest(Option<Hash>),
    Arguments(Option<Bytes>),
}

impl Asked {
    pub(crate) fn digest(&self, tool: &ToolEntry, audit: &Audit) -> Option<Hash> {
        match self {
            Asked::Digest(digest) => *digest,
            Asked::Arguments(raw) => thing::digest_of(raw.as_ref(), tool, audit),
        }
    }
}

/// A call as a lost reply is found by it; None where it cannot be.
pub(crate) fn which(seat: &SeatCore, tool: &ToolEntry, call: CallNumber, asked: &Asked) -> Option<Which> {
    Some(Which {
        call,
        client: Rc::clone(seat.identity.id()),
        server: Rc::clone(tool.backend.key()),
        method: Method::ToolCall,
        tool: tool.read.exposed.as_str().into(),
        session: Rc::clone(&seat.identity.session),
        asked: asked.digest(tool, &seat.core.ledger)?,
        ended_ms: now_ms(),
        why: Why::Undelivered,
        place: Kept::Store,
        life: tool.backend.rules().replay_lost,
    })
}

/// A mark for one client's answer; `place` is where it is remembered if it is lost.
pub(crate) fn of(
    seat: &Rc<SeatCore>,
    tool: &Rc<ToolEntry>,
    call: CallNumber,
    (asked, place): (Asked, Kept),
    answer: &Answer,
) -> Receipt {
    let number = seat.arrivals.next();
    let (seat, tool, answer) = (Rc::clone(seat), Rc::clone(tool), answer.clone());
    Receipt::new(move |fate| {
        let (lost, server) = (&seat.core.gate.lost, tool.backend.key());
        match fate {
            Fate::Left => {
                seat.core.ledger.job(Job::Heard(call));
                seat.arrivals.left(server, number);
                owed::over(&seat.core, &lost.seen(&seat.identity.session, server, call));
            }
            Fate::Lost if seat.arrivals.is_past(server, number) => seat.core.ledger.job(Job::Heard(call)),
            Fate::Lost => {
                if let Some(which) = which(&seat, &tool, call, &asked) {
                    owed::put(&seat.core, Which { place, ..which }, Some(answer));
                }
            }
        }
    })
}

/// A mark for the answer by which a lost one is made up for. It is no news of its server: what else was lost stays.
pub(crate) fn again(core: &Rc<Core>, lost: Rc<Lost>, answer: Answer) -> Receipt {
    let core = Rc::clone(core);
    Receipt::new(move |fate| match fate {
        Fate::Left => owed::over(&core, &[lost]),
        // The store has it still.
        Fate::Lost => core.gate.lost.put_back(&lost, answer),
    })
}
