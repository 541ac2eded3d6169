//! Stays awake for a moment while little is going on: a processor that was halted needs 10 to 40 µs to come back, which
//! is more than the hub needs for a whole call. Costs at most that moment for each call and nothing at rest.

use crate::task;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long after the last request or answer.
const MOMENT: Duration = Duration::from_micros(60);
/// How long for a disk: it is quicker than that, or so slow that a halted processor does not matter.
const DISK: Duration = Duration::from_micros(200);
/// More exchanges than these that begin within `BURST` are many at once: there is always something to do, and others want
/// the processor. Those that have been open for long are none of them; they wait for somebody who may never answer.
const FEW: usize = 2;
const BURST: Duration = Duration::from_micros(15);
/// So many exchanges by themselves, one after the other, show that there are not many at once any more.
const CALM: u32 = 64;

thread_local! {
    static AWAKE: Rc<Awake> = Rc::default();
}

#[derive(Default)]
struct Awake {
    /// When the last exchanges began, the oldest first.
    begun: Cell<[Option<Instant>; FEW]>,
    /// Exchanges by themselves that are still to come before it is calm.
    crowded: Cell<u32>,
    until: Cell<Option<Instant>>,
    is_asleep: Cell<bool>,
    wake: Notify,
}

impl Awake {
    /// Another exchange begins.
    fn count(&self, now: Instant) {
        let mut begun = self.begun.get();
        let is_burst = begun[0].is_some_and(|first| now.duration_since(first) < BURST);
        begun.rotate_left(1);
        begun[FEW - 1] = Some(now);
        self.begun.set(begun);
        self.crowded.set(if is_burst { CALM } else { self.crowded.get().saturating_sub(1) });
    }

    fn stay(&self, until: Instant) {
        if self.crowded.get() > 0 {
            return;
        }
        self.until.set(Some(until));
        if self.is_asleep.replace(false) {
            self.wake.notify_one();
        }
    }
}

/// One exchange that is under way, from its request to its end.
pub struct Open(());

impl Open {
    /// A request is about to be sent on.
    pub fn begin() -> Open {
        AWAKE.with(|awake| {
            let now = Instant::now();
            awake.count(now);
            awake.stay(now + MOMENT);
        });
        Open(())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        AWAKE.with(|awake| {
            if awake.crowded.get() == 0 {
                awake.stay(Instant::now() + MOMENT);
            }
        });
    }
}

/// What is to be sent next is written to a disk first.
pub fn await_disk() {
    AWAKE.with(|awake| {
        let now = Instant::now();
        awake.count(now);
        awake.stay(now + DISK);
    });
}

/// Whether there is a processor to spare.
fn is_worth_it() -> bool {
    std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1)
}

/// Begins to stay awake on this thread, where there is a processor to spare. Must be called inside a `LocalSet`.
pub fn begin() {
    if !is_worth_it() {
        return;
    }
    let awake = AWAKE.with(Rc::clone);
    task::spawn("stay awake", async move {
        loop {
            awake.is_asleep.set(true);
            awake.wake.notified().await;
            while awake.until.get().is_some_and(|until| Instant::now() < until) {
                // Whoever is to answer may have been put on this very processor.
                std::thread::yield_now();
                tokio::task::yield_now().await;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_awake() -> bool {
        AWAKE.with(|awake| awake.until.take().is_some())
    }

    #[test]
    fn it_stays_awake_around_single_exchanges_and_not_among_many_at_once() {
        let later = || {
            std::iter::repeat_with(Instant::now).find({
                let begun = Instant::now();
                move |now| now.duration_since(begun) > BURST
            })
        };
        assert!(!is_awake());
        let stuck: Vec<Open> = (0..FEW).map(|_| Open::begin()).collect();
        assert!(is_awake());
        later();
        drop(Open::begin());
        assert!(is_awake(), "others that wait for ever do not count");
        later();
        let now = Instant::now();
        AWAKE.with(|awake| (0..=FEW).for_each(|_| awake.count(now)));
        drop(Open::begin());
        assert!(!is_awake(), "there is enough to do");
        for _ in 0..CALM {
            later();
            drop(Open::begin());
        }
        assert!(is_awake(), "they come one by one");
        drop(stuck);
        assert!(is_awake(), "the next request may be on its way");
        later();
        await_disk();
        assert!(is_awake(), "so is a disk");
        let now = Instant::now();
        AWAKE.with(|awake| (0..=FEW).for_each(|_| awake.count(now)));
        await_disk();
        assert!(!is_awake(), "others want the processor");
    }

    #[tokio::test]
    async fn it_sleeps_when_its_moment_is_over() {
        let sleeps = || AWAKE.with(|awake| awake.is_asleep.get());
        let watch = async {
            begin();
            drop(Open::begin());
            let deadline = Instant::now() + Duration::from_secs(20);
            while is_worth_it() && !sleeps() {
                assert!(Instant::now() < deadline, "it never sleeps");
                tokio::task::yield_now().await;
            }
        };
        tokio::task::LocalSet::new().run_until(watch).await;
    }
}
