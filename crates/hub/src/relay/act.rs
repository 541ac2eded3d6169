//! A person has a server start, stop or begin again: waits for what becomes of that, and follows the server where a config
//! puts another in its place meanwhile. Starts nothing that waits for a person.

use super::{Relay, unknown_server};
use crate::backend::Backend;
use crate::operate::{Refusal, ServerAction, ServerView};
use crate::views;
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, timeout_at};
use upstream::{Server, State, Stopping};

/// How long an outcome is waited for.
const ACTION: Duration = Duration::from_secs(60);
/// How long what a server lists may take to be read once it runs, before it is told how it stands.
const LISTS: Duration = Duration::from_secs(5);

impl Relay {
    pub(super) async fn act(&self, name: &str, action: ServerAction) -> Result<ServerView, Refusal> {
        if action != ServerAction::Stop {
            self.read_variables(name).await?;
        }
        loop {
            let backend = self.core.backend(name).ok_or_else(|| unknown_server(name))?;
            let is_there = || self.core.backend(name).is_some_and(|now| Rc::ptr_eq(&now, &backend));
            let Some(server) = backend.server() else {
                let problem = backend.problem().unwrap_or("it is disabled");
                let next = format!("callgate server show {name}");
                return Err(Refusal::new("unusable_server", problem).then(next));
            };
            act(&backend, server, action, &is_there).await;
            // Another one in its place is what the word was meant for.
            if is_there() {
                return Ok(views::server(&backend));
            }
        }
    }
}

async fn act(backend: &Backend, server: &Server, action: ServerAction, is_there: &dyn Fn() -> bool) {
    let deadline = Instant::now() + ACTION;
    let settled = |goal: fn(&State) -> bool, after: Option<SystemTime>| async move {
        loop {
            let news = backend.news.notified();
            let (state, _, since) = server.state();
            if (goal(&state) && after != Some(since)) || !is_there() || timeout_at(deadline, news).await.is_err() {
                return;
            }
        }
    };
    if matches!(action, ServerAction::Stop | ServerAction::Restart) {
        server.halt(if action == ServerAction::Stop { Stopping::Halt } else { Stopping::Restart });
        settled(|state| matches!(state, State::Halted | State::Unusable), None).await;
    }
    if matches!(action, ServerAction::Start | ServerAction::Restart) {
        // How it failed before is no answer; the try that begins now is.
        let (before, _, since) = server.state();
        server.start();
        let after = (before != State::Ready).then_some(since);
        settled(|state| matches!(state, State::Ready | State::Unusable | State::Failing { .. }), after).await;
        listed(backend, server).await;
    }
}

/// Waits until what a server lists is known.
async fn listed(backend: &Backend, server: &Server) {
    let deadline = Instant::now() + LISTS;
    loop {
        let news = backend.news.notified();
        let is_read = backend.is_listed() && !backend.is_changing();
        if is_read || server.state().0 != State::Ready || timeout_at(deadline, news).await.is_err() {
            return;
        }
    }
}
