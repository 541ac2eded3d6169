//! What judging one call may still cost: a number of steps that everything is paid from, so that no condition and
//! no arguments can hold a thread or fill memory. Never given back.

use super::fault::Problem;
use std::cell::Cell;

/// Steps for all conditions of one judgement; one is about 10 ns, all of them under 2 ms in a release build.
const ALL: usize = 100_000;
/// Bytes of text that are looked at in one step.
const BYTES: usize = 32;

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
}
