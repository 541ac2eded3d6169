//! The link to one server over Streamable HTTP, in both eras: what is sent, in which order and how much at once.
//! It repeats no request, and sends nothing away from the configured origin.

use super::carrier::{Carrier, Outgoing, Sent};
use super::exchange::exchange;
use super::headers;
use super::session::{self, Loss, Session, Ticket};
use super::stream;
use super::target::{PlainHttp, Target, TargetFault};
use super::trouble::{Failure, FailureKind};
use crate::link::{Link, Message, SendFault, SharedInbox, Text};
use crate::task;
use frame::{Rope, Version, object, own_id};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{AbortHandle, JoinSet};

/// What one link allows.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// Bytes of one answer or event.
    pub max_message: usize,
    /// Requests that wait for their answers at one time.
    pub max_running: usize,
    /// Messages that wait to be sent.
    pub max_waiting: usize,
    /// Bytes of messages that wait to be sent, past one message.
    pub max_waiting_bytes: usize,
    /// Time for a server to take a notification, or an answer to a request of its own.
    pub note_time: Duration,
    /// Time before a broken stream is opened again, unless the server says otherwise; doubled while it fails.
    pub retry_time: Duration,
    /// Time for the server to end the session when the link is closed, and for a stream to end after its answer.
    pub close_time: Duration,
}

impl Default for HttpLimits {
    fn default() -> HttpLimits {
        HttpLimits {
            max_message: 16 << 20,
            max_running: 64,
            max_waiting: 256,
            max_waiting_bytes: 4 << 20,
            note_time: Duration::from_secs(30),
            retry_time: Duration::from_secs(1),
            close_time: Duration::from_secs(2),
        }
    }
}

/// Notifications and answers under way at one time: they must get through while all requests hang.
const MAX_NOTES: usize = 32;
/// How long a cancellation waits for its request to leave first.
const CANCEL_WAIT: Duration = Duration::from_secs(5);
const MAX_CHALLENGE: usize = 4096;

/// Steps of the beginning of a session, during which everything else waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Initialize,
    Initialized,
    Plain,
}

/// One message on its way.
pub struct Job {
    pub id: Option<u64>,
    pub step: Step,
    pub fields: SmallVec<[(HeaderName, HeaderValue); 2]>,
    pub text: Rope,
    pub sent: Arc<Sent>,
    /// Not before this has left.
    after: Option<Arc<Sent>>,
}

struct Flight {
    task: AbortHandle,
    step: Step,
    sent: Arc<Sent>,
}

#[derive(Default)]
struct Traffic {
    waiting: VecDeque<Job>,
    waiting_bytes: usize,
    flights: HashMap<u64, Flight>,
    notes: usize,
    /// `initialize` or `initialized` is under way.
    beginning: bool,
    listener: Option<AbortHandle>,
}

/// What the tasks of one link share.
pub struct Core {
    pub target: Target,
    pub carrier: Carrier,
    pub limits: HttpLimits,
    pub inbox: SharedInbox,
    /// The fields of every POST.
    pub fields: HeaderMap,
    pub session: Session,
    traffic: RefCell<Traffic>,
    tasks: RefCell<JoinSet<()>>,
    challenge: RefCell<Option<String>>,
    failure: Cell<Option<FailureKind>>,
    closed: Cell<bool>,
}

/// A link to one server over Streamable HTTP. Dropped without [`Link::close`], it just stops.
pub struct HttpLink {
    core: Rc<Core>,
}

impl HttpLink {
    /// A link to the server at `url`; nothing is connected yet. `fields` are sent to that origin only, and cannot take
    /// the place of the protocol's own.
    ///
    /// # Errors
    /// A [`TargetFault`] that says what is wrong with the configuration.
    pub fn new(
        url: &str,
        fields: &[(String, String)],
        plain: PlainHttp,
        limits: HttpLimits,
        inbox: SharedInbox,
    ) -> Result<HttpLink, TargetFault> {
        let target = Target::new(url, fields, plain)?;
        Ok(HttpLink::with(Carrier::new(&target), target, limits, inbox))
    }

    pub(super) fn with(carrier: Carrier, target: Target, limits: HttpLimits, inbox: SharedInbox) -> HttpLink {
        let core = Core {
            fields: session::fields(&target),
            target,
            carrier,
            limits,
            inbox,
            session: Session::default(),
            traffic: RefCell::default(),
            tasks: RefCell::default(),
            challenge: RefCell::default(),
            failure: Cell::new(None),
            closed: Cell::new(false),
        };
        HttpLink { core: Rc::new(core) }
    }

    /// The revision to speak from now on: the one to probe with, then the one agreed on. `initialize` itself goes out
    /// without it. Must be set before `notifications/initialized` is sent.
    pub fn set_version(&self, version: Version) {
        self.core.session.set_version(version);
    }

    /// Whether the server has given a session id.
    pub fn has_session(&self) -> bool {
        self.core.session.has_id()
    }

    /// Whether a request waits for its turn and has not left.
    pub fn holds(&self, id: u64) -> bool {
        self.core.traffic.borrow().waiting.iter().any(|job| job.id == Some(id))
    }

    /// What kind of failure the latest `failed` was; to be asked while it is being told.
    pub fn failure(&self) -> Option<FailureKind> {
        self.core.failure.get()
    }

    /// The server's latest `WWW-Authenticate`, for signing in.
    pub fn challenge(&self) -> Option<String> {
        self.core.challenge.borrow().clone()
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        // A closed link still has to tell the server and the inbox.
        if !self.core.closed.get() {
            self.core.tasks.borrow_mut().abort_all();
        }
    }
}

impl Link for HttpLink {
    fn send(&self, message: &Message<'_>) -> Result<(), SendFault> {
        let core = &self.core;
        if core.closed.get() {
            return Err(SendFault::Closed);
        }
        let mut job = core.job(message);
        let mut traffic = core.traffic.borrow_mut();
        if let Some(id) = cancelled(message) {
            if traffic.withdraw(id) {
                return Ok(());
            }
            job.after = traffic.flights.get(&id).map(|flight| flight.sent.clone());
        }
        let full =
            traffic.waiting.len() >= core.limits.max_waiting || traffic.waiting_bytes > core.limits.max_waiting_bytes;
        if full {
            return Err(SendFault::Full);
        }
        traffic.waiting_bytes += job.text.len();
        traffic.waiting.push_back(job);
        drop(traffic);
        core.pump();
        Ok(())
    }

    fn abandon(&self, id: u64) {
        let mut traffic = self.core.traffic.borrow_mut();
        if traffic.withdraw(id) {
            return;
        }
        let Some(flight) = traffic.flights.remove(&id) else { return };
        flight.task.abort();
        flight.sent.settle();
        traffic.beginning &= flight.step == Step::Plain;
        drop(traffic);
        self.core.pump();
    }

    fn close(&self) {
        let core = &self.core;
        if core.closed.replace(true) {
            return;
        }
        core.tasks.borrow_mut().abort_all();
        core.traffic.take();
        let last = core.clone();
        task::spawn_in(&mut core.tasks.borrow_mut(), "end an HTTP session", async move {
            let _ = tokio::time::timeout(last.limits.close_time, last.end_session()).await;
            last.inbox.closed("the connection was closed");
        });
    }
}

/// Which of our requests a message cancels.
fn cancelled(message: &Message<'_>) -> Option<u64> {
    if message.method != "notifications/cancelled" {
        return None;
    }
    let Text::Params(params) = message.text else { return None };
    own_id(&object::get(&params.join(), "requestId")?)
}

impl Traffic {
    /// Takes back a request that has not left; false if it has.
    fn withdraw(&mut self, id: u64) -> bool {
        let Some(place) = self.waiting.iter().position(|job| job.id == Some(id)) else { return false };
        if let Some(job) = self.waiting.remove(place) {
            self.waiting_bytes -= job.text.len();
        }
        true
    }

    /// The next message that may leave.
    fn next(&mut self, max_running: usize) -> Option<Job> {
        if self.beginning {
            return None;
        }
        let (running, notes) = (self.flights.len(), self.notes);
        let may_leave = |job: &Job| if job.id.is_some() { running < max_running } else { notes < MAX_NOTES };
        let place = self.waiting.iter().position(may_leave)?;
        let job = self.waiting.remove(place)?;
        self.waiting_bytes -= job.text.len();
        Some(job)
    }
}

impl Core {
    fn job(&self, message: &Message<'_>) -> Job {
        let mut fields = SmallVec::new();
        if self.session.is_modern() && !message.method.is_empty() {
            let mut add = |name: HeaderName, value: &str| match HeaderValue::from_str(value) {
                Ok(value) => fields.push((name, value)),
                Err(_) => tracing::warn!(%name, "a header cannot be sent as it stands and is left out"),
            };
            add(headers::METHOD, &headers::encode(message.method));
            if let Some(name) = message.name {
                add(headers::NAME, &headers::encode(name));
            }
            for (name, value) in message.headers {
                if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
                    add(name, value);
                }
            }
        }
        let step = match (message.method, message.id) {
            ("initialize", Some(_)) => Step::Initialize,
            ("notifications/initialized", None) => Step::Initialized,
            _ => Step::Plain,
        };
        Job { id: message.id, step, fields, text: message.rope(), sent: Arc::default(), after: None }
    }

    /// Starts what may leave.
    fn pump(self: &Rc<Self>) {
        loop {
            let Some(job) = self.traffic.borrow_mut().next(self.limits.max_running) else { return };
            let (id, step, sent) = (job.id, job.step, job.sent.clone());
            let task = self.start(run(self.clone(), job));
            let mut traffic = self.traffic.borrow_mut();
            traffic.beginning = step != Step::Plain;
            match id {
                Some(id) => drop(traffic.flights.insert(id, Flight { task, step, sent })),
                None => traffic.notes += 1,
            }
        }
    }

    fn start(&self, work: impl Future<Output = ()> + 'static) -> AbortHandle {
        let mut tasks = self.tasks.borrow_mut();
        while tasks.try_join_next().is_some() {}
        task::spawn_in(&mut tasks, "exchange with an HTTP server", work)
    }

    /// A message is dealt with: others may leave.
    fn finished(self: &Rc<Self>, job: &Job, went_well: bool) {
        job.sent.settle();
        let mut traffic = self.traffic.borrow_mut();
        match job.id {
            // One that was abandoned is no longer counted.
            Some(id) if traffic.flights.remove(&id).is_none() => return,
            Some(_) => {}
            None => traffic.notes = traffic.notes.saturating_sub(1),
        }
        traffic.beginning &= job.step == Step::Plain;
        drop(traffic);
        if job.step == Step::Initialized && went_well && !self.session.is_modern() && !self.closed.get() {
            let listener = self.start(stream::listen(self.clone()));
            if let Some(earlier) = self.traffic.borrow_mut().listener.replace(listener) {
                earlier.abort();
            }
        }
        self.pump();
    }

    fn tell(&self, id: Option<u64>, failure: &Failure) {
        match id {
            Some(id) => {
                self.failure.set(Some(failure.kind));
                self.inbox.failed(id, &failure.text, failure.sent);
            }
            None => tracing::debug!(origin = self.target.origin, why = failure.text, "a message was not taken"),
        }
    }

    /// A request of this session was told that there is none. The failure to tell, if that is what it means; the inbox
    /// already knows then.
    pub fn session_lost(&self, ticket: Ticket) -> Option<Failure> {
        let loss = self.session.lose(ticket);
        let failure = Failure::new(FailureKind::SessionLost, "the server has forgotten the session", false);
        if loss == Loss::Now {
            let waiting: Vec<Job> = {
                let mut traffic = self.traffic.borrow_mut();
                traffic.waiting_bytes = 0;
                if let Some(listener) = traffic.listener.take() {
                    listener.abort();
                }
                traffic.waiting.drain(..).collect()
            };
            self.inbox.session_lost();
            waiting.iter().filter(|job| job.id.is_some()).for_each(|job| self.tell(job.id, &failure));
        }
        (loss != Loss::None).then_some(failure)
    }

    /// Keeps what the server says about signing in; false if it says nothing.
    pub fn keep_challenge(&self, headers: &HeaderMap) -> bool {
        let all: Vec<_> =
            headers.get_all(header::WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok()).collect();
        if all.is_empty() {
            return false;
        }
        let mut text = all.join(", ");
        text.truncate(MAX_CHALLENGE);
        *self.challenge.borrow_mut() = Some(text);
        true
    }

    async fn end_session(&self) {
        let mut headers = self.fields.clone();
        headers.remove(header::CONTENT_TYPE);
        self.session.mark(&mut headers);
        if self.session.forget().is_some() && !self.session.is_modern() {
            let outgoing = Outgoing { method: Method::DELETE, headers, text: None, sent: Arc::default() };
            // 405 means that the server ends sessions by itself; either way there is nothing more to do.
            let _ = self.carrier.send(&self.target, outgoing).await;
        }
    }
}

async fn run(core: Rc<Core>, job: Job) {
    if let Some(before) = &job.after {
        let _ = tokio::time::timeout(CANCEL_WAIT, before.taken()).await;
    }
    let outcome = if job.id.is_some() {
        exchange(&core, &job).await
    } else {
        tokio::time::timeout(core.limits.note_time, exchange(&core, &job)).await.unwrap_or_else(|_| {
            Err(Failure::new(FailureKind::Broken, "the server did not take the message in time", true))
        })
    };
    core.finished(&job, outcome.is_ok());
    match outcome {
        // The stream may end in good order, so that its connection can be used again, or say something more.
        Ok(Some(mut rest)) => {
            let _ = tokio::time::timeout(core.limits.close_time, rest.read(&core, job.id)).await;
        }
        Ok(None) => {}
        Err(failure) => core.tell(job.id, &failure),
    }
}
