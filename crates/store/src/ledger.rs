//! The relay's end of the audit: collects rows and hands them to the committer. Never blocks, never locks;
//! pushing a row wakes nobody.

use crate::batch::{Batch, Entry, Item, Registered, Registration, Subject};
use crate::chain::Keys;
use crate::committer::{Message, Shared};
use crate::{CallNumber, Done, Job, JobFault, Kind, Mark};
use contract::Hash;
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};

/// Rows that are handed over at once.
pub(crate) const BATCH_ROWS: usize = 256;
/// Bytes of arguments with which a batch is handed over early.
const BATCH_WEIGHT: usize = 256 * 1024;
/// Bytes of arguments on their way at which calls have to wait.
const MOST_WEIGHT: usize = 8 * 1024 * 1024;
/// Longest name that is kept as text.
const LONGEST_NAME: usize = 512;

/// When the caller has to call [`Ledger::flush`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Due {
    /// Nothing to do: a flush is already due, or just happened.
    Already,
    /// Within 20 ms: this is the first row since the last flush. Start the timer.
    Soon,
    /// Before the thread sleeps: somebody waits for it. Several such rows of one wake share a commit.
    Now,
}

/// What came of a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handed {
    /// The committer has it all.
    All,
    /// The queue is full: the rows are kept. Start no call before [`Told::Room`](crate::Told::Room), then flush again.
    Full,
    /// The committer is gone: the rows are lost, jobs were refused, no call may be sent that needs an intent.
    Gone,
}

/// Collects the relay's audit rows. Owned by the relay thread.
pub struct Ledger {
    batch: Box<Batch>,
    queue: SyncSender<Message>,
    spare: Receiver<Box<Batch>>,
    shared: Arc<Shared>,
    gone: Rc<RefCell<Vec<u32>>>,
    keys: Keys,
    last_id: u32,
    last_call: CallNumber,
    is_full: bool,
    is_due: bool,
}

impl Ledger {
    pub(crate) fn new(
        queue: SyncSender<Message>,
        spare: Receiver<Box<Batch>>,
        shared: Arc<Shared>,
        keys: Keys,
        last_call: CallNumber,
    ) -> Ledger {
        Ledger {
            batch: Box::default(),
            queue,
            spare,
            shared,
            gone: Rc::default(),
            keys,
            last_id: 0,
            last_call,
            is_full: false,
            is_due: false,
        }
    }

    /// The number of a new call.
    pub fn next_call(&mut self) -> CallNumber {
        self.last_call = self.last_call.next();
        self.last_call
    }

    /// What stands for a hash of values wherever it is written down or shown: keyed, so that few possible values cannot
    /// be tried out against it. Equal ones stay equal.
    pub fn keyed(&self, plain: Hash) -> Hash {
        self.keys.keyed(plain)
    }

    /// Registers the name of a client or server. Texts over 512 bytes are cut.
    pub fn subject(&mut self, name: &str) -> Subject {
        self.tool(name, "", &[])
    }

    /// Registers a tool, prompt or resource: its name, the hash of its definition, and the argument names that its
    /// schema knows. Only those are ever recorded as text.
    pub fn tool(&mut self, name: &str, definition: &str, fields: &[&str]) -> Subject {
        let fields = fields.iter().map(|&field| field.into()).collect();
        self.register(cut(name).into(), definition.into(), fields)
    }

    fn register(&mut self, text: Box<str>, definition: Box<str>, fields: Box<[Box<str>]>) -> Subject {
        self.last_id += 1;
        let registered = Registered { id: self.last_id, text: text.clone(), gone: self.gone.clone() };
        self.batch.registrations.push(Registration { id: self.last_id, text, definition, fields });
        Subject(Rc::new(registered))
    }

    /// Registers a detail that many rows share, a JSON object: a rule and why. Over 8 KiB only its size is kept.
    pub fn detail(&mut self, json: &str) -> Subject {
        self.register(short_detail(json).into_owned().into(), "".into(), Box::default())
    }

    /// Queues a job in order with the rows: what was pushed before is written before it, in the same transaction or an
    /// earlier one. `done` is called on the committer's thread after its commit, or when it could not be written.
    pub fn submit(&mut self, job: Job, done: Option<Done>) -> Due {
        let is_awaited = done.is_some() || job.must_be_durable();
        self.batch.submit(job, done);
        if is_awaited {
            self.is_due = true;
            return Due::Now;
        }
        self.due()
    }

    /// Adds a row.
    pub fn push(&mut self, entry: &Entry<'_>) -> Due {
        self.add(entry, None)
    }

    /// Adds the end of a call that had a flight mark; the mark's slot is free once the row is committed.
    pub fn push_end(&mut self, entry: &Entry<'_>, mark: Mark) -> Due {
        self.add(entry, Some(mark))
    }

    fn add(&mut self, entry: &Entry<'_>, mark: Option<Mark>) -> Due {
        let stranger = match entry.item {
            Item::Stranger(name) => Some(self.stranger(name)),
            Item::None | Item::Known(_) => None,
        };
        self.batch.push(entry, stranger, mark);
        if entry.kind == Kind::Intent {
            self.is_due = true;
            return Due::Now;
        }
        self.due()
    }

    fn due(&mut self) -> Due {
        if self.batch.length() >= BATCH_ROWS || self.batch.weight >= BATCH_WEIGHT {
            self.flush();
            return Due::Already;
        }
        match std::mem::replace(&mut self.is_due, true) {
            true => Due::Already,
            false => Due::Soon,
        }
    }

    fn stranger(&self, name: &str) -> [u8; 12] {
        let mut out = [0; 12];
        out[..4].copy_from_slice(&u32::try_from(name.len()).unwrap_or(u32::MAX).to_le_bytes());
        out[4..].copy_from_slice(&self.keys.names.short(&[name.as_bytes()]));
        out
    }

    #[cfg(test)]
    pub(crate) fn lose_what_is_not_handed_over(&mut self) {
        self.batch.clear();
    }

    /// Whether no new call may be started: what its end has to tell would find no room.
    pub fn is_full(&self) -> bool {
        self.is_full || self.shared.weight.load(Ordering::Relaxed) > MOST_WEIGHT
    }

    /// Hands over what was collected. To be called when a push said so, and at [`Told::Room`](crate::Told::Room).
    pub fn flush(&mut self) -> Handed {
        self.is_due = false;
        if self.batch.is_empty() {
            return Handed::All;
        }
        self.batch.gone.append(&mut self.gone.borrow_mut());
        let next = self.spare.try_recv().unwrap_or_default();
        let weight = self.batch.weight;
        self.shared.weight.fetch_add(weight, Ordering::Relaxed);
        let mut batch = std::mem::replace(&mut self.batch, next);
        for _ in 0..2 {
            batch = match self.queue.try_send(Message::Batch(batch)) {
                Ok(()) => {
                    self.is_full = false;
                    return Handed::All;
                }
                Err(TrySendError::Full(Message::Batch(batch))) => batch,
                Err(TrySendError::Disconnected(Message::Batch(mut batch))) => {
                    batch.refuse(JobFault::Stopped);
                    self.is_full = true;
                    return Handed::Gone;
                }
                Err(_) => {
                    self.is_full = true;
                    return Handed::Gone;
                }
            };
            // Raised before the second attempt: room that was made in between is either seen or told.
            self.shared.waits.store(true, Ordering::SeqCst);
        }
        self.batch = batch;
        self.shared.weight.fetch_sub(weight, Ordering::Relaxed);
        self.is_full = true;
        Handed::Full
    }
}

/// What was collected goes to the committer, if that has room.
impl Drop for Ledger {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Longest detail that is kept as text.
const LONGEST_DETAIL: usize = 8192;

pub(crate) fn short_detail(json: &str) -> Cow<'_, str> {
    match json.len() {
        ..=LONGEST_DETAIL => Cow::Borrowed(json),
        bytes => Cow::Owned(format!("{{\"left_out\":{bytes}}}")),
    }
}

fn cut(name: &str) -> &str {
    let mut end = name.len().min(LONGEST_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}
