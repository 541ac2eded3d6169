//! What a door for agents may do. Lives on the relay thread; cannot reach anything that a person decides.

use crate::ask;
use crate::core::Core;
use crate::gate::case::Case;
use crate::gate::receipt::Arrivals;
use crate::gate::watched;
use crate::road::Run;
use crate::who::Who;
use bytes::Bytes;
use frame::{Answer, Ask, Level, Origin, Reply};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::SystemTime;
use store::{CallRecord, Subject};

pub use crate::gate::watched::Watched;

/// What a client sees.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// Everything, names prefixed.
    All,
    /// One server under its own names, by its config key.
    Server(Rc<str>),
    /// A selection, by its name in `profiles`.
    Profile(Rc<str>),
}

/// Who a client is and how it reaches the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Who it is.
    pub who: Who,
    /// `stdio`, `socket`, `http` or `operator`; `task` where the client is not there.
    pub transport: &'static str,
    /// What *this session* means for it: one adapter, over reconnects and restarts of the hub, or one token.
    pub session: Rc<str>,
    /// The process that speaks for it, where the door can tell.
    pub process: Option<u32>,
}

impl Identity {
    /// What keys, approvals, grants and results of it hang on.
    pub fn id(&self) -> &Rc<str> {
        self.who.id()
    }
    /// Whether it is the person's own command line, whose words may name what only a person does.
    pub(crate) fn is_person(&self) -> bool {
        self.transport == PERSON
    }
}

/// Something that a client may want to be told although it has not asked just now.
#[derive(Clone, Debug)]
pub enum Notice {
    /// The tools of the client's view are others now.
    ToolsChanged,
    /// The prompts are.
    PromptsChanged,
    /// The resources or templates are.
    ResourcesChanged,
    /// A log message of a server (`notifications/message` params).
    Log {
        /// Its level.
        level: Level,
        /// The params object.
        params: Bytes,
    },
}

/// Where notices of one client go. Called on the relay thread; must not block.
pub trait Notices {
    /// Tells the client, in the form that it asked for, or drops it where it asked for none.
    fn notice(&self, notice: &Notice);
}

/// What `initialize` and `server/discover` answer with.
#[derive(Clone, Debug)]
pub struct Description {
    /// The merged server capabilities, as a JSON object.
    pub capabilities: String,
    /// The servers' instructions, each under its name; None where there are none.
    pub instructions: Option<String>,
    /// `serverInfo` object: the hub's own, or the server's own in a server view.
    pub server_info: String,
}

/// A view that does not exist: answered like any unknown path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no such view")]
pub struct UnknownView;

/// The agents' handle.
#[derive(Clone)]
pub struct AgentHandle {
    core: Rc<Core>,
}

impl AgentHandle {
    pub(crate) fn new(core: Rc<Core>) -> AgentHandle {
        AgentHandle { core }
    }

    /// Whether there is such a view now; a door asks before it reads a request's body.
    pub fn knows(&self, view: &View) -> bool {
        self.core.has_view(view)
    }
    /// Lets a client in. It leaves when its [`Seat`] is dropped: its running exchanges are cancelled then.
    ///
    /// # Errors
    /// There is no such view.
    pub fn join(&self, identity: Identity, view: View, notices: Rc<dyn Notices>) -> Result<Seat, UnknownView> {
        if !self.core.has_view(&view) {
            return Err(UnknownView);
        }
        let subject = self.core.ledger.subject(identity.id());
        let seat = Rc::new(SeatCore {
            core: Rc::clone(&self.core),
            subject,
            marks: Cell::new(None),
            view,
            notices,
            identity,
            level: Cell::new(None),
            running: RefCell::default(),
            next: Cell::new(0),
            since: SystemTime::now(),
            arrivals: Arrivals::default(),
            watching: Rc::default(),
        });
        self.core.seat_taken(&seat);
        Ok(Seat { seat })
    }
}

/// What a client waits for.
enum Running {
    /// Its own exchange.
    Run(Rc<Run>),
    /// A call with a record, perhaps together with others.
    Case(Rc<Case>),
}

/// A client's place, as the hub sees it.
pub struct SeatCore {
    pub(crate) core: Rc<Core>,
    pub(crate) identity: Identity,
    /// The client in the audit.
    pub(crate) subject: Subject,
    pub(crate) view: View,
    pub(crate) notices: Rc<dyn Notices>,
    /// Marks of the lists that the client was last told of.
    pub(crate) marks: Cell<Option<[u64; 4]>>,
    pub(crate) level: Cell<Option<Level>>,
    pub(crate) since: SystemTime,
    /// What of its calls that may change something has reached it.
    pub(crate) arrivals: Arrivals,
    /// One more holder for each of its tasks that it hears of.
    pub(crate) watching: Rc<()>,
    running: RefCell<FxHashMap<u64, Running>>,
    next: Cell<u64>,
}

/// Nobody is there to be told.
struct Nobody;

impl Notices for Nobody {
    fn notice(&self, _: &Notice) {}
}

/// How the person's own calls reach it.
pub(crate) const PERSON: &str = "operator";
/// How a client that is not there would reach the hub.
const ABSENT: &str = "task";

impl SeatCore {
    /// The place of the client of this record, which is not there itself. No door and no list knows of it.
    pub(crate) fn absent(core: &Rc<Core>, row: &CallRecord) -> Rc<SeatCore> {
        Rc::new(SeatCore {
            core: Rc::clone(core),
            identity: Identity {
                who: Who::of_id(&row.client),
                transport: ABSENT,
                session: row.session.as_str().into(),
                process: None,
            },
            subject: core.ledger.subject(&row.client),
            view: View::Server(row.server.as_str().into()),
            notices: Rc::new(Nobody),
            marks: Cell::new(None),
            level: Cell::new(None),
            since: SystemTime::now(),
            arrivals: Arrivals::default(),
            watching: Rc::default(),
            running: RefCell::default(),
            next: Cell::new(0),
        })
    }
    pub(crate) fn is_absent(&self) -> bool {
        self.identity.transport == ABSENT
    }
    pub(crate) fn ticket(&self) -> u64 {
        self.next.replace(self.next.get() + 1)
    }
    pub(crate) fn enter(&self, ticket: u64, run: &Rc<Run>) {
        self.running.borrow_mut().insert(ticket, Running::Run(Rc::clone(run)));
    }
    pub(crate) fn enter_case(&self, ticket: u64, case: &Rc<Case>) {
        self.running.borrow_mut().insert(ticket, Running::Case(Rc::clone(case)));
    }
    pub(crate) fn leave(&self, ticket: u64) {
        self.running.borrow_mut().remove(&ticket);
    }
    fn cancel(&self, ticket: u64) {
        let running = self.running.borrow_mut().remove(&ticket);
        match running {
            Some(Running::Run(run)) => run.cancel(),
            // The record stays as it is: the same client's identical call finds it (docs/approvals.md).
            Some(Running::Case(case)) => case.detach(self, ticket),
            None => {}
        }
    }
    /// Exchanges made so far.
    pub(crate) fn calls(&self) -> u64 {
        self.next.get()
    }
}

/// A client's place in the hub.
pub struct Seat {
    seat: Rc<SeatCore>,
}

impl Seat {
    /// Does `then` now, or a moment later where servers of this view have just been started for the first time: so that
    /// what a client is told once and for all says what they are.
    pub fn when_described(&self, then: impl FnOnce(Description) + 'static) {
        ask::when_listed(&self.seat, move |seat| then(seat.core.describe(&seat.view)));
    }
    /// What this client's view consists of, as of now.
    pub fn describe(&self) -> Description {
        self.seat.core.describe(&self.seat.view)
    }
    /// `inputSchema` of a tool as this client's lists name it, for headers that mirror arguments (`x-mcp-header`).
    pub fn input_schema(&self, tool: &str) -> Option<Bytes> {
        let catalog = self.seat.core.catalog(&self.seat.view);
        let read = &catalog.tool(tool)?.read;
        Some(read.raw.slice(read.tool.input_schema.clone()))
    }
    /// The lowest level of log messages this client wants outside of an exchange; None: none.
    pub fn set_level(&self, level: Option<Level>) {
        self.seat.level.set(level);
        self.seat.core.levels_changed();
    }
    /// Tells how those of this client's own tasks stand that the filter of a `subscriptions/listen` names (`taskIds`), at
    /// once and whenever that changes. `tell` gets the members of a `notifications/tasks`' params without the braces, never
    /// before this has returned.
    ///
    /// # Errors
    /// The error object to answer with: its client has not said that it takes tasks, or `taskIds` is no list of texts.
    pub fn watch(&self, origin: &Origin, filter: &Bytes, tell: Rc<dyn Fn(&str)>) -> Result<Watched, Answer> {
        watched::watch(&self.seat, origin, filter, tell)
    }
    /// Asks. Methods: every client→server request but those that a door answers itself (`initialize`, `ping`,
    /// `logging/setLevel`, `server/discover`, `subscriptions/listen`). The reply may come before this returns.
    pub fn ask(&self, ask: Ask, reply: Box<dyn Reply>) -> Ticket {
        let ticket = self.seat.ticket();
        ask::ask(&self.seat, ticket, ask, reply);
        Ticket { seat: Rc::downgrade(&self.seat), ticket }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let tickets: Vec<u64> = self.seat.running.borrow().keys().copied().collect();
        for ticket in tickets {
            self.seat.cancel(ticket);
        }
        self.seat.core.seat_left();
    }
}

/// A running exchange. Dropping it does nothing.
pub struct Ticket {
    seat: Weak<SeatCore>,
    ticket: u64,
}

impl Ticket {
    /// The client has lost interest: its reply is dropped without `done`, the server is told. Does nothing after the end.
    pub fn cancel(&self) {
        if let Some(seat) = self.seat.upgrade() {
            seat.cancel(self.ticket);
        }
    }
}
