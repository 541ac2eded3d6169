//! The whole life of calls as a small world: a client that retries with and without a key, two persons who decide,
//! time that runs out, cancels, crashes of the hub at every moment with and without a restart of the machine, late
//! answers, and rules that change. Every state that can be reached in any order of all that is visited, and in each
//! of them nothing has run twice, without leave, or after it was refused.

use super::world::{Action, Bounds, Fate, Record, Sent, World};
use crate::{CallState, Leave};
use rustc_hash::FxHashSet;

impl World {
    /// What must hold in every state.
    fn check(&self, before: &World, action: Action) -> Result<(), &'static str> {
        for record in self.records.iter() {
            let has_run = record.fate == Fate::Ran;
            if record.fate != Fate::NotSent && (record.refused || !record.permitted) {
                return Err("it was sent without leave, or after it was refused");
            }
            let may_run = matches!(record.fate, Fate::Pending | Fate::Ran);
            if may_run && (record.live.frees_key() || matches!(record.live, CallState::Waiting | CallState::Approved)) {
                return Err("its key is free, or it can be claimed again, although it may have run");
            }
            if has_run && matches!(record.live, CallState::Reserved) {
                return Err("it ran before it was claimed");
            }
        }
        let of_key = |record: &&Record| record.sent != Sent::Plain;
        if self.records.iter().filter(of_key).filter(|record| record.fate == Fate::Ran).count() > 1 {
            return Err("two calls of one key ran");
        }
        if self.records.iter().filter(of_key).filter(|record| !record.live.frees_key()).count() > 1 {
            return Err("two calls hold one key");
        }
        for (old, new) in before.records.iter().zip(self.records.iter()) {
            if old.fate == Fate::Ran && new.fate != Fate::Ran {
                return Err("it was sent once more");
            }
            let ends = matches!(action, Action::Settle(_, _) | Action::Answer(_));
            if old.live == CallState::Unknown && new.live != CallState::Unknown && !ends {
                return Err("nobody settled it");
            }
            let is_crash = matches!(action, Action::Crash { .. });
            if is_crash && !old.over && old.disk == Some(CallState::Approved) && new.live != CallState::Approved {
                return Err("an approval was lost");
            }
            let is_persons = old.leave == Leave::Person && !old.over;
            let unsent = old.disk == Some(CallState::Intent) && !old.flight && !old.old_boot && is_persons;
            if action == (Action::Crash { same_boot: true }) && unsent && new.live != CallState::Approved {
                return Err("an approval that was not used was lost");
            }
        }
        Ok(())
    }
}

/// Visits everything; gives how many states there are, and in how many of them so many calls have run.
fn visit(left: Bounds) -> (usize, [u32; 3]) {
    let mut open: Vec<World> = (0..3).map(|rules| World::new(rules, left)).collect();
    let mut seen: FxHashSet<World> = open.iter().copied().collect();
    let mut ran = [0; 3];
    while let Some(world) = open.pop() {
        ran[world.records.iter().filter(|record| record.fate == Fate::Ran).count()] += 1;
        for action in world.actions() {
            let mut after = world;
            if !after.act(action) {
                continue;
            }
            if let Err(broken) = after.check(&world, action) {
                panic!("{broken}: {action:?}\nbefore {world:#?}\nafter {after:#?}");
            }
            if seen.insert(after) {
                open.push(after);
            }
        }
    }
    (seen.len(), ran)
}

fn check([calls, crashes, reloads, rows]: [u8; 4]) {
    let (states, ran) = visit(Bounds { calls, crashes, reloads, rows });
    // The world is not so small that nothing happens in it.
    assert!(ran[..=usize::from(calls)].iter().all(|&states| states > 0), "{states} {ran:?}");
}

#[test]
fn one_call_in_any_order_with_three_crashes() {
    check([1, 3, 2, 4]);
}

#[test]
fn two_calls_in_any_order_with_crashes_and_a_slow_disk() {
    check([2, 1, 0, 4]);
}

#[test]
fn two_calls_in_any_order_with_crashes_and_other_rules() {
    check([2, 2, 0, 0]);
    check([2, 0, 1, 0]);
}
