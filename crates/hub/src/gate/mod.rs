//! The gate on the road of a call: who may, who waits, what ran already. Lives on the relay thread, which makes every
//! decision atomic; the rules themselves are pure and stand in `policy`, what must outlive the hub in `store`.

pub(crate) mod absent;
pub(crate) mod apart;
pub(crate) mod case;
pub(crate) mod decide;
pub(crate) mod desk;
pub(crate) mod forget;
pub(crate) mod glance;
pub(crate) mod gone;
pub(crate) mod hold;
pub(crate) mod index;
pub(crate) mod interim;
pub(crate) mod judged;
pub(crate) mod kept;
pub(crate) mod launch;
pub(crate) mod lost;
pub(crate) mod meet;
pub(crate) mod moves;
pub(crate) mod owed;
pub(crate) mod pages;
pub mod pins;
pub(crate) mod receipt;
pub(crate) mod rest;
pub(crate) mod result;
pub(crate) mod retold;
pub(crate) mod review;
pub(crate) mod road;
pub(crate) mod settle;
pub(crate) mod stand;
pub(crate) mod still;
pub(crate) mod tally;
pub(crate) mod task;
pub(crate) mod unanswered;
pub(crate) mod watched;

use crate::catalog::{Hides, ToolEntry};
use crate::config::{Accepted, PolicyConfig};
use crate::person::{Decided, Pause};
use crate::thing::Thing;
use apart::Judging;
use contract::Hash;
use index::Index;
use lost::LostResults;
use pages::Pages;
use pins::Pins;
use policy::{Effect, Facts, Fallback, Grant, Judgement, Profile, Rulebook, Standing, Target, Tier};
use std::cell::{Cell, Ref, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;

/// Decisions that are remembered for whoever comes later.
const MOST_DECISIONS: usize = 1_000;

/// How long calls wait, and what decides them.
#[derive(Clone)]
pub struct Settings {
    /// The rules.
    pub rulebook: Rulebook,
    /// The same as the config has them.
    pub policy: PolicyConfig,
    /// How long a request is held open for a person.
    pub hold: Duration,
    /// The same where its client gave a progress token.
    pub hold_with_progress: Duration,
    /// How long a waiting call can be decided and an approval redeemed.
    pub expire: Duration,
    /// Hosts that were measured to wait longer.
    pub hosts: BTreeMap<String, Duration>,
    /// So many calls of one client and server that a person denies within a minute let the server rest; 0: never.
    pub denials_per_minute: usize,
    /// How long it rests.
    pub rest: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            rulebook: Rulebook::allow_all(),
            policy: PolicyConfig { default: Fallback::Allow, ..PolicyConfig::default() },
            hold: Duration::from_secs(45),
            hold_with_progress: Duration::from_secs(45),
            expire: Duration::from_secs(15 * 60),
            hosts: BTreeMap::new(),
            denials_per_minute: 10,
            rest: Duration::from_secs(5 * 60),
        }
    }
}

impl Settings {
    /// How long this client's request may be held open.
    pub(crate) fn hold_of(&self, host: &str, has_progress: bool) -> Duration {
        let usual = if has_progress { self.hold_with_progress } else { self.hold };
        self.hosts.get(host).copied().unwrap_or(usual)
    }
}

/// A config that would let more through than a person accepted.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// How, each in a sentence.
    pub sentences: Vec<String>,
    /// Names exactly this.
    pub hash: Hash,
    pub wanted: Accepted,
}

/// The live state of the gate.
pub(crate) struct Gate {
    pub(crate) index: Index,
    settings: RefCell<Settings>,
    /// Counts changes of the settings, so that what was derived from them is known to be old.
    age: Cell<u64>,
    pub(crate) grants: RefCell<Vec<Grant>>,
    pub(crate) lost: LostResults,
    pub(crate) noes: retold::Noes,
    /// The rest of results that are over the bound.
    pub(crate) pages: Pages,
    pub(crate) pins: Pins,
    pub(crate) rests: rest::Rests,
    pub(crate) glances: glance::Glances,
    pause: RefCell<Pause>,
    held: RefCell<Option<Held>>,
    distrust: Cell<bool>,
    sealed: Cell<bool>,
    free: Judgement,
    /// The latest decisions, for whoever comes later.
    decisions: RefCell<VecDeque<Decided>>,
    /// Whether it is known what became of the calls that were open when the last run ended.
    settled: Cell<bool>,
    pub(crate) settling: Notify,
}

impl Default for Gate {
    fn default() -> Gate {
        Gate {
            index: Index::default(),
            settings: RefCell::default(),
            age: Cell::new(0),
            grants: RefCell::default(),
            lost: LostResults::default(),
            noes: retold::Noes::default(),
            pages: Pages::default(),
            pins: Pins::default(),
            rests: rest::Rests::default(),
            glances: glance::Glances::default(),
            pause: RefCell::default(),
            held: RefCell::default(),
            distrust: Cell::new(false),
            sealed: Cell::new(false),
            free: free(),
            decisions: RefCell::default(),
            settled: Cell::new(true),
            settling: Notify::new(),
        }
    }
}

impl Gate {
    /// From now on these hold. Waiting calls are judged by them when they are claimed.
    pub(crate) fn set(&self, settings: Settings) {
        *self.settings.borrow_mut() = settings;
        self.age.set(self.age.get() + 1);
    }
    pub(crate) fn settings(&self) -> Ref<'_, Settings> {
        self.settings.borrow()
    }
    pub(crate) fn age(&self) -> u64 {
        self.age.get()
    }
    /// An approval that is remembered, in place of an earlier one for the same definition, and beside those for other
    /// approved definitions of the tool, of which a server may give now one and now another.
    pub(crate) fn remember_grant(&self, grant: Option<Grant>) {
        let Some(grant) = grant else { return };
        let mut grants = self.grants.borrow_mut();
        let is_of_same = |old: &Grant| {
            (&old.client, &old.server, &old.tool, &old.session)
                == (&grant.client, &grant.server, &grant.tool, &grant.session)
        };
        grants.retain(|old| !is_of_same(old) || (old.launch == grant.launch && old.definition != grant.definition));
        if grants.iter().filter(|old| is_of_same(old)).count() >= store::MOST_TEXTS
            && let Some(oldest) = grants.iter().position(is_of_same)
        {
            grants.remove(oldest);
        }
        grants.push(grant);
    }
    /// The log is not the one that was anchored last: nothing that may change something runs without a person's word.
    pub(crate) fn set_distrust(&self, distrust: bool) {
        self.distrust.set(distrust);
    }
    pub(crate) fn has_distrust(&self) -> bool {
        self.distrust.get()
    }
    /// Something that was sealed cannot be opened any more.
    pub(crate) fn set_sealed(&self) {
        self.sealed.set(true);
    }
    pub(crate) fn has_sealed(&self) -> bool {
        self.sealed.get()
    }
    pub(crate) fn set_held(&self, held: Option<Held>) {
        *self.held.borrow_mut() = held;
    }
    pub(crate) fn held(&self) -> Option<Held> {
        self.held.borrow().clone()
    }
    pub(crate) fn set_pause(&self, pause: Pause) {
        *self.pause.borrow_mut() = pause;
    }
    pub(crate) fn pause(&self) -> Pause {
        self.pause.borrow().clone()
    }
    pub(crate) fn is_paused(&self) -> bool {
        self.pause.borrow().since_ms.is_some()
    }
    /// A decision that was made.
    pub(crate) fn remember(&self, decided: Decided) {
        let mut decisions = self.decisions.borrow_mut();
        decisions.push_front(decided);
        decisions.truncate(MOST_DECISIONS);
    }
    /// A decision that was made not long ago.
    pub(crate) fn recent(&self, id: &str) -> Option<Decided> {
        self.decisions.borrow().iter().find(|decided| decided.id == id).cloned()
    }
    pub(crate) fn is_settled(&self) -> bool {
        self.settled.get()
    }
    pub(crate) fn set_settled(&self, settled: bool) {
        self.settled.set(settled);
        self.settling.notify_waiters();
    }

    /// What the rules say of one request.
    pub(crate) fn judge(&self, host: &str, thing: &Thing, arguments: &[u8]) -> Judgement {
        match thing {
            Thing::Tool(tool) => self.judge_call(host, tool, arguments),
            Thing::Other(other) => self.judge_bare(host, &other.profile()),
        }
    }
    /// What they say of one call of a tool.
    fn judge_call(&self, host: &str, tool: &ToolEntry, arguments: &[u8]) -> Judgement {
        self.settings.borrow().rulebook.judge(&self.standing(tool), &Facts { host, arguments })
    }
    /// The same question to be answered on any thread.
    pub(crate) fn judging(&self, host: &str, thing: &Thing) -> Judging {
        let tool = match thing {
            Thing::Tool(tool) => tool,
            Thing::Other(other) => return Judging::Said(self.judge_bare(host, &other.profile())),
        };
        let standing = self.standing(tool);
        match standing.always() {
            Some(judgement) => Judging::Said(judgement.clone()),
            None => Judging::Depends { rules: self.settings.borrow().rulebook.clone(), standing, host: host.into() },
        }
    }
    /// How the rules see a tool.
    pub(crate) fn standing(&self, tool: &ToolEntry) -> Arc<Standing> {
        tool.standing(&self.settings.borrow().rulebook, self.age.get())
    }
    /// What they say of a request for what is no tool: they know no arguments of it.
    pub(crate) fn judge_bare(&self, host: &str, of: &Profile<'_>) -> Judgement {
        let rules = &self.settings.borrow().rulebook;
        rules.judge(&rules.standing(of), &Facts { host, arguments: b"{}" })
    }
    /// How often a tool asks.
    pub(crate) fn tier(&self, tool: &ToolEntry) -> Tier {
        self.standing(tool).tier()
    }
    /// What is said of a request that no rule can name, as completions are.
    pub(crate) fn free(&self) -> &Judgement {
        &self.free
    }
    /// Version of the rules.
    pub(crate) fn policy(&self) -> Hash {
        self.settings.borrow().rulebook.version()
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    crate::views::millis(SystemTime::now())
}

impl Hides for Gate {
    fn hides(&self, tool: &ToolEntry) -> bool {
        self.standing(tool).is_unlisted()
    }
}

fn free() -> Judgement {
    let rules = Rulebook::allow_all();
    let nothing = Profile::bare(Target::Method, "", "", "", Effect::Read);
    rules.judge(&rules.standing(&nothing), &Facts { host: "", arguments: b"{}" })
}
