//! One server as the hub sees it: its supervisor, what the config says of it, its shelf in the catalog, its lanes.

use crate::catalog::facts::Known;
use crate::catalog::masked;
use crate::catalog::read::{self, Effects, Read, ReadText};
use crate::catalog::{Entry, Shelf, ToolEntry};
use crate::config::Results;
use crate::core::Core;
use crate::gate::{now_ms, review};
use crate::lanes::Lanes;
use crate::murmur::Murmur;
use crate::record::Audit;
use crate::road::Run;
use bytes::Bytes;
use contract::Slug;
use contract::answer::Cleaner;
use contract::outcome::Code;
use frame::Level;
use globset::GlobSet;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;
use store::Subject;
use tokio::sync::Notify;
use tokio::time::Instant;
use upstream::{Listing, Server, Watcher, task};

/// A listing below this many bytes is read at once; a longer one on the blocking pool.
const SHORT: usize = 24 * 1024;
/// A tool whose definition is known counts like one of so many bytes.
const KNOWN: usize = 64;

/// What the config says of a server beyond how to run it.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The person's word about effects, by own tool name.
    pub effects: Effects,
    /// Lanes with the own tool names that run in them.
    pub lanes: Vec<(Rc<str>, GlobSet)>,
    /// Kept, but neither started nor listed.
    pub disabled: bool,
    /// Identity of what is launched.
    pub launch_hash: Rc<str>,
    /// `stdio`, `http`, `http-child`, `sse`.
    pub transport: &'static str,
    /// Exact command and arguments, or url, before substitution.
    pub launch: Vec<String>,
    /// Names of its variables.
    pub env_names: Vec<String>,
    /// The argument that carries an idempotency key.
    pub idempotency_argument: String,
    /// Treatment of its results.
    pub results: Results,
    /// What is taken out of its results and of what it lists.
    pub cleaner: Arc<Cleaner>,
    /// How long a result whose reply was lost answers the identical call.
    pub replay_lost: Duration,
    /// Whether its process keeps something that later calls rely on.
    pub stateful: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            effects: Effects::new(),
            lanes: Vec::new(),
            disabled: false,
            launch_hash: "".into(),
            transport: "",
            launch: Vec::new(),
            env_names: Vec::new(),
            idempotency_argument: String::new(),
            results: Results::default(),
            cleaner: Arc::new(Cleaner::new([])),
            replay_lost: Duration::ZERO,
            stateful: false,
        }
    }
}

/// One server.
pub struct Backend {
    key: Rc<str>,
    slug: Slug,
    rules: Rules,
    /// Why it can't be run as configured.
    problem: Option<String>,
    server: OnceCell<Rc<Server>>,
    pub(crate) core: Weak<Core>,
    pub(crate) lanes: RefCell<Lanes<Rc<Run>>>,
    shelf: RefCell<Rc<Shelf>>,
    findings: RefCell<Vec<String>>,
    instructions: RefCell<Option<ReadText>>,
    /// Whether something that it lists speaks to the model.
    is_flagged: Cell<bool>,
    /// What it listed last.
    latest: RefCell<Option<Rc<Listing>>>,
    /// What the tools of that say.
    known: RefCell<Arc<Known>>,
    /// What the store remembers it to have listed.
    stored: RefCell<Option<Rc<Listing>>>,
    /// Listings that are being read.
    shelving: Cell<u32>,
    listed: Cell<bool>,
    /// Wakes whoever waits for its first list.
    pub(crate) news: Notify,
    since: Instant,
    subject: OnceCell<Subject>,
    /// What its server says outside of calls.
    murmur: RefCell<Murmur>,
    /// Results that broke the output schema of their tool and were passed on.
    broken: Cell<u64>,
    was_ready: Cell<bool>,
    /// When its process ended last, in milliseconds since 1970; those of an earlier hub have ended, too.
    ended_ms: Cell<u64>,
}

impl Backend {
    /// A backend without its server yet; `problem` tells why it will never have one.
    pub fn new(key: &str, rules: Rules, problem: Option<String>, core: Weak<Core>) -> Rc<Backend> {
        Rc::new(Backend {
            key: key.into(),
            slug: Slug::of(key),
            rules,
            problem,
            server: OnceCell::new(),
            core,
            lanes: RefCell::default(),
            shelf: RefCell::default(),
            findings: RefCell::default(),
            instructions: RefCell::default(),
            is_flagged: Cell::new(false),
            latest: RefCell::default(),
            known: RefCell::default(),
            stored: RefCell::default(),
            shelving: Cell::new(0),
            listed: Cell::new(false),
            news: Notify::new(),
            since: Instant::now(),
            subject: OnceCell::new(),
            murmur: RefCell::default(),
            broken: Cell::new(0),
            was_ready: Cell::new(false),
            ended_ms: Cell::new(now_ms()),
        })
    }

    /// Gives it its server; once.
    pub fn adopt(&self, server: Rc<Server>) {
        let _ = self.server.set(server);
    }
    /// Its key in the config.
    pub fn key(&self) -> &Rc<str> {
        &self.key
    }
    /// Its prefix.
    pub fn slug(&self) -> &Slug {
        &self.slug
    }
    /// Its name in the audit.
    pub(crate) fn subject(&self, audit: &Audit) -> Subject {
        self.subject.get_or_init(|| audit.subject(&self.key)).clone()
    }
    /// What the config says.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }
    /// Its supervisor; None where it is disabled or can't be run.
    pub fn server(&self) -> Option<&Rc<Server>> {
        self.server.get()
    }
    /// Why it can't be run as configured.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }
    /// Whether it goes on as it was approved while the config wants another launch of it, which waits for a person.
    pub(crate) fn launch_waits(&self) -> bool {
        self.problem.is_none() && self.core.upgrade().is_some_and(|core| core.gate.pins.holds(&self.key))
    }
    /// Its entries.
    pub fn shelf(&self) -> Rc<Shelf> {
        Rc::clone(&self.shelf.borrow())
    }
    /// What was left out of its lists and why.
    pub fn findings(&self) -> Vec<String> {
        self.findings.borrow().clone()
    }
    /// Whether its lists are known, live or from the store.
    pub fn is_listed(&self) -> bool {
        self.listed.get()
    }
    /// Results that broke the output schema of their tool and were passed on.
    pub(crate) fn broken_results(&self) -> u64 {
        self.broken.get()
    }
    /// Counts one. The log is told of the first, the second, the fourth and so on: a flood stays short.
    pub(crate) fn broke_schema(&self, tool: &str, places: usize) {
        let count = self.broken.get() + 1;
        self.broken.set(count);
        if count.is_power_of_two() {
            tracing::warn!(server = %self.key, tool, places, count, "a result breaks the tool's output schema");
        }
    }
    /// When the hub began to know it.
    pub fn since(&self) -> Instant {
        self.since
    }
    /// The lane of one of its tools.
    pub fn lane_of(&self, tool: &str) -> Rc<str> {
        let declared = self.rules.lanes.iter().find(|(_, globs)| globs.is_match(tool));
        declared.map_or_else(|| "writes".into(), |(name, _)| Rc::clone(name))
    }

    /// Takes over lists that the store remembered, and what was known of their tools.
    pub(crate) fn recall(self: &Rc<Self>, listing: &Rc<Listing>, known: Option<Known>) {
        if let Some(known) = known {
            *self.known.borrow_mut() = Arc::new(known);
            *self.stored.borrow_mut() = Some(Rc::clone(listing));
        }
        self.shelve(Rc::clone(listing));
    }

    /// Takes over lists, without the secrets that the server was given. Those that it listed before stand on the shelf
    /// already, with all that was found out about them; most servers list the same at each start.
    pub fn shelve(self: &Rc<Self>, mut listing: Rc<Listing>) {
        let cleaner = &self.rules.cleaner;
        let is_masked = masked::to_read(&listing, cleaner) <= SHORT;
        if is_masked && let Some(masked) = masked::without_secrets(&listing, cleaner) {
            listing = Rc::new(masked);
        }
        let is_there = self.listed.get() && self.shelving.get() == 0;
        if is_there && is_masked && self.latest.borrow().as_ref().is_some_and(|latest| **latest == *listing) {
            return self.news.notify_waiters();
        }
        self.read_anew(listing, is_masked);
    }

    /// Those with much that is not known yet, and those that have to be compared with approved texts, are read on the
    /// blocking pool first.
    fn read_anew(self: &Rc<Self>, listing: Rc<Listing>, is_masked: bool) {
        let cleaner = Arc::clone(&self.rules.cleaner);
        *self.latest.borrow_mut() = Some(Rc::clone(&listing));
        let core = self.core.upgrade();
        let pins = core.as_ref().map(|core| core.gate.pins.of(&self.key, &self.rules.launch_hash)).unwrap_or_default();
        let pins = pins.masked_by(&cleaner);
        let known = Arc::clone(&self.known.borrow());
        let unread = |(place, text)| if known.of(place, text).is_some() { KNOWN } else { text.len() };
        let tools: usize = listing.tools.iter().enumerate().map(unread).sum();
        let bytes = tools + listing.prompts.iter().map(Bytes::len).sum::<usize>();
        if is_masked && bytes <= SHORT {
            let read = read::read(&self.slug, &listing, &self.rules.effects, &pins.without_texts(), &known);
            if !read.needs_texts {
                return self.put_up(&listing, read);
            }
        }
        let (slug, effects, copy) = (self.slug.clone(), self.rules.effects.clone(), Listing::clone(&listing));
        let pins = pins.beside(core.map(|core| core.tool_names()).unwrap_or_default());
        let me = Rc::downgrade(self);
        self.shelving.set(self.shelving.get() + 1);
        task::spawn("shelve a listing", async move {
            let reading = tokio::task::spawn_blocking(move || {
                let masked = masked::without_secrets(&copy, &cleaner);
                let read = read::read(&slug, masked.as_ref().unwrap_or(&copy), &effects, &pins, &known);
                (masked, read)
            });
            let (Ok((masked, read)), Some(me)) = (reading.await, me.upgrade()) else { return };
            me.shelving.set(me.shelving.get() - 1);
            // A later listing may have come meanwhile.
            if me.latest.borrow().as_ref().is_some_and(|latest| Rc::ptr_eq(latest, &listing)) {
                let listing = masked.map_or(listing, Rc::new);
                *me.latest.borrow_mut() = Some(Rc::clone(&listing));
                me.put_up(&listing, read);
            }
        });
    }

    /// Reads its lists again by what is held fast now.
    pub fn review_again(self: &Rc<Self>) {
        let latest = self.latest.borrow().clone();
        if let Some(listing) = latest {
            let is_masked = masked::to_read(&listing, &self.rules.cleaner) <= SHORT;
            self.read_anew(listing, is_masked);
        }
    }

    fn put_up(self: &Rc<Self>, listing: &Rc<Listing>, read: Read) {
        self.keep(listing, read.known);
        let entries =
            |list: Vec<_>| list.into_iter().map(|read| Rc::new(Entry { backend: Rc::clone(self), read })).collect();
        let shelf = Shelf {
            tools: read.tools.into_iter().map(|read| Rc::new(ToolEntry::new(Rc::clone(self), read))).collect(),
            prompts: entries(read.prompts),
            resources: entries(read.resources),
            templates: entries(read.templates),
        };
        *self.shelf.borrow_mut() = Rc::new(shelf);
        *self.instructions.borrow_mut() = read.instructions;
        self.is_flagged.set(self.shelf.borrow().is_flagged());
        *self.findings.borrow_mut() = read.findings;
        self.listed.set(true);
        if let Some(core) = self.core.upgrade() {
            review::seen(&core, self);
            core.catalog_changed();
        }
        self.news.notify_waiters();
    }

    /// Remembers what was read, here and, where the store has something else, there.
    fn keep(&self, listing: &Rc<Listing>, known: Arc<Known>) {
        let is_stored = self.stored.borrow().as_ref().is_some_and(|stored| stored == listing);
        if let (false, Some(core)) = (is_stored, self.core.upgrade()) {
            core.remember(self, listing, &known);
            *self.stored.borrow_mut() = Some(Rc::clone(listing));
        }
        *self.known.borrow_mut() = known;
    }

    /// Whether its definitions are being read or judged anew, so that what is known of them may be out of date.
    pub fn is_changing(&self) -> bool {
        self.shelving.get() > 0 || self.server().is_some_and(|server| server.is_changing())
    }

    /// Why a tool that was judged must not be called any more: it is gone, or is not what it was.
    pub(crate) fn differs(&self, judged: &ToolEntry) -> Option<(Code, &'static str)> {
        let shelf = self.shelf();
        let own = judged.own_name();
        let Some(now) = shelf.tools.iter().find(|tool| tool.own_name() == own) else {
            return Some((Code::UnknownTool, "The server has no such tool any more."));
        };
        let is_same = now.read.stands_for == judged.read.stands_for;
        if let Some(withheld) = now.review().withheld() {
            return Some(withheld);
        }
        let why = "The tool's definition has just changed; call again to have the call judged by the new one.";
        (!is_same).then_some((Code::DefinitionChanged, why))
    }

    /// What it tells models of itself, as far as a person has nothing to look at first: a server with a definition that
    /// speaks to the model says nothing at all (docs/servers-words.md).
    pub fn instructions(&self) -> Option<String> {
        if self.is_flagged.get() {
            return None;
        }
        let read = self.instructions.borrow();
        let read = read.as_ref()?;
        match read.review.shown() {
            Some(approved) => frame::object::text(approved).map(|text| text.into_owned()),
            None => (!read.review.is_withheld()).then(|| read.text.clone()),
        }
    }
    /// Whether what it tells models of itself is not what was approved: then its calls wait for a person.
    pub fn is_in_question(&self) -> bool {
        self.instructions.borrow().as_ref().is_some_and(|read| read.review.waits())
    }
    /// Its instructions as they were read.
    pub(crate) fn read_instructions(&self) -> Option<ReadText> {
        self.instructions.borrow().clone()
    }

    /// Whether what a person approved at that time was for a process that has ended, and for what it kept (docs/approvals.md).
    pub(crate) fn is_past(&self, at_ms: u64) -> bool {
        self.rules.stateful && at_ms <= self.ended_ms.get()
    }

    /// Takes its entries away and breaks the cycle between them and itself.
    pub fn clear(&self) {
        *self.shelf.borrow_mut() = Rc::default();
        *self.latest.borrow_mut() = None;
        self.news.notify_waiters();
    }
}

/// The watcher of one backend's server.
pub struct Watch(pub Weak<Backend>);

impl Watcher for Watch {
    fn state_changed(&self) {
        if let Some(backend) = self.0.upgrade() {
            let is_ready = backend.server().is_some_and(|server| server.is_ready());
            if backend.was_ready.replace(is_ready) && !is_ready {
                backend.ended_ms.set(now_ms());
            }
            backend.news.notify_waiters();
            if let Some(core) = backend.core.upgrade() {
                core.server_changed(&backend);
            }
        }
    }
    fn listed(&self, listing: Rc<Listing>) {
        if let Some(backend) = self.0.upgrade() {
            backend.shelve(listing);
        }
    }
    fn log(&self, level: Level, params: &Bytes) {
        let backend = self.0.upgrade();
        if let Some((backend, core)) = backend.and_then(|it| Some((Rc::clone(&it), it.core.upgrade()?))) {
            let line = backend.murmur.borrow_mut().line(params, &backend.rules.cleaner);
            if let Some(line) = line {
                core.logged(&backend, level, &line);
            }
        }
    }
}
