//! What people have allowed that holds for calls to come, and taking it back: in memory at once, durable before it is
//! answered. It only tightens: nothing is denied by it and nothing runs.

use super::case::Case;
use super::{decide, moves, now_ms, retold};
use crate::catalog::ToolEntry;
use crate::core::Core;
use crate::operate::Refusal as Refused;
use crate::person::{Forget, Forgotten, Remembered};
use contract::CallId;
use contract::visible::escape;
use policy::{CallState, Grant, Scope, Then};
use std::collections::HashMap;
use std::rc::Rc;

/// All of it, the latest first. What does not let anything through any more says why.
pub(crate) fn remembered(core: &Rc<Core>) -> Vec<Remembered> {
    let tools = Tools::of(core);
    let grants = core.gate.grants.borrow();
    let approved = core.gate.index.all().into_iter().filter(is_open);
    let mut all: Vec<Remembered> = grants.iter().map(|grant| tools.granted(grant)).collect();
    all.extend(approved.map(|case| tools.approved(&case)));
    all.sort_by(|a, b| b.at_ms.cmp(&a.at_ms).then_with(|| b.call.cmp(&a.call)));
    all
}

/// Takes it back; answered with what held until now.
///
/// # Errors
/// Nothing is held for one of the calls: then nothing is taken back.
pub(crate) async fn forget(core: &Rc<Core>, which: Forget, by: &str) -> Result<Forgotten, Refused> {
    for case in core.gate.index.all() {
        while case.is_deciding.get() {
            // A moment: what is being approved is remembered, or not, when that is written.
            case.decided.notified().await;
        }
    }
    let all = remembered(core);
    let is_meant: Box<dyn Fn(&Remembered) -> bool> = match which {
        Forget::All => Box::new(|_| true),
        Forget::With(ids) => {
            let calls = ids.iter().map(|id| meant(core, &all, id)).collect::<Result<Vec<CallId>, Refused>>()?;
            Box::new(move |it| it.call.is_some_and(|call| calls.contains(&call)))
        }
    };
    let mut meant: Vec<Remembered> = all.into_iter().filter(is_meant).collect();
    let written: Vec<_> = drop_grants(core, &meant).iter().map(|grant| core.ledger.forget_grants(grant, by)).collect();
    let mut late = None;
    let mut unwritten = None;
    for call in meant.iter().filter(|it| it.scope == Scope::Once).filter_map(|it| it.call).collect::<Vec<_>>() {
        match decide::find(core, &call.to_string()).filter(is_open) {
            Some(case) => unwritten = reopen(core, &case, by).await?.or(unwritten),
            None => {
                // It was redeemed while another one was being written down.
                meant.retain(|it| it.scope != Scope::Once || it.call != Some(call));
                late = Some(call);
            }
        }
    }
    for written in written {
        unwritten = written.await.err().or(unwritten);
    }
    match late.filter(|_| meant.is_empty()) {
        Some(call) => Err(nothing(&call.to_string(), Some(CallState::Intent))),
        None => Ok(Forgotten { forgotten: meant, unwritten }),
    }
}

/// Takes these out of what holds; of those that were given with one approval for one tool, one.
fn drop_grants(core: &Core, meant: &[Remembered]) -> Vec<Grant> {
    let mut gone: Vec<Grant> = Vec::new();
    core.gate.grants.borrow_mut().retain(|grant| {
        let is_gone = meant.iter().any(|it| is_of(it, grant));
        gone.extend(is_gone.then(|| grant.clone()));
        !is_gone
    });
    gone.sort_by(|a, b| (&a.client, &a.server, &a.tool, a.call).cmp(&(&b.client, &b.server, &b.tool, b.call)));
    gone.dedup_by(|a, b| (&a.client, &a.server, &a.tool, a.call) == (&b.client, &b.server, &b.tool, b.call));
    gone
}

/// A call that is approved and that nobody runs yet.
fn is_open(case: &Rc<Case>) -> bool {
    case.is_written() && case.state() == CallState::Approved && case.is_free() && case.row().expires_ms > now_ms()
}

fn is_of(it: &Remembered, grant: &Grant) -> bool {
    it.scope == grant.scope()
        && (it.call, it.at_ms) == (grant.call, grant.at_ms)
        && (&*it.client, &*it.server, &*it.tool) == (&*grant.client, &*grant.server, &*grant.tool)
}

/// The call of that id, for which something is held.
fn meant(core: &Core, all: &[Remembered], id: &str) -> Result<CallId, Refused> {
    let call = id.parse::<CallId>().ok();
    if let Some(call) = call.filter(|call| all.iter().any(|it| it.call == Some(*call))) {
        return Ok(call);
    }
    Err(nothing(id, decide::find(core, id).map(|case| case.state())))
}

/// There is nothing to forget of a call that stands so.
fn nothing(id: &str, state: Option<CallState>) -> Refused {
    let shown = escape(id);
    let (why, next) = match state {
        Some(CallState::Waiting) => ("it waits, nobody has approved it", format!("callgate approval deny {shown}")),
        Some(CallState::Approved | CallState::Intent) => {
            ("it is on its way already, which nobody takes back", format!("callgate audit show {shown}"))
        }
        _ => ("no approval of it is remembered or left to be used", "callgate approval remembered".to_owned()),
    };
    Refused::new("unknown_approval", format!("there is nothing to forget of call `{shown}`: {why}")).then(next)
}

async fn reopen(core: &Rc<Core>, case: &Rc<Case>, by: &str) -> Result<Option<String>, Refused> {
    let given = case.row().decided_by.clone();
    let why = format!("its approval by {given} was taken back; it waits for a person again");
    let unwritten = moves::reopen(core, case, by, why).await?;
    case.knew.borrow_mut().clear();
    *case.badge.borrow_mut() = Some(format!("it was approved, and that was taken back by {by}"));
    core.queue_changed();
    Ok(unwritten)
}

/// The tools of now, by server and own name.
struct Tools<'a> {
    core: &'a Rc<Core>,
    all: HashMap<(Rc<str>, Rc<str>), Rc<ToolEntry>>,
}

impl Tools<'_> {
    fn of(core: &Rc<Core>) -> Tools<'_> {
        let of =
            |tool: Rc<ToolEntry>| ((tool.backend.key().as_ref().into(), tool.read.tool.name.as_ref().into()), tool);
        Tools { core, all: core.every_tool().into_iter().map(of).collect() }
    }

    fn find(&self, server: &str, tool: &str) -> Option<&Rc<ToolEntry>> {
        self.all.get(&(server.into(), tool.into()))
    }

    fn granted(&self, grant: &Grant) -> Remembered {
        let tool = self.find(&grant.server, &grant.tool);
        Remembered {
            call: grant.call,
            client: grant.client.to_string(),
            server: grant.server.to_string(),
            tool: grant.tool.to_string(),
            name: tool.map(|tool| tool.read.exposed.clone()),
            effect: grant.effect,
            scope: grant.scope(),
            at_ms: grant.at_ms,
            by: grant.by.to_string(),
            until_ms: None,
            lapsed: self.missing(&grant.server, tool).or_else(|| tool.and_then(|tool| self.lapsed(grant, tool))),
        }
    }

    fn approved(&self, case: &Case) -> Remembered {
        let row = case.row();
        let tool = self.find(&row.server, &row.tool);
        Remembered {
            call: Some(case.id()),
            client: row.client.clone(),
            server: row.server.clone(),
            tool: row.tool.clone(),
            name: Some(row.name.clone()),
            effect: row.effect,
            scope: Scope::Once,
            at_ms: row.decided_ms,
            by: row.decided_by.clone(),
            until_ms: Some(row.expires_ms),
            lapsed: tool.and_then(|tool| match tool.backend.is_past(row.decided_ms) {
                true => Some(ANEW.to_owned()),
                false => decide::difference(tool, &row.launch, row.definition).map(str::to_owned),
            }),
        }
    }

    fn missing(&self, server: &str, tool: Option<&Rc<ToolEntry>>) -> Option<String> {
        match (self.core.backend(server), tool) {
            (None, _) => Some("its server is not in the config any more".to_owned()),
            (Some(backend), None) if backend.is_listed() => Some("its server lists no such tool any more".to_owned()),
            (Some(_), _) => None,
        }
    }

    fn lapsed(&self, grant: &Grant, tool: &ToolEntry) -> Option<String> {
        if let Some(what) = decide::difference(tool, &grant.launch, Some(grant.definition)) {
            return Some(what.to_owned());
        }
        if tool.backend.is_past(grant.at_ms) {
            return Some(ANEW.to_owned());
        }
        if tool.read.effect > grant.effect {
            return Some(format!("the tool counts as {} now", tool.read.effect.as_str()));
        }
        if grant.session.as_deref().is_some_and(retold::is_gone(self.core)) {
            return Some("its session is not connected".to_owned());
        }
        let standing = self.core.gate.standing(tool);
        let judgement = standing.always()?;
        match judgement.then() {
            Then::Deny => Some("a rule denies the tool now".to_owned()),
            Then::Ask if judgement.most() < grant.scope() => {
                Some(format!("the rules let it be remembered for `{}` at most now", judgement.most().as_str()))
            }
            Then::Ask | Then::Allow => None,
        }
    }
}

/// Of a server that keeps something in memory.
const ANEW: &str = "its server has been started anew since";
