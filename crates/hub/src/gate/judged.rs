//! What the rules say of a call that waits: as it was judged when it was asked about, and of one that waited over a restart
//! of the hub, which keeps no judgement, as they judge it now.

use super::apart;
use super::case::Case;
use super::task;
use crate::core::Core;
use crate::who::Who;
use bytes::Bytes;
use frame::object;
use policy::{Judgement, Profile, Scope, Target};
use std::borrow::Cow;
use store::{CallRecord, Method};

/// For what an approval of it is remembered when the person says nothing about it, and at most.
pub(crate) fn scopes(core: &Core, case: &Case) -> (Scope, Scope) {
    if let Some(judgement) = &*case.judgement.borrow() {
        return (judgement.usual(), judgement.most());
    }
    // Nobody knows what it would be remembered as.
    let judgement = now(core, &case.row(), case.arguments().as_ref());
    judgement.map_or((Scope::Once, Scope::Once), |judgement| (judgement.usual(), judgement.most()))
}

/// None where what it asks for is not there, or where that hangs on arguments that are too long for a look.
fn now(core: &Core, row: &CallRecord, arguments: Option<&Bytes>) -> Option<Judgement> {
    let host = Who::of_id(&row.client);
    let bare = |target, name: &str| {
        let profile = Profile::bare(target, name, &row.tool, &row.server, row.effect);
        Some(core.gate.judge_bare(host.known_name(), &profile))
    };
    match row.method {
        Method::ToolCall => match core.gate.judging(host.known_name(), &task::tool(core, row)?) {
            apart::Judging::Said(judgement) => Some(judgement),
            judging => Some(judging.judge(arguments.filter(|arguments| arguments.len() < apart::LONG)?)),
        },
        Method::PromptGet => bare(Target::Prompt, &row.name),
        // Of a resource that is not listed the name says only where it lies.
        Method::ResourceRead => {
            let uri = object::get(arguments?, "uri");
            let uri = uri.as_deref().and_then(object::text).unwrap_or(Cow::Borrowed(&row.name));
            bare(Target::Resource, &uri)
        }
        _ => bare(Target::Method, &row.name),
    }
}
