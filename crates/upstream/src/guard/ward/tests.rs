#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

const GUARD: i32 = 10;

fn proc(pid: i32) -> Proc {
    Proc { pid, start: pid as u64 }
}

fn entry(pid: i32, parent: i32, group: i32) -> Entry {
    Entry { proc: proc(pid), parent, group }
}

/// A guard with one program (pid 20) running.
fn one() -> Ward {
    let mut ward = Ward::new(GUARD);
    let hello = Request::Hello { home: "h-".into(), run: "h-r-".into(), past: Past::Unknown };
    assert!(ward.handle(Event::Asked(hello), 0).is_empty());
    assert_eq!(look(&mut ward, &[], 0), [Effect::Report(Report::Swept { count: 0 })]);
    ward.handle(Event::Started(1, proc(20)), 0);
    ward
}

/// One look at a table in which the guard's own parent is pid 1. No process has a mark.
fn look(ward: &mut Ward, entries: &[Entry], now: Millis) -> Vec<Effect> {
    look_marked(ward, entries, &[], now)
}

fn look_marked(ward: &mut Ward, entries: &[Entry], marks: &[(i32, &str)], now: Millis) -> Vec<Effect> {
    let mut all = vec![entry(1, 0, 1), entry(GUARD, 1, GUARD)];
    all.extend_from_slice(entries);
    let mut mark = |pid| marks.iter().find(|(of, _)| *of == pid).map(|(_, mark)| mark.as_bytes().to_vec());
    ward.seen(&Table::new(all), &mut mark, now)
}

fn end(ward: &mut Ward, force: Force, now: Millis) {
    assert!(ward.handle(Event::Asked(Request::End(1, force)), now).is_empty());
    assert_eq!(ward.look_at(), Some(now));
}

use Effect::{Group, One};
use Force::{Kill, Terminate};

#[test]
fn a_group_is_told_at_one_stroke_and_those_outside_alone() {
    let mut ward = one();
    end(&mut ward, Terminate, 5);
    let tree = [entry(20, GUARD, 20), entry(21, 20, 20), entry(30, 21, 30), entry(99, 1, 99)];
    assert_eq!(look(&mut ward, &tree, 5), [Group(20, Terminate), One(proc(30), Terminate)]);
    // Nobody hears SIGTERM twice; who comes later hears it once.
    end(&mut ward, Terminate, 6);
    let tree = [entry(20, GUARD, 20), entry(22, 20, 20), entry(30, GUARD, 30)];
    assert_eq!(look(&mut ward, &tree, 6), [One(proc(22), Terminate)]);
    assert_eq!(ward.look_at(), None);
    // SIGKILL is repeated until nobody is left, and SIGTERM does not take it back.
    end(&mut ward, Kill, 7);
    end(&mut ward, Terminate, 7);
    let tree = [entry(20, GUARD, 20), entry(30, GUARD, 30)];
    for now in [7, 40] {
        assert_eq!(look(&mut ward, &tree, now), [Group(20, Kill), One(proc(30), Kill)]);
        assert_eq!(ward.look_at(), Some(now + AGAIN));
    }
}

#[test]
fn gone_is_told_once_and_only_after_a_second_look() {
    let mut ward = one();
    let exited = ward.handle(Event::Reaped(20, Ended::Code(3)), 9);
    assert_eq!(exited, [Effect::Report(Report::Exited { id: 1, how: Ended::Code(3) })]);
    // A grandchild that was never seen before is known by the group it was born into.
    assert!(look(&mut ward, &[entry(33, GUARD, 20)], 9).is_empty());
    assert_eq!(ward.look_at(), None, "its end will be told by the system");
    assert!(ward.handle(Event::Reaped(33, Ended::Signal(9)), 20).is_empty());
    assert_eq!(ward.look_at(), Some(20));
    assert!(look(&mut ward, &[], 20).is_empty());
    assert!(look(&mut ward, &[entry(34, GUARD, 20)], 20).is_empty(), "one slipped through the first reading");
    ward.handle(Event::Reaped(34, Ended::Code(0)), 40);
    assert!(look(&mut ward, &[], 40).is_empty());
    assert_eq!(look(&mut ward, &[], 40), [Effect::Report(Report::Gone { id: 1 })]);
    // The number may be used again by anyone: its end means nothing now.
    assert!(ward.handle(Event::Reaped(20, Ended::Code(0)), 41).is_empty());
}

#[test]
fn a_number_used_again_is_not_the_same_process() {
    let mut ward = one();
    end(&mut ward, Kill, 0);
    // pid 20 is another's child now, with a later start; and a stray of ours that we knew had its number taken too.
    let other = Entry { proc: Proc { pid: 20, start: 900 }, parent: 1, group: 20 };
    assert!(look(&mut ward, &[other], 0).is_empty());
}

#[test]
fn strays_are_found_by_memory_group_and_mark() {
    let mut ward = one();
    ward.handle(Event::Started(2, proc(50)), 0);
    end(&mut ward, Terminate, 0);
    let both = [entry(20, GUARD, 20), entry(25, 20, 25), entry(50, GUARD, 50)];
    look(&mut ward, &both, 0);
    // 25 was seen in the tree of 20, 26 bears its mark, 27 is a child of such a one; 51 and 52 belong to 2.
    let strays = [
        entry(25, GUARD, 25),
        entry(26, GUARD, 26),
        entry(27, 26, 27),
        entry(50, GUARD, 50),
        entry(51, GUARD, 50),
        entry(52, GUARD, 52),
    ];
    let marks = [(26, "h-r-1"), (52, "h-r-2"), (51, "h-r-1")];
    end(&mut ward, Kill, 1);
    let effects = look_marked(&mut ward, &strays, &marks, 1);
    assert_eq!(effects, [One(proc(25), Kill), One(proc(26), Kill), One(proc(27), Kill)]);
}

#[test]
fn who_belongs_nowhere_goes_with_the_last() {
    let mut ward = one();
    let stray = entry(70, GUARD, 70);
    end(&mut ward, Kill, 0);
    assert_eq!(look(&mut ward, &[entry(20, GUARD, 20), stray], 0), [Group(20, Kill)]);
    ward.handle(Event::Reaped(20, Ended::Signal(9)), 1);
    assert!(look(&mut ward, &[stray], 1).is_empty());
    let effects = look(&mut ward, &[stray], 1);
    assert_eq!(effects, [Effect::Report(Report::Gone { id: 1 }), One(proc(70), Terminate)]);
    assert_eq!(look(&mut ward, &[stray], 1 + TERMINATE), [One(proc(70), Kill)]);
}

#[test]
fn without_a_hub_everything_ends_in_time() {
    let mut ward = one();
    ward.handle(Event::HubGone, 100);
    let tree = [entry(20, GUARD, 20), entry(70, GUARD, 70)];
    assert!(look(&mut ward, &tree, 100).is_empty(), "they have lost their input and may leave by themselves");
    assert_eq!(ward.look_at(), Some(100 + GRACE));
    let told = look(&mut ward, &tree, 100 + GRACE);
    assert_eq!(told, [One(proc(20), Terminate), One(proc(70), Terminate)]);
    let killed = look(&mut ward, &tree, 100 + GRACE + TERMINATE);
    assert_eq!(killed, [One(proc(20), Kill), One(proc(70), Kill)]);
    const { assert!(GRACE + TERMINATE + 10 * AGAIN < 3_000) };
    assert_eq!(look(&mut ward, &[], 2_000), [Effect::Leave]);
    // It does not wait for ever for one that cannot be killed, and starts nothing more.
    let stuck = look(&mut ward, &tree, 100 + GRACE + HOPELESS);
    assert_eq!(stuck.last(), Some(&Effect::Leave));
    let refused = ward.handle(Event::Asked(Request::Start(Start::default())), 2_000);
    assert!(matches!(refused[..], [Effect::Report(Report::Failed { .. })]));
}

#[test]
fn leftovers_are_swept_before_anything_starts() {
    let mut ward = Ward::new(GUARD);
    let hello = |past| Event::Asked(Request::Hello { home: "h-".into(), run: "h-new-".into(), past });
    let start = Start { id: 1, ..Start::default() };
    // Where nothing can be left nothing is read.
    ward.handle(hello(Past::Left), 0);
    assert_eq!(ward.look_at(), None);
    assert_eq!(ward.handle(Event::Asked(Request::Start(start.clone())), 0), [Effect::Start(start.clone())]);
    ward.handle(hello(Past::Unknown), 0);
    assert!(ward.handle(Event::Asked(Request::Start(start.clone())), 0).is_empty());
    // 1 is above us and stays whatever it bears; 41 is of another home; 42 fell from 40 and lost its mark.
    let table = [entry(40, 1, 40), entry(41, 1, 41), entry(42, 40, 42)];
    let marks = [(1, "h-old-1"), (GUARD, "h-old-1"), (40, "h-old-1"), (41, "i-old-1")];
    let told = look_marked(&mut ward, &table, &marks, 0);
    assert_eq!(told, [One(proc(40), Terminate), One(proc(42), Terminate)]);
    let killed = look_marked(&mut ward, &table[1..], &marks, SWEEP);
    assert_eq!(killed, [One(proc(42), Kill)]);
    let done = look_marked(&mut ward, &table[1..2], &marks, SWEEP + AGAIN);
    assert_eq!(done, [Effect::Report(Report::Swept { count: 2 }), Effect::Start(start)]);
}

proptest! {
    /// Whatever the table says: nothing outside the guard's own tree is ever signalled, nor the guard itself.
    #[test]
    fn nobody_else_is_ever_signalled(
        shape in prop::collection::vec((0usize..12, 0usize..12), 12),
        times in prop::collection::vec(0u64..4_000, 1..8),
    ) {
        let pids: Vec<i32> = [1, GUARD].into_iter().chain(20..32).collect();
        let entries: Vec<Entry> =
            shape.iter().enumerate().map(|(at, (parent, group))| entry(20 + at as i32, pids[*parent], pids[*group])).collect();
        let mut all = vec![entry(1, 0, 1), entry(GUARD, 1, GUARD)];
        all.extend_from_slice(&entries);
        let table = Table::new(all);
        let below: BTreeSet<Proc> = table.below(GUARD).map(|(entry, _)| entry.proc).collect();
        let mut ward = one();
        end(&mut ward, Kill, 0);
        ward.handle(Event::HubGone, 0);
        for now in times {
            for effect in ward.seen(&table, &mut |_| None, now) {
                match effect {
                    One(proc, _) => prop_assert!(below.contains(&proc)),
                    Group(group, _) => {
                        prop_assert_eq!(group, 20);
                        let member = table.below(GUARD).any(|(entry, _)| entry.group == group);
                        prop_assert!(member);
                    }
                    Effect::Start(_) | Effect::Report(_) | Effect::Leave => {}
                }
            }
        }
    }
}
