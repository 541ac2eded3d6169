//! Audit rows on their way from the relay thread to the committer: packed, without a string in them.

use crate::ledger::short_detail;
use crate::{CallNumber, Done, Job, JobFault, Kind, Mark, Method, Outcome};
use bytes::Bytes;
use contract::Hash;
use policy::Effect;
use std::cell::RefCell;
use std::rc::Rc;

/// A name that rows refer to, registered once: a client, a server, or a tool with its definition. Keep it as long
/// as rows may name it; the last clone that goes lets the committer forget it, after all rows pushed before.
#[derive(Clone)]
pub struct Subject(pub(crate) Rc<Registered>);

impl Subject {
    /// The name, or the text of a detail ([`Ledger::detail`](crate::Ledger::detail)).
    pub fn text(&self) -> &str {
        &self.0.text
    }
}

pub(crate) struct Registered {
    pub id: u32,
    pub text: Box<str>,
    pub gone: Rc<RefCell<Vec<u32>>>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.gone.borrow_mut().push(self.id);
    }
}

/// What a call is about.
#[derive(Clone, Copy)]
pub enum Item<'a> {
    /// Nothing.
    None,
    /// A tool, prompt or resource that is listed.
    Known(&'a Subject),
    /// A name that matches nothing: only its length and a keyed hash are kept.
    Stranger(&'a str),
}

/// What more a row has to tell. Never a secret, never an argument value.
#[derive(Clone, Copy)]
pub enum Detail<'a> {
    /// Nothing.
    None,
    /// A text that many rows share: a rule and why, registered once by [`Ledger::detail`](crate::Ledger::detail).
    Known(&'a Subject),
    /// A JSON object of this row.
    Text(&'a str),
}

/// Where the time of a call went, in µs. Human time, queue time and tool time are clocks of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// From its last byte in to the verdict.
    pub checked: u32,
    /// Waiting for a person.
    pub held: u32,
    /// Waiting for the server to start, for its lane, for the intent's commit.
    pub queued: u32,
    /// At the server.
    pub ran: u32,
    /// From the answer's last byte in to its last byte written to the client.
    pub answered: u32,
}

/// By what a repetition of an announced call is known, should nobody ever hear of its end. Kept with the open intent only,
/// in no row.
#[derive(Clone, Copy)]
pub struct Repetition<'a> {
    /// The session in which it was asked.
    pub session: &'a str,
    /// Keyed digest of the arguments as asked.
    pub asked: Hash,
}

/// One audit row as the relay tells it.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// Which call; 0 for none.
    pub call: CallNumber,
    /// What is told. An [`Kind::Intent`] guards: it is committed FULL at once and its commit is told.
    pub kind: Kind,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Who asked.
    pub client: Option<&'a Subject>,
    /// Which server.
    pub server: Option<&'a Subject>,
    /// What of it.
    pub item: Item<'a>,
    /// How it was asked.
    pub method: Method,
    /// Its effect class.
    pub effect: Option<Effect>,
    /// How it ended.
    pub outcome: Outcome,
    /// The arguments' JSON text: their shape is recorded, their values are not.
    pub arguments: Option<&'a Bytes>,
    /// Bytes of the result as the server sent it.
    pub result_bytes: u64,
    /// Where the time went.
    pub stages: Stages,
    /// More.
    pub detail: Detail<'a>,
    /// Of an intent without a call record.
    pub repetition: Option<Repetition<'a>>,
}

impl<'a> Entry<'a> {
    /// A row with nothing but the call, what is told, and when.
    pub fn new(call: CallNumber, kind: Kind, at_ms: u64) -> Entry<'a> {
        Entry {
            call,
            kind,
            at_ms,
            client: None,
            server: None,
            item: Item::None,
            method: Method::None,
            effect: None,
            outcome: Outcome::None,
            arguments: None,
            result_bytes: 0,
            stages: Stages::default(),
            detail: Detail::None,
            repetition: None,
        }
    }
}

/// Arguments of a row inside its batch.
#[derive(Clone, Copy, Default)]
pub(crate) enum Args {
    #[default]
    None,
    /// Copied into the batch's text.
    Copied { start: u32, length: u32 },
    /// Shared, by index.
    Shared(u32),
}

/// Detail of a row inside its batch.
#[derive(Clone, Copy, Default)]
pub(crate) enum RowDetail {
    #[default]
    None,
    /// Registered.
    Known(u32),
    /// Copied into the batch's text.
    Text { start: u32, length: u32 },
}

/// An entry without borrows.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub call: CallNumber,
    pub at: u64,
    pub result_bytes: u64,
    pub stages: Stages,
    pub client: u32,
    pub server: u32,
    pub item: u32,
    pub stranger: Option<[u8; 12]>,
    pub args: Args,
    pub detail: RowDetail,
    /// Where in the batch's text the digest and then the session stand, for [`Batch::repetition`].
    pub repetition: Option<(u32, u32)>,
    /// Flight slot that is free once the row is committed.
    pub slot: Option<u32>,
    pub kind: Kind,
    pub method: Method,
    pub effect: u8,
    pub outcome: Outcome,
}

/// Number of an effect class in the database; 0 is none.
pub(crate) const fn effect_code(effect: Option<Effect>) -> u8 {
    match effect {
        None => 0,
        Some(Effect::Read) => 1,
        Some(Effect::Write) => 2,
        Some(Effect::Destructive) => 3,
    }
}

/// The effect class of such a number.
pub(crate) const fn effect_of(code: i64) -> Option<Effect> {
    match code {
        1 => Some(Effect::Read),
        2 => Some(Effect::Write),
        3 => Some(Effect::Destructive),
        _ => None,
    }
}

/// The word for such a number.
pub(crate) const fn effect_word(code: u64) -> &'static str {
    match code {
        1 => Effect::Read.as_str(),
        2 => Effect::Write.as_str(),
        3 => Effect::Destructive.as_str(),
        _ => "",
    }
}

/// A registered name on its way.
pub(crate) struct Registration {
    pub id: u32,
    pub text: Box<str>,
    pub definition: Box<str>,
    pub fields: Box<[Box<str>]>,
}

/// A job on its way with the rows: done after the first `after` of them.
pub(crate) struct Queued {
    pub after: usize,
    pub job: Job,
    pub done: Option<Done>,
}

/// What the relay hands over at once. Registrations come before rows that use them, `gone` after the last.
#[derive(Default)]
pub(crate) struct Batch {
    pub registrations: Vec<Registration>,
    pub rows: Vec<Row>,
    pub jobs: Vec<Queued>,
    pub text: Vec<u8>,
    pub shared: Vec<Bytes>,
    pub gone: Vec<u32>,
    /// Bytes of arguments that it keeps in memory.
    pub weight: usize,
}

/// Arguments up to this size are copied: a shared slice would keep the relay's whole read buffer.
const COPY_MOST: usize = 8192;

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.jobs.is_empty() && self.registrations.is_empty()
    }

    /// Rows and jobs.
    pub(crate) fn length(&self) -> usize {
        self.rows.len() + self.jobs.len()
    }

    pub(crate) fn submit(&mut self, job: Job, done: Option<Done>) {
        self.weight += job.weight();
        self.jobs.push(Queued { after: self.rows.len(), job, done });
    }

    fn copy(&mut self, text: &[u8]) -> (u32, u32) {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(text);
        (start, text.len() as u32)
    }

    pub(crate) fn push(&mut self, entry: &Entry<'_>, stranger: Option<[u8; 12]>, mark: Option<Mark>) {
        let args = match entry.arguments {
            None => Args::None,
            Some(bytes) if bytes.len() <= COPY_MOST => {
                let (start, length) = self.copy(bytes);
                Args::Copied { start, length }
            }
            Some(bytes) => {
                self.shared.push(bytes.clone());
                Args::Shared(self.shared.len() as u32 - 1)
            }
        };
        let detail = match entry.detail {
            Detail::None | Detail::Text("") => RowDetail::None,
            Detail::Known(subject) => RowDetail::Known(subject.0.id),
            Detail::Text(json) => {
                let (start, length) = self.copy(short_detail(json).as_bytes());
                RowDetail::Text { start, length }
            }
        };
        let repetition = entry.repetition.map(|it| {
            let (start, length) = self.copy(it.asked.as_bytes());
            (start, length + self.copy(it.session.as_bytes()).1)
        });
        self.weight += entry.arguments.map_or(0, Bytes::len);
        let id = |subject: Option<&Subject>| subject.map_or(0, |subject| subject.0.id);
        self.rows.push(Row {
            call: entry.call,
            at: entry.at_ms,
            result_bytes: entry.result_bytes,
            stages: entry.stages,
            client: id(entry.client),
            server: id(entry.server),
            item: if let Item::Known(subject) = entry.item { subject.0.id } else { 0 },
            stranger,
            args,
            detail,
            repetition,
            slot: mark.map(|mark| mark.0),
            kind: entry.kind,
            method: entry.method,
            effect: effect_code(entry.effect),
            outcome: entry.outcome,
        });
    }

    pub(crate) fn arguments(&self, row: &Row) -> &[u8] {
        match row.args {
            Args::None => &[],
            Args::Copied { start, length } => self.text(start, length),
            Args::Shared(index) => &self.shared[index as usize],
        }
    }

    /// Digest and session by which a repetition is known.
    pub(crate) fn repetition(&self, row: &Row) -> Option<(&[u8; 32], &str)> {
        let (start, length) = row.repetition?;
        let (asked, session) = self.text(start, length).split_first_chunk()?;
        Some((asked, std::str::from_utf8(session).ok()?))
    }

    pub(crate) fn text(&self, start: u32, length: u32) -> &[u8] {
        &self.text[start as usize..start as usize + length as usize]
    }

    /// After a failure: guards are void and jobs that somebody waits for are refused; what is left is kept.
    pub(crate) fn void(&mut self, fault: JobFault) {
        let mut left = 0;
        let places: Vec<usize> = std::iter::once(0)
            .chain(self.rows.iter().map(|row| {
                left += usize::from(row.kind != Kind::Intent);
                left
            }))
            .collect();
        self.rows.retain(|row| row.kind != Kind::Intent);
        for queued in &mut self.jobs {
            queued.after = places[queued.after];
        }
        for queued in self.jobs.extract_if(.., |queued| queued.done.is_some()) {
            if let Some(done) = queued.done {
                done(Err(fault));
            }
        }
    }

    /// Nothing of it will ever be written.
    pub(crate) fn refuse(&mut self, fault: JobFault) {
        for done in self.jobs.drain(..).filter_map(|queued| queued.done) {
            done(Err(fault));
        }
    }

    /// Empties it for its next use; memory of an unusual size is given back.
    pub(crate) fn clear(&mut self) {
        self.registrations.clear();
        self.rows.clear();
        self.rows.shrink_to(512);
        self.jobs.clear();
        self.jobs.shrink_to(64);
        self.text.clear();
        self.text.shrink_to(64 * 1024);
        self.shared.clear();
        self.gone.clear();
        self.weight = 0;
    }
}
