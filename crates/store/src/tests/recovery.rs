//! Calls that were open when a run ended: judged by the boot and the flight marks, never called unsent when they
//! may have run.

use super::*;
use crate::flight::{FLIGHT_FILE, Marks};
use proptest::prelude::*;

#[test]
fn only_a_missing_mark_of_this_boot_clears_a_call() {
    let check = |boot, evidence, expect| assert_eq!(fate(boot, evidence), expect, "{boot:?} {evidence:?}");
    check(Boot::Same, Evidence::NotInFlight, Fate::NotSent);
    check(Boot::Same, Evidence::InFlight, Fate::OutcomeUnknown);
    check(Boot::Same, Evidence::NoMarks, Fate::OutcomeUnknown);
    check(Boot::Other, Evidence::NotInFlight, Fate::OutcomeUnknown);
    check(Boot::Other, Evidence::InFlight, Fate::OutcomeUnknown);
    check(Boot::Other, Evidence::NoMarks, Fate::OutcomeUnknown);
}

/// Two announced calls, the second marked; then a crash, `change`, and a start.
fn check(change: impl FnOnce(&Path), boot: Option<BootId>, expect: [Fate; 2]) {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let (first, _) = desk.intend();
    let (second, _) = desk.intend();
    desk.opened.flight.mark(second).unwrap();
    desk.crash();
    change(home.path());
    let desk = Desk::try_open(home.path(), Options { boot, ..options() }).unwrap();
    assert!(desk.opened.has_gap);
    let got: Vec<(CallNumber, Fate)> = desk.opened.recovered.iter().map(|it| (it.call, it.fate)).collect();
    assert_eq!(got, [(first, expect[0]), (second, expect[1])]);
    assert_eq!(desk.opened.recovered[0].item, "place_order");
    desk.stop();
    let desk = Desk::open(home.path());
    assert!(!desk.opened.has_gap && desk.opened.recovered.is_empty(), "it is settled once");
    desk.stop();
    assert_eq!(
        kinds(home.path()),
        ["start", "intent", "intent", "end", "end", "gap", "start", "stop", "start", "stop"]
    );
    let outcomes: Vec<String> = whole_log(home.path()).into_iter().map(|row| row.outcome).collect();
    let word = |fate| if fate == Fate::NotSent { "not_sent" } else { "outcome_unknown" };
    assert_eq!(outcomes[3..5], [word(expect[0]), word(expect[1])]);
    assert_eq!(Reader::open(home.path()).unwrap().verify().unwrap().broken, None);
}

#[test]
fn open_calls_are_settled_at_start() {
    use Fate::{NotSent, OutcomeUnknown};
    let same = Some(BootId::of("one boot"));
    check(|_| (), same, [NotSent, OutcomeUnknown]);
    check(|_| (), Some(BootId::of("another boot")), [OutcomeUnknown; 2]);
    check(|_| (), None, [OutcomeUnknown; 2]);
    let marks = |home: &Path| home.join("run").join(FLIGHT_FILE);
    check(|home| std::fs::remove_file(marks(home)).unwrap(), same, [OutcomeUnknown; 2]);
    check(|home| std::fs::write(marks(home), "").unwrap(), same, [OutcomeUnknown; 2]);
    // Cut short, between two marks or behind the last.
    for left in [16, 32, 64] {
        let cut =
            |home: &Path| std::fs::OpenOptions::new().write(true).open(marks(home)).unwrap().set_len(left).unwrap();
        check(cut, same, [OutcomeUnknown; 2]);
    }
    check(|home| std::fs::write(marks(home), "soup, but more than sixteen bytes").unwrap(), same, [OutcomeUnknown; 2]);
    // A flight file of another run of another home.
    check(|home| std::fs::write(marks(home), b"CGFLIGHT01234567").unwrap(), same, [OutcomeUnknown; 2]);
}

#[test]
fn an_end_row_tells_what_became_of_its_call() {
    let check = |outcome, was_marked, expect| assert_eq!(close(outcome, was_marked), expect, "{outcome:?}");
    for outcome in [Outcome::Ok, Outcome::ToolError, Outcome::RpcError, Outcome::InvalidResult, Outcome::ResultTooLarge]
    {
        check(outcome, true, Close::Ran);
    }
    for outcome in [Outcome::Timeout, Outcome::ServerCrashed, Outcome::Cancelled, Outcome::ServerUnavailable] {
        check(outcome, true, Close::Unknown);
        check(outcome, false, Close::NotSent);
    }
    check(Outcome::OutcomeUnknown, false, Close::Unknown);
    check(Outcome::NotSent, true, Close::NotSent);
    check(Outcome::QueueFull, false, Close::NotSent);
}

#[test]
fn a_record_goes_on_by_the_end_of_its_call() {
    use CallState::*;
    let check = |state, (keeps_end, was_approved), close, expect| {
        let standing = Standing { state, keeps_end, was_approved, expires_ms: NOW + 1 };
        assert_eq!(after(standing, close, NOW), expect, "{standing:?} {close:?}");
    };
    for approved in [false, true] {
        check(Intent, (true, approved), Close::Ran, Settled);
        check(Intent, (false, approved), Close::Ran, Freed);
        check(Intent, (true, approved), Close::Unknown, Unknown);
        check(Intent, (false, approved), Close::Unknown, Unknown);
    }
    check(Reserved, (true, false), Close::Unknown, Unknown);
    check(Reserved, (true, false), Close::NotSent, Freed);
    check(Intent, (true, false), Close::NotSent, Freed);
    check(Intent, (true, true), Close::NotSent, Approved);
    check(Intent, (false, true), Close::NotSent, Approved);
    for close in [Close::Ran, Close::NotSent, Close::Unknown] {
        for state in [Waiting, Approved, Denied, Expired, Unknown] {
            check(state, (true, true), close, state);
        }
        check(Settled, (true, true), close, Settled);
        check(Settled, (false, true), close, Freed);
    }
    let late = Standing { state: Intent, keeps_end: true, was_approved: true, expires_ms: NOW };
    assert_eq!(after(late, Close::NotSent, NOW), Freed, "its time is over");
}

/// What a crashed hub had put down of a call with a record.
struct Crash {
    record: fn(CallNumber) -> CallRecord,
    is_announced: bool,
    is_marked: bool,
    boot: &'static str,
    expect: Option<CallState>,
}

#[test]
fn records_stand_at_start_as_the_evidence_says() {
    use CallState::*;
    let one = "one boot";
    let keyed = |call| CallRecord { state: Reserved, arguments: None, ..waiting(call) };
    let late = |call| CallRecord { expires_ms: NOW, ..approved(call) };
    let keyless = |call| CallRecord { key: None, ..approved(call) };
    let check = |record, (is_announced, is_marked), boot, expect| {
        check_record(&Crash { record, is_announced, is_marked, boot, expect });
    };
    let (silent, announced, marked) = ((false, false), (true, false), (true, true));
    for boot in [one, "another boot"] {
        check(keyed, silent, boot, None);
        check(waiting, silent, boot, Some(Waiting));
        check(approved, silent, boot, Some(Approved));
        // A mark of a dead boot, or none: nobody knows.
        check(approved, marked, boot, Some(Unknown));
        check(keyed, marked, boot, Some(Unknown));
        check(keyless, marked, boot, Some(Unknown));
    }
    check(approved, announced, one, Some(Approved));
    check(keyless, announced, one, Some(Approved));
    check(late, announced, one, None);
    check(keyed, announced, one, None);
    check(approved, announced, "another boot", Some(Unknown));
    check(late, announced, "another boot", Some(Unknown));
    check(keyed, announced, "another boot", Some(Unknown));
}

fn check_record(crash: &Crash) {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let call = desk.opened.ledger.next_call();
    let record = (crash.record)(call);
    do_job(&desk, put(&record));
    if crash.is_announced {
        let _ = desk.opened.ledger.push(&Entry { effect: Some(record.effect), ..Entry::new(call, Kind::Intent, NOW) });
        desk.opened.ledger.flush();
        desk.settled();
    }
    if crash.is_marked {
        desk.opened.flight.mark(call).unwrap();
    }
    desk.crash();
    let boot = Some(BootId::of(crash.boot));
    let mut states = Vec::new();
    // Told as it stands, and so written: the next start finds the same.
    for round in 0..2 {
        let desk = Desk::try_open(home.path(), Options { boot, ..options() }).unwrap();
        let found = desk.opened.kept.calls.first();
        states.push(found.map(|found| found.state));
        let recovered = desk.opened.recovered.first().map(|it| it.state);
        let expect = crash.is_announced.then_some(crash.expect.unwrap_or(CallState::Freed));
        assert_eq!(recovered, if round == 0 { expect } else { None });
        if let Some(found) = found {
            assert_eq!(found.arguments, record.arguments, "needed until it is settled");
            assert_eq!(found.key, record.key);
            let is_unknown = found.state == CallState::Unknown;
            assert_eq!(found.outcome, if is_unknown { Outcome::OutcomeUnknown } else { Outcome::None });
        }
        desk.stop();
    }
    assert_eq!(states, [crash.expect, crash.expect], "{record:?} {} {}", crash.is_announced, crash.is_marked);
    assert_eq!(kinds(home.path()).contains(&"end".to_owned()), crash.is_announced);
}

#[test]
fn an_unknown_call_without_a_record_gets_one() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let (call, _) = desk.intend();
    desk.opened.flight.mark(call).unwrap();
    desk.crash();
    for _ in 0..2 {
        let desk = Desk::open(home.path());
        let calls = &desk.opened.kept.calls;
        assert_eq!((calls.len(), calls[0].call, calls[0].state), (1, call, CallState::Unknown));
        assert_eq!((calls[0].name.as_str(), calls[0].effect), ("place_order", policy::Effect::Write));
        assert_eq!((calls[0].outcome, calls[0].key), (Outcome::OutcomeUnknown, None));
        // By these its repetition is known.
        assert_eq!((calls[0].session.as_str(), calls[0].asked), ("one session", Some(Hash::of(b"book"))));
        desk.stop();
    }
    let desk = Desk::open(home.path());
    let settled =
        CallRecord { state: CallState::Settled, decided_by: "cli".into(), ..desk.opened.kept.calls[0].clone() };
    let note = Note { call, outcome: Outcome::NotRan, ..Note::new(Kind::Settled, NOW) };
    do_job(&desk, Job::PutCall { record: Box::new(settled), note: Some(note) });
    desk.stop();
    assert_eq!(Desk::open(home.path()).opened.kept.calls[0].state, CallState::Settled);
    let rows = Reader::open(home.path()).unwrap().call(call).unwrap();
    let outcomes: Vec<_> = rows.iter().map(|row| (row.kind.as_str(), row.outcome.as_str())).collect();
    assert_eq!(outcomes, [("intent", ""), ("end", "outcome_unknown"), ("settled", "not_ran")]);
}

/// It ran; by what its repetition is known stays until it is said that its answer has left.
#[test]
fn a_call_without_a_record_is_known_until_its_answer_has_left() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let mut run = || {
        let (call, _) = desk.intend();
        let mark = desk.opened.flight.mark(call).unwrap();
        desk.end(call, Some(mark));
        call
    };
    let (heard, unheard) = (run(), run());
    do_job(&desk, Job::Heard(heard));
    desk.crash();
    for _ in 0..2 {
        let desk = Desk::open(home.path());
        let calls = &desk.opened.kept.calls;
        assert_eq!((calls.len(), calls[0].call, calls[0].state), (1, unheard, CallState::Settled));
        assert_eq!((calls[0].client.as_str(), calls[0].name.as_str()), ("", "place_order"));
        assert_eq!((calls[0].session.as_str(), calls[0].asked), ("one session", Some(Hash::of(b"book"))));
        desk.stop();
    }
    let desk = Desk::open(home.path());
    do_job(&desk, Job::Heard(unheard));
    desk.stop();
    assert!(Desk::open(home.path()).opened.kept.calls.is_empty());
    let ends = Reader::open(home.path()).unwrap().call(unheard).unwrap();
    assert_eq!(ends.len(), 2, "an intent and one end");
}

#[test]
fn a_result_that_was_stored_before_its_end_row_is_no_unknown_call() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let (call, _) = desk.intend();
    do_job(&desk, put(&CallRecord { state: CallState::Intent, ..approved(call) }));
    desk.opened.flight.mark(call).unwrap();
    let result = Some(Bytes::from_static(b"{}"));
    do_job(&desk, Job::EndCall { call, outcome: Outcome::ToolError, ended_ms: NOW, result });
    desk.crash();
    let desk = Desk::open(home.path());
    assert_eq!((desk.opened.kept.calls[0].state, desk.opened.recovered.len()), (CallState::Settled, 0));
    assert!(desk.opened.kept.calls[0].has_result && desk.opened.vault.result(call).unwrap().is_some());
    desk.stop();
    let rows = Reader::open(home.path()).unwrap().call(call).unwrap();
    assert_eq!((rows[1].kind.as_str(), rows[1].outcome.as_str()), ("end", "tool_error"));
}

#[test]
fn the_system_names_its_boot() {
    assert_eq!(BootId::current(), BootId::current());
    assert_eq!(BootId::current().is_some(), cfg!(target_os = "linux"));
}

/// What may happen to one of a few calls, in the order in which it can.
#[derive(Clone, Copy, Debug)]
enum Step {
    Announce,
    Mark,
    End,
    Settle,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the order and wherever the crash: a call that was marked is settled in the log or unknown, one that
    /// was not marked is surely not sent.
    #[test]
    fn a_marked_call_is_never_called_unsent(
        steps in prop::collection::vec((0..6_usize, prop_oneof![
            Just(Step::Announce), Just(Step::Mark), Just(Step::End), Just(Step::Settle),
        ]), 0..60)
    ) {
        let home = tempfile::tempdir().unwrap();
        let mut desk = Desk::open(home.path());
        // Per lane: the call that is open in it, its mark if it has one, and whether it was ever marked.
        let mut lanes: [Option<(CallNumber, Option<Mark>, bool)>; 6] = Default::default();
        let mut unsettled = Vec::new();
        for (lane, step) in steps {
            match (step, lanes[lane].take()) {
                (Step::Announce, None) => lanes[lane] = Some((desk.intend().0, None, false)),
                (Step::Mark, Some((call, None, _))) => {
                    let mark = desk.opened.flight.mark(call).unwrap();
                    lanes[lane] = Some((call, Some(mark), true));
                }
                (Step::End, Some((call, mark, marked))) => {
                    desk.end(call, mark);
                    unsettled.push((call, marked));
                }
                (Step::Settle, open) => {
                    lanes[lane] = open;
                    desk.settle().unwrap();
                    unsettled.clear();
                }
                (_, open) => lanes[lane] = open,
            }
        }
        // The rows that were not handed over die with the process.
        let marks = Marks::read(&home.path().join("run")).unwrap().unwrap();
        desk.opened.ledger.lose_what_is_not_handed_over();
        desk.crash();
        let recovered = Desk::open(home.path()).opened.recovered;
        let open = lanes.into_iter().flatten().map(|(call, _, marked)| (call, marked));
        for (call, marked) in open {
            let fate = recovered.iter().find(|it| it.call == call).map(|it| it.fate);
            prop_assert_eq!(fate, Some(if marked { Fate::OutcomeUnknown } else { Fate::NotSent }));
        }
        for (call, marked) in unsettled {
            // Its end was perhaps committed along with a later guard.
            if let Some(it) = recovered.iter().find(|it| it.call == call) {
                prop_assert_eq!(it.fate, if marked { Fate::OutcomeUnknown } else { Fate::NotSent });
            }
        }
        let boot = BootId::of("one boot");
        for it in &recovered {
            let evidence = Marks::evidence(Some(&marks), Some(marks.id), it.call, boot);
            prop_assert_eq!(evidence == Evidence::InFlight, it.fate == Fate::OutcomeUnknown);
        }
    }
}
