//! Lent pipes: the hub reads and writes a host's own pipes, and when it dies the host gets an answer to everything that
//! it had asked, goes on with the next hub, and never gets half a message that looks like a whole one.

use crate::fake::fake;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use stories::{Client, Home, eventually, sample, text};

/// What a host launches its adapter with: pipes as most do, or sockets as Node does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Plug {
    Pipes,
    Sockets,
}

/// A host whose bytes are its own.
pub(crate) struct Host {
    pub(crate) adapter: stories::Guarded,
    to: Box<dyn Write>,
    from: BufReader<Box<dyn Read>>,
}

impl Host {
    pub(crate) fn new(home: &Home, plug: Plug, args: &[&str]) -> Host {
        let mut command = home.command(&[&["stdio", "--host", "story"], args].concat());
        command.stderr(Stdio::null());
        let (to, from): (Box<dyn Write>, Box<dyn Read>) = match plug {
            Plug::Pipes => {
                let (stdin, to) = std::io::pipe().unwrap();
                let (from, stdout) = std::io::pipe().unwrap();
                command.stdin(stdin).stdout(stdout);
                (Box::new(to), Box::new(from))
            }
            Plug::Sockets => {
                let (stdin, to) = UnixStream::pair().unwrap();
                let (from, stdout) = UnixStream::pair().unwrap();
                command.stdin(OwnedFd::from(stdin)).stdout(OwnedFd::from(stdout));
                (Box::new(to), Box::new(from))
            }
        };
        // The command keeps its ends; they go with it, so that the end of the adapter is the end of the stream.
        Host { adapter: stories::Guarded::spawn(command), to, from: BufReader::new(from) }
    }
    /// One that knows the tool, and whose pipes the hub has.
    pub(crate) fn lent(home: &Home, plug: Plug, hub: u32, tool: &str) -> Host {
        let mut host = Host::new(home, plug, &[]);
        host.greet(tool);
        host.await_loan(hub);
        host
    }
    fn raw(&mut self, bytes: &[u8]) {
        self.to.write_all(bytes).unwrap();
    }
    fn say(&mut self, id: u64, method: &str, params: Value) {
        self.raw(format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).as_bytes());
    }
    pub(crate) fn call(&mut self, id: u64, tool: &str, arguments: Value) {
        self.say(id, "tools/call", json!({ "name": tool, "arguments": arguments }));
    }
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line
    }
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            let line = self.line();
            assert!(!line.is_empty(), "the adapter has ended");
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }
    /// Says hello and calls until the tool is there.
    pub(crate) fn greet(&mut self, tool: &str) {
        let info = json!({ "name": "story", "version": "1" });
        self.say(1, "initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info }));
        self.answer(1);
        eventually(tool, || {
            self.say(2, "tools/list", json!({}));
            self.answer(2)["result"].to_string().contains(tool).then_some(())
        });
    }
    /// Waits until the hub has the pipes, and the adapter only waits.
    fn await_loan(&mut self, hub: u32) {
        let stdin = std::fs::read_link(format!("/proc/{}/fd/0", self.adapter.pid())).unwrap();
        let files = std::fs::read_dir(format!("/proc/{hub}/fd")).unwrap();
        let has = |file: std::fs::DirEntry| std::fs::read_link(file.path()).is_ok_and(|target| target == stdin);
        assert!(files.flatten().any(has), "the hub has no {}", stdin.display());
        eventually("an adapter that only waits", || {
            let before = self.turns();
            for _ in 0..20 {
                self.say(3, "ping", json!({}));
                self.answer(3);
            }
            (self.turns() == before).then_some(())
        });
    }
    /// How often the adapter has read something.
    fn turns(&self) -> u64 {
        let io = std::fs::read_to_string(format!("/proc/{}/io", self.adapter.pid())).unwrap();
        let line = io.lines().find(|line| line.starts_with("syscr")).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }
}

/// Whether it is the adapter's word for a call that its hub has not answered.
fn hub_ended(answer: &Value) -> bool {
    let outcome = &answer["result"]["_meta"]["dev.callgate/outcome"];
    outcome["message"].as_str().is_some_and(|text| text.contains("hub ended"))
}

fn kill(hub: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(hub).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

fn each(test: impl Fn(Plug)) {
    test(Plug::Pipes);
    test(Plug::Sockets);
}

#[test]
fn a_host_s_pipes_are_the_hub_s_while_it_lives() {
    each(|plug| {
        let home = Home::with(json!({ "s": sample(&[]) }));
        let mut hub = home.serve();
        let mut host = Host::lent(&home, plug, hub.pid(), "s__echo");
        host.call(10, "s__echo", json!({ "text": "first" }));
        assert_eq!(text(&host.answer(10)["result"]), "first");
        hub.kill();
        let second = home.serve();
        host.call(11, "s__echo", json!({ "text": "second" }));
        assert_eq!(text(&host.answer(11)["result"]), "second");
        host.await_loan(second.pid());
        host.call(12, "s__echo", json!({ "text": "third" }));
        assert_eq!(text(&host.answer(12)["result"]), "third");
        // A host that hangs up still gets what it had asked for.
        host.call(13, "s__slow", json!({ "ms": 50 }));
        host.to = Box::new(std::io::sink());
        assert!(host.answer(13).get("result").is_some());
        assert_eq!(host.line(), "");
        assert_eq!(host.adapter.wait(), 0);
    });
}

#[test]
fn a_copying_adapter_keeps_its_pipes() {
    let home = Home::with(json!({ "s": sample(&[]) }));
    let _hub = home.serve();
    let mut host = Host::new(&home, Plug::Pipes, &["--mode", "copy"]);
    host.greet("s__echo");
    let before = host.turns();
    for _ in 0..20 {
        host.say(3, "ping", json!({}));
        host.answer(3);
    }
    assert!(host.turns() > before);
}

#[test]
fn a_killed_hub_leaves_no_request_without_an_answer() {
    each(|plug| {
        let home = Home::with(json!({ "s": sample(&[]), "f": fake(&[]) }));
        let mut host = Host::new(&home, plug, &[]);
        host.greet("f__never");
        host.greet("s__echo");
        let mut hub = home.running();
        let mut first = 100;
        for after in [0, 1, 7, 40, 120] {
            host.await_loan(hub);
            host.call(first, "f__never", json!({}));
            // Read for certain: what is read later may be answered by the hub that the adapter starts then.
            host.say(3, "ping", json!({}));
            host.answer(3);
            for id in first + 1..first + 200 {
                host.call(id, "s__echo", json!({ "text": id.to_string() }));
            }
            let mut answers: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
            let mut heard = 0;
            while answers.len() < 200 {
                if heard == after {
                    kill(hub);
                }
                let line = host.line();
                assert!(!line.is_empty(), "{plug:?}: the adapter has ended");
                if line.trim().is_empty() {
                    continue;
                }
                let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                let Some(id) = message["id"].as_u64().filter(|id| *id >= first) else { continue };
                heard += 1;
                answers.entry(id).or_default().push(message);
            }
            for (id, answers) in &answers {
                // One that was written in the moment of death may be followed by a word that it is unknown.
                let (last, earlier) = answers.split_last().unwrap();
                assert!(earlier.len() <= 1, "{plug:?}: {answers:?}");
                let is_right = |answer: &Value| text(&answer["result"]) == id.to_string();
                let failed = hub_ended(last);
                assert!(failed || (earlier.is_empty() && is_right(last)), "{plug:?}: {answers:?}");
                assert!(earlier.iter().all(is_right), "{plug:?}: {answers:?}");
            }
            assert!(hub_ended(&answers[&first][0]));
            first += 1000;
            host.greet("s__echo");
            hub = home.running();
        }
        let (code, _, err) = home.run(&["stop"]);
        assert_eq!(code, 0, "{err}");
    });
}

#[test]
fn a_killed_hub_leaves_no_batch_without_an_answer() {
    each(|plug| {
        let home = Home::with(json!({ "s": sample(&[]) }));
        let mut hub = home.serve();
        let mut host = Host::new(&home, plug, &[]);
        let info = json!({ "name": "story", "version": "1" });
        host.say(1, "initialize", json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": info }));
        host.answer(1);
        eventually("a tool", || {
            host.say(2, "tools/list", json!({}));
            host.answer(2)["result"].to_string().contains("s__slow").then_some(())
        });
        host.await_loan(hub.pid());
        let call = |id: u64, tool: &str, arguments: Value| {
            let params = json!({ "name": tool, "arguments": arguments });
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
        };
        let batch = json!([call(10, "s__get_time", json!({})), call(11, "s__slow", json!({ "ms": 60_000 }))]);
        host.raw(format!("{batch}\n").as_bytes());
        // The quick one is done long before this is answered.
        host.call(12, "s__slow", json!({ "ms": 100 }));
        host.answer(12);
        hub.kill();
        for id in [10, 11] {
            assert!(hub_ended(&host.answer(id)));
        }
    });
}

#[test]
fn what_is_said_to_a_dying_hub_goes_to_the_next_one() {
    each(|plug| {
        let home = Home::with(json!({ "s": sample(&[]) }));
        let mut host = Host::new(&home, plug, &[]);
        host.greet("s__echo");
        let mut hub = home.running();
        for id in 40..46 {
            host.await_loan(hub);
            kill(hub);
            host.call(id, "s__echo", json!({ "text": "carried" }));
            let answer = host.answer(id);
            assert_eq!(text(&answer["result"]), "carried", "{plug:?}: {answer}");
            hub = eventually("the next hub", || Some(home.running()).filter(|pid| *pid != hub));
        }
        let (code, _, err) = home.run(&["stop"]);
        assert_eq!(code, 0, "{err}");
    });
}

#[test]
fn descriptors_are_left_as_they_were_found() {
    for mode in ["lend", "copy"] {
        let home = Home::with(json!({ "s": sample(&[]) }));
        let _hub = home.serve();
        let (stdin, to) = std::io::pipe().unwrap();
        let (from, stdout) = std::io::pipe().unwrap();
        let shared = [OwnedFd::from(stdin.try_clone().unwrap()), OwnedFd::from(stdout.try_clone().unwrap())];
        let mut command = home.command(&["stdio", "--host", "story", "--mode", mode]);
        command.stderr(Stdio::null()).stdin(stdin).stdout(stdout);
        let adapter = stories::Guarded::spawn(command);
        let mut host = Host { adapter, to: Box::new(to), from: BufReader::new(Box::new(from)) };
        host.greet("s__echo");
        host.to = Box::new(std::io::sink());
        assert_eq!(host.adapter.wait(), 0);
        for fd in &shared {
            assert!(!rustix::fs::fcntl_getfl(fd).unwrap().contains(rustix::fs::OFlags::NONBLOCK), "{mode}");
        }
    }
}

#[test]
fn half_a_request_is_carried_over() {
    each(|plug| {
        let home = Home::with(json!({ "s": sample(&[]) }));
        let mut hub = home.serve();
        let mut host = Host::lent(&home, plug, hub.pid(), "s__echo");
        host.say(20, "ping", json!({}));
        host.raw(b"{\"jsonrpc\":\"2.0\",\"id\":21,\"method\":\"tools/call\",\"par");
        // Both were read when this is answered, or at least the first part of the second.
        host.answer(20);
        hub.kill();
        let _second = home.serve();
        host.raw(b"ams\":{\"name\":\"s__echo\",\"arguments\":{\"text\":\"whole\"}}}\n");
        assert_eq!(text(&host.answer(21)["result"]), "whole");
    });
}

#[test]
fn half_an_answer_is_never_taken_for_a_whole_one() {
    each(|plug| {
        let home = Home::with(json!({ "s": sample(&[]) }));
        let mut hub = home.serve();
        let mut host = Host::lent(&home, plug, hub.pid(), "s__big_result");
        // Far more than the pipe takes, to a host that does not read.
        host.call(30, "s__big_result", json!({ "bytes": 4_000_000 }));
        assert!(!host.from.fill_buf().unwrap().is_empty());
        hub.kill();
        let mut broken = 0;
        let answer = loop {
            let line = host.line();
            assert!(!line.is_empty(), "{plug:?}: the adapter has ended");
            match serde_json::from_str::<Value>(&line) {
                Ok(message) if message["id"] == 30 => break message,
                Ok(_) => {}
                Err(_) => broken += usize::from(!line.trim().is_empty()),
            }
        };
        assert!(hub_ended(&answer), "{answer}");
        assert!(broken <= 1, "{broken} broken lines");
        let _second = home.serve();
        host.call(31, "s__echo", json!({ "text": "after" }));
        assert_eq!(text(&host.answer(31)["result"]), "after");
    });
}

#[test]
fn a_host_that_reads_nothing_is_told_that_and_not_that_the_hub_ended() {
    each(|plug| {
        let home = Home::with(json!({ "s": sample(&[]) }));
        let hub = home.serve();
        let mut host = Host::lent(&home, plug, hub.pid(), "s__big_result");
        for id in 40..160 {
            host.call(id, "s__big_result", json!({ "bytes": 100_000 }));
        }
        assert!(!host.from.fill_buf().unwrap().is_empty());
        eventually("nothing runs", || (home.json(&["server", "show", "s"])["running"] == 0).then_some(()));
        // Some are in the pipe, more than the hub keeps come after them, and the rest ends with the connection.
        let (mut answered, mut unread) = (0, 0);
        for id in 40..160 {
            let answer = loop {
                let line = host.line();
                assert!(!line.is_empty(), "{plug:?}: the adapter has ended");
                // What was cut is no message.
                match serde_json::from_str::<Value>(&line) {
                    Ok(message) if message["id"].as_u64().is_some_and(|id| id >= 40) => break message,
                    _ => {}
                }
            };
            match answer["result"]["_meta"]["dev.callgate/outcome"]["message"].as_str() {
                Some(why) => {
                    assert!(why.contains("left more unread than the hub keeps"), "{plug:?}, {id}: {why}");
                    unread += 1;
                }
                None => answered += 1,
            }
        }
        assert!(answered > 0 && unread > 0, "{plug:?}: {answered} answered, {unread} not");
        // The same hub goes on with it.
        host.call(160, "s__echo", json!({ "text": "after" }));
        assert_eq!(text(&host.answer(160)["result"]), "after");
        assert_eq!(home.running(), hub.pid());
    });
}

#[test]
fn an_adapter_that_is_killed_leaves_its_seat() {
    let home = Home::with(json!({ "s": sample(&[]) }));
    let hub = home.serve();
    let mut host = Host::lent(&home, Plug::Pipes, hub.pid(), "s__echo");
    host.adapter.kill();
    eventually("the seat's end", || (!home.json(&["status"])["hosts"].to_string().contains("story")).then_some(()));
    assert_eq!(host.line(), "", "the hub holds the host's stdout open");
}

#[test]
fn only_pipes_and_plain_memory_are_taken() {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;
    let home = Home::with(json!({ "s": sample(&[]) }));
    let _hub = home.serve();
    let mut client: Client = home.stdio(&[]);
    client.initialize("2025-11-25");
    let file = std::fs::File::create(home.path("file")).unwrap();
    let (stdin, _to) = std::io::pipe().unwrap();
    let (_from, stdout) = std::io::pipe().unwrap();
    let memory = rustix::fs::memfd_create("m", rustix::fs::MemfdFlags::ALLOW_SEALING).unwrap();
    let sealed = rustix::fs::memfd_create("s", rustix::fs::MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::fcntl_add_seals(&sealed, rustix::fs::SealFlags::GROW).unwrap();
    let table = [
        (vec![stdin.as_fd(), stdout.as_fd(), memory.as_fd(), memory.as_fd()], "lend"),
        (vec![stdin.as_fd(), stdout.as_fd(), file.as_fd(), memory.as_fd()], "copy"),
        (vec![stdin.as_fd(), stdout.as_fd(), memory.as_fd(), sealed.as_fd()], "copy"),
        (vec![file.as_fd(), stdout.as_fd(), memory.as_fd(), memory.as_fd()], "copy"),
        (vec![stdin.as_fd(), file.as_fd(), memory.as_fd(), memory.as_fd()], "copy"),
        (vec![stdin.as_fd(), stdout.as_fd(), memory.as_fd()], "copy"),
    ];
    for (fds, expect) in table {
        let stream = UnixStream::connect(home.path("run/agent.sock")).unwrap();
        stream.set_read_timeout(Some(stories::LIMIT)).unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        let line = format!("{}\n", json!({ "callgate": { "attach": 1, "host": "x", "mode": "lend" } }));
        rustix::net::sendmsg(&stream, &[std::io::IoSlice::new(line.as_bytes())], &mut control, SendFlags::NOSIGNAL)
            .unwrap();
        let mut answer = String::new();
        BufReader::new(&stream).read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["callgate"]["mode"], expect, "{answer}");
    }
}

/// A host that has gone without a word ends its adapter, whichever of its pipes it closes.
#[test]
fn an_adapter_whose_host_reads_no_more_ends() {
    let home = Home::with(json!({ "s": sample(&[]) }));
    let hub = home.serve();
    for is_lent in [true, false] {
        let mut host = match is_lent {
            true => Host::lent(&home, Plug::Pipes, hub.pid(), "s__echo"),
            false => {
                let mut host = Host::new(&home, Plug::Pipes, &["--mode", "copy"]);
                host.greet("s__echo");
                host
            }
        };
        host.from = BufReader::new(Box::new(std::io::empty()));
        let pid = host.adapter.pid();
        eventually("the adapter's end", || {
            let _ = host.to.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\n");
            (!stories::is_alive(pid)).then_some(())
        });
        host.adapter.wait();
        eventually("its seat is free", || {
            (!home.json(&["status"])["hosts"].to_string().contains("story")).then_some(())
        });
    }
}
