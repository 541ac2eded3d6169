//! Fills in a server's substitutions: the last step before it is started. What is missing costs this server only.

use super::address;
use super::env_file::{self, Variables};
use super::keys::{self, Start};
use super::settings::{Address, Launch, Program, ServerConfig};
use super::template::{Slot, Template};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use upstream::{Process, Spec, Transport};

/// Where values come from.
pub struct Lookup<'a> {
    /// The hub's environment.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The user's home folder.
    pub home: &'a Path,
    /// A port that the hub holds for this server, by name (None is the unnamed one): the same name, the same port. An
    /// error is one line for a person.
    pub port: &'a dyn Fn(Option<&str>) -> Result<u16, String>,
    /// First root of the session that the process will serve.
    pub root: Option<&'a Path>,
}

/// Why a server cannot be started as it stands. Names fields, never values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerProblem {
    /// A variable without a default is not in the hub's environment.
    #[error("{field}: the variable {name} is not set")]
    MissingVariable {
        /// Which field: `args[2]`, `env.TOKEN`.
        field: String,
        /// The variable's name.
        name: String,
    },
    /// It needs a secret.
    #[error("{field}: secrets are not available yet")]
    NoSecrets {
        /// Which field.
        field: String,
    },
    /// It needs a root and the session has none.
    #[error("{field}: the session has no root folder")]
    NoRoot {
        /// Which field.
        field: String,
    },
    /// No port could be had.
    #[error("{field}: {reason}")]
    NoPort {
        /// Which field.
        field: String,
        /// Why.
        reason: String,
    },
    /// What came out cannot be used.
    #[error("{field}: {reason}")]
    Unusable {
        /// Which field.
        field: String,
        /// Why.
        reason: String,
    },
    /// The file of variables cannot be used.
    #[error("envFile: {reason}")]
    EnvFile {
        /// Why.
        reason: String,
    },
    /// The transport is known and not built yet.
    #[error("not supported yet: legacy SSE")]
    LegacySse,
}

/// Longest message taken from a server unless results may be longer, in bytes.
const MAX_MESSAGE: u64 = 16 * 1024 * 1024;

/// What the file of variables holds that a server names; None where it names none. Reads it: not for the relay thread.
///
/// # Errors
/// The file cannot be found, read or understood.
pub fn variables(server: &ServerConfig, lookup: &Lookup<'_>) -> Result<Option<Variables>, ServerProblem> {
    let Some(file) = server.launch.program().and_then(|program| program.env_file.as_ref()) else { return Ok(None) };
    read(&from_home(not_empty("envFile", fill("envFile", file, lookup)?)?, lookup)).map(Some)
}

/// A server ready to be started, its file of variables read before. Sessions of a server that is not shared each resolve it anew.
pub fn resolve(name: &str, server: &ServerConfig, lookup: &Lookup<'_>) -> Result<Spec, ServerProblem> {
    let transport = match &server.launch {
        Launch::Stdio(program) => Transport::Stdio(process(program, lookup)?),
        Launch::Http(target) => {
            let (url, headers) = reach(target, lookup, address::check)?;
            Transport::Http { url, headers }
        }
        Launch::HttpChild(program, target) => {
            let process = process(program, lookup)?;
            let (url, headers) = reach(target, lookup, address::check_loopback)?;
            let owner = match server.port_owner {
                keys::PortOwner::Child => upstream::PortOwner::Child,
                keys::PortOwner::Any => upstream::PortOwner::Any,
            };
            Transport::HttpChild { process, url, headers, owner }
        }
        Launch::LegacySse(_) => return Err(ServerProblem::LegacySse),
    };
    // Escapes can double the size of a text on its way.
    let max_message = MAX_MESSAGE.max(server.results.max_bytes.saturating_mul(2));
    Ok(Spec {
        name: name.to_owned(),
        transport,
        start_timeout: server.start_timeout,
        call_timeout: server.call_timeout,
        eager: server.start == Start::Eager,
        max_message: usize::try_from(max_message).unwrap_or(usize::MAX),
    })
}

fn process(program: &Program, lookup: &Lookup<'_>) -> Result<Process, ServerProblem> {
    let command = not_empty("command", fill("command", &program.command, lookup)?)?;
    let args = program.args.iter().enumerate();
    let args = args.map(|(at, arg)| fill(&format!("args[{at}]"), arg, lookup)).collect::<Result<_, _>>()?;
    let mut env = program.variables.as_ref().map(|read| read.all().clone()).unwrap_or_default();
    for (name, value) in &program.env {
        env.insert(name.clone(), fill(&super::walk::join("env", name), value, lookup)?);
    }
    let cwd = match &program.cwd {
        Some(cwd) => Some(from_home(not_empty("cwd", fill("cwd", cwd, lookup)?)?, lookup)),
        None => None,
    };
    Ok(Process { command, args, env, cwd })
}

type Reached = (String, BTreeMap<String, String>);

fn reach(
    target: &Address,
    lookup: &Lookup<'_>,
    check: fn(&str) -> Result<(), address::BadAddress>,
) -> Result<Reached, ServerProblem> {
    let url = fill("url", &target.url, lookup)?;
    check(&url).map_err(|bad| ServerProblem::Unusable { field: "url".into(), reason: bad.to_string() })?;
    let mut headers = BTreeMap::new();
    for (name, value) in &target.headers {
        let field = super::walk::join("headers", name);
        let value = fill(&field, value, lookup)?;
        if value.bytes().any(|b| (b < 0x20 && b != b'\t') || b == 0x7f) {
            return Err(ServerProblem::Unusable { field, reason: "must not contain control characters".into() });
        }
        headers.insert(name.clone(), value);
    }
    Ok((url, headers))
}

fn fill(field: &str, template: &Template, lookup: &Lookup<'_>) -> Result<String, ServerProblem> {
    let field = || field.to_owned();
    let text = template.expand(|slot| match slot {
        Slot::Home => path_text(lookup.home, &field),
        Slot::Root => path_text(lookup.root.ok_or_else(|| ServerProblem::NoRoot { field: field() })?, &field),
        Slot::Port(name) => match (lookup.port)(name.as_deref()) {
            Ok(port) => Ok(port.to_string()),
            Err(reason) => Err(ServerProblem::NoPort { field: field(), reason }),
        },
        Slot::Variable { name, default } => match ((lookup.env)(name), default) {
            (Some(value), Some(default)) if value.is_empty() => Ok(default.clone()),
            (Some(value), _) => Ok(value),
            (None, Some(default)) => Ok(default.clone()),
            (None, None) => Err(ServerProblem::MissingVariable { field: field(), name: name.clone() }),
        },
        Slot::Secret(_) => Err(ServerProblem::NoSecrets { field: field() }),
    })?;
    if text.contains('\0') {
        return Err(ServerProblem::Unusable { field: field(), reason: "contains a NUL character".into() });
    }
    Ok(text)
}

fn path_text(path: &Path, field: &dyn Fn() -> String) -> Result<String, ServerProblem> {
    let reason = || "the folder's name is not valid UTF-8".to_owned();
    path.to_str().map(str::to_owned).ok_or_else(|| ServerProblem::Unusable { field: field(), reason: reason() })
}

fn not_empty(field: &str, text: String) -> Result<String, ServerProblem> {
    if text.is_empty() {
        return Err(ServerProblem::Unusable { field: field.into(), reason: "is empty".into() });
    }
    Ok(text)
}

/// A relative path is seen from the home folder.
fn from_home(path: String, lookup: &Lookup<'_>) -> PathBuf {
    lookup.home.join(path)
}

fn read(file: &Path) -> Result<Variables, ServerProblem> {
    let wrong = |reason: String| ServerProblem::EnvFile { reason };
    let bytes = super::bytes_of(file).map_err(|error| wrong(format!("cannot read the file: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("the file is not UTF-8".into()))?;
    tell_if_open(file);
    env_file::parse(&text).map_err(|bad| wrong(bad.to_string()))
}

#[cfg(unix)]
fn tell_if_open(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    if std::fs::metadata(file).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0) {
        tracing::warn!(file = %file.display(), "others can read this file of variables; make it private (chmod 600)");
    }
}

#[cfg(not(unix))]
fn tell_if_open(_: &Path) {}
