//! The road of one call: received → resolved → checked → permitted → lane → sent → finished. Plain functions on the
//! relay thread; nothing is sent without a permit, nothing that may change something before its intent is durable.

use crate::agent::SeatCore;
use crate::backend::Backend;
use crate::catalog::ToolEntry;
use crate::lanes::Entered;
use crate::record::Record;
use bytes::Bytes;
use contract::CallId;
use contract::outcome::{Code, Output, Refusal};
use frame::{Answer, Ask, Level, Origin, Progress, Reply, object};
use policy::{Effect, Judgement, Permit, Rulebook, Verdict};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::LazyLock;
use upstream::{Call, Failure, Waiter};

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
    seat: Weak<SeatCore>,
    /// Its place among the seat's runs.
    ticket: u64,
    phase: Cell<Phase>,
    permit: RefCell<Option<Permit>>,
    reply: RefCell<Option<Box<dyn Reply>>>,
    call: RefCell<Option<Call>>,
    record: RefCell<Record>,
}

/// What is to be sent, resolved and checked.
pub(crate) struct Plan {
    pub backend: Rc<Backend>,
    pub tool: Option<Rc<ToolEntry>>,
    pub effect: Effect,
    pub lane: Option<Rc<str>>,
    /// The params with the server's own names.
    pub params: Bytes,
}

/// The config refuses every policy but `{"default": "allow"}` so far.
static ALLOW_ALL: LazyLock<Rulebook> = LazyLock::new(Rulebook::allow_all);

fn allowed() -> Judgement {
    static STANDING: LazyLock<policy::Standing> = LazyLock::new(|| {
        ALLOW_ALL.standing(&policy::Profile {
            target: policy::Target::Method,
            name: "",
            own: "",
            server: "",
            effect: Effect::Read,
            hints: policy::Hints::default(),
            tag: None,
            flagged: false,
            partly_checked: false,
            takes_url: false,
            arguments: &[],
            annotations: b"",
        })
    });
    ALLOW_ALL.judge(&STANDING, &policy::Facts { host: "", arguments: b"{}" })
}

/// Sends a plan on its way.
pub(crate) fn set_out(seat: &Rc<SeatCore>, ticket: u64, ask: Ask, plan: Plan, record: Record, reply: Box<dyn Reply>) {
    let name = plan.tool.as_ref().map_or_else(|| Rc::clone(&ask.method), |tool| (&*tool.read.tool.name).into());
    let request = policy::Request {
        client: Rc::clone(&seat.identity.name),
        session: Rc::clone(&seat.identity.name),
        server: Rc::clone(plan.backend.key()),
        launch: plan.backend.rules().launch_hash.as_str().into(),
        method: Rc::clone(&ask.method),
        tool: name,
        effect: plan.effect,
        definition: plan.tool.as_ref().map(|tool| tool.read.tool.definition_hash),
        digest: None,
        policy: ALLOW_ALL.version(),
        params: plan.params,
    };
    let Verdict::Allow(permit) = policy::decide(request, &allowed()) else {
        let refusal = refusal(&ask.method, plan.tool.as_deref(), Code::Denied, "denied by the policy", record.id());
        seat.core.ledger.refused(&record, Code::Denied);
        return reply.done(refusal);
    };
    let run = Rc::new(Run {
        backend: plan.backend,
        tool: plan.tool,
        method: ask.method,
        effect: plan.effect,
        lane: plan.lane,
        origin: ask.origin,
        wants_progress: ask.wants_progress,
        seat: Rc::downgrade(seat),
        ticket,
        phase: Cell::new(Phase::Intent),
        permit: RefCell::new(Some(permit)),
        reply: RefCell::new(Some(reply)),
        call: RefCell::default(),
        record: RefCell::new(record),
    });
    seat.enter(ticket, &run);
    seat.core.ledger.when_room(move || {
        if run.phase.get() != Phase::Intent {
            // Cancelled while the log had no room.
        } else if run.lane.is_some() {
            run.declare();
        } else {
            run.send();
        }
    });
}

impl Run {
    /// Makes the intent durable, then takes the lane.
    fn declare(self: &Rc<Self>) {
        let Some(seat) = self.seat.upgrade() else { return };
        let me = Rc::clone(self);
        seat.core.ledger.intent(&mut self.record.borrow_mut(), move |durable| me.declared(durable));
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
        let Some(lane) = &self.lane else { return self.send() };
        self.phase.set(Phase::Lane);
        let entered = self.backend.lanes.borrow_mut().enter(lane, || Rc::clone(self));
        match entered {
            Entered::Now => self.send(),
            Entered::Waits => {}
            Entered::Full => self.refuse(Code::QueueFull, "too many calls wait for this server"),
        }
    }

    fn send(self: &Rc<Self>) {
        self.phase.set(Phase::Server);
        let (Some(permit), Some(server)) = (self.permit.borrow_mut().take(), self.backend.server()) else {
            let problem = self.backend.problem().unwrap_or("the server cannot be run");
            return self.finish(Err(Failure::Unavailable(problem.to_owned())));
        };
        let call = server.send(permit, Rc::clone(&self.origin), self.wants_progress, Box::new(OnRoad(Rc::clone(self))));
        if self.phase.get() == Phase::Server {
            *self.call.borrow_mut() = Some(call);
        }
    }

    /// The client has lost interest.
    pub(crate) fn cancel(self: &Rc<Self>) {
        let phase = self.phase.replace(Phase::Over);
        if phase == Phase::Over {
            return;
        }
        // Dropped before anything else, so that nothing reaches the client any more.
        self.reply.borrow_mut().take();
        match phase {
            Phase::Lane => {
                if let Some(lane) = &self.lane {
                    self.backend.lanes.borrow_mut().withdraw(lane, |run| Rc::ptr_eq(run, self));
                }
            }
            Phase::Server => {
                if let Some(call) = self.call.borrow_mut().take() {
                    // The waiter would only come back here.
                    drop(call.cancel("the client cancelled"));
                }
                self.leave_lane();
            }
            Phase::Intent | Phase::Over => {}
        }
        self.close(Ending::Code(Code::Cancelled), 0);
    }

    fn refuse(self: &Rc<Self>, code: Code, message: &str) {
        self.phase.set(Phase::Over);
        let reply = self.reply.borrow_mut().take();
        let call = self.record.borrow().id();
        self.close(Ending::Code(code), 0);
        if let Some(reply) = reply {
            reply.done(refusal(&self.method, self.tool.as_deref(), code, message, call));
        }
    }

    fn finish(self: &Rc<Self>, end: Result<Answer, Failure>) {
        if self.phase.replace(Phase::Over) == Phase::Over {
            return;
        }
        self.call.borrow_mut().take();
        let reply = self.reply.borrow_mut().take();
        let (answer, ending, size) = match end {
            Ok(answer) => {
                let (ending, size) = judge(&answer, &self.method);
                (answer, ending, size)
            }
            Err(failure) => {
                let code = code_of(&failure);
                let message = self.sentence(&failure);
                let call = self.record.borrow().id();
                (refusal(&self.method, self.tool.as_deref(), code, &message, call), Ending::Code(code), 0)
            }
        };
        if let Some(reply) = reply {
            reply.done(answer);
        }
        self.close(ending, size);
        self.leave_lane();
    }

    fn sentence(&self, failure: &Failure) -> String {
        let ran = match (failure.was_sent(), self.effect) {
            (false, _) => " Nothing was executed.",
            (true, Effect::Read) => "",
            (true, _) => " It may have been executed; check before calling again.",
        };
        format!("{failure}.{ran}")
    }

    fn leave_lane(&self) {
        let Some(lane) = &self.lane else { return };
        let next = self.backend.lanes.borrow_mut().leave(lane);
        if let Some(next) = next {
            next.send();
        }
    }

    fn close(&self, ending: Ending, size: usize) {
        if let Some(seat) = self.seat.upgrade() {
            seat.leave(self.ticket);
            seat.core.ledger.end(&mut self.record.borrow_mut(), ending, size);
        }
    }
}

/// How a call ended, for the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A result.
    Ok,
    /// A result that says that it is an error.
    ToolError,
    /// A JSON-RPC error of the server.
    RpcError,
    /// The hub's own word.
    Code(Code),
}

fn judge(answer: &Answer, method: &str) -> (Ending, usize) {
    match answer {
        Answer::Error(error) => (Ending::RpcError, error.len()),
        Answer::Result { body, .. } => {
            let size = body.len();
            if method != "tools/call" {
                return (Ending::Ok, size);
            }
            let failed = object::is_true(&body.join(), "isError");
            (if failed { Ending::ToolError } else { Ending::Ok }, size)
        }
    }
}

fn code_of(failure: &Failure) -> Code {
    match failure {
        Failure::Unavailable(_) | Failure::Stopped(_) => Code::ServerUnavailable,
        Failure::Full => Code::QueueFull,
        Failure::Crashed(_) => Code::ServerCrashed,
        Failure::Timeout(_) => Code::Timeout,
        Failure::TooLarge(_) => Code::ResultTooLarge,
        Failure::Unreadable(_) | Failure::TooDeep(_) => Code::InvalidResult,
    }
}

/// A refusal in the form that fits the method: a tool result, or a JSON-RPC error with the same object as data.
fn refusal(method: &str, tool: Option<&ToolEntry>, code: Code, message: &str, call: CallId) -> Answer {
    let refusal = Refusal::new(code, message).of_call(call);
    if method == "tools/call" {
        return Answer::result(refusal.tool_result(tool.map_or(Output::Free, ToolEntry::output)));
    }
    let text = object::quote(message);
    Answer::Error(format!("{{\"code\":-32603,\"message\":{text},\"data\":{}}}", refusal.object()).into())
}

/// The server's side of a run.
struct OnRoad(Rc<Run>);

impl Waiter for OnRoad {
    fn sending(&mut self) -> bool {
        let run = &self.0;
        run.seat.upgrade().is_some_and(|seat| seat.core.ledger.sending(&mut run.record.borrow_mut()))
    }
    fn progress(&mut self, progress: &Progress) {
        if let Some(reply) = &mut *self.0.reply.borrow_mut() {
            reply.progress(progress);
        }
    }
    fn log(&mut self, level: Level, params: &Bytes) {
        if let Some(reply) = &mut *self.0.reply.borrow_mut() {
            reply.log(level, params);
        }
    }
    fn done(self: Box<Self>, end: Result<Answer, Failure>) {
        self.0.finish(end);
    }
}
