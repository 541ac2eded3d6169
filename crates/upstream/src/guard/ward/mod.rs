//! What the guard decides: events in, effects out, time as an argument. Starts nothing and signals nothing itself.

use crate::guard::census::{Entry, Proc, Table};
use crate::guard::words::{Ended, Force, Past, Report, Request, Stage, Start};
use std::collections::{BTreeMap, BTreeSet};

/// Milliseconds since the guard began.
pub type Millis = u64;

/// After the hub is gone: how long servers have to leave by themselves, their stdin being closed.
const GRACE: Millis = 700;
/// And how long after SIGTERM until SIGKILL. Both together stay well under three seconds.
const TERMINATE: Millis = 1_000;
/// Leftovers of an earlier run have had their grace already.
const SWEEP: Millis = 500;
/// Between two rounds of SIGKILL.
const AGAIN: Millis = 30;
/// At most this often is the process table read because a stranger ended.
const PACE: Millis = 10;
/// What does not die of SIGKILL for so long (another user's, or stuck in the kernel) is given up.
const HOPELESS: Millis = 30_000;

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The hub asks.
    Asked(Request),
    /// A start went well.
    Started(u64, Proc),
    /// A start failed.
    NotStarted(u64, Stage, i32),
    /// A child of the guard, started or adopted, has ended.
    Reaped(i32, Ended),
    /// Nobody is at the other end of the socket.
    HubGone,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Start a program and tell the outcome.
    Start(Start),
    /// Tell the hub.
    Report(Report),
    /// Signal a process group.
    Group(i32, Force),
    /// Signal one process, if it is still the same.
    One(Proc, Force),
    /// Nothing is left to guard.
    Leave,
}

/// Processes that are being made to end.
#[derive(Debug, Default)]
struct Chase {
    since: Option<Millis>,
    told: BTreeSet<Proc>,
}

impl Chase {
    /// One round. SIGTERM goes to each process once, SIGKILL every time. Members of `group` are reached at one stroke.
    fn round(&mut self, members: &[Entry], group: Option<i32>, force: Force, effects: &mut Vec<Effect>) {
        let fresh = |chase: &Chase, entry: &Entry| force == Force::Kill || !chase.told.contains(&entry.proc);
        let whole = group.filter(|&group| {
            let mut within = members.iter().filter(|entry| entry.group == group).peekable();
            within.peek().is_some() && within.all(|entry| fresh(self, entry))
        });
        if let Some(group) = whole {
            effects.push(Effect::Group(group, force));
        }
        for entry in members {
            if fresh(self, entry) && whole != Some(entry.group) {
                effects.push(Effect::One(entry.proc, force));
            }
        }
        self.told.extend(members.iter().map(|entry| entry.proc));
    }

    /// A round of SIGTERM at first and of SIGKILL after `patience`; true when there is no hope.
    fn press(&mut self, members: &[Entry], patience: Millis, now: Millis, effects: &mut Vec<Effect>) -> bool {
        let since = *self.since.get_or_insert(now);
        let force = if now >= since + patience { Force::Kill } else { Force::Terminate };
        self.round(members, None, force, effects);
        now >= since + HOPELESS
    }
}

struct Instance {
    root: Proc,
    exited: bool,
    /// Everything seen in its tree and still alive, so that one who leaves it later is remembered.
    known: BTreeSet<Proc>,
    wish: Option<Force>,
    chase: Chase,
    /// One reading of the table is not of one moment: gone is who is missing twice in a row.
    missed: bool,
}

/// The state of the guard.
pub struct Ward {
    guard: i32,
    home: String,
    run: String,
    instances: BTreeMap<u64, Instance>,
    /// Descendants that no instance can be found for: they go with the last instance.
    strays: Chase,
    sweep: Option<(Chase, u32)>,
    /// Starts that wait for the end of a sweep.
    waiting: Vec<Start>,
    hub_gone: Option<Millis>,
    look_at: Option<Millis>,
    looked: Option<Millis>,
}

impl Ward {
    /// A guard with this process number, which has nothing to guard yet.
    pub fn new(guard: i32) -> Ward {
        Ward {
            guard,
            home: String::new(),
            run: String::new(),
            instances: BTreeMap::new(),
            strays: Chase::default(),
            sweep: None,
            waiting: Vec::new(),
            hub_gone: None,
            look_at: None,
            looked: None,
        }
    }

    /// When the process table is to be read next, if at all.
    pub fn look_at(&self) -> Option<Millis> {
        self.look_at
    }

    /// The processes started whose end has not been told yet, for systems without a process table.
    pub fn roots(&self) -> impl Iterator<Item = Proc> {
        self.instances.values().map(|instance| instance.root)
    }

    /// The process table could not be read: tries again soon.
    pub fn blind(&mut self, now: Millis) {
        self.look_at = Some(now + AGAIN);
    }

    fn look(&mut self, at: Millis) {
        self.look_at = Some(self.look_at.map_or(at, |known| known.min(at)));
    }

    /// Takes in one event.
    pub fn handle(&mut self, event: Event, now: Millis) -> Vec<Effect> {
        match event {
            Event::Asked(request) => self.asked(request, now),
            Event::Started(id, root) => {
                self.instances.insert(
                    id,
                    Instance {
                        root,
                        exited: false,
                        known: BTreeSet::new(),
                        wish: None,
                        chase: Chase::default(),
                        missed: false,
                    },
                );
                if self.hub_gone.is_some() {
                    self.look(now);
                }
                vec![Effect::Report(Report::Started { id, pid: root.pid })]
            }
            Event::NotStarted(id, stage, errno) => vec![Effect::Report(Report::Failed { id, stage, errno })],
            Event::Reaped(pid, how) => self.reaped(pid, how, now),
            Event::HubGone => {
                if self.hub_gone.is_none() {
                    self.hub_gone = Some(now);
                    self.waiting.clear();
                    self.look(now);
                }
                Vec::new()
            }
        }
    }

    fn asked(&mut self, request: Request, now: Millis) -> Vec<Effect> {
        match request {
            Request::Hello { home, run, past } => {
                self.home = home;
                self.run = run;
                if past == Past::Unknown {
                    self.sweep = Some((Chase::default(), 0));
                    self.look(now);
                }
            }
            Request::Start(start) if self.hub_gone.is_some() => {
                return vec![Effect::Report(Report::Failed { id: start.id, stage: Stage::Process, errno: 0 })];
            }
            Request::Start(start) if self.sweep.is_some() => self.waiting.push(start),
            Request::Start(start) => return vec![Effect::Start(start)],
            Request::End(id, force) => {
                if let Some(instance) = self.instances.get_mut(&id) {
                    instance.wish = instance.wish.max(Some(force));
                    self.look(now);
                }
            }
        }
        Vec::new()
    }

    fn reaped(&mut self, pid: i32, how: Ended, now: Millis) -> Vec<Effect> {
        let root = self.instances.iter_mut().find(|(_, instance)| instance.root.pid == pid && !instance.exited);
        if let Some((&id, instance)) = root {
            instance.exited = true;
            self.look(now);
            return vec![Effect::Report(Report::Exited { id, how })];
        }
        if self.hub_gone.is_some() || self.instances.values().any(|instance| instance.exited) {
            self.look(self.looked.map_or(now, |looked| now.max(looked + PACE)));
        }
        Vec::new()
    }

    /// Takes in a reading of the process table. `mark` gives the mark in a process's first environment.
    pub fn seen(&mut self, table: &Table, mark: &mut dyn FnMut(i32) -> Option<Vec<u8>>, now: Millis) -> Vec<Effect> {
        self.look_at = None;
        self.looked = Some(now);
        let mut effects = Vec::new();
        self.sweep(table, mark, now, &mut effects);

        let (trees, strays) = self.sort(table, mark);
        // What the hub still asked for is done also when it is gone since.
        for (&id, members) in &trees {
            self.tend(id, members, now, &mut effects);
        }
        if let Some(since) = self.hub_gone {
            let everyone: Vec<Entry> = trees.into_values().flatten().chain(strays).collect();
            self.leave(&everyone, since, now, &mut effects);
        } else if !strays.is_empty() && self.instances.is_empty() {
            let hopeless = self.strays.press(&strays, TERMINATE, now, &mut effects);
            if !hopeless {
                self.look(now + AGAIN);
            }
        }
        effects
    }

    /// Who belongs where, and who belongs nowhere.
    fn sort(
        &self,
        table: &Table,
        mark: &mut dyn FnMut(i32) -> Option<Vec<u8>>,
    ) -> (BTreeMap<u64, Vec<Entry>>, Vec<Entry>) {
        let mut of_proc = BTreeMap::new();
        let mut of_group = BTreeMap::new();
        let mut trees: BTreeMap<u64, Vec<Entry>> = BTreeMap::new();
        for (&id, instance) in &self.instances {
            of_proc.insert(instance.root, id);
            of_proc.extend(instance.known.iter().map(|&proc| (proc, id)));
            of_group.insert(instance.root.pid, id);
            trees.insert(id, Vec::new());
        }
        let mut of_mark = |pid: i32| {
            let mark = mark(pid)?;
            let id = std::str::from_utf8(mark.strip_prefix(self.run.as_bytes())?).ok()?.parse().ok()?;
            self.instances.contains_key(&id).then_some(id)
        };
        let mut strays = Vec::new();
        for (entry, line) in table.below(self.guard) {
            let owner = line
                .iter()
                .find_map(|step| of_proc.get(&step.proc).copied())
                .or_else(|| line.iter().find_map(|step| of_group.get(&step.group).copied()))
                .or_else(|| line.iter().rev().find_map(|step| of_mark(step.proc.pid)));
            match owner.and_then(|id| trees.get_mut(&id)) {
                Some(tree) => tree.push(*entry),
                None => strays.push(*entry),
            }
        }
        (trees, strays)
    }

    fn tend(&mut self, id: u64, members: &[Entry], now: Millis, effects: &mut Vec<Effect>) {
        let Some(instance) = self.instances.get_mut(&id) else { return };
        instance.known = members.iter().map(|entry| entry.proc).collect();
        let empty = instance.exited && members.is_empty();
        let missed = std::mem::replace(&mut instance.missed, empty);
        if empty {
            if missed {
                self.instances.remove(&id);
                effects.push(Effect::Report(Report::Gone { id }));
            } else {
                self.look(now);
            }
            return;
        }
        if let Some(force) = instance.wish {
            instance.chase.round(members, Some(instance.root.pid), force, effects);
            if force == Force::Kill {
                self.look(now + AGAIN);
            }
        }
    }

    fn leave(&mut self, everyone: &[Entry], since: Millis, now: Millis, effects: &mut Vec<Effect>) {
        if everyone.is_empty() {
            effects.push(Effect::Leave);
        } else if now < since + GRACE {
            self.look(since + GRACE);
        } else if self.strays.press(everyone, TERMINATE, now, effects) {
            effects.push(Effect::Leave);
        } else {
            self.look(now + AGAIN);
        }
    }

    /// Ends what an earlier hub or guard of this home left behind, and no other program.
    fn sweep(
        &mut self,
        table: &Table,
        mark: &mut dyn FnMut(i32) -> Option<Vec<u8>>,
        now: Millis,
        effects: &mut Vec<Effect>,
    ) {
        let Some((mut chase, mut count)) = self.sweep.take() else { return };
        let above: BTreeSet<i32> = table.line(self.guard).map(|entry| entry.proc.pid).collect();
        let own: BTreeSet<i32> = table.below(self.guard).map(|(entry, _)| entry.proc.pid).collect();
        let mut left_over = |entry: &Entry| {
            chase.told.contains(&entry.proc)
                || mark(entry.proc.pid)
                    .is_some_and(|mark| !self.home.is_empty() && mark.starts_with(self.home.as_bytes()))
        };
        let other = |entry: &&Entry| !above.contains(&entry.proc.pid) && !own.contains(&entry.proc.pid);
        let outside: Vec<Entry> = table.iter().filter(other).copied().collect();
        let mut found: Vec<Entry> = outside.iter().filter(|entry| left_over(entry)).copied().collect();
        let roots: BTreeSet<i32> = found.iter().map(|entry| entry.proc.pid).collect();
        for entry in outside {
            if !roots.contains(&entry.proc.pid) && table.line(entry.proc.pid).any(|step| roots.contains(&step.proc.pid))
            {
                found.push(entry);
            }
        }
        count += found.iter().filter(|entry| !chase.told.contains(&entry.proc)).count() as u32;
        if found.is_empty() || chase.press(&found, SWEEP, now, effects) {
            effects.push(Effect::Report(Report::Swept { count }));
            effects.extend(self.waiting.drain(..).map(Effect::Start));
        } else {
            self.sweep = Some((chase, count));
            self.look(now + AGAIN);
        }
    }
}

#[cfg(test)]
mod tests;
