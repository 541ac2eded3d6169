//! What follows from a change of the servers, in sentences for the person who made it: how a server stands, what of it waits
//! for a review (one for all of it), which calls wait for it. Only tells.

use hub::operate::{OperatorHandle, ServerAction};
use hub::person::{EntryState, Question, Then};
use std::collections::HashSet;
use std::time::Duration;

/// How long the beginning of a server is waited for: less than the answer to a change of the config may take.
const START: Duration = Duration::from_secs(15);

/// Of a server that is there anew.
pub async fn started(hub: &OperatorHandle, name: &str) -> Vec<String> {
    let diff = format!("callgate catalog diff --server {name}");
    match tokio::time::timeout(START, hub.act(name, ServerAction::Start)).await {
        Err(_) => {
            vec![format!("{name} is still starting (callgate server show {name}); what is new of it then:  {diff}")]
        }
        Ok(Err(refusal)) => {
            let next = refusal.next.map(|next| format!(" ({next})")).unwrap_or_default();
            vec![format!("{name} does not run: {}{next}", refusal.message)]
        }
        Ok(Ok(view)) if view.state == "ready" => {
            let many = |number: u32, word: &str| (number > 0).then(|| count(number as usize, word));
            let all = [many(view.tools, "tool"), many(view.prompts, "prompt"), many(view.resources, "resource")];
            let all = all.into_iter().flatten().collect::<Vec<_>>().join(", ");
            let offers = if all.is_empty() { "and offers nothing".to_owned() } else { format!("and offers {all}") };
            let mut sentences = vec![format!("{name} runs {offers}")];
            sentences.extend(review(hub, name).await);
            sentences
        }
        Ok(Ok(view)) => {
            let reason = view.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            vec![format!("{name} is {}{reason} (callgate server show {name})", view.state)]
        }
    }
}

/// What of it is new or withheld, and the one look at all of it.
async fn review(hub: &OperatorHandle, name: &str) -> Option<String> {
    let reviews = hub.reviews(Some(name.to_owned())).await.ok()?;
    let entries = || reviews.iter().flat_map(|review| &review.entries);
    let new: HashSet<&str> = entries()
        .filter(|entry| entry.kind == "tool" && entry.state == EntryState::New)
        .map(|entry| entry.name.as_str())
        .collect();
    let withheld = entries().filter(|entry| entry.state == EntryState::Blocked).count();
    let changed = entries().filter(|entry| entry.state == EntryState::Changed).count();
    if new.is_empty() && withheld + changed == 0 {
        return None;
    }
    let explained = hub.explain(Question::default()).await.ok()?;
    let of = |then: Then| {
        let is_it = |tool: &&hub::person::Explained| {
            tool.server == name && tool.then == then && new.contains(tool.tool.as_str())
        };
        explained.iter().filter(is_it).count()
    };
    let verb = |number: usize, one: &str, some: &str| {
        (number > 0).then(|| format!("{number} {}", if number == 1 { one } else { some }))
    };
    let by_rules = [
        verb(of(Then::Allow), "runs without asking", "run without asking"),
        verb(of(Then::Ask), "asks a person", "ask a person"),
        verb(of(Then::Deny), "is denied by a rule", "are denied by a rule"),
    ];
    let by_rules = by_rules.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let parts = [
        (!new.is_empty()).then(|| {
            let are = if new.len() == 1 { "is" } else { "are" };
            format!("{} {are} new: {by_rules}", count(new.len(), "tool"))
        }),
        (changed > 0).then(|| format!("{} changed", count(changed, "definition"))),
        (withheld > 0).then(|| format!("{} withheld until you have looked", count(withheld, "definition"))),
    ];
    let parts = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
    Some(format!("{parts}. Look at all of it and approve it at once:  callgate catalog diff --server {name}"))
}

/// Of one that was switched off.
pub async fn disabled(hub: &OperatorHandle, name: &str) -> Vec<String> {
    let text =
        format!("{name} does not run, and hosts do not see it any more; callgate server enable {name} ends that");
    [Some(text), waiting(hub, name, "cannot run before that").await].into_iter().flatten().collect()
}

/// Of one that was taken out.
pub async fn removed(hub: &OperatorHandle, name: &str) -> Vec<String> {
    waiting(hub, name, "cannot run any more").await.into_iter().collect()
}

/// Calls of it that wait.
async fn waiting(hub: &OperatorHandle, name: &str, so: &str) -> Option<String> {
    let all = hub.waiting().await.ok()?;
    let number = all.iter().filter(|call| call.record.server == name).count();
    let wait = if number == 1 { "waits or is approved" } else { "wait or are approved" };
    (number > 0)
        .then(|| format!("{} of it {wait} and {so} (callgate approval list --server {name})", count(number, "call")))
}

fn count(number: usize, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}
