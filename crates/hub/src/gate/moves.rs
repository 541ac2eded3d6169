//! A step that somebody takes with a call record: a person, the rules of now. It is written down before it holds, so
//! that nobody is told of what a crash would undo; while it is being written nobody else takes one.

use super::case::Case;
use super::now_ms;
use crate::abort::{self, Point};
use crate::core::Core;
use crate::operate::Refusal as Refused;
use policy::{Event, Grant};
use std::rc::Rc;
use store::{CallRecord, Job, Kind, Note, Outcome};

/// Who takes which step.
pub(crate) struct Move<'a> {
    pub event: Event,
    pub by: &'a str,
    /// What is remembered with it.
    pub grant: Option<Grant>,
}

impl Move<'_> {
    /// How its row in the audit tells it.
    fn told(&self) -> (Kind, Outcome) {
        match self.event {
            Event::Approve => (Kind::Decision, Outcome::Approved),
            Event::Withdraw => (Kind::Decision, Outcome::Cancelled),
            Event::Ran => (Kind::Settled, Outcome::Ran),
            Event::NotRan => (Kind::Settled, Outcome::NotRan),
            Event::Ask
            | Event::Refuse
            | Event::Deny
            | Event::Expire
            | Event::Claim
            | Event::Stricter
            | Event::Reopen
            | Event::Forbid
            | Event::NotSent(_)
            | Event::Interim(_)
            | Event::End
            | Event::Lost
            | Event::Forget => (Kind::Decision, Outcome::Denied),
        }
    }
}

/// Takes it; `change` says what else is written of it. Until it is durable the case stands as before, but for a denial:
/// that holds all the same where it cannot be written down, which is tried again. Tells why it could not, then.
///
/// # Errors
/// It cannot be taken as the case stands, or not be written down.
pub(crate) async fn make(
    core: &Rc<Core>,
    case: &Rc<Case>,
    it: Move<'_>,
    change: impl FnOnce(&mut CallRecord),
) -> Result<Option<String>, Refused> {
    let mut row = case.row().clone();
    row.state = policy::next(row.state, it.event).map_err(|unfit| Refused::new("state", unfit.to_string()))?;
    row.decided_ms = now_ms();
    row.decided_by = it.by.to_owned();
    change(&mut row);
    let (kind, outcome) = it.told();
    let note = core.ledger.case_note(&row, kind, outcome);
    abort::at(Point::Deciding, &row.tool);
    let written = write(core, case, row.clone(), Some(note.clone()), it.grant).await;
    match written {
        Err(cause) if it.event == Event::Deny => {
            tracing::error!(%cause, "a denial could not be written down yet: a restart may forget it");
            core.ledger.job(Job::PutCall { record: Box::new(row.clone()), note: Some(note) });
            case.note(|now| *now = row);
            Ok(Some(cause))
        }
        written => written.map(|()| None).map_err(Refused::unwritten),
    }
}

/// An approval that nothing has run by is taken back: the call waits to be decided again, as with a denial also where
/// that cannot be written down. `why` is what its row says. Tells why it could not be written.
///
/// # Errors
/// It is not approved any more.
pub(crate) async fn reopen(core: &Rc<Core>, case: &Rc<Case>, by: &str, why: String) -> Result<Option<String>, Refused> {
    let mut row = case.row().clone();
    row.state = policy::next(row.state, Event::Reopen).map_err(|unfit| Refused::new("state", unfit.to_string()))?;
    let told = CallRecord { decided_by: by.to_owned(), why, ..row.clone() };
    let note = core.ledger.case_note(&told, Kind::Grant, Outcome::Pending);
    row.undecided();
    let Err(cause) = write(core, case, row.clone(), Some(note.clone()), None).await else { return Ok(None) };
    tracing::error!(%cause, "that an approval was taken back could not be written down yet: a restart may forget it");
    core.ledger.job(Job::PutCall { record: Box::new(row.clone()), note: Some(note) });
    case.note(|now| *now = row);
    Ok(Some(cause))
}

/// Writes something more of it, without a step.
///
/// # Errors
/// It cannot be written down.
pub(crate) async fn note(
    core: &Rc<Core>,
    case: &Rc<Case>,
    change: impl FnOnce(&mut CallRecord),
) -> Result<(), Refused> {
    let mut row = case.row().clone();
    change(&mut row);
    write(core, case, row, None, None).await.map_err(Refused::unwritten)
}

async fn write(
    core: &Rc<Core>,
    case: &Rc<Case>,
    row: CallRecord,
    note: Option<Note>,
    grant: Option<Grant>,
) -> Result<(), String> {
    case.is_deciding.set(true);
    let is_decision = note.is_some();
    let written = core.ledger.put_call(row.clone(), note);
    let remembered = grant.clone().map(|grant| core.ledger.remember_grant(grant));
    let mut end = written.await;
    if let (Ok(()), Some(remembered)) = (&end, remembered) {
        end = remembered.await;
    }
    if end.is_ok() {
        case.note(|now| *now = row);
        if is_decision {
            abort::at(Point::Decided, &case.row().tool);
        }
        core.gate.remember_grant(grant);
    }
    case.decision_over();
    end
}
