//! The command line of the load generator.

use super::peer::Fault;
use std::path::PathBuf;
use std::time::Duration;

pub const USAGE: &str = "\
load calls|list [--calls N] [--in-flight K] [--tool NAME]… [--pause MS] [--arguments JSON] [--era legacy|modern] [--pid [NAME=]PID]… PEER
load start [--kill PID] [--expect TOOLS] [--each NAME]… --socket PATH -- COMMAND…
    spawn a hub; until it answers, until all is listed, until each of these tools has answered a call
load ready [--servers N] [--expect TOOLS] -- COMMAND…                spawn servers; until all is listed, and each has answered a call
load beside [--calls N] [--rounds N] --good SERVER --bad SERVER=PID --socket PATH   latency with nobody stuck, and with stuck peers
load idle [--seconds N] --pid [NAME=]PID…
load relay COMMAND…                                                  copies between itself and a server
load sample-server …
PEER is --url URL [--token TOKEN], --socket PATH, or -- COMMAND…";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Calls,
    List,
    Start,
    Ready,
    Idle,
    Beside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    Legacy,
    Modern,
}

#[derive(Clone, Debug)]
pub enum Target {
    Command(Vec<String>),
    Socket(PathBuf),
    Url(String),
}

#[derive(Clone, Debug)]
pub struct Args {
    pub mode: Mode,
    pub calls: usize,
    pub in_flight: usize,
    /// Called in turn.
    pub tools: Vec<String>,
    /// How long to wait before each call, where one goes after the other.
    pub pause: Option<Duration>,
    pub arguments: String,
    pub era: Era,
    pub token: Option<String>,
    /// Processes whose CPU and memory are told.
    pub pids: Vec<(String, u32)>,
    pub expect: usize,
    pub servers: usize,
    pub seconds: u64,
    pub rounds: usize,
    /// The server that all hosts use, and one that is stopped with its process.
    pub good: String,
    pub bad: Option<(String, u32)>,
    pub kill: Option<u32>,
    /// Tools that are called once, all at the same time.
    pub each: Vec<String>,
    pub socket: Option<PathBuf>,
    pub target: Target,
}

impl Args {
    pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Args, Fault> {
        let mut args = args.into_iter();
        let mode = match args.next().as_deref() {
            Some("calls") => Mode::Calls,
            Some("list") => Mode::List,
            Some("start") => Mode::Start,
            Some("ready") => Mode::Ready,
            Some("idle") => Mode::Idle,
            Some("beside") => Mode::Beside,
            _ => return Err(Fault::Usage("what to measure?".to_owned())),
        };
        let mut parsed = Args {
            mode,
            calls: 2000,
            in_flight: 1,
            tools: Vec::new(),
            pause: None,
            arguments: format!("{{\"text\":\"{}\"}}", "x".repeat(200)),
            era: Era::Legacy,
            token: None,
            pids: Vec::new(),
            expect: 0,
            servers: 1,
            seconds: 10,
            rounds: 1,
            good: String::new(),
            bad: None,
            kill: None,
            each: Vec::new(),
            socket: None,
            target: Target::Command(Vec::new()),
        };
        while let Some(flag) = args.next() {
            if flag == "--" {
                parsed.target = Target::Command(args.collect());
                break;
            }
            let value = args.next().ok_or_else(|| Fault::Usage(format!("{flag} needs a value")))?;
            match flag.as_str() {
                "--calls" => parsed.calls = number(&value)?,
                "--in-flight" => parsed.in_flight = number::<usize>(&value)?.max(1),
                "--tool" => parsed.tools.push(value),
                "--pause" => parsed.pause = Some(Duration::from_millis(number(&value)?)),
                "--arguments" => parsed.arguments = value,
                "--era" => parsed.era = if value == "modern" { Era::Modern } else { Era::Legacy },
                "--token" => parsed.token = Some(value),
                "--expect" => parsed.expect = number(&value)?,
                "--servers" => parsed.servers = number(&value)?,
                "--seconds" => parsed.seconds = number(&value)?,
                "--rounds" => parsed.rounds = number(&value)?,
                "--good" => parsed.good = value,
                "--bad" => {
                    let (name, pid) =
                        value.split_once('=').ok_or_else(|| Fault::Usage("--bad SERVER=PID".to_owned()))?;
                    parsed.bad = Some((name.to_owned(), number(pid)?));
                }
                "--each" => parsed.each.push(value),
                "--kill" => parsed.kill = Some(number(&value)?),
                "--url" => parsed.target = Target::Url(value),
                "--socket" => {
                    parsed.socket = Some(value.clone().into());
                    parsed.target = Target::Socket(value.into());
                }
                "--pid" => {
                    let (name, pid) = value.split_once('=').unwrap_or(("process", &value));
                    parsed.pids.push((name.to_owned(), number(pid)?));
                }
                other => return Err(Fault::Usage(format!("unknown argument {other}"))),
            }
        }
        if parsed.tools.is_empty() {
            parsed.tools.push("echo".to_owned());
        }
        Ok(parsed)
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, Fault> {
    text.parse().map_err(|_| Fault::Usage(format!("{text} is no number")))
}
