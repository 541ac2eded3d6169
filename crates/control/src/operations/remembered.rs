//! What people have allowed that holds for calls to come, and taking it back.

use crate::problems::{Failure, Outcome};
use crate::views::gate as views;
use hub::operate::OperatorHandle;
use hub::person;
use operator::words::{Approval, Forget, Forgotten, Remembered, RememberedFilter, RememberedList};

/// All of it, the latest first.
pub async fn list(hub: &OperatorHandle, filter: &RememberedFilter) -> Outcome<RememberedList> {
    let wanted = |of: &Option<String>, is: &str| of.as_deref().is_none_or(|of| of == is);
    let all = hub.remembered().await?.into_iter().map(views::remembered);
    let is_meant = |it: &Remembered| wanted(&filter.server, &it.server) && wanted(&filter.client, &it.client);
    Ok(RememberedList { remembered: all.filter(is_meant).collect() })
}

/// What is remembered of the client and the tool of a card.
pub async fn beside(hub: &OperatorHandle, card: &Approval) -> Outcome<Vec<Remembered>> {
    let filter = RememberedFilter { server: Some(card.server.clone()), client: Some(card.client.clone()) };
    let mut all = list(hub, &filter).await?.remembered;
    all.retain(|it| it.tool == card.tool && it.scope != operator::words::Scope::Once);
    Ok(all)
}

/// Takes it back.
pub async fn forget(hub: &OperatorHandle, asked: Forget, by: &str) -> Outcome<Forgotten> {
    let which = match (asked.all, asked.ids.is_empty()) {
        (true, true) => person::Forget::All,
        (false, false) => person::Forget::With(asked.ids),
        _ => return Err(Failure::new("bad_input", "say which calls, or that all is to be forgotten: one of the two")),
    };
    let person::Forgotten { forgotten, unwritten } = hub.forget(which, by).await?;
    Ok(Forgotten { forgotten: forgotten.into_iter().map(views::remembered).collect(), unwritten })
}
