//! The committer's words: what goes to the only thread that writes the database, and what comes back.

use crate::batch::Batch;
use crate::kept::{EraMemory, Snapshot};
use crate::{CallNumber, CallRecord, Durability, Grants, JobFault, Kind, Method, Outcome, Pin, StoreFault};
use bytes::Bytes;
use policy::{Effect, Grant};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::thread::JoinHandle;

/// Why the database can't be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u8)]
pub enum Cause {
    /// No space is left.
    #[error("the disk is full")]
    DiskFull = 1,
    /// The file or its file system can't be written.
    #[error("the database is read-only")]
    ReadOnly = 2,
    /// The file is damaged.
    #[error("the database is damaged")]
    Damaged = 3,
    /// Another program holds a lock on it.
    #[error("another program has locked the database")]
    Locked = 4,
    /// Anything else.
    #[error("writing the database fails")]
    Failing = 5,
    /// The file is not in its place any more: what is written to it, nobody will ever find.
    #[error("the database was moved, deleted or replaced while the hub runs; stop the hub and start it again")]
    Gone = 6,
}

impl Cause {
    pub(crate) fn of(error: &rusqlite::Error) -> Cause {
        use rusqlite::ErrorCode as Code;
        if error.sqlite_error().is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_READONLY_DBMOVED) {
            return Cause::Gone;
        }
        match error.sqlite_error_code() {
            Some(Code::DiskFull) => Cause::DiskFull,
            Some(Code::ReadOnly | Code::PermissionDenied | Code::CannotOpen) => Cause::ReadOnly,
            Some(Code::DatabaseCorrupt | Code::NotADatabase) => Cause::Damaged,
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Cause::Locked,
            _ => Cause::Failing,
        }
    }
}

/// Whether audit rows become durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditState {
    /// They do.
    Ok,
    /// The last attempt failed: calls that need an intent are to be refused. Rows are kept and tried again.
    Unavailable(Cause),
}

/// The commit of one guarding row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Which call.
    pub call: CallNumber,
    /// Durable, or why not: then the row is not in the log and never will be.
    pub result: Result<(), Cause>,
}

/// What the committer tells. Told on its thread: pass it on and return.
#[derive(Debug, PartialEq, Eq)]
pub enum Told {
    /// The guarding rows of one transaction.
    Settled(Vec<Settled>),
    /// There is room again after [`Handed::Full`](crate::Handed::Full).
    Room,
    /// The state changed.
    State(AuditState),
}

/// Takes what the committer tells.
pub(crate) type Listener = Box<dyn FnMut(Told) + Send>;
/// Takes the end of one job.
pub type Done = Box<dyn FnOnce(Result<(), JobFault>) + Send>;

/// An audit row about something other than the sending of a call. Texts must hold no secret and no argument value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What is told.
    pub kind: Kind,
    /// Which call; 0 for none.
    pub call: CallNumber,
    /// How it was asked.
    pub method: Method,
    /// Its effect class.
    pub effect: Option<Effect>,
    /// What came of it.
    pub outcome: Outcome,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Which client, or empty.
    pub client: String,
    /// Which server, or empty.
    pub server: String,
    /// Which tool, token, setting, or empty.
    pub item: String,
    /// Hash of a definition, or empty.
    pub definition: String,
    /// More, as a JSON object, or empty.
    pub detail: String,
    /// Arguments that the row is about: only their shape is written.
    pub arguments: Unshown,
}

/// Values of a call that are to be kept: sealed before they reach the disk.
#[derive(Clone)]
pub struct Values {
    /// Which call, and the names of its row.
    pub note: Note,
    /// The arguments.
    pub arguments: Unshown,
    /// The result.
    pub result: Unshown,
}

/// Values that are on their way to their shape: nothing prints them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Unshown(pub Option<Bytes>);

impl std::fmt::Debug for Unshown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.as_ref().map_or(0, Bytes::len))
    }
}

impl Note {
    /// A note with nothing but what is told and when.
    pub fn new(kind: Kind, at_ms: u64) -> Note {
        Note {
            kind,
            call: CallNumber(0),
            method: Method::None,
            effect: None,
            outcome: Outcome::None,
            at_ms,
            client: String::new(),
            server: String::new(),
            item: String::new(),
            definition: String::new(),
            detail: String::new(),
            arguments: Unshown::default(),
        }
    }
}

/// Something for the committer to write that is no row of a call.
#[derive(Clone)]
pub enum Job {
    /// Remember a server's lists.
    SaveSnapshot(Box<Snapshot>),
    /// Remember a server's era.
    SaveEra(EraMemory),
    /// A server was removed from the config.
    ForgetServer(String),
    /// Set a setting, or remove it. Durable when done. So the next two.
    Set {
        /// Which.
        key: String,
        /// None removes it.
        value: Option<String>,
        /// What is written of it.
        note: Option<Note>,
    },
    /// An audit row of what a person does.
    Deed(Note),
    /// A person accepts the log as it is, although its anchor is not in it; the old anchor goes into the row.
    AcceptEpoch,
    /// Keeps values of a call, sealed, with a row that names them.
    Values(Box<Values>),
    /// An audit row.
    Note(Note),
    /// Put the record of a call in place of what is known of it, with an audit row in the same transaction. Durable
    /// when done, where the state is one that people or agents are told of.
    PutCall {
        /// The whole record.
        record: Box<CallRecord>,
        /// What is written of it.
        note: Option<Note>,
    },
    /// A call with a record has run to its end; its arguments are erased.
    EndCall {
        /// Which call.
        call: CallNumber,
        /// How it ended.
        outcome: Outcome,
        /// Milliseconds since 1970.
        ended_ms: u64,
        /// What a retry with the same key is answered with.
        result: Option<Bytes>,
    },
    /// Nothing is left to remember of a call: its key is free.
    DropCall(CallNumber),
    /// The answer of a call that ran without a record has left, or its client was told that it ran.
    Heard(CallNumber),
    /// Hold texts fast, in place of those of the same name. Durable when done. So the next three.
    PutPins {
        /// Which; each with its text.
        pins: Vec<Pin>,
        /// What is written of it.
        note: Option<Note>,
    },
    /// Let go of all that was held fast of a server.
    DropPins {
        /// Which.
        server: String,
    },
    /// Remember an approval, in place of one for the same client, server, launch, tool and session.
    Remember {
        /// What it covers.
        grant: Grant,
        /// What is written of it.
        note: Option<Note>,
    },
    /// Forget approvals.
    ForgetGrants {
        /// Which.
        which: Grants,
        /// What is written of it.
        note: Option<Note>,
    },
    /// From now on keep audit rows for so many days: older ones are removed now and then.
    Keep {
        /// At least one.
        days: u32,
    },
    /// From now on what is durable survives this.
    Survive(Durability),
    /// Only for tests: limits of the database.
    #[cfg(test)]
    Pragma(&'static str),
    /// Only for tests: another bound of all results.
    #[cfg(test)]
    MostResults(u64),
    /// Only for tests: all chores, now.
    #[cfg(test)]
    Chores,
}

impl Job {
    /// Bytes of argument and result values that it keeps in memory.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Job::PutCall { record, .. } => {
                [&record.arguments, &record.edited].into_iter().flatten().map(Bytes::len).sum()
            }
            Job::Values(values) => [&values.arguments.0, &values.result.0].into_iter().flatten().map(Bytes::len).sum(),
            Job::EndCall { result, .. } => result.as_ref().map_or(0, Bytes::len),
            _ => 0,
        }
    }

    pub(crate) fn must_be_durable(&self) -> bool {
        match self {
            Job::PutCall { record, .. } => record.must_be_durable(),
            Job::Set { .. }
            | Job::Deed(_)
            | Job::AcceptEpoch
            | Job::PutPins { .. }
            | Job::DropPins { .. }
            | Job::Remember { .. }
            | Job::ForgetGrants { .. } => true,
            Job::SaveSnapshot(_)
            | Job::SaveEra(_)
            | Job::ForgetServer(_)
            | Job::Note(_)
            | Job::Values(_)
            | Job::EndCall { .. }
            | Job::DropCall(_)
            | Job::Heard(_)
            | Job::Keep { .. }
            | Job::Survive(_) => false,
            #[cfg(test)]
            Job::Pragma(_) | Job::MostResults(_) | Job::Chores => false,
        }
    }
}

pub(crate) enum Message {
    Batch(Box<Batch>),
    Job(Job, Option<Done>),
    Close,
}

/// What both ends look at without a lock.
#[derive(Default)]
pub(crate) struct Shared {
    /// Bytes of arguments on their way.
    pub weight: AtomicUsize,
    /// The relay wants to be told when there is room.
    pub waits: AtomicBool,
    /// 0 or a cause.
    state: AtomicU8,
}

impl Shared {
    pub(crate) fn state(&self) -> AuditState {
        match self.state.load(Ordering::Acquire) {
            0 => AuditState::Ok,
            1 => AuditState::Unavailable(Cause::DiskFull),
            2 => AuditState::Unavailable(Cause::ReadOnly),
            3 => AuditState::Unavailable(Cause::Damaged),
            4 => AuditState::Unavailable(Cause::Locked),
            6 => AuditState::Unavailable(Cause::Gone),
            _ => AuditState::Unavailable(Cause::Failing),
        }
    }

    /// Returns whether it is another state than before.
    pub(crate) fn set_state(&self, state: AuditState) -> bool {
        let code = match state {
            AuditState::Ok => 0,
            AuditState::Unavailable(cause) => cause as u8,
        };
        self.state.swap(code, Ordering::AcqRel) != code
    }
}

/// Hands jobs to the committer, from any thread.
#[derive(Clone)]
pub struct Committer {
    pub(crate) queue: SyncSender<Message>,
    pub(crate) shared: Arc<Shared>,
}

impl Committer {
    /// Queues a job; `done` is called on the committer's thread after its commit, or here if there is no room.
    pub fn submit(&self, job: Job, done: Option<Done>) {
        let (done, fault) = match self.queue.try_send(Message::Job(job, done)) {
            Ok(()) => return,
            Err(TrySendError::Full(Message::Job(_, done))) => (done, JobFault::Full),
            Err(TrySendError::Disconnected(Message::Job(_, done))) => (done, JobFault::Stopped),
            Err(_) => return,
        };
        if let Some(done) = done {
            done(Err(fault));
        }
    }

    /// Queues a job, waiting for room, and waits for its commit. Not for the relay thread.
    pub fn submit_and_wait(&self, job: Job) -> Result<(), JobFault> {
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let done: Done = Box::new(move |result| {
            // The other end waits, or has given up.
            let _ = tell.try_send(result);
        });
        self.queue.send(Message::Job(job, Some(done))).map_err(|_| JobFault::Stopped)?;
        told.recv().map_err(|_| JobFault::Stopped)?
    }

    /// Whether rows become durable, as of the last attempt.
    pub fn state(&self) -> AuditState {
        self.shared.state()
    }
}

/// The running committer. Its owner stops it last.
pub struct CommitterThread {
    pub(crate) queue: SyncSender<Message>,
    pub(crate) thread: JoinHandle<Result<(), StoreFault>>,
}

impl CommitterThread {
    /// Writes all that is queued, then the stop row and the anchor, and closes the database. Blocks.
    pub fn stop(self) -> Result<(), StoreFault> {
        // If it is gone already, joining tells why.
        let _ = self.queue.send(Message::Close);
        self.thread.join().map_err(|_| StoreFault::Thread("it panicked"))?
    }
}
