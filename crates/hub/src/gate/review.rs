//! What a person reviews: new and changed definitions of a server as one card, approved by the hash that was shown.
//! Also what is held fast without a person: what was seen first, and was clean.

use super::launch::LaunchText;
use super::now_ms;
use super::pins::{Changed, Review};
use crate::backend::Backend;
use crate::catalog::ToolEntry;
use crate::catalog::read::ReadEntry;
use crate::core::Core;
use crate::operate::{Event as Happening, Refusal};
use crate::person::{Approved, EntryReview, EntryState, ServerReview};
use bytes::Bytes;
use contract::Hash;
use std::rc::Rc;
use std::sync::Arc;
use store::{Job, Kind, Note, Pin, PinHow, PinKind};
use upstream::task;

/// One entry that could be held fast.
struct Candidate {
    kind: PinKind,
    name: String,
    exposed: Option<String>,
    raw: Bytes,
    hash: Hash,
    review: Review,
    tool: Option<Rc<ToolEntry>>,
}

/// How a server would be launched, where that is not what was approved.
fn launch(core: &Core, backend: &Backend) -> Option<Candidate> {
    let held = core.gate.pins.held.borrow().get(&**backend.key())?.clone();
    let changed = Changed { approved: Some(Bytes::new()), change: held.change(), effect: None };
    Some(Candidate {
        kind: PinKind::Launch,
        name: String::new(),
        exposed: None,
        raw: serde_json::to_vec(&held.text).unwrap_or_default().into(),
        hash: held.hash,
        review: Review::Raised(Arc::new(changed)),
        tool: None,
    })
}

fn candidates(core: &Core, backend: &Backend) -> Vec<Candidate> {
    let shelf = backend.shelf();
    let instructions = backend.read_instructions().map(|read| Candidate {
        kind: PinKind::Instructions,
        name: String::new(),
        exposed: None,
        raw: read.raw,
        hash: read.hash,
        review: read.review,
        tool: None,
    });
    let tools = shelf.tools.iter().map(|tool| Candidate {
        kind: PinKind::Tool,
        name: tool.read.tool.name.to_string(),
        exposed: Some(tool.read.exposed.clone()),
        raw: tool.read.raw.clone(),
        hash: tool.read.tool.definition_hash,
        review: tool.review(),
        tool: Some(Rc::clone(tool)),
    });
    let other = |kind, read: &ReadEntry| Candidate {
        kind,
        name: read.own.clone(),
        exposed: (kind == PinKind::Prompt).then(|| read.exposed.clone()),
        raw: read.raw.clone(),
        hash: read.hash,
        review: read.review.clone(),
        tool: None,
    };
    let prompts = shelf.prompts.iter().map(|entry| other(PinKind::Prompt, &entry.read));
    let resources = shelf.resources.iter().map(|entry| other(PinKind::Resource, &entry.read));
    let templates = shelf.templates.iter().map(|entry| other(PinKind::Template, &entry.read));
    let launch = launch(core, backend);
    launch.into_iter().chain(instructions).chain(tools).chain(prompts).chain(resources).chain(templates).collect()
}

/// How an entry stands, for people.
pub(crate) fn state_of(review: &Review) -> EntryState {
    match review {
        Review::New => EntryState::New,
        Review::Approved => EntryState::Approved,
        Review::Calm(_) => EntryState::Changed,
        Review::Raised(_) | Review::Flagged(_) => EntryState::Blocked,
    }
}

impl Candidate {
    fn pin(&self, backend: &Backend, how: PinHow) -> Pin {
        Pin {
            server: backend.key().to_string(),
            launch: match self.kind {
                PinKind::Launch => self.hash.to_string(),
                _ => backend.rules().launch_hash.to_string(),
            },
            kind: self.kind,
            name: self.name.clone(),
            hash: self.hash,
            effect: self.tool.as_ref().map(|tool| tool.read.effect),
            raw: Some(String::from_utf8_lossy(&self.raw).into_owned()),
            at_ms: now_ms(),
            how,
        }
    }
    fn state(&self) -> EntryState {
        state_of(&self.review)
    }
    /// A tool that nobody has used waits for a look; what is no tool was held fast when it was first seen.
    fn waits(&self) -> bool {
        self.review.waits() || (self.kind == PinKind::Tool && self.state() == EntryState::New)
    }
}

/// A server is launched for the first time: from now on this is how.
pub(crate) fn launched(core: &Core, server: &str, hash: Hash, text: &LaunchText) {
    let pin = Pin {
        server: server.to_owned(),
        launch: hash.to_string(),
        kind: PinKind::Launch,
        name: String::new(),
        hash,
        effect: None,
        raw: serde_json::to_string(text).ok(),
        at_ms: now_ms(),
        how: PinHow::FirstUse,
    };
    hold_fast(core, vec![pin]);
}

/// A server's lists were read: what is no tool and is seen for the first time is held fast. So is what changed calmly
/// in a resource, which says no more than where something lies.
pub(crate) fn seen(core: &Core, backend: &Backend) {
    let is_calm = |it: &Candidate| {
        matches!(it.kind, PinKind::Resource | PinKind::Template) && matches!(it.review, Review::Calm(_))
    };
    let is_new = |it: &Candidate| !matches!(it.kind, PinKind::Tool | PinKind::Launch) && it.state() == EntryState::New;
    let all = candidates(core, backend);
    let pins: Vec<Pin> =
        all.iter().filter(|it| is_new(it) || is_calm(it)).map(|it| it.pin(backend, PinHow::FirstUse)).collect();
    if !pins.is_empty() {
        hold_fast(core, pins);
    }
    let waiting = all.iter().filter(|it| it.review.waits()).count();
    if waiting > 0 {
        tell(core, backend, waiting);
    }
}

/// A call of a tool was let through: what was seen is what counts from now on (docs/servers-words.md).
pub(crate) fn used(core: &Core, tool: &Rc<ToolEntry>) {
    if !matches!(tool.review(), Review::New) {
        return;
    }
    tool.set_review(Review::Approved);
    let candidate = Candidate {
        kind: PinKind::Tool,
        name: tool.read.tool.name.to_string(),
        exposed: None,
        raw: tool.read.raw.clone(),
        hash: tool.read.tool.definition_hash,
        review: Review::New,
        tool: Some(Rc::clone(tool)),
    };
    hold_fast(core, vec![candidate.pin(&tool.backend, PinHow::FirstUse)]);
}

fn hold_fast(core: &Core, pins: Vec<Pin>) {
    for pin in &pins {
        core.gate.pins.put(pin);
    }
    let note = note(&pins, "held fast", BY_FIRST_USE);
    let written = core.ledger.written(Job::PutPins { pins, note: Some(note) });
    task::spawn("write what was seen first", async move {
        if let Err(cause) = written.await {
            tracing::error!(%cause, "definitions that were seen first could not be written down");
        }
    });
}

/// So many of the entries are named in a line.
const NAMED: usize = 3;
/// Who is said to have held fast what nobody had seen before.
const BY_FIRST_USE: &str = "first use";

fn note(pins: &[Pin], how: &str, by: &str) -> Note {
    let first = pins.first();
    let all: Vec<String> = pins.iter().take(50).map(|pin| format!("{} {}", pin.kind.as_str(), pin.name)).collect();
    let more = pins.len().saturating_sub(NAMED);
    let named: Vec<&str> = all.iter().take(NAMED).map(|name| name.trim_end()).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let why = format!("{how}: {}{more}", named.join(", "));
    Note {
        server: first.map(|pin| pin.server.clone()).unwrap_or_default(),
        item: first.filter(|_| pins.len() == 1).map(|pin| pin.name.clone()).unwrap_or_default(),
        definition: first.filter(|_| pins.len() == 1).map(|pin| pin.hash.to_string()).unwrap_or_default(),
        detail: serde_json::json!({ "how": how, "by": by, "why": why, "count": pins.len(), "entries": all })
            .to_string(),
        ..Note::new(Kind::Pin, now_ms())
    }
}

fn tell(core: &Core, backend: &Backend, entries: usize) {
    let entries = u32::try_from(entries).unwrap_or(u32::MAX);
    core.happened(Happening::Held { server: backend.key().to_string(), entries });
}

/// What waits for a review, by server.
pub(crate) fn diff(core: &Core, server: Option<&str>) -> Vec<ServerReview> {
    let wanted = |backend: &Rc<Backend>| server.is_none_or(|key| **backend.key() == *key);
    let mut all: Vec<ServerReview> =
        core.backends().iter().filter(|backend| wanted(backend)).filter_map(|it| card(core, it)).collect();
    all.sort_by_key(|review| !review.entries.iter().any(|entry| entry.state == EntryState::Blocked));
    all
}

/// One card for all that waits of a server.
fn card(core: &Core, backend: &Backend) -> Option<ServerReview> {
    let all = candidates(core, backend);
    let waiting: Vec<&Candidate> = all.iter().filter(|it| it.waits()).collect();
    if waiting.is_empty() {
        return None;
    }
    let mut entries: Vec<EntryReview> = waiting.iter().map(|it| entry(core, it)).collect();
    entries.sort_by_key(|entry| (std::cmp::Reverse(entry.state), std::cmp::Reverse(entry.tier)));
    Some(ServerReview {
        server: backend.key().to_string(),
        hash: version(&waiting).to_string(),
        seen_ms: now_ms(),
        unchanged: u32::try_from(all.len() - waiting.len()).unwrap_or(u32::MAX),
        blocked: core.gate.pins.holds(backend.key()) && !backend.launch_waits(),
        entries,
    })
}

/// Hash of exactly what waits, in the server's order.
fn version(waiting: &[&Candidate]) -> Hash {
    let lines: Vec<String> = waiting.iter().map(|it| format!("{} {} {}", it.kind.as_str(), it.hash, it.name)).collect();
    Hash::of(lines.join("\n").as_bytes())
}

fn entry(core: &Core, it: &Candidate) -> EntryReview {
    let changed = match &it.review {
        Review::Calm(changed) | Review::Raised(changed) => Some(&**changed),
        Review::Flagged(flagged) => flagged.changed.as_ref(),
        Review::New | Review::Approved => None,
    };
    let findings = match &it.review {
        Review::Flagged(flagged) => &flagged.findings[..],
        _ => &[],
    };
    let before = changed.and_then(|changed| changed.effect);
    let effect = it.tool.as_ref().map(|tool| tool.read.effect);
    let mut raised: Vec<String> =
        changed.map(|it| it.change.raised.iter().map(|raise| raise.sentence.clone()).collect()).unwrap_or_default();
    if let (Some(before), Some(now)) = (before, effect)
        && now > before
    {
        raised.push(format!("it may do more than before: {} instead of {}", now.as_str(), before.as_str()));
    }
    if changed.is_some_and(|changed| changed.approved.is_none()) {
        raised.push("what was approved cannot be read any more".into());
    }
    EntryReview {
        kind: it.kind.as_str().to_owned(),
        name: it.name.clone(),
        exposed: it.exposed.clone(),
        state: it.state(),
        effect,
        effect_before: before,
        tier: it.tool.as_ref().map(|tool| core.gate.tier(tool)),
        flags: findings.iter().map(contract::finding::Finding::sentence).collect(),
        raised,
        lines: changed.map(|changed| changed.change.lines.clone()).unwrap_or_default(),
        whole: changed.is_none().then(|| String::from_utf8_lossy(&it.raw).into_owned()),
        hash: it.hash.to_string(),
    }
}

/// Approves exactly what was shown: all that waits of a server, or one entry by its name in the aggregate.
///
/// # Errors
/// There is no such thing, it is not what was shown, or it could not be written down.
pub(crate) async fn approve(core: &Rc<Core>, target: &str, hash: Hash, by: &str) -> Result<Approved, Refusal> {
    let (backend, chosen) = choose(core, target, hash)?;
    let pins: Vec<Pin> = chosen.iter().map(|it| it.pin(&backend, PinHow::Person)).collect();
    let entries = pins.iter().map(|pin| pin.name.clone()).collect();
    let note = note(&pins, "approved", by);
    let written = core.ledger.written(Job::PutPins { pins: pins.clone(), note: Some(note) }).await;
    written.map_err(Refusal::unwritten)?;
    for pin in &pins {
        core.gate.pins.put(pin);
    }
    for tool in chosen.iter().filter_map(|it| it.tool.as_ref()) {
        tool.set_review(Review::Approved);
    }
    backend.review_again();
    let left = candidates(core, &backend).iter().filter(|it| it.review.waits()).count();
    tell(core, &backend, left);
    super::decide::judge_again(core);
    Ok(Approved { server: backend.key().to_string(), entries, left: u32::try_from(left).unwrap_or(u32::MAX) })
}

fn choose(core: &Core, target: &str, hash: Hash) -> Result<(Rc<Backend>, Vec<Candidate>), Refusal> {
    let stale = || {
        let next = "callgate catalog diff";
        Refusal::new("hash_changed", "what waits is not what was shown: it has another hash").then(next)
    };
    if let Some(backend) = core.backend(target) {
        let waiting: Vec<Candidate> = candidates(core, &backend).into_iter().filter(Candidate::waits).collect();
        if waiting.is_empty() {
            return Err(Refusal::new("nothing_waits", format!("nothing of `{target}` waits for a review")));
        }
        return match version(&waiting.iter().collect::<Vec<_>>()) == hash {
            true => Ok((backend, waiting)),
            false => Err(stale()),
        };
    }
    for backend in core.backends() {
        let found = candidates(core, &backend).into_iter().find(|it| it.exposed.as_deref() == Some(target));
        match found {
            Some(it) if it.hash == hash => return Ok((backend, vec![it])),
            Some(_) => return Err(stale()),
            None => {}
        }
    }
    Err(Refusal::new("unknown_entry", format!("there is no server and no entry `{target}`"))
        .then("callgate catalog diff"))
}
