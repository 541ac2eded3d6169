//! From the keys of a file to settings: what no type can say. Adds to the faults that the walk has found, so that all
//! are listed at once.

use super::address;
use super::keys::{self, DefaultVerdict, EffectWord, Kind, Root, Server, Share, Start};
use super::settings::{
    Address, ApprovalConfig, Config, HostConfig, IDLE_STOP_SECONDS, Launch, PolicyConfig, Program, ServerConfig,
};
use super::template::{Slot, Template};
use super::walk::{Walked, join};
use globset::Glob;
use indexmap::IndexMap;
use policy::{Effect, Fallback, RuleSource, Rulebook, Then};
use std::time::Duration;

/// Headers that belong to the transport.
const OWN_HEADERS: [&str; 12] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "transfer-encoding",
];

/// Builds the settings. They only count if `walked` has no problem afterwards.
pub(super) fn check(root: Root, walked: &mut Walked<'_>) -> Config {
    let policy = policy(root.policy, walked);
    for (name, profile) in &root.profiles {
        let path = join("profiles", name);
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if !(1..=64).contains(&name.len()) || !name.bytes().all(plain) {
            walked.problem(&path, "the name of a profile is part of an address: 1 to 64 of A-Z, a-z, 0-9, `_` and `-`");
        }
        globs(&join(&path, "tools"), &profile.tools, walked);
    }
    for finding in contract::finding::server_keys(root.mcp_servers.keys().map(String::as_str)) {
        walked.warn(&join("mcpServers", &finding.place), finding.sentence());
    }
    let mut servers = IndexMap::new();
    for (name, server) in root.mcp_servers {
        let path = join("mcpServers", &name);
        if name.trim().is_empty() {
            walked.problem(&path, "a server needs a name");
        }
        if let Some(config) = one_server(&path, server, walked) {
            servers.insert(name, config);
        }
    }
    let seconds = |host: keys::Host| HostConfig { hold: host.hold_seconds.map(Duration::from_secs) };
    let hosts = root.hosts.into_iter().map(|(name, host)| (name, seconds(host))).collect();
    Config { servers, policy, profiles: root.profiles, hosts, hub: root.hub }
}

fn policy(policy: keys::Policy, walked: &mut Walked<'_>) -> PolicyConfig {
    let default = match policy.default {
        DefaultVerdict::Auto => Fallback::Auto,
        DefaultVerdict::Allow => Fallback::Allow,
        DefaultVerdict::Ask => Fallback::Ask,
        DefaultVerdict::Deny => Fallback::Deny,
    };
    let mut rules = Vec::new();
    for (at, rule) in policy.rules.into_iter().enumerate() {
        let Some(then) = rule.then else {
            walked.problem(&format!("policy.rules[{at}]"), "a rule needs `then`: \"allow\", \"ask\" or \"deny\"");
            continue;
        };
        rules.push(RuleSource {
            name: rule.name.unwrap_or_else(|| format!("rule {}", at + 1)),
            tools: rule.tools,
            prompts: rule.prompts,
            resources: rule.resources,
            when: rule.when,
            then: match then {
                keys::Then::Allow => Then::Allow,
                keys::Then::Ask => Then::Ask,
                keys::Then::Deny => Then::Deny,
            },
            reason: rule.reason,
        });
    }
    if let Err(faults) = Rulebook::compile(default, &rules) {
        for fault in faults {
            walked.problem(&join_place(&format!("policy.rules[{}]", fault.rule), &fault.place), fault.problem);
        }
    }
    let approval = ApprovalConfig::from(policy.approval);
    PolicyConfig { default, rules, approval }
}

/// A place within a rule, as the rule's fault names it.
fn join_place(rule: &str, place: &str) -> String {
    if place.is_empty() { rule.to_owned() } else { format!("{rule}.{place}") }
}

/// None: there is a problem that leaves nothing to launch.
fn one_server(path: &str, server: Server, walked: &mut Walked<'_>) -> Option<ServerConfig> {
    if let Some(enabled) = server.enabled
        && walked.has(&join(path, "disabled"))
        && enabled == server.disabled
    {
        walked.problem(&join(path, "enabled"), "contradicts `disabled`");
    }
    for (lane, patterns) in &server.lanes {
        globs(&join(&join(path, "lanes"), lane), patterns, walked);
    }
    let call_timeout = call_timeout(path, &server, walked);
    let never_idle = server.start == Start::Eager || server.stateful;
    let idle_seconds = server.idle_stop_seconds.unwrap_or(if never_idle { 0 } else { IDLE_STOP_SECONDS });
    let effects = server.effects.iter().map(|(tool, effect)| (tool.clone(), effect_of(*effect))).collect();
    let config = ServerConfig {
        disabled: server.disabled || server.enabled == Some(false),
        share: server.share,
        start: server.start,
        idle_stop: (idle_seconds > 0).then(|| Duration::from_secs(idle_seconds)),
        start_timeout: Duration::from_secs(server.timeouts.start_seconds),
        call_timeout,
        lanes: server.lanes.clone(),
        effects,
        results: server.results,
        replay_lost: Duration::from_secs(server.replay_lost_seconds),
        idempotency_argument: server.idempotency_argument.clone(),
        port_owner: server.port_owner,
        stateful: server.stateful,
        launch: launch(path, server, walked)?,
    };
    substitutions(path, &config, walked);
    Some(config)
}

fn effect_of(word: EffectWord) -> Effect {
    match word {
        EffectWord::Read => Effect::Read,
        EffectWord::Write => Effect::Write,
        EffectWord::Destructive => Effect::Destructive,
    }
}

fn call_timeout(path: &str, server: &Server, walked: &mut Walked<'_>) -> Duration {
    let own = Duration::from_secs(server.timeouts.call_seconds);
    let Some(foreign) = server.timeout else { return own };
    let key = join(path, "timeout");
    if walked.has(&join(&join(path, "timeouts"), "callSeconds")) {
        walked.warn(&key, "ignored, since `timeouts.callSeconds` is set");
        own
    } else if foreign < 1000 {
        walked.warn(&key, "ignored: `timeout` is in milliseconds; use `timeouts.callSeconds`");
        own
    } else {
        Duration::from_millis(foreign)
    }
}

fn launch(path: &str, server: Server, walked: &mut Walked<'_>) -> Option<Launch> {
    let given = |walked: &Walked<'_>, key: &str| walked.has(&join(path, key));
    let url_keys: Vec<&str> = ["url", "serverUrl", "httpUrl"].into_iter().filter(|key| given(walked, key)).collect();
    if let [_, more @ ..] = url_keys.as_slice() {
        for key in more {
            walked.problem(&join(path, key), format!("the server has an address already, in `{}`", url_keys[0]));
        }
    }
    let has_command = given(walked, "command");
    if !has_command {
        for key in ["args", "env", "envFile", "cwd"].map(|key| join(path, key)) {
            if walked.has(&key) {
                walked.warn(&key, "ignored: the server has no `command`");
            }
        }
    }
    if url_keys.is_empty() && given(walked, "headers") {
        walked.warn(&join(path, "headers"), "ignored: the server has no `url`");
    }
    names(path, &server, walked);
    let needs = match server.kind {
        None if !has_command && url_keys.is_empty() => Some("a server needs a `command` or a `url`"),
        Some(Kind::Stdio | Kind::Local) if !has_command => Some("a server of this type needs a `command`"),
        None | Some(Kind::Stdio | Kind::Local) => None,
        Some(_) if url_keys.is_empty() => Some("a server of this type needs a `url`"),
        Some(_) => None,
    };
    if let Some(message) = needs {
        let key = if server.kind.is_some() { join(path, "type") } else { path.to_owned() };
        walked.problem(&key, message);
        return None;
    }
    if matches!(server.kind, Some(Kind::Stdio | Kind::Local)) && !url_keys.is_empty() {
        walked.problem(&join(path, url_keys[0]), "a server of type `stdio` has no address; leave out `type` or this");
    }
    let Server { command, args, env, env_file, cwd, url, server_url, http_url, headers, kind, .. } = server;
    let program = command.map(|command| Program { command, args, env, env_file, variables: None, cwd });
    let address = url.or(server_url).or(http_url).map(|url| Address { url, headers });
    if let (Some(address), Some(key)) = (&address, url_keys.first()) {
        url_syntax(&join(path, key), &address.url, has_command, walked);
    }
    match (program, address) {
        (Some(_), Some(address)) | (None, Some(address)) if kind == Some(Kind::Sse) => {
            walked.warn(&join(path, "type"), "not supported yet: legacy SSE; the server stays unusable");
            Some(Launch::LegacySse(address))
        }
        (Some(program), Some(address)) => Some(Launch::HttpChild(program, address)),
        (Some(program), None) => Some(Launch::Stdio(program)),
        (None, Some(address)) => Some(Launch::Http(address)),
        (None, None) => None,
    }
}

/// What can be told of an address before it is filled in.
fn url_syntax(key: &str, url: &Template, is_child: bool, walked: &mut Walked<'_>) {
    let known_by_now = url.slots().all(|slot| matches!(slot, Slot::Port(_)));
    if known_by_now {
        let Ok::<_, std::convert::Infallible>(text) = url.expand(|_| Ok("1".into()));
        let checked = if is_child { address::check_loopback(&text) } else { address::check(&text) };
        if let Err(bad) = checked {
            walked.problem(key, bad.to_string());
        }
    }
}

fn names(path: &str, server: &Server, walked: &mut Walked<'_>) {
    for name in server.env.keys().filter(|name| name.is_empty() || name.contains(['=', '\0'])) {
        walked.problem(&join(&join(path, "env"), name), "no variable can have this name");
    }
    let mut seen: Vec<String> = Vec::new();
    for name in server.headers.keys() {
        let key = join(&join(path, "headers"), name);
        let lower = name.to_ascii_lowercase();
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)) {
            walked.problem(&key, "no header can have this name");
        } else if OWN_HEADERS.contains(&lower.as_str()) {
            walked.problem(&key, "this header is set by the hub");
        } else if seen.contains(&lower) {
            walked.problem(&key, "duplicate header; upper and lower case are the same");
        }
        seen.push(lower);
    }
}

/// Substitutions that are right in themselves but not at this place.
fn substitutions(path: &str, config: &ServerConfig, walked: &mut Walked<'_>) {
    for (field, template) in config.templates() {
        let key = match field.as_str() {
            "url" => ["url", "serverUrl", "httpUrl"].map(|key| join(path, key)).into_iter().find(|key| walked.has(key)),
            _ => None,
        };
        let key = key.unwrap_or_else(|| format!("{path}.{field}"));
        let public = ["command", "args[", "cwd", "envFile"].iter().any(|start| field.starts_with(start));
        let quiet = config.disabled;
        for slot in template.slots() {
            match slot {
                Slot::Secret(_) if public => {
                    walked.problem(
                        &key,
                        "a secret cannot stand here, where every process of this machine can read it; use `env`",
                    );
                }
                Slot::Secret(_) if !quiet => {
                    walked.warn(&key, "secrets are not available yet; the server stays unusable");
                }
                Slot::Root if config.share != Share::Session => {
                    walked.problem(&key, "`${root}` differs by session; it needs `\"share\": \"session\"`");
                }
                Slot::Port(_) if config.launch.program().is_none() => {
                    walked.problem(&key, "a port is given to a program, and this server has no `command`");
                }
                Slot::Home | Slot::Port(_) | Slot::Root | Slot::Variable { .. } | Slot::Secret(_) => {}
            }
        }
        if public && template.source().starts_with("~/") {
            walked.warn(&key, "`~` is not filled in; write `${home}`");
        }
    }
}

fn globs(path: &str, patterns: &[String], walked: &mut Walked<'_>) {
    for (at, pattern) in patterns.iter().enumerate() {
        if Glob::new(pattern).is_err() {
            walked.problem(&format!("{path}[{at}]"), "not a valid pattern");
        }
    }
}
