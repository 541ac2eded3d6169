//! Whatever the order in which a hub tells of its calls and wherever it dies: at the next start each record stands as
//! the pure rules say, and the log is whole.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Put(CallState),
    Intend,
    Mark,
    End(Outcome),
    Result,
    Drop,
    Settle,
}

/// What should be known of one call.
#[derive(Default)]
struct Model {
    call: Option<CallNumber>,
    record: Option<(CallState, bool)>,
    has_result: bool,
    has_values: bool,
    is_open: bool,
    was_open: bool,
    mark: Option<Mark>,
    is_marked: bool,
}

impl Model {
    fn standing(&self) -> Option<Standing> {
        let (state, has_key) = self.record?;
        Some(Standing { state, keeps_end: has_key, was_approved: true, expires_ms: NOW + 900_000 })
    }

    fn move_to(&mut self, state: CallState) {
        self.record = match (self.record, state) {
            (Some((_, has_key)), state) if state != CallState::Freed => Some((state, has_key)),
            _ => None,
        };
        self.has_result &= self.record.is_some();
        self.has_values &= self.record.is_some() && crate::calls::keeps_values(state);
    }

    /// As a hub of the same boot finds it.
    fn at_start(&mut self) {
        let close = if self.is_marked { Close::Unknown } else { Close::NotSent };
        match self.standing() {
            Some(standing) if self.is_open => self.move_to(after(standing, close, NOW)),
            Some(Standing { state: CallState::Reserved, .. }) => self.move_to(CallState::Freed),
            None if self.is_open && self.is_marked => self.record = Some((CallState::Unknown, false)),
            _ => {}
        }
    }
}

fn step(desk: &mut Desk, it: &mut Model, has_key: bool, step: Step) {
    let call = *it.call.get_or_insert_with(|| desk.opened.ledger.next_call());
    match step {
        Step::Put(state) => {
            let key = has_key.then(|| Hash::of(b"key"));
            let _ = desk.opened.ledger.submit(put(&CallRecord { state, key, ..approved(call) }), None);
            it.record = Some((state, has_key));
            it.has_values = crate::calls::keeps_values(state);
        }
        Step::Intend if !it.was_open => {
            let _ = desk.opened.ledger.push(&Entry::new(call, Kind::Intent, NOW));
            desk.opened.ledger.flush();
            desk.settled();
            (it.is_open, it.was_open) = (true, true);
            it.record = it.record.map(|(_, has_key)| (CallState::Intent, has_key));
        }
        Step::Mark if it.is_open && !it.is_marked => {
            it.mark = Some(desk.opened.flight.mark(call).unwrap());
            it.is_marked = true;
        }
        Step::End(outcome) if it.is_open => {
            let entry = Entry { outcome, ..Entry::new(call, Kind::End, NOW) };
            let _ = match it.mark.take() {
                Some(mark) => desk.opened.ledger.push_end(&entry, mark),
                None => desk.opened.ledger.push(&entry),
            };
            it.is_open = false;
            if let Some(standing) = it.standing() {
                it.move_to(after(standing, close(outcome, it.is_marked), NOW));
            }
        }
        Step::Result => {
            let result = Some(Bytes::from_static(b"{}"));
            let job = Job::EndCall { call, outcome: Outcome::Ok, ended_ms: NOW, result };
            let _ = desk.opened.ledger.submit(job, None);
            match it.record {
                Some((_, false)) if !it.is_open => it.move_to(CallState::Freed),
                Some((_, has_key)) => {
                    it.record = Some((CallState::Settled, has_key));
                    it.has_result |= has_key;
                }
                None => {}
            }
            it.has_values = false;
        }
        Step::Drop => {
            let _ = desk.opened.ledger.submit(Job::DropCall(call), None);
            (it.record, it.has_result, it.has_values) = (None, false, false);
        }
        Step::Settle => desk.settle().unwrap(),
        Step::Intend | Step::Mark | Step::End(_) => {}
    }
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    use CallState::*;
    let states = [Reserved, Waiting, Approved, Settled, Denied, Expired, Unknown];
    let outcomes = [Outcome::Ok, Outcome::NotSent, Outcome::Timeout, Outcome::OutcomeUnknown, Outcome::QueueFull];
    let step = prop_oneof![
        3 => prop::sample::select(states.to_vec()).prop_map(Step::Put),
        3 => Just(Step::Intend),
        2 => Just(Step::Mark),
        3 => prop::sample::select(outcomes.to_vec()).prop_map(Step::End),
        1 => Just(Step::Result),
        1 => Just(Step::Drop),
        1 => Just(Step::Settle),
    ];
    prop::collection::vec((0..4_usize, step), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn records_stand_as_the_rules_say(steps in steps()) {
        let home = tempfile::tempdir().unwrap();
        let mut desk = Desk::open(home.path());
        let mut models: [Model; 4] = Default::default();
        for (lane, it) in steps {
            // Every other call has a key.
            step(&mut desk, &mut models[lane], lane % 2 == 0, it);
        }
        // All that was handed over is written; then it dies.
        desk.opened.ledger.flush();
        desk.crash();
        for round in 0..2 {
            let desk = Desk::open(home.path());
            for model in &mut models {
                if round == 0 {
                    model.at_start();
                }
                let Some(call) = model.call else { continue };
                let found = desk.opened.kept.calls.iter().find(|record| record.call == call);
                prop_assert_eq!(found.map(|it| (it.state, it.key.is_some())), model.record, "round {}", round);
                prop_assert_eq!(found.is_some_and(|it| it.has_result), model.has_result);
                let expect = model.record.is_some() && model.has_values;
                prop_assert_eq!(found.is_some_and(|it| it.arguments.is_some()), expect);
            }
            desk.stop();
        }
        let findings = Reader::open(home.path()).unwrap().verify().unwrap();
        prop_assert_eq!(findings.broken, None);
        let rows = whole_log(home.path());
        let of = |kind: &str| rows.iter().filter(|row| row.kind == kind).count();
        prop_assert_eq!(of("intent"), of("end"), "each announced call has its end");
    }
}
