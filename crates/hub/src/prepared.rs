//! A config with every server's substitutions made: what has to be read from files is read here, on a blocking
//! thread, so that the relay only takes it over.

use crate::config::{self, Config, Launch, Lookup, ReadError, ServerConfig};
use crate::secrets;
use contract::answer::Cleaner;
use policy::Rulebook;
use std::collections::BTreeMap;
use std::path::Path;
use upstream::Spec;

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
    let mut loaded = config::load(file)?;
    let mut specs = BTreeMap::new();
    for (key, server) in loaded.config.servers.iter_mut().filter(|(_, server)| !server.disabled) {
        specs.insert(key.clone(), fill_in(key, server, home));
    }
    let warnings = loaded.warnings.iter().map(ToString::to_string).collect();
    // The check has compiled the same, so there is no fault left to tell.
    let rulebook = Rulebook::compile(loaded.config.policy.default, &loaded.config.policy.rules)
        .map_err(|_| ReadError::Wrong(Vec::new()))?;
    Ok(Prepared { config: loaded.config, specs, rulebook, warnings })
}

/// Reads the file of variables that a server names and fills in the rest; tells how to run it, or why it can't be run.
/// Blocks.
pub(crate) fn fill_in(key: &str, server: &mut ServerConfig, home: &Path) -> Result<Spec, String> {
    let env = |name: &str| std::env::var(name).ok();
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
    let read = config::variables(server, &lookup).map_err(|problem| problem.to_string())?;
    *server = server.clone().with_variables(read);
    config::resolve(key, server, &lookup).map_err(|problem| problem.to_string())
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
    // Whoever writes a secret into an argument or an address has not filled it in.
    let secrets = secrets::in_words(words.iter().map(String::as_str));
    let written = Cleaner::new(secrets.iter().map(String::as_str).filter(|text| !text.contains("${")));
    words.iter().map(|word| written.redact(word).into_owned()).collect()
}

/// Names of the variables that a server gets.
pub(crate) fn env_names(server: &ServerConfig) -> Vec<String> {
    server.launch.program().map(|it| it.names().into_iter().map(String::from).collect()).unwrap_or_default()
}

/// Takes the secrets out of a server's results and logs that it was given.
pub(crate) fn cleaner(spec: Option<&Spec>) -> Cleaner {
    let secrets = spec.map(|spec| secrets::of(&spec.transport)).unwrap_or_default();
    Cleaner::new(secrets.iter().map(String::as_str))
}
