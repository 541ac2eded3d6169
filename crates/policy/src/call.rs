//! The life of one call's record (docs/approvals.md) as one pure function. It says what may follow what; it never
//! says when, and it has no way back from anything that may have run but a person's word.

use serde::{Deserialize, Serialize};

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallState {
    /// Its key is taken; it is being checked and judged.
    Reserved,
    /// A person is asked.
    Waiting,
    /// A person approved it; the identical call of the same client runs it until it expires.
    Approved,
    /// It is claimed: its intent is durable or about to be, and it is on its way or running.
    Intent,
    /// It ran; what it gave is kept for a retry.
    Settled,
    /// It was refused by a person, or by rules that changed while it waited, or its client took it back. Nothing ran;
    /// its key is free.
    Denied,
    /// Nobody decided or used it in time. Nothing ran; its key is free.
    Expired,
    /// It may have run. Nothing but a person's word ends this.
    Unknown,
    /// There is no record any more; the key is free.
    Freed,
}

/// By what a call was claimed: where it goes back to when it certainly was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Leave {
    /// By the rules, or by an approval that is remembered: both hold for the next call as well.
    Rules,
    /// By a person's approval of this very call: it is given back.
    Person,
}

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The rules ask.
    Ask,
    /// It is refused before anybody was asked: by its schema, a pin, the rules, a full queue.
    Refuse,
    /// A person approves.
    Approve,
    /// A person denies.
    Deny,
    /// Its time to be decided and used is over.
    Expire,
    /// It may run: by the rules while it is reserved, by the person's approval once it is approved.
    Claim,
    /// Judged again before it runs, the rules or its definition are stricter than what was approved.
    Stricter,
    /// A person takes an approval back that nothing has run by: it waits to be decided again.
    Reopen,
    /// Judged again, the rules deny it.
    Forbid,
    /// Its client takes it back for good: nobody is asked any more and nothing will run.
    Withdraw,
    /// Certainly nothing was sent of it: cancelled, refused or crashed before its flight mark.
    NotSent(Leave),
    /// Its server asks its client for more before it does it (`input_required`): the next leg of the same call goes on by the
    /// same leave.
    Interim(Leave),
    /// It ended with an answer, or with a failure of which it is known that it ran.
    End,
    /// It was sent and no answer will come: the hub, the server or the time ran out.
    Lost,
    /// A person says that it ran.
    Ran,
    /// A person says that it did not run.
    NotRan,
    /// Its record has been kept long enough.
    Forget,
}

/// An event that cannot happen to a call that stands so; nothing is changed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a call that is {} can't be {}", .state.as_str(), .event.participle())]
pub struct Unfit {
    /// Where it stands.
    pub state: CallState,
    /// What was to happen.
    pub event: Event,
}

impl CallState {
    /// Every state.
    pub const ALL: [CallState; 9] = [
        CallState::Reserved,
        CallState::Waiting,
        CallState::Approved,
        CallState::Intent,
        CallState::Settled,
        CallState::Denied,
        CallState::Expired,
        CallState::Unknown,
        CallState::Freed,
    ];

    /// The word used in commands and the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            CallState::Reserved => "reserved",
            CallState::Waiting => "waiting",
            CallState::Approved => "approved",
            CallState::Intent => "intent",
            CallState::Settled => "settled",
            CallState::Denied => "denied",
            CallState::Expired => "expired",
            CallState::Unknown => "unknown",
            CallState::Freed => "freed",
        }
    }

    /// Whether another call may take its key.
    pub const fn frees_key(self) -> bool {
        match self {
            CallState::Denied | CallState::Expired | CallState::Freed => true,
            CallState::Reserved
            | CallState::Waiting
            | CallState::Approved
            | CallState::Intent
            | CallState::Settled
            | CallState::Unknown => false,
        }
    }
}

impl Event {
    /// Every event.
    pub const ALL: [Event; 19] = [
        Event::Ask,
        Event::Refuse,
        Event::Approve,
        Event::Deny,
        Event::Expire,
        Event::Claim,
        Event::Stricter,
        Event::Reopen,
        Event::Forbid,
        Event::Withdraw,
        Event::NotSent(Leave::Rules),
        Event::NotSent(Leave::Person),
        Event::Interim(Leave::Rules),
        Event::Interim(Leave::Person),
        Event::End,
        Event::Lost,
        Event::Ran,
        Event::NotRan,
        Event::Forget,
    ];

    /// What is done to the call, as in "it can't be …".
    pub const fn participle(self) -> &'static str {
        match self {
            Event::Ask => "asked about",
            Event::Refuse => "refused",
            Event::Approve => "approved",
            Event::Deny => "denied",
            Event::Expire => "left to expire",
            Event::Claim => "claimed",
            Event::Stricter => "asked about again",
            Event::Reopen => "opened again",
            Event::Forbid => "forbidden",
            Event::Withdraw => "taken back",
            Event::NotSent(Leave::Rules | Leave::Person) => "given back",
            Event::Interim(Leave::Rules | Leave::Person) => "left half done",
            Event::End => "ended",
            Event::Lost => "lost",
            Event::Ran => "settled as run",
            Event::NotRan => "settled as not run",
            Event::Forget => "forgotten",
        }
    }
}

/// Where a call stands after an event.
///
/// # Errors
/// Where that event can't happen to a call that stands so.
pub const fn next(state: CallState, event: Event) -> Result<CallState, Unfit> {
    let unfit = Err(Unfit { state, event });
    match state {
        CallState::Reserved => match event {
            Event::Ask => Ok(CallState::Waiting),
            Event::Refuse => Ok(CallState::Freed),
            Event::Claim => Ok(CallState::Intent),
            Event::Approve
            | Event::Deny
            | Event::Expire
            | Event::Stricter
            | Event::Reopen
            | Event::Forbid
            | Event::Withdraw
            | Event::NotSent(Leave::Rules | Leave::Person)
            | Event::Interim(Leave::Rules | Leave::Person)
            | Event::End
            | Event::Lost
            | Event::Ran
            | Event::NotRan
            | Event::Forget => unfit,
        },
        CallState::Waiting => match event {
            Event::Approve => Ok(CallState::Approved),
            Event::Deny | Event::Forbid | Event::Withdraw => Ok(CallState::Denied),
            Event::Expire => Ok(CallState::Expired),
            Event::Ask
            | Event::Refuse
            | Event::Claim
            | Event::Stricter
            | Event::Reopen
            | Event::NotSent(Leave::Rules | Leave::Person)
            | Event::Interim(Leave::Rules | Leave::Person)
            | Event::End
            | Event::Lost
            | Event::Ran
            | Event::NotRan
            | Event::Forget => unfit,
        },
        CallState::Approved => match event {
            Event::Claim => Ok(CallState::Intent),
            Event::Stricter | Event::Reopen => Ok(CallState::Waiting),
            Event::Forbid | Event::Withdraw => Ok(CallState::Denied),
            Event::Expire => Ok(CallState::Expired),
            // The first decision holds: a second one, also the opposite, comes too late.
            Event::Approve
            | Event::Deny
            | Event::Ask
            | Event::Refuse
            | Event::NotSent(Leave::Rules | Leave::Person)
            | Event::Interim(Leave::Rules | Leave::Person)
            | Event::End
            | Event::Lost
            | Event::Ran
            | Event::NotRan
            | Event::Forget => unfit,
        },
        CallState::Intent => match event {
            Event::NotSent(Leave::Rules) | Event::Interim(Leave::Rules) => Ok(CallState::Freed),
            Event::NotSent(Leave::Person) | Event::Interim(Leave::Person) => Ok(CallState::Approved),
            Event::End => Ok(CallState::Settled),
            Event::Lost => Ok(CallState::Unknown),
            // Nobody takes back what is on its way.
            Event::Ask
            | Event::Refuse
            | Event::Approve
            | Event::Deny
            | Event::Expire
            | Event::Claim
            | Event::Stricter
            | Event::Reopen
            | Event::Forbid
            | Event::Withdraw
            | Event::Ran
            | Event::NotRan
            | Event::Forget => unfit,
        },
        CallState::Unknown => match event {
            // A late answer is as good as the person's word, and says more.
            Event::End | Event::Ran => Ok(CallState::Settled),
            Event::NotRan => Ok(CallState::Freed),
            Event::Ask
            | Event::Refuse
            | Event::Approve
            | Event::Deny
            | Event::Expire
            | Event::Claim
            | Event::Stricter
            | Event::Reopen
            | Event::Forbid
            | Event::Withdraw
            | Event::NotSent(Leave::Rules | Leave::Person)
            | Event::Interim(Leave::Rules | Leave::Person)
            | Event::Lost
            | Event::Forget => unfit,
        },
        CallState::Settled | CallState::Denied | CallState::Expired => match event {
            Event::Forget => Ok(CallState::Freed),
            Event::Ask
            | Event::Refuse
            | Event::Approve
            | Event::Deny
            | Event::Expire
            | Event::Claim
            | Event::Stricter
            | Event::Reopen
            | Event::Forbid
            | Event::Withdraw
            | Event::NotSent(Leave::Rules | Leave::Person)
            | Event::Interim(Leave::Rules | Leave::Person)
            | Event::End
            | Event::Lost
            | Event::Ran
            | Event::NotRan => unfit,
        },
        CallState::Freed => match event {
            Event::Ask
            | Event::Refuse
            | Event::Approve
            | Event::Deny
            | Event::Expire
            | Event::Claim
            | Event::Stricter
            | Event::Reopen
            | Event::Forbid
            | Event::Withdraw
            | Event::NotSent(Leave::Rules | Leave::Person)
            | Event::Interim(Leave::Rules | Leave::Person)
            | Event::End
            | Event::Lost
            | Event::Ran
            | Event::NotRan
            | Event::Forget => unfit,
        },
    }
}
