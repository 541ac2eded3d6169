//! From the start of a process to its first answer, and to the whole list of tools.

use super::args::{Args, Era, Target};
use super::peer::{Fault, Peer, ask};
use super::pipe::Pipe;
use super::process::round;
use super::wire;
use rustix::event::poll;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// Between two tries to reach a hub that starts. The generator shares two processors with what it measures.
const MOMENT: Duration = Duration::from_micros(200);

/// Between two looks at a list: asking all the time would take the processors from what is measured.
const LOOK: Duration = Duration::from_micros(500);

/// Sleeps; a signal may cut it short.
pub fn pause(time: Duration) -> Result<(), Fault> {
    let wait = rustix::event::Timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos().into() };
    poll(&mut [], Some(&wait))?;
    Ok(())
}

fn ms(since: Instant) -> f64 {
    round(since.elapsed().as_secs_f64() * 1000.0)
}

/// Spawns servers of one kind at once: until all have listed their tools, until each has answered a call.
pub fn ready(args: &Args) -> Result<Value, Fault> {
    let Target::Command(command) = &args.target else { return Err(Fault::Usage("which command?".to_owned())) };
    let start = Instant::now();
    let mut peers = (0..args.servers).map(|_| Pipe::spawn(command)).collect::<Result<Vec<_>, _>>()?;
    let mut tools = 0;
    for peer in &mut peers {
        wire::hello(peer, args.era)?;
        tools += until_listed(peer, args.era, args.expect / args.servers.max(1))?;
    }
    let listed = ms(start);
    for peer in &mut peers {
        let answer = ask(peer, &wire::Request::call(&args.tools[0], &args.arguments, args.era).text(1_000_000))?;
        if !wire::is_good(&answer) {
            return Err(Fault::Peer(format!("a call was answered by {}", String::from_utf8_lossy(&answer))));
        }
    }
    let servers = args.servers;
    Ok(json!({"mode": "ready", "servers": servers, "tools": tools, "listed_ms": listed, "ready_ms": ms(start)}))
}

/// Spawns a hub, or ends the one that runs and spawns it again: until it answers, until all its tools are listed, and
/// until each server has answered: a call waits for its server to be ready, which is after it has given its lists
/// itself. It is left running.
pub fn start(args: &Args) -> Result<Value, Fault> {
    let (Target::Command(command), Some(socket)) = (&args.target, &args.socket) else {
        return Err(Fault::Usage("which command, which socket?".to_owned()));
    };
    let (program, rest) = command.split_first().ok_or_else(|| Fault::Usage("which command?".to_owned()))?;
    if let Some(pid) = args.kill {
        end(pid)?;
    }
    let start = Instant::now();
    #[allow(clippy::disallowed_methods, reason = "the generator starts what it measures")]
    let child =
        Command::new(program).args(rest).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut peer = greeted(socket, start)?;
    let answered = ms(start);
    let tools = until_listed(&mut peer, Era::Legacy, args.expect)?;
    let listed = ms(start);
    until_called(&mut peer, args)?;
    let pid = child.id();
    Ok(
        json!({"mode": "start", "pid": pid, "answered_ms": answered, "tools": tools, "listed_ms": listed, "ready_ms": ms(start)}),
    )
}

/// Calls each of the tools that were named, all at once, until all have answered.
fn until_called(peer: &mut dyn Peer, args: &Args) -> Result<(), Fault> {
    /// Above those of the lists.
    const FIRST: u64 = 1_000_000;
    for (id, tool) in (FIRST..).zip(&args.each) {
        peer.send(0, &wire::Request::call(tool, &args.arguments, Era::Legacy).text(id))?;
    }
    let (mut open, mut bad) = (args.each.len(), None);
    while open > 0 {
        peer.turn(&mut |_, text| {
            if wire::id_of(text).is_some_and(|id| id >= FIRST) {
                open -= 1;
                if !wire::is_good(text) {
                    bad = Some(String::from_utf8_lossy(text).into_owned());
                }
            }
        })?;
    }
    bad.map_or(Ok(()), |text| Err(Fault::Peer(format!("a call was answered by {text}"))))
}

/// Kills a process and waits until it is gone: until then it holds its locks. The first of its threads is shown as a
/// zombie while others still end.
fn end(pid: u32) -> Result<(), Fault> {
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    kill_process(raw.ok_or_else(|| Fault::Usage("no such pid".to_owned()))?, Signal::KILL)?;
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
        if stat.is_empty() || (threads <= 1 && (stat.contains(") Z ") || stat.contains(") X "))) {
            return Ok(());
        }
        pause(MOMENT)?;
    }
}

/// A connection that was answered. The socket of one that was killed may still take connections, and drop them.
fn greeted(socket: &Path, start: Instant) -> Result<Pipe, Fault> {
    loop {
        let greeted = Pipe::connect(socket).and_then(|mut peer| {
            wire::hello(&mut peer, Era::Legacy)?;
            Ok(peer)
        });
        match greeted {
            Ok(peer) => return Ok(peer),
            Err(fault) if start.elapsed() > PATIENCE => return Err(fault),
            Err(_) => pause(MOMENT)?,
        }
    }
}

fn until_listed(peer: &mut dyn Peer, era: Era, expect: usize) -> Result<usize, Fault> {
    let start = Instant::now();
    let mut id = 1;
    loop {
        let tools = wire::list(peer, era, &mut id)?.tools;
        if tools >= expect {
            return Ok(tools);
        }
        if start.elapsed() > PATIENCE {
            return Err(Fault::Peer(format!("{tools} tools listed, not {expect}")));
        }
        pause(LOOK)?;
    }
}
