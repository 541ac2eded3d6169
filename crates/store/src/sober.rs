//! The time by which things are forgotten. A wall clock that jumps ahead must not make anybody forget what is a minute
//! old: it is believed only as far as time has passed since the last row that was written before this run.

use std::time::Duration;

/// How far the wall clock may be ahead of that.
const SLACK_MS: u64 = 60 * 60 * 1000;

/// A clock that never runs ahead.
#[derive(Clone, Copy)]
pub(crate) struct Sober {
    wall: fn() -> u64,
    /// Time since some moment, sleep included; None: the wall clock is believed.
    steady: Option<fn() -> Duration>,
    begun: Duration,
    /// Milliseconds since 1970, when this run began as far as is known.
    from_ms: u64,
}

impl Sober {
    /// `before_ms`: when the last row before this run was written.
    pub(crate) fn new(wall: fn() -> u64, steady: Option<fn() -> Duration>, before_ms: Option<u64>) -> Sober {
        let begun = steady.map_or(Duration::ZERO, |steady| steady());
        Sober { wall, steady, begun, from_ms: before_ms.unwrap_or_else(wall) }
    }
    /// Milliseconds since 1970, or less.
    pub(crate) fn now_ms(&self) -> u64 {
        let wall = (self.wall)();
        let Some(steady) = self.steady else { return wall };
        let passed = u64::try_from(steady().saturating_sub(self.begun).as_millis()).unwrap_or(u64::MAX);
        wall.min(self.from_ms.saturating_add(passed).saturating_add(SLACK_MS))
    }
}

/// Time since the system started, sleep included where the system tells it.
pub(crate) fn since_boot() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(all(unix, not(target_os = "linux")))]
    let clock = rustix::time::ClockId::Monotonic;
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(clock);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
    }
    #[cfg(not(unix))]
    {
        static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
        START.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn a_clock_is_believed_as_far_as_time_has_passed() {
        static WALL: AtomicU64 = AtomicU64::new(0);
        static STEADY: AtomicU64 = AtomicU64::new(0);
        let check = |before: Option<u64>, wall: u64, hours: u64, expect: u64| {
            let hour = 60 * 60 * 1000;
            let day = 24 * hour;
            STEADY.store(7, Ordering::Relaxed);
            WALL.store(1_000 * day, Ordering::Relaxed);
            let steady: fn() -> Duration = || Duration::from_millis(STEADY.load(Ordering::Relaxed));
            let sober = Sober::new(|| WALL.load(Ordering::Relaxed), Some(steady), before.map(|day_of| day_of * day));
            STEADY.store(7 + hours * hour, Ordering::Relaxed);
            WALL.store(wall * day, Ordering::Relaxed);
            assert_eq!(sober.now_ms() / hour, expect);
        };
        check(Some(1_000), 1_000, 5, 24_000);
        check(Some(1_000), 1_100, 5, 24_006);
        check(Some(900), 1_000, 5, 21_606);
        check(Some(1_100), 1_000, 5, 24_000);
        check(None, 1_002, 48, 24_048);
        check(None, 1_002, 0, 24_001);
    }
}
