//! The life of a call's record: every pair of state and event.

use crate::{CallState, Event, Leave, next};
use proptest::prelude::*;

/// All moves that there are; everything else is unfit.
const MOVES: [(CallState, Event, CallState); 26] = [
    (CallState::Reserved, Event::Ask, CallState::Waiting),
    (CallState::Reserved, Event::Refuse, CallState::Freed),
    (CallState::Reserved, Event::Claim, CallState::Intent),
    (CallState::Waiting, Event::Approve, CallState::Approved),
    (CallState::Waiting, Event::Deny, CallState::Denied),
    (CallState::Waiting, Event::Forbid, CallState::Denied),
    (CallState::Waiting, Event::Withdraw, CallState::Denied),
    (CallState::Waiting, Event::Expire, CallState::Expired),
    (CallState::Approved, Event::Claim, CallState::Intent),
    (CallState::Approved, Event::Stricter, CallState::Waiting),
    (CallState::Approved, Event::Reopen, CallState::Waiting),
    (CallState::Approved, Event::Forbid, CallState::Denied),
    (CallState::Approved, Event::Withdraw, CallState::Denied),
    (CallState::Approved, Event::Expire, CallState::Expired),
    (CallState::Intent, Event::NotSent(Leave::Rules), CallState::Freed),
    (CallState::Intent, Event::NotSent(Leave::Person), CallState::Approved),
    (CallState::Intent, Event::Interim(Leave::Rules), CallState::Freed),
    (CallState::Intent, Event::Interim(Leave::Person), CallState::Approved),
    (CallState::Intent, Event::End, CallState::Settled),
    (CallState::Intent, Event::Lost, CallState::Unknown),
    (CallState::Unknown, Event::End, CallState::Settled),
    (CallState::Unknown, Event::Ran, CallState::Settled),
    (CallState::Unknown, Event::NotRan, CallState::Freed),
    (CallState::Settled, Event::Forget, CallState::Freed),
    (CallState::Denied, Event::Forget, CallState::Freed),
    (CallState::Expired, Event::Forget, CallState::Freed),
];

#[test]
fn every_pair_is_as_the_table_says() {
    let mut moves = 0;
    for state in CallState::ALL {
        for event in Event::ALL {
            let expect = MOVES.iter().find(|(from, by, _)| (*from, *by) == (state, event)).map(|(_, _, to)| *to);
            moves += usize::from(expect.is_some());
            assert_eq!(next(state, event).ok(), expect, "{state:?} {event:?}");
        }
    }
    assert_eq!(moves, 26);
    let unfit = next(CallState::Approved, Event::Deny).unwrap_err();
    assert_eq!(unfit.to_string(), "a call that is approved can't be denied");
}

fn follow(events: &[Event]) -> Vec<(CallState, Event, CallState)> {
    let mut state = CallState::Reserved;
    let mut path = Vec::new();
    for &event in events {
        if let Ok(to) = next(state, event) {
            path.push((state, event, to));
            state = to;
        }
    }
    path
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    /// Whatever happens in whatever order, one record is claimed again only after it certainly was not sent, or its server
    /// has asked for more instead of doing it.
    #[test]
    fn a_record_runs_once(events in proptest::collection::vec(proptest::sample::select(&Event::ALL[..]), 0..200)) {
        let path = follow(&events);
        let claims = path.iter().filter(|(_, event, _)| *event == Event::Claim).count();
        let unsent = path.iter().filter(|(_, event, _)| matches!(event, Event::NotSent(_) | Event::Interim(_))).count();
        prop_assert!(claims <= unsent + 1);
        let refused = path.iter().position(|(_, _, to)| matches!(to, CallState::Denied | CallState::Expired));
        if let Some(at) = refused {
            prop_assert!(path[at..].iter().all(|(_, event, _)| *event != Event::Claim));
        }
        for (from, event, _) in path.iter().filter(|(from, _, _)| *from == CallState::Unknown) {
            prop_assert!(matches!(event, Event::End | Event::Ran | Event::NotRan), "{from:?} {event:?}");
        }
    }
}
