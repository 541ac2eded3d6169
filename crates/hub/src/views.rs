//! What the hub says of itself and of its servers: merged capabilities for clients, overviews for a person.

use crate::agent::{Description, SeatCore, View};
use crate::backend::Backend;
use crate::catalog::ToolEntry;
use crate::core::declares;
use crate::operate::{ClientView, ServerDetail, ServerView, Slow, ToolView};
use frame::{TASKS, object};
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;
use upstream::{Listing, State};

pub(crate) fn slow(seen: upstream::task::Slow) -> Slow {
    let longest_us = u64::try_from(seen.longest.as_micros()).unwrap_or(u64::MAX);
    Slow { turns: seen.count, longest_us, longest: (seen.count > 0).then(|| seen.name.to_owned()) }
}

/// The lists that the hub can tell changes of by itself, whatever the servers declare.
pub(crate) fn describe(view: &View, listings: &[(Rc<str>, Rc<Listing>, Option<String>)], version: &str) -> Description {
    let mut capabilities = vec![
        "\"tools\":{\"listChanged\":true}".to_owned(),
        "\"prompts\":{\"listChanged\":true}".to_owned(),
        "\"resources\":{\"listChanged\":true}".to_owned(),
    ];
    let any = |group: &str| listings.iter().any(|(_, listing, _)| declares(listing, group));
    if any("logging") {
        capabilities.push("\"logging\":{}".into());
    }
    if any("completions") {
        capabilities.push("\"completions\":{}".into());
    }
    if let (View::Server(_), [(_, listing, instructions)]) = (view, listings) {
        return alone(listing, instructions.clone(), capabilities);
    }
    let texts: Vec<String> =
        listings.iter().filter_map(|(key, _, text)| Some(format!("## {key}\n{}", text.as_ref()?))).collect();
    Description {
        capabilities: format!("{{{}}}", capabilities.join(",")),
        instructions: (!texts.is_empty()).then(|| texts.join("\n\n")),
        server_info: format!("{{\"name\":\"callgate\",\"title\":\"Callgate\",\"version\":{}}}", object::quote(version)),
    }
}

/// A view of one server keeps what that server says of itself, but for what the hub does not carry: its tasks.
fn alone(listing: &Listing, instructions: Option<String>, mut capabilities: Vec<String>) -> Description {
    for group in ["extensions", "experimental"] {
        if let Some(declared) = object::get(&listing.capabilities, group) {
            let declared = match object::get(&declared, TASKS) {
                Some(_) => object::Edit::new().remove(TASKS).apply(&declared).join(),
                None => declared,
            };
            capabilities.push(format!("\"{group}\":{}", String::from_utf8_lossy(&declared)));
        }
    }
    Description {
        capabilities: format!("{{{}}}", capabilities.join(",")),
        instructions,
        server_info: String::from_utf8_lossy(&listing.server_info).into_owned(),
    }
}

/// Milliseconds since 1970.
pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A server at a glance.
pub(crate) fn server(backend: &Backend) -> ServerView {
    let shelf = backend.shelf();
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let mut view = ServerView {
        name: backend.key().to_string(),
        state: if backend.rules().disabled { "disabled" } else { "unusable" }.into(),
        reason: backend.problem().map(String::from),
        transport: backend.rules().transport.into(),
        pid: None,
        version: None,
        tools: count(shelf.tools.len()),
        resources: count(shelf.resources.len() + shelf.templates.len()),
        prompts: count(shelf.prompts.len()),
        since_ms: 0,
        next_try_ms: None,
        restarts: 0,
        launch_waits: backend.launch_waits(),
    };
    if let Some(server) = backend.server() {
        let (state, reason, since) = server.state();
        let halted = (state == State::Halted).then(|| "by a person; start it with `callgate server start`".to_owned());
        view.state = match state {
            State::Stopped | State::Halted => "stopped",
            State::Starting { installs: true } => "installing",
            State::Starting { installs: false } => "starting",
            State::Ready => "ready",
            State::Failing { .. } => "failing",
            State::Unusable => "unusable",
        }
        .into();
        view.reason = reason.or(halted).map(|reason| contract::visible::escape(&reason).into_owned());
        view.pid = server.pid();
        view.version = server.version().map(|version| version.as_str().into());
        view.since_ms = millis(since);
        view.next_try_ms = server.next_try().map(|at| millis(SystemTime::now() + at.duration_since(Instant::now())));
        view.restarts = server.starts().saturating_sub(1);
    }
    view
}

/// A server in full.
pub(crate) fn detail(backend: &Backend) -> ServerDetail {
    let rules = backend.rules();
    let server = backend.server();
    let (noise_lines, stray_answers) = server.map_or((0, 0), |server| server.counters());
    let (running, starting) = server.map_or((0, 0), |server| server.load());
    let waiting = starting + backend.lanes.borrow().waiting();
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let mut findings = backend.findings();
    findings.extend(match backend.broken_results() {
        0 => None,
        1 => Some("1 result broke the output schema of its tool and was passed on".to_owned()),
        many => Some(format!("{many} results broke the output schema of their tools and were passed on")),
    });
    ServerDetail {
        server: self::server(backend),
        launch: rules.launch.clone(),
        env_names: rules.env_names.clone(),
        program: server.and_then(|server| server.program()),
        findings,
        noise_lines,
        stray_answers,
        running: count(running),
        queued: count(waiting),
        stderr_tail: server.map(|server| server.last_words(20)).unwrap_or_default(),
        log_file: server.and_then(|server| server.log_file()),
    }
}

/// A tool of the aggregate.
pub(crate) fn tool(entry: &ToolEntry) -> ToolView {
    let read = &entry.read;
    ToolView {
        name: read.exposed.clone(),
        server: entry.backend.key().to_string(),
        own_name: read.tool.name.to_string(),
        description: read.tool.description.as_deref().map(String::from),
        effect: read.effect,
        schema_hash: read.tool.schema_hash,
        definition_hash: read.tool.definition_hash,
        definition: read.raw.clone(),
        input_schema: read.tool.input_schema.clone(),
    }
}

/// An attached client.
pub(crate) fn client(seat: &SeatCore) -> ClientView {
    ClientView {
        name: seat.identity.who.name().to_string(),
        unverified: !seat.identity.who.is_verified(),
        transport: seat.identity.transport.into(),
        version: None,
        since_ms: millis(seat.since),
        calls: seat.calls(),
        process: seat.identity.process,
    }
}
