//! The gate after a restart: what waited waits on, what was approved can be redeemed, what may have run is unknown.

use super::case::Case;
use super::index::SettledKey;
use super::{decide, hold, meet, owed, unanswered};
use crate::core::Core;
use contract::Hash;
use policy::{CallState, Event, Grant};
use std::rc::Rc;
use store::{CallRecord, Fate, Recovered};
use tokio::time::Instant;
use upstream::task;

/// Takes over what the store kept. Calls that were open are not judged before it is known what became of them.
pub(crate) fn take_over(core: &Rc<Core>, calls: Vec<CallRecord>, grants: Vec<Grant>) {
    let gate = &core.gate;
    // A session may come back: an adapter keeps its id over restarts of the hub.
    *gate.grants.borrow_mut() = grants;
    gate.set_settled(!calls.iter().any(|row| row.state == CallState::Intent));
    for row in calls {
        if row.state == CallState::Settled && (owed::kept(core, &row) || owed::unheard(core, &row)) {
            continue;
        }
        match row.state {
            CallState::Approved if row.is_unreadable => {
                let case = known(row);
                gate.index.enter(&case);
                ask_again(core, &case);
                keep_watch(core, &case);
            }
            CallState::Settled => {
                let settled = SettledKey {
                    call: row.call,
                    asked: row.asked.unwrap_or_else(|| Hash::of(b"")),
                    outcome: row.outcome,
                    has_result: row.has_result,
                    ended_ms: row.ended_ms,
                    since: Instant::now(),
                };
                if let Some(key) = row.key {
                    gate.index.keep(key, settled);
                }
                gate.index.enter_task(&known(row));
            }
            CallState::Unknown if unanswered::is_one(&row) => unanswered::kept(core, row),
            CallState::Waiting | CallState::Approved | CallState::Intent | CallState::Unknown => {
                let case = known(row);
                gate.index.enter(&case);
                keep_watch(core, &case);
            }
            // A task is told when it is asked for, not when it is called again.
            CallState::Denied | CallState::Expired if row.task.is_some() => gate.index.enter_task(&known(row)),
            CallState::Denied | CallState::Expired => gate.index.enter(&known(row)),
            // Nothing was promised to anybody.
            CallState::Reserved | CallState::Freed => {}
        }
    }
}

/// A case that the store knows.
fn known(row: CallRecord) -> Rc<Case> {
    let case = Case::new(row);
    case.set_written(true);
    case
}

/// What was approved and cannot be opened any more is not approved: nobody knows that it is what was shown.
fn ask_again(core: &Core, case: &Case) {
    if meet::step(case, Event::Stricter) {
        case.note(CallRecord::undecided);
        core.ledger.save_call(case.row().clone());
    }
}

/// What became of the calls that were open.
pub(crate) fn settle(core: &Rc<Core>, recovered: &[Recovered]) {
    for call in recovered {
        let Some(case) = core.gate.index.of_call(call.call) else { continue };
        let state = match call.fate {
            Fate::NotSent => call.state,
            Fate::OutcomeUnknown => CallState::Unknown,
        };
        case.note(|row| row.state = state);
        match state {
            CallState::Approved => {
                if case.row().is_unreadable {
                    ask_again(core, &case);
                }
                keep_watch(core, &case);
            }
            CallState::Unknown => {}
            _ => {
                core.gate.index.leave(&case);
                core.gate.index.leave_task(&case);
            }
        }
    }
    core.gate.set_settled(true);
    // Their clients do not ask again.
    for case in core.gate.index.all() {
        if case.state() == CallState::Approved && case.is_task() && !case.under_way.get() {
            decide::claim(core, &case);
        }
    }
}

fn keep_watch(core: &Rc<Core>, case: &Rc<Case>) {
    let (core, case) = (Rc::clone(core), Rc::clone(case));
    task::spawn("hold a call", async move { hold::watch(&core, &case).await });
}
