//! What the audit costs: rows per second with the chain on, ns per row on the relay, guard commits beside a bare
//! fdatasync, and the cheapest way back to a current-thread runtime. Prints one line per figure.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a bench")]

use bytes::Bytes;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};
use store::*;

fn main() {
    let root = tempfile::tempdir_in(std::env::var("BENCH_DIR").unwrap_or("/tmp".into())).unwrap();
    let only = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    type Case = (&'static str, fn(&Path));
    let cases: [Case; 7] = [
        ("push", push),
        ("reads", reads),
        ("guard", guard),
        ("group", group),
        ("keyed", keyed),
        ("loaded", loaded),
        ("wake", wake),
    ];
    for (name, case) in cases {
        if name.contains(&only) {
            let dir = root.path().join(name);
            std::fs::create_dir(&dir).unwrap();
            case(&dir);
        }
    }
}

fn open(dir: &Path) -> (Opened, Receiver<Told>) {
    let (tell, told) = sync_channel(65536);
    let opened = Store::open(dir, &dir.join("run"), Options::new("bench"), move |word| {
        tell.send(word).unwrap();
    });
    (opened.unwrap(), told)
}

struct Subjects(Subject, Subject, Subject);

fn subjects(ledger: &mut Ledger) -> Subjects {
    let definition = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let tool = ledger.tool("read_text_file", definition, &["path", "head", "tail"]);
    Subjects(ledger.subject("claude-code"), ledger.subject("files"), tool)
}

fn entry<'a>(call: CallNumber, kind: Kind, it: &'a Subjects, arguments: &'a Bytes) -> Entry<'a> {
    Entry {
        client: Some(&it.0),
        server: Some(&it.1),
        item: Item::Known(&it.2),
        method: Method::ToolCall,
        outcome: Outcome::Ok,
        arguments: Some(arguments),
        result_bytes: 213,
        stages: Stages { checked: 3, held: 0, queued: 0, ran: 48, answered: 4 },
        ..Entry::new(call, kind, 1_790_000_000_000)
    }
}

fn arguments() -> Bytes {
    Bytes::from_static(br#"{"path":"/home/user/work/callgate/README.md","head":120}"#)
}

fn quantile(times: &mut [Duration], q: f64) -> f64 {
    times.sort();
    times[((times.len() - 1) as f64 * q) as usize].as_nanos() as f64 / 1000.0
}

fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Relay's side only: rows arrive at a rate that the committer takes easily.
fn push(dir: &Path) {
    let (mut opened, _told) = open(dir);
    let it = subjects(&mut opened.ledger);
    let arguments = arguments();
    let mut spent = Duration::ZERO;
    let rows = 200_000;
    for round in 0..rows / 250 {
        let start = thread_cpu();
        for _ in 0..250 {
            let call = opened.ledger.next_call();
            let _ = opened.ledger.push(&entry(call, Kind::Read, &it, &arguments));
        }
        assert_eq!(opened.ledger.flush(), Handed::All, "{round}");
        spent += thread_cpu() - start;
        opened.committer.submit_and_wait(Job::Set { key: "k".into(), value: None, note: None }).unwrap();
    }
    println!("push: {:.0} ns of relay CPU per row, flush included", spent.as_nanos() as f64 / rows as f64);
    opened.thread.stop().unwrap();
}

/// As fast as the committer takes them.
fn reads(dir: &Path) {
    let (mut opened, told) = open(dir);
    let it = subjects(&mut opened.ledger);
    let arguments = arguments();
    for round in 0..4 {
        let rows = 500_000;
        let (start, cpu_start, relay) = (Instant::now(), cpu(), thread_cpu());
        for _ in 0..rows {
            while opened.ledger.is_full() {
                while told.recv().unwrap() != Told::Room {}
                opened.ledger.flush();
            }
            let call = opened.ledger.next_call();
            let _ = opened.ledger.push(&entry(call, Kind::Read, &it, &arguments));
        }
        opened.ledger.flush();
        opened.committer.submit_and_wait(Job::ForgetServer("x".into())).unwrap();
        let (wall, relay) = (start.elapsed(), thread_cpu() - relay);
        let committer = cpu() - cpu_start - relay;
        println!(
            "reads {round}: {:.0} rows/s wall, {:.0} rows/s of committer CPU ({:.2} µs per row)",
            rows as f64 / wall.as_secs_f64(),
            rows as f64 / committer.as_secs_f64(),
            committer.as_micros() as f64 / rows as f64
        );
    }
    opened.thread.stop().unwrap();
    let size = std::fs::metadata(dir.join("callgate.db")).unwrap().len();
    println!("reads: {:.0} bytes per row", size as f64 / 2_000_000.0);
    let start = Instant::now();
    let findings = Reader::open(dir).unwrap().verify().unwrap();
    assert_eq!(findings.broken, None);
    println!("verify: {:.0} rows/s", findings.rows as f64 / start.elapsed().as_secs_f64());
    let start = Instant::now();
    let opened = open(dir).0;
    println!("open with 2,000,000 rows: {:.1} ms", start.elapsed().as_secs_f64() * 1000.0);
    opened.thread.stop().unwrap();
}

/// fdatasync of one overwritten 4 KiB page plus header, as a commit in a warm WAL does.
fn bare(dir: &Path, rounds: usize) -> Vec<Duration> {
    let file = OpenOptions::new().create(true).truncate(true).write(true).open(dir.join("bare")).unwrap();
    (&file).write_all(&vec![1; 16 << 20]).unwrap();
    file.sync_all().unwrap();
    let page = [2; 4120 * 3];
    (0..rounds)
        .map(|round| {
            let start = Instant::now();
            file.write_all_at(&page, (round as u64 * 12360) % (15 << 20)).unwrap();
            file.sync_data().unwrap();
            start.elapsed()
        })
        .collect()
}

/// One guard at a time.
fn guard(dir: &Path) {
    let (mut opened, told) = open(dir);
    let it = subjects(&mut opened.ledger);
    let arguments = arguments();
    for round in 0..3 {
        let mut bare = bare(dir, 1000);
        let mut times: Vec<Duration> = (0..1000)
            .map(|_| {
                let start = Instant::now();
                let call = opened.ledger.next_call();
                let due = opened.ledger.push(&entry(call, Kind::Intent, &it, &arguments));
                assert_eq!(due, Due::Now);
                opened.ledger.flush();
                while !matches!(told.recv().unwrap(), Told::Settled(_)) {}
                let took = start.elapsed();
                let mark = opened.flight.mark(call).unwrap();
                let _ = opened.ledger.push_end(&entry(call, Kind::End, &it, &arguments), mark);
                took
            })
            .collect();
        println!(
            "guard {round}: p50 {:.0} p99 {:.0} µs; bare fdatasync p50 {:.0} p99 {:.0} µs",
            quantile(&mut times, 0.5),
            quantile(&mut times, 0.99),
            quantile(&mut bare, 0.5),
            quantile(&mut bare, 0.99)
        );
    }
    let start = Instant::now();
    for _ in 0..100_000 {
        let call = opened.ledger.next_call();
        if let Ok(mark) = opened.flight.mark(call) {
            std::hint::black_box(mark);
        }
    }
    println!("mark: {:.2} µs", start.elapsed().as_micros() as f64 / 100_000.0);
    opened.ledger.flush();
    opened.thread.stop().unwrap();
}

/// 64 writers, each sends its next as soon as its last is durable.
fn group(dir: &Path) {
    let (mut opened, told) = open(dir);
    let it = subjects(&mut opened.ledger);
    let arguments = arguments();
    for writers in [16, 64] {
        let (start, total) = (Instant::now(), 60_000);
        let mut done = 0;
        let mut next = writers;
        while done < total {
            for _ in 0..next {
                let call = opened.ledger.next_call();
                let _ = opened.ledger.push(&entry(call, Kind::Intent, &it, &arguments));
            }
            opened.ledger.flush();
            next = 0;
            if let Told::Settled(settled) = told.recv().unwrap() {
                next = settled.len();
                for Settled { call, .. } in settled {
                    let _ = opened.ledger.push(&entry(call, Kind::End, &it, &arguments));
                }
            }
            done += next;
        }
        println!("group of {writers}: {:.0} writes/s (intent and end)", done as f64 / start.elapsed().as_secs_f64());
        opened.ledger.flush();
        opened.committer.submit_and_wait(Job::ForgetServer("x".into())).unwrap();
        while told.try_recv().is_ok() {}
    }
    opened.thread.stop().unwrap();
}

/// 64 writers of calls with a key: reservation, intent, end, a result of 1 KB.
fn keyed(dir: &Path) {
    let (mut opened, told) = open(dir);
    let it = subjects(&mut opened.ledger);
    let arguments = arguments();
    let result = Bytes::from(vec![b'x'; 1024]);
    let (start, total) = (Instant::now(), 60_000);
    let (mut done, mut next) = (0, 64);
    while done < total {
        for _ in 0..next {
            let call = opened.ledger.next_call();
            let key = contract::Hash::of(&call.0.to_le_bytes());
            let record = CallRecord { key: Some(key), ..CallRecord::new(call, "claude-code", "files", "write", 1) };
            let _ = opened.ledger.submit(Job::PutCall { record: Box::new(record), note: None }, None);
            let _ = opened.ledger.push(&entry(call, Kind::Intent, &it, &arguments));
        }
        opened.ledger.flush();
        next = 0;
        if let Told::Settled(settled) = told.recv().unwrap() {
            next = settled.len();
            for Settled { call, .. } in settled {
                let _ = opened.ledger.push(&entry(call, Kind::End, &it, &arguments));
                let job = Job::EndCall { call, outcome: Outcome::Ok, ended_ms: 2, result: Some(result.clone()) };
                let _ = opened.ledger.submit(job, None);
            }
        }
        done += next;
    }
    println!("keyed: {:.0} calls/s", done as f64 / start.elapsed().as_secs_f64());
    opened.ledger.flush();
    opened.thread.stop().unwrap();
    let start = Instant::now();
    let opened = crate::open(dir).0;
    println!("open with {} keys: {:.1} ms", opened.kept.calls.len(), start.elapsed().as_secs_f64() * 1000.0);
    opened.thread.stop().unwrap();
}

/// Guards while reads come at 50,000 a second.
fn loaded(dir: &Path) {
    let (mut opened, told) = open(dir);
    let it = subjects(&mut opened.ledger);
    let arguments = arguments();
    let start = Instant::now();
    let (mut pushed, mut times) = (0, Vec::new());
    let mut waiting: Option<Instant> = None;
    while start.elapsed() < Duration::from_secs(6) {
        while pushed < (start.elapsed().as_micros() / 20) as u64 {
            pushed += 1;
            let call = opened.ledger.next_call();
            let _ = opened.ledger.push(&entry(call, Kind::Read, &it, &arguments));
        }
        match (waiting, told.recv_timeout(Duration::from_micros(if waiting.is_some() { 1000 } else { 0 }))) {
            (Some(since), Ok(Told::Settled(_))) => {
                times.push(since.elapsed());
                waiting = None;
            }
            (None, _) => {
                let call = opened.ledger.next_call();
                let _ = opened.ledger.push(&entry(call, Kind::Intent, &it, &arguments));
                opened.ledger.flush();
                waiting = Some(Instant::now());
            }
            _ => {}
        }
    }
    println!(
        "guards among 50,000 reads/s: {} of them, p50 {:.0} p99 {:.0} p99.9 {:.0} µs",
        times.len(),
        quantile(&mut times, 0.5),
        quantile(&mut times, 0.99),
        quantile(&mut times, 0.999)
    );
    opened.ledger.flush();
    opened.thread.stop().unwrap();
}

/// The way back to a current-thread runtime: one message per transaction, or one oneshot per guard.
fn wake(_dir: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let rounds = 3000;
    for guards in [1, 16] {
        for kind in ["mpsc", "oneshot", "notify"] {
            let (ask, asked) = sync_channel::<Vec<tokio::sync::oneshot::Sender<u64>>>(4);
            let (tell, mut told) = tokio::sync::mpsc::channel::<Vec<u64>>(64);
            let notify = std::sync::Arc::new(tokio::sync::Notify::new());
            let other = notify.clone();
            let thread = std::thread::spawn(move || {
                while let Ok(senders) = asked.recv() {
                    match kind {
                        "mpsc" => tell.blocking_send(vec![0; guards]).unwrap(),
                        "oneshot" => senders.into_iter().for_each(|sender| sender.send(0).unwrap()),
                        _ => other.notify_one(),
                    }
                }
            });
            let (start, before) = (Instant::now(), cpu());
            runtime.block_on(async {
                for _ in 0..rounds {
                    let (senders, receivers): (Vec<_>, Vec<_>) = match kind {
                        "oneshot" => (0..guards).map(|_| tokio::sync::oneshot::channel()).unzip(),
                        _ => (Vec::new(), Vec::new()),
                    };
                    ask.send(senders).unwrap();
                    match kind {
                        "mpsc" => drop(told.recv().await),
                        "oneshot" => {
                            for receiver in receivers {
                                receiver.await.unwrap();
                            }
                        }
                        _ => notify.notified().await,
                    }
                }
            });
            drop(ask);
            thread.join().unwrap();
            println!(
                "wake by {kind}, {guards} guards: {:.1} µs round trip, {:.1} µs CPU",
                start.elapsed().as_micros() as f64 / rounds as f64,
                (cpu() - before).as_micros() as f64 / rounds as f64
            );
        }
    }
}
