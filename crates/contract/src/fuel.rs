//! What a check may still spend: a number of steps that is paid from, so that no schema and no arguments can hold
//! a thread. Never given back, never stops anything by itself.

use std::cell::Cell;

/// What the steps of one check cost under one schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prices {
    /// Reaching one more value.
    pub(crate) visit: u64,
    /// Reading one byte of a string, as patterns do.
    pub(crate) byte: u64,
}

/// Steps that are left, and what they cost.
#[derive(Debug, Default)]
pub(crate) struct Fuel {
    left: Cell<u64>,
    prices: Cell<Prices>,
}

impl Fuel {
    /// Fills up for one check.
    pub(crate) fn fill(&self, steps: u64, prices: Prices) {
        self.left.set(steps.saturating_add(1));
        self.prices.set(prices);
    }
    /// Pays; false, from then on for ever, where there is not enough left.
    pub(crate) fn spend(&self, steps: u64) -> bool {
        self.left.set(self.left.get().saturating_sub(steps));
        self.left.get() > 0
    }
    /// Pays for reaching one value.
    pub(crate) fn visit(&self) -> bool {
        self.spend(self.prices.get().visit)
    }
    /// Pays for reading a string of this length in bytes.
    pub(crate) fn read(&self, bytes: usize) -> bool {
        self.spend(1 + self.prices.get().byte.saturating_mul(bytes as u64))
    }
    /// Whether it ran out, so that what was found since means nothing.
    pub(crate) fn is_out(&self) -> bool {
        self.left.get() == 0
    }
}
