//! Servers that rest: where a person denied many calls of one client and one server within a minute, further ones that
//! would ask are refused at once, so that nobody is worn down into a yes. What runs without a question goes on running.

use super::now_ms;
use crate::core::Core;
use crate::operate::Refusal as Refused;
use crate::person::Rest;
use contract::outcome::{Code, Refusal};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;
use store::{CallRecord, Job, Kind, Note};
use upstream::task;

/// How the end of a rest is told.
const AGAIN: &str = "calls may ask again";
/// Denials older than this count no more, in milliseconds.
const MINUTE: u64 = 60_000;
/// Pairs of client and server of which denials are remembered.
const MOST_PAIRS: usize = 1_000;
/// How often the wall clock is looked at: a laptop that slept has no timer that knows.
const LOOK: u64 = 20_000;

/// When calls of whom were denied, and who rests.
#[derive(Default)]
pub(crate) struct Rests {
    denied: RefCell<FxHashMap<(String, String), VecDeque<u64>>>,
    resting: RefCell<Vec<Rest>>,
}

impl Rests {
    /// All that rest, the oldest first.
    pub(crate) fn all(&self) -> Vec<Rest> {
        let now = now_ms();
        self.resting.borrow().iter().filter(|rest| now < rest.until_ms).cloned().collect()
    }
    fn of(&self, client: &str, server: &str) -> Option<Rest> {
        let now = now_ms();
        let resting = self.resting.borrow();
        resting.iter().find(|rest| rest.client == client && rest.server == server && now < rest.until_ms).cloned()
    }
    /// Counts a denial; how many there were within the last minute.
    fn count(&self, client: &str, server: &str, now: u64) -> usize {
        let mut denied = self.denied.borrow_mut();
        if denied.len() >= MOST_PAIRS {
            denied.retain(|_, times| times.back().is_some_and(|last| now < last + MINUTE));
        }
        let times = denied.entry((client.to_owned(), server.to_owned())).or_default();
        times.retain(|at| now < at + MINUTE);
        times.push_back(now);
        times.len()
    }
}

/// Why a call that would ask is refused instead; None: it may ask.
pub(crate) fn refusal(core: &Core, client: &str, server: &str) -> Option<Refusal> {
    let rest = core.gate.rests.of(client, server)?;
    let minutes = rest.until_ms.saturating_sub(now_ms()).div_ceil(MINUTE);
    let more = if minutes == 1 { "1 more minute".to_owned() } else { format!("{minutes} more minutes") };
    let message = format!(
        "Calls of this server that a person has to decide are refused for {more}, because a person denied {} of them \
         within a minute. A person can end that earlier. Nothing was executed.",
        rest.denials
    );
    Some(Refusal::new(Code::Denied, message))
}

/// A person denied a call.
pub(crate) fn denied(core: &Rc<Core>, row: &CallRecord) {
    let (most, length) = {
        let settings = core.gate.settings();
        (settings.denials_per_minute, settings.rest)
    };
    let rests = &core.gate.rests;
    let now = now_ms();
    let count = rests.count(&row.client, &row.server, now);
    if most == 0 || count < most || rests.of(&row.client, &row.server).is_some() {
        return;
    }
    rests.denied.borrow_mut().remove(&(row.client.clone(), row.server.clone()));
    let rest = Rest {
        client: row.client.clone(),
        server: row.server.clone(),
        since_ms: now,
        until_ms: now + u64::try_from(length.as_millis()).unwrap_or(u64::MAX / 2),
        denials: u32::try_from(count).unwrap_or(u32::MAX),
    };
    core.ledger.job(Job::Note(note(&rest, "calls that would ask are refused from now on", &row.decided_by)));
    rests.resting.borrow_mut().push(rest.clone());
    core.queue_changed();
    let core = Rc::downgrade(core);
    task::spawn("end of a server's rest", async move {
        loop {
            let left = rest.until_ms.saturating_sub(now_ms());
            tokio::time::sleep(Duration::from_millis(left.min(LOOK))).await;
            let Some(core) = core.upgrade() else { return };
            if !core.gate.rests.resting.borrow().contains(&rest) {
                return;
            }
            if now_ms() >= rest.until_ms {
                return end(&core, |it| *it == rest, "time");
            }
        }
    });
}

fn end(core: &Core, ends: impl Fn(&Rest) -> bool, by: &str) {
    let mut ended = Vec::new();
    core.gate.rests.resting.borrow_mut().retain(|rest| {
        let goes = ends(rest);
        ended.extend(goes.then(|| rest.clone()));
        !goes
    });
    for rest in &ended {
        core.ledger.job(Job::Note(note(rest, AGAIN, by)));
    }
    core.queue_changed();
}

/// A person lets a server's calls ask again, those of all clients.
///
/// # Errors
/// None of them is refused, or it cannot be written down: then they go on being refused.
pub(crate) async fn resume(core: &Rc<Core>, server: &str, by: &str) -> Result<(), Refused> {
    let rests: Vec<Rest> = core.gate.rests.all().into_iter().filter(|rest| rest.server == server).collect();
    if !rests.is_empty() {
        let write = |rest: &Rest| core.ledger.written(Job::Deed(note(rest, AGAIN, by)));
        let writing: Vec<_> = rests.iter().map(write).collect();
        for written in writing {
            written.await.map_err(Refused::unwritten)?;
        }
        core.gate.rests.resting.borrow_mut().retain(|rest| !rests.contains(rest));
        core.queue_changed();
        return Ok(());
    }
    match core.backend(server) {
        Some(_) => Err(Refused::new("not_paused", format!("calls of `{server}` are not refused"))),
        None => {
            Err(Refused::new("unknown_server", format!("there is no server `{server}`")).then("callgate server list"))
        }
    }
}

fn note(rest: &Rest, change: &str, by: &str) -> Note {
    let detail = serde_json::json!({
        "change": change, "denials": rest.denials, "until_ms": rest.until_ms, "by": by,
    });
    Note {
        client: rest.client.clone(),
        server: rest.server.clone(),
        item: "rest".into(),
        detail: detail.to_string(),
        ..Note::new(Kind::Setting, now_ms())
    }
}
