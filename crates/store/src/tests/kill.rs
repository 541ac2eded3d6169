//! A real process, killed with SIGKILL at each point of a write call's road.

use super::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const ROLE: &str = "CALLGATE_STORE_TEST_ROLE";

/// How far the call had come.
const POINTS: [(&str, Option<Fate>); 6] = [
    ("nothing", None),
    ("announced", Some(Fate::NotSent)),
    ("marked", Some(Fate::OutcomeUnknown)),
    ("end pushed", Some(Fate::OutcomeUnknown)),
    ("end committed", None),
    ("slot reused", None),
];

/// Not a test by itself: what the killed process does. Without the variable it has nothing to do.
#[test]
fn role_of_the_killed_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (point, home) = role.split_once('|').unwrap();
    let mut desk = Desk::open(Path::new(home));
    walk(&mut desk, point);
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
