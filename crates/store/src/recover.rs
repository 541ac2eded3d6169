//! What became of a call: of one that a dead hub had announced, and of a record whose call has ended. The decisions are
//! pure functions.

use crate::{CallNumber, Outcome};
use policy::CallState;

/// Whether the dead hub ran in this boot of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boot {
    /// Yes: what it wrote to the flight file is there.
    Same,
    /// No, or nobody knows.
    Other,
}

/// What the flight file says of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// It has a mark: its first byte may have left.
    InFlight,
    /// It has none.
    NotInFlight,
    /// The flight file is not the one that the dead hub wrote to.
    NoMarks,
}

/// What became of an announced call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Surely not one byte of it left.
    NotSent,
    /// It may have run.
    OutcomeUnknown,
}

/// Judges an open intent. Only marks of the same boot can clear a call (rule 4).
pub fn fate(boot: Boot, evidence: Evidence) -> Fate {
    match (boot, evidence) {
        (Boot::Same, Evidence::NotInFlight) => Fate::NotSent,
        (Boot::Same, Evidence::InFlight | Evidence::NoMarks) | (Boot::Other, _) => Fate::OutcomeUnknown,
    }
}

/// How an announced call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// It ran to its end.
    Ran,
    /// Surely not one byte of it left.
    NotSent,
    /// It may have run.
    Unknown,
}

/// Judges an end row by its outcome and by whether the call had a flight mark.
pub fn close(outcome: Outcome, was_marked: bool) -> Close {
    match outcome {
        Outcome::Ok | Outcome::ToolError | Outcome::RpcError | Outcome::InvalidResult | Outcome::ResultTooLarge => {
            Close::Ran
        }
        Outcome::OutcomeUnknown => Close::Unknown,
        Outcome::NotSent => Close::NotSent,
        _ if was_marked => Close::Unknown,
        _ => Close::NotSent,
    }
}

/// What a record says that counts when its call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Where it stands.
    pub state: CallState,
    /// Whether what it ends with is kept: it has a key, or is a task.
    pub keeps_end: bool,
    /// Whether a person approved it.
    pub was_approved: bool,
    /// When the approval ends, in milliseconds since 1970.
    pub expires_ms: u64,
}

/// How a record stands after the end of its announced call; freed: no record is kept. An approval whose call was surely
/// not sent is given back, unless its time is over. A record that the hub has already put elsewhere stays there.
pub fn after(standing: Standing, close: Close, now_ms: u64) -> CallState {
    match standing.state {
        // The reservation was told later than the intent.
        CallState::Intent | CallState::Reserved => match close {
            Close::Ran if standing.keeps_end => CallState::Settled,
            Close::NotSent if standing.was_approved && now_ms < standing.expires_ms => CallState::Approved,
            Close::Ran | Close::NotSent => CallState::Freed,
            Close::Unknown => CallState::Unknown,
        },
        CallState::Settled if !standing.keeps_end => CallState::Freed,
        state => state,
    }
}

impl Standing {
    /// Whether the hub has said nothing of the call since it was announced.
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, CallState::Intent | CallState::Reserved)
    }
}

/// A call that was open when the last run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Its number.
    pub call: CallNumber,
    /// What became of it; recorded as its end row.
    pub fate: Fate,
    /// How its record stands now: approved again if it was approved, was not sent and has not expired; unknown until a
    /// person settles it; freed where no record is kept. [`Kept::calls`](crate::Kept::calls) has it so already.
    pub state: CallState,
    /// Who asked.
    pub client: String,
    /// Which server.
    pub server: String,
    /// Which tool, prompt or resource.
    pub item: String,
}
