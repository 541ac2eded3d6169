//! A glance at what servers answer: talk to the model, hidden text, a structure that says something else than the text
//! beside it. What is found is written down beside the call; nothing is held back, delayed or trusted for it. Under load
//! only some results are looked at, so that calls are no slower for it.

use super::now_ms;
use crate::core::Core;
use contract::answer::look;
use contract::finding::{Finding, FindingKind};
use frame::Answer;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use store::{CallNumber, Job, Kind, Method, Note};
use tokio::time::Instant;
use upstream::task;

/// Longer results are not looked at, in bytes.
const MOST: usize = 256 << 10;
/// After a glance so many times as long as it took nothing is looked at: a twentieth of one core at most.
const REST: u32 = 19;
/// At least so long: of many small results that come one after the other fewer than one in a hundred is looked at, so that
/// the slowest hundredth of calls is no slower either.
const SHORTEST: Duration = Duration::from_millis(10);

/// When the next result may be looked at.
#[derive(Default)]
pub(crate) struct Glances {
    is_busy: Cell<bool>,
    next: Cell<Option<Instant>>,
}

/// Looks at the result of a call, where nothing else is being looked at.
pub(crate) fn at(core: &Rc<Core>, call: CallNumber, item: &str, server: &str, answer: &Answer) {
    let Answer::Result { body, .. } = answer else { return };
    let glances = &core.gate.glances;
    if glances.is_busy.get() || body.len() > MOST || glances.next.get().is_some_and(|next| Instant::now() < next) {
        return;
    }
    glances.is_busy.set(true);
    let (text, item, server, core) = (body.join(), item.to_owned(), server.to_owned(), Rc::downgrade(core));
    task::spawn("look at what a server answered", async move {
        let looking = tokio::task::spawn_blocking(move || {
            let start = Instant::now();
            (look(&text), start.elapsed())
        });
        let looked = looking.await;
        let Some(core) = core.upgrade() else { return };
        core.gate.glances.is_busy.set(false);
        let Ok((findings, took)) = looked else { return };
        core.gate.glances.next.set(Some(Instant::now() + (took * REST).max(SHORTEST)));
        if !findings.is_empty() {
            core.ledger.job(Job::Note(Note {
                call,
                item,
                server,
                method: Method::ToolCall,
                detail: serde_json::json!({ "reason": said(&findings) }).to_string(),
                ..Note::new(Kind::Finding, now_ms())
            }));
        }
    });
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
