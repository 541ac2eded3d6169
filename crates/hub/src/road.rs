//! The road of one call: received → resolved → checked → permitted → lane → sent → finished. Plain functions on the
//! relay thread; nothing is sent without a permit, nothing that may change something before its intent is durable.

use crate::abort::{self, Point};
use crate::agent::SeatCore;
use crate::ask::To;
use crate::backend::Backend;
use crate::catalog::ToolEntry;
use crate::core::Core;
use crate::gate::case::{Case, Fan};
use crate::gate::glance;
use crate::gate::lost::{End, Kept, Lost};
use crate::gate::receipt::{self, Asked};
use crate::gate::result::{Inspected, Look};
use crate::gate::{apart, interim, owed, settle, unanswered};
use crate::lanes::Entered;
use crate::murmur::Murmur;
use crate::record::{self, Record};
use crate::thing;
use bytes::Bytes;
use contract::outcome::{Code, Output, Refusal};
use contract::{Effort, Hash};
use frame::{Answer, Ask, Level, Origin, Params, Progress, Reply, object};
use policy::{Effect, Permit};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Duration;
use store::{Kind, Method, Note};
use tokio::time::{Instant, timeout_at};
use upstream::{Call, Failure, Server, State, Waiter, linger, task};

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
        linger::rest();
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
            Entered::Full => self.refuse(Code::QueueFull, "too many calls wait for this server"),
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

    /// The client has lost interest: the place is free at once. What it had started and may change something is still
    /// listened for, so that an identical call gets the result instead of running again.
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
                self.listen_on();
                if let Some(call) = self.call.borrow_mut().take() {
                    let why = "the client cancelled";
                    let listens = self.lost.borrow().is_some() && call.cancel_and_listen(why);
                    if !listens {
                        // The waiter would only come back here.
                        drop(call.cancel(why));
                        if let Some(lost) = self.lost.borrow_mut().take() {
                            owed::ended(&self.core, &lost, End::Unknown);
                        }
                    }
                }
                self.leave_lane();
            }
            Phase::Intent | Phase::Over => {}
        }
        self.close(Ending::Code(Code::Cancelled), 0);
        self.keep_values(None);
    }

    /// Keeps values of the call, where the config wants it.
    fn keep_values(&self, answer: Option<&Answer>) {
        let (Some(tool), true) = (&self.tool, self.core.ledger.keeps_values()) else { return };
        let about = Note {
            client: self.seat.upgrade().map(|seat| seat.identity.id().to_string()).unwrap_or_default(),
            server: self.backend.key().to_string(),
            item: tool.read.exposed.clone(),
            definition: tool.read.tool.definition_hash.to_string(),
            effect: Some(self.effect),
            method: Method::ToolCall,
            ..Note::new(Kind::Values, crate::gate::now_ms())
        };
        self.core.ledger.keep_values(&self.record.borrow(), about, &self.backend.rules().cleaner, answer);
    }

    /// Nobody waits for the end of its case any more: where nothing has been sent yet, nothing will be.
    pub(crate) fn withdraw(self: &Rc<Self>) {
        let was_queued = match self.phase.get() {
            Phase::Lane => self.lane.as_ref().is_some_and(|lane| {
                self.backend.lanes.borrow_mut().withdraw(lane, |run| Rc::ptr_eq(run, self)).is_some()
            }),
            Phase::Intent => true,
            Phase::Server | Phase::Over => false,
        };
        if was_queued {
            self.refuse(Code::Cancelled, "the client took the call back before it was sent");
        }
    }

    /// Remembers a call that was sent and whose reply nobody takes any more.
    fn listen_on(&self) {
        let (Some((tool, asked)), Some(seat)) = (self.must_arrive(), self.seat.upgrade()) else { return };
        let Some(which) = receipt::which(&seat, tool, self.record.borrow().number(), &asked) else { return };
        *self.lost.borrow_mut() = Some(owed::put(&self.core, which, None));
    }

    /// A call of a tool that may change something and whose bytes have left.
    fn must_arrive(&self) -> Option<(&Rc<ToolEntry>, Asked)> {
        let asked = self.asked.as_ref().filter(|_| self.record.borrow().was_sent())?;
        Some((self.tool.as_ref()?, Asked::Arguments(asked.get("arguments"))))
    }

    /// Hands the answer over; who may have changed something is told of it surely, or finds it again.
    fn tell(&self, answer: Answer) {
        let Some(reply) = self.reply.borrow_mut().take() else { return };
        if interim::of(&answer).is_some() {
            // Nothing was done yet: one that is lost is asked again.
            return reply.done(answer);
        }
        let Some((tool, asked)) = self.must_arrive() else { return reply.done(answer) };
        match (&self.case, self.seat.upgrade()) {
            (Some(case), _) => case.deliver(&answer),
            (None, Some(seat)) => {
                let receipt = receipt::of(&seat, tool, self.record.borrow().number(), (asked, Kept::Store), &answer);
                reply.deliver(answer, receipt);
            }
            (None, None) => reply.done(answer),
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

    fn finish(self: &Rc<Self>, end: Result<Answer, Failure>) {
        if self.phase.replace(Phase::Over) == Phase::Over {
            if let Some(lost) = self.lost.borrow_mut().take() {
                let end = match end {
                    Err(failure) if !failure.was_sent() => End::NotSent,
                    Ok(answer) if interim::of(&answer).is_some() => End::NotSent,
                    end => End::of(end.ok()),
                };
                owed::ended(&self.core, &lost, end);
            }
            return;
        }
        self.call.borrow_mut().take();
        self.passes(Point::Answered);
        let Ok(answer) = &end else { return self.end(end) };
        if let Some(tool) = &self.tool {
            glance::at(&self.core, self.record.borrow().number(), &tool.read.exposed, self.backend.key(), answer);
        }
        let edited = self.case.as_ref().and_then(|case| case.row().edited.clone());
        let look = Look::of(self.backend.rules(), self.tool.as_deref(), edited);
        if !look.is_long(answer)
            && let Some(inspected) = look.look(answer.clone(), Effort::QUICK)
        {
            return self.inspected(inspected);
        }
        let (answer, me) = (answer.clone(), Rc::clone(self));
        task::spawn("look at a long result", async move {
            match look.look_apart(answer).await {
                Some(inspected) => me.inspected(inspected),
                None => me.end(Err(Failure::Unreadable("its result could not be looked at".into()))),
            }
        });
    }

    fn inspected(self: &Rc<Self>, inspected: Inspected) {
        match inspected {
            Inspected::Passed { answer, changes, broken } => {
                if let (Some(tool), false) = (&self.tool, broken.is_empty()) {
                    self.backend.broke_schema(&tool.read.tool.name, broken.len());
                }
                if !changes.is_none() || !broken.is_empty() {
                    self.record.borrow_mut().looked(&changes, broken.len());
                }
                self.end(Ok(answer));
            }
            Inspected::TooLong { era, result, whole } => {
                *self.whole.borrow_mut() = Some(whole);
                let call = self.record.borrow().id();
                let client = self.seat.upgrade().map(|seat| Rc::clone(seat.identity.id())).unwrap_or_default();
                let most = usize::try_from(self.backend.rules().results.max_bytes).unwrap_or(usize::MAX);
                let first = self.core.gate.pages.keep(call, &client, result, most);
                self.end(Ok(Answer::Result { era, body: first.into() }));
            }
            Inspected::Refused(refusal) => {
                let code = refusal.error;
                let told = self.told(&refusal.of_call(self.record.borrow().id()));
                self.over(told, Ending::Code(code), 0);
            }
        }
    }

    /// The end of what the server did, as it is passed on.
    fn end(self: &Rc<Self>, end: Result<Answer, Failure>) {
        let (ending, size) = match &end {
            Ok(answer) => judge(answer, &self.method),
            Err(failure) => (Ending::Code(code_of(failure)), 0),
        };
        let is_unanswered = match &end {
            Err(Failure::Crashed(_) | Failure::Timeout(_) | Failure::Stopped(_)) => self.case.is_none(),
            _ => false,
        };
        let answer = end.unwrap_or_else(|failure| {
            // What a server said last may stand in it.
            let sentence = self.sentence(&failure);
            let sentence = self.backend.rules().cleaner.redact(&sentence);
            let refusal = Refusal::new(code_of(&failure), sentence).of_call(self.record.borrow().id());
            if let Some(case) = &self.case {
                settle::failed(&self.core, case, &failure, &refusal);
            }
            self.told(&refusal)
        });
        if is_unanswered && let (Some((tool, asked)), Some(seat)) = (self.must_arrive(), self.seat.upgrade()) {
            unanswered::enter(&seat, tool, self.record.borrow().number(), &asked);
            // The hub's own word is no news of the server: what else was lost stays.
            if let Some(reply) = self.reply.borrow_mut().take() {
                reply.done(answer.clone());
            }
        }
        self.over(answer, ending, size);
    }

    /// A refusal in the form that fits what was asked for.
    fn told(&self, refusal: &Refusal) -> Answer {
        if &*self.method == "tools/call" {
            let output = self.tool.as_ref().map_or(Output::Free, |tool| tool.output());
            return Answer::result(refusal.tool_result(output));
        }
        thing::refused(refusal)
    }

    /// Tells everybody, writes it down, lets the next one go.
    fn over(self: &Rc<Self>, answer: Answer, ending: Ending, size: usize) {
        if let Some(case) = &self.case {
            let whole = self.whole.borrow_mut().take();
            settle::settled(&self.core, case, (&answer, whole), record::outcome(ending, true));
        }
        self.passes(Point::Settled);
        let kept = self.core.ledger.keeps_values().then(|| answer.clone());
        self.tell(answer);
        self.passes(Point::Told);
        self.close(ending, size);
        self.keep_values(kept.as_ref());
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
        if let (None, Some(seat)) = (&self.case, self.seat.upgrade()) {
            seat.leave(self.ticket);
        }
        self.core.ledger.end(&mut self.record.borrow_mut(), ending, size);
        self.open.borrow_mut().take();
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

/// The server's side of a run, with what it says before it answers.
struct OnRoad(Rc<Run>, Murmur);

impl Waiter for OnRoad {
    fn sending(&mut self) -> bool {
        let may = self.0.core.ledger.sending(&mut self.0.record.borrow_mut());
        self.0.passes(Point::Marked);
        may
    }
    fn progress(&mut self, progress: &Progress) {
        let progress = self.1.progress(progress, &self.0.backend.rules().cleaner);
        if let (Some(progress), Some(reply)) = (progress, &mut *self.0.reply.borrow_mut()) {
            reply.progress(&progress);
        }
    }
    fn log(&mut self, level: Level, params: &Bytes) {
        let line = self.1.line(params, &self.0.backend.rules().cleaner);
        if let (Some(line), Some(reply)) = (line, &mut *self.0.reply.borrow_mut()) {
            reply.log(level, &line);
        }
    }
    fn done(mut self: Box<Self>, end: Result<Answer, Failure>) {
        let last = self.1.last(&self.0.backend.rules().cleaner);
        if let (Some(last), Some(reply)) = (last, &mut *self.0.reply.borrow_mut()) {
            reply.progress(&last);
        }
        self.0.finish(end);
    }
}
