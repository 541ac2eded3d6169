//! The keys of a home: another one is noticed, a lost one is written down, digests are never plain.

use super::*;
use crate::chain::KEY_FILE;
use crate::places::DATABASE;
use crate::seal::SEAL_FILE;
use std::fs;

fn used() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let call = desk.opened.ledger.next_call();
    do_job(&desk, put(&waiting(call)));
    desk.stop();
    home
}

#[test]
fn a_log_is_not_gone_on_with_under_another_audit_key() {
    let home = used();
    fs::write(home.path().join(KEY_FILE), "11".repeat(32)).unwrap();
    let fault = Desk::try_open(home.path(), options()).err();
    assert!(matches!(fault, Some(StoreFault::KeyOther { .. })), "{fault:?}");
}

#[test]
fn what_cannot_be_opened_is_written_down() {
    let check = |change: &dyn Fn(&Path), key_is_lost: bool| {
        let home = used();
        change(home.path());
        let desk = Desk::open(home.path());
        let sealed = desk.opened.sealed.clone();
        assert_eq!((sealed.key_is_lost, sealed.calls.len()), (key_is_lost, 1));
        desk.stop();
        let rows = whole_log(home.path());
        let told: Vec<_> = rows.iter().filter(|row| row.kind == "seal").collect();
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].detail.contains("seal.key is gone"), key_is_lost, "{}", told[0].detail);
        assert_eq!(Reader::open(home.path()).unwrap().verify().unwrap().broken, None);
    };
    check(&|home| fs::remove_file(home.join(SEAL_FILE)).unwrap(), true);
    check(&|home| fs::write(home.join(SEAL_FILE), "11".repeat(32)).unwrap(), true);
    let swap = |home: &Path| {
        let conn = rusqlite::Connection::open(home.join(DATABASE)).unwrap();
        conn.execute("UPDATE calls SET arguments = x'0102030405'", []).unwrap();
    };
    check(&swap, false);
    let home = used();
    assert!(Desk::open(home.path()).opened.sealed.is_whole());
    assert!(kinds(home.path()).iter().all(|kind| kind != "seal"));
}

#[test]
fn a_keyed_digest_is_the_same_in_one_home_and_another_elsewhere() {
    let plain = Hash::of(br#"{"pin":"482913"}"#);
    let (home, other) = (used(), used());
    let keyed = |home: &Path| {
        let desk = Desk::open(home);
        let keyed = desk.opened.ledger.keyed(plain);
        desk.stop();
        keyed
    };
    let of_home = keyed(home.path());
    assert_eq!(of_home, keyed(home.path()));
    assert_ne!(of_home, plain);
    assert_ne!(of_home, keyed(other.path()));
}

/// Digests of an earlier version are plain in the database.
#[test]
fn plain_digests_of_an_earlier_version_are_keyed_once() {
    let home = used();
    let conn = rusqlite::Connection::open(home.path().join(DATABASE)).unwrap();
    conn.execute("INSERT INTO meta VALUES('digests', 'plain')", []).unwrap();
    drop(conn);
    for _ in 0..2 {
        let desk = Desk::open(home.path());
        let keyed = |text: &[u8]| Some(desk.opened.ledger.keyed(Hash::of(text)));
        let record = &desk.opened.kept.calls[0];
        assert_eq!((record.asked, record.sent, record.key), (keyed(b"asked"), keyed(b"asked"), keyed(b"key")));
        desk.stop();
    }
}
