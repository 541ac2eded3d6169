//! The hub's views in the words of `operator`.

pub mod gate;
pub mod past;

use hub::operate::{
    CallView, ClientView, Event as Happening, ReloadView, ServerDetail as DetailView, ServerView, ToolView,
};
use operator::words::{
    Attached, CallOutcome, CallResult, ConfigChange, Event, HeldConfig, Raw, Relay, Rest, Server, ServerDetail,
    ServerState, Status, Tool, ToolDetail, Transport, Waiting,
};

use serde::Deserialize;

pub fn status(view: hub::operate::Status) -> Status {
    Status {
        pid: view.pid,
        version: view.version,
        started_ms: view.started_ms,
        mcp_url: view.mcp_url,
        http_problem: view.http_problem,
        config_problems: view.config_problems,
        servers: servers(view.servers),
        hosts: view.clients.into_iter().map(attached).collect(),
        audit: view.audit,
        relay: Relay { slow: view.slow.turns, longest_us: view.slow.longest_us, longest: view.slow.longest },
        unlooked: view.unlooked,
        waiting: Waiting {
            approvals: view.waiting,
            unknown: view.unknown,
            definitions: 0,
            paused_since_ms: view.pause.since_ms,
        },
        resting: rests(view.rests),
        held: held(view.held, view.held_hash),
        pin_locked_minutes: None,
    }
}

/// What the config on disk would loosen.
pub fn held(changes: Vec<String>, hash: Option<String>) -> HeldConfig {
    HeldConfig { changes, hash }
}

/// Servers whose calls are refused where they would ask.
pub fn rests(rests: Vec<hub::person::Rest>) -> Vec<Rest> {
    let rest = |it: hub::person::Rest| Rest {
        server: it.server,
        client: it.client,
        since_ms: it.since_ms,
        until_ms: it.until_ms,
        denials: it.denials,
    };
    rests.into_iter().map(rest).collect()
}

/// By name, so that a list looks the same twice.
pub fn servers(views: Vec<ServerView>) -> Vec<Server> {
    let mut servers: Vec<Server> = views.into_iter().map(server).collect();
    servers.sort_by(|a, b| a.name.cmp(&b.name));
    servers
}

fn attached(view: ClientView) -> Attached {
    Attached {
        name: view.name,
        unverified: view.unverified,
        transport: view.transport,
        version: view.version,
        since_ms: view.since_ms,
        calls: view.calls,
    }
}

pub fn server(view: ServerView) -> Server {
    Server {
        state: ServerState::parse(&view.state).unwrap_or(ServerState::Failing),
        transport: match view.transport.as_str() {
            "stdio" => Transport::Stdio,
            "http-child" => Transport::HttpChild,
            _ => Transport::Http,
        },
        name: view.name,
        reason: view.reason,
        pid: view.pid,
        version: view.version,
        tools: view.tools,
        resources: view.resources,
        prompts: view.prompts,
        since_ms: view.since_ms,
        next_try_ms: view.next_try_ms,
        restarts: view.restarts,
        launch_waits: view.launch_waits,
    }
}

pub fn detail(view: DetailView) -> ServerDetail {
    ServerDetail {
        server: server(view.server),
        launch: view.launch,
        env_names: view.env_names,
        program: view.program,
        findings: view.findings,
        noise_lines: view.noise_lines,
        stray_answers: view.stray_answers,
        running: view.running,
        queued: view.queued,
        stderr_tail: view.stderr_tail,
        log_file: view.log_file,
        resting: Vec::new(),
    }
}

/// Compiles its schema: on the blocking pool.
pub fn tool(view: &ToolView) -> Tool {
    let checked = view.checked();
    Tool {
        name: view.name.clone(),
        server: view.server.clone(),
        own_name: view.own_name.clone(),
        description: view.description.clone(),
        effect: view.effect,
        schema_hash: view.schema_hash.to_string(),
        definition_hash: view.definition_hash.to_string(),
        unusable: checked.unusable,
        partly_checked: checked.skipped,
    }
}

/// The same with the definition; None if that is no JSON.
pub fn tool_detail(view: &ToolView) -> Option<ToolDetail> {
    let definition = Raw::parse(std::str::from_utf8(&view.definition).ok()?)?;
    Some(ToolDetail { tool: tool(view), definition })
}

pub fn change(view: ReloadView) -> ConfigChange {
    ConfigChange {
        added: view.added,
        removed: view.removed,
        changed: view.changed,
        problems: view.problems,
        warnings: vec![],
        next: vec![],
    }
}

pub fn event(happening: Happening) -> Event {
    match happening {
        Happening::Server(view) => Event::Server(server(view)),
        Happening::ServerGone { name } => Event::ServerGone { name },
        Happening::Catalog => Event::Catalog,
        Happening::Clients => Event::Hosts,
        Happening::Config(view) => Event::Config(change(view)),
        Happening::Approvals { waiting } => Event::Approvals { waiting },
        Happening::Decision(decided) => Event::Decision(gate::decision(decided)),
        Happening::Calls { unknown } => Event::Calls { unknown },
        Happening::Held { server, entries } => Event::CatalogHeld { server, entries },
        Happening::Paused(pause) => Event::Paused { since_ms: pause.since_ms },
    }
}

/// The part of a result by which the hub says that it, and not the tool, has answered (docs/servers-words.md).
#[derive(Deserialize)]
struct Marked {
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
    #[serde(rename = "resultType")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "dev.callgate/outcome")]
    outcome: Option<HubOutcome>,
}

#[derive(Deserialize)]
struct HubOutcome {
    error: Option<String>,
    status: Option<String>,
}

/// Codes that say that policy or a person refused.
const REFUSED: [&str; 4] = ["denied", "approval_expired", "definition_changed", "quarantined"];

pub fn call(view: &CallView) -> Option<CallResult> {
    let body = Raw::parse(&view.body)?;
    let marked = if view.rpc_error { None } else { serde_json::from_str::<Marked>(&view.body).ok() };
    // Nobody is there who could answer: it did nothing.
    let asks = marked.as_ref().is_some_and(|marked| marked.kind.as_deref() == Some("input_required"));
    let hub = marked.and_then(|marked| marked.meta).and_then(|meta| meta.outcome);
    let outcome = match hub {
        _ if view.rpc_error => CallOutcome::RpcError,
        Some(HubOutcome { error: Some(code), .. }) if REFUSED.contains(&code.as_str()) => CallOutcome::Refused,
        Some(HubOutcome { status: Some(status), .. }) if status == "pending" => CallOutcome::Pending,
        _ if view.is_error || asks => CallOutcome::ToolError,
        _ => CallOutcome::Done,
    };
    Some(CallResult { outcome, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, rpc_error: bool, is_error: bool, expect: Option<CallOutcome>) {
        let view = CallView { body: body.into(), rpc_error, is_error };
        assert_eq!(call(&view).map(|result| result.outcome), expect, "{body}");
    }

    #[test]
    fn outcomes() {
        use CallOutcome::*;
        let marked = |outcome: &str| format!("{{\"content\":[],\"_meta\":{{\"dev.callgate/outcome\":{outcome}}}}}");
        check("{\"content\":[]}", false, false, Some(Done));
        check("{\"content\":[],\"isError\":true}", false, true, Some(ToolError));
        check("{\"resultType\":\"input_required\"}", false, false, Some(ToolError));
        check("{\"resultType\":\"complete\",\"content\":[]}", false, false, Some(Done));
        check("{\"code\":-32602,\"message\":\"no\"}", true, false, Some(RpcError));
        check(&marked("{\"ok\":false,\"error\":\"denied\"}"), false, true, Some(Refused));
        check(&marked("{\"ok\":false,\"error\":\"quarantined\"}"), false, true, Some(Refused));
        check(&marked("{\"ok\":false,\"error\":\"timeout\"}"), false, true, Some(ToolError));
        check(&marked("{\"ok\":false,\"status\":\"pending\"}"), false, false, Some(Pending));
        check(&marked("{\"ok\":false,\"status\":\"pending\"}"), false, true, Some(Pending));
        check("no json", false, false, None);
    }
}
