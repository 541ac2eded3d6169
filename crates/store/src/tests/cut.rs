//! Retention: old rows go, the rest is proven, and no cut of somebody else passes for one.

use super::*;
use crate::places::DATABASE;
use rusqlite::Connection;
use std::sync::atomic::{AtomicU64, Ordering};

const DAY: u64 = 24 * 60 * 60 * 1000;

fn desk_at(home: &Path, clock: fn() -> u64) -> Desk {
    Desk::try_open(home, Options { clock, ..options() }).unwrap()
}

fn reads_at(desk: &mut Desk, at: u64, rows: u64, tool: &str, why: &str) {
    let ledger = &mut desk.opened.ledger;
    let (client, tool) = (ledger.subject("claude-code"), ledger.tool(tool, "sha256:abc", &[]));
    let detail = ledger.detail(why);
    for _ in 0..rows {
        let call = ledger.next_call();
        let _ = ledger.push(&Entry {
            client: Some(&client),
            item: Item::Known(&tool),
            outcome: Outcome::Ok,
            detail: Detail::Known(&detail),
            ..Entry::new(call, Kind::Read, at)
        });
    }
    desk.settle().unwrap();
}

fn count(home: &Path, table: &str) -> i64 {
    let conn = Connection::open(home.join(DATABASE)).unwrap();
    conn.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

fn verify(home: &Path) -> Findings {
    Reader::open(home).unwrap().verify().unwrap()
}

#[test]
fn whole_old_blocks_go_and_nothing_that_is_not_old() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let home = tempfile::tempdir().unwrap();
    let mut desk = desk_at(home.path(), || CLOCK.load(Ordering::Relaxed));
    // Rows 2 to 1401 on the first day, 1402 to 2001 on the tenth.
    reads_at(&mut desk, NOW, 1400, "old_tool", r#"{"reason":"an old reason"}"#);
    CLOCK.store(NOW + 10 * DAY, Ordering::Relaxed);
    reads_at(&mut desk, NOW + 10 * DAY, 600, "new_tool", r#"{"reason":"a new reason"}"#);
    do_job(&desk, Job::Keep { days: 90 });
    do_job(&desk, Job::Chores);
    assert_eq!((verify(home.path()).cut, count(home.path(), "audit")), (0, 2001));
    do_job(&desk, Job::Keep { days: 5 });
    do_job(&desk, Job::Chores);
    // The block of rows 1024 to 1535 has new rows too: it stays.
    let findings = verify(home.path());
    assert_eq!((findings.broken, findings.cut, findings.first, findings.last), (None, 1023, 1024, 2002));
    assert_eq!((count(home.path(), "audit"), count(home.path(), "blocks")), (2002 - 1023, 1));
    let cut = whole_log(home.path()).pop().unwrap();
    assert_eq!((cut.kind.as_str(), cut.seq), ("cut", 2002));
    assert!(cut.detail.starts_with(r#"{"row":1023,"hash":""#), "{}", cut.detail);
    assert!(cut.detail.ends_with(r#"","days":5}"#), "it says by which number: {}", cut.detail);
    // Cut again, when all of the first day is old: what only it had is forgotten.
    reads_at(&mut desk, NOW + 20 * DAY, 600, "newest_tool", r#"{"reason":"a new reason"}"#);
    CLOCK.store(NOW + 20 * DAY, Ordering::Relaxed);
    assert!(holds(&bytes_of(home.path()), "an old reason"));
    do_job(&desk, Job::Chores);
    let findings = verify(home.path());
    assert_eq!((findings.broken, findings.cut, findings.last), (None, 1535, 2603));
    let reader = Reader::open(home.path()).unwrap();
    let rows = |item: &str| reader.page(&Filter { item: Some(item.into()), ..Filter::default() }, 1000).unwrap().len();
    assert_eq!((rows("old_tool"), rows("new_tool"), rows("newest_tool")), (0, 466, 600));
    let words = |text: &str| reader.page(&Filter { text: Some(text.into()), ..Filter::default() }, 1000).unwrap().len();
    assert_eq!((words("old reason"), words("new reason")), (0, 1000));
    assert_eq!(reader.call(CallNumber(CallNumber::base(1).0 + 1)).unwrap(), []);
    drop(reader);
    desk.stop();
    let conn = Connection::open(home.path().join(DATABASE)).unwrap();
    let old: i64 = conn.query_row("SELECT count(*) FROM names WHERE text LIKE '%old%'", [], |row| row.get(0)).unwrap();
    assert_eq!(old, 0);
    drop(conn);
    // The next run goes on, and names that were forgotten can come back.
    let mut desk = desk_at(home.path(), || CLOCK.load(Ordering::Relaxed));
    assert_eq!(desk.opened.trust, Trust::Whole);
    reads_at(&mut desk, NOW + 20 * DAY, 5, "old_tool", r#"{"reason":"an old reason"}"#);
    desk.stop();
    assert_eq!(verify(home.path()).broken, None);
    assert_eq!(whole_log(home.path()).iter().filter(|row| row.item == "old_tool").count(), 5);
}

#[test]
fn names_that_are_still_registered_are_written_anew_when_they_were_forgotten() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let home = tempfile::tempdir().unwrap();
    let mut desk = desk_at(home.path(), || CLOCK.load(Ordering::Relaxed));
    let ledger = &mut desk.opened.ledger;
    let (quiet, busy) = (ledger.subject("quiet-client"), ledger.subject("busy-client"));
    let push = |desk: &mut Desk, client: &Subject, at| {
        let call = desk.opened.ledger.next_call();
        let _ = desk.opened.ledger.push(&Entry { client: Some(client), ..Entry::new(call, Kind::Read, at) });
    };
    for _ in 0..600 {
        push(&mut desk, &quiet, NOW);
    }
    desk.settle().unwrap();
    CLOCK.store(NOW + 9 * DAY, Ordering::Relaxed);
    for _ in 0..600 {
        push(&mut desk, &busy, NOW + 9 * DAY);
    }
    desk.settle().unwrap();
    // Its rows are in the first two blocks; the second is not all old.
    for (at, cut) in [(NOW + 9 * DAY, 511), (NOW + 19 * DAY, 1023)] {
        CLOCK.store(at, Ordering::Relaxed);
        do_job(&desk, Job::Keep { days: 5 });
        do_job(&desk, Job::Chores);
        assert_eq!(verify(home.path()).cut, cut);
    }
    push(&mut desk, &quiet, NOW + 19 * DAY);
    desk.settle().unwrap();
    assert_eq!(verify(home.path()).broken, None);
    assert_eq!(whole_log(home.path()).pop().unwrap().client, "quiet-client");
    desk.stop();
}

#[test]
fn a_wrong_clock_neither_saves_rows_for_ever_nor_cuts_them_early() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let check = |times: [u64; 4], expect: u64| {
        CLOCK.store(NOW, Ordering::Relaxed);
        let home = tempfile::tempdir().unwrap();
        let mut desk = desk_at(home.path(), || CLOCK.load(Ordering::Relaxed));
        // Rows 2 to 511, 512 to 1023, 1024 to 1535, 1536 to 2047; the start row is the first.
        reads_at(&mut desk, times[0], 510, "a", "");
        for at in &times[1..] {
            reads_at(&mut desk, *at, 512, "a", "");
        }
        reads_at(&mut desk, NOW, 10, "a", "");
        CLOCK.store(NOW + 3 * DAY, Ordering::Relaxed);
        do_job(&desk, Job::Keep { days: 2 });
        do_job(&desk, Job::Chores);
        let findings = verify(home.path());
        assert_eq!((findings.broken, findings.cut), (None, expect), "{times:?}");
        desk.stop();
    };
    let future = NOW + 1000 * DAY;
    check([NOW; 4], 2047);
    check([NOW, NOW, NOW, NOW + 2 * DAY], 1535);
    check([NOW, NOW + 2 * DAY, NOW, NOW], 511);
    check([NOW, future, NOW, NOW], 2047);
    check([NOW, future, NOW + 2 * DAY, NOW], 511);
    check([future, NOW, NOW, future], 1535);
}

#[test]
fn rows_of_an_open_call_stay() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let home = tempfile::tempdir().unwrap();
    let mut desk = desk_at(home.path(), || CLOCK.load(Ordering::Relaxed));
    reads_at(&mut desk, NOW, 600, "a", "");
    let (call, _) = desk.intend();
    reads_at(&mut desk, NOW, 1000, "a", "");
    CLOCK.store(NOW + 3 * DAY, Ordering::Relaxed);
    do_job(&desk, Job::Keep { days: 1 });
    do_job(&desk, Job::Chores);
    assert_eq!(verify(home.path()).cut, 511);
    let mark = desk.opened.flight.mark(call).unwrap();
    desk.end(call, Some(mark));
    desk.settle().unwrap();
    do_job(&desk, Job::Chores);
    assert_eq!(verify(home.path()).cut, 1535);
    desk.stop();
}

#[test]
fn a_log_that_does_not_reach_its_anchor_is_evidence() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let home = cut_log(|| CLOCK.load(Ordering::Relaxed), &CLOCK);
    std::fs::write(home.path().join(crate::anchor::ANCHOR_FILE), format!("{} {}\n", 99_999, "00".repeat(32))).unwrap();
    CLOCK.store(NOW + 90 * DAY, Ordering::Relaxed);
    let desk = desk_at(home.path(), || CLOCK.load(Ordering::Relaxed));
    do_job(&desk, Job::Keep { days: 1 });
    do_job(&desk, Job::Chores);
    assert_eq!(count(home.path(), "audit"), 2003 - 1023 + 1);
    do_job(&desk, Job::AcceptEpoch);
    do_job(&desk, Job::Chores);
    let findings = verify(home.path());
    assert_eq!((findings.broken, findings.cut, findings.epochs.len()), (None, 1535, 1));
    desk.stop();
}

/// A log whose rows 1 to 1023 were cut: then rows 1024 to 2001, the cut row 2002, the stop row 2003.
fn cut_log(clock: fn() -> u64, now: &AtomicU64) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let mut desk = desk_at(home.path(), clock);
    reads_at(&mut desk, NOW, 1400, "old_tool", "");
    now.store(NOW + 10 * DAY, Ordering::Relaxed);
    reads_at(&mut desk, NOW + 10 * DAY, 600, "new_tool", "");
    do_job(&desk, Job::Keep { days: 5 });
    do_job(&desk, Job::Chores);
    desk.stop();
    home
}

#[test]
fn a_cut_of_somebody_else_is_found() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let whole = cut_log(|| CLOCK.load(Ordering::Relaxed), &CLOCK);
    let file = std::fs::read(whole.path().join(DATABASE)).unwrap();
    let check = |sql: &str, expect: Option<Break>| {
        std::fs::write(whole.path().join(DATABASE), &file).unwrap();
        Connection::open(whole.path().join(DATABASE)).unwrap().execute_batch(sql).unwrap();
        assert_eq!(verify(whole.path()).broken, expect, "{sql}");
    };
    let base_at = |row: u64| {
        format!(
            "UPDATE meta SET value = '{row} ' || (SELECT lower(hex(chain)) FROM audit WHERE seq = {row})
                WHERE key = 'base';"
        )
    };
    check("", None);
    // More rows are cut, and the base is put after them.
    check(&format!("{} DELETE FROM audit WHERE seq <= 1100", base_at(1100)), Some(Break::FalseBase { base: 1100 }));
    check(&base_at(1100), Some(Break::FalseBase { base: 1100 }));
    check("DELETE FROM audit WHERE seq <= 1100", Some(Break::Missing { expected: 1024, found: 1101 }));
    // The cut row goes too: the chain and the anchor miss it.
    check(
        &format!("{} DELETE FROM audit WHERE seq <= 1100 OR seq = 2002", base_at(1100)),
        Some(Break::Missing { expected: 2002, found: 2003 }),
    );
    check(
        &format!("{} DELETE FROM audit WHERE seq <= 1100 OR seq >= 2002", base_at(1100)),
        Some(Break::CutOff { anchored: 2003, last: 2001 }),
    );
    let no_anchor = "UPDATE meta SET value = '1' WHERE key = 'anchored'";
    check(
        &format!("{} DELETE FROM audit WHERE seq <= 1100 OR seq >= 2002; {no_anchor}", base_at(1100)),
        Some(Break::FalseBase { base: 1100 }),
    );
    check("DELETE FROM audit WHERE seq >= 2003", Some(Break::CutOff { anchored: 2003, last: 2002 }));
    // The base is moved back, taken away, or no base.
    check(
        "UPDATE meta SET value = '511 ' || substr(value, 6) WHERE key = 'base'",
        Some(Break::Missing { expected: 512, found: 1024 }),
    );
    check(
        "UPDATE meta SET value = substr(value, 1, 5) || hex(zeroblob(32)) WHERE key = 'base'",
        Some(Break::Changed { row: 1024 }),
    );
    check("UPDATE meta SET value = 'soup' WHERE key = 'base'", Some(Break::Missing { expected: 1, found: 1024 }));
    check("DELETE FROM meta WHERE key = 'base'", Some(Break::Missing { expected: 1, found: 1024 }));
    // A cut row that names another row.
    check(
        "UPDATE names SET text = replace(text, '\"row\":1023', '\"row\":1024') WHERE text LIKE '{\"row\":%'",
        Some(Break::Changed { row: 2002 }),
    );
}

#[test]
fn an_older_file_of_a_cut_log_is_found() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let home = cut_log(|| CLOCK.load(Ordering::Relaxed), &CLOCK);
    let old = std::fs::read(home.path().join(DATABASE)).unwrap();
    let mut desk = desk_at(home.path(), || CLOCK.load(Ordering::Relaxed));
    reads_at(&mut desk, NOW + 10 * DAY, 600, "new_tool", "");
    CLOCK.store(NOW + 30 * DAY, Ordering::Relaxed);
    do_job(&desk, Job::Keep { days: 5 });
    do_job(&desk, Job::Chores);
    desk.stop();
    let newer = verify(home.path());
    assert_eq!((newer.broken, newer.cut), (None, 2559));
    std::fs::write(home.path().join(DATABASE), old).unwrap();
    let broken = verify(home.path()).broken.unwrap();
    assert_eq!(broken, Break::RolledBack { anchored: newer.last, last: 2003 });
    assert!(broken.is_rollback());
}

fn change(home: &Path, sql: &str) {
    Connection::open(home.join(DATABASE)).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn only_what_the_chain_says_to_be_old_is_cut() {
    let check = |sql: &str, expect: Option<Break>| {
        static CLOCK: AtomicU64 = AtomicU64::new(NOW);
        CLOCK.store(NOW, Ordering::Relaxed);
        let home = tempfile::tempdir().unwrap();
        let mut desk = desk_at(home.path(), || CLOCK.load(Ordering::Relaxed));
        reads_at(&mut desk, NOW, 1400, "a_tool", "");
        change(home.path(), sql);
        do_job(&desk, Job::Keep { days: 5 });
        CLOCK.store(NOW + DAY, Ordering::Relaxed);
        do_job(&desk, Job::Chores);
        let findings = verify(home.path());
        assert_eq!((findings.cut, count(home.path(), "audit")), (0, 1401), "{sql}");
        assert_eq!(findings.broken, expect, "{sql}");
        let fits = !findings.blind.iter().any(|it| it.contains("index of searches"));
        assert_eq!(fits, sql == "SELECT 1", "{sql}");
        desk.stop();
    };
    check("SELECT 1", None);
    check("UPDATE blocks SET first_at = 1, last_at = 2", None);
    check("UPDATE audit SET at = 5", Some(Break::Changed { row: 1 }));
}

#[test]
fn a_clock_that_is_far_ahead_forgets_nothing() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let home = tempfile::tempdir().unwrap();
    let clock: fn() -> u64 = || CLOCK.load(Ordering::Relaxed);
    let open = || {
        let steady: Option<fn() -> Duration> = Some(|| Duration::from_secs(9));
        Desk::try_open(home.path(), Options { clock, steady, ..options() }).unwrap()
    };
    let mut desk = open();
    reads_at(&mut desk, NOW, 1400, "a_tool", "");
    desk.stop();
    CLOCK.store(NOW + 100 * DAY, Ordering::Relaxed);
    let desk = open();
    do_job(&desk, Job::Keep { days: 90 });
    do_job(&desk, Job::Chores);
    assert_eq!(verify(home.path()).cut, 0);
    desk.stop();
    // The next start finds rows of that day: now it is believed.
    let desk = open();
    do_job(&desk, Job::Keep { days: 90 });
    do_job(&desk, Job::Chores);
    assert_eq!(verify(home.path()).cut, 1023);
    desk.stop();
}
