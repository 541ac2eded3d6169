//! Requests that wait for a person: row first, wait second. A request is held open as long as its client is known to
//! wait; then it is told that it is pending, and the record waits on. A client that takes tasks is told of one at once.

use super::apart::{Digests, Question};
use super::case::{Asker, Case};
use super::lost::Why;
use super::moves::{self, Move};
use super::still::{self, Still};
use super::{decide, meet, now_ms, rest, retold, road, task as tasks};
use crate::abort::{self, Point};
use crate::ask::{self, Pending, To};
use crate::core::Core;
use crate::record;
use crate::thing::Thing;
use bytes::Bytes;
use contract::Hash;
use contract::outcome::{Code, Pending as Wait, Refusal};
use frame::Progress;
use policy::{CallState, Event, Judgement, Scope, Then};
use std::borrow::Cow;
use std::cell::Ref;
use std::rc::Rc;
use std::time::Duration;
use store::{CallRecord, Kind, Outcome};
use tokio::time::Instant;
use upstream::task;

/// Waiting calls of one client.
const MOST_OF_CLIENT: usize = 64;
/// Waiting calls in all.
const MOST: usize = 1_000;
/// Bytes of arguments of waiting calls of one client: one of the longest message always fits.
const MOST_BYTES_OF_CLIENT: usize = 20 << 20;
/// The same in all: they are kept in memory, and read when the hub starts.
const MOST_BYTES: usize = 64 << 20;
/// How often a client that wants progress is told that its call still waits.
const NOTICE: Duration = Duration::from_secs(10);
/// How often the wall clock is looked at: a laptop that slept has no timer that knows.
const LOOK: Duration = Duration::from_secs(20);

/// What a card says further of a call that may have run once already.
pub(crate) const BEFORE: &str = "; an identical call ";
/// The same of one whose arguments were repaired.
pub(crate) const REPAIRED: &str = "; repaired: ";

/// Puts a call before the person.
pub(crate) fn hold(call: Pending, judgement: &Judgement, arguments: Bytes, digests: Digests) {
    let core = Rc::clone(&call.seat.core);
    if is_full(&core, call.seat.identity.id(), arguments.len()) {
        let message = "Too many calls wait for a person already. Nothing was executed.";
        return ask::refuse(call, Refusal::new(Code::QueueFull, message));
    }
    if let Some(refusal) = retold::denied(&call, digests.asked) {
        return ask::refuse(call, refusal);
    }
    if let Some(refusal) = rest::refusal(&core, call.seat.identity.id(), call.thing.backend().key()) {
        return ask::refuse(call, refusal);
    }
    let (thing, repaired) = (call.thing.clone(), call.repaired.clone());
    let case = match call.to {
        To::Case(case) => case,
        To::Reply(reply) => {
            let asked = digests.asked.or(digests.sent).unwrap_or_else(|| Hash::of(&arguments));
            let Pending { seat, ticket, ask, thing, received, .. } = call;
            let request = meet::Request { seat, ticket, ask, reply, received, thing };
            // The same may have begun to wait while this was read apart from the relay.
            if let Some(case) = meet::waiting_alike(&request, asked) {
                return meet::attach(&case, request);
            }
            let case = Case::new(meet::row_of(&request.seat, &request.thing, asked));
            core.gate.index.enter(&case);
            meet::attach(&case, request);
            case
        }
    };
    if !meet::step(&case, Event::Ask) {
        return;
    }
    case.under_way.set(false);
    let before = core.gate.index.unknown_like(&case);
    case.repaired.borrow_mut().clone_from(&repaired);
    case.note(|row| {
        let now = now_ms();
        row.asked_ms = now;
        row.expires_ms = now + u64::try_from(core.gate.settings().expire.as_millis()).unwrap_or(u64::MAX / 2);
        row.arguments = Some(arguments);
        row.sent = digests.sent;
        tell_why(row, judgement, &core, &thing);
        if let Some(before) = before {
            row.why.push_str(&format!("{BEFORE}({}) was sent before, and nobody knows whether it ran", before.id()));
        }
        if let Some(repaired) = &repaired {
            row.why.push_str(&format!("{REPAIRED}{repaired}"));
        }
    });
    case.judged(judgement);
    write(&core, &case);
}

/// An approval that no longer covers what would run: the person is asked again, and told why.
pub(crate) fn again(call: Pending, judgement: &Judgement, why: &str) {
    let To::Case(case) = call.to else { return };
    let core = Rc::clone(&call.seat.core);
    if !meet::step(&case, Event::Stricter) {
        return;
    }
    case.under_way.set(false);
    *case.badge.borrow_mut() = Some(why.to_owned());
    case.note(|row| {
        row.definition = Some(call.thing.definition());
        row.launch = call.thing.backend().rules().launch_hash.to_string();
        row.undecided();
        tell_why(row, judgement, &core, &call.thing);
    });
    case.judged(judgement);
    write(&core, &case);
}

fn tell_why(row: &mut CallRecord, judgement: &Judgement, core: &Core, thing: &Thing) {
    row.policy = Some(core.gate.policy());
    row.tier = judgement.tier();
    row.rule = judgement.rule().map(|rule| rule.to_string()).unwrap_or_default();
    row.why = why(judgement, &still::all(core, thing.backend(), thing.effect()));
}

/// Why it is asked about.
pub(crate) fn why(judgement: &Judgement, held: &[Still]) -> String {
    let held: Vec<&str> = held.iter().map(|still| still.why()).collect();
    match judgement.then() {
        _ if held.is_empty() => judgement.sentence(),
        Then::Allow => format!("asks because {}", held.join(" and ")),
        Then::Ask | Then::Deny => format!("{}; and {}", judgement.sentence(), held.join(" and ")),
    }
}

/// What a new grant, other rules or the end of a pause let through is approved by them.
pub(crate) fn reconsider(core: &Rc<Core>, case: &Rc<Case>) {
    if case.row().expires_ms <= now_ms() {
        // A laptop that slept: its time was over before anything could let it through.
        return decide::expire(core, case);
    }
    let (Some(call), Some(arguments)) = (case.first(core), case.arguments()) else { return };
    if still::stands(core, call.thing.backend(), call.thing.effect()) {
        return;
    }
    let Some(question) = Question::of(&call, &arguments) else {
        let judgement = core.gate.judge(call.seat.identity.who.known_name(), &call.thing, &arguments);
        return let_through(core, case, &call, &arguments, &judgement);
    };
    let (core, case) = (Rc::clone(core), Rc::clone(case));
    task::spawn("judge long waiting arguments again", async move {
        let Some(found) = question.find().await else { return };
        let is_as_it_was = case.state() == CallState::Waiting && case.is_free();
        match found.holds(&core, &call.thing) {
            _ if !is_as_it_was => {}
            true => let_through(&core, &case, &call, &arguments, &found.judgement),
            false => reconsider(&core, &case),
        }
    });
}

fn let_through(core: &Rc<Core>, case: &Rc<Case>, call: &Pending, arguments: &Bytes, judgement: &Judgement) {
    let Some(by) = what_lets_through(core, judgement, || road::request(call, arguments)) else { return };
    let (core, case) = (Rc::clone(core), Rc::clone(case));
    case.is_deciding.set(true);
    task::spawn("let a waiting call through", async move {
        let approve = Move { event: Event::Approve, by: &by, grant: None };
        if let Err(refused) = moves::make(&core, &case, approve, |row| row.scope = Some(Scope::Once)).await {
            tracing::warn!(%refused, call = %case.id(), "a waiting call was not let through");
        }
        case.decision_over();
        core.queue_changed();
        if case.state() == CallState::Approved {
            decide::claim(&core, &case);
        }
    });
}

/// What lets a request through without a person that nothing keeps; None where nothing does.
pub(crate) fn what_lets_through(
    core: &Core,
    judgement: &Judgement,
    request: impl FnOnce() -> policy::Request,
) -> Option<Cow<'static, str>> {
    match judgement.then() {
        Then::Allow => Some("the rules of now".into()),
        Then::Ask => {
            let (_, grant) = road::by_grant(core, request(), judgement)?;
            let by = if grant.by.is_empty() { String::new() } else { format!(" by {}", grant.by) };
            Some(format!("an approval that is remembered ({}{by})", record::grant_in_words(&grant)).into())
        }
        Then::Deny => None,
    }
}

/// Whether one more with that many bytes of arguments may not wait (docs/approvals.md).
fn is_full(core: &Core, client: &str, length: usize) -> bool {
    let long_ago = now_ms().saturating_sub(store::REFUSALS_KEPT_MS);
    let is_over = |case: &Case| matches!(case.state(), CallState::Denied | CallState::Expired);
    for case in core.gate.index.all().iter().filter(|case| is_over(case) && case.row().decided_ms < long_ago) {
        core.gate.index.leave(case);
    }
    let mut room = Room { calls: (MOST, MOST_OF_CLIENT), bytes: (MOST_BYTES, MOST_BYTES_OF_CLIENT) };
    let all = core.gate.index.all();
    let mut waiting = all.iter().filter(|case| case.state() == CallState::Waiting).map(|case| case.row());
    let is_taken =
        |row: Ref<'_, CallRecord>| room.take(row.client == client, row.arguments.as_ref().map_or(0, Bytes::len));
    !(waiting.all(is_taken) && room.take(true, length))
}

/// What is left for waiting calls: in all, and of one client.
struct Room {
    calls: (usize, usize),
    bytes: (usize, usize),
}

impl Room {
    /// Takes it for one call; false: it does not fit.
    fn take(&mut self, is_of_client: bool, length: usize) -> bool {
        let less = |(all, own): (usize, usize), by: usize| {
            let own = if is_of_client { own.checked_sub(by)? } else { own };
            Some((all.checked_sub(by)?, own))
        };
        match (less(self.calls, 1), less(self.bytes, length)) {
            (Some(calls), Some(bytes)) => {
                (self.calls, self.bytes) = (calls, bytes);
                true
            }
            _ => false,
        }
    }
}

fn write(core: &Rc<Core>, case: &Rc<Case>) {
    let (core, case) = (Rc::clone(core), Rc::clone(case));
    let row = case.row().clone();
    let note = core.ledger.case_note(&row, Kind::Asked, Outcome::Pending);
    abort::at(Point::Asking, &row.tool);
    let written = core.ledger.put_call(row, Some(note));
    task::spawn("write down a waiting call", async move {
        if written.await.is_ok() {
            case.set_written(true);
            abort::at(Point::Asked, &case.row().tool);
            core.queue_changed();
            watch(&core, &case).await;
            return;
        }
        // Nothing waits that is not written down.
        let message = "The audit log cannot be written, so nothing that needs a person's leave is run.";
        let refusal = Refusal::new(Code::AuditUnavailable, message);
        core.gate.index.leave(&case);
        let refusal = refusal.of_call(case.id());
        for asker in case.take(|_| true) {
            asker.reply.done(asker.thing.refused(&refusal));
        }
    });
}

/// Keeps the promises made to those who wait, until nothing is left to wait for.
pub(crate) async fn watch(core: &Rc<Core>, case: &Rc<Case>) {
    loop {
        let news = case.news.notified();
        if !matches!(case.state(), CallState::Waiting | CallState::Approved) {
            return;
        }
        let left = case.row().expires_ms.saturating_sub(now_ms());
        if left == 0 && case.is_free() {
            return decide::expire(core, case);
        }
        tasks::tell(core, case).await;
        let now = Instant::now();
        let mut next = now + LOOK.min(Duration::from_millis(left.max(1)));
        // While a decision is written down nobody is told that none has been made.
        if (case.state() == CallState::Waiting || !case.under_way.get()) && !case.is_deciding.get() {
            give_up(core, case, now);
            case.each(|asker| {
                let due = asker.received + NOTICE * (asker.notices + 1);
                if asker.ask.wants_progress && due <= now {
                    asker.notices += 1;
                    notice(asker);
                }
                let due = asker.received + NOTICE * (asker.notices + 1);
                if asker.ask.wants_progress {
                    next = next.min(due);
                }
                next = next.min(patience(core, asker));
            });
        }
        tokio::select! {
            () = news => {}
            () = tokio::time::sleep_until(next) => {}
        }
    }
}

/// Until when this request may be held open.
fn patience(core: &Core, asker: &Asker) -> Instant {
    if core.is_refusing() {
        return asker.received;
    }
    let seat = asker.seat.upgrade();
    let host = seat.as_ref().map_or("", |seat| seat.identity.who.known_name());
    asker.received + core.gate.settings().hold_of(host, asker.ask.wants_progress)
}

fn notice(asker: &mut Asker) {
    let params = format!(
        "{{\"progressToken\":0,\"progress\":{},\"message\":\"Waiting for a person to decide.\"}}",
        asker.notices
    );
    let at = "{\"progressToken\":".len();
    asker.reply.progress(&Progress { params: params.into(), token: at..at + 1 });
}

/// Those whose patience has ended are told that the call is pending.
fn give_up(core: &Core, case: &Case, now: Instant) {
    tell_pending(case, |asker| patience(core, asker) <= now);
}

/// Whether anybody is held open: at the hub's end they are told that they are not.
pub(crate) fn holds(core: &Core) -> bool {
    let is_open = |case: &Rc<Case>| case.is_written() && !case.under_way.get() && case.waiters() > 0;
    let waits = |case: &Rc<Case>| matches!(case.state(), CallState::Waiting | CallState::Approved);
    core.gate.index.all().iter().any(|case| waits(case) && is_open(case))
}

/// Those for whom `is_it` holds are told that the call is pending.
pub(crate) fn tell_pending(case: &Case, is_it: impl Fn(&Asker) -> bool) {
    let row = case.row().clone();
    for asker in case.take(is_it) {
        case.owe(&asker.session, Why::SentAway);
        let wait = Wait::new(case.id().to_string(), moment(row.expires_ms), case.id());
        asker.reply.done(asker.thing.waits(&wait));
    }
}

/// A moment as text, RFC 3339 in UTC.
pub(crate) fn moment(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    at.map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_and_all_together_have_room_for_so_many_calls_and_so_many_bytes() {
        let room = || Room { calls: (3, 2), bytes: (100, 60) };
        let check = |calls: &[(bool, usize)], expect: bool| {
            let mut room = room();
            let taken: Vec<bool> = calls.iter().map(|(is_own, length)| room.take(*is_own, *length)).collect();
            assert_eq!(taken.last(), Some(&expect), "{calls:?}");
        };
        check(&[(true, 60)], true);
        check(&[(true, 61)], false);
        check(&[(false, 60), (true, 40)], true);
        check(&[(false, 60), (true, 41)], false);
        check(&[(true, 1), (true, 1), (true, 1)], false);
        check(&[(true, 1), (true, 1), (false, 1)], true);
        check(&[(true, 1), (true, 1), (false, 1), (false, 1)], false);
    }
}
