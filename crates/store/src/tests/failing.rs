//! A database that can't be written: told at once, guards refused, rows kept, and all well again when it can.

use super::*;

fn check(break_it: &'static str, mend_it: &'static str, cause: Cause) {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let (first, result) = desk.intend();
    result.unwrap();
    desk.end(first, None);
    desk.settle().unwrap();
    assert_eq!(desk.opened.committer.state(), AuditState::Ok);

    let broken = desk.opened.committer.submit_and_wait(Job::Pragma(break_it));
    assert!(broken.is_ok() || broken == Err(JobFault::Unavailable(cause)), "{broken:?}");
    let mut refused = Vec::new();
    let mut reads = 0;
    while refused.is_empty() {
        // A page or two may still have room.
        for _ in 0..100 {
            desk.read("read_text_file", r#"{"path":"x"}"#);
            reads += 1;
        }
        let (call, result) = desk.intend();
        match result {
            Ok(()) => desk.end(call, None),
            Err(told) => {
                assert_eq!(told, cause);
                refused.push(call);
            }
        }
        assert!(reads < 100_000, "it never fails");
    }
    assert_eq!(desk.opened.committer.state(), AuditState::Unavailable(cause));
    assert_eq!(desk.settle(), Err(JobFault::Unavailable(cause)));

    desk.opened.committer.submit_and_wait(Job::Pragma(mend_it)).unwrap();
    assert_eq!(desk.opened.committer.state(), AuditState::Ok);
    let (call, result) = desk.intend();
    result.unwrap();
    desk.end(call, None);
    desk.stop();

    let reader = Reader::open(home.path()).unwrap();
    assert_eq!(reader.verify().unwrap().broken, None);
    assert!(reader.call(refused[0]).unwrap().is_empty(), "a refused intent is not in the log");
    assert_eq!(reader.call(call).unwrap().len(), 2);
    let conn = rusqlite::Connection::open(home.path().join(crate::places::DATABASE)).unwrap();
    let kept: u64 = conn
        .query_row("SELECT count(*) FROM audit JOIN facets ON facets.id = facet WHERE kind = 1", [], |row| {
            row.get::<_, i64>(0)
        })
        .unwrap() as u64;
    assert_eq!(kept, reads, "reads were kept and written later");
    let open: i64 = conn.query_row("SELECT count(*) FROM calls WHERE state = 1", [], |row| row.get(0)).unwrap();
    assert_eq!(open, 0);
}

#[test]
fn a_full_disk() {
    check("PRAGMA max_page_count=1", "PRAGMA max_page_count=1000000", Cause::DiskFull);
}

#[test]
fn a_read_only_database() {
    check("PRAGMA query_only=1", "PRAGMA query_only=0", Cause::ReadOnly);
}

#[test]
fn what_finds_no_room_while_it_fails_is_counted_in_a_gap_row() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let _ = desk.opened.committer.submit_and_wait(Job::Pragma("PRAGMA query_only=1"));
    for _ in 0..40 {
        for _ in 0..10 {
            desk.read("read_text_file", "{}");
        }
        assert!(desk.settle().is_err());
    }
    desk.opened.committer.submit_and_wait(Job::Pragma("PRAGMA query_only=0")).unwrap();
    desk.stop();
    let findings = Reader::open(home.path()).unwrap().verify().unwrap();
    assert_eq!(findings.broken, None);
    assert_eq!(findings.gaps.len(), 1);
    let gap = whole_log(home.path()).into_iter().find(|row| row.kind == "gap").unwrap();
    assert_eq!(gap.detail, r#"{"reason":"not written","rows":80,"jobs":0}"#);
}

#[test]
fn who_waits_for_a_record_or_a_pin_is_told_why_it_was_not_written() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let (first, second) = (desk.opened.ledger.next_call(), desk.opened.ledger.next_call());
    do_job(&desk, put(&waiting(first)));
    let _ = desk.opened.committer.submit_and_wait(Job::Pragma("PRAGMA query_only=1"));
    let pin = Pin {
        server: "shop".into(),
        launch: "l".into(),
        kind: PinKind::Launch,
        name: String::new(),
        hash: Hash::of(b"x"),
        effect: None,
        raw: Some("shop-mcp".into()),
        at_ms: NOW,
        how: PinHow::FirstUse,
    };
    let grants = || Job::ForgetGrants { which: Grants::default(), note: None };
    let jobs = [put(&approved(first)), Job::PutPins { pins: vec![pin], note: None }, grants()];
    let refused = Err(JobFault::Unavailable(Cause::ReadOnly));
    for job in jobs {
        assert_eq!(desk.opened.committer.submit_and_wait(job.clone()), refused);
        let (tell, told) = sync_channel(1);
        assert_eq!(desk.opened.ledger.submit(job, Some(Box::new(move |end| tell.send(end).unwrap()))), Due::Now);
        desk.opened.ledger.flush();
        assert_eq!(told.recv().unwrap(), refused);
    }
    // Nobody waits for these: they are kept, in order with the rows around them, the void intent left out.
    let intent = desk.announce();
    desk.read("read_text_file", "{}");
    let _ = desk.opened.ledger.submit(put(&waiting(second)), None);
    let _ = desk.opened.ledger.submit(Job::Note(Note::new(Kind::Setting, NOW)), None);
    desk.read("read_text_file", "{}");
    desk.opened.committer.submit(Job::DropCall(first), None);
    assert!(desk.settle().is_err());
    assert_eq!(desk.settled(), [Settled { call: intent, result: Err(Cause::ReadOnly) }]);
    desk.opened.committer.submit_and_wait(Job::Pragma("PRAGMA query_only=0")).unwrap();
    desk.crash();
    let desk = Desk::open(home.path());
    assert_eq!(desk.opened.kept.calls, [waiting(second)], "the approval was refused, the rest was done later");
    assert_eq!((desk.opened.kept.pins.len(), desk.opened.recovered.len()), (0, 0));
    desk.stop();
    assert_eq!(kinds(home.path())[..4], ["start", "read", "setting", "read"]);
    assert_eq!(Reader::open(home.path()).unwrap().verify().unwrap().broken, None);
}

#[test]
fn jobs_that_find_no_room_while_it_fails_are_counted() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let _ = desk.opened.committer.submit_and_wait(Job::Pragma("PRAGMA query_only=1"));
    for _ in 0..40 {
        desk.opened.committer.submit(Job::Note(Note::new(Kind::Setting, NOW)), None);
        assert!(desk.settle().is_err());
    }
    desk.opened.committer.submit_and_wait(Job::Pragma("PRAGMA query_only=0")).unwrap();
    desk.stop();
    let gap = whole_log(home.path()).into_iter().find(|row| row.kind == "gap").unwrap();
    assert_eq!(gap.detail, r#"{"reason":"not written","rows":0,"jobs":8}"#);
}

/// A lock of somebody else is waited for, then told; no row is lost by it.
#[test]
fn a_locked_database() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    do_job(&desk, Job::Pragma("PRAGMA busy_timeout=20"));
    let other = rusqlite::Connection::open(home.path().join(crate::places::DATABASE)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    desk.read("read_text_file", "{}");
    let (refused, result) = desk.intend();
    assert_eq!(result, Err(Cause::Locked));
    let call = desk.opened.ledger.next_call();
    let told = desk.opened.committer.submit_and_wait(put(&waiting(call)));
    assert_eq!(told, Err(JobFault::Unavailable(Cause::Locked)));
    assert_eq!(desk.opened.committer.state(), AuditState::Unavailable(Cause::Locked));
    other.execute_batch("ROLLBACK").unwrap();
    do_job(&desk, put(&waiting(call)));
    assert_eq!(desk.opened.committer.state(), AuditState::Ok);
    desk.stop();
    assert_eq!(kinds(home.path()), ["start", "read", "stop"]);
    assert!(Reader::open(home.path()).unwrap().call(refused).unwrap().is_empty());
}

/// Who reads, however long, holds up no row, and sees no half of a transaction.
#[test]
fn readers_hold_up_nothing() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let reader = Reader::open(home.path()).unwrap();
    let other = rusqlite::Connection::open(home.path().join(crate::places::DATABASE)).unwrap();
    // A reading transaction that stays open over all of it.
    other.execute_batch("BEGIN").unwrap();
    let count = || other.query_row("SELECT count(*) FROM audit", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count(), 1);
    for round in 1..=50 {
        for _ in 0..20 {
            desk.read("read_text_file", "{}");
        }
        let (call, result) = desk.intend();
        result.unwrap();
        desk.end(call, None);
        desk.settle().unwrap();
        assert_eq!(reader.page(&Filter::default(), 1).unwrap()[0].seq, 1 + round * 22);
        assert_eq!(reader.counts(&Filter::default()).unwrap().calls, round * 21);
    }
    assert_eq!(count(), 1);
    drop(other);
    desk.stop();
    assert_eq!(Reader::open(home.path()).unwrap().verify().unwrap().rows, 1 + 50 * 22 + 1);
}

#[cfg(unix)]
#[test]
fn a_database_that_is_gone_from_its_place() {
    let check = |take_away: fn(&Path)| {
        let home = tempfile::tempdir().unwrap();
        let mut desk = Desk::open(home.path());
        let (first, result) = desk.intend();
        result.unwrap();
        desk.end(first, None);
        desk.settle().unwrap();
        take_away(&home.path().join(crate::places::DATABASE));
        let (_, result) = desk.intend();
        assert_eq!(result, Err(Cause::Gone));
        assert_eq!(desk.opened.committer.state(), AuditState::Unavailable(Cause::Gone));
    };
    check(|file| std::fs::remove_file(file).unwrap());
    check(|file| std::fs::rename(file, file.with_extension("old")).unwrap());
    check(|file| {
        let copy = file.with_extension("copy");
        std::fs::copy(file, &copy).unwrap();
        std::fs::rename(copy, file).unwrap();
    });
    check(|file| std::fs::remove_dir_all(file.parent().unwrap()).unwrap());
}
