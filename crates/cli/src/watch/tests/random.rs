//! Whatever is typed and whatever the hub says meanwhile: a decision is about what stood still under the cursor.

use super::super::machine::{Edited, Effect, Input, Key};
use super::*;
use crate::show::samples::decision;
use operator::{Problem, code};
use proptest::prelude::*;
use std::collections::HashSet;

#[derive(Clone, Debug)]
enum Move {
    Key(char),
    Enter,
    Esc,
    Wait(u64),
    Resize(u16, u16),
    Join(u64),
    Leave(usize),
    Alter(usize),
    Answer(u8),
    Down,
    Up,
    Edited(u8),
    Paste,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        8 => proptest::sample::select("jkgGaastdeorfbn /?q".chars().collect::<Vec<_>>()).prop_map(Move::Key),
        2 => Just(Move::Enter),
        2 => Just(Move::Esc),
        6 => (0u64..900).prop_map(Move::Wait),
        1 => (1u16..130, 1u16..45).prop_map(|(width, height)| Move::Resize(width, height)),
        1 => (0u64..60).prop_map(Move::Join),
        1 => (0usize..8).prop_map(Move::Leave),
        1 => (0usize..8).prop_map(Move::Alter),
        3 => (0u8..5).prop_map(Move::Answer),
        1 => Just(Move::Down),
        1 => Just(Move::Up),
        1 => (0u8..3).prop_map(Move::Edited),
        1 => Just(Move::Paste),
    ];
    proptest::collection::vec(one, 1..120)
}

/// What a person has before their eyes when a key decides: the call, its row, its arguments.
type Sight = (Option<String>, usize, Option<(String, String)>);

fn sight(rig: &Rig) -> Sight {
    let (id, row) = rig.state.queue.place();
    let shown = rig.state.shown.as_ref().map(|shown| shown.identity());
    (id, row, shown.map(|(id, digest)| (id.to_owned(), digest.to_owned())))
}

fn step(rig: &mut Rig, it: Move) {
    match it {
        Move::Key(c) => rig.key(Key::Char(c)),
        Move::Enter => rig.key(Key::Enter),
        Move::Esc => rig.key(Key::Esc),
        Move::Wait(ms) => rig.wait(ms),
        Move::Resize(width, height) => rig.input(Input::Resize(width, height)),
        Move::Join(at) => rig.change(|items| {
            if items.iter().all(|it| it.approval.id != format!("c1-{at}")) {
                items.extend(some(at + 1).pop());
            }
        }),
        Move::Leave(at) => rig.change(|items| {
            if at < items.len() {
                items.remove(at);
            }
        }),
        Move::Alter(at) => rig.change(|items| {
            if let Some(item) = items.get_mut(at) {
                item.approval.digest = hash(if item.approval.digest == hash('y') { 'z' } else { 'y' });
            }
        }),
        Move::Answer(how) => answer(rig, how),
        Move::Down => rig.hub(Said::Down("no hub is running".into())),
        Move::Up => rig.hub(Said::Up),
        Move::Edited(how) => {
            let id = rig.selected().to_owned();
            let edited = match how {
                0 => Edited::Failed("no".into()),
                1 => Edited::Text("{".into()),
                _ => Edited::Text("{\"x\": 1}".into()),
            };
            rig.input(Input::Edited(id, edited));
        }
        Move::Paste => rig.input(Input::Paste("aasstt".into())),
    }
}

fn answer(rig: &mut Rig, how: u8) {
    let id = match rig.done.last() {
        Some(Effect::Approve(it)) => it.id.clone(),
        Some(Effect::Deny(it)) => it.id.clone(),
        _ => return,
    };
    let decision = decision(&id, DecisionKind::Approved);
    let winner = if how == 0 { Winner::You } else { Winner::Another };
    rig.answer(match how {
        0 | 1 => Ok(Decided { winner, decision, follows: Follows::Runs, keeps: None, unwritten: None }),
        2 => Err(Problem::new(code::PIN_REQUIRED, "decisions need the PIN")),
        3 => Err(Problem::new(code::INVALID_ARGUMENTS, "no")),
        _ => Err(Problem::new(code::DIGEST_CHANGED, "others")),
    });
    rig.done.push(Effect::Redraw);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_decision_is_about_what_stood_still(moves in moves(), width in 20u16..130, height in 6u16..45) {
        let mut rig = Rig::new((width, height), some(5));
        let mut seen: Vec<(u64, Sight)> = vec![(rig.now.mono_ms, sight(&rig))];
        let mut under_way: HashSet<String> = HashSet::new();
        for (number, it) in moves.into_iter().enumerate() {
            let is_key = matches!(it, Move::Key(_) | Move::Enter);
            let before = rig.done.len();
            let now = sight(&rig);
            step(&mut rig, it.clone());
            if let Move::Answer(_) = it {
                under_way.clear();
            }
            for effect in rig.done[before..].iter() {
                let (id, digest, pin) = match effect {
                    Effect::Approve(it) => (&it.id, &it.digest, &it.pin),
                    Effect::Deny(it) => (&it.id, &it.digest, &it.pin),
                    _ => continue,
                };
                prop_assert!(is_key, "{it:?} decides nothing");
                prop_assert!(under_way.insert(id.clone()), "twice");
                prop_assert_eq!(&now.0, &Some(id.clone()));
                prop_assert_eq!(&now.2, &Some((id.clone(), digest.clone())), "what was shown");
                // The key that decided came before the PIN was typed.
                if pin.is_some() {
                    continue;
                }
                let since = rig.now.mono_ms.saturating_sub(700);
                for (at, then) in seen.iter().rev() {
                    prop_assert_eq!(then, &now, "at {}", at);
                    if *at <= since {
                        break;
                    }
                }
            }
            seen.push((rig.now.mono_ms, sight(&rig)));
            // Whatever the state, it can be drawn.
            if number % 8 == 0 {
                rig.seen();
            }
        }
        rig.seen();
    }
}
