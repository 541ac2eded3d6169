//! How long the committer may sleep: without a timer while nothing is to be done, which is the rule.

use std::time::{Duration, Instant};

/// How long until kept rows are tried again.
const RETRY: Duration = Duration::from_secs(1);
/// So many transactions in the write-ahead log are moved into the database when nothing comes for a while: the next
/// start reads through what a killed hub left there.
pub(crate) const LONG_LOG: u32 = 16;
/// How long that while is.
const REST: Duration = Duration::from_millis(200);
/// Longest time that rows go without an anchor.
pub(crate) const ANCHOR_EVERY: Duration = Duration::from_secs(10);

/// When and where the last anchor was set.
pub(crate) struct Anchors {
    pub at: Instant,
    pub row: u64,
    pub every: Duration,
}

/// How long the committer may sleep; None: until something comes.
pub(crate) fn limit(
    has_unwritten: bool,
    transactions: u32,
    anchors: Option<&Anchors>,
    last_row: u64,
    now: Instant,
) -> Option<Duration> {
    if has_unwritten {
        return Some(RETRY);
    }
    if transactions >= LONG_LOG {
        return Some(REST);
    }
    let anchors = anchors.filter(|anchors| anchors.row < last_row)?;
    Some(anchors.every.saturating_sub(now.duration_since(anchors.at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sleeps_without_a_timer_unless_something_is_left_to_do() {
        let now = Instant::now();
        let anchors = |row, ago| Anchors { at: now - Duration::from_secs(ago), row, every: ANCHOR_EVERY };
        let check = |unwritten, transactions, anchors: Option<Anchors>, expect: Option<u64>| {
            let got = limit(unwritten, transactions, anchors.as_ref(), 7, now);
            assert_eq!(got, expect.map(Duration::from_millis));
        };
        check(false, 0, None, None);
        check(false, LONG_LOG - 1, Some(anchors(7, 60)), None);
        check(false, 0, Some(anchors(6, 3)), Some(7_000));
        check(false, 0, Some(anchors(6, 60)), Some(0));
        check(false, LONG_LOG, Some(anchors(6, 3)), Some(200));
        check(true, LONG_LOG, Some(anchors(7, 3)), Some(1_000));
    }
}
