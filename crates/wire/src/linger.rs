//! Stays awake for a moment while little is going on: a processor that was halted needs 10 to 40 µs to come back, which
//! is more than the hub needs for a whole call. Costs at most that moment for each call and nothing at rest.

use crate::task;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long after the last request or answer.
const MOMENT: Duration = Duration::from_micros(60);
/// With more exchanges than these at once there is always something to do, and others want the processor.
const FEW: u32 = 2;
/// So many exchanges by themselves, one after the other, show that there are not many at once any more.
const CALM: u32 = 64;

thread_local! {
    static AWAKE: Rc<Awake> = Rc::default();
}

#[derive(Default)]
struct Awake {
    open: Cell<u32>,
    /// Exchanges by themselves that are still to come before it is calm.
    crowded: Cell<u32>,
    until: Cell<Option<Instant>>,
    is_asleep: Cell<bool>,
    wake: Notify,
}

impl Awake {
    fn stay(&self) {
        if self.open.get() > FEW || self.crowded.get() > 0 {
            return;
        }
        self.until.set(Some(Instant::now() + MOMENT));
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
            awake.open.set(awake.open.get() + 1);
            awake.crowded.set(if awake.open.get() > FEW { CALM } else { awake.crowded.get().saturating_sub(1) });
            awake.stay();
        });
        Open(())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        AWAKE.with(|awake| {
            awake.open.set(awake.open.get() - 1);
            awake.stay();
        });
    }
}

/// What comes next is waited for on a disk: the processor is better left to that.
pub fn rest() {
    AWAKE.with(|awake| awake.until.set(None));
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
    fn it_stays_awake_around_few_exchanges_and_not_among_many() {
        assert!(!is_awake());
        let first = Open::begin();
        assert!(is_awake());
        let second = Open::begin();
        assert!(is_awake());
        let third = Open::begin();
        assert!(!is_awake(), "there is enough to do");
        drop((first, second, third));
        assert!(!is_awake(), "more of them may come at once");
        for _ in 0..CALM {
            drop(Open::begin());
        }
        assert!(is_awake(), "they come one by one");
        drop(Open::begin());
        assert!(is_awake(), "the next request may be on its way");
        drop(Open::begin());
        rest();
        assert!(!is_awake());
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
