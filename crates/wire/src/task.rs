//! The only way to start a task on the relay thread, and the watchdog over its turns: everybody shares that thread, so
//! whoever keeps it for long is counted and named. Never changes what a task does.

use pin_project_lite::pin_project;
use std::cell::RefCell;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

/// How long one turn may keep the relay: 1 ms of the code as it is shipped. Without optimisation the same work takes
/// about ten times as long.
pub const BOUND: Duration = if cfg!(debug_assertions) { Duration::from_millis(10) } else { Duration::from_millis(1) };
/// A task is named in the log at most this often.
const PAUSE: Duration = Duration::from_secs(10);

/// Starts a task of this thread. `name` says what it is for; must be called inside a `LocalSet`.
#[allow(clippy::disallowed_methods, reason = "the owner of the relay's tasks")]
pub fn spawn<F: Future + 'static>(name: &'static str, task: F) -> JoinHandle<F::Output> {
    tokio::task::spawn_local(watched(name, task))
}

/// Starts a task of this thread that ends with its set. Must be called inside a `LocalSet`.
#[allow(clippy::disallowed_methods, reason = "the owner of the relay's tasks")]
pub fn spawn_in<F>(set: &mut JoinSet<F::Output>, name: &'static str, task: F) -> AbortHandle
where
    F: Future + 'static,
{
    set.spawn_local(watched(name, task))
}

/// The same work under the watchdog: for what runs on the relay thread without being a task.
pub fn watched<F: Future>(name: &'static str, task: F) -> impl Future<Output = F::Output> {
    Watched { name, task }
}

pin_project! {
    struct Watched<F> {
        name: &'static str,
        #[pin]
        task: F,
    }
}

impl<F: Future> Future for Watched<F> {
    type Output = F::Output;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let began = Instant::now();
        let polled = this.task.poll(cx);
        let took = began.elapsed();
        if took > BOUND {
            bark(this.name, took);
        }
        polled
    }
}

/// Turns of this thread's tasks that took longer than [`BOUND`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slow {
    /// How many.
    pub count: u64,
    /// The longest one.
    pub longest: Duration,
    /// The task that had it; empty where there was none.
    pub name: &'static str,
}

/// What the watchdog has seen on this thread so far.
pub fn slow() -> Slow {
    DOG.with_borrow(|dog| dog.slow)
}

thread_local! {
    static DOG: RefCell<Dog> = RefCell::default();
}

#[cold]
fn bark(name: &'static str, took: Duration) {
    if let Some(line) = DOG.with_borrow_mut(|dog| dog.saw(name, took, Instant::now())) {
        let longest_ms = line.longest.as_micros() as f64 / 1e3;
        tracing::warn!(task = name, longest_ms, times = line.count, "a task kept the relay for too long");
    }
}

/// What is remembered of the slow tasks: one entry for each name, and names are few.
#[derive(Default)]
struct Dog {
    slow: Slow,
    quiet: Vec<(Slow, Option<Instant>)>,
}

impl Dog {
    /// Counts a turn. What to log, unless this task was named a moment ago.
    fn saw(&mut self, name: &'static str, took: Duration, now: Instant) -> Option<Slow> {
        self.slow.count += 1;
        if took > self.slow.longest {
            self.slow = Slow { longest: took, name, ..self.slow };
        }
        let place = self.quiet.iter().position(|(since, _)| since.name == name).unwrap_or_else(|| {
            self.quiet.push((Slow { name, ..Slow::default() }, None));
            self.quiet.len() - 1
        });
        let (since, named) = &mut self.quiet[place];
        since.count += 1;
        since.longest = since.longest.max(took);
        if named.is_some_and(|at| now.duration_since(at) < PAUSE) {
            return None;
        }
        *named = Some(now);
        Some(std::mem::replace(since, Slow { name, ..Slow::default() }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn on_relay<F: Future<Output = ()>>(work: F) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, work);
    }

    async fn hog() {
        let began = Instant::now();
        while began.elapsed() <= BOUND {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_task_that_keeps_the_relay_is_named() {
        on_relay(async {
            assert_eq!(slow(), Slow::default());
            spawn("hog", hog()).await.unwrap();
            let seen = slow();
            assert_eq!((seen.count > 0, seen.name), (true, "hog"));
            assert!(seen.longest > BOUND, "{seen:?}");
            let mut set = JoinSet::new();
            spawn_in(&mut set, "hog in a set", hog());
            set.join_next().await;
            watched("hog by itself", hog()).await;
            DOG.with_borrow(|dog| {
                let names: Vec<_> = dog.quiet.iter().map(|(since, _)| since.name).collect();
                assert_eq!(names, ["hog", "hog in a set", "hog by itself"]);
            });
        });
    }

    #[test]
    fn many_short_turns_are_not_a_long_one() {
        // A busy machine may take the core away in the middle of a turn, but not every time.
        let quiet = (0..20).any(|_| {
            let before = slow().count;
            on_relay(async {
                let began = Instant::now();
                spawn("short turns", async move {
                    while began.elapsed() <= 2 * BOUND {
                        tokio::task::yield_now().await;
                    }
                })
                .await
                .unwrap();
            });
            slow().count == before
        });
        assert!(quiet, "{:?}", slow());
    }

    #[test]
    fn each_name_is_logged_once_in_a_while_with_what_happened_since() {
        let mut dog = Dog::default();
        let start = Instant::now();
        let mut check = |name, took, at, expect: Option<(u64, u64)>| {
            let line = dog.saw(name, Duration::from_millis(took), start + Duration::from_millis(at));
            assert_eq!(line.map(|line| (line.count, line.longest.as_millis() as u64)), expect, "{name} at {at} ms");
        };
        check("a", 2, 0, Some((1, 2)));
        check("a", 9, 1, None);
        check("b", 3, 2, Some((1, 3)));
        check("a", 4, 9_999, None);
        check("a", 5, 10_000, Some((3, 9)));
        check("a", 6, 10_001, None);
        check("a", 7, 30_000, Some((2, 7)));
        assert_eq!(dog.slow, Slow { count: 7, longest: Duration::from_millis(9), name: "a" });
    }
}
