//! What goes in comes out, chained, and no value with it.

use super::*;
use crate::chain::{Keys, hex};
use crate::line::Line;
use std::sync::{Arc, Barrier};

#[test]
fn a_read_call_is_one_row_with_all_its_times() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let arguments = format!(r#"{{"path":"{SECRET}","limit":7,"{SECRET}":null}}"#);
    let call = desk.read("read_text_file", &arguments);
    desk.settle().unwrap();
    let rows = Reader::open(home.path()).unwrap().call(call).unwrap();
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!((row.call.as_str(), row.kind.as_str(), row.outcome.as_str()), ("c1-1", "read", "ok"));
    assert_eq!((row.client.as_str(), row.server.as_str()), ("claude-code", "files"));
    assert_eq!((row.item.as_str(), row.definition.as_str()), ("read_text_file", "sha256:abc"));
    assert_eq!((row.method.as_str(), row.effect.as_str(), row.at_ms), ("tools/call", "read", 1_790_000_000_123));
    assert_eq!((row.args_bytes, row.result_bytes), (arguments.len() as u64, 200));
    let times = [row.checked_us, row.held_us, row.queued_us, row.ran_us, row.answered_us];
    assert_eq!(times, [1, 2, 3, 4, 5]);
    assert_eq!(row.arguments.len(), 3);
    assert!(row.arguments[0].starts_with("path: string 18 B #"), "{:?}", row.arguments);
    assert!(row.arguments[2].starts_with("(16 B #"), "{:?}", row.arguments);
    desk.stop();
    assert_eq!(kinds(home.path()), ["start", "read", "stop"]);
    assert!(!holds(&bytes_of(home.path()), SECRET));
}

#[test]
fn a_name_that_matches_nothing_is_never_kept_as_text() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let call = desk.opened.ledger.next_call();
    let entry = Entry {
        item: Item::Stranger(SECRET),
        outcome: Outcome::UnknownTool,
        ..Entry::new(call, Kind::Refused, 1_790_000_000_000)
    };
    assert_eq!(desk.opened.ledger.push(&entry), Due::Soon);
    assert_eq!(desk.opened.ledger.push(&entry), Due::Already);
    desk.settle().unwrap();
    let rows = Reader::open(home.path()).unwrap().call(call).unwrap();
    assert!(rows[0].item.starts_with("(16 B #"), "{}", rows[0].item);
    assert_eq!(rows[0].item, rows[1].item);
    desk.stop();
    assert!(!holds(&bytes_of(home.path()), SECRET));
    assert_eq!(Reader::open(home.path()).unwrap().verify().unwrap().broken, None);
}

#[test]
fn filters_choose_rows_and_pages_follow_each_other() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    for number in 0..20 {
        desk.read(if number % 2 == 0 { "even" } else { "odd" }, "{}");
    }
    desk.settle().unwrap();
    let reader = Reader::open(home.path()).unwrap();
    let check = |filter: Filter, limit: u32, expect: &[u64]| {
        let got: Vec<u64> = reader.page(&filter, limit).unwrap().iter().map(|row| row.seq).collect();
        assert_eq!(got, expect, "{filter:?}");
    };
    check(Filter::default(), 2, &[21, 20]);
    check(Filter { before: Some(20), ..Filter::default() }, 2, &[19, 18]);
    check(Filter { after: Some(19), ..Filter::default() }, 5, &[20, 21]);
    check(Filter { item: Some("odd".into()), ..Filter::default() }, 2, &[21, 19]);
    check(Filter { item: Some("none".into()), ..Filter::default() }, 2, &[]);
    check(Filter { client: Some("claude-code".into()), server: Some("files".into()), ..Filter::default() }, 1, &[21]);
    check(Filter { kinds: vec![Kind::Start, Kind::Stop], ..Filter::default() }, 5, &[1]);
    check(Filter { outcomes: vec![Outcome::Denied], ..Filter::default() }, 5, &[]);
    check(Filter { since_ms: Some(1_790_000_000_124), ..Filter::default() }, 5, &[]);
    check(Filter { until_ms: Some(1_790_000_000_100), ..Filter::default() }, 5, &[1]);
    desk.stop();
}

#[test]
fn names_let_go_and_names_of_long_ago_stay_right() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    // Each registers its names anew and drops them at once, over several batches.
    for number in 0..700 {
        desk.read(&format!("tool{}", number % 7), "{}");
        if number % 100 == 0 {
            desk.settle().unwrap();
        }
    }
    desk.settle().unwrap();
    desk.stop();
    let reader = Reader::open(home.path()).unwrap();
    for number in 0..700_u64 {
        let rows = reader.call(CallNumber(CallNumber::base(1).0 + number + 1)).unwrap();
        assert_eq!(rows[0].item, format!("tool{}", number % 7));
    }
    assert_eq!(reader.verify().unwrap().broken, None);
}

#[test]
fn guards_that_wait_share_one_transaction() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let calls: Vec<CallNumber> = (0..50).map(|_| desk.announce()).collect();
    desk.opened.ledger.flush();
    let settled = desk.settled();
    assert_eq!(settled.iter().map(|settled| settled.call).collect::<Vec<_>>(), calls);
    assert!(settled.iter().all(|settled| settled.result.is_ok()));
    desk.stop();
}

#[test]
fn a_full_queue_is_told_and_so_is_its_end() {
    let home = tempfile::tempdir().unwrap();
    let (tell, told) = sync_channel(10_000);
    // The committer stands still in its own listener until the test lets it go.
    let (entered, gate) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (inside, open_gate) = (entered.clone(), gate.clone());
    let opened = Store::open(home.path(), &home.path().join("run"), options(), move |word| {
        if matches!(word, Told::Settled(_)) {
            inside.wait();
            open_gate.wait();
        }
        let _ = tell.send(word);
    });
    let mut desk = Desk { opened: opened.unwrap(), told };
    desk.announce();
    desk.opened.ledger.flush();
    entered.wait();
    let mut rows = 0;
    while !desk.opened.ledger.is_full() {
        desk.read("read_text_file", "{}");
        rows += 1;
    }
    assert!((32 * 256..40 * 256).contains(&rows), "{rows}");
    assert_eq!(desk.opened.ledger.flush(), Handed::Full);
    gate.wait();
    while desk.told.recv_timeout(Duration::from_secs(20)).unwrap() != Told::Room {}
    assert_eq!(desk.opened.ledger.flush(), Handed::All);
    assert!(!desk.opened.ledger.is_full());
    desk.stop();
    let findings = Reader::open(home.path()).unwrap().verify().unwrap();
    assert_eq!((findings.rows, findings.broken), (rows + 3, None));
}

#[test]
fn a_known_row_has_the_documented_link() {
    let line = Line {
        seq: 300,
        call: 1 << 40 | 2,
        kind: Kind::Read.code(),
        at: 1_790_000_000_000,
        client: "claude-code",
        server: "files",
        item: "read_text_file",
        definition: "sha256:abc",
        method: Method::ToolCall.code(),
        effect: 1,
        outcome: Outcome::Ok.code(),
        args_bytes: 12,
        result_bytes: 200,
        stages: [1, 2, 3, 400, 5],
        stranger: &[],
        shape: &[1, 2, 3],
        detail: "{}",
    };
    let link = line.link(&Keys::new(&[7; 32]).chain, &[9; 32], &mut Vec::new());
    assert_eq!(hex(&link), "d99c278a166a2a7dd7ce1e236aeab02bfcb5191ce5a69eca91f15fc7eaf14313");
}
