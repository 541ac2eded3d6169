//! What is held fast of each server: how it is launched, what it says of itself, what its tools promise. A definition is
//! judged against it when it is read, and again when it is called; what raises the risk is withheld until a person has
//! seen the difference (docs/servers-words.md).

use super::launch::{HeldLaunch, LaunchText};
use crate::catalog::facts::Scanned;
use bytes::Bytes;
use contract::answer::Cleaner;
use contract::change::{self, Change, Version};
use contract::finding::Finding;
use contract::hash::Hash;
use contract::outcome::Code;
use contract::scan;
use policy::Effect;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use store::{Pin, PinKind, Vault};

/// What was approved of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Hash of its text.
    pub hash: Hash,
    /// Effect class that it had.
    pub effect: Option<Effect>,
}

/// What was approved of one entry, the newest apart.
#[derive(Clone, Debug)]
struct Heads {
    newest: Head,
    /// The oldest first; most entries have none.
    earlier: Vec<Head>,
}

impl Heads {
    fn all(&self) -> impl Iterator<Item = &Head> {
        self.earlier.iter().chain([&self.newest])
    }
    fn put(&mut self, head: Head) {
        let before = std::mem::replace(&mut self.newest, head);
        self.earlier.push(before);
        self.earlier.retain(|earlier| earlier.hash != head.hash);
        if self.earlier.len() >= store::MOST_TEXTS {
            self.earlier.remove(0);
        }
    }
}

/// How an entry stands against what was approved.
#[derive(Clone, Debug, Default)]
pub enum Review {
    /// Never seen, and clean: the rules alone decide.
    #[default]
    New,
    /// What was approved, but for orders and values that approved versions have had.
    Approved,
    /// Changed without a raised risk: hosts go on seeing the approved text.
    Calm(Arc<Changed>),
    /// Changed with a raised risk, or nobody can tell: withheld.
    Raised(Arc<Changed>),
    /// Something in it speaks to the model, whether it is new or changed: withheld.
    Flagged(Arc<Flagged>),
}

/// A changed entry.
#[derive(Clone, Debug, Default)]
pub struct Changed {
    /// The approved text; None where it cannot be read.
    pub approved: Option<Bytes>,
    /// What changed.
    pub change: Change,
    /// Effect class that was approved.
    pub effect: Option<Effect>,
}

/// An entry with findings.
#[derive(Clone, Debug, Default)]
pub struct Flagged {
    /// What was found.
    pub findings: Vec<Finding>,
    /// What changed, where it had been approved before.
    pub changed: Option<Changed>,
}

impl Review {
    /// Whether hosts may neither see nor call it.
    pub fn is_withheld(&self) -> bool {
        matches!(self, Review::Raised(_) | Review::Flagged(_))
    }
    /// Whether something in it speaks to the model.
    pub fn is_flagged(&self) -> bool {
        matches!(self, Review::Flagged(_))
    }
    /// The same, as callers are told it.
    pub(crate) fn withheld(&self) -> Option<(Code, &'static str)> {
        match self {
            Review::New | Review::Approved | Review::Calm(_) => None,
            Review::Raised(_) => Some((
                Code::DefinitionChanged,
                "The tool's definition is not the one that was approved, and a person has to look at the change.",
            )),
            Review::Flagged(_) => {
                Some((Code::Quarantined, "A person has to look at the tool's definition before it may be used."))
            }
        }
    }
    /// Whether a person has something to look at.
    pub fn waits(&self) -> bool {
        !matches!(self, Review::New | Review::Approved)
    }
    /// The text that hosts see instead of the present one.
    pub fn shown(&self) -> Option<&Bytes> {
        match self {
            Review::Calm(changed) => changed.approved.as_ref(),
            Review::New | Review::Approved | Review::Raised(_) | Review::Flagged(_) => None,
        }
    }
}

/// What was approved of one server under one launch.
#[derive(Clone, Default)]
struct LaunchPins {
    launch: String,
    heads: Arc<HashMap<(PinKind, Box<str>), Heads>>,
}

/// What is held fast of one server. Another launch is no reason to forget what its entries were: one that was approved
/// under an earlier launch is compared with that. Goes to the thread that reads its lists.
#[derive(Clone, Default)]
pub struct ServerPins {
    server: String,
    /// By launch: as it is launched now, then the others, the latest first.
    launches: Vec<LaunchPins>,
    vault: Option<Vault>,
    /// Names of other servers' tools, for descriptions that speak of them.
    pub tools: HashSet<Box<str>>,
    /// What is taken out of approved texts: they may be older than a secret.
    cleaner: Option<Arc<Cleaner>>,
}

impl ServerPins {
    /// The same for a thread that must not read texts.
    pub(crate) fn without_texts(&self) -> ServerPins {
        ServerPins { vault: None, ..self.clone() }
    }
    /// The same without these secrets in approved texts.
    pub(crate) fn masked_by(self, cleaner: &Arc<Cleaner>) -> ServerPins {
        ServerPins { cleaner: Some(Arc::clone(cleaner)), ..self }
    }
    /// The same beside these tools of all servers.
    pub(crate) fn beside(self, tools: HashSet<Box<str>>) -> ServerPins {
        ServerPins { tools, ..self }
    }
    /// What was approved of an entry, by launch.
    fn heads(&self, kind: PinKind, name: &str) -> Vec<(&str, &Heads)> {
        let key = (kind, Box::from(name));
        self.launches.iter().filter_map(|pins| Some((pins.launch.as_str(), pins.heads.get(&key)?))).collect()
    }
    /// The newest approved version of an entry.
    pub fn head(&self, kind: PinKind, name: &str) -> Option<Head> {
        self.heads(kind, name).first().map(|(_, heads)| heads.newest)
    }
    /// The approved texts of an entry; only what is held fast in memory counts: what cannot be read is never the same as
    /// approved.
    fn texts(&self, vault: &Vault, kind: PinKind, name: &str, heads: &[(&str, &Heads)]) -> Vec<(Hash, String)> {
        let mut all: Vec<(Hash, String)> = Vec::new();
        for (launch, heads) in heads {
            let texts = vault.approved(&self.server, launch, kind, name).unwrap_or_default();
            for (hash, mut text) in texts {
                if heads.all().any(|head| head.hash == hash) && !all.iter().any(|(known, _)| *known == hash) {
                    self.mask(&mut text);
                    all.push((hash, text));
                }
            }
        }
        all
    }

    /// Judges an entry, and tells which approved version it is the same as. `None`: its approved texts have to be read
    /// for that, which this thread must not do.
    pub fn review(
        &self,
        kind: PinKind,
        name: &str,
        raw: &[u8],
        hash: Hash,
        effect: Option<Effect>,
        scanned: Scanned,
    ) -> Option<(Review, Hash)> {
        let by_launch = self.heads(kind, name);
        let heads = || by_launch.iter().flat_map(|(_, heads)| heads.all());
        if heads().any(|head| head.hash == hash && effect <= head.effect) {
            return Some((Review::Approved, hash));
        }
        let findings = match scanned {
            Scanned::No => scan::scan(raw, scan_of(kind)),
            Scanned::Clean => Vec::new(),
        };
        let Some(newest) = by_launch.first().map(|(_, heads)| heads.newest) else {
            let review = match findings.is_empty() {
                true => Review::New,
                false => Review::Flagged(Arc::new(Flagged { findings, changed: None })),
            };
            return Some((review, hash));
        };
        let texts = self.texts(self.vault.as_ref()?, kind, name, &by_launch);
        let versions: Vec<Version<'_>> =
            texts.iter().map(|(hash, text)| Version { hash: *hash, raw: text.as_bytes() }).collect();
        let is_tool = |word: &str| self.tools.contains(word);
        let change = match versions.is_empty() {
            true => Change::default(),
            false => change::compare(&versions, Version { hash, raw }, &is_tool),
        };
        let nearest = texts.into_iter().nth(change.nearest);
        let known = nearest.as_ref().map_or(hash, |(hash, _)| *hash);
        let head = heads().find(|head| head.hash == known).unwrap_or(&newest);
        let is_raised = nearest.is_none() || !change.raised.is_empty() || effect > head.effect;
        let same = change.same && !is_raised;
        let changed = Changed { approved: nearest.map(|(_, text)| Bytes::from(text)), change, effect: head.effect };
        Some(match (findings.is_empty(), same, is_raised) {
            (false, ..) => (Review::Flagged(Arc::new(Flagged { findings, changed: Some(changed) })), hash),
            (true, true, _) => (Review::Approved, known),
            (true, false, false) => (Review::Calm(Arc::new(changed)), hash),
            (true, false, true) => (Review::Raised(Arc::new(changed)), hash),
        })
    }
}

impl ServerPins {
    fn mask(&self, text: &mut String) {
        let masked = self.cleaner.as_ref().map(|cleaner| cleaner.mask(text.as_bytes()));
        if let Some(Cow::Owned(masked)) = masked {
            *text = String::from_utf8_lossy(&masked).into_owned();
        }
    }
}

fn scan_of(kind: PinKind) -> scan::Kind {
    match kind {
        PinKind::Tool => scan::Kind::Tool,
        PinKind::Prompt => scan::Kind::Prompt,
        PinKind::Resource => scan::Kind::Resource,
        PinKind::Template => scan::Kind::Template,
        PinKind::Instructions | PinKind::Launch => scan::Kind::Instructions,
    }
}

/// Whether a server may be launched as the config says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launch {
    /// It was never launched in any way.
    First,
    /// A person, or the first time, approved it.
    Approved,
    /// It is another launch than was approved.
    Held,
}

/// All pins of the hub.
#[derive(Default)]
pub(crate) struct Pins {
    /// Of each server by launch, the latest approved last.
    servers: RefCell<FxHashMap<Rc<str>, Vec<LaunchPins>>>,
    /// Approved launches of each server, the latest last.
    launches: RefCell<FxHashMap<String, Vec<Hash>>>,
    /// Launches that the config wants and nobody has approved.
    pub(crate) held: RefCell<FxHashMap<String, HeldLaunch>>,
    vault: RefCell<Option<Vault>>,
}

impl Pins {
    /// Takes over what the store kept.
    pub(crate) fn take_over(&self, mut pins: Vec<Pin>, vault: Vault) {
        // Launches of one server lie apart in the store: the latest approved is the last.
        pins.sort_by_key(|pin| (pin.kind == PinKind::Launch).then_some(pin.at_ms));
        *self.vault.borrow_mut() = Some(vault);
        for pin in pins {
            self.put(&pin);
        }
    }
    /// Holds a text fast, in memory.
    pub(crate) fn put(&self, pin: &Pin) {
        if pin.kind == PinKind::Launch {
            self.launches.borrow_mut().entry(pin.server.clone()).or_default().push(pin.hash);
            return;
        }
        let mut servers = self.servers.borrow_mut();
        let launches = servers.entry(pin.server.as_str().into()).or_default();
        let at = launches.iter().position(|it| it.launch == pin.launch).unwrap_or_else(|| {
            launches.push(LaunchPins { launch: pin.launch.clone(), ..LaunchPins::default() });
            launches.len() - 1
        });
        let head = Head { hash: pin.hash, effect: pin.effect };
        Arc::make_mut(&mut launches[at].heads)
            .entry((pin.kind, pin.name.as_str().into()))
            .and_modify(|heads| heads.put(head))
            .or_insert_with(|| Heads { newest: head, earlier: Vec::new() });
    }
    /// Whether a server of that name was ever launched.
    pub(crate) fn knows(&self, server: &str) -> bool {
        self.launches.borrow().contains_key(server)
    }
    /// Whether a server may be launched so: the first time it may, and is remembered by whoever asks. Otherwise it is held.
    pub(crate) fn launch(&self, server: &str, hash: Hash, text: &LaunchText) -> Launch {
        self.forget_held(server);
        let launches = self.launches.borrow();
        match launches.get(server).map(Vec::as_slice) {
            None | Some([]) => Launch::First,
            Some(known) if known.contains(&hash) => Launch::Approved,
            Some([.., approved]) => {
                let vault = self.vault.borrow();
                let read = |vault: &Vault| vault.approved(server, &approved.to_string(), PinKind::Launch, "").ok();
                let kept = vault.as_ref().and_then(read).and_then(|mut texts| texts.pop());
                let approved = kept.and_then(|(_, text)| serde_json::from_str(&text).ok()).unwrap_or_default();
                let held = HeldLaunch { hash, text: text.clone(), approved, like: None };
                self.held.borrow_mut().insert(server.to_owned(), held);
                Launch::Held
            }
        }
    }
    /// Another server that was launched in exactly this way.
    pub(crate) fn launched_as(&self, hash: Hash, server: &str) -> Option<String> {
        let launches = self.launches.borrow();
        let same = launches.iter().filter(|(other, known)| *other != server && known.contains(&hash));
        same.map(|(other, _)| other.clone()).min()
    }
    /// A server is not launched before a person has said so, being another one under a second name.
    pub(crate) fn hold_second(&self, server: &str, hash: Hash, text: &LaunchText, like: String) {
        let held = HeldLaunch { hash, text: text.clone(), approved: LaunchText::default(), like: Some(like) };
        self.held.borrow_mut().insert(server.to_owned(), held);
    }
    /// Nothing of a server is to be launched that nobody has approved.
    pub(crate) fn forget_held(&self, server: &str) {
        self.held.borrow_mut().remove(server);
    }
    /// Whether a launch of it waits for a person.
    pub(crate) fn holds(&self, server: &str) -> bool {
        self.held.borrow().contains_key(server)
    }
    /// What is held fast of a server as it is launched now.
    pub(crate) fn of(&self, server: &str, launch: &str) -> ServerPins {
        let (servers, order) = (self.servers.borrow(), self.launches.borrow());
        let mut launches = servers.get(server).cloned().unwrap_or_default();
        let place = |pins: &LaunchPins| {
            let latest = order.get(server).and_then(|all| all.iter().rposition(|hash| hash.to_string() == pins.launch));
            (pins.launch == launch, latest)
        };
        launches.sort_by_cached_key(|pins| Reverse(place(pins)));
        let vault = self.vault.borrow().clone();
        ServerPins { server: server.to_owned(), launches, vault, ..ServerPins::default() }
    }
}
