//! A search finds exactly the rows of its filter, whatever is told of blocks and wherever it begins.

use super::*;
use crate::places::DATABASE;
use proptest::prelude::*;
use std::collections::BTreeMap;

const OUTCOMES: [Outcome; 4] = [Outcome::Ok, Outcome::Denied, Outcome::ToolError, Outcome::InvalidArguments];

/// 1,700 rows over three full blocks and a piece; times that go back now and then.
fn log() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let ledger = &mut desk.opened.ledger;
    let clients = ["claude-code", "cursor", "rare"].map(|name| ledger.subject(name));
    let servers = ["files", "shop"].map(|name| ledger.subject(name));
    let tools =
        ["read_text_file", "place_order", "listFiles"].map(|name| ledger.tool(name, "sha256:a", &["path", "n"]));
    let details = [r#"{"rule":"reads","why":"the rule"}"#, r#"{"rule":"no prod","why":"the rule"}"#];
    let details = details.map(|detail| ledger.detail(detail));
    let mut random = 7_u64;
    for number in 0..1700_u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pick = |of: usize, shift: u32| (random >> shift) as usize % of;
        let outcome = OUTCOMES[if number < 600 { 0 } else { pick(4, 20) }];
        let refused = matches!(outcome, Outcome::Denied | Outcome::InvalidArguments);
        let text = format!(r#"{{"reason":"unlike{number}"}}"#);
        let arguments = Bytes::from_static(if pick(2, 33) == 0 { br#"{"path":"x"}"# } else { br#"{"n":1}"# });
        let call = ledger.next_call();
        let _ = ledger.push(&Entry {
            client: Some(&clients[if number == 1000 { 2 } else { pick(2, 41) }]),
            server: Some(&servers[pick(2, 29)]),
            item: Item::Known(&tools[pick(3, 37)]),
            method: Method::ToolCall,
            effect: Some([policy::Effect::Read, policy::Effect::Write][pick(2, 45)]),
            outcome,
            arguments: Some(&arguments),
            detail: match pick(40, 49) {
                0 => Detail::Text(&text),
                some => Detail::Known(&details[some % 2]),
            },
            ..Entry::new(
                call,
                if refused { Kind::Refused } else { Kind::Read },
                NOW + number * 10 - pick(50, 13) as u64,
            )
        });
        if number % 200 == 0 {
            ledger.flush();
        }
    }
    desk.settle().unwrap();
    do_job(&desk, Job::Chores);
    desk.stop();
    home
}

fn everything(reader: &Reader) -> Vec<AuditRecord> {
    reader.stream(&Filter::default()).unwrap().map(Result::unwrap).collect()
}

fn is_of(row: &AuditRecord, filter: &Filter) -> bool {
    let same = |value: &str, wanted: &Option<String>| wanted.as_ref().is_none_or(|wanted| wanted == value);
    filter.before.is_none_or(|before| row.seq < before)
        && filter.after.is_none_or(|after| row.seq > after)
        && same(&row.client, &filter.client)
        && same(&row.server, &filter.server)
        && same(&row.item, &filter.item)
        && (filter.kinds.is_empty() || filter.kinds.iter().any(|kind| kind.as_str() == row.kind))
        && (filter.outcomes.is_empty() || filter.outcomes.iter().any(|outcome| outcome.as_str() == row.outcome))
        && (filter.effects.is_empty() || filter.effects.iter().any(|effect| effect.as_str() == row.effect))
        && filter.since_ms.is_none_or(|since| row.at_ms >= since)
        && filter.until_ms.is_none_or(|until| row.at_ms < until)
}

fn filters() -> impl Strategy<Value = Filter> {
    let name = |names: &'static [&'static str]| prop::option::of(prop::sample::select(names).prop_map(str::to_owned));
    let row = || prop::option::weighted(0.3, 0..1720_u64);
    let time = || prop::option::weighted(0.3, NOW - 20..NOW + 17_100);
    (
        (row(), row(), time(), time()),
        name(&["claude-code", "cursor", "rare", "nobody"]),
        name(&["files", "shop"]),
        name(&["read_text_file", "place_order", "listFiles"]),
        prop::collection::vec(prop::sample::select(&[Kind::Read, Kind::Refused, Kind::Start][..]), 0..2),
        prop::collection::vec(prop::sample::select(&OUTCOMES[..]), 0..2),
        prop::collection::vec(prop::sample::select(&[policy::Effect::Read, policy::Effect::Write][..]), 0..2),
    )
        .prop_map(|((before, after, since_ms, until_ms), client, server, item, kinds, outcomes, effects)| Filter {
            before,
            after,
            client,
            server,
            item,
            kinds,
            outcomes,
            effects,
            since_ms,
            until_ms,
            ..Filter::default()
        })
}

#[test]
fn pages_streams_and_counts_are_what_a_look_at_every_row_gives() {
    let home = log();
    let reader = Reader::open(home.path()).unwrap();
    let rows = everything(&reader);
    assert_eq!(rows.len(), 1702);
    let config = ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(filter in filters(), limit in 1_u32..200)| {
        let mut expect: Vec<&AuditRecord> = rows.iter().filter(|row| is_of(row, &filter)).collect();
        let streamed: Vec<AuditRecord> = reader.stream(&filter).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(streamed.iter().collect::<Vec<_>>(), &expect[..]);
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        let any_kind = Filter { kinds: Vec::new(), ..filter.clone() };
        for row in rows.iter().filter(|row| is_of(row, &any_kind) && ["read", "refused"].contains(&&*row.kind)) {
            *counts.entry(&row.outcome).or_default() += 1;
        }
        let counted = reader.counts(&filter).unwrap();
        prop_assert_eq!(counted.calls, counts.values().sum::<u64>());
        prop_assert_eq!(counted.outcomes.iter().map(|(word, rows)| (&**word, *rows)).collect::<BTreeMap<_, _>>(), counts);
        if filter.after.is_none() {
            expect.reverse();
        }
        // Page after page, each from the last row of the one before.
        let (mut next, mut paged) = (filter.clone(), Vec::new());
        loop {
            let page = reader.page(&next, limit).unwrap();
            prop_assert!(page.len() <= limit as usize);
            let Some(last) = page.last() else { break };
            match filter.after {
                None => next.before = Some(last.seq),
                Some(_) => next.after = Some(last.seq),
            }
            paged.extend(page);
        }
        prop_assert_eq!(paged.iter().collect::<Vec<_>>(), expect);
    });
}

#[test]
fn words_are_found_as_they_are_typed() {
    let home = log();
    let reader = Reader::open(home.path()).unwrap();
    let rows = everything(&reader);
    let check = |text: &str, is_found: &dyn Fn(&AuditRecord) -> bool| {
        let filter = Filter { text: Some(text.into()), ..Filter::default() };
        let found: Vec<u64> = reader.stream(&filter).unwrap().map(|row| row.unwrap().seq).collect();
        let expect: Vec<u64> = rows.iter().filter(|row| is_found(row)).map(|row| row.seq).collect();
        assert_eq!(found, expect, "{text}");
    };
    check("rare", &|row| row.client == "rare");
    check("RARE", &|row| row.client == "rare");
    check("claude-code", &|row| row.client == "claude-code");
    check("place_order", &|row| row.item == "place_order");
    check("order", &|row| row.item == "place_order");
    check("ord", &|row| row.item == "place_order");
    check("listfiles", &|row| row.item == "listFiles");
    check("denied shop", &|row| row.outcome == "denied" && row.server == "shop");
    check("prod", &|row| row.detail.contains("prod"));
    check("\"no prod\"", &|row| row.detail.contains("no prod"));
    check("path", &|row| row.arguments.iter().any(|field| field.starts_with("path:")));
    check("write refused", &|row| row.effect == "write" && row.kind == "refused");
    check("unlike", &|row| row.detail.contains("unlike"));
    check("start", &|row| row.kind == "start");
    // Operators mean nothing, and what holds no word finds nothing.
    check("rare OR cursor", &|_| false);
    check("place AND", &|_| false);
    check("client:rare", &|_| false);
    check("rare*", &|row| row.client == "rare");
    check("\"", &|_| false);
    check("!?", &|_| false);
    check("xyzzy", &|_| false);
    check(" \t", &|_| true);
    check("nul\0l", &|_| false);
}

#[test]
fn what_is_told_of_blocks_only_helps() {
    let home = log();
    let filter = Filter { outcomes: vec![Outcome::Denied], until_ms: Some(NOW + 12_000), ..Filter::default() };
    let look = || {
        let reader = Reader::open(home.path()).unwrap();
        let rows: Vec<u64> = reader.stream(&filter).unwrap().map(|row| row.unwrap().seq).collect();
        (rows, reader.counts(&filter).unwrap())
    };
    let whole = look();
    let conn = rusqlite::Connection::open(home.path().join(DATABASE)).unwrap();
    let blocks = || conn.query_row("SELECT count(*) FROM blocks", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(blocks(), 3);
    for left in ["block <> 1", "block = 1", "0"] {
        conn.execute_batch(&format!("DELETE FROM blocks WHERE NOT ({left})")).unwrap();
        assert_eq!(look(), whole, "{left}");
    }
    assert_eq!(Reader::open(home.path()).unwrap().verify().unwrap().broken, None);
    // The next run tells of them again.
    let desk = Desk::open(home.path());
    do_job(&desk, Job::Chores);
    desk.stop();
    assert_eq!((blocks(), look()), (3, whole.clone()));
    let findings = Reader::open(home.path()).unwrap().verify().unwrap();
    assert!(!findings.blind.iter().any(|blind| blind.contains("index")), "{:?}", findings.blind);
    // A row that is hidden from searches is told by the check.
    conn.execute_batch("UPDATE blocks SET facets = x'' WHERE block = 2").unwrap();
    assert!(look().0.len() < whole.0.len());
    let findings = Reader::open(home.path()).unwrap().verify().unwrap();
    assert!(findings.blind.iter().any(|blind| blind.contains("the rows from 1024 on")), "{:?}", findings.blind);
}

#[test]
fn a_number_out_of_place_does_not_hold_up_a_search() {
    let home = log();
    let conn = rusqlite::Connection::open(home.path().join(DATABASE)).unwrap();
    conn.execute_batch("UPDATE audit SET seq = 9223372036854775807 WHERE seq = 1702").unwrap();
    let reader = Reader::open(home.path()).unwrap();
    for after in [None, Some(0)] {
        let filter = Filter { client: Some("rare".into()), after, ..Filter::default() };
        assert_eq!(reader.page(&filter, 10).unwrap().len(), 1);
    }
}

/// Approve and execute are steps of one call; no two ends are the same.
#[test]
fn a_call_counts_once_by_how_it_ended() {
    let home = tempfile::tempdir().unwrap();
    let mut desk = Desk::open(home.path());
    let ledger = &mut desk.opened.ledger;
    let mut tell = |rows: &[(Kind, Outcome)]| {
        let call = ledger.next_call();
        for &(kind, outcome) in rows {
            let _ = ledger.push(&Entry { outcome, ..Entry::new(call, kind, NOW) });
        }
    };
    let asked = (Kind::Asked, Outcome::Pending);
    let approved = (Kind::Decision, Outcome::Approved);
    tell(&[asked, approved, (Kind::Intent, Outcome::None), (Kind::End, Outcome::Ok)]);
    tell(&[(Kind::Intent, Outcome::None), (Kind::End, Outcome::OutcomeUnknown), (Kind::Settled, Outcome::Ran)]);
    tell(&[asked, (Kind::Decision, Outcome::Denied)]);
    tell(&[asked, approved, (Kind::Expired, Outcome::ApprovalExpired)]);
    tell(&[(Kind::Refused, Outcome::Denied)]);
    tell(&[(Kind::Replayed, Outcome::Ok)]);
    tell(&[(Kind::Read, Outcome::Ok)]);
    tell(&[asked, approved]);
    desk.settle().unwrap();
    let counts = Reader::open(home.path()).unwrap().counts(&Filter::default()).unwrap();
    let expect = [("ok", 3), ("denied", 2), ("approval_expired", 1), ("outcome_unknown", 1)];
    assert_eq!(counts.outcomes, expect.map(|(word, calls)| (word.to_owned(), calls)));
    assert_eq!(counts.calls, 7);
    desk.stop();
}
