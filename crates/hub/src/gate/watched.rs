//! Tasks whose client listens (`taskIds` of `subscriptions/listen`): it is told how each stands, at once and whenever that
//! changes, until it has ended. Only of its own tasks, and only a client that takes tasks.

use super::case::Case;
use super::{stand, task};
use crate::agent::SeatCore;
use crate::core::Core;
use bytes::Bytes;
use frame::object::{self, quote};
use frame::{Answer, Origin};
use rustc_hash::FxHashSet;
use std::rc::Rc;
use tokio::task::AbortHandle;
use upstream::task as turns;

/// Tasks that one place hears of at a time; of further ones its client has to ask.
const MOST: usize = 1_000;

/// What a listening client hears of until this is dropped.
#[derive(Default)]
pub struct Watched {
    accepted: Option<String>,
    _watches: Vec<Watch>,
}

struct Watch {
    task: AbortHandle,
    /// One of the place's [`MOST`].
    _share: Rc<()>,
}

impl Watched {
    /// The ids that were accepted, a JSON array; None where none were asked for.
    pub fn accepted(&self) -> Option<&str> {
        self.accepted.as_deref()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Begins to tell. `tell` gets the members of a `notifications/tasks`' params, without the braces, never before this has
/// returned.
///
/// # Errors
/// The error object to answer with: the client has not said that it takes tasks, or `taskIds` is no list of texts.
pub(crate) fn watch(
    seat: &Rc<SeatCore>,
    origin: &Origin,
    filter: &Bytes,
    tell: Rc<dyn Fn(&str)>,
) -> Result<Watched, Answer> {
    let Some(wanted) = object::get(filter, "taskIds").filter(|raw| &raw[..] != b"null") else {
        return Ok(Watched::default());
    };
    if !origin.takes_tasks() {
        return Err(task::missing());
    }
    let malformed = || Answer::error(-32602, "taskIds is a list of texts");
    if wanted.first() != Some(&b'[') {
        return Err(malformed());
    }
    let (mut accepted, mut watches, mut known) = (Vec::new(), Vec::new(), FxHashSet::default());
    for range in object::elements(&wanted) {
        let id = object::text(&wanted[range]).ok_or_else(malformed)?;
        let Some(case) = task::own(seat, &id) else { continue };
        if !known.insert(case.call()) || Rc::strong_count(&seat.watching) > MOST {
            continue;
        }
        accepted.push(quote(&id));
        let told = follow(Rc::clone(&seat.core), case, Rc::clone(&tell));
        let task = turns::spawn("tell a client of its task", told).abort_handle();
        watches.push(Watch { task, _share: Rc::clone(&seat.watching) });
    }
    Ok(Watched { accepted: Some(format!("[{}]", accepted.join(","))), _watches: watches })
}

async fn follow(core: Rc<Core>, case: Rc<Case>, tell: Rc<dyn Fn(&str)>) {
    let mut last = None;
    loop {
        let change = case.change.notified();
        let stand = stand::read(&core, &case).await;
        if last.as_ref() != Some(&stand) {
            tell(&stand.members);
        }
        if stand.is_over {
            return;
        }
        last = Some(stand);
        change.await;
    }
}
