//! The way back: what a server answered is looked at, settled, told, written down, and the lane goes to the next.

use super::{Phase, Run};
use crate::abort::Point;
use crate::gate::glance;
use crate::gate::lost::{End, Lost};
use crate::gate::result::{Inspected, Look};
use crate::gate::{interim, owed, settle, unanswered};
use crate::murmur::Murmur;
use crate::{record, thing};
use bytes::Bytes;
use contract::Effort;
use contract::outcome::{Code, Output, Refusal};
use frame::{Answer, Level, Progress, object};
use policy::Effect;
use std::rc::Rc;
use store::Job;
use upstream::{Failure, Waiter, task};

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

impl Run {
    pub(super) fn finish(self: &Rc<Self>, end: Result<Answer, Failure>) {
        let lost = match self.phase.replace(Phase::Over) {
            Phase::Over => match self.lost.borrow_mut().take() {
                Some(lost) => Some(lost),
                None => return,
            },
            _ => {
                self.call.borrow_mut().take();
                self.passes(Point::Answered);
                None
            }
        };
        let answer = match (end, &lost) {
            (Ok(answer), None) => answer,
            (Ok(answer), Some(_)) if interim::of(&answer).is_none() => answer,
            (end, None) => return self.end(end),
            (end, Some(lost)) => {
                let may_have_run = end.is_err_and(|failure| failure.was_sent());
                return owed::ended(&self.core, lost, if may_have_run { End::Unknown } else { End::NotSent }, None);
            }
        };
        glance::at(&self.core, &self.record.borrow(), self.backend.key(), &answer);
        let edited = self.case.as_ref().and_then(|case| case.row().edited.clone());
        let look = Look::of(self.backend.rules(), self.tool.as_deref(), edited);
        if !look.is_long(&answer)
            && let Some(inspected) = look.look(answer.clone(), Effort::QUICK)
        {
            return self.inspected(Some(inspected), lost);
        }
        let me = Rc::clone(self);
        task::spawn("look at a long result", async move {
            let inspected = look.look_apart(answer).await;
            me.inspected(inspected, lost);
        });
    }

    /// What became of it goes to who asked, or to whoever makes the identical call: nobody gets it in another form.
    fn inspected(self: &Rc<Self>, inspected: Option<Inspected>, lost: Option<Rc<Lost>>) {
        let ending;
        let (mut whole, mut looked) = (None, None);
        let answer = match inspected {
            Some(Inspected::Passed { answer, changes, broken }) => {
                if let (Some(tool), false) = (&self.tool, broken.is_empty()) {
                    self.backend.broke_schema(&tool.read.tool.name, broken.len());
                }
                looked = (!changes.is_none() || !broken.is_empty()).then_some((changes, broken.len()));
                ending = None;
                answer
            }
            Some(Inspected::TooLong { era, result, whole: all }) => {
                let call = self.record.borrow().id();
                let client = match (&lost, self.seat.upgrade()) {
                    (Some(lost), _) => Rc::clone(&lost.client),
                    (None, seat) => seat.map(|seat| Rc::clone(seat.identity.id())).unwrap_or_default(),
                };
                let most = usize::try_from(self.backend.rules().results.max_bytes).unwrap_or(usize::MAX);
                whole = Some(all);
                ending = None;
                Answer::Result { era, body: self.core.gate.pages.keep(call, &client, result, most).into() }
            }
            Some(Inspected::Refused(refusal)) => {
                ending = Some(Ending::Code(refusal.error));
                self.told(&refusal.of_call(self.record.borrow().id()))
            }
            None => {
                let failure = Failure::Unreadable("its result could not be looked at".into());
                return match lost {
                    Some(lost) => owed::ended(&self.core, &lost, End::Unknown, None),
                    None => self.end(Err(failure)),
                };
            }
        };
        match (lost, ending) {
            (Some(lost), _) => owed::ended(&self.core, &lost, End::of(Some(answer)), whole),
            (None, Some(ending)) => self.over(answer, ending, 0),
            (None, None) => {
                *self.whole.borrow_mut() = whole;
                if let Some((changes, broken)) = looked {
                    self.record.borrow_mut().looked(&changes, broken);
                }
                self.end(Ok(answer));
            }
        }
    }

    /// The end of what the server did, as it is passed on.
    pub(super) fn end(self: &Rc<Self>, end: Result<Answer, Failure>) {
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
    pub(super) fn told(&self, refusal: &Refusal) -> Answer {
        if &*self.method == "tools/call" {
            let output = self.tool.as_ref().map_or(Output::Free, |tool| tool.output());
            return Answer::result(refusal.tool_result(output));
        }
        thing::refused(refusal)
    }

    /// Tells everybody, writes it down, lets the next one go.
    pub(super) fn over(self: &Rc<Self>, answer: Answer, ending: Ending, size: usize) {
        if let Some(case) = &self.case {
            let whole = self.whole.borrow_mut().take();
            settle::settled(&self.core, case, (&answer, whole), record::outcome(ending, true));
        }
        self.passes(Point::Settled);
        let kept = self.core.ledger.keeps_values().then(|| answer.clone());
        let is_watched = self.tell(answer);
        self.passes(Point::Told);
        self.close(ending, size);
        if !is_watched && self.case.is_none() && self.effect != Effect::Read {
            self.core.ledger.job(Job::Heard(self.record.borrow().number()));
        }
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
pub(super) struct OnRoad(pub(super) Rc<Run>, pub(super) Murmur);

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
