//! A hub that dies at any moment: what it had read and not answered is known to the adapter, and nothing else is.

use super::super::unanswered::Question;
use super::journal::Journal;
use super::memory::{Form, Memory};
use super::{Recovered, recover};
use bytes::Bytes;
use frame::{Level, Line, LineBuf, object};
use proptest::prelude::*;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use wire::peer::Watch;

/// A host's stdin with its far end, and the two sides of a loan.
struct Setup {
    host: OwnedFd,
    far: std::fs::File,
    memory: Memory,
    journal: Journal,
    buf: LineBuf,
}

impl Setup {
    fn new(form: Form) -> Setup {
        let (host, far): (OwnedFd, OwnedFd) = match form {
            Form::Pipe => {
                let (host, far) = std::io::pipe().unwrap();
                (host.into(), far.into())
            }
            Form::Socket => {
                let (host, far) = std::os::unix::net::UnixStream::pair().unwrap();
                (host.into(), far.into())
            }
        };
        let memory = Memory::new().unwrap();
        let fds = [memory.marks.try_clone().unwrap(), memory.input.try_clone().unwrap()];
        let [marks, input] = fds;
        let journal = Journal::new(marks, input, form);
        journal.begin();
        Setup { host, far: far.into(), memory, journal, buf: LineBuf::new(1 << 20) }
    }
    fn send(&mut self, text: &str) {
        self.far.write_all(text.as_bytes()).unwrap();
    }
    /// What the hub does with one read.
    fn read(&mut self) -> Vec<(u64, Bytes)> {
        let mut chunk = vec![0; 1 << 16];
        let length = self.journal.take(self.host.as_fd(), &mut chunk).unwrap();
        self.buf.spare(length).extend_from_slice(&chunk[..length]);
        let mut lines = Vec::new();
        while let Some(line) = self.buf.next_line() {
            let Line::Whole(text) = line else { panic!("too long") };
            lines.push((self.journal.line(), text));
        }
        self.journal.held(self.buf.pending());
        lines
    }
    fn left(&self) -> Recovered {
        recover(&self.memory, self.host.as_fd(), 1 << 20).unwrap()
    }
    /// The ids of what was left behind.
    fn ids(&self) -> Vec<String> {
        self.left().lines.iter().map(id_of).collect()
    }
}

fn id_of(line: &Line) -> String {
    let Line::Whole(text) = line else { panic!("too long") };
    String::from_utf8(object::get(text, "id").unwrap().to_vec()).unwrap()
}

fn request(id: u64) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"m\"}}\n")
}

fn both(test: impl Fn(Setup)) {
    test(Setup::new(Form::Pipe));
    test(Setup::new(Form::Socket));
}

#[test]
fn what_was_read_and_not_answered_is_known() {
    both(|mut it| {
        it.send(&(request(1) + &request(2) + &request(3) + "{\"jsonrpc\":\"2.0\",\"id\":4"));
        let lines = it.read();
        assert_eq!(lines.len(), 3);
        let slots: Vec<_> = lines
            .iter()
            .map(|(line, text)| it.journal.open(*line, &[(object::get(text, "id").unwrap(), Question::Other)]))
            .collect();
        it.journal.close(slots[1], 0);
        it.journal.written(0, 0);
        assert_eq!(it.ids(), ["1", "3"]);
        assert_eq!(it.left().rest, "{\"jsonrpc\":\"2.0\",\"id\":4");
    });
}

#[test]
fn an_answer_counts_when_it_is_written() {
    both(|mut it| {
        it.send(&request(1));
        let (line, _) = it.read().remove(0);
        let slot = it.journal.open(line, &[(Bytes::from_static(b"1"), Question::Other)]);
        it.journal.close(slot, 0);
        assert_eq!(it.ids(), ["1"]);
        it.journal.writing(10_000);
        assert!(it.left().is_inside);
        it.journal.written(0, 0);
        assert!(it.ids().is_empty());
        assert!(!it.left().is_inside);
    });
}

#[test]
fn of_answers_that_are_partly_out_each_counts_by_itself() {
    both(|mut it| {
        it.send(&(request(1) + &request(2) + &request(3)));
        for (end, (line, text)) in [100, 200, 300].into_iter().zip(it.read()) {
            let slot = it.journal.open(line, &[(object::get(&text, "id").unwrap(), Question::Other)]);
            it.journal.close(slot, end);
        }
        it.journal.written(150, 150);
        assert_eq!(it.ids(), ["2", "3"]);
        assert!(it.left().is_inside);
        it.journal.written(200, 100);
        assert_eq!(it.ids(), ["3"]);
        it.journal.written(300, 0);
        assert!(it.ids().is_empty());
        assert!(!it.left().is_inside);
    });
}

#[test]
fn what_was_looked_at_and_not_taken_is_still_the_hosts() {
    let mut it = Setup::new(Form::Socket);
    it.send(&request(1));
    it.read();
    it.send(&request(2));
    // The hub dies between looking and taking.
    let mut chunk = vec![0; 1 << 16];
    let (_, length) = rustix::net::recv(&it.host, &mut chunk[..], rustix::net::RecvFlags::PEEK).unwrap();
    it.journal.block(it.journal.end(), &chunk[..length]).unwrap();
    assert_eq!(it.ids(), ["1"]);
    // Dead in the middle of writing it down.
    let (_, taken) = rustix::net::recv(&it.host, &mut chunk[..], rustix::net::RecvFlags::empty()).unwrap();
    assert_eq!(taken, length);
    assert_eq!(it.ids(), ["1", "2"]);
}

#[test]
fn what_a_host_said_of_itself_is_kept() {
    both(|it| {
        assert_eq!((it.left().initialize, it.left().level), (None, None));
        it.journal.initialized(b"{\"a\":1}");
        it.journal.level(Some(Level::Warning));
        assert_eq!((it.left().initialize, it.left().level), (Some("{\"a\":1}".into()), Some(Level::Warning)));
    });
}

#[test]
fn a_request_that_is_never_answered_costs_no_memory_for_the_others() {
    both(|mut it| {
        it.send(&request(0));
        let (line, _) = it.read().remove(0);
        let forever = it.journal.open(line, &[(Bytes::from_static(b"0"), Question::ModernCall)]);
        let batch: String = (1..200).map(request).collect();
        for _ in 0..2_000 {
            it.send(&batch);
            for (line, text) in it.read() {
                let slot = it.journal.open(line, &[(object::get(&text, "id").unwrap(), Question::Other)]);
                it.journal.close(slot, 0);
            }
            it.journal.written(0, 0);
        }
        let file = rustix::fs::fstat(&it.memory.input).unwrap();
        assert!(file.st_blocks * 512 < 6 << 20, "{} blocks", file.st_blocks);
        assert_eq!(it.ids(), ["0"]);
        it.journal.close(forever, 0);
        it.journal.written(0, 0);
        assert!(it.ids().is_empty());
    });
}

#[derive(Clone, Debug)]
enum Step {
    Send(u8),
    Read,
    Answer(u8),
    Written,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (1u8..6).prop_map(Step::Send),
        Just(Step::Read),
        any::<u8>().prop_map(Step::Answer),
        Just(Step::Written),
    ];
    proptest::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn a_hub_may_die_after_any_step(steps in steps(), is_socket: bool) {
        let mut it = Setup::new(if is_socket { Form::Socket } else { Form::Pipe });
        let (mut next, mut unread) = (0, 0);
        let mut open = Vec::new();
        let mut unwritten: Vec<String> = Vec::new();
        for step in steps {
            match step {
                Step::Send(count) => {
                    for _ in 0..count {
                        it.send(&request(next));
                        next += 1;
                        unread += 1;
                    }
                }
                Step::Read if unread > 0 => {
                    for (line, text) in it.read() {
                        let id = object::get(&text, "id").unwrap();
                        open.push((it.journal.open(line, &[(id.clone(), Question::Call)]), String::from_utf8(id.to_vec()).unwrap()));
                    }
                    unread = 0;
                }
                Step::Read => {}
                Step::Answer(which) if !open.is_empty() => {
                    let (slot, id) = open.remove(usize::from(which) % open.len());
                    it.journal.close(slot, 0);
                    unwritten.push(id);
                }
                Step::Answer(_) => {}
                Step::Written => {
                    it.journal.written(0, 0);
                    unwritten.clear();
                }
            }
            let mut expect: Vec<String> = open.iter().map(|(_, id)| id.clone()).chain(unwritten.iter().cloned()).collect();
            expect.sort();
            let mut ids = it.ids();
            ids.sort();
            prop_assert_eq!(ids, expect);
        }
    }
}
