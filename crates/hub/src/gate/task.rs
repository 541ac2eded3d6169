//! Tasks (extension `io.modelcontextprotocol/tasks` of 2026-07-28): a client that takes them is told of one at once when
//! its call has to wait for a person. A task is a call record with an id that only its client can ask by; it runs by
//! itself as soon as it is approved (rules.md 19), and what it ended with is kept for a day.

use super::case::Case;
use super::moves::{self, Move};
use super::{decide, hold, settle};
use crate::agent::SeatCore;
use crate::ask::{Pending, To};
use crate::backend::Backend;
use crate::core::Core;
use crate::operate::Event as Happening;
use crate::thing::Thing;
use bytes::Bytes;
use contract::outcome::{Code, Output, Refusal};
use frame::object::quote;
use frame::{Answer, Ask, Era, Origin, Reply, Version};
use policy::{CallState, Event};
use std::rc::Rc;
use store::{CallRecord, KEYS_KEPT_MS, Method, Outcome};
use tokio::time::{Instant, timeout_at};
use upstream::{State, task};

/// How often a client is asked to look, in ms.
const POLL_MS: u64 = 2_000;
/// Whose word it is that a task was taken back.
const BY_CLIENT: &str = "its client";

/// Tells those who take tasks that their call is one. The id is durable before anybody has it.
pub(crate) async fn tell(core: &Rc<Core>, case: &Rc<Case>) {
    let takes = |ask: &Ask| &*ask.method == "tools/call" && ask.origin.takes_tasks();
    // What is on its way to run is answered by its end.
    let is_free = || !case.under_way.get() && !case.is_deciding.get();
    let mut is_asked = false;
    case.each(|asker| is_asked |= takes(&asker.ask));
    if !is_asked || !is_free() || !matches!(case.state(), CallState::Waiting | CallState::Approved) {
        return;
    }
    if !case.is_task() {
        let Some(id) = fresh() else { return };
        if moves::note(core, case, |row| row.task = Some(id)).await.is_err() {
            // Nobody is told of a task that a restart would forget.
            return hold::tell_pending(case, |asker| takes(&asker.ask));
        }
        core.gate.index.enter_task(case);
    }
    let told = case.take(|asker| takes(&asker.ask));
    if told.is_empty() {
        // They left before they knew of it: nothing runs by itself for nobody.
        core.gate.index.leave_task(case);
        let _ = moves::note(core, case, |row| row.task = None).await;
        return;
    }
    let row = case.row().clone();
    let text = document(&row, "task", "working", &sentence(&row), "");
    for asker in told {
        asker.reply.done(Answer::Result { era: Era::Modern, body: text.clone().into() });
    }
}

/// An id that nobody can guess.
fn fresh() -> Option<String> {
    let mut bytes = [0u8; 20];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().fold(String::from("task-"), |text, byte| text + &format!("{byte:02x}")))
}

/// Answers `tasks/get`, `tasks/update` and `tasks/cancel`. Another client's task is as unknown as none.
pub(crate) fn ask(seat: &Rc<SeatCore>, ask: &Ask, reply: Box<dyn Reply>) {
    let core = &seat.core;
    if !ask.origin.takes_tasks() {
        return reply.done(missing());
    }
    let found = ask.params.string("taskId").and_then(|id| core.gate.index.of_task(&id));
    let is_its_own = |case: &Rc<Case>| case.row().client == **seat.identity.id();
    let Some(case) = found.filter(is_its_own) else {
        return reply.done(Answer::error(-32602, "there is no such task, or it is no longer kept"));
    };
    match &*ask.method {
        "tasks/get" => get(core, &case, reply),
        "tasks/cancel" => cancel(core, &case, reply),
        // The hub asks nothing of a task's client, so that there is nothing to answer.
        _ => reply.done(Answer::result("{}")),
    }
}

fn missing() -> Answer {
    let text = "{\"code\":-32021,\"message\":\"tasks need the client capability io.modelcontextprotocol/tasks on the \
                request\",\"data\":{\"requiredCapabilities\":{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}}";
    Answer::Error(Bytes::from_static(text.as_bytes()).into())
}

fn get(core: &Rc<Core>, case: &Rc<Case>, reply: Box<dyn Reply>) {
    let row = case.row().clone();
    let complete =
        |status, message: &str, more: &str| Answer::result(document(&row, "complete", status, message, more));
    let refused = |refusal: &Refusal| {
        let result = refusal.tool_result(output(core, &row));
        complete("completed", &refusal.message, &format!(",\"result\":{result}"))
    };
    match row.state {
        CallState::Settled => {
            let (core, case) = (Rc::clone(core), Rc::clone(case));
            task::spawn("read what a task ended with", async move { reply.done(ended(&core, &case).await) });
        }
        // Told when it can no longer be undone.
        CallState::Denied if !case.is_written.get() => reply.done(complete("working", "It is ending.", "")),
        CallState::Denied if row.outcome == Outcome::Cancelled => {
            reply.done(complete("cancelled", "Its client took it back. Nothing was executed.", ""));
        }
        CallState::Denied | CallState::Expired => reply.done(refused(&decide::verdict_of(case))),
        CallState::Unknown => {
            let message =
                "It was sent and nobody knows whether it ran. It is not run again; a person has to settle it.";
            reply.done(refused(&Refusal::new(Code::OutcomeUnknown, message).of_call(case.id())));
        }
        CallState::Reserved | CallState::Waiting | CallState::Approved | CallState::Intent | CallState::Freed => {
            reply.done(complete("working", &sentence(&row), ""));
        }
    }
}

/// What a task that has run gave.
async fn ended(core: &Rc<Core>, case: &Rc<Case>) -> Answer {
    let row = case.row().clone();
    let stored = match core.gate.index.is_unwritten(row.call) {
        None if row.has_result => core.ledger.result(row.call).await,
        unwritten => unwritten,
    };
    let (status, message, more) = match stored.and_then(|stored| settle::unpacked(&stored)) {
        Some(Answer::Result { body, .. }) => ("completed", "It ran.", format!(",\"result\":{}", text(&body.join()))),
        Some(Answer::Error(error)) => {
            let error = text(&error.join());
            ("failed", "Its server answered with an error.", format!(",\"error\":{error}"))
        }
        None => {
            let message = "It ran; what it gave is not kept. It is not run again.";
            let refusal = Refusal::new(Code::AlreadyRan, message).of_call(case.id());
            ("completed", message, format!(",\"result\":{}", refusal.tool_result(output(core, &row))))
        }
    };
    Answer::result(document(&row, "complete", status, message, &more))
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a refusal of it may carry: nothing structured where the tool is not known any more.
fn output(core: &Core, row: &CallRecord) -> Output {
    tool(core, row).map_or(Output::Declared, |thing| thing.tool().map_or(Output::Free, |tool| tool.output()))
}

/// A task as its client is told of it; `more` begins with a comma.
fn document(row: &CallRecord, kind: &str, status: &str, message: &str, more: &str) -> String {
    let since = row.asked_ms;
    let updated = since.max(row.decided_ms).max(row.ended_ms);
    // While nobody has decided it lives as long as it waits; what it ended with is kept for a day.
    let until = if row.state == CallState::Waiting { row.expires_ms } else { updated + KEYS_KEPT_MS };
    format!(
        "{{\"resultType\":\"{kind}\",\"taskId\":{},\"status\":\"{status}\",\"statusMessage\":{},\"createdAt\":\"{}\",\
         \"lastUpdatedAt\":\"{}\",\"ttlMs\":{},\"pollIntervalMs\":{POLL_MS}{more}}}",
        quote(row.task.as_deref().unwrap_or_default()),
        quote(message),
        hold::moment(since),
        hold::moment(updated),
        until.saturating_sub(since),
    )
}

/// How a task stands that has not ended. Never names a command that decides.
fn sentence(row: &CallRecord) -> String {
    let id = contract::CallId::new(row.call.0);
    match row.state {
        CallState::Waiting | CallState::Reserved => {
            format!(
                "Waiting for a person to decide (approval {id}). Not executed yet; it runs by itself once approved."
            )
        }
        CallState::Approved => format!("Approved (approval {id}); it is about to run."),
        _ => "It is running.".to_owned(),
    }
}

/// Its client wants it no more: what has not been sent will not be.
fn cancel(core: &Rc<Core>, case: &Rc<Case>, reply: Box<dyn Reply>) {
    let (core, case) = (Rc::clone(core), Rc::clone(case));
    task::spawn("take a task back", async move {
        loop {
            let decided = case.decided.notified();
            if !case.is_deciding.get() {
                break;
            }
            decided.await;
        }
        let written = match case.state() {
            CallState::Waiting | CallState::Approved if !case.under_way.get() => withdraw(&core, &case).await,
            CallState::Approved | CallState::Intent => {
                if let Some(run) = case.run() {
                    run.withdraw();
                }
                match case.state() {
                    CallState::Denied => moves::note(&core, &case, |_| {}).await,
                    // Its server has it: it goes on to its end.
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        };
        reply.done(match written {
            Ok(()) => Answer::result("{}"),
            Err(refused) => Answer::error(-32603, &refused.message),
        });
    });
}

async fn withdraw(core: &Rc<Core>, case: &Rc<Case>) -> Result<(), crate::operate::Refusal> {
    moves::make(core, case, Move { event: Event::Withdraw, by: BY_CLIENT, grant: None }, |row| {
        row.outcome = Outcome::Cancelled;
        row.arguments = None;
        row.edited = None;
    })
    .await?;
    let decided = decide::decided(case);
    core.gate.remember(decided.clone());
    core.happened(Happening::Decision(decided));
    core.queue_changed();
    decide::tell_verdict(core, case);
    Ok(())
}

/// A task's own request, where its client is not there to ask: the stored bytes under the tool's own name, and no
/// capability that nobody could answer for.
pub(crate) fn pending(core: &Rc<Core>, case: &Rc<Case>) -> Option<Pending> {
    let row = case.row();
    row.task.as_ref()?;
    let (thing, arguments) = (tool(core, &row)?, row.edited.clone().or_else(|| row.arguments.clone())?);
    let mut params = format!("{{\"name\":{},\"arguments\":", quote(&row.tool)).into_bytes();
    params.extend_from_slice(&arguments);
    params.push(b'}');
    let info = format!("{{\"name\":{},\"version\":\"\"}}", quote(&row.client));
    let origin = Origin::new(Version::V2026, info.into(), Bytes::from_static(b"{}"), None);
    let seat = SeatCore::absent(core, &row);
    let params = Bytes::from(params).into();
    Some(Pending {
        ticket: seat.ticket(),
        seat,
        ask: Ask { method: "tools/call".into(), params, origin: Rc::new(origin), wants_progress: false },
        thing,
        received: Instant::now(),
        arguments: Some(arguments),
        to: To::Case(Rc::clone(case)),
    })
}

/// The tool of a record as its server has it now.
pub(crate) fn tool(core: &Core, row: &CallRecord) -> Option<Thing> {
    let shelf = core.backend(&row.server).filter(|backend| !backend.rules().disabled)?.shelf();
    let tool = shelf.tools.iter().find(|tool| row.method == Method::ToolCall && **tool.own_name() == *row.tool)?;
    Some(Thing::Tool(Rc::clone(tool)))
}

/// Waits for the tool of an approved task whose server has not been listed yet; one that is not there ends the task.
pub(crate) fn find(core: &Rc<Core>, case: &Rc<Case>) {
    if !case.is_task() {
        return;
    }
    let (core, case) = (Rc::clone(core), Rc::clone(case));
    case.under_way.set(true);
    task::spawn("find the tool of a task", async move {
        let backend = core.backend(&case.row().server);
        if let Some(backend) = &backend {
            listed(backend).await;
        }
        case.under_way.set(false);
        if case.state() != CallState::Approved {
            return;
        }
        if case.first(&core).is_some() {
            return decide::claim(&core, &case);
        }
        let refusal = if case.row().is_unreadable {
            Refusal::new(Code::AuditUnavailable, "Its arguments can no longer be read. Nothing was executed.")
        } else {
            Refusal::new(Code::UnknownTool, "There is no such tool any more. Nothing was executed.")
        };
        settle::unrun(&core, &case, Event::Withdraw, &refusal.of_call(case.id()));
    });
}

async fn listed(backend: &Backend) {
    let Some(server) = backend.server() else { return };
    server.want();
    let deadline = Instant::now() + server.spec().start_timeout;
    loop {
        let news = backend.news.notified();
        let is_on_its_way = matches!(server.state().0, State::Stopped | State::Starting { .. } | State::Ready);
        if backend.is_listed() || !is_on_its_way || timeout_at(deadline, news).await.is_err() {
            return;
        }
    }
}
