//! Calls one after the other or so many at once, and lists.

use super::args::{Args, Mode};
use super::peer::{Fault, Peer};
use super::process::{Meter, round};
use super::start;
use super::wire::{self, Request};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Sorted latencies in nanoseconds.
pub fn quantile(sorted: &[u64], share: f64) -> f64 {
    let place = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    round(sorted.get(place).copied().unwrap_or(0) as f64 / 1000.0)
}

pub fn run(args: &Args, peer: &mut dyn Peer) -> Result<Value, Fault> {
    wire::hello(peer, args.era)?;
    match args.mode {
        Mode::List => lists(args, peer),
        _ => calls(args, peer),
    }
}

fn meter(args: &Args, peer: &dyn Peer) -> Meter {
    let mut pids = args.pids.clone();
    pids.extend(peer.pid().map(|pid| ("child".to_owned(), pid)));
    Meter::start(&pids)
}

fn lists(args: &Args, peer: &mut dyn Peer) -> Result<Value, Fault> {
    let mut id = 1;
    let first = wire::list(peer, args.era, &mut id)?;
    let meter = meter(args, peer);
    let mut took = Vec::with_capacity(args.calls);
    for _ in 0..args.calls {
        took.push(wire::list(peer, args.era, &mut id)?.took.as_nanos() as u64);
    }
    took.sort_unstable();
    Ok(json!({
        "mode": "list", "calls": args.calls, "tools": first.tools, "bytes": first.bytes,
        "p50_us": quantile(&took, 0.5), "p99_us": quantile(&took, 0.99), "processes": meter.figures(args.calls),
    }))
}

/// First id of a call; lower ones belong to the hello.
const FIRST: u64 = 1000;

fn calls(args: &Args, peer: &mut dyn Peer) -> Result<Value, Fault> {
    let requests: Vec<Request> = args.tools.iter().map(|tool| Request::call(tool, &args.arguments, args.era)).collect();
    let warm = (args.calls / 20).clamp(10, 2000);
    rush(peer, &requests, None, args.in_flight, warm, FIRST)?;
    let meter = meter(args, peer);
    let start = Instant::now();
    let mut rush = rush(peer, &requests, args.pause, args.in_flight, args.calls, FIRST + warm as u64)?;
    let seconds = start.elapsed().as_secs_f64();
    rush.took.sort_unstable();
    Ok(json!({
        "mode": "calls", "tools": args.tools, "calls": args.calls, "in_flight": args.in_flight,
        "answer_bytes": rush.bytes / args.calls.max(1), "bad": rush.bad, "sample_of_bad": rush.sample,
        "calls_per_s": (args.calls as f64 / seconds).round(),
        "p50_us": quantile(&rush.took, 0.5), "p90_us": quantile(&rush.took, 0.9), "p99_us": quantile(&rush.took, 0.99),
        "max_us": quantile(&rush.took, 1.0), "processes": meter.figures(args.calls),
    }))
}

#[derive(Default)]
struct Rush {
    took: Vec<u64>,
    bytes: usize,
    bad: usize,
    sample: Option<String>,
}

/// So many calls, so many of them at once; a lane is used again as soon as it is free. After a pause all processes on
/// the way have gone to sleep: that is how a person's agent calls.
fn rush(
    peer: &mut dyn Peer,
    requests: &[Request],
    pause: Option<Duration>,
    in_flight: usize,
    calls: usize,
    first: u64,
) -> Result<Rush, Fault> {
    let mut rush = Rush { took: Vec::with_capacity(calls), ..Rush::default() };
    let mut sent: Vec<Instant> = Vec::with_capacity(calls);
    let mut text = Vec::new();
    let mut free: Vec<usize> = (0..in_flight).rev().collect();
    let mut lane_of = vec![0usize; calls];
    while rush.took.len() < calls {
        while sent.len() < calls
            && let Some(lane) = free.pop()
        {
            requests[sent.len() % requests.len()].write(first + sent.len() as u64, &mut text);
            if let Some(pause) = pause {
                start::pause(pause)?;
            }
            lane_of[sent.len()] = lane;
            sent.push(Instant::now());
            peer.send(lane, &text)?;
        }
        peer.turn(&mut |_, answer| {
            let place = wire::id_of(answer).and_then(|id| usize::try_from(id.checked_sub(first)?).ok());
            let Some(sent) = place.and_then(|place| sent.get(place)) else { return };
            rush.took.push(sent.elapsed().as_nanos() as u64);
            rush.bytes += answer.len();
            if !wire::is_good(answer) {
                rush.bad += 1;
                rush.sample
                    .get_or_insert_with(|| String::from_utf8_lossy(&answer[..answer.len().min(300)]).into_owned());
            }
            free.push(lane_of[place.unwrap_or_default()]);
        })?;
    }
    Ok(rush)
}
