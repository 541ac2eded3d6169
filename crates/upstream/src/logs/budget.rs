//! How much of what a server writes is kept: a bucket that fills with time, and a count of what did not fit. Pure.

use std::time::Instant;

/// Lets `burst` units through at once and `rate` units a second after that.
#[derive(Debug)]
pub struct Budget {
    burst: u64,
    rate: u64,
    left: u64,
    filled: Option<Instant>,
    /// Not let through since the last [`Budget::settle`]: how often and how much.
    missed: (u64, u64),
}

impl Budget {
    /// A full bucket.
    pub fn new(burst: u64, rate: u64) -> Budget {
        Budget { burst, rate, left: burst, filled: None, missed: (0, 0) }
    }

    fn fill(&mut self, now: Instant) {
        let since = now.saturating_duration_since(*self.filled.get_or_insert(now));
        let more = (since.as_millis() as u64).saturating_mul(self.rate) / 1000;
        if more > 0 {
            self.left = self.left.saturating_add(more).min(self.burst);
            self.filled = Some(now);
        }
    }

    /// Whether this much may pass now; it does not pass in parts.
    pub fn pass(&mut self, units: u64, now: Instant) -> bool {
        self.fill(now);
        // Once something is missing, nothing slips through before that is told.
        let enough = units <= self.left && (self.missed.0 == 0 || self.calm());
        if enough {
            self.left -= units;
        } else {
            self.missed = (self.missed.0 + 1, self.missed.1 + units);
            // It is over only when there is room for a while; else each gap would tell of the one before.
            self.left = 0;
        }
        enough
    }

    /// What did not pass, once there is room again for a while; it counts from zero then.
    pub fn settle(&mut self, now: Instant) -> Option<(u64, u64)> {
        self.fill(now);
        (self.missed.0 > 0 && self.calm()).then(|| std::mem::take(&mut self.missed))
    }

    /// A tenth of a second's worth has come in.
    fn calm(&self) -> bool {
        self.left > self.rate / 10
    }

    /// What did not pass, at the end.
    pub fn close(&mut self) -> Option<(u64, u64)> {
        (self.missed.0 > 0).then(|| std::mem::take(&mut self.missed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_burst_passes_and_a_flood_is_counted() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut budget = Budget::new(100, 50);
        assert!(budget.pass(60, at(0)) && budget.pass(40, at(0)));
        assert!(!budget.pass(1, at(0)) && !budget.pass(7, at(0)));
        assert_eq!(budget.settle(at(50)), None, "not calm yet");
        assert!(!budget.pass(0, at(50)), "and nothing slips through");
        assert!(budget.pass(20, at(500)));
        assert_eq!(budget.settle(at(1_000)), Some((3, 8)));
        assert_eq!(budget.settle(at(1_000)), None);
        assert!(!budget.pass(101, at(1_000_000)), "more than a burst never passes");
        assert_eq!(budget.close(), Some((1, 101)));
        // Time that stands still or goes back gives nothing.
        let mut budget = Budget::new(1, 1);
        assert!(budget.pass(1, at(10)) && !budget.pass(1, at(10)) && !budget.pass(1, at(0)));
    }
}
