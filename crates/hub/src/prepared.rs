//! A config with every server's substitutions made: what has to be read from files is read here, on a blocking
//! thread, so that the relay only takes it over.

use crate::config::{self, Config, Launch, Lookup, ReadError, ServerConfig};
use contract::answer::Cleaner;
use policy::Rulebook;
use std::collections::BTreeMap;
use std::path::Path;
use upstream::{Spec, Transport};

/// A checked config, ready to be applied.
pub struct Prepared {
    /// The settings.
    pub config: Config,
    /// Per server that is not disabled: how to run it, or why it can't be run.
    pub specs: BTreeMap<String, Result<Spec, String>>,
    /// Its rules, ready to judge.
    pub rulebook: Rulebook,
    /// What the author of the config should know, each with its place.
    pub warnings: Vec<String>,
}

/// Reads, checks and fills in a config file. Blocks.
///
/// # Errors
/// Everything that is wrong with the file, at once.
pub fn prepare(file: &Path, home: &Path) -> Result<Prepared, ReadError> {
    let loaded = config::load(file)?;
    let env = |name: &str| std::env::var(name).ok();
    let mut specs = BTreeMap::new();
    for (key, server) in loaded.config.servers.iter().filter(|(_, server)| !server.disabled) {
        let ports = std::cell::RefCell::new(BTreeMap::new());
        let port = |name: Option<&str>| {
            let mut ports = ports.borrow_mut();
            if let Some(&port) = ports.get(&name.map(String::from)) {
                return Ok(port);
            }
            let port = free_port()?;
            ports.insert(name.map(String::from), port);
            Ok(port)
        };
        let lookup = Lookup { env: &env, home, port: &port, root: None };
        specs.insert(key.clone(), config::resolve(key, server, &lookup).map_err(|problem| problem.to_string()));
    }
    let warnings = loaded.warnings.iter().map(ToString::to_string).collect();
    // The check has compiled the same, so there is no fault left to tell.
    let rulebook = Rulebook::compile(loaded.config.policy.default, &loaded.config.policy.rules)
        .map_err(|_| ReadError::Wrong(Vec::new()))?;
    Ok(Prepared { config: loaded.config, specs, rulebook, warnings })
}

/// A loopback port that is free now.
fn free_port() -> Result<u16, String> {
    let bound = std::net::TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    bound.map(|address| address.port()).map_err(|error| format!("no port could be had: {error}"))
}

/// The exact command and arguments, or the url, as they stand in the config: nothing filled in, so no secret.
pub(crate) fn launch_words(server: &ServerConfig) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(program) = server.launch.program() {
        words.push(program.command.source().to_owned());
        words.extend(program.args.iter().map(|arg| arg.source().to_owned()));
    }
    if let Launch::Http(address) | Launch::HttpChild(_, address) | Launch::LegacySse(address) = &server.launch {
        words.push(address.url.source().to_owned());
    }
    words
}

/// Names of the variables that a server gets.
pub(crate) fn env_names(server: &ServerConfig) -> Vec<String> {
    server.launch.program().map(|program| program.env.keys().cloned().collect()).unwrap_or_default()
}

/// Words in the name of a variable or header that say that its value is a secret.
const SECRET_WORDS: [&str; 9] = ["TOKEN", "SECRET", "KEY", "PASS", "PWD", "AUTH", "CREDENTIAL", "COOKIE", "SESSION"];

/// Takes the secrets out of a server's results that it was given: by the names of its variables and headers.
pub(crate) fn cleaner(spec: Option<&Spec>) -> Cleaner {
    let (env, headers) = match spec.map(|spec| &spec.transport) {
        Some(Transport::Stdio(process)) => (Some(&process.env), None),
        Some(Transport::Http { headers, .. }) => (None, Some(headers)),
        Some(Transport::HttpChild { process, headers, .. }) => (Some(&process.env), Some(headers)),
        None => (None, None),
    };
    let all = env.into_iter().chain(headers).flatten();
    let is_secret = |name: &str| {
        let name = name.to_ascii_uppercase();
        SECRET_WORDS.iter().any(|word| name.contains(word))
    };
    // `Bearer TOKEN`: the scheme is none.
    let values = all.filter(|(name, _)| is_secret(name)).flat_map(|(_, value)| value.split_whitespace());
    Cleaner::new(values)
}
