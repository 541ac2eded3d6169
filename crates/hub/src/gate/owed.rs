//! Lost replies as they outlive the hub: what is remembered of one is written down when it is known to be lost, its result
//! sealed, and taken away when it was told or must not be told any more. Never more than the identical call gets.

use super::lost::{End, Kept, Lost, Which};
use super::{now_ms, retold, unanswered};
use crate::core::Core;
use bytes::Bytes;
use contract::CallId;
use frame::Answer;
use policy::CallState;
use std::rc::Rc;
use std::time::Duration;
use store::{CallRecord, Job, Outcome};

/// Begins what stands in such a record where a task has its id: like a task's its end is kept, and no client has that id.
const OWED: &str = "owed-";

/// Remembers one; None: it may still run.
pub(crate) fn put(core: &Core, which: Which, answer: Option<Answer>) -> Rc<Lost> {
    let end = answer.map_or(End::Open, |answer| End::of(Some(answer)));
    let lost = core.gate.lost.put(which, end);
    write(core, &lost, None);
    lost
}

/// One that may still have run has ended. `whole`: all of an answer over the bound, as it is stored.
pub(crate) fn ended(core: &Core, lost: &Rc<Lost>, end: End, whole: Option<Bytes>) {
    lost.ended(end);
    match lost.state() {
        End::NotSent => over(core, std::slice::from_ref(lost)),
        _ => write(core, lost, whole),
    }
}

/// They were told, or must not be any more.
pub(crate) fn over(core: &Core, gone: &[Rc<Lost>]) {
    for lost in gone {
        match lost.state() {
            End::Unanswered => unanswered::told(core, lost.call),
            End::Ran => core.ledger.job(Job::Heard(lost.call)),
            _ if lost.place == Kept::Memory => {}
            End::Open | End::Answered(_) | End::Stored | End::Unknown | End::NotSent => {
                core.ledger.job(Job::DropCall(lost.call));
            }
        }
    }
}

fn write(core: &Core, lost: &Lost, whole: Option<Bytes>) {
    if lost.place == Kept::Memory {
        return;
    }
    let (call, ended_ms, outcome) = (lost.call, lost.ended_ms, Outcome::Ok);
    let result = match lost.state() {
        End::Answered(answer) => Some(whole.unwrap_or_else(|| retold::packed(&answer))),
        // After a crash nobody knows of it any more.
        End::Open | End::Unknown => None,
        End::Stored | End::Unanswered | End::Ran | End::NotSent => return,
    };
    let row = CallRecord {
        state: CallState::Settled,
        session: lost.session.to_string(),
        name: lost.name.to_string(),
        asked: Some(lost.asked),
        task: Some(format!("{OWED}{}", CallId::new(call.0))),
        outcome,
        ended_ms,
        ..CallRecord::new(call, &lost.client, &lost.server, &lost.name, ended_ms)
    };
    core.ledger.save_call(row);
    core.ledger.job(Job::EndCall { call, outcome, ended_ms, result });
}

/// Takes over one that an earlier run of the hub left. False: the record is none.
pub(crate) fn kept(core: &Core, row: &CallRecord) -> bool {
    if !row.task.as_ref().is_some_and(|task| task.starts_with(OWED)) {
        return false;
    }
    match which(core, row) {
        Some(which) => drop(core.gate.lost.put(which, if row.has_result { End::Stored } else { End::Unknown })),
        None => core.ledger.job(Job::DropCall(row.call)),
    }
    true
}

/// Takes over one that ran without a record, and of which an earlier run of the hub did not see the answer leave. False:
/// the record is none.
pub(crate) fn unheard(core: &Core, row: &CallRecord) -> bool {
    if row.key.is_some() || row.task.is_some() {
        return false;
    }
    match which(core, row) {
        Some(which) => drop(core.gate.lost.put(which, End::Ran)),
        None => core.ledger.job(Job::Heard(row.call)),
    }
    true
}

/// By what its repetition is known; None where its time is over.
pub(crate) fn which(core: &Core, row: &CallRecord) -> Option<Which> {
    let life = core.backend(&row.server)?.rules().replay_lost;
    let passed = Duration::from_millis(now_ms().saturating_sub(row.ended_ms));
    Which::of_record(row, life.checked_sub(passed)?)
}
