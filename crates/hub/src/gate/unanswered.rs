//! Calls without a record of their own that may have changed something and will never be answered: their server died or
//! was silent, or the hub died under them. Each is listed for the person, and its client's next identical call is told of
//! it, once (docs/approvals.md), also by a later hub.

use super::case::Case;
use super::lost::End;
use super::receipt::{self, Asked};
use super::{now_ms, owed};
use crate::agent::SeatCore;
use crate::catalog::ToolEntry;
use crate::core::Core;
use crate::thing::Thing;
use policy::CallState;
use std::rc::Rc;
use store::{CallNumber, CallRecord, Outcome};

/// So many wait to be settled; further ones are only in the audit.
const MOST: u32 = 1_000;

/// One more.
pub(crate) fn enter(seat: &SeatCore, tool: &Rc<ToolEntry>, call: CallNumber, asked: &Asked) {
    let core = &seat.core;
    let which = receipt::which(seat, tool, call, asked);
    let digest = which.as_ref().map(|which| which.asked);
    if let Some(which) = which {
        core.gate.lost.put(which, End::Unanswered);
    }
    if core.count_of(CallState::Unknown) >= MOST {
        return tracing::warn!("too many calls wait to be settled: one more is only in the audit");
    }
    let now = now_ms();
    let thing = Thing::Tool(Rc::clone(tool));
    let row = CallRecord {
        state: CallState::Unknown,
        session: seat.identity.session.to_string(),
        launch: tool.backend.rules().launch_hash.to_string(),
        method: thing.method(),
        name: thing.shown().to_owned(),
        definition: Some(thing.definition()),
        asked: digest,
        effect: thing.effect(),
        outcome: Outcome::OutcomeUnknown,
        ended_ms: now,
        ..CallRecord::new(call, seat.identity.id(), tool.backend.key(), thing.label(), now)
    };
    core.ledger.save_call(row.clone());
    list(core, row);
    core.queue_changed();
}

/// One that an earlier run of the hub left; a call with a record of its own is found by that.
pub(crate) fn kept(core: &Core, row: CallRecord) {
    if let Some(which) = owed::which(core, &row) {
        core.gate.lost.put(which, End::Unanswered);
    }
    list(core, row);
}

/// Whether nobody but the rules let it through, and it has no key by which it would be found.
pub(crate) fn is_one(row: &CallRecord) -> bool {
    row.state == CallState::Unknown && row.key.is_none() && row.task.is_none() && row.scope.is_none()
}

/// Lists it for the person. By what its repetition is known stands in the store only: no call joins it.
fn list(core: &Core, row: CallRecord) {
    let case = Case::new(CallRecord { asked: None, ..row });
    case.set_written(true);
    core.gate.index.enter(&case);
}

/// Its client was told of it, or has gone on: a later hub tells nobody.
pub(crate) fn told(core: &Core, call: CallNumber) {
    let case = core.gate.index.of_call(call);
    if let Some(case) = case.filter(|case| case.state() == CallState::Unknown && !case.is_deciding.get()) {
        core.ledger.save_call(case.row().clone());
    }
}
