//! How many of something each tool of a client has, so that the usual call, whose tool has none, is told so at once.

use contract::Hash;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// Numbers by [`index::thing_of`](super::index::thing_of); a tool without any takes no place.
#[derive(Default)]
pub(crate) struct Tally(RefCell<FxHashMap<Hash, u32>>);

impl Tally {
    /// One more.
    pub(crate) fn add(&self, tool: Hash) {
        *self.0.borrow_mut().entry(tool).or_default() += 1;
    }
    /// One less.
    pub(crate) fn take(&self, tool: Hash) {
        let mut tools = self.0.borrow_mut();
        if let Some(count) = tools.get_mut(&tool) {
            *count -= 1;
            if *count == 0 {
                tools.remove(&tool);
            }
        }
    }
    /// Whether this tool has any. Costs no digest while no tool has.
    pub(crate) fn has(&self, tool: impl FnOnce() -> Hash) -> bool {
        let tools = self.0.borrow();
        !tools.is_empty() && tools.contains_key(&tool())
    }
}
