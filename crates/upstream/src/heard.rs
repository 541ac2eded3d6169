//! What a session makes of what its server sends: matches answers, tells progress and logs, answers what the server
//! asks of the hub itself, judges what a failure of the transport means.

use crate::session::Session;
use crate::waiter::Failure;
use crate::wired::{End, List};
use bytes::Bytes;
use frame::{Answer, Era, Fault, FaultKind, Frame, Kind, Level, Progress, Rope, object, own_id};
use policy::Effect;
use tokio::time::Instant;
use wire::era::error_code;
use wire::http::{FailureKind, HttpLink};
use wire::link::{Inbox, Message, Text};

/// The error of a modern server whose headers and body did not agree.
const HEADER_MISMATCH: i64 = -32020;
/// Bytes of a text that is no message that are looked at for the log.
const LONGEST_NOISE: usize = 64 << 10;

impl Session {
    /// What a failure says about the whole connection.
    fn verdict(&self, kind: FailureKind, why: &str) -> Option<End> {
        let link = self.http()?;
        match kind {
            // One call that wants more than it was granted costs the others nothing.
            FailureKind::SignIn if link.challenge().is_some_and(|text| text.contains("insufficient_scope")) => None,
            FailureKind::SignIn => Some(End::SignIn),
            // While others run, it may have been a hiccup of the network.
            FailureKind::Unreachable if self.running() == 0 => Some(End::Broken(why.to_owned())),
            FailureKind::Status(status) if status == 404 && self.era.get() == Era::Legacy && link.has_session() => {
                Some(End::Broken(format!("it does not know the session that it has just given: {why}")))
            }
            _ => None,
        }
    }

    fn answered(&self, frame: &Frame) {
        let id = own_id(&frame.id());
        let entry = id.and_then(|id| self.pending.borrow_mut().remove(&id));
        let Some(entry) = entry else {
            self.counters.stray.set(self.counters.stray.get() + 1);
            return;
        };
        let body = frame.body().unwrap_or_default();
        if frame.kind() == Kind::Error && error_code(&body) == Some(HEADER_MISMATCH) {
            // The definition that the headers were made by is out of date.
            if let Some(listener) = self.listener.upgrade() {
                listener.list_changed(List::Tools);
            }
        }
        entry.waiter.done(match frame.kind() {
            Kind::Error => Ok(Answer::Error(sound_error(body))),
            _ if body.first() == Some(&b'{') => Ok(Answer::Result { era: self.era.get(), body: body.into() }),
            _ => Err(Failure::Unreadable("its result is no object".into())),
        });
    }

    fn progressed(&self, params: &Bytes) {
        let [token] = object::pick(params, ["progressToken"]);
        let Some(token) = token else { return };
        let Some(id) = own_id(&params[token.clone()]) else { return };
        // Taken out while it is told, so that whatever it does cannot meet a borrowed map.
        let entry = self.pending.borrow_mut().remove(&id);
        let Some(mut entry) = entry else { return };
        entry.deadline = Instant::now() + entry.budget;
        entry.waiter.progress(&Progress { params: params.clone(), token });
        self.pending.borrow_mut().insert(id, entry);
    }

    fn logged(&self, params: &Bytes, during: Option<u64>) {
        let [level] = object::pick(params, ["level"]);
        let level = level.and_then(|range| object::text(&params[range]).and_then(|name| Level::parse(&name)));
        let level = level.unwrap_or(Level::Info);
        let owner = during.or_else(|| self.only_call());
        let entry = owner.and_then(|id| Some((id, self.pending.borrow_mut().remove(&id)?)));
        if let Some((id, mut entry)) = entry {
            entry.waiter.log(level, params);
            self.pending.borrow_mut().insert(id, entry);
        } else if let Some(listener) = self.listener.upgrade() {
            listener.log(level, params);
        }
    }

    /// The one call that is running, when it is the only one: then what the server says without naming a call is about it.
    fn only_call(&self) -> Option<u64> {
        let pending = self.pending.borrow();
        let mut calls = pending.iter().filter(|(_, pending)| !pending.own).map(|(&id, _)| id);
        let first = calls.next();
        if calls.next().is_some() { None } else { first }
    }

    fn asked(&self, frame: &Frame) {
        let id = frame.id();
        let mut text = Rope::from("{\"jsonrpc\":\"2.0\",\"id\":");
        text.push(id);
        if frame.method() == "ping" {
            text.push_static(",\"result\":{}}");
        } else {
            // Nothing of the kind was declared; a plain answer keeps the server from waiting.
            text.push_static(",\"error\":{\"code\":-32601,\"message\":\"the hub does not offer this\"}}");
        }
        let _ = self.send(&Message { id: None, method: "", name: None, headers: &[], text: Text::Whole(&text) });
    }
}

impl Inbox for Session {
    fn message(&self, frame: Frame, during: Option<u64>) {
        match frame.kind() {
            Kind::Response | Kind::Error => self.answered(&frame),
            Kind::Request => self.asked(&frame),
            Kind::Notification => {
                let params = frame.params();
                let changed = |list| {
                    if let Some(listener) = self.listener.upgrade() {
                        listener.list_changed(list);
                    }
                };
                match &*frame.method() {
                    "notifications/progress" => self.progressed(&params),
                    "notifications/message" => self.logged(&params, during),
                    "notifications/tools/list_changed" => changed(List::Tools),
                    "notifications/prompts/list_changed" => changed(List::Prompts),
                    "notifications/resources/list_changed" => changed(List::Resources),
                    _ => {}
                }
            }
        }
    }

    fn noise(&self, fault: Fault, text: &Bytes) {
        let id = fault.id.as_deref().and_then(own_id).filter(|_| !fault.has_method);
        let entry = id.and_then(|id| self.pending.borrow_mut().remove(&id));
        if let Some(entry) = entry {
            return entry.waiter.done(Err(match fault.kind {
                // One entry of a list may be all that is wrong with it.
                FaultKind::TooDeep if entry.own => Failure::TooDeep(text.clone()),
                kind => Failure::Unreadable(kind.to_string().into()),
            }));
        }
        self.counters.noise.set(self.counters.noise.get() + 1);
        if let Some(listener) = self.listener.upgrade() {
            listener.noise(&text[..text.len().min(LONGEST_NOISE)]);
        }
    }

    fn too_long(&self, head: &[u8], length: u64) {
        let [id] = object::pick(head, ["id"]);
        let id = id.and_then(|range| own_id(&head[range]));
        let entry = id.and_then(|id| self.pending.borrow_mut().remove(&id));
        match entry {
            Some(entry) => entry.waiter.done(Err(Failure::TooLarge(length))),
            None => {
                self.counters.noise.set(self.counters.noise.get() + 1);
                if let Some(listener) = self.listener.upgrade() {
                    listener.noise(format!("a line of {length} bytes was dropped").as_bytes());
                }
            }
        }
    }

    fn failed(&self, id: u64, why: &str, sent: bool) {
        let entry = self.pending.borrow_mut().remove(&id);
        let kind = self.http().and_then(HttpLink::failure);
        self.trouble.set(kind);
        let Some(mut entry) = entry else { return };
        let end = kind.and_then(|kind| self.verdict(kind, why));
        let is_read = entry.errand.as_ref().is_some_and(|errand| errand.request.effect == Effect::Read);
        // Surely it was taken by nobody, or it does no harm: whoever it is that answers next may get it, once.
        let may_go_again = match kind {
            Some(FailureKind::SessionLost) => !sent || is_read,
            Some(FailureKind::Unreachable) => !sent && end.is_some(),
            _ => false,
        };
        if let (true, Some(mut errand), Some(listener)) = (may_go_again, entry.errand.take(), self.listener.upgrade()) {
            errand.is_second = true;
            if let Some(end) = end {
                listener.ended(end);
            }
            return listener.again(id, errand, entry.waiter);
        }
        let why = why.to_owned();
        entry.waiter.done(Err(match kind {
            Some(FailureKind::TooLong(length)) => Failure::TooLarge(length),
            Some(FailureKind::BadAnswer) => Failure::Unreadable(why.into()),
            _ if sent => Failure::Crashed(why),
            _ => Failure::Unavailable(why),
        }));
        if let (Some(end), Some(listener)) = (end, self.listener.upgrade()) {
            listener.ended(end);
        }
    }

    fn session_lost(&self) {
        if let Some(listener) = self.listener.upgrade() {
            listener.ended(End::Forgotten);
        }
    }

    fn closed(&self, why: &str) {
        self.gone.notify_one();
        if !self.open.replace(false) {
            return;
        }
        // Clients' calls are left to the owner: it knows how the process ended and closes with the better reason.
        match self.listener.upgrade() {
            Some(listener) => {
                self.fail_all(&Failure::Crashed(why.to_owned()), |pending| pending.own);
                listener.ended(End::Broken(why.to_owned()));
            }
            None => self.fail_all(&Failure::Crashed(why.to_owned()), |_| true),
        }
    }
}

/// An error object that every client library can read: integer code within 32 bits, message a string.
fn sound_error(error: Bytes) -> Rope {
    if error.first() == Some(&b'{') {
        let [code, message] = object::pick(&error, ["code", "message"]);
        let code = code.and_then(|range| std::str::from_utf8(&error[range]).ok()?.parse::<i32>().ok());
        let message = message.is_some_and(|range| error[range.start] == b'"');
        if code.is_some() && message {
            return error.into();
        }
    }
    let mut out = Rope::from(
        "{\"code\":-32603,\"message\":\"the server sent an error without a usable code or message\",\"data\":",
    );
    out.push(error);
    out.push_static("}");
    out
}
