//! What is found out of long arguments apart from the relay: what the rules say of them, and their digests. Decides
//! nothing, and what was found counts only while the rules and the thing are the ones that were asked about.

use super::{Gate, still};
use crate::ask::Pending;
use crate::core::Core;
use crate::thing::{self, Thing};
use bytes::Bytes;
use contract::Hash;
use policy::{Facts, Judgement, Rulebook, Standing, Then};
use std::sync::Arc;

/// Arguments from this size on are read on the blocking pool, in bytes.
pub(crate) const LONG: usize = 64 << 10;

/// The keyed digests of one call; None where they cannot be read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Digests {
    /// Of what its client asked for.
    pub asked: Option<Hash>,
    /// Of what would be sent.
    pub sent: Option<Hash>,
}

impl Digests {
    /// Made here and now: for what is short.
    pub(crate) fn of(call: &Pending, arguments: &Bytes) -> Digests {
        let audit = &call.seat.core.ledger;
        let sent = call.thing.digest(Some(arguments), audit);
        let asked = match received(call, arguments) {
            None => sent,
            Some(received) => call.thing.digest(Some(&received), audit),
        };
        Digests { asked, sent }
    }
}

/// What the client sent, where that is not what would be sent.
fn received(call: &Pending, arguments: &Bytes) -> Option<Bytes> {
    call.thing.arguments(&call.ask.params).filter(|received| received != arguments)
}

/// What the rules need for one request.
pub(crate) enum Judging {
    /// It is said already, whatever the arguments are.
    Said(Judgement),
    /// It depends on the arguments.
    Depends { rules: Rulebook, standing: Arc<Standing>, host: Box<str> },
}

impl Judging {
    /// What the rules say. Up to a millisecond where it depends.
    pub(crate) fn judge(self, arguments: &[u8]) -> Judgement {
        match self {
            Judging::Said(judgement) => judgement,
            Judging::Depends { rules, standing, host } => rules.judge(&standing, &Facts { host: &host, arguments }),
        }
    }
}

/// What is to be found out of one request.
pub(crate) struct Question {
    judging: Judging,
    arguments: Bytes,
    received: Option<Bytes>,
    leave_out: Option<Box<str>>,
    is_held: bool,
    basis: Basis,
}

/// What was found out.
pub(crate) struct Found {
    pub judgement: Judgement,
    /// Plain ones, where they are needed.
    digests: Option<Digests>,
    basis: Basis,
}

/// Under what it was asked.
#[derive(Clone)]
struct Basis {
    age: u64,
    /// Of a tool; it is made anew whenever anything is known otherwise.
    standing: Option<Arc<Standing>>,
}

impl Basis {
    fn of(gate: &Gate, thing: &Thing) -> Basis {
        Basis { age: gate.age(), standing: thing.tool().map(|tool| gate.standing(tool)) }
    }
    fn is(&self, other: &Basis) -> bool {
        let is_same = match (&self.standing, &other.standing) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        is_same && self.age == other.age
    }
}

impl Question {
    /// None where it is to be judged at once: nothing is long, or nothing of it matters.
    pub(crate) fn of(call: &Pending, arguments: &Bytes) -> Option<Question> {
        let asked = call.thing.arguments(&call.ask.params).map_or(0, |received| received.len());
        if arguments.len().max(asked) < LONG {
            return None;
        }
        let core = &call.seat.core;
        let is_held = still::stands(core, call.thing.backend(), call.thing.effect());
        let judging = core.gate.judging(call.seat.identity.who.known_name(), &call.thing);
        if let Judging::Said(judgement) = &judging
            && !needs_digests(judgement, is_held)
        {
            return None;
        }
        Some(Question {
            judging,
            arguments: arguments.clone(),
            received: received(call, arguments),
            leave_out: call.thing.tool().and_then(|tool| thing::left_out(tool)).map(Into::into),
            is_held,
            basis: Basis::of(&core.gate, &call.thing),
        })
    }

    /// Finds it out on the blocking pool; None where that broke.
    pub(crate) async fn find(self) -> Option<Found> {
        tokio::task::spawn_blocking(move || {
            let Question { judging, arguments, received, leave_out, is_held, basis } = self;
            let judgement = judging.judge(&arguments);
            let digests = needs_digests(&judgement, is_held).then(|| {
                let sent = thing::plain_digest(Some(&arguments), leave_out.as_deref());
                let asked =
                    received.map_or(sent, |received| thing::plain_digest(Some(&received), leave_out.as_deref()));
                Digests { asked, sent }
            });
            Found { judgement, digests, basis }
        })
        .await
        .ok()
    }
}

impl Found {
    /// Whether it still is what would be found of this thing.
    pub(crate) fn holds(&self, core: &Core, thing: &Thing) -> bool {
        self.basis.is(&Basis::of(&core.gate, thing))
    }
    /// The digests, keyed; None where they were not needed.
    pub(crate) fn digests(&self, core: &Core) -> Option<Digests> {
        let keyed = |plain: Option<Hash>| plain.map(|plain| core.ledger.keyed(plain));
        self.digests.map(|Digests { asked, sent }| Digests { asked: keyed(asked), sent: keyed(sent) })
    }
}

/// Only what may wait for a person is known by its digests.
pub(crate) fn needs_digests(judgement: &Judgement, is_held: bool) -> bool {
    judgement.then() == Then::Ask || (is_held && judgement.then() == Then::Allow)
}
