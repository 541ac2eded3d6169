//! What one host feels of others that are stuck: its latencies in blocks in turn, with nobody stuck, and with a host
//! that reads nothing of megabytes that it asked for and a server that takes nothing of what is called.

use super::args::{Args, Era};
use super::peer::{Fault, Peer};
use super::pipe::Pipe;
use super::run::quantile;
use super::wire::{self, Request, id_of, is_good};
use memchr::memmem;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

/// Calls before each block that are not measured.
const WARM: usize = 200;
/// After so many calls the bad server is called once more.
const PACE: usize = 4;
/// Calls of a megabyte each that wait for the bad server: more than its out-buffer and its pipe take together.
const QUEUED: u64 = 10;
/// Results of a megabyte each that the bad host asks for: as many as the hub keeps without closing its connection.
const UNREAD: u64 = 5;
/// Calls of the bad host that tell ten times of their progress within [`TALK_MS`]; none may end before the block does.
const TALKING: u64 = 64;
const TALK_MS: u64 = 100_000;
const MEGABYTE: usize = 1 << 20;

pub fn beside(args: &Args) -> Result<Value, Fault> {
    let (Some(socket), Some((bad, pid))) = (&args.socket, &args.bad) else {
        return Err(Fault::Usage("which socket, which bad server?".to_owned()));
    };
    let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw).ok_or_else(|| Fault::Usage("no such pid".to_owned()))?;
    let mut host = Host::new(socket, &args.good)?;
    let mut feeder = Host::new(socket, bad)?;
    let (mut free, mut stuck) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        free.push(host.block(args.calls, &mut feeder)?.0);
        feeder.stop(pid, bad)?;
        let sleeper = Sleeper::fall_asleep(socket, &args.good)?;
        let (figures, refused) = host.block(args.calls, &mut feeder)?;
        stuck.push(figures);
        sleeper.is_asleep()?;
        if refused == 0 {
            return Err(Fault::Peer(format!("{bad} took everything although it was stopped")));
        }
        feeder.go_on(pid)?;
        drop(sleeper);
    }
    Ok(json!({ "mode": "beside", "calls": args.calls, "free": free, "stuck": stuck }))
}

fn text(length: usize) -> String {
    format!("{{\"text\":\"{}\"}}", "x".repeat(length))
}

fn call(server: &str, tool: &str, arguments: &str) -> Request {
    Request::call(&format!("{server}__{tool}"), arguments, Era::Legacy)
}

struct Host {
    peer: Pipe,
    echo: Request,
    next: u64,
    /// Calls without an answer so far.
    open: Vec<u64>,
}

impl Host {
    fn new(socket: &Path, server: &str) -> Result<Host, Fault> {
        let mut peer = Pipe::connect(socket)?;
        wire::hello(&mut peer, Era::Legacy)?;
        Ok(Host { peer, echo: call(server, "echo", &text(200)), next: 1000, open: Vec::new() })
    }

    fn send(&mut self, request: &Request) -> Result<u64, Fault> {
        self.next += 1;
        self.open.push(self.next);
        self.peer.send(0, &request.text(self.next))?;
        Ok(self.next)
    }

    /// Hears until `enough` has come.
    fn hear(&mut self, mut enough: impl FnMut(Option<u64>, &[u8]) -> bool) -> Result<(), Fault> {
        let (open, mut is_enough) = (&mut self.open, false);
        while !is_enough {
            self.peer.turn(&mut |_, answer| {
                let id = id_of(answer);
                open.retain(|open| id != Some(*open));
                is_enough |= enough(id, answer);
            })?;
        }
        Ok(())
    }

    fn ask(&mut self) -> Result<u64, Fault> {
        self.next += 1;
        self.peer.send(0, &self.echo.text(self.next))?;
        self.peer.flush()?;
        Ok(self.next)
    }

    fn answer(&mut self, id: u64) -> Result<Answered, Fault> {
        let mut answered = Answered::Well;
        self.hear(|of, answer| {
            if of == Some(id) {
                answered = Answered::of(answer);
            }
            of == Some(id)
        })?;
        Ok(answered)
    }

    /// So many calls one after the other, some at the same time as a call of the other one. How often that was refused.
    fn block(&mut self, calls: usize, other: &mut Host) -> Result<(Value, usize), Fault> {
        let (mut took, mut refused, mut asked) = (Vec::with_capacity(calls), 0, None);
        for number in 0..WARM + calls {
            if number % PACE == 0 {
                if let Some(id) = asked {
                    refused += usize::from(other.answer(id)? == Answered::Full);
                }
                asked = Some(other.ask()?);
            }
            let began = Instant::now();
            let id = self.ask()?;
            let answered = self.answer(id)?;
            if answered != Answered::Well {
                return Err(Fault::Peer(format!("call {number} of the good host: {answered:?}")));
            }
            if number >= WARM {
                took.push(began.elapsed().as_nanos() as u64);
            }
        }
        took.sort_unstable();
        let figures = json!({
            "p50_us": quantile(&took, 0.5), "p90_us": quantile(&took, 0.9), "p99_us": quantile(&took, 0.99), "max_us": quantile(&took, 1.0),
        });
        if let Some(id) = asked {
            other.answer(id)?;
        }
        Ok((figures, refused))
    }

    /// Stops the server's process and calls it until it is refused.
    fn stop(&mut self, pid: Pid, server: &str) -> Result<(), Fault> {
        kill_process(pid, Signal::STOP)?;
        let big = call(server, "echo", &text(MEGABYTE));
        for _ in 0..QUEUED {
            self.send(&big)?;
        }
        self.hear(|_, answer| Answered::of(answer) == Answered::Full)
    }

    /// Lets the server go on and hears all that it still has to say.
    fn go_on(&mut self, pid: Pid) -> Result<(), Fault> {
        kill_process(pid, Signal::CONT)?;
        while !self.open.is_empty() {
            self.hear(|_, _| true)?;
        }
        Ok(())
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Answered {
    Well,
    Full,
    /// In another way, which begins so.
    Badly(String),
}

impl Answered {
    fn of(answer: &[u8]) -> Answered {
        if memmem::find(&answer[..answer.len().min(2048)], b"queue_full").is_some() {
            Answered::Full
        } else if is_good(answer) {
            Answered::Well
        } else {
            Answered::Badly(String::from_utf8_lossy(&answer[..answer.len().min(300)]).into_owned())
        }
    }
}

/// A host that asks for more than it ever reads.
struct Sleeper(UnixStream);

impl Sleeper {
    fn fall_asleep(socket: &Path, good: &str) -> Result<Sleeper, Fault> {
        let mut stream = UnixStream::connect(socket)?;
        let params = r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"asleep","version":"1"}"#;
        let mut say = |text: &[u8]| stream.write_all(&[text, b"\n"].concat());
        say(&Request::new("initialize", params, Era::Legacy).text(1))?;
        say(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        for id in 0..TALKING {
            let params = format!(
                "\"name\":\"{good}__slow\",\"arguments\":{{\"ms\":{TALK_MS}}},\"_meta\":{{\"progressToken\":{id}}}"
            );
            say(&Request::new("tools/call", &params, Era::Legacy).text(10 + id))?;
        }
        let big = call(good, "big_result", &format!("{{\"bytes\":{MEGABYTE}}}"));
        for id in 0..UNREAD {
            say(&big.text(100 + id))?;
        }
        Ok(Sleeper(stream))
    }

    /// Fails where it has been sent nothing, or is attached no more.
    fn is_asleep(&self) -> Result<(), Fault> {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        poll(&mut fds, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 }))?;
        let (unread, seen) = (rustix::io::ioctl_fionread(&self.0)?, fds[0].revents());
        if seen.contains(PollFlags::HUP) || (unread as usize) < 64 * 1024 {
            return Err(Fault::Peer(format!("the sleeping host has {unread} bytes unread, {seen:?}")));
        }
        Ok(())
    }
}
