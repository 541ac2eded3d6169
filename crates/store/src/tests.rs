//! Tests of the whole store through its public face, and through what a stranger could do to its files.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod audit;
mod cut;
mod failing;
mod files;
mod journal;
mod kept;
mod kill;
mod migration;
mod own_keys;
mod payload;
mod records;
mod recovery;
mod search;
mod tamper;

use crate::*;
use bytes::Bytes;
use contract::Hash;
use policy::CallState;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

pub(crate) const SECRET: &str = "hunter2-and-more";

const NOW: u64 = 1_790_000_000_000;

fn options() -> Options {
    Options { clock: || NOW, boot: Some(BootId::of("one boot")), steady: None, ..Options::new("0.0.0-test") }
}

struct Desk {
    opened: Opened,
    told: Receiver<Told>,
}

impl Desk {
    fn try_open(dir: &Path, options: Options) -> Result<Desk, StoreFault> {
        let (tell, told) = sync_channel(10_000);
        let opened = Store::open(dir, &dir.join("run"), options, move |word| {
            // A test that has seen enough drops its end.
            let _ = tell.send(word);
        })?;
        Ok(Desk { opened, told })
    }

    fn open(dir: &Path) -> Desk {
        Desk::try_open(dir, options()).unwrap()
    }

    fn stop(self) {
        drop((self.opened.ledger, self.opened.committer));
        self.opened.thread.stop().unwrap();
    }

    /// Ends it without a stop row, as a crash does, with all that was queued written.
    fn crash(self) {
        let Opened { ledger, committer, thread, .. } = self.opened;
        drop((ledger, committer));
        drop(thread.queue);
        thread.thread.join().unwrap().unwrap();
    }

    /// One read call of a known tool.
    fn read(&mut self, item: &str, arguments: &str) -> CallNumber {
        let ledger = &mut self.opened.ledger;
        let (client, server) = (ledger.subject("claude-code"), ledger.subject("files"));
        let tool = ledger.tool(item, "sha256:abc", &["path", "limit"]);
        let call = ledger.next_call();
        let _ = ledger.push(&Entry {
            client: Some(&client),
            server: Some(&server),
            item: Item::Known(&tool),
            method: Method::ToolCall,
            effect: Some(policy::Effect::Read),
            outcome: Outcome::Ok,
            arguments: Some(&Bytes::copy_from_slice(arguments.as_bytes())),
            result_bytes: 200,
            stages: Stages { checked: 1, held: 2, queued: 3, ran: 4, answered: 5 },
            ..Entry::new(call, Kind::Read, 1_790_000_000_123)
        });
        call
    }

    fn announce(&mut self) -> CallNumber {
        let ledger = &mut self.opened.ledger;
        let tool = ledger.tool("place_order", "sha256:def", &["item"]);
        let call = ledger.next_call();
        let due = ledger.push(&Entry {
            item: Item::Known(&tool),
            effect: Some(policy::Effect::Write),
            arguments: Some(&Bytes::from_static(br#"{"item":"book"}"#)),
            repetition: Some(Repetition { session: "one session", asked: Hash::of(b"book") }),
            ..Entry::new(call, Kind::Intent, 1_790_000_000_200)
        });
        assert_eq!(due, Due::Now);
        call
    }

    /// Announces a write call and waits until that is durable.
    fn intend(&mut self) -> (CallNumber, Result<(), Cause>) {
        let call = self.announce();
        assert_eq!(self.opened.ledger.flush(), Handed::All);
        let settled = self.settled();
        assert_eq!(settled.len(), 1);
        assert_eq!(settled[0].call, call);
        (call, settled[0].result)
    }

    fn end(&mut self, call: CallNumber, mark: Option<Mark>) {
        let entry = Entry { outcome: Outcome::Ok, ..Entry::new(call, Kind::End, 1_790_000_000_300) };
        let _ = match mark {
            Some(mark) => self.opened.ledger.push_end(&entry, mark),
            None => self.opened.ledger.push(&entry),
        };
    }

    fn settled(&mut self) -> Vec<Settled> {
        loop {
            if let Told::Settled(settled) = self.told.recv_timeout(Duration::from_secs(20)).unwrap() {
                return settled;
            }
        }
    }

    /// Hands over what was pushed and waits until it is committed.
    fn settle(&mut self) -> Result<(), JobFault> {
        self.opened.ledger.flush();
        self.opened.committer.submit_and_wait(Job::ForgetServer("nobody".into()))
    }
}

/// A call of a client that waits for a person, with a key and a secret in its arguments.
fn waiting(call: CallNumber) -> CallRecord {
    CallRecord {
        state: CallState::Waiting,
        session: "s1".into(),
        launch: "sha256:1".into(),
        name: "shop__place_order".into(),
        definition: Some(Hash::of(b"definition")),
        asked: Some(Hash::of(b"asked")),
        sent: Some(Hash::of(b"asked")),
        key: Some(Hash::of(b"key")),
        policy: Some(Hash::of(b"policy")),
        effect: policy::Effect::Destructive,
        tier: policy::Tier::Each,
        rule: "no prod".into(),
        why: "the rule".into(),
        expires_ms: NOW + 900_000,
        arguments: Some(Bytes::from(format!(r#"{{"card":"{SECRET}"}}"#))),
        ..CallRecord::new(call, "claude-code", "shop", "place_order", NOW)
    }
}

fn approved(call: CallNumber) -> CallRecord {
    CallRecord {
        state: CallState::Approved,
        decided_ms: NOW + 5,
        decided_by: "terminal".into(),
        reason: "fine".into(),
        scope: Some(policy::Scope::Once),
        edited: Some(Bytes::from(format!(r#"{{"card":"{SECRET}","n":1}}"#))),
        ..waiting(call)
    }
}

fn put(record: &CallRecord) -> Job {
    Job::PutCall { record: Box::new(record.clone()), note: None }
}

fn do_job(desk: &Desk, job: Job) {
    desk.opened.committer.submit_and_wait(job).unwrap();
}

fn whole_log(dir: &Path) -> Vec<AuditRecord> {
    let mut rows = Reader::open(dir).unwrap().page(&Filter::default(), 1000).unwrap();
    rows.reverse();
    rows
}

fn kinds(dir: &Path) -> Vec<String> {
    whole_log(dir).into_iter().map(|row| row.kind).collect()
}

/// All bytes of all files of a home.
fn bytes_of(dir: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(bytes_of(&path)) } else { all.extend(std::fs::read(path).unwrap()) }
    }
    all
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
