//! Tasks (extension `io.modelcontextprotocol/tasks` of 2026-07-28): a client that takes them is told of one at once when
//! its call has to wait for a person. A task is a call record with an id that only its client can ask by; it runs by
//! itself as soon as it is approved (docs/approvals.md), and what it ended with is kept for a day.

use super::case::Case;
use super::moves::{self, Move};
use super::{decide, hold, settle, stand};
use crate::abort::{self, Point};
use crate::agent::SeatCore;
use crate::ask::{Pending, To};
use crate::backend::Backend;
use crate::core::Core;
use crate::operate::Event as Happening;
use crate::thing::Thing;
use bytes::Bytes;
use contract::outcome::{Code, Refusal};
use frame::object::quote;
use frame::{Answer, Ask, Era, Origin, Reply, Version};
use policy::{CallState, Event};
use std::rc::Rc;
use store::{CallRecord, Method, Outcome};
use tokio::time::{Instant, timeout_at};
use upstream::{State, task};

/// Whose word it is that a task was taken back.
const BY_CLIENT: &str = "its client";

/// Tells those who take tasks that their call is one. The id is durable before anybody has it.
pub(crate) async fn tell(core: &Rc<Core>, case: &Rc<Case>) {
    let takes = |ask: &Ask| &*ask.method == "tools/call" && ask.origin.takes_tasks();
    // What is on its way to run is answered by its end.
    let mut is_asked = false;
    case.each(|asker| is_asked |= takes(&asker.ask));
    if !is_asked || !case.is_free() || !matches!(case.state(), CallState::Waiting | CallState::Approved) {
        return;
    }
    if !case.is_task() {
        let Some(id) = fresh() else { return };
        if moves::note(core, case, |row| row.task = Some(id)).await.is_err() {
            // Nobody is told of a task that a restart would forget.
            return hold::tell_pending(case, |asker| takes(&asker.ask));
        }
        core.gate.index.enter_task(case);
        abort::at(Point::Tasked, &case.row().tool);
    }
    let mut said = None;
    case.each(|asker| said = takes(&asker.ask).then(|| asker.ask.origin.capabilities.clone()).or(said.take()));
    if said.is_some() {
        *case.capabilities.borrow_mut() = said;
    }
    let told = case.take(|asker| takes(&asker.ask));
    if told.is_empty() {
        // They left before they knew of it: nothing runs by itself for nobody.
        core.gate.index.leave_task(case);
        let _ = moves::note(core, case, |row| row.task = None).await;
        return;
    }
    let text = stand::begun(&case.row());
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
    let Some(case) = ask.params.string("taskId").and_then(|id| own(seat, &id)) else {
        return reply.done(Answer::error(-32602, "there is no such task, or it is no longer kept"));
    };
    match &*ask.method {
        "tasks/get" => get(core, &case, reply),
        "tasks/cancel" => cancel(core, &case, reply),
        _ => update(core, &case, ask, reply),
    }
}

/// Its client answers what its server asked. What nobody asked is nobody's answer.
fn update(core: &Rc<Core>, case: &Rc<Case>, ask: &Ask, reply: Box<dyn Reply>) {
    let Some(responses) = ask.params.get("inputResponses").filter(|raw| raw.first() == Some(&b'{')) else {
        return reply.done(Answer::error(-32602, "tasks/update needs `inputResponses`, an object"));
    };
    if case.state() == CallState::Approved && case.awaits_answer() {
        let is_all = case.question.borrow_mut().as_mut().is_some_and(|question| question.answer(&responses));
        case.note(|_| {});
        if is_all && case.is_free() {
            *case.badge.borrow_mut() = None;
            decide::claim(core, case);
        }
    }
    reply.done(Answer::result("{}"));
}

/// A task of this client: another one's does not exist for it.
pub(crate) fn own(seat: &SeatCore, id: &str) -> Option<Rc<Case>> {
    seat.core.gate.index.of_task(id).filter(|case| case.row().client == **seat.identity.id())
}

/// The error of whoever asks for a task and has not said that it takes any.
pub(crate) fn missing() -> Answer {
    let text = "{\"code\":-32021,\"message\":\"tasks need the client capability io.modelcontextprotocol/tasks on the \
                request\",\"data\":{\"requiredCapabilities\":{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}}";
    Answer::Error(Bytes::from_static(text.as_bytes()).into())
}

fn get(core: &Rc<Core>, case: &Rc<Case>, reply: Box<dyn Reply>) {
    if let Some(stand) = stand::now(core, case) {
        return reply.done(stand.answer());
    }
    let (core, case) = (Rc::clone(core), Rc::clone(case));
    task::spawn("read what a task ended with", async move { reply.done(stand::read(&core, &case).await.answer()) });
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

/// A task's own request, where its client is not there to ask: the stored bytes under the tool's own name, what its client
/// said that it can do, and what it answered to the question before.
pub(crate) fn pending(core: &Rc<Core>, case: &Rc<Case>) -> Option<Pending> {
    let row = case.row();
    row.task.as_ref()?;
    let (thing, arguments) = (tool(core, &row)?, row.edited.clone().or_else(|| row.arguments.clone())?);
    let mut params = format!("{{\"name\":{},\"arguments\":", quote(&row.tool)).into_bytes();
    params.extend_from_slice(&arguments);
    if let Some(question) = case.question.borrow().as_ref().filter(|question| question.is_answered()) {
        params.extend_from_slice(question.members().as_bytes());
    }
    params.push(b'}');
    let info = format!("{{\"name\":{},\"version\":\"\"}}", quote(&row.client));
    let capabilities = case.capabilities.borrow().clone().unwrap_or_else(|| Bytes::from_static(b"{}"));
    let origin = Origin::new(Version::V2026, info.into(), capabilities, None);
    let seat = SeatCore::absent(core, &row);
    let params = Bytes::from(params).into();
    Some(Pending {
        ticket: seat.ticket(),
        seat,
        ask: Ask { method: "tools/call".into(), params, origin: Rc::new(origin), wants_progress: false },
        thing,
        received: Instant::now(),
        arguments: Some(arguments),
        repaired: case.repaired.borrow().clone(),
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
