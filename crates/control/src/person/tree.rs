//! Whether a process descends from an attached host or from the hub. Pure over a table of processes. It tells honest
//! tools from people; a process of the same user that wants to leave its tree can (`docs/approvals.md`).

use super::hosts::Known;
use super::processes::{Process, Processes};
use operator::visible::escape;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Most ancestors that are followed.
const DEEPEST: usize = 256;

/// Shells: one that was given a command or a script stands between a host and what it wanted to start.
const SHELLS: [&str; 9] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "busybox"];
/// Options of shells whose value is the next word.
const WITH_VALUE: [&str; 8] = ["-o", "+o", "-O", "+O", "-C", "--rcfile", "--init-file", "--init-command"];
/// Programs that only start others.
const STARTERS: [&str; 19] = [
    "npx",
    "npm",
    "npx-cli.js",
    "npm-cli.js",
    "pnpm",
    "pnpx",
    "yarn",
    "bunx",
    "uv",
    "uvx",
    "pipx",
    "mise",
    "direnv",
    "env",
    "nohup",
    "timeout",
    "setsid",
    "nice",
    "sudo",
];
/// What everything of a user descends from is nobody's host.
const EVERYBODYS: [&str; 17] = [
    "init",
    "systemd",
    "launchd",
    "tini",
    "docker-init",
    "dumb-init",
    "catatonit",
    "conmon",
    "containerd-shim",
    "sshd",
    "sshd-session",
    "login",
    "su",
    "tmux",
    "tmux: server",
    "screen",
    "explorer.exe",
];

/// The process at the other end of a connection, as it was when that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// Its number.
    pub pid: u32,
    /// Its beginning, so that another one with its number is not taken for it.
    pub born: u64,
}

impl Caller {
    /// None where it is gone already, or the system does not tell.
    pub fn of(table: &dyn Processes, pid: u32) -> Option<Caller> {
        Some(Caller { pid, born: table.look(pid)?.born })
    }
}

/// Whether a client's process is the host or what the host started to speak for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// `callgate stdio`: the host is above it.
    Adapter,
    /// The host itself.
    Host,
}

/// A client that is attached.
#[derive(Clone, Debug)]
pub struct Attached {
    /// Its name.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// What that process is.
    pub speaker: Speaker,
}

/// Why a caller is not taken for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Suspicion {
    /// It descends from the host of this client.
    #[error("only a person may do this, and the command comes from a process of the host `{}`", escape(.0))]
    Host(String),
    /// It descends from the hub, as servers do.
    #[error("only a person may do this, and the command comes from a process of a server that the hub runs")]
    Server,
    /// The caller is gone, or the system does not say where it comes from.
    #[error("only a person may do this, and the system does not tell whose process asks")]
    Untold,
}

/// Looks for a reason not to take the caller for a person.
pub fn suspect(
    table: &dyn Processes,
    caller: Option<Caller>,
    hub: u32,
    attached: &[Attached],
    known: &[Known],
) -> Option<Suspicion> {
    let Some(caller) = caller else { return Some(Suspicion::Untold) };
    let line = match line(table, caller.pid) {
        Some(line) if line[0].1.born == caller.born => line,
        Some(_) | None => return Some(Suspicion::Untold),
    };
    if line.iter().any(|(above, _)| *above == hub) {
        return Some(Suspicion::Server);
    }
    let is_above = |it: Caller| line.iter().any(|(pid, process)| *pid == it.pid && process.born == it.born);
    let host = attached.iter().find(|client| root(table, client).is_some_and(is_above)).map(|client| &client.name);
    let gone = || known.iter().find(|known| is_above(known.process)).map(|known| &known.name);
    host.or_else(gone).map(|name| Suspicion::Host(name.clone()))
}

/// Whether it is a shell that somebody types into.
pub fn is_prompt(table: &dyn Processes, pid: u32) -> bool {
    let words = table.words(pid);
    words.first().is_some_and(|first| SHELLS.contains(&base(first.trim_start_matches('-')))) && !has_work(&words[1..])
}

/// A caller in words that people recognise: `callgate (pid 123, from bash on pts/3)`.
pub fn describe(table: &dyn Processes, caller: Caller) -> String {
    let pid = caller.pid;
    let Some(own) = table.look(pid).filter(|own| own.born == caller.born) else { return format!("pid {pid}, gone") };
    let parent = table.look(own.parent).map(|parent| format!(", from {}", short(&parent.name))).unwrap_or_default();
    let terminal = own.terminal.map(|terminal| format!(" on {terminal}")).unwrap_or_default();
    format!("{} (pid {pid}{parent}{terminal})", short(&own.name))
}

/// A process chooses its name: no control characters, nothing endless.
fn short(name: &str) -> String {
    escape(&name.chars().take(32).collect::<String>()).into_owned()
}

/// A process and its ancestors, itself first; None where it is gone or has no end of ancestors.
fn line(table: &dyn Processes, pid: u32) -> Option<Vec<(u32, Process)>> {
    let mut line = vec![(pid, table.look(pid)?)];
    while line.len() < DEEPEST {
        let (child, known) = &line[line.len() - 1];
        if known.parent == 0 {
            return Some(line);
        }
        match table.look(known.parent) {
            // A parent is never the younger one: that would be another process with its number.
            Some(parent) if parent.born <= known.born => {
                let pid = known.parent;
                line.push((pid, parent));
            }
            // It ended between two looks and the child has been taken over, or it is not ours to see.
            Some(_) | None => {
                let again = table.look(*child)?;
                if again.parent == known.parent || again.born != known.born {
                    return (again.born == known.born).then_some(line);
                }
                let last = line.len() - 1;
                line[last].1 = again;
            }
        }
    }
    None
}

/// The topmost process that is still the client's host; None where the client's process is gone.
pub fn root(table: &dyn Processes, client: &Attached) -> Option<Caller> {
    let line = line(table, client.pid)?;
    // The longest part of it that is not everybody's; the client's own process always is.
    let own = line.iter().skip(1).take_while(|(_, process)| !EVERYBODYS.contains(&process.name.as_str())).count() + 1;
    let born: Vec<u64> = line.iter().map(|(_, process)| process.born).collect();
    let line: Vec<u32> = line[..own].iter().map(|(pid, _)| *pid).collect();
    let mut at = match client.speaker {
        Speaker::Adapter => usize::from(line.len() > 1),
        Speaker::Host => 0,
    };
    while at + 1 < line.len() && only_starts(&table.words(line[at])) {
        at += 1;
    }
    // An editor's window, its extensions and its terminals are one program in several processes.
    let program = |at: usize| table.program(line[at]).filter(|file| !SHELLS.contains(&base(&file.to_string_lossy())));
    while at + 1 < line.len() && program(at).is_some_and(|file| program(at + 1) == Some(file)) {
        at += 1;
    }
    Some(Caller { pid: line[at], born: born[at] })
}

/// Whether a process was started only to start another one. A mistake makes the host's tree larger or smaller.
fn only_starts(words: &[String]) -> bool {
    let Some(first) = words.first() else { return false };
    // Some write what they do into their own name: `npm exec callgate`.
    let name = base(first.trim_start_matches('-').split(' ').next().unwrap_or_default());
    let script = words.get(1).map(|word| base(word));
    if STARTERS.contains(&name) || (name == "node" && script.is_some_and(|script| STARTERS.contains(&script))) {
        return true;
    }
    SHELLS.contains(&name) && has_work(&words[1..])
}

/// Whether a shell was given a command or a script; without, it is somebody's prompt.
fn has_work(words: &[String]) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix(['-', '+']) {
            None => return true,
            Some(_) if WITH_VALUE.contains(&word.as_str()) => drop(words.next()),
            Some("-command") => return true,
            Some(long) if long.starts_with('-') => {}
            Some(short) if short.contains('c') => return true,
            Some(_) => {}
        }
    }
    false
}

fn base(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}
