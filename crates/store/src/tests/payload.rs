//! Values that are kept: nothing of them is on the disk in clear, the chain covers them, and they go with their rows.

use super::*;
use crate::places::DATABASE;
use rusqlite::Connection;
use std::sync::atomic::{AtomicU64, Ordering};

fn keep(desk: &mut Desk, at_ms: u64, arguments: Option<&'static str>, result: Option<&'static str>) -> CallNumber {
    let call = desk.opened.ledger.next_call();
    let text = |text: Option<&'static str>| Unshown(text.map(|text| Bytes::from_static(text.as_bytes())));
    let note = Note { call, item: "shop__order".into(), ..Note::new(Kind::Values, at_ms) };
    let values = Values { note, arguments: text(arguments), result: text(result) };
    desk.opened.committer.submit_and_wait(Job::Values(Box::new(values))).unwrap();
    call
}

#[test]
fn values_are_opened_by_their_call_and_stand_nowhere_in_clear() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let (arguments, result) = ("{\"q\":\"hunter2-and-more\"}", "{\"content\":[\"hunter2-and-more\"]}");
    let call = keep(&mut desk, NOW, Some(arguments), Some(result));
    let other = keep(&mut desk, NOW, Some("{}"), None);
    desk.stop();
    for file in std::fs::read_dir(home.path()).unwrap().flatten().filter(|file| file.path().is_file()) {
        let bytes = std::fs::read(file.path()).unwrap();
        assert!(!bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()), "{:?}", file.path());
    }
    let reader = Reader::open(home.path()).unwrap();
    let opened = reader.values(call).unwrap();
    assert_eq!(opened.len(), 1);
    assert_eq!(opened[0].arguments.as_deref(), Some(arguments.as_bytes()));
    assert_eq!(opened[0].result.as_deref(), Some(result.as_bytes()));
    assert_eq!(reader.values(other).unwrap()[0].result, None);
    assert!(reader.values(other.next()).unwrap().is_empty());
    let rows = reader.call(call).unwrap();
    assert_eq!((rows[0].kind.as_str(), rows[0].args_bytes, rows[0].arguments.len()), ("values", 24, 0));
    assert_eq!(reader.verify().unwrap().broken, None);
}

#[test]
fn a_change_of_what_is_sealed_breaks_the_log() {
    for change in [
        "UPDATE payloads SET result = NULL WHERE seq = 2",
        "UPDATE payloads SET arguments = zeroblob(64) WHERE seq = 2",
        "DELETE FROM payloads WHERE seq = 2",
    ] {
        let home = tempfile::tempdir().unwrap();
        let mut desk = Desk::open(home.path());
        let call = keep(&mut desk, NOW, Some("{\"a\":1}"), Some("{}"));
        desk.stop();
        Connection::open(home.path().join(DATABASE)).unwrap().execute(change, []).unwrap();
        let reader = Reader::open(home.path()).unwrap();
        assert_eq!(reader.verify().unwrap().broken, Some(Break::Changed { row: 2 }), "{change}");
        assert!(reader.values(call).is_err(), "{change}");
    }
}

#[test]
fn values_go_with_their_rows() {
    let home = tempfile::tempdir().unwrap();
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let clock = || CLOCK.load(Ordering::Relaxed);
    let mut desk = Desk::try_open(home.path(), Options { clock, ..options() }).unwrap();
    let call = keep(&mut desk, NOW, Some("{\"a\":1}"), None);
    // Enough to fill its block, so that it can go.
    for _ in 0..600 {
        desk.read("read_text_file", "{}");
    }
    desk.settle().unwrap();
    CLOCK.store(NOW + 20 * 86_400_000, Ordering::Relaxed);
    let young = keep(&mut desk, NOW + 20 * 86_400_000, Some("{\"a\":2}"), None);
    for job in [Job::Keep { days: 5 }, Job::Chores] {
        desk.opened.committer.submit_and_wait(job).unwrap();
    }
    let reader = Reader::open(home.path()).unwrap();
    assert!(reader.values(call).unwrap().is_empty());
    assert_eq!(reader.values(young).unwrap().len(), 1);
    let left: i64 = reader.conn.query_row("SELECT count(*) FROM payloads", [], |row| row.get(0)).unwrap();
    assert_eq!((left, reader.verify().unwrap().broken), (1, None));
    desk.stop();
}
