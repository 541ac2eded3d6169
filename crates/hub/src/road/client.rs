//! The client's side of a run: it loses interest, takes a call back, or gets what came of it. Who may have changed
//! something is told of it surely, or finds it again.

use super::{Ending, Phase, Run};
use crate::catalog::ToolEntry;
use crate::gate::lost::{End, Kept};
use crate::gate::receipt::{self, Asked};
use crate::gate::{interim, owed};
use contract::outcome::Code;
use frame::Answer;
use std::rc::Rc;
use store::{Kind, Method, Note};

impl Run {
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
                            owed::ended(&self.core, &lost, End::Unknown, None);
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
    pub(super) fn keep_values(&self, answer: Option<&Answer>) {
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
    pub(super) fn listen_on(&self) {
        let (Some((tool, asked)), Some(seat)) = (self.must_arrive(), self.seat.upgrade()) else { return };
        let Some(which) = receipt::which(&seat, tool, self.record.borrow().number(), &asked) else { return };
        *self.lost.borrow_mut() = Some(owed::put(&self.core, which, None));
    }

    /// A call of a tool that may change something and whose bytes have left.
    pub(super) fn must_arrive(&self) -> Option<(&Rc<ToolEntry>, Asked)> {
        let asked = self.asked.as_ref().filter(|_| self.record.borrow().was_sent())?;
        // Long arguments were digested apart from the relay when the call was declared.
        let asked = match self.record.borrow().asked() {
            Some(digest) => Asked::Digest(Some(digest)),
            None => Asked::Arguments(asked.get("arguments")),
        };
        Some((self.tool.as_ref()?, asked))
    }

    /// Hands the answer over; who may have changed something is told of it surely, or finds it again. Whether it is
    /// watched until it has left.
    pub(super) fn tell(&self, answer: Answer) -> bool {
        let Some(reply) = self.reply.borrow_mut().take() else { return false };
        // Of an interim answer nothing was done yet: one that is lost is asked again.
        let must_arrive = if interim::of(&answer).is_some() { None } else { self.must_arrive() };
        match (must_arrive, &self.case, self.seat.upgrade()) {
            (Some(_), Some(case), _) => case.deliver(&answer),
            (Some((tool, asked)), None, Some(seat)) => {
                let receipt = receipt::of(&seat, tool, self.record.borrow().number(), (asked, Kept::Store), &answer);
                reply.deliver(answer, receipt);
                return true;
            }
            (None, ..) | (_, None, None) => reply.done(answer),
        }
        false
    }
}
