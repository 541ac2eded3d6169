//! Lanes of one server: in each, calls run one at a time, in the order in which they came. A pure queue: it knows
//! tickets, not calls.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::rc::Rc;

/// Calls that may wait in one lane.
pub const LENGTH: usize = 256;

/// What became of a call that wants to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered {
    /// The lane is its own until it leaves.
    Now,
    /// It waits.
    Waits,
    /// Too many wait.
    Full,
}

#[derive(Debug)]
struct Lane<T> {
    busy: bool,
    queue: VecDeque<T>,
}

/// All lanes of one server.
#[derive(Debug)]
pub struct Lanes<T> {
    lanes: FxHashMap<Rc<str>, Lane<T>>,
}

impl<T> Default for Lanes<T> {
    fn default() -> Lanes<T> {
        Lanes { lanes: FxHashMap::default() }
    }
}

impl<T> Lanes<T> {
    /// Takes the lane, or a place in its queue.
    pub fn enter(&mut self, lane: &Rc<str>, call: impl FnOnce() -> T) -> Entered {
        let lane = self.lanes.entry(Rc::clone(lane)).or_insert_with(|| Lane { busy: false, queue: VecDeque::new() });
        if !lane.busy {
            lane.busy = true;
            return Entered::Now;
        }
        if lane.queue.len() == LENGTH {
            return Entered::Full;
        }
        lane.queue.push_back(call());
        Entered::Waits
    }

    /// Leaves the lane to the next one, which is returned.
    pub fn leave(&mut self, lane: &str) -> Option<T> {
        let lane = self.lanes.get_mut(lane)?;
        let next = lane.queue.pop_front();
        lane.busy = next.is_some();
        next
    }

    /// Gives up a place in the queue.
    pub fn withdraw(&mut self, lane: &str, is_it: impl Fn(&T) -> bool) -> Option<T> {
        let queue = &mut self.lanes.get_mut(lane)?.queue;
        let place = queue.iter().position(is_it)?;
        queue.remove(place)
    }

    /// How many wait in all lanes.
    pub fn waiting(&self) -> usize {
        self.lanes.values().map(|lane| lane.queue.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_in_order_and_bounded() {
        let mut lanes = Lanes::default();
        let (a, b): (Rc<str>, Rc<str>) = ("a".into(), "b".into());
        assert_eq!(lanes.enter(&a, || 1), Entered::Now);
        assert_eq!(lanes.enter(&a, || 2), Entered::Waits);
        assert_eq!(lanes.enter(&a, || 3), Entered::Waits);
        assert_eq!(lanes.enter(&b, || 9), Entered::Now);
        assert_eq!(lanes.waiting(), 2);
        assert_eq!(lanes.withdraw("a", |&call| call == 2), Some(2));
        assert_eq!(lanes.withdraw("a", |&call| call == 2), None);
        assert_eq!(lanes.leave("a"), Some(3));
        assert_eq!(lanes.enter(&a, || 4), Entered::Waits);
        assert_eq!(lanes.leave("a"), Some(4));
        assert_eq!(lanes.leave("a"), None);
        assert_eq!(lanes.enter(&a, || 5), Entered::Now);
        for call in 0..LENGTH {
            assert_eq!(lanes.enter(&a, || call), Entered::Waits);
        }
        assert_eq!(lanes.enter(&a, || 0), Entered::Full);
    }
}
