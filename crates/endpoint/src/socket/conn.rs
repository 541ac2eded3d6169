//! One connection: whose it is, which era it speaks, what it has asked. Answers what a door answers itself, hands the
//! rest to the hub.

use super::attach::{Attach, Attached, Hello};
use super::batch::Batch;
use super::lend::{LentSource, Loan, Offer, Slot};
use super::listen::Listen;
use super::reply::{LineReply, Target};
use super::unanswered::Question;
use bytes::Bytes;
use frame::object;
use frame::{Answer, Ask, Era, Fault, FaultKind, Frame, Kind, Level, Line, Origin, Params, Receipt, Sink, Version};
use hub::agent::{AgentHandle, Identity, Seat, Ticket, View};
use hub::who::Who;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use wire::era::modern_host::Claim;
use wire::era::{Out, legacy_host, meta, modern_host};
use wire::peer::Outbox;

/// A request that waits for its answer.
#[derive(Default)]
struct Open {
    ticket: Option<Ticket>,
    slot: Option<Slot>,
    /// The batch that its answer belongs to.
    batch: Option<Rc<Batch>>,
}

pub(super) struct Conn {
    pub(super) me: Weak<Conn>,
    agents: AgentHandle,
    pub(super) out: Rc<Outbox>,
    view: RefCell<View>,
    host: RefCell<Option<Rc<str>>>,
    /// The process at the other end: the adapter, or a host that speaks for itself.
    peer: Option<u32>,
    /// The adapter's own id, the same over reconnects; else one of this connection.
    key: RefCell<Rc<str>>,
    /// `stdio` through an adapter, else `socket`.
    transport: Cell<&'static str>,
    seat: RefCell<Option<Rc<Seat>>>,
    /// What the client said in `initialize`.
    pub(super) session: RefCell<Option<Rc<Origin>>>,
    /// Requests that have not been answered, by raw id.
    open: RefCell<FxHashMap<Bytes, Open>>,
    /// Rings when there may be none.
    answered: Notify,
    /// The host's own pipes, which the adapter may lend.
    loan: Loan,
    /// The number of the line that is being dealt with, while nothing waits for its answer.
    current: Cell<Option<u64>>,
    pub(super) listens: RefCell<Vec<Listen>>,
    fresh: Cell<bool>,
    /// Whether its lent pipes were let go because it reads nothing.
    let_go: Cell<bool>,
}

impl Conn {
    pub(super) fn new(agents: AgentHandle, out: Rc<Outbox>, peer: Option<u32>) -> Rc<Conn> {
        Rc::new_cyclic(|me| Conn {
            me: Weak::clone(me),
            agents,
            out,
            view: RefCell::new(View::All),
            host: RefCell::default(),
            peer,
            key: RefCell::new(crate::fresh_key()),
            transport: Cell::new("socket"),
            seat: RefCell::default(),
            session: RefCell::default(),
            open: RefCell::default(),
            answered: Notify::new(),
            loan: Loan::default(),
            current: Cell::new(None),
            listens: RefCell::default(),
            fresh: Cell::new(true),
            let_go: Cell::new(false),
        })
    }

    /// Whether its host's pipes were let go because the host does not read.
    pub(super) fn was_let_go(&self) -> bool {
        self.let_go.get()
    }

    /// The client has gone: everything it had asked for is cancelled.
    pub(super) fn leave(&self) {
        self.open.borrow_mut().clear();
        self.listens.borrow_mut().clear();
        let seat = self.seat.borrow_mut().take();
        drop(seat);
    }

    pub(super) fn line(&self, line: Line) {
        let journal = self.loan.journal();
        let Some(journal) = journal else { return self.hear(line) };
        self.current.set(Some(journal.line()));
        self.hear(line);
        if let Some(line) = self.current.take() {
            journal.done(line, self.out.added());
        }
    }

    fn hear(&self, line: Line) {
        let text = match line {
            Line::Whole(text) => text,
            Line::TooLong { head, length } => {
                let [id] = object::pick(&head, ["id"]);
                let id = id.map_or_else(|| Bytes::from_static(b"null"), |range| head.slice(range));
                let limit = super::MAX_MESSAGE;
                return self.fail(&id, -32600, &format!("the message has {length} bytes; {limit} are accepted"));
            }
        };
        if self.fresh.replace(false) && self.attach(&text) || self.loan.hear(&text, &self.out) {
            return;
        }
        match Frame::parse(text.clone()) {
            Ok(frame) => self.message(&frame, None),
            Err(fault) if fault.kind == FaultKind::Batch => self.batch(&text),
            Err(fault) => self.fault(&fault),
        }
    }

    /// Whether the line was an attach line.
    fn attach(&self, text: &Bytes) -> bool {
        if !text.starts_with(b"{\"callgate\":") {
            return false;
        }
        let Ok(Hello { callgate: attach }) = serde_json::from_slice::<Hello<Attach>>(text) else { return false };
        // An empty name is none.
        *self.host.borrow_mut() = attach.host.as_deref().filter(|name| !name.is_empty()).map(Rc::from);
        if let Some(key) = attach.session.as_deref().filter(|key| (8..=128).contains(&key.len())) {
            *self.key.borrow_mut() = key.into();
        }
        if let Some(server) = &attach.server {
            *self.view.borrow_mut() = View::Server(server.as_str().into());
        } else if let Some(profile) = &attach.profile {
            *self.view.borrow_mut() = View::Profile(profile.as_str().into());
        }
        let mut attached = Attached {
            hub: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            mode: if self.loan.is_offered() { "lend" } else { "copy" }.into(),
            refused: None,
        };
        self.transport.set("stdio");
        let said = attach.initialize.map(|params| Bytes::copy_from_slice(params.get().as_bytes()));
        if !self.agents.knows(&self.view.borrow()) {
            attached.refused = Some("there is no such server or profile".into());
        } else if let Some(Ok(origin)) = said.map(|params| legacy_host::initialize(&params)) {
            self.join(&origin.client_info);
            origin.level.set(attach.level.as_deref().and_then(Level::parse));
            self.set_level(origin.level.get());
            *self.session.borrow_mut() = Some(origin);
        } else if attach.host.is_some() {
            // One without `--host` has no name before its client's own word.
            self.join(b"{}");
        }
        if let Ok(line) = serde_json::to_vec(&Hello { callgate: attached }) {
            let _ = self.out.line(|sink| sink.put(&line));
        }
        // At once: an adapter that was not greeted knows that nothing it said has been taken up.
        wire::peer::flush_all();
        true
    }

    fn set_level(&self, level: Option<Level>) {
        if let (Some(seat), Some(level)) = (self.seat.borrow().as_ref(), level) {
            seat.set_level(Some(level));
        }
    }

    /// The client's seat, taken at its first word.
    fn join(&self, client_info: &[u8]) -> Option<Rc<Seat>> {
        if let Some(seat) = &*self.seat.borrow() {
            return Some(Rc::clone(seat));
        }
        let host = self.host.borrow().clone();
        let (transport, session, process) = (self.transport.get(), Rc::clone(&self.key.borrow()), self.peer);
        let who = match host {
            Some(name) => Who::host(&name),
            None => {
                let [name] = object::pick(client_info, ["name"]);
                let name = name.and_then(|range| object::text(&client_info[range]).map(|name| name.into_owned()));
                let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "unnamed".into());
                Who::said(&name.chars().take(120).collect::<String>())
            }
        };
        let identity = Identity { who, transport, session, process };
        let notices = self.me.upgrade()?;
        let seat = Rc::new(self.agents.join(identity, self.view.borrow().clone(), notices).ok()?);
        *self.seat.borrow_mut() = Some(Rc::clone(&seat));
        Some(seat)
    }

    fn fault(&self, fault: &Fault) {
        let id = fault.id.clone().unwrap_or_else(|| Bytes::from_static(b"null"));
        let (code, message) = match fault.kind {
            FaultKind::NotJson => (-32700, "the line is not one JSON text"),
            FaultKind::BadUtf8 => (-32700, "the line is not UTF-8"),
            FaultKind::TooDeep => (-32700, "the message is nested too deep"),
            FaultKind::DuplicateKey => (-32600, "a key of the message stands twice"),
            FaultKind::NotRpc => (-32600, "the message is no JSON-RPC 2.0"),
            FaultKind::Batch => (-32600, "batches exist in 2025-03-26 only"),
            FaultKind::BadId => (-32600, "an id is a string or an integer"),
            FaultKind::BadParams => (-32602, "params is an object"),
            FaultKind::BadShape => (-32600, "the message is neither request, notification nor answer"),
        };
        self.fail(&id, code, message);
    }

    fn fail(&self, id: &Bytes, code: i32, message: &str) {
        if let Answer::Error(error) = Answer::error(code, message) {
            self.say(id, &Out::Error(error), None);
        }
    }

    /// Writes the answer to a request, or lays it into its batch.
    pub(super) fn say(&self, id: &Bytes, out: &Out, batch: Option<&Rc<Batch>>) {
        self.tell(id, out, batch, None);
    }

    /// The same with a mark on it.
    pub(super) fn tell(&self, id: &Bytes, out: &Out, batch: Option<&Rc<Batch>>, receipt: Option<Receipt>) {
        if let Some(batch) = batch {
            return batch.add(id, out, receipt);
        }
        self.put(|sink| out.write(id, sink), receipt);
    }

    /// Writes one line with the marks on it.
    pub(super) fn put(&self, write: impl FnOnce(&mut dyn Sink), receipts: impl IntoIterator<Item = Receipt>) {
        if self.out.line(write).is_err() {
            // It reads nothing any more: an answer that is lost would be waited for in vain.
            let is_full = !self.out.is_closed() && self.loan.journal().is_some();
            self.let_go.set(is_full || self.let_go.get());
            self.out.close_now();
        }
        receipts.into_iter().for_each(|receipt| self.out.keep(receipt));
    }

    fn batch(&self, text: &Bytes) {
        let speaks = self.session.borrow().as_ref().is_some_and(|origin| origin.version == Version::V2025Mar);
        let elements: Vec<Bytes> = object::elements(text).map(|range| text.slice(range)).collect();
        if !speaks || elements.is_empty() {
            let why = if speaks { "the batch is empty" } else { "batches exist in 2025-03-26 only" };
            return self.fail(&Bytes::from_static(b"null"), -32600, why);
        }
        let frames: Vec<_> = elements.into_iter().map(Frame::parse).collect();
        let requests = frames.iter().flatten().filter(|frame| frame.kind() == Kind::Request);
        let requests = requests.map(|frame| (frame.id(), Question::of(&frame.method(), Some(&frame.params()))));
        let batch = Batch::new(self.me.clone(), self.wait_with(&requests.collect::<Vec<_>>()));
        for frame in frames {
            match frame {
                Ok(frame) => self.message(&frame, Some(&batch)),
                Err(fault) => {
                    let id = fault.id.unwrap_or_else(|| Bytes::from_static(b"null"));
                    batch.expect();
                    if let Answer::Error(error) = Answer::error(-32600, "an element of the batch is no message") {
                        batch.add(&id, &Out::Error(error), None);
                    }
                }
            }
        }
        batch.complete();
    }

    fn message(&self, frame: &Frame, batch: Option<&Rc<Batch>>) {
        match frame.kind() {
            Kind::Request => {
                if let Some(batch) = batch {
                    batch.expect();
                }
                self.request(frame, batch);
            }
            Kind::Notification => self.notification(frame),
            // The hub asks its clients nothing yet.
            Kind::Response | Kind::Error => {}
        }
    }

    fn notification(&self, frame: &Frame) {
        if frame.method() != "notifications/cancelled" {
            return;
        }
        let params = frame.params();
        let Some(id) = object::get(&params, "requestId") else { return };
        self.listens.borrow_mut().retain(|listen| listen.id != id);
        let Some(open) = self.answered(&id) else { return };
        if let Some(ticket) = open.ticket {
            ticket.cancel();
        }
        // The others of its batch are answered without it.
        if let Some(batch) = open.batch {
            batch.complete();
        }
    }

    /// Notes that a request waits for its answer.
    pub(super) fn wait_for(&self, id: &Bytes, question: Question, batch: Option<&Rc<Batch>>) {
        let slot = if batch.is_none() { self.wait_with(&[(id.clone(), question)]) } else { None };
        self.open.borrow_mut().insert(id.clone(), Open { ticket: None, slot, batch: batch.cloned() });
    }

    /// Notes in the record of a loan that the current line waits for these answers.
    fn wait_with(&self, requests: &[(Bytes, Question)]) -> Option<Slot> {
        let journal = self.loan.journal().filter(|_| !requests.is_empty())?;
        Some(journal.open(self.current.take()?, requests))
    }

    /// What waited for an answer is dealt with.
    pub(super) fn close(&self, slot: Option<Slot>) {
        if let (Some(journal), Some(slot)) = (self.loan.journal(), slot) {
            journal.close(slot, self.out.added());
        }
    }

    /// Nobody waits for its answer any more: it is in the out-buffer, or was cancelled.
    fn answered(&self, id: &Bytes) -> Option<Open> {
        let mut open = self.open.borrow_mut().remove(id)?;
        self.close(open.slot.take());
        self.answered.notify_one();
        Some(open)
    }

    /// Its answer is in the out-buffer.
    pub(super) fn done(&self, id: &Bytes) {
        drop(self.answered(id));
    }

    /// Takes what came with the first line: perhaps a host's own pipes.
    pub(super) fn offer(&self, offer: Offer) {
        self.loan.offer(offer);
    }

    /// The host's stdin, once it has been lent.
    pub(super) async fn lent(&self) -> LentSource {
        self.loan.begun().await
    }

    /// When everything is answered and written.
    pub(super) async fn settled(&self) {
        while !(self.open.borrow().is_empty() && self.out.waiting() == 0) {
            let _ = tokio::time::timeout(Duration::from_millis(20), self.answered.notified()).await;
        }
    }

    fn request(&self, frame: &Frame, batch: Option<&Rc<Batch>>) {
        let (id, method, params) = (frame.id(), frame.method(), frame.params());
        if self.open.borrow().contains_key(&id) {
            return self.reject(&id, Answer::error(-32600, "this id is in use by a request that is still open"), batch);
        }
        match &*method {
            "initialize" => return self.initialize(&id, &params, batch),
            "ping" => return self.say(&id, &Out::Result("{}".into()), batch),
            _ => {}
        }
        let session = self.session.borrow().clone();
        let origin = match session {
            Some(origin) => origin,
            None => match modern_host::claim(&params) {
                Claim::Modern(origin) => origin,
                Claim::Refused(error) => return self.reject(&id, error, batch),
                Claim::None => {
                    let text = "say `initialize` first, or send a 2026-07-28 request with its _meta";
                    return self.reject(&id, Answer::error(-32602, text), batch);
                }
            },
        };
        let Some(seat) = self.join(&origin.client_info) else {
            return self.reject(&id, Answer::error(-32600, "there is no such server or profile"), batch);
        };
        match (&*method, origin.version.era()) {
            ("server/discover", Era::Modern) => {
                let it = seat.describe();
                self.say(
                    &id,
                    &modern_host::discovered(&it.capabilities, &it.server_info, it.instructions.as_deref()),
                    batch,
                );
            }
            ("subscriptions/listen", Era::Modern) => self.listen(&seat, id, &params, &origin),
            ("logging/setLevel", Era::Legacy) => {
                let level = object::get(&params, "level")
                    .and_then(|raw| object::text(&raw).and_then(|name| Level::parse(&name)));
                let Some(level) = level else {
                    return self.reject(&id, Answer::error(-32602, "there is no such log level"), batch);
                };
                origin.level.set(Some(level));
                seat.set_level(Some(level));
                if let Some(journal) = self.loan.journal() {
                    journal.level(Some(level));
                }
                self.say(&id, &Out::Result("{}".into()), batch);
            }
            _ => self.ask(&seat, id, method.into(), params, origin, batch),
        }
    }

    fn ask(
        &self,
        seat: &Rc<Seat>,
        id: Bytes,
        method: Rc<str>,
        params: Bytes,
        origin: Rc<Origin>,
        batch: Option<&Rc<Batch>>,
    ) {
        let Some(me) = self.me.upgrade() else { return };
        let params = Params::read(params);
        let token = params.get("_meta").as_ref().and_then(meta::token_in);
        let wants_progress = token.is_some();
        let target = Target { conn: me, id: id.clone(), method: Rc::clone(&method), batch: batch.cloned() };
        let question = match (&*target.method, origin.version.era()) {
            ("tools/call", Era::Legacy) => Question::Call,
            ("tools/call", Era::Modern) => Question::ModernCall,
            _ => Question::Other,
        };
        let reply = LineReply::new(target, token, Rc::clone(&origin));
        self.wait_for(&id, question, batch);
        let ticket = seat.ask(Ask { method, params, origin, wants_progress }, Box::new(reply));
        // The answer may have come already.
        if let Some(open) = self.open.borrow_mut().get_mut(&id) {
            open.ticket = Some(ticket);
        }
    }

    fn reject(&self, id: &Bytes, error: Answer, batch: Option<&Rc<Batch>>) {
        let era = if self.session.borrow().is_some() { Era::Legacy } else { Era::Modern };
        let out = match era {
            Era::Legacy => legacy_host::answer(error, ""),
            Era::Modern => modern_host::answer(error, ""),
        };
        self.say(id, &out, batch);
    }

    fn initialize(&self, id: &Bytes, params: &Bytes, batch: Option<&Rc<Batch>>) {
        let origin = match legacy_host::initialize(params) {
            Ok(origin) => origin,
            Err(error) => return self.say(id, &legacy_host::answer(error, "initialize"), batch),
        };
        let Some(seat) = self.join(&origin.client_info) else {
            return self.reject(id, Answer::error(-32602, "there is no such server or profile"), batch);
        };
        let version = origin.version;
        *self.session.borrow_mut() = Some(origin);
        if let Some(journal) = self.loan.journal() {
            journal.initialized(params);
        }
        let (Some(me), id, batch) = (self.me.upgrade(), id.clone(), batch.cloned()) else { return };
        self.wait_for(&id, Question::Other, batch.as_ref());
        seat.when_described(move |it| {
            let out = legacy_host::initialized(version, &it.capabilities, &it.server_info, it.instructions.as_deref());
            me.say(&id, &out, batch.as_ref());
            me.done(&id);
        });
    }
}
