//! What a person says of a waiting call: one winner, durable before anybody is told, bound to the bytes that were
//! shown. An approval runs nothing by itself unless somebody still waits for it.

use super::case::Case;
use super::moves::{self, Move};
use super::{absent, hold, judged, meet, now_ms, rest, retold, still, task as tasks};
use crate::ask::{self, Pending};
use crate::catalog::ToolEntry;
use crate::core::Core;
use crate::operate::{Event as Happening, Refusal as Refused};
use crate::person::{Decided, Decision, Outcome as Verdict, Said};
use crate::thing::{self, Thing};
use crate::who::Who;
use bytes::Bytes;
use contract::outcome::{Code, Refusal};
use contract::{Arguments, Effort, Hash, Unfit};
use frame::object;
use policy::{CallState, Event, Grant, Judgement, Scope, Then};
use std::rc::Rc;
use std::time::{Duration, Instant};
use store::{CallNumber, CallRecord, Kind, Method, Outcome};
use upstream::task;

/// How long one turn over many waiting calls may take; each of them takes up to a millisecond more.
const TURN: Duration = Duration::from_micros(200);

/// Decides a waiting call. The first decision holds; who comes later is told whose it was.
///
/// # Errors
/// There is no such call, it is not what was shown, or the edited arguments do not fit.
pub(crate) async fn decide(core: &Rc<Core>, said: Said) -> Result<Verdict, Refused> {
    let case = match find(core, &said.id) {
        Some(case) => case,
        None => return core.gate.recent(&said.id).map(Verdict::Past).ok_or_else(|| unknown(&said.id)),
    };
    while case.is_deciding.get() {
        // A moment: until the other decision is durable.
        case.decided.notified().await;
    }
    if case.state() == CallState::Waiting && case.row().expires_ms <= now_ms() {
        expire(core, &case);
    }
    if case.state() != CallState::Waiting {
        return Ok(Verdict::Anothers(decided(&case)));
    }
    if said.digest.is_some_and(|digest| Some(digest) != case.row().sent) {
        let message = "the call is not the one that was shown: its arguments are others";
        return Err(Refused::new("digest_changed", message).then(format!("callgate approval show {}", said.id)));
    }
    let unwritten = match said.decision {
        Decision::Approve { arguments, scope } => {
            look_again(core, &case).await?;
            approve(core, &case, arguments, scope, &said.by).await?;
            None
        }
        Decision::Deny { reason } => deny(core, &case, reason, &said.by).await?,
    };
    let mut decided = Decided { unwritten, ..decided(&case) };
    if case.state() == CallState::Approved {
        if case.is_wanted() {
            claim(core, &case);
        }
        decided.runs = is_on_its_way(&case);
        decided.keeps = Some(case.row().clone()).filter(|_| !decided.runs).and_then(|row| absent::why(core, &row));
    }
    core.gate.remember(decided.clone());
    core.happened(Happening::Decision(decided.clone()));
    core.queue_changed();
    if decided.state == CallState::Approved {
        if case.row().scope.is_some_and(|scope| scope > Scope::Once) {
            judge_again(core);
        }
    } else {
        tell_verdict(core, &case);
    }
    Ok(Verdict::Yours(decided))
}

/// A waiting call that is written down, by its id.
pub(crate) fn find(core: &Core, id: &str) -> Option<Rc<Case>> {
    let call = CallNumber(id.parse::<contract::CallId>().ok()?.row());
    core.gate.index.of_call(call).filter(|case| case.is_written())
}

pub(crate) fn unknown(id: &str) -> Refused {
    let id = contract::visible::escape(id);
    Refused::new("unknown_approval", format!("no call `{id}` waits")).then("callgate approval list")
}

/// The decision of a case, as it stands.
pub(crate) fn decided(case: &Case) -> Decided {
    let row = case.row();
    let state = match row.state {
        CallState::Denied | CallState::Expired => row.state,
        _ => CallState::Approved,
    };
    Decided {
        id: case.id().to_string(),
        state,
        by: row.decided_by.clone(),
        at_ms: row.decided_ms,
        scope: row.scope,
        reason: row.reason.clone(),
        edited: row.edited.is_some(),
        runs: is_on_its_way(case),
        keeps: None,
        unwritten: None,
    }
}

/// Whether it runs now: what holds it, or a definition that changed, may keep an approved call from that.
fn is_on_its_way(case: &Case) -> bool {
    match case.state() {
        CallState::Intent | CallState::Settled => true,
        CallState::Approved => case.under_way.get(),
        _ => false,
    }
}

async fn approve(
    core: &Rc<Core>,
    case: &Rc<Case>,
    edited: Option<String>,
    scope: Option<Scope>,
    by: &str,
) -> Result<(), Refused> {
    if case.row().is_unreadable {
        let message = "its arguments cannot be opened any more, so nobody can see what would run: the key that sealed \
                       them is gone, or they were changed. It can only be denied; its client can ask anew then";
        return Err(Refused::new("unreadable", message).then(format!("callgate approval deny {}", case.id())));
    }
    // A tool that asks once is remembered unless the person says otherwise (docs/policy.md).
    let (usual, most) = judged::scopes(core, case);
    let scope = scope.unwrap_or(if edited.is_some() { Scope::Once } else { usual });
    if scope > most {
        let message = format!("this call can be remembered for `{}` at most", most.as_str());
        return Err(Refused::new("scope_too_wide", message));
    }
    let edited = match edited {
        None => None,
        Some(text) => {
            case.is_deciding.set(true);
            let fitting = fit(core, case, text).await;
            case.decision_over();
            Some(fitting?)
        }
    };
    let grant = (scope > Scope::Once).then(|| {
        let row = case.row();
        Grant {
            client: row.client.as_str().into(),
            server: row.server.as_str().into(),
            launch: row.launch.as_str().into(),
            tool: row.tool.as_str().into(),
            definition: row.definition.unwrap_or(Hash::of(b"")),
            effect: row.effect,
            session: (scope == Scope::Session).then(|| row.session.as_str().into()),
            at_ms: now_ms(),
            by: by.into(),
            call: Some(case.id()),
        }
    });
    // What held its kind was on the card.
    let knew = core.backend(&case.row().server).map(|backend| still::all(core, &backend, case.row().effect));
    let knew = knew.unwrap_or_default();
    moves::make(core, case, Move { event: Event::Approve, by, grant }, |row| {
        row.scope = Some(scope);
        if let Some((text, digest)) = edited {
            row.edited = Some(text);
            row.sent = Some(digest);
        }
    })
    .await?;
    *case.knew.borrow_mut() = knew;
    *case.badge.borrow_mut() = None;
    if case.row().edited.is_some() {
        *case.repaired.borrow_mut() = None;
    }
    Ok(())
}

/// What a tool promises now and did not when a call of it was asked about.
pub(crate) fn changed(tool: &ToolEntry, row: &CallRecord) -> Option<String> {
    let what = difference(tool, &row.launch, row.definition)?;
    Some(format!("since this was asked about, {what}"))
}

/// What of a tool is not as a person saw it.
pub(crate) fn difference(tool: &ToolEntry, launch: &str, definition: Option<Hash>) -> Option<&'static str> {
    if tool.backend.rules().launch_hash.as_ref() != launch {
        Some("its server is launched in another way")
    } else if definition != Some(tool.read.stands_for) {
        Some("the tool's definition is another one")
    } else {
        None
    }
}

/// An approval is bound to the definition that its card shows: where that has changed, the card says so first.
async fn look_again(core: &Rc<Core>, case: &Rc<Case>) -> Result<(), Refused> {
    let Some(Thing::Tool(tool)) = tasks::tool(core, &case.row()) else { return Ok(()) };
    let Some(changed) = changed(&tool, &case.row()) else { return Ok(()) };
    moves::note(core, case, |row| {
        row.definition = Some(tool.read.stands_for);
        row.launch = tool.backend.rules().launch_hash.to_string();
        row.effect = tool.read.effect;
    })
    .await?;
    *case.badge.borrow_mut() = Some(changed.clone());
    core.queue_changed();
    let message = format!("not approved: {changed}; look at it as it is now, then decide");
    Err(Refused::new("definition_changed", message).then(format!("callgate approval show {}", case.id())))
}

/// Edited arguments, checked against the tool's schema as it is now. Nobody need wait for the call any more.
async fn fit(core: &Rc<Core>, case: &Rc<Case>, text: String) -> Result<(Bytes, Hash), Refused> {
    if case.row().method != Method::ToolCall {
        let message =
            "what is no call of a tool runs as it was asked: its params are never edited; approve or deny it as it is";
        return Err(Refused::new("invalid_arguments", message));
    }
    let is_marked = text.contains(contract::answer::REMOVED);
    if is_marked
        && case
            .row()
            .arguments
            .as_ref()
            .is_none_or(|asked| !String::from_utf8_lossy(asked).contains(contract::answer::REMOVED))
    {
        let message = "the arguments hold a secret that is not shown, so the text that is shown would not be what runs; \
                       approve or deny the call as it is, or write the whole value";
        return Err(Refused::new("invalid_arguments", message));
    }
    let thing = case.first(core).map(|Pending { thing, .. }| thing).or_else(|| tasks::tool(core, &case.row()));
    let tool = match &thing {
        Some(Thing::Tool(tool)) => tool,
        Some(Thing::Other(_)) | None => {
            let why = absent::why(core, &case.row()).map(|why| format!(" ({why})")).unwrap_or_default();
            let message = format!(
                "what it asks for is not there{why}, so that edited arguments could not be checked; approve or deny it \
                 as it is"
            );
            return Err(Refused::new("detached", message));
        }
    };
    let compiled = tool.compiled().map_err(|fault| Refused::new("invalid_arguments", fault))?;
    let leave_out: Option<Box<str>> = thing::left_out(tool).map(Into::into);
    let judging = core.gate.judging(Who::of_id(&case.row().client).known_name(), &Thing::Tool(Rc::clone(tool)));
    let checked = tokio::task::spawn_blocking(move || {
        let mut arguments = Arguments::read(Some(text.as_bytes())).map_err(Unfit::into_problems)?;
        arguments.check(&compiled, Effort::LONG).map_err(Unfit::into_problems)?;
        let digest = arguments.digest(leave_out.as_deref());
        let fitting = Bytes::copy_from_slice(arguments.text().as_bytes());
        let judgement = judging.judge(&fitting);
        Ok::<_, Vec<contract::Problem>>((fitting, digest, judgement))
    });
    match checked.await {
        Ok(Ok((fitting, digest, judgement))) => {
            allowed(case, tool, &fitting, &judgement)?;
            Ok((fitting, core.ledger.keyed(digest)))
        }
        Ok(Err(problems)) => {
            let all: Vec<String> = problems.iter().map(contract::Problem::sentence).collect();
            Err(Refused::new("invalid_arguments", all.join("\n")))
        }
        Err(_) => Err(Refused::new("internal", "the arguments could not be checked")),
    }
}

/// What the rules deny is not approved, and the key under which its client knows the call stays.
fn allowed(case: &Case, tool: &ToolEntry, fitting: &Bytes, judgement: &Judgement) -> Result<(), Refused> {
    let row = case.row();
    if key_of(tool, row.arguments.as_ref()) != key_of(tool, Some(fitting)) {
        let named = &tool.backend.rules().idempotency_argument;
        let message = format!("`{named}` is the key under which its client knows the call: it can't be edited");
        return Err(Refused::new("invalid_arguments", message));
    }
    if judgement.then() == Then::Deny {
        let why = judgement.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
        let message = format!("not approved: with these arguments a rule denies it{why}");
        return Err(Refused::new("denied", message).then(format!("callgate approval show {}", case.id())));
    }
    Ok(())
}

/// The idempotency key among these arguments, as it stands there; null is none.
fn key_of(tool: &ToolEntry, arguments: Option<&Bytes>) -> Option<Bytes> {
    let named = &tool.backend.rules().idempotency_argument;
    let key = arguments.filter(|_| tool.read.tool.takes(named)).and_then(|arguments| object::get(arguments, named));
    key.filter(|key| &key[..] != b"null")
}

async fn deny(core: &Rc<Core>, case: &Rc<Case>, reason: Option<String>, by: &str) -> Result<Option<String>, Refused> {
    // It goes to the client and into the log: no secret that any server was given goes along.
    let reason = core
        .backends()
        .iter()
        .fold(reason.unwrap_or_default(), |reason, backend| backend.rules().cleaner.redact(&reason).into_owned());
    let unwritten = moves::make(core, case, Move { event: Event::Deny, by, grant: None }, |row| {
        row.reason = reason;
        row.arguments = None;
        row.edited = None;
    })
    .await?;
    rest::denied(core, &case.row());
    Ok(unwritten)
}

/// Nobody decided in time, or nobody came back for it: a no with its own reason.
pub(crate) fn expire(core: &Rc<Core>, case: &Rc<Case>) {
    if !meet::step(case, Event::Expire) {
        return;
    }
    case.note(|row| {
        row.decided_ms = now_ms();
        row.arguments = None;
        row.edited = None;
    });
    let row = case.row().clone();
    let note = core.ledger.case_note(&row, Kind::Expired, Outcome::ApprovalExpired);
    // A row that stays as it was expires again at the next start.
    drop(core.ledger.put_call(row, Some(note)));
    let decided = decided(case);
    core.gate.remember(decided.clone());
    core.happened(Happening::Decision(decided));
    core.queue_changed();
    tell_verdict(core, case);
}

/// Tells all who wait; where nobody does, the next identical call is told, once. A task is told when it is asked for.
pub(crate) fn tell_verdict(core: &Core, case: &Rc<Case>) {
    if !case.is_wanted() {
        return;
    }
    let refusal = verdict_of(case);
    for asker in case.take(|_| true) {
        asker.reply.done(asker.thing.refused(&refusal));
    }
    if case.is_told_to_all() {
        retold::over(core, case, refusal);
    }
}

/// Why a call that was to wait for a person will not run: a person's no, time, its client, or what came in between.
pub(crate) fn verdict_of(case: &Case) -> Refusal {
    let row = case.row();
    let refusal = match row.state {
        CallState::Expired if row.task.is_some() && case.question.borrow().is_some() => {
            let message = "Its server asked its client something first, which was not answered in time. Nothing was \
                           executed after that.";
            Refusal::new(Code::ApprovalExpired, message)
        }
        CallState::Expired if row.scope.is_some() => {
            let message = format!(
                "A person approved this call, but it was not called again before {}, when its time was over. Nothing \
                 was executed.",
                hold::moment(row.expires_ms)
            );
            Refusal::new(Code::ApprovalExpired, message)
        }
        CallState::Expired => {
            let message = "Nobody decided about this call in time, which counts as a no. Nothing was executed.";
            Refusal::new(Code::ApprovalExpired, message)
        }
        _ if row.outcome == Outcome::Cancelled => {
            Refusal::new(Code::Cancelled, "Its client took this call back. Nothing was executed.")
        }
        _ if !matches!(row.outcome, Outcome::None | Outcome::Denied) => {
            Refusal::new(Code::parse(row.outcome.as_str()).unwrap_or(Code::Denied), row.reason.clone())
        }
        _ if row.reason.is_empty() => Refusal::new(Code::Denied, "A person denied this call. Nothing was executed."),
        _ => {
            let reason = contract::visible::escape(&row.reason);
            Refusal::new(Code::Denied, format!("A person denied this call: {reason}. Nothing was executed."))
        }
    };
    refusal.of_call(case.id())
}

/// Sends an approved call on its way for somebody who waits; it is judged again by what holds now.
pub(crate) fn claim(core: &Rc<Core>, case: &Rc<Case>) {
    if case.awaits_answer() {
        return;
    }
    let Some(mut call) = case.first(core) else { return tasks::find(core, case) };
    case.under_way.set(true);
    // As of now, not as of when it was asked.
    call.thing = call.thing.as_of_now(&call.seat, &call.ask.params);
    ask::check(call);
}

/// What a new grant, or the end of a pause, lets through is let through. There may be a thousand: in short turns.
pub(crate) fn judge_again(core: &Rc<Core>) {
    let core = Rc::clone(core);
    task::spawn("judge waiting calls again", async move {
        let mut turn = Instant::now();
        for case in core.gate.index.all() {
            let is_free = case.is_free() && case.is_wanted();
            match case.state() {
                CallState::Waiting if is_free => hold::reconsider(&core, &case),
                CallState::Approved if is_free => claim(&core, &case),
                _ => {}
            }
            if turn.elapsed() > TURN {
                tokio::task::yield_now().await;
                turn = Instant::now();
            }
        }
    });
}
