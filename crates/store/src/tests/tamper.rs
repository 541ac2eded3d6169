//! What somebody does to the log behind our back is found, and the row named.

use super::*;
use crate::anchor::ANCHOR_FILE;
use crate::places::DATABASE;
use rusqlite::Connection;

/// A log of start (1), reads (2 to 9) and stop (10).
fn log() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    for number in 0..8 {
        desk.read("read_text_file", &format!("{{\"path\":\"{number}\"}}"));
    }
    desk.settle().unwrap();
    desk.stop();
    home
}

fn check(sql: &str, expect: Option<Break>) {
    let home = log();
    Connection::open(home.path().join(DATABASE)).unwrap().execute_batch(sql).unwrap();
    let findings = Reader::open(home.path()).unwrap().verify().unwrap();
    assert_eq!(findings.broken, expect, "{sql}");
}

#[test]
fn every_column_is_covered() {
    check("", None);
    let changed = |row| Some(Break::Changed { row });
    let columns = "call at facet args_bytes result_bytes checked_us held_us queued_us ran_us answered_us";
    for column in columns.split(' ') {
        check(&format!("UPDATE audit SET {column} = {column} + 1 WHERE seq = 4"), changed(4));
        check(&format!("UPDATE audit SET {column} = -5 WHERE seq = 4"), changed(4));
    }
    // The facet of rows 2 to 9.
    for column in ["kind", "method", "effect", "outcome"] {
        check(&format!("UPDATE facets SET {column} = {column} + 1 WHERE id = 2"), changed(2));
        check(&format!("UPDATE facets SET {column} = -5 WHERE id = 2"), changed(2));
    }
    for column in ["client", "server", "item", "definition"] {
        check(&format!("UPDATE facets SET {column} = 0 WHERE id = 2"), changed(2));
    }
    for column in ["client", "server", "item", "definition", "detail"] {
        check(&format!("UPDATE facets SET {column} = 99 WHERE id = 2"), changed(2));
    }
    check("DELETE FROM facets WHERE id = 2", changed(2));
    check("UPDATE audit SET stranger = x'00' WHERE seq = 3", changed(3));
    check("UPDATE audit SET shape = x'' WHERE seq = 3", changed(3));
    check("UPDATE names SET text = '{}' WHERE text LIKE '%version%'", changed(1));
    check("UPDATE audit SET chain = zeroblob(32) WHERE seq = 3", changed(3));
    check("UPDATE audit SET chain = x'' WHERE seq = 10", changed(10));
    check("UPDATE names SET text = 'other' WHERE text = 'files'", changed(2));
    check("DELETE FROM names WHERE text = 'files'", changed(2));
}

#[test]
fn deleted_inserted_and_swapped_rows_are_found() {
    check("DELETE FROM audit WHERE seq = 6", Some(Break::Missing { expected: 6, found: 7 }));
    check("DELETE FROM audit WHERE seq = 1", Some(Break::Missing { expected: 1, found: 2 }));
    let closed_up = "DELETE FROM audit WHERE seq = 6; UPDATE audit SET seq = seq - 1 WHERE seq > 6";
    check(closed_up, Some(Break::Changed { row: 6 }));
    let swapped = "UPDATE audit SET seq = 100 WHERE seq = 4; UPDATE audit SET seq = 4 WHERE seq = 5;
                   UPDATE audit SET seq = 5 WHERE seq = 100";
    check(swapped, Some(Break::Changed { row: 4 }));
    check("UPDATE audit SET seq = 11 WHERE seq = 10", Some(Break::Missing { expected: 10, found: 11 }));
}

#[test]
fn a_cut_end_is_found_by_the_anchor() {
    check("DELETE FROM audit WHERE seq > 7", Some(Break::CutOff { anchored: 10, last: 7 }));
    check("DELETE FROM audit", Some(Break::CutOff { anchored: 10, last: 0 }));
}

#[test]
fn a_missing_anchor_is_no_anchor_and_a_broken_one_an_error() {
    let home = log();
    std::fs::write(home.path().join(ANCHOR_FILE), "soup").unwrap();
    assert!(matches!(
        Reader::open(home.path()).unwrap().verify(),
        Err(ReadFault::Store(StoreFault::Unreadable { .. }))
    ));
    assert!(matches!(Desk::try_open(home.path(), options()), Err(StoreFault::Unreadable { .. })));
    std::fs::remove_file(home.path().join(ANCHOR_FILE)).unwrap();
    assert_eq!(Reader::open(home.path()).unwrap().verify().unwrap().broken, Some(Break::AnchorAbsent));
    let desk = Desk::open(home.path());
    assert_eq!(desk.opened.trust, Trust::AnchorAbsent);
    desk.stop();
    assert!(!home.path().join(ANCHOR_FILE).exists(), "the evidence stays until a person accepts");
}

#[test]
fn an_older_file_is_found_at_start_and_goes_on_only_when_accepted() {
    let home = log();
    let database = home.path().join(DATABASE);
    let old = std::fs::read(&database).unwrap();
    let mut desk = Desk::open(home.path());
    assert_eq!(desk.opened.trust, Trust::Whole);
    desk.read("read_text_file", "{}");
    desk.settle().unwrap();
    desk.stop();
    let anchor = std::fs::read(home.path().join(ANCHOR_FILE)).unwrap();

    std::fs::write(&database, &old).unwrap();
    let mut desk = Desk::open(home.path());
    assert_eq!(desk.opened.trust, Trust::Behind { anchored: 13, last: 10 });
    let restored = Reader::open(home.path()).unwrap().verify().unwrap();
    assert!(restored.broken.as_ref().unwrap().is_rollback(), "{restored:?}");
    assert!(restored.accept.as_ref().unwrap().starts_with("13-"), "{restored:?}");
    for _ in 0..5 {
        desk.read("read_text_file", "{}");
    }
    desk.settle().unwrap();
    desk.stop();
    assert_eq!(std::fs::read(home.path().join(ANCHOR_FILE)).unwrap(), anchor);
    let verify = || Reader::open(home.path()).unwrap().verify().unwrap();
    assert_eq!(verify().broken, Some(Break::OtherHistory { anchored: 13 }));
    assert_eq!(verify().accept, restored.accept, "the same while the log grows");

    let desk = Desk::open(home.path());
    assert_eq!(desk.opened.trust, Trust::Differs { anchored: 13 });
    desk.opened.committer.submit_and_wait(Job::AcceptEpoch).unwrap();
    desk.stop();
    let findings = verify();
    assert_eq!((findings.broken, findings.epochs.len(), findings.accept), (None, 1, None));
    let epoch = whole_log(home.path()).into_iter().find(|row| row.kind == "epoch").unwrap();
    assert!(epoch.detail.contains("\"anchored\":13"), "{}", epoch.detail);
    assert_eq!(Desk::open(home.path()).opened.trust, Trust::Whole);
}

#[test]
fn a_lost_database_with_an_anchor_is_not_a_new_home() {
    let home = log();
    std::fs::remove_file(home.path().join(DATABASE)).unwrap();
    let desk = Desk::open(home.path());
    assert_eq!((desk.opened.found, desk.opened.trust), (Found::Absent, Trust::Behind { anchored: 10, last: 0 }));
    desk.stop();
}

#[test]
fn a_damaged_page_is_never_a_whole_log() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    for _ in 0..500 {
        desk.read("read_text_file", "{}");
    }
    desk.settle().unwrap();
    desk.stop();
    let path = home.path().join(DATABASE);
    let whole = std::fs::read(&path).unwrap();
    let pages: Vec<usize> = Connection::open(&path)
        .unwrap()
        .prepare("SELECT pageno FROM dbstat WHERE name IN ('audit', 'names', 'facets')")
        .unwrap()
        .query_map([], |row| row.get::<_, i64>(0).map(|page| page as usize))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(pages.len() > 10, "{pages:?}");
    for page in pages {
        let mut damaged = whole.clone();
        damaged[(page - 1) * 4096..page * 4096].fill(0xa5);
        std::fs::write(&path, damaged).unwrap();
        let verdict = Reader::open(home.path()).and_then(|reader| reader.verify());
        assert!(verdict.is_err() || verdict.is_ok_and(|findings| findings.broken.is_some()), "page {page}");
    }
}

#[test]
fn anchors_follow_the_log_while_it_grows() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::try_open(home.path(), Options { anchor_every: Duration::ZERO, ..options() }).unwrap();
    for _ in 0..3 {
        desk.read("read_text_file", "{}");
        desk.settle().unwrap();
    }
    // The third settle may be anchored just after it is told; the second's anchor was set before the third began.
    let anchored = Reader::open(home.path()).unwrap().verify().unwrap().anchored.unwrap();
    assert!((3..=4).contains(&anchored), "{anchored}");
    desk.crash();
}
