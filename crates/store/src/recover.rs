//! What became of the calls that a dead hub had announced. The decision is a pure function.

use crate::CallNumber;
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

/// A call that was open when the last run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Its number.
    pub call: CallNumber,
    /// What became of it; recorded as its end row.
    pub fate: Fate,
    /// How its record stands now: approved again if it was approved, was not sent and has not expired; unknown until a
    /// person settles it; freed where no record is kept.
    pub state: CallState,
    /// Who asked.
    pub client: String,
    /// Which server.
    pub server: String,
    /// Which tool, prompt or resource.
    pub item: String,
}
