//! Modes, links, and the states in which a database can be found.

use super::*;
use crate::anchor::ANCHOR_FILE;
use crate::chain::KEY_FILE;
use crate::places::DATABASE;
use crate::seal::SEAL_FILE;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn nobody_else_can_look_in_even_with_an_open_umask() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("a").join("home");
    let before = rustix::process::umask(rustix::fs::Mode::empty());
    let mut desk = Desk::open(&home);
    desk.read("read_text_file", "{}");
    desk.settle().unwrap();
    rustix::process::umask(before);
    assert_eq!((mode(&home), mode(&home.join("run"))), (0o700, 0o700));
    let mut files = 0;
    for folder in [home.clone(), home.join("run")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    assert_eq!(files, 7, "database, its log and index, both keys, anchor, flight marks");
    desk.stop();

    fs::set_permissions(&home, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(home.join(DATABASE), fs::Permissions::from_mode(0o644)).unwrap();
    Desk::open(&home).stop();
    assert_eq!((mode(&home), mode(&home.join(DATABASE))), (0o700, 0o600));
}

/// Opens a home that was used before and then treated by `change`.
fn check(change: impl FnOnce(&Path), expect: impl FnOnce(&Result<Desk, StoreFault>) -> bool) {
    let home = tempfile::tempdir().unwrap();
    Desk::open(home.path()).stop();
    change(home.path());
    let result = Desk::try_open(home.path(), options());
    assert!(expect(&result), "{:?}", result.map(|desk| desk.opened.found));
}

#[test]
fn absent_empty_unreadable_and_too_new_are_not_the_same() {
    let is = |found: Found| move |result: &Result<Desk, StoreFault>| matches!(result, Ok(desk) if desk.opened.found == found);
    let database = |home: &Path| home.join(DATABASE);
    check(|_| (), is(Found::Present));
    check(|home| fs::remove_file(database(home)).unwrap(), is(Found::Absent));
    check(|home| fs::write(database(home), "").unwrap(), is(Found::Empty));

    let garbage = "not a database at all, but long enough to be one".repeat(100);
    check(|home| fs::write(database(home), garbage).unwrap(), |it| matches!(it, Err(StoreFault::Corrupt { .. })));
    check(
        |home| fs::write(database(home), &fs::read(database(home)).unwrap()[..5000]).unwrap(),
        |it| matches!(it, Err(StoreFault::Corrupt { .. })),
    );
    check(
        |home| {
            fs::remove_file(database(home)).unwrap();
            fs::create_dir(database(home)).unwrap();
        },
        |it| matches!(it, Err(StoreFault::Untrusted { .. })),
    );
    check(
        |home| {
            fs::rename(database(home), home.join("elsewhere")).unwrap();
            symlink(home.join("elsewhere"), database(home)).unwrap();
        },
        |it| matches!(it, Err(StoreFault::Untrusted { .. })),
    );
    check(
        |home| {
            fs::remove_file(database(home)).unwrap();
            fs::write(home.join("callgate.db-wal"), "frames").unwrap();
        },
        |it| matches!(it, Err(StoreFault::Untrusted { .. })),
    );
    check(
        |home| sql(home, "PRAGMA user_version=8"),
        |it| matches!(it, Err(StoreFault::TooNew { found: 8, known: 7, .. })),
    );
    check(|home| sql(home, "PRAGMA application_id=1"), |it| matches!(it, Err(StoreFault::Foreign { .. })));
}

/// What is damaged is never taken for "nothing is remembered", so for "nothing is to be asked".
#[test]
fn a_damaged_page_of_the_hubs_memory_stops_the_start() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    for number in 0..60_u64 {
        let call = desk.opened.ledger.next_call();
        do_job(&desk, put(&waiting(call)));
        let pin = Pin {
            server: "shop".into(),
            launch: "sha256:1".into(),
            kind: PinKind::Tool,
            name: format!("tool{number:0100}"),
            hash: Hash::of(b"x"),
            effect: None,
            raw: Some("{}".into()),
            at_ms: NOW,
            how: PinHow::Person,
        };
        do_job(&desk, Job::PutPins { pins: vec![pin.clone()], note: None });
        let grant = policy::Grant {
            client: "cursor".into(),
            server: "shop".into(),
            launch: "sha256:1".into(),
            tool: pin.name.into(),
            definition: Hash::of(b"d"),
            effect: policy::Effect::Write,
            session: None,
            at_ms: NOW,
            by: "a person".into(),
            call: None,
        };
        do_job(&desk, Job::Remember { grant, note: None });
    }
    desk.stop();
    let path = home.path().join(DATABASE);
    let whole = fs::read(&path).unwrap();
    let pages: Vec<usize> = rusqlite::Connection::open(&path)
        .unwrap()
        .prepare("SELECT pageno FROM dbstat WHERE name IN ('calls', 'pins', 'grants')")
        .unwrap()
        .query_map([], |row| row.get::<_, i64>(0).map(|page| page as usize))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(pages.len() > 10, "{pages:?}");
    let copy = tempfile::tempdir().unwrap();
    for page in pages {
        let mut damaged = whole.clone();
        damaged[(page - 1) * 4096..page * 4096].fill(0xa5);
        for name in [KEY_FILE, SEAL_FILE, ANCHOR_FILE] {
            fs::copy(home.path().join(name), copy.path().join(name)).unwrap();
        }
        fs::write(copy.path().join(DATABASE), &damaged).unwrap();
        let result = Desk::try_open(copy.path(), options());
        assert!(matches!(result, Err(StoreFault::Corrupt { .. })), "page {page}");
        assert_eq!(fs::read(copy.path().join(DATABASE)).unwrap(), damaged, "it is left as it is");
    }
    // Numbers and hashes that mean nothing are damage too.
    let nonsense = ["calls SET state = 99", "calls SET tier = 0", "calls SET key = x'00'", "pins SET kind = 0"];
    for change in
        nonsense.into_iter().chain(["pins SET hash = x'00'", "grants SET effect = 0", "calls SET outcome = -1"])
    {
        fs::write(copy.path().join(DATABASE), &whole).unwrap();
        sql(copy.path(), &format!("UPDATE {change}"));
        assert!(Desk::try_open(copy.path(), options()).is_err(), "{change}");
    }
}

#[test]
fn another_programs_database_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    sql(home.path(), "CREATE TABLE theirs(x)");
    let before = fs::read(home.path().join(DATABASE)).unwrap();
    assert!(matches!(Desk::try_open(home.path(), options()), Err(StoreFault::Foreign { .. })));
    assert_eq!(fs::read(home.path().join(DATABASE)).unwrap(), before);
}

#[test]
fn a_database_without_its_key_is_refused_and_the_key_never_replaced() {
    let key = |home: &Path| home.join(KEY_FILE);
    check(|home| fs::remove_file(key(home)).unwrap(), |it| matches!(it, Err(StoreFault::KeyAbsent { .. })));
    check(|home| fs::write(key(home), "00").unwrap(), |it| matches!(it, Err(StoreFault::KeyUnreadable { .. })));
    check(
        |home| {
            fs::rename(key(home), home.join("elsewhere")).unwrap();
            symlink(home.join("elsewhere"), key(home)).unwrap();
        },
        |it| matches!(it, Err(StoreFault::Untrusted { .. })),
    );
}

#[test]
fn an_unreadable_folder_is_no_new_home() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("file");
    fs::write(&path, "x").unwrap();
    assert!(matches!(Desk::try_open(&path, options()), Err(StoreFault::File { .. })));
}

fn sql(home: &Path, sql: &str) {
    // As a database file of ours: no log of ours may be left beside it.
    let conn = rusqlite::Connection::open(home.join(DATABASE)).unwrap();
    conn.execute_batch(sql).unwrap();
    conn.close().unwrap();
    fs::set_permissions(home.join(DATABASE), fs::Permissions::from_mode(0o600)).unwrap();
}
