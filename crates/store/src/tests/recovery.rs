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
    check(|home| std::fs::write(marks(home), "soup, but more than sixteen bytes").unwrap(), same, [OutcomeUnknown; 2]);
    // A flight file of another run of another home.
    check(|home| std::fs::write(marks(home), b"CGFLIGHT01234567").unwrap(), same, [OutcomeUnknown; 2]);
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
