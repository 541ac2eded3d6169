//! A real process, killed with SIGKILL at each point of a write call's road.

use super::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const ROLE: &str = "CALLGATE_STORE_TEST_ROLE";

/// How far a call had come, and what became of it.
const POINTS: [(&str, Option<Fate>); 6] = [
    ("nothing", None),
    ("announced", Some(Fate::NotSent)),
    ("marked", Some(Fate::OutcomeUnknown)),
    ("end pushed", Some(Fate::OutcomeUnknown)),
    ("end committed", None),
    ("slot reused", None),
];

/// How far a call with a record had come, and how its record stands then; without a key, and with one.
const RECORDS: [(&str, [Option<CallState>; 2]); 11] = [
    ("reserved", [None, None]),
    ("waiting handed over", [None, None]),
    ("waiting", [Some(CallState::Waiting); 2]),
    ("approved handed over", [Some(CallState::Waiting); 2]),
    ("approved", [Some(CallState::Approved); 2]),
    ("announced", [Some(CallState::Approved); 2]),
    ("marked", [Some(CallState::Unknown); 2]),
    ("end pushed", [Some(CallState::Unknown); 2]),
    ("end committed", [None, Some(CallState::Settled)]),
    ("result stored", [None, Some(CallState::Settled)]),
    ("denied", [Some(CallState::Denied); 2]),
];

/// Not a test by itself: what the killed process does. Without the variable it has nothing to do.
#[test]
fn role_of_the_killed_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (what, home) = role.split_once('|').unwrap();
    let mut desk = Desk::open(Path::new(home));
    match what.split_once('/') {
        None => walk(&mut desk, what),
        Some((point, key)) => walk_record(&mut desk, point, key == "keyed"),
    }
    let mut out = std::io::stdout();
    writeln!(out, "\nwaiting to be killed").unwrap();
    out.flush().unwrap();
    // Ends when the parent dies before it has killed us.
    let _ = std::io::stdin().read_line(&mut String::new());
    std::process::abort();
}

fn walk(desk: &mut Desk, point: &str) {
    desk.read("read_text_file", "{}");
    desk.settle().unwrap();
    if point == "nothing" {
        return;
    }
    let (call, _) = desk.intend();
    if point == "announced" {
        return;
    }
    let mark = desk.opened.flight.mark(call).unwrap();
    if point == "marked" {
        return;
    }
    desk.end(call, Some(mark));
    if point == "end pushed" {
        return;
    }
    desk.settle().unwrap();
    if point == "slot reused" {
        let (second, _) = desk.intend();
        let mark = desk.opened.flight.mark(second).unwrap();
        assert_eq!(mark, Mark(0), "the slot is free once the end is committed");
    }
}

/// The road of a call that a person approves. What is only handed over lies in the ledger when it dies.
fn walk_record(desk: &mut Desk, end: &str, is_keyed: bool) {
    desk.read("read_text_file", "{}");
    let call = desk.opened.ledger.next_call();
    let key = is_keyed.then(|| Hash::of(b"key"));
    let hand_over = |desk: &mut Desk, record: CallRecord| {
        let _ = desk.opened.ledger.submit(put(&CallRecord { key, ..record }), None);
    };
    hand_over(desk, CallRecord { state: CallState::Reserved, arguments: None, ..waiting(call) });
    desk.settle().unwrap();
    if end == "reserved" {
        return;
    }
    hand_over(desk, waiting(call));
    if end == "waiting handed over" {
        return;
    }
    desk.settle().unwrap();
    if end == "waiting" {
        return;
    }
    if end == "denied" {
        hand_over(desk, CallRecord { state: CallState::Denied, ended_ms: NOW, ..approved(call) });
        return desk.settle().unwrap();
    }
    hand_over(desk, approved(call));
    if end == "approved handed over" {
        return;
    }
    desk.settle().unwrap();
    if end == "approved" {
        return;
    }
    let _ = desk.opened.ledger.push(&Entry::new(call, Kind::Intent, NOW));
    desk.opened.ledger.flush();
    assert_eq!(desk.settled(), [Settled { call, result: Ok(()) }]);
    if end == "announced" {
        return;
    }
    let mark = desk.opened.flight.mark(call).unwrap();
    if end == "marked" {
        return;
    }
    desk.end(call, Some(mark));
    if end == "end pushed" {
        return;
    }
    desk.settle().unwrap();
    if end == "end committed" {
        return;
    }
    let result = Some(Bytes::from(format!(r#"{{"text":"{SECRET}"}}"#)));
    let _ = desk.opened.ledger.submit(Job::EndCall { call, outcome: Outcome::Ok, ended_ms: NOW, result }, None);
    desk.settle().unwrap();
}

#[allow(clippy::disallowed_methods, reason = "the test must kill a real process")]
fn kill_at(point: &str, home: &Path) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::kill::role_of_the_killed_process", "--nocapture"])
        .env(ROLE, format!("{point}|{}", home.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready = lines.map_while(Result::ok).any(|line| line == "waiting to be killed");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(ready, "{point}: the child died by itself");
}

#[test]
fn a_killed_hub_is_told_the_truth_at_its_next_start() {
    for (point, expect) in POINTS {
        let home = tempfile::tempdir().unwrap();
        kill_at(point, home.path());
        let desk = Desk::open(home.path());
        let mut fates: Vec<Fate> = desk.opened.recovered.iter().map(|it| it.fate).collect();
        if point == "slot reused" {
            assert_eq!(fates.pop(), Some(Fate::OutcomeUnknown), "the second call");
        }
        assert_eq!(fates, Vec::from_iter(expect), "{point}");
        assert!(desk.opened.has_gap && desk.opened.trust == Trust::Whole, "{point}");
        desk.stop();
        let findings = Reader::open(home.path()).unwrap().verify().unwrap();
        assert_eq!((findings.broken, findings.gaps.len()), (None, 1), "{point}");
        assert!(kinds(home.path()).contains(&"read".to_owned()), "{point}");
    }
}

#[test]
fn a_record_of_a_killed_hub_stands_where_it_was_last_durable() {
    for (point, expect) in RECORDS {
        for (key, expect) in ["keyless", "keyed"].into_iter().zip(expect) {
            let home = tempfile::tempdir().unwrap();
            kill_at(&format!("{point}/{key}"), home.path());
            assert!(!holds(&bytes_of(home.path()), SECRET), "{point}: a value is on the disk");
            let desk = Desk::open(home.path());
            let found = desk.opened.kept.calls.first().cloned();
            assert_eq!(found.as_ref().map(|found| found.state), expect, "{point}/{key}");
            if let Some(found) = found {
                let needs_values = calls::keeps_values(found.state);
                assert_eq!(found.arguments.is_some(), needs_values, "{point}/{key}");
                let has_result = point == "result stored";
                assert_eq!(found.has_result, has_result, "{point}/{key}");
                assert_eq!(desk.opened.vault.result(found.call).unwrap().is_some(), has_result);
            }
            desk.stop();
            assert_eq!(Reader::open(home.path()).unwrap().verify().unwrap().broken, None, "{point}/{key}");
        }
    }
}
