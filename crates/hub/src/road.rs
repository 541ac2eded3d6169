//! The road of one call: received → resolved → checked → permitted → lane → sent → finished. Plain functions on the
//! relay thread; nothing is sent without a permit, nothing that may change something before its intent is durable.

mod back;
mod client;

pub use back::Ending;

use crate::abort::{self, Point};
use crate::agent::SeatCore;
use crate::ask::To;
use crate::backend::Backend;
use crate::catalog::ToolEntry;
use crate::core::Core;
use crate::gate::case::{Case, Fan};
use crate::gate::lost::Lost;
use crate::gate::{apart, settle};
use crate::lanes::Entered;
use crate::murmur::Murmur;
use crate::record::Record;
use crate::thing;
use back::OnRoad;
use bytes::Bytes;
use contract::Hash;
use contract::outcome::{Code, Refusal};
use frame::{Ask, Origin, Params, Reply};
use policy::{Effect, Permit};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use upstream::{Call, Failure, Server, State, linger, task};

/// How long the lists of a server that has started may take to be read and judged.
const LISTS: Duration = Duration::from_secs(10);

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Its intent is being made durable.
    Intent,
    /// It waits for its lane.
    Lane,
    /// The server has it, or will when it is ready.
    Server,
    /// It has ended.
    Over,
}

/// One exchange that is on its way to a server.
pub struct Run {
    pub(crate) backend: Rc<Backend>,
    tool: Option<Rc<ToolEntry>>,
    method: Rc<str>,
    effect: Effect,
    lane: Option<Rc<str>>,
    origin: Rc<Origin>,
    wants_progress: bool,
    /// What the client asked for, where it may change something: its reply must not be lost unnoticed.
    asked: Option<Params>,
    seat: Place,
    core: Rc<Core>,
    /// Its place among the seat's runs.
    ticket: u64,
    phase: Cell<Phase>,
    permit: RefCell<Option<Permit>>,
    reply: RefCell<Option<Box<dyn Reply>>>,
    call: RefCell<Option<Call>>,
    record: RefCell<Record>,
    /// The call record it is the execution of.
    case: Option<Rc<Case>>,
    /// Its result as it is stored, where that is over the bound.
    whole: RefCell<Option<Bytes>>,
    /// Its result goes here since its client stopped waiting.
    lost: RefCell<Option<Rc<Lost>>>,
    /// Keeps the relay awake around it.
    open: RefCell<Option<linger::Open>>,
}

/// Its client's place.
enum Place {
    /// Kept by the client.
    There(Weak<SeatCore>),
    /// Of a client that is not there: kept by the run.
    Absent(Rc<SeatCore>),
}

impl Place {
    fn of(seat: &Rc<SeatCore>) -> Place {
        if seat.is_absent() { Place::Absent(Rc::clone(seat)) } else { Place::There(Rc::downgrade(seat)) }
    }
    fn upgrade(&self) -> Option<Rc<SeatCore>> {
        match self {
            Place::There(seat) => seat.upgrade(),
            Place::Absent(seat) => Some(Rc::clone(seat)),
        }
    }
}

/// What is to be sent, resolved and checked.
pub(crate) struct Plan {
    pub backend: Rc<Backend>,
    pub tool: Option<Rc<ToolEntry>>,
    pub effect: Effect,
    pub lane: Option<Rc<str>>,
}

/// Sends a plan on its way.
pub(crate) fn set_out(seat: &Rc<SeatCore>, ticket: u64, ask: Ask, plan: Plan, permit: Permit, record: Record, to: To) {
    let (reply, case): (Box<dyn Reply>, _) = match to {
        To::Reply(reply) => (reply, None),
        To::Case(case) => (Box::new(Fan(Rc::clone(&case))), Some(case)),
    };
    let run = Rc::new(Run {
        backend: plan.backend,
        tool: plan.tool,
        method: ask.method,
        effect: plan.effect,
        lane: plan.lane,
        origin: ask.origin,
        wants_progress: ask.wants_progress,
        asked: (plan.effect != Effect::Read).then_some(ask.params),
        seat: Place::of(seat),
        core: Rc::clone(&seat.core),
        ticket,
        phase: Cell::new(Phase::Intent),
        permit: RefCell::new(Some(permit)),
        reply: RefCell::new(Some(reply)),
        call: RefCell::default(),
        record: RefCell::new(record),
        case,
        whole: RefCell::default(),
        lost: RefCell::default(),
        open: RefCell::default(),
    });
    match &run.case {
        // Its askers hang on the case, whoever of them leaves.
        Some(case) => case.runs(&run),
        None => seat.enter(ticket, &run),
    }
    seat.core.ledger.when_room(move || {
        if run.phase.get() != Phase::Intent {
            // Cancelled while the log had no room.
        } else if run.lane.is_some() || run.case.is_some() {
            run.declare();
        } else {
            run.send();
        }
    });
}

impl Run {
    /// Makes the intent durable, then takes the lane.
    fn declare(self: &Rc<Self>) {
        if let Some(case) = &self.case {
            // Written before the intent, in the same queue: an intent never lacks its record.
            self.core.ledger.save_call(case.row().clone());
        } else if let Some(tool) = &self.tool {
            let raw = self.asked.as_ref().and_then(|asked| asked.get("arguments"));
            if raw.as_ref().is_some_and(|raw| raw.len() >= apart::LONG) {
                let (me, leave_out) = (Rc::clone(self), thing::left_out(tool).map(Box::<str>::from));
                task::spawn("digest long arguments", async move {
                    let digesting = move || thing::plain_digest(raw.as_ref(), leave_out.as_deref());
                    let digest = tokio::task::spawn_blocking(digesting).await.ok().flatten();
                    if me.phase.get() == Phase::Intent {
                        me.intend(digest.map(|digest| me.core.ledger.keyed(digest)));
                    }
                });
                return;
            }
            return self.intend(thing::digest_of(raw.as_ref(), tool, &self.core.ledger));
        }
        self.intend(None);
    }

    /// `asked`: by what a repetition is known of a call without a record of its own.
    fn intend(self: &Rc<Self>, asked: Option<Hash>) {
        if let Some(seat) = self.seat.upgrade() {
            self.record.borrow_mut().repeated_by(&seat.identity.session, asked);
        }
        linger::await_disk();
        let me = Rc::clone(self);
        self.core.ledger.intent(&mut self.record.borrow_mut(), move |durable| me.declared(durable));
    }

    fn declared(self: &Rc<Self>, durable: bool) {
        if self.phase.get() != Phase::Intent {
            return;
        }
        if !durable {
            return self.refuse(
                Code::AuditUnavailable,
                "the audit log cannot be written, so nothing that may change something is run",
            );
        }
        self.passes(Point::Declared);
        let Some(lane) = &self.lane else { return self.send() };
        self.phase.set(Phase::Lane);
        let entered = self.backend.lanes.borrow_mut().enter(lane, || Rc::clone(self));
        match entered {
            Entered::Now => self.send(),
            Entered::Waits => {}
            Entered::Full => self
                .refuse(Code::QueueFull, "too many calls wait for this server; nothing was executed, call again later"),
        }
    }

    fn send(self: &Rc<Self>) {
        self.phase.set(Phase::Server);
        let is_known = |server: &Server| server.is_ready() && !self.backend.is_changing();
        match (&self.tool, self.backend.server()) {
            (Some(tool), Some(server)) if !is_known(server) => {
                let (me, tool, server) = (Rc::clone(self), Rc::clone(tool), Rc::clone(server));
                task::spawn("call a server that starts", async move { me.send_when_known(&tool, &server).await });
            }
            _ => self.send_now(),
        }
    }

    /// A server that is not running may come back as another one: it is called when its lists are known, and only if
    /// they still promise what was judged.
    async fn send_when_known(self: &Rc<Self>, tool: &Rc<ToolEntry>, server: &Rc<Server>) {
        server.want();
        let deadline = Instant::now() + server.spec().start_timeout + LISTS;
        loop {
            let news = self.backend.news.notified();
            let waits = match server.state().0 {
                State::Stopped | State::Starting { .. } => true,
                State::Ready => self.backend.is_changing(),
                State::Halted | State::Failing { .. } | State::Unusable => false,
            };
            // Whatever keeps it is said by sending.
            if !waits || timeout_at(deadline, news).await.is_err() {
                break;
            }
        }
        if self.phase.get() != Phase::Server {
            return;
        }
        match self.backend.differs(tool) {
            None => self.send_now(),
            Some((code, why)) => {
                self.refuse(code, &format!("{why} Nothing was executed."));
                self.leave_lane();
            }
        }
    }

    fn send_now(self: &Rc<Self>) {
        self.passes(Point::Sending);
        let (Some(permit), Some(server)) = (self.permit.borrow_mut().take(), self.backend.server()) else {
            let problem = self.backend.problem().unwrap_or("the server cannot be run");
            return self.finish(Err(Failure::Unavailable(problem.to_owned())));
        };
        let wants_progress = self.wants_progress || self.case.is_some();
        *self.open.borrow_mut() = Some(linger::Open::begin());
        let call = server.send(
            permit,
            Rc::clone(&self.origin),
            wants_progress,
            Box::new(OnRoad(Rc::clone(self), Murmur::default())),
        );
        self.passes(Point::Sent);
        if self.phase.get() == Phase::Server {
            *self.call.borrow_mut() = Some(call);
        }
    }

    fn passes(&self, point: Point) {
        match (&self.tool, &self.case) {
            (Some(tool), _) => abort::at(point, &tool.read.tool.name),
            (None, Some(case)) => abort::at(point, &case.row().tool),
            (None, None) => abort::at(point, ""),
        }
    }

    fn refuse(self: &Rc<Self>, code: Code, message: &str) {
        if self.phase.replace(Phase::Over) == Phase::Over {
            return;
        }
        let reply = self.reply.borrow_mut().take();
        let call = self.record.borrow().id();
        self.close(Ending::Code(code), 0);
        let refusal = Refusal::new(code, message).of_call(call);
        if let Some(case) = &self.case {
            settle::given_back(&self.core, case, &refusal);
        }
        if let Some(reply) = reply {
            reply.done(self.told(&refusal));
        }
    }

    fn leave_lane(&self) {
        let Some(lane) = &self.lane else { return };
        let next = self.backend.lanes.borrow_mut().leave(lane);
        if let Some(next) = next {
            next.send();
        }
    }

    fn close(&self, ending: Ending, size: usize) {
        if let (None, Some(seat)) = (&self.case, self.seat.upgrade()) {
            seat.leave(self.ticket);
        }
        self.core.ledger.end(&mut self.record.borrow_mut(), ending, size);
        self.open.borrow_mut().take();
    }
}
