//! What a look into 1,000,000 audit rows costs. Prints one line per query: median and worst of 21 runs, a new
//! connection each, the file in the system's cache.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

use bytes::Bytes;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::time::Instant;
use store::*;

const ROWS: u64 = 1_000_000;

fn main() {
    let root = tempfile::tempdir_in(std::env::var("BENCH_DIR").unwrap_or("/tmp".into())).unwrap();
    let start = Instant::now();
    fill(root.path());
    let size = std::fs::metadata(root.path().join("callgate.db")).unwrap().len();
    println!("filled: {} rows in {:.1} s, {} bytes per row", ROWS, start.elapsed().as_secs_f64(), size / ROWS);
    queries(root.path());
}

/// 40 tools of 8 servers, 4 clients, four shapes of arguments; one row in 50 is refused, one in 2,000 a person's decision; a
/// client and a tool are rare.
fn fill(dir: &Path) {
    let (tell, told) = sync_channel(65536);
    let mut opened = Store::open(dir, &dir.join("run"), Options::new("bench"), move |word| {
        tell.send(word).unwrap();
    })
    .unwrap();
    let ledger = &mut opened.ledger;
    let clients = ["claude-code", "cursor", "zed", "rare-client"].map(|name| ledger.subject(name));
    let servers: Vec<Subject> = (0..8).map(|number| ledger.subject(&format!("server{number}"))).collect();
    let tools: Vec<Subject> = (0..41)
        .map(|number| {
            let name = if number == 40 { "place_rare_order".into() } else { format!("tool_{number}_read_file") };
            ledger.tool(&name, &format!("sha256:{number:064}"), &["path", "limit", "query", "format"])
        })
        .collect();
    let details = ["{\"rule\":\"reads\",\"why\":\"the rule\"}", "{\"rule\":\"no prod\",\"why\":\"the rule\"}"]
        .map(|json| ledger.detail(json));
    let arguments =
        [r#"{"path":"/a/b"}"#, r#"{"path":"/a","limit":3}"#, r#"{"query":"x"}"#, r#"{"query":"x","format":"y"}"#]
            .map(|text| Bytes::from_static(text.as_bytes()));
    let mut random = 1_u64;
    for number in 0..ROWS {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pick = |of: usize, shift: u32| (random >> shift) as usize % of;
        while opened.ledger.is_full() {
            while told.recv().unwrap() != Told::Room {}
            opened.ledger.flush();
        }
        let is_rare = number % 50_000 == 777;
        let is_refused = pick(50, 20) == 0;
        let kind = match (number % 2_000, is_refused) {
            (1_000, _) => Kind::Decision,
            (_, true) => Kind::Refused,
            (_, false) => Kind::Read,
        };
        let call = opened.ledger.next_call();
        let tool = if is_rare { 40 } else { pick(40, 33) };
        let entry = Entry {
            client: Some(&clients[if is_rare { 3 } else { pick(3, 40) }]),
            server: Some(&servers[tool % 8]),
            item: Item::Known(&tools[tool]),
            method: Method::ToolCall,
            effect: Some(policy::Effect::Read),
            outcome: match (is_refused, pick(30, 25)) {
                _ if kind == Kind::Decision => Outcome::Approved,
                (true, 0..10) => Outcome::Denied,
                (true, _) => Outcome::InvalidArguments,
                (false, 0) => Outcome::ToolError,
                (false, _) => Outcome::Ok,
            },
            arguments: Some(&arguments[pick(4, 45)]),
            result_bytes: 213,
            stages: Stages { checked: 3, held: 0, queued: 0, ran: 48, answered: 4 },
            detail: Detail::Known(&details[usize::from(is_refused)]),
            ..Entry::new(call, kind, 1_790_000_000_000 + number * 100)
        };
        let _ = opened.ledger.push(&entry);
    }
    opened.ledger.flush();
    opened.committer.submit_and_wait(Job::ForgetServer("x".into())).unwrap();
    opened.thread.stop().unwrap();
    let opened = Store::open(dir, &dir.join("run"), Options::new("bench"), |_| ()).unwrap();
    // Words are taken in while nothing waits.
    std::thread::park_timeout(std::time::Duration::from_secs(2));
    opened.thread.stop().unwrap();
}

fn queries(dir: &Path) {
    let name = |text: &str| Some(text.to_owned());
    let any = Filter::default;
    let cases: Vec<(&str, Filter)> = vec![
        ("newest", any()),
        ("common client", Filter { client: name("cursor"), ..any() }),
        ("rare client", Filter { client: name("rare-client"), ..any() }),
        ("unknown client", Filter { client: name("nobody"), ..any() }),
        ("server", Filter { server: name("server3"), ..any() }),
        ("tool", Filter { item: name("tool_17_read_file"), ..any() }),
        (
            "client, server, outcome",
            Filter { client: name("zed"), server: name("server5"), outcomes: vec![Outcome::Denied], ..any() },
        ),
        ("denied", Filter { outcomes: vec![Outcome::Denied], ..any() }),
        (
            "a day in the middle",
            Filter { since_ms: Some(1_790_050_000_000), until_ms: Some(1_790_050_060_000), ..any() },
        ),
        ("denied, first hour", Filter { outcomes: vec![Outcome::Denied], until_ms: Some(1_790_003_600_000), ..any() }),
        ("words: rare order", Filter { text: name("rare order"), ..any() }),
        ("words: denied prod zed", Filter { text: name("denied prod zed"), ..any() }),
        ("words: tool_7", Filter { text: name("tool_7"), ..any() }),
        ("words: format (an argument)", Filter { text: name("format"), ..any() }),
        ("words: nothing", Filter { text: name("xyzzy"), ..any() }),
        ("tail", Filter { after: Some(ROWS - 300), client: name("cursor"), ..any() }),
    ];
    for (what, filter) in &cases {
        for limit in [100, 1000] {
            let mut found = 0;
            let times = times(|| found = Reader::open(dir).unwrap().page(filter, limit).unwrap().len());
            println!("{what}, {limit}: {found} rows, {times}");
        }
    }
    let timed = times(|| {
        Reader::open(dir).unwrap().counts(&Filter::default()).unwrap();
    });
    println!("counts: {timed}; {:?}", Reader::open(dir).unwrap().counts(&Filter::default()).unwrap().outcomes);
    // What `approval show` and `approval list` tell of one tool, and of a queue of 64.
    let pair = |number: usize| Pair {
        client: ["claude-code", "cursor", "zed"][number % 3].to_owned(),
        server: format!("server{}", number % 8),
        item: format!("tool_{}_read_file", number % 40),
    };
    for many in [1, 64] {
        let pairs: Vec<Pair> = (0..many).map(pair).collect();
        let mut asked = 0;
        let timed = times(|| {
            let counts = Reader::open(dir).unwrap().asked(&pairs).unwrap();
            asked = counts.iter().map(|it| it.times).sum();
        });
        println!("history of {many}: asked {asked} times, {timed}");
    }
    let start = Instant::now();
    let rows = Reader::open(dir).unwrap().stream(&Filter::default()).unwrap().map(Result::unwrap).count();
    println!("stream: {:.0} rows/s", rows as f64 / start.elapsed().as_secs_f64());
    let start = Instant::now();
    let findings = Reader::open(dir).unwrap().verify().unwrap();
    println!("verify: {:.0} rows/s, {:?}", findings.rows as f64 / start.elapsed().as_secs_f64(), findings.broken);
}

fn times(mut run: impl FnMut()) -> String {
    let mut times: Vec<f64> = (0..21)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    format!("{:.2} ms, worst {:.2}", times[10], times[20])
}
