//! Clients that can never come again, because the token by which they were known was removed: what they left waiting or
//! approved ends as a no, so that nobody decides about it and nothing of it runs. What a server has already goes on.

use super::case::Case;
use super::decide;
use super::moves::{self, Move};
use crate::core::Core;
use crate::operate::Event as Happening;
use crate::who::Who;
use policy::{CallState, Event};
use std::collections::HashSet;
use std::rc::Rc;
use upstream::task;

/// Who is named for it in the log.
const BY: &str = "callgate";
const REASON: &str = "the token of its client was removed";

/// From now on no tokens but those of these clients are valid.
pub(crate) fn end(core: &Rc<Core>, valid: &HashSet<Rc<str>>) {
    let is_gone = |case: &&Rc<Case>| {
        let row = case.row();
        Who::holds_token(&row.client) && !valid.contains(&*row.client)
    };
    for case in core.gate.index.all().iter().filter(is_gone) {
        if let CallState::Waiting | CallState::Approved | CallState::Intent = case.state() {
            task::spawn("end what a client left that cannot come again", end_one(Rc::clone(core), Rc::clone(case)));
        }
    }
}

async fn end_one(core: Rc<Core>, case: Rc<Case>) {
    while case.is_deciding.get() {
        // A moment: until the decision is durable.
        case.decided.notified().await;
    }
    match case.state() {
        CallState::Waiting | CallState::Approved if !case.under_way.get() => {}
        CallState::Approved | CallState::Intent => {
            if let Some(run) = case.run() {
                run.withdraw();
            }
            return;
        }
        _ => return,
    }
    let forbid = Move { event: Event::Forbid, by: BY, grant: None };
    let made = moves::make(&core, &case, forbid, |row| {
        row.reason = REASON.into();
        row.arguments = None;
        row.edited = None;
    });
    if let Err(refused) = made.await {
        tracing::error!(%refused, call = %case.id(), "a call of a client whose token was removed waits on");
        return;
    }
    let decided = decide::decided(&case);
    core.gate.remember(decided.clone());
    core.happened(Happening::Decision(decided));
    core.queue_changed();
    decide::tell_verdict(&core, &case);
}
