//! A glance at what servers answer: talk to the model, hidden text, a structure that says something else than the text
//! beside it. What is found is written down beside the call; nothing is held back, delayed or trusted for it. Results wait
//! for it in a bounded queue beside the relay, and what finds no room there is counted and told, never passed over in silence.

use super::now_ms;
use crate::core::Core;
use crate::record::Record;
use bytes::Bytes;
use contract::answer::look;
use contract::finding::{Finding, FindingKind};
use frame::Answer;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::{Rc, Weak};
use std::time::Duration;
use store::{CallNumber, Job, Kind, Method, Note, Subject};
use tokio::sync::Notify;
use tokio::time::Instant;
use upstream::task;

/// Longer results are not looked at, in bytes.
const MOST: usize = 4 << 20;
/// Results from here on are not copied, in bytes: a shorter one would keep what else came with it.
const SHARED: usize = 64 << 10;
/// Most results that wait, and their bytes.
const MOST_WAITING: usize = 1_024;
const MOST_BYTES: usize = 16 << 20;
/// Bytes from which on no more are looked at in one go.
const ONE_GO: usize = 1 << 20;
/// So long results are gathered, so that one hand-over is for many and none is on the way of a call.
const GATHER: Duration = Duration::from_millis(10);
/// After looking so many times as long as it took nothing is looked at, a two-hundredth of one core: whoever calls all the
/// time feels it in less than one call of a hundred.
const REST: u32 = 199;
/// But no longer than this, so that one costly text does not keep the others waiting.
const LONGEST_REST: Duration = Duration::from_secs(5);
/// Results that were not looked at are told at most this often.
const TELL: Duration = Duration::from_secs(60);
/// How long the end of the hub may wait for what is left, and up to which length, since nothing ends a look that has begun.
const LAST: Duration = Duration::from_millis(250);
const LAST_MOST: usize = 64 << 10;

/// A result that waits to be looked at.
struct Glance {
    of: Of,
    text: Bytes,
}

/// Whose result it is.
struct Of {
    call: CallNumber,
    item: Option<Subject>,
    server: Rc<str>,
    method: Method,
}

/// Results that wait, oldest first.
struct Waiting<T> {
    all: VecDeque<(T, usize)>,
    bytes: usize,
}

impl<T> Default for Waiting<T> {
    fn default() -> Waiting<T> {
        Waiting { all: VecDeque::new(), bytes: 0 }
    }
}

/// What waits to be looked at, and what was not.
#[derive(Default)]
pub(crate) struct Glances {
    waiting: RefCell<Waiting<Glance>>,
    came: Notify,
    is_watched: Cell<bool>,
    /// Results that are being looked at.
    in_hand: Cell<usize>,
    /// Results that were not looked at since the hub began, and how many of them were told.
    missed: Cell<u64>,
    told: Cell<u64>,
    told_at: Cell<Option<Instant>>,
}

impl Glances {
    /// Results that were not looked at since the hub began.
    pub(crate) fn missed(&self) -> u64 {
        self.missed.get()
    }

    fn miss(&self, many: usize) {
        self.missed.set(self.missed.get().saturating_add(many as u64));
    }
}

impl<T> Waiting<T> {
    fn has_room(&self, bytes: usize) -> bool {
        self.all.len() < MOST_WAITING && self.bytes + bytes <= MOST_BYTES
    }

    fn push(&mut self, it: T, bytes: usize) {
        self.bytes += bytes;
        self.all.push_back((it, bytes));
    }

    /// Takes away those that are longer; how many.
    fn drop_longer(&mut self, most: usize) -> usize {
        let before = self.all.len();
        self.all.retain(|(_, size)| *size <= most);
        self.bytes = self.all.iter().map(|(_, size)| size).sum();
        before - self.all.len()
    }

    /// As many as are looked at in one go, of so many bytes.
    fn take(&mut self, most: usize) -> Vec<T> {
        let mut taken = Vec::new();
        let mut bytes = 0;
        while bytes < most
            && let Some((it, size)) = self.all.pop_front()
        {
            bytes += size;
            taken.push(it);
        }
        self.bytes -= bytes;
        taken
    }
}

/// Puts what a tool or a resource gave where it will be looked at.
pub(crate) fn at(core: &Rc<Core>, record: &Record, server: &Rc<str>, answer: &Answer) {
    let Answer::Result { body, .. } = answer else { return };
    let (item, method) = record.about();
    if !matches!(method, Method::ToolCall | Method::ResourceRead) {
        return;
    }
    let of = Of { call: record.number(), item, server: Rc::clone(server), method };
    let glances = &core.gate.glances;
    let bytes = body.len();
    if bytes > MOST {
        glances.told.set(glances.told.get() + 1);
        glances.miss(1);
        return note(core, Some(&of), &too_long(bytes));
    }
    let mut waiting = glances.waiting.borrow_mut();
    if waiting.has_room(bytes) {
        let text = match body.pieces() {
            [one] if bytes < SHARED => Bytes::copy_from_slice(one),
            _ => body.join(),
        };
        waiting.push(Glance { of, text }, bytes);
    } else {
        glances.miss(1);
    }
    if !glances.is_watched.replace(true) {
        task::spawn("look at what servers answered", look_on(Rc::downgrade(core)));
    }
    glances.came.notify_one();
}

async fn look_on(core: Weak<Core>) {
    loop {
        let Some(core) = core.upgrade() else { return };
        let glances = &core.gate.glances;
        glances.came.notified().await;
        tokio::time::sleep(GATHER).await;
        loop {
            let took = look_once(&core, ONE_GO).await;
            tell_missed(&core);
            if glances.waiting.borrow().all.is_empty() {
                break;
            }
            tokio::time::sleep((took * REST).min(LONGEST_REST)).await;
        }
    }
}

/// Looks at a part of what waits, on the blocking pool; how long that took.
async fn look_once(core: &Rc<Core>, most: usize) -> Duration {
    let taken = core.gate.glances.waiting.borrow_mut().take(most);
    if taken.is_empty() {
        return Duration::ZERO;
    }
    let in_hand = &core.gate.glances.in_hand;
    in_hand.set(in_hand.get() + taken.len());
    let texts: Vec<Bytes> = taken.iter().map(|it| it.text.clone()).collect();
    let looking = tokio::task::spawn_blocking(move || {
        let start = Instant::now();
        let found: Vec<Vec<Finding>> = texts.iter().map(|text| look(text)).collect();
        (found, start.elapsed())
    });
    let looked = looking.await;
    in_hand.set(in_hand.get() - taken.len());
    let Ok((found, took)) = looked else {
        core.gate.glances.miss(taken.len());
        return Duration::ZERO;
    };
    for (it, findings) in taken.iter().zip(found).filter(|(_, findings)| !findings.is_empty()) {
        note(core, Some(&it.of), &said(&findings));
    }
    took
}

/// Looks at what is left while the hub ends, as far as there is time.
pub(crate) async fn finish(core: &Rc<Core>) {
    let glances = &core.gate.glances;
    glances.miss(glances.waiting.borrow_mut().drop_longer(LAST_MOST));
    let all = async {
        while !glances.waiting.borrow().all.is_empty() || glances.in_hand.get() > 0 {
            look_once(core, LAST_MOST).await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    if tokio::time::timeout(LAST, all).await.is_err() {
        glances.miss(glances.waiting.borrow().all.len() + glances.in_hand.get());
    }
    glances.told_at.set(None);
    tell_missed(core);
}

/// Writes down how many results were not looked at, the first time at once.
fn tell_missed(core: &Rc<Core>) {
    let glances = &core.gate.glances;
    let new = glances.missed.get() - glances.told.get();
    let now = Instant::now();
    if new == 0 || glances.told_at.get().is_some_and(|at| now.duration_since(at) < TELL) {
        return;
    }
    glances.told.set(glances.missed.get());
    glances.told_at.set(Some(now));
    tracing::warn!(results = new, "results were not looked at for orders to the model");
    note(core, None, &too_many(new));
}

/// `of`: None where it is about many.
fn note(core: &Rc<Core>, of: Option<&Of>, reason: &str) {
    let item = of.and_then(|of| of.item.as_ref());
    core.ledger.job(Job::Note(Note {
        call: of.map(|of| of.call).unwrap_or_default(),
        item: item.map(Subject::text).unwrap_or_default().to_owned(),
        server: of.map(|of| of.server.to_string()).unwrap_or_default(),
        method: of.map_or(Method::ToolCall, |of| of.method),
        detail: serde_json::json!({ "reason": reason }).to_string(),
        ..Note::new(Kind::Finding, now_ms())
    }));
}

fn too_long(bytes: usize) -> String {
    format!("it was not looked at: it has {bytes} bytes, more than {MOST}")
}

fn too_many(results: u64) -> String {
    let were = if results == 1 { "result was" } else { "results were" };
    format!("{results} {were} not looked at: too many came at once")
}

/// What was found and how often; nothing of the result itself, which the log does not keep.
fn said(findings: &[Finding]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in findings {
        let (what, count) = match &finding.kind {
            FindingKind::Hidden { kind, count } => (kind.as_str(), *count),
            FindingKind::Talk { talk, .. } => (talk.as_str(), 1),
            FindingKind::Differs => ("its structure says something else than the text beside it", 1),
            FindingKind::MixedScripts => ("letters of several scripts", 1),
            FindingKind::Unreadable(_) => ("it can't be read", 1),
            FindingKind::LooksLike(_) => ("a name that looks like another", 1),
        };
        *counts.entry(what).or_default() += count;
    }
    let all: Vec<String> = counts.iter().map(|(what, count)| format!("{count} × {what}")).collect();
    all.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_and_goes_in_its_order() {
        let mut waiting = Waiting::default();
        for number in 0..MOST_WAITING {
            assert!(waiting.has_room(100));
            waiting.push(number, 100);
        }
        assert!(!waiting.has_room(0), "by number");
        assert_eq!(waiting.take(ONE_GO), (0..MOST_WAITING).collect::<Vec<_>>());
        assert_eq!((waiting.bytes, waiting.take(ONE_GO)), (0, Vec::new()));
        for number in 0..4 {
            waiting.push(number, MOST);
        }
        assert!(!waiting.has_room(1), "by bytes");
        assert_eq!(waiting.take(ONE_GO), [0], "one long one at a time");
        assert!(waiting.has_room(MOST) && !waiting.has_room(MOST + 1));
        waiting.push(9, 5);
        assert_eq!((waiting.drop_longer(5), waiting.bytes, waiting.take(5)), (3, 5, vec![9]));
    }
}
