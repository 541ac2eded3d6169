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
    let open: i64 = conn.query_row("SELECT count(*) FROM calls", [], |row| row.get(0)).unwrap();
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
