//! The hub on its relay thread: servers in config order, views over their shelves, the clients' seats, notices.

use crate::agent::{AgentHandle, Description, Notice, SeatCore, View};
use crate::backend::Backend;
use crate::catalog::facts::Known;
use crate::catalog::{Catalog, Entry, Hides, ListKind, ToolEntry};
use crate::gate::case::Case;
use crate::gate::{Gate, now_ms};
use crate::operate::Event;
use crate::record::Audit;
use crate::views;
use bytes::Bytes;
use frame::{Level, object};
use globset::GlobSet;
use policy::{CallState, Target};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::sync::{Notify, broadcast};
use upstream::{Listing, task};

/// Changes of lists within this time are told once.
const GATHER: Duration = Duration::from_millis(20);

/// The hub.
pub struct Core {
    pub(crate) ledger: Rc<Audit>,
    pub(crate) gate: Gate,
    pub(crate) events: broadcast::Sender<Event>,
    backends: RefCell<Vec<Rc<Backend>>>,
    profiles: RefCell<FxHashMap<Rc<str>, GlobSet>>,
    catalogs: RefCell<FxHashMap<View, Rc<Catalog>>>,
    seats: RefCell<Vec<Weak<SeatCore>>>,
    changed: Notify,
    /// Clients come and go without anybody waiting for it.
    left: Cell<u64>,
    refusing: Cell<bool>,
    version: &'static str,
}

impl Core {
    /// A hub without servers. Must be called inside a `LocalSet`.
    pub fn new(ledger: Rc<Audit>, events: broadcast::Sender<Event>) -> Rc<Core> {
        let core = Rc::new(Core {
            ledger,
            gate: Gate::default(),
            events,
            backends: RefCell::default(),
            profiles: RefCell::default(),
            catalogs: RefCell::default(),
            seats: RefCell::default(),
            changed: Notify::new(),
            left: Cell::new(0),
            refusing: Cell::new(false),
            version: env!("CARGO_PKG_VERSION"),
        });
        task::spawn("list changes", tell_changes(Rc::downgrade(&core)));
        core
    }

    /// The handle for doors to agents.
    pub fn agents(self: &Rc<Self>) -> AgentHandle {
        AgentHandle::new(Rc::clone(self))
    }

    /// Hands over the last audit rows.
    pub fn settle(&self) {
        self.ledger.settle();
    }
    /// From now on new requests are refused: the hub is stopping.
    pub fn refuse(&self) {
        self.refusing.set(true);
        // Who waits for a person is told that it goes on waiting.
        self.gate.index.all().iter().for_each(|case| case.news.notify_one());
    }
    pub(crate) fn is_refusing(&self) -> bool {
        self.refusing.get()
    }

    /// Takes a new set of servers and profiles; those that stay are in it again.
    pub fn arrange(&self, backends: Vec<Rc<Backend>>, profiles: FxHashMap<Rc<str>, GlobSet>) {
        *self.backends.borrow_mut() = backends;
        *self.profiles.borrow_mut() = profiles;
        self.catalog_changed();
    }

    /// All servers in config order.
    pub fn backends(&self) -> Vec<Rc<Backend>> {
        self.backends.borrow().clone()
    }
    /// The server of that key.
    pub fn backend(&self, key: &str) -> Option<Rc<Backend>> {
        self.backends.borrow().iter().find(|backend| **backend.key() == *key).cloned()
    }
    /// The server of that prefix.
    pub fn backend_of_prefix(&self, prefix: &str) -> Option<Rc<Backend>> {
        self.backends.borrow().iter().find(|backend| backend.slug().as_str() == prefix).cloned()
    }

    pub(crate) fn has_view(&self, view: &View) -> bool {
        match view {
            View::All => true,
            View::Server(key) => self.backend(key).is_some(),
            View::Profile(name) => self.profiles.borrow().contains_key(name),
        }
    }

    fn members(&self, view: &View) -> Vec<Rc<Backend>> {
        // A profile that was removed while a client sees it shows nothing, never everything.
        if !self.has_view(view) {
            return Vec::new();
        }
        let backends = self.backends.borrow();
        let shown = |backend: &&Rc<Backend>| match view {
            View::Server(key) => backend.key() == key,
            View::All | View::Profile(_) => true,
        };
        backends.iter().filter(|backend| !backend.rules().disabled).filter(shown).cloned().collect()
    }

    /// What a view shows, as of now.
    pub fn catalog(&self, view: &View) -> Rc<Catalog> {
        if let Some(catalog) = self.catalogs.borrow().get(view) {
            return Rc::clone(catalog);
        }
        let shelves: Vec<_> = self.members(view).iter().map(|backend| backend.shelf()).collect();
        let profiles = self.profiles.borrow();
        let only = match view {
            View::Profile(name) => profiles.get(name),
            View::All | View::Server(_) => None,
        };
        let catalog = Rc::new(Catalog::build(view, &shelves, only, &self.gate));
        self.catalogs.borrow_mut().insert(view.clone(), Rc::clone(&catalog));
        catalog
    }

    /// All tools of all servers, those too that the rules hide from hosts, in the order of the config.
    pub(crate) fn every_tool(&self) -> Vec<Rc<ToolEntry>> {
        self.members(&View::All).iter().flat_map(|backend| backend.shelf().tools.clone()).collect()
    }
    /// All prompts, resources and templates of all servers.
    pub(crate) fn every_entry(&self) -> Vec<(Target, Rc<Entry>)> {
        let of = |target: Target, list: &[Rc<Entry>]| {
            list.iter().map(|entry| (target, Rc::clone(entry))).collect::<Vec<_>>()
        };
        let shelves = self.members(&View::All).into_iter().map(|backend| backend.shelf());
        let lists = shelves.flat_map(|shelf| {
            [
                of(Target::Prompt, &shelf.prompts),
                of(Target::Resource, &shelf.resources),
                of(Target::Resource, &shelf.templates),
            ]
        });
        lists.flatten().collect()
    }
    /// A tool as a person may name it: in the aggregate, or by its own name where only one server has it.
    pub(crate) fn any_tool(&self, name: &str) -> Option<Rc<ToolEntry>> {
        let all = self.every_tool();
        if let Some(tool) = all.iter().find(|tool| tool.read.exposed == name) {
            return Some(Rc::clone(tool));
        }
        let mut own = all.iter().filter(|tool| &**tool.own_name() == name);
        let first = own.next()?;
        own.next().is_none().then(|| Rc::clone(first))
    }
    /// A tool of that name that a view does not show because the rules hide it from all hosts.
    pub(crate) fn hidden_tool(&self, view: &View, name: &str) -> Option<Rc<ToolEntry>> {
        let members = self.members(view);
        let tools: Vec<_> = members.iter().flat_map(|backend| backend.shelf().tools.clone()).collect();
        let is_named = |tool: &&Rc<ToolEntry>| match view {
            View::Server(_) => &**tool.own_name() == name,
            View::All | View::Profile(_) => tool.read.exposed == name,
        };
        tools.iter().find(is_named).filter(|tool| self.gate.hides(tool)).cloned()
    }

    /// Servers of a view that have never been listed.
    pub(crate) fn unlisted(&self, view: &View) -> Vec<Rc<Backend>> {
        let members = self.members(view);
        members.into_iter().filter(|backend| backend.server().is_some() && !backend.is_listed()).collect()
    }

    /// What a view says of itself.
    pub(crate) fn describe(&self, view: &View) -> Description {
        let listings: Vec<_> = self
            .members(view)
            .iter()
            .filter_map(|backend| {
                Some((Rc::clone(backend.key()), backend.server()?.listing()?, backend.instructions()))
            })
            .collect();
        views::describe(view, &listings, self.version)
    }

    /// Own names of all tools of all servers.
    pub(crate) fn tool_names(&self) -> HashSet<Box<str>> {
        let backends = self.backends();
        let shelves = backends.iter().map(|backend| backend.shelf());
        shelves
            .flat_map(|shelf| shelf.tools.iter().map(|tool| tool.read.tool.name.clone()).collect::<Vec<_>>())
            .collect()
    }
    /// Tells the person's door; without a listener there is nobody to tell.
    pub(crate) fn happened(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// Tells the person's door how many calls wait for a person, and how many to be settled.
    pub(crate) fn queue_changed(&self) {
        self.happened(Event::Approvals { waiting: self.count_of(CallState::Waiting) });
        self.happened(Event::Calls { unknown: self.count_of(CallState::Unknown) });
    }
    /// Call records that stand so.
    pub(crate) fn count_of(&self, state: CallState) -> u32 {
        let all = self.gate.index.all();
        // One whose time is over waits for nobody, also before that was looked at.
        let is_it = |case: &&Rc<Case>| {
            case.state() == state && (state != CallState::Waiting || case.row().expires_ms > now_ms())
        };
        u32::try_from(all.iter().filter(is_it).count()).unwrap_or(u32::MAX)
    }

    pub(crate) fn catalog_changed(&self) {
        self.catalogs.borrow_mut().clear();
        self.changed.notify_one();
    }

    pub(crate) fn server_changed(&self, backend: &Rc<Backend>) {
        if self.events.receiver_count() > 0 {
            self.happened(Event::Server(views::server(backend)));
        }
    }

    pub(crate) fn remember(&self, backend: &Backend, listing: &Listing, known: &Known) {
        self.ledger.remember(backend, listing, known);
    }

    pub(crate) fn logged(&self, backend: &Backend, level: Level, params: &Bytes) {
        // Nobody can tell whose call it is about: it is told only to clients that see this server alone.
        for seat in self.seats() {
            let alone = matches!(&seat.view, View::Server(key) if key == backend.key());
            if alone && seat.level.get().is_some_and(|wanted| level >= wanted) {
                seat.notices.notice(&Notice::Log { level, params: params.clone() });
            }
        }
    }

    pub(crate) fn seats(&self) -> Vec<Rc<SeatCore>> {
        self.seats.borrow().iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn seat_taken(&self, seat: &Rc<SeatCore>) {
        let mut seats = self.seats.borrow_mut();
        if self.left.replace(0) > 0 {
            seats.retain(|seat| seat.strong_count() > 0);
        }
        seats.push(Rc::downgrade(seat));
        let _ = self.events.send(Event::Clients);
    }

    pub(crate) fn seat_left(&self) {
        self.left.set(self.left.get() + 1);
        let _ = self.events.send(Event::Clients);
    }

    /// Sets each server to the quietest level that still gives every client what it wants.
    pub(crate) fn levels_changed(&self) {
        let wanted = self.seats().iter().filter_map(|seat| seat.level.get()).min();
        for server in self.backends.borrow().iter().filter_map(|backend| backend.server()) {
            server.set_level(wanted);
        }
    }

    fn marks(&self, view: &View) -> [u64; 4] {
        let catalog = self.catalog(view);
        ListKind::ALL.map(|kind| catalog.pages(kind).mark())
    }

    /// Tells every client whose lists are others than it was last told.
    fn tell(&self) {
        let _ = self.events.send(Event::Catalog);
        for seat in self.seats() {
            let marks = self.marks(&seat.view);
            let Some(before) = seat.marks.replace(Some(marks)) else { continue };
            if before[0] != marks[0] {
                seat.notices.notice(&Notice::ToolsChanged);
            }
            if before[1] != marks[1] {
                seat.notices.notice(&Notice::PromptsChanged);
            }
            if before[2..] != marks[2..] {
                seat.notices.notice(&Notice::ResourcesChanged);
            }
        }
    }

    /// The lists as a client is about to see them: only later changes are news to it.
    pub(crate) fn seen(&self, seat: &SeatCore) -> Rc<Catalog> {
        let catalog = self.catalog(&seat.view);
        seat.marks.set(Some(ListKind::ALL.map(|kind| catalog.pages(kind).mark())));
        catalog
    }
}

async fn tell_changes(core: Weak<Core>) {
    loop {
        let Some(strong) = core.upgrade() else { return };
        strong.changed.notified().await;
        tokio::time::sleep(GATHER).await;
        strong.tell();
    }
}

/// Whether a server declares a capability, or a flag of it.
pub(crate) fn declares(listing: &Listing, group: &str) -> bool {
    object::get(&listing.capabilities, group).is_some()
}
