//! Records of calls: they outlive the hub, their values are sealed and then gone, results are bounded.

use super::*;
use crate::places::DATABASE;
use crate::seal::SEAL_FILE;

fn reopened(home: &Path) -> Kept {
    let desk = Desk::open(home);
    let kept = desk.opened.kept.clone();
    desk.stop();
    kept
}

fn next(desk: &mut Desk) -> CallNumber {
    desk.opened.ledger.next_call()
}

#[test]
fn a_record_comes_back_as_it_was_put_and_no_value_is_on_the_disk() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let (first, second) = (next(&mut desk), next(&mut desk));
    for record in [waiting(first), waiting(second), approved(second)] {
        do_job(&desk, put(&record));
        assert!(!holds(&bytes_of(home.path()), SECRET), "{record:?}");
    }
    desk.crash();
    let kept = reopened(home.path());
    assert_eq!(kept.calls, [waiting(first), approved(second)]);
    assert!(!format!("{kept:?}").contains(SECRET));
}

#[test]
fn what_people_are_told_of_survives_a_power_loss() {
    let check = |state, decided_by: &str, expect| {
        let record = CallRecord { state, decided_by: decided_by.into(), ..waiting(CallNumber(1)) };
        assert_eq!(put(&record).must_be_durable(), expect, "{state:?}");
    };
    check(CallState::Reserved, "", false);
    check(CallState::Intent, "", false);
    check(CallState::Settled, "", false);
    check(CallState::Settled, "cli", true);
    for state in [CallState::Waiting, CallState::Approved, CallState::Denied, CallState::Expired, CallState::Unknown] {
        check(state, "", true);
    }
    assert!(!Job::DropCall(CallNumber(1)).must_be_durable());
    assert!(Job::ForgetGrants { which: Grants::default(), note: None }.must_be_durable());
    assert!(Job::PutPins { pins: Vec::new(), note: None }.must_be_durable());
}

#[test]
fn values_are_gone_when_nothing_needs_them() {
    for state in [CallState::Settled, CallState::Denied, CallState::Expired] {
        let home = tempfile::tempdir().unwrap();
        let mut desk = Desk::open(home.path());
        let call = next(&mut desk);
        do_job(&desk, put(&waiting(call)));
        let ended = CallRecord { state, ended_ms: NOW + 9, ..approved(call) };
        do_job(&desk, put(&ended));
        assert!(!holds(&bytes_of(home.path()), SECRET), "{state:?}");
        let conn = rusqlite::Connection::open(home.path().join(DATABASE)).unwrap();
        let sealed: i64 =
            conn.query_row("SELECT count(arguments) + count(edited) FROM calls", [], |row| row.get(0)).unwrap();
        assert_eq!(sealed, 0, "{state:?}");
        drop(conn);
        desk.stop();
        assert!(!holds(&bytes_of(home.path()), SECRET));
        let expect = match state {
            CallState::Settled => CallRecord {
                state,
                asked: ended.asked,
                key: ended.key,
                ended_ms: NOW + 9,
                ..CallRecord::new(call, "", "", "", 0)
            },
            _ => CallRecord { arguments: None, edited: None, ..ended },
        };
        assert_eq!(reopened(home.path()).calls, [expect]);
    }
}

#[test]
fn erased_values_do_not_linger_in_the_file() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let call = next(&mut desk);
    // Over several pages, so that whole pages become free.
    let long = CallRecord { arguments: Some(vec![b'x'; 40_000].into()), ..waiting(call) };
    do_job(&desk, put(&long));
    let conn = rusqlite::Connection::open(home.path().join(DATABASE)).unwrap();
    let sealed: Vec<u8> = conn.query_row("SELECT arguments FROM calls", [], |row| row.get(0)).unwrap();
    drop(conn);
    do_job(&desk, Job::DropCall(call));
    desk.stop();
    let file = std::fs::read(home.path().join(DATABASE)).unwrap();
    for piece in sealed.chunks_exact(64).step_by(16) {
        assert!(!file.windows(64).any(|window| window == piece));
    }
    assert_eq!(reopened(home.path()).calls, []);
}

#[test]
fn what_cannot_be_unsealed_is_told_and_stays() {
    let check = |change: fn(&Path)| {
        let home = tempfile::tempdir().unwrap();
        let mut desk = Desk::open(home.path());
        let call = next(&mut desk);
        do_job(&desk, put(&approved(call)));
        desk.stop();
        change(home.path());
        let desk = Desk::open(home.path());
        let found = desk.opened.kept.calls.clone();
        let expect = CallRecord { arguments: None, is_unreadable: true, ..approved(call) };
        let edited = found[0].edited.clone();
        assert_eq!(found, [CallRecord { edited, ..expect.clone() }]);
        // The hub says again how it stands: what is sealed is not lost by that.
        do_job(&desk, put(&CallRecord { state: CallState::Waiting, ..found[0].clone() }));
        desk.stop();
        assert!(reopened(home.path()).calls[0].is_unreadable);
    };
    check(|home| std::fs::remove_file(home.join(SEAL_FILE)).unwrap());
    check(|home| std::fs::write(home.join(SEAL_FILE), "11".repeat(32)).unwrap());
    check(|home| {
        let conn = rusqlite::Connection::open(home.join(DATABASE)).unwrap();
        conn.execute("UPDATE calls SET arguments = x'0102030405'", []).unwrap();
    });
    check(|home| {
        // Those of another call do not fit.
        let conn = rusqlite::Connection::open(home.join(DATABASE)).unwrap();
        conn.execute("UPDATE calls SET arguments = edited", []).unwrap();
    });
}

#[test]
fn a_key_file_that_holds_no_key_stops_the_start() {
    let home = tempfile::tempdir().unwrap();
    Desk::open(home.path()).stop();
    std::fs::write(home.path().join(SEAL_FILE), "soup").unwrap();
    assert!(matches!(Desk::try_open(home.path(), options()), Err(StoreFault::KeyUnreadable { .. })));
}

/// Which of the two ways a keyed call's end is told comes first.
#[test]
fn a_settled_call_has_its_result_whatever_comes_first() {
    for end_first in [true, false] {
        let home = tempfile::tempdir().unwrap();
        let mut desk = Desk::open(home.path());
        let (call, _) = desk.intend();
        do_job(&desk, put(&CallRecord { state: CallState::Intent, ..approved(call) }));
        let mark = desk.opened.flight.mark(call).unwrap();
        let result = Bytes::from(format!(r#"{{"content":"{SECRET}"}}"#));
        let job = Job::EndCall { call, outcome: Outcome::Ok, ended_ms: NOW + 300, result: Some(result.clone()) };
        if end_first {
            desk.end(call, Some(mark));
            desk.settle().unwrap();
            do_job(&desk, job);
        } else {
            do_job(&desk, job);
            desk.end(call, Some(mark));
            desk.settle().unwrap();
        }
        assert_eq!(desk.opened.vault.result(call).unwrap(), Some(result));
        assert_eq!(desk.opened.vault.result(call.next()).unwrap(), None);
        assert!(!holds(&bytes_of(home.path()), SECRET));
        desk.stop();
        let kept = reopened(home.path()).calls;
        assert_eq!((kept[0].state, kept[0].outcome, kept[0].has_result), (CallState::Settled, Outcome::Ok, true));
        assert_eq!((&kept[0].arguments, kept[0].ended_ms, kept.len()), (&None, 1_790_000_000_300, 1));
    }
}

/// A call with a record is declared, sent and ended with the result `{}`; its end row comes before its result or after.
fn run(desk: &mut Desk, call: CallNumber, end_first: bool) {
    let ledger = &mut desk.opened.ledger;
    let _ = ledger.push(&Entry::new(call, Kind::Intent, NOW));
    ledger.flush();
    desk.settled();
    let mark = desk.opened.flight.mark(call).unwrap();
    let job = Job::EndCall { call, outcome: Outcome::Ok, ended_ms: NOW, result: Some(Bytes::from_static(b"{}")) };
    if end_first {
        desk.end(call, Some(mark));
        desk.settle().unwrap();
        do_job(desk, job);
    } else {
        do_job(desk, job);
        desk.end(call, Some(mark));
        desk.settle().unwrap();
    }
}

#[test]
fn a_call_without_a_key_leaves_no_record() {
    for end_first in [true, false] {
        let home = tempfile::tempdir().unwrap();
        let mut desk = Desk::open(home.path());
        let call = next(&mut desk);
        do_job(&desk, put(&CallRecord { key: None, ..approved(call) }));
        run(&mut desk, call, end_first);
        assert_eq!(desk.opened.vault.result(call).unwrap(), None);
        desk.stop();
        assert_eq!(reopened(home.path()).calls, []);
    }
}

#[test]
fn what_a_task_ended_with_is_kept_with_its_record() {
    for end_first in [true, false] {
        let home = tempfile::tempdir().unwrap();
        let mut desk = Desk::open(home.path());
        let call = next(&mut desk);
        let task = CallRecord { key: None, task: Some("t1".into()), method: Method::PromptGet, ..approved(call) };
        do_job(&desk, put(&task));
        run(&mut desk, call, end_first);
        assert_eq!(desk.opened.vault.result(call).unwrap().as_deref(), Some(&b"{}"[..]));
        desk.crash();
        let (arguments, edited) = (None, None);
        let (state, outcome, ended_ms) = (CallState::Settled, Outcome::Ok, NOW);
        let expect = CallRecord { state, outcome, ended_ms, arguments, edited, has_result: true, ..task };
        assert_eq!(reopened(home.path()).calls, [expect]);
    }
}

#[test]
fn jobs_of_the_ledger_are_done_in_order_with_its_rows() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let call = next(&mut desk);
    let ledger = &mut desk.opened.ledger;
    assert_eq!(ledger.submit(put(&CallRecord { state: CallState::Reserved, ..waiting(call) }), None), Due::Soon);
    assert_eq!(ledger.push(&Entry::new(call, Kind::Intent, NOW)), Due::Now);
    ledger.flush();
    desk.settled();
    let mark = desk.opened.flight.mark(call).unwrap();
    desk.end(call, Some(mark));
    let ledger = &mut desk.opened.ledger;
    let result = Some(Bytes::from_static(b"{\"content\":[]}"));
    let end = Job::EndCall { call, outcome: Outcome::Ok, ended_ms: NOW, result };
    assert_eq!(ledger.submit(end, None), Due::Already);
    assert_eq!(ledger.submit(put(&waiting(call.next())), None), Due::Now, "somebody is told of it");
    let note = Note { call: call.next(), outcome: Outcome::Pending, ..Note::new(Kind::Asked, NOW) };
    let asked = Job::PutCall { record: Box::new(waiting(call.next())), note: Some(note) };
    assert_eq!(ledger.submit(asked, None), Due::Now);
    desk.settle().unwrap();
    desk.crash();
    let kept = reopened(home.path()).calls;
    let states: Vec<_> = kept.iter().map(|record| (record.state, record.has_result)).collect();
    assert_eq!(states, [(CallState::Settled, true), (CallState::Waiting, false)]);
    assert_eq!(kinds(home.path())[..4], ["start", "intent", "end", "asked"]);
}

#[test]
fn the_oldest_results_go_first_and_their_records_stay() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    do_job(&desk, Job::MostResults(1000));
    let mut calls = Vec::new();
    for bytes in [300, 300, 300, 500, 2000, 10] {
        let call = next(&mut desk);
        do_job(&desk, put(&CallRecord { state: CallState::Intent, ..waiting(call) }));
        let result = Some(Bytes::from(vec![b'x'; bytes]));
        do_job(&desk, Job::EndCall { call, outcome: Outcome::Ok, ended_ms: NOW, result });
        calls.push(call);
    }
    let has: Vec<bool> = calls.iter().map(|&call| desk.opened.vault.result(call).unwrap().is_some()).collect();
    assert_eq!(has, [false, false, true, true, false, true]);
    do_job(&desk, Job::DropCall(calls[3]));
    let call = next(&mut desk);
    do_job(&desk, put(&CallRecord { state: CallState::Intent, ..waiting(call) }));
    let result = Some(Bytes::from(vec![b'x'; 500]));
    do_job(&desk, Job::EndCall { call, outcome: Outcome::Ok, ended_ms: NOW, result });
    assert!(desk.opened.vault.result(calls[2]).unwrap().is_some(), "there was room again");
    desk.stop();
    let kept = reopened(home.path()).calls;
    let has: Vec<bool> = kept.iter().map(|record| record.has_result).collect();
    assert_eq!(has, [false, false, true, false, true, true]);
}

#[test]
fn a_freed_call_with_an_open_intent_still_gets_its_end() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let (call, _) = desk.intend();
    do_job(&desk, put(&CallRecord { state: CallState::Intent, ..approved(call) }));
    do_job(&desk, Job::DropCall(call));
    desk.crash();
    let desk = Desk::open(home.path());
    assert_eq!((desk.opened.kept.calls.len(), desk.opened.recovered.len()), (0, 1));
    desk.stop();
    assert_eq!(kinds(home.path())[..3], ["start", "intent", "end"]);
}

#[test]
fn records_are_kept_for_their_time() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let home = tempfile::tempdir().unwrap();
    let at = || Options { clock: || CLOCK.load(Ordering::Relaxed), ..options() };
    let mut desk = Desk::try_open(home.path(), at()).unwrap();
    let put_as = |desk: &mut Desk, state| {
        let call = next(desk);
        do_job(desk, put(&CallRecord { state, ended_ms: NOW, decided_ms: 0, ..approved(call) }));
        call
    };
    let settled = put_as(&mut desk, CallState::Intent);
    let result = Some(Bytes::from_static(b"{}"));
    do_job(&desk, Job::EndCall { call: settled, outcome: Outcome::Ok, ended_ms: NOW, result });
    let denied = put_as(&mut desk, CallState::Denied);
    let expired = put_as(&mut desk, CallState::Expired);
    let open = put_as(&mut desk, CallState::Waiting);
    let unknown = put_as(&mut desk, CallState::Unknown);
    let left = |desk: &Desk| {
        do_job(desk, Job::Chores);
        let conn = rusqlite::Connection::open(home.path().join(DATABASE)).unwrap();
        let mut select = conn.prepare("SELECT call FROM calls ORDER BY call").unwrap();
        let calls = select.query_map([], |row| row.get::<_, i64>(0)).unwrap();
        calls.map(|call| CallNumber(call.unwrap() as u64)).collect::<Vec<_>>()
    };
    let hours = |hours: u64| CLOCK.store(NOW + hours * 3_600_000, Ordering::Relaxed);
    assert_eq!(left(&desk), [settled, denied, expired, open, unknown]);
    hours(24);
    assert_eq!(left(&desk), [settled, denied, expired, open, unknown]);
    hours(25);
    assert_eq!(left(&desk), [open, unknown], "an open one and an unknown one wait for a person, however long");
    assert_eq!(desk.opened.vault.result(settled).unwrap(), None);
    // A start sweeps too.
    hours(0);
    let again = put_as(&mut desk, CallState::Denied);
    desk.stop();
    hours(25);
    let desk = Desk::try_open(home.path(), at()).unwrap();
    assert_eq!(left(&desk), [open, unknown]);
    assert!(again > unknown);
    desk.stop();
}

#[test]
fn pins_and_grants_come_back() {
    let home = tempfile::tempdir().unwrap();
    let desk = Desk::open(home.path());
    let pin = |name: &str, kind, text: Option<&str>| Pin {
        server: "shop".into(),
        launch: "sha256:1".into(),
        kind,
        name: name.into(),
        hash: Hash::of(name.as_bytes()),
        effect: (kind == PinKind::Tool).then_some(policy::Effect::Write),
        raw: text.map(str::to_owned),
        at_ms: NOW,
        how: PinHow::Person,
    };
    let grant = |tool: &str, session: Option<&str>| policy::Grant {
        client: "cursor".into(),
        server: "shop".into(),
        launch: "sha256:1".into(),
        tool: tool.into(),
        definition: Hash::of(b"d"),
        effect: policy::Effect::Destructive,
        session: session.map(Into::into),
        at_ms: NOW,
        by: "a person (pid 7)".into(),
        call: session.map(|_| contract::CallId::new(7)),
    };
    let note = || Some(Note { server: "shop".into(), ..Note::new(Kind::Pin, NOW) });
    let tool = pin("a", PinKind::Tool, Some("{\"name\":\"a\"}"));
    let instructions = pin("", PinKind::Instructions, Some("be nice"));
    let newer = Pin { hash: Hash::of(b"newer"), raw: Some("{}".into()), ..tool.clone() };
    do_job(&desk, Job::PutPins { pins: vec![tool.clone(), instructions.clone()], note: note() });
    do_job(&desk, Job::PutPins { pins: vec![newer.clone()], note: None });
    // Approved once more, without its text: the newest again, with the text that is there.
    do_job(&desk, Job::PutPins { pins: vec![Pin { raw: None, ..tool.clone() }], note: None });
    for grant in [grant("a", None), grant("a", Some("s1")), grant("b", Some("s1")), grant("b", Some("s2"))] {
        do_job(&desk, Job::Remember { grant, note: None });
    }
    let which = Grants { session: Some("s1".into()), ..Grants::default() };
    do_job(&desk, Job::ForgetGrants { which, note: Some(Note::new(Kind::Grant, NOW)) });
    // By the call that was approved, and those of which it is not known.
    for (tool, call) in [("c", Some(8)), ("c", None), ("d", None)] {
        let grant = policy::Grant { call: call.map(contract::CallId::new), ..grant(tool, Some(&format!("s{call:?}"))) };
        do_job(&desk, Job::Remember { grant, note: None });
    }
    for (tool, call) in [("c", 8), ("d", 0)] {
        let which = Grants { tool: Some(tool.into()), call: Some(CallNumber(call)), ..Grants::default() };
        do_job(&desk, Job::ForgetGrants { which, note: None });
    }
    let vault = desk.opened.vault.clone();
    let texts = vault.approved("shop", "sha256:1", PinKind::Tool, "a").unwrap();
    assert_eq!(texts, [(newer.hash, "{}".to_owned()), (tool.hash, "{\"name\":\"a\"}".to_owned())]);
    assert_eq!(vault.approved("shop", "sha256:2", PinKind::Tool, "a").unwrap(), []);
    desk.stop();
    let kept = reopened(home.path());
    assert_eq!(kept.pins, [Pin { raw: None, ..newer }, Pin { raw: None, ..tool }, Pin { raw: None, ..instructions }]);
    let old = policy::Grant { call: None, ..grant("c", Some("sNone")) };
    assert_eq!(kept.grants, [grant("a", None), grant("b", Some("s2")), old]);
    assert_eq!(kinds(home.path())[..3], ["start", "pin", "grant"]);

    let desk = Desk::open(home.path());
    do_job(&desk, Job::DropPins { server: "shop".into() });
    do_job(&desk, Job::ForgetGrants { which: Grants::default(), note: None });
    assert_eq!(desk.opened.vault.approved("shop", "sha256:1", PinKind::Tool, "a").unwrap(), []);
    desk.stop();
    let kept = reopened(home.path());
    assert_eq!((kept.pins.len(), kept.grants.len()), (0, 0));
}

#[test]
fn of_one_entry_the_newest_eight_texts_stay_and_so_of_remembered_approvals() {
    let home = tempfile::tempdir().unwrap();
    let desk = Desk::open(home.path());
    let hash = |n: u64| Hash::of(&n.to_be_bytes());
    for n in 0..12 {
        let pin = Pin {
            server: "shop".into(),
            launch: "sha256:1".into(),
            kind: PinKind::Tool,
            name: "a".into(),
            hash: hash(n),
            effect: Some(policy::Effect::Write),
            raw: Some(n.to_string()),
            at_ms: NOW + n,
            how: PinHow::Person,
        };
        let grant = policy::Grant {
            client: "cursor".into(),
            server: "shop".into(),
            launch: "sha256:1".into(),
            tool: "a".into(),
            definition: hash(n),
            effect: policy::Effect::Write,
            session: None,
            at_ms: NOW + n,
            by: "".into(),
            call: None,
        };
        do_job(&desk, Job::PutPins { pins: vec![pin], note: None });
        do_job(&desk, Job::Remember { grant, note: None });
    }
    let texts = desk.opened.vault.approved("shop", "sha256:1", PinKind::Tool, "a").unwrap();
    let newest: Vec<(Hash, String)> = (4..12).map(|n| (hash(n), n.to_string())).collect();
    assert_eq!(texts, newest);
    desk.stop();
    let kept = reopened(home.path());
    assert_eq!(kept.pins.iter().map(|pin| pin.hash).collect::<Vec<_>>(), (4..12).map(hash).collect::<Vec<_>>());
    assert_eq!(kept.grants.iter().map(|it| it.definition).collect::<Vec<_>>(), (4..12).map(hash).collect::<Vec<_>>());
}
