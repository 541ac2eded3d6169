//! How an adapter gets to a hub, as a pure machine: connect, else the service manager, else a detached hub of our own,
//! each waited for until a deadline. Asks for effects, does nothing itself.

use std::path::{Path, PathBuf};

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Try to connect to the socket.
    Connect,
    /// Take the lock under which only one adapter starts a hub; wait for it until the deadline.
    Lock,
    /// Ask the service manager to start its unit.
    Service,
    /// Start this binary detached.
    Spawn(PathBuf),
    /// Wait a moment, then connect.
    Wait,
    /// Connected.
    Done,
    /// It cannot be done; the text is for the host's user.
    GiveUp(String),
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Connected.
    Connected,
    /// Nobody listens.
    Refused,
    /// The lock is ours.
    Locked,
    /// The lock did not become ours in time.
    LockBusy,
    /// The effect was carried out.
    Started,
    /// The effect failed.
    Failed(String),
    /// The deadline has passed.
    TooLate,
}

/// What the ladder knows of its surroundings.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// A person stopped the hub after this adapter had been started.
    pub is_stopped: bool,
    /// A unit of the service manager is installed.
    pub has_service: bool,
    /// The binary to start; None: neither our own nor a recorded one exists any more.
    pub binary: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rung {
    First,
    Locking,
    Again,
    Serving,
    Spawning,
    Waiting,
}

/// One way up the ladder.
#[derive(Debug)]
pub struct Ladder {
    facts: Facts,
    rung: Rung,
    trouble: Option<String>,
}

impl Ladder {
    /// At the foot of it; the first step is always [`Step::Connect`].
    pub fn new(facts: Facts) -> (Ladder, Step) {
        (Ladder { facts, rung: Rung::First, trouble: None }, Step::Connect)
    }

    /// The step after an event.
    pub fn next(&mut self, event: Event) -> Step {
        match (self.rung, event) {
            (_, Event::Connected) => Step::Done,
            (_, Event::TooLate) => {
                let trouble = self.trouble.take().unwrap_or_else(|| "it did not become ready in time".into());
                Step::GiveUp(format!("no hub could be started: {trouble}"))
            }
            (Rung::First, _) if self.facts.is_stopped => {
                Step::GiveUp("the hub was stopped; start it with `callgate serve`, the app, or a new session".into())
            }
            (Rung::First, _) => self.go(Rung::Locking, Step::Lock),
            // Whoever has the lock is starting one: it only has to be waited for.
            (Rung::Locking, Event::LockBusy) => self.go(Rung::Waiting, Step::Wait),
            (Rung::Locking, _) => self.go(Rung::Again, Step::Connect),
            (Rung::Again, _) if self.facts.has_service => self.go(Rung::Serving, Step::Service),
            (Rung::Again, _) => self.spawn(),
            (Rung::Serving, Event::Failed(why)) => {
                self.trouble = Some(why);
                self.spawn()
            }
            (Rung::Spawning, Event::Failed(why)) => Step::GiveUp(format!("no hub could be started: {why}")),
            (Rung::Serving | Rung::Spawning | Rung::Waiting, Event::Started | Event::Locked | Event::Failed(_)) => {
                self.go(Rung::Waiting, Step::Connect)
            }
            (Rung::Serving | Rung::Spawning | Rung::Waiting, Event::Refused | Event::LockBusy) => {
                self.go(Rung::Waiting, Step::Wait)
            }
        }
    }

    fn go(&mut self, rung: Rung, step: Step) -> Step {
        self.rung = rung;
        step
    }

    fn spawn(&mut self) -> Step {
        match self.facts.binary.clone() {
            Some(binary) => self.go(Rung::Spawning, Step::Spawn(binary)),
            None => Step::GiveUp("no hub could be started: the callgate binary is gone; install it again".into()),
        }
    }
}

/// The binary to start: the newer one of our own and the one that the last hub recorded, if they still exist.
pub fn newest(own: Option<(&Path, &str)>, recorded: Option<(&Path, &str)>) -> Option<PathBuf> {
    match (own, recorded) {
        (Some((own, mine)), Some((other, theirs))) => {
            Some(if number(theirs) > number(mine) { other } else { own }.to_owned())
        }
        (one, other) => one.or(other).map(|(path, _)| path.to_owned()),
    }
}

/// The numbers of a version; a pre-release counts as its release.
fn number(version: &str) -> [u64; 3] {
    let mut parts = version.split(['.', '-', '+']).map(|part| part.parse().unwrap_or(0));
    [(); 3].map(|()| parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(facts: Facts, events: &[Event]) -> Vec<Step> {
        let (mut ladder, first) = Ladder::new(facts);
        let mut steps = vec![first];
        steps.extend(events.iter().map(|event| ladder.next(event.clone())));
        steps
    }

    fn spawns() -> Facts {
        Facts { binary: Some("/opt/callgate".into()), ..Facts::default() }
    }

    #[test]
    fn a_running_hub_is_used_at_once() {
        assert_eq!(walk(spawns(), &[Event::Connected]), [Step::Connect, Step::Done]);
    }

    #[test]
    fn without_one_it_is_spawned_under_the_lock_and_waited_for() {
        let events = [Event::Refused, Event::Locked, Event::Refused, Event::Started, Event::Refused, Event::Started];
        let steps = walk(spawns(), &events);
        let spawn = Step::Spawn("/opt/callgate".into());
        assert_eq!(steps, [Step::Connect, Step::Lock, Step::Connect, spawn, Step::Connect, Step::Wait, Step::Connect]);
    }

    #[test]
    fn the_second_of_two_only_waits() {
        let events = [Event::Refused, Event::LockBusy, Event::Started, Event::Connected];
        assert_eq!(walk(spawns(), &events), [Step::Connect, Step::Lock, Step::Wait, Step::Connect, Step::Done]);
        // The lock became ours because the other one is done: its hub is there.
        let events = [Event::Refused, Event::Locked, Event::Connected];
        assert_eq!(walk(spawns(), &events), [Step::Connect, Step::Lock, Step::Connect, Step::Done]);
    }

    #[test]
    fn the_service_manager_comes_first_and_may_fail() {
        let facts = Facts { has_service: true, ..spawns() };
        let events = [Event::Refused, Event::Locked, Event::Refused, Event::Failed("no bus".into())];
        assert_eq!(walk(facts, &events)[3..], [Step::Service, Step::Spawn("/opt/callgate".into())]);
    }

    #[test]
    fn a_person_s_stop_and_a_lost_binary_end_it() {
        let stopped = Facts { is_stopped: true, ..spawns() };
        assert!(matches!(walk(stopped, &[Event::Refused]).pop(), Some(Step::GiveUp(_))));
        let events = [Event::Refused, Event::Locked, Event::Refused];
        assert!(matches!(walk(Facts::default(), &events).pop(), Some(Step::GiveUp(why)) if why.contains("binary")));
        let events = [Event::Refused, Event::Locked, Event::Refused, Event::Started, Event::TooLate];
        assert!(matches!(walk(spawns(), &events).pop(), Some(Step::GiveUp(_))));
    }

    #[test]
    fn the_newest_binary_that_exists_is_started() {
        let (own, other) = (Path::new("/own"), Path::new("/other"));
        let check = |mine, theirs, expect: &str| {
            assert_eq!(newest(Some((own, mine)), Some((other, theirs))).as_deref(), Some(Path::new(expect)));
        };
        check("1.2.3", "1.2.3", "/own");
        check("1.2.3", "1.10.0", "/other");
        check("2.0.0", "1.10.0", "/own");
        check("1.0.0-rc.1", "0.9.9", "/own");
        assert_eq!(newest(None, Some((other, "1"))).as_deref(), Some(other));
        assert_eq!(newest(None, None), None);
    }
}
