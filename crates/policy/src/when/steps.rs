//! What judging one call may still cost: a number of steps that everything is paid from, so that no condition and
//! no arguments can hold a thread or fill memory. Never given back.

use super::fault::Problem;
use std::cell::Cell;

/// Steps for all conditions of one judgement. One is about 10 ns in a release build, so that all of them are about a
/// millisecond; the crate's bench tries the worst conditions.
const ALL: usize = 80_000;
/// Bytes of text that are copied or compared in one step, and that are searched.
const BYTES: usize = 32;
const SEARCHED: usize = 8;

/// Steps that are left.
#[derive(Debug)]
pub(crate) struct Steps(Cell<usize>);

impl Steps {
    /// For one judgement.
    pub(crate) fn new() -> Steps {
        Steps(Cell::new(ALL))
    }
    /// Pays; fails, from then on for ever, where there is not enough left.
    pub(super) fn spend(&self, steps: usize) -> Result<(), Problem> {
        self.0.set(self.0.get().saturating_sub(steps));
        if self.0.get() == 0 { Err(Problem::Steps) } else { Ok(()) }
    }
    /// Pays for reading or writing a text of this length in bytes.
    pub(super) fn read(&self, bytes: usize) -> Result<(), Problem> {
        self.spend(bytes / BYTES)
    }
    /// Pays for looking for something in a text.
    pub(super) fn search(&self, bytes: usize) -> Result<(), Problem> {
        self.spend(bytes / SEARCHED)
    }
}
