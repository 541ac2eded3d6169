//! What processes use, from /proc.

use super::args::Args;
use super::peer::Fault;
use rustix::event::poll;
use serde_json::{Map, Value, json};

/// CPU time of all threads of a process, in nanoseconds; those that have ended are not counted.
pub fn cpu_ns(pid: u32) -> u64 {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return 0 };
    let one = |entry: std::io::Result<std::fs::DirEntry>| -> Option<u64> {
        let text = std::fs::read_to_string(entry.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse().ok()
    };
    threads.filter_map(one).sum()
}

/// Proportional set size in KiB.
pub fn pss_kb(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}

/// CPU that processes used since, for each call.
pub struct Meter(Vec<(String, u32, u64)>);

impl Meter {
    pub fn start(pids: &[(String, u32)]) -> Meter {
        Meter(pids.iter().map(|(name, pid)| (name.clone(), *pid, cpu_ns(*pid))).collect())
    }
    pub fn figures(&self, calls: usize) -> Value {
        let mut figures = Map::new();
        for (name, pid, before) in &self.0 {
            let used = cpu_ns(*pid).saturating_sub(*before);
            let per_call = used as f64 / 1000.0 / calls.max(1) as f64;
            figures.insert(name.clone(), json!({"cpu_us_per_call": round(per_call), "pss_kb": pss_kb(*pid)}));
        }
        figures.into()
    }
}

/// Two decimals are enough.
pub fn round(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

/// What processes use while nobody asks them anything.
pub fn idle(args: &Args) -> Result<Value, Fault> {
    let before: Vec<u64> = args.pids.iter().map(|(_, pid)| cpu_ns(*pid)).collect();
    let wait = rustix::event::Timespec { tv_sec: args.seconds.try_into().unwrap_or(10), tv_nsec: 0 };
    poll(&mut [], Some(&wait))?;
    let mut figures = Map::new();
    for ((name, pid), before) in args.pids.iter().zip(before) {
        let used = cpu_ns(*pid).saturating_sub(before) as f64 / 1e6;
        figures.insert(name.clone(), json!({"cpu_ms": round(used), "pss_kb": pss_kb(*pid)}));
    }
    Ok(json!({"mode": "idle", "seconds": args.seconds, "processes": figures}))
}
