//! What is written in one transaction: batches of the relay and jobs of others.

use crate::batch::Batch;
use crate::committer::{Done, Job};
use crate::{CallNumber, Kind};

/// What the engine has taken from its queue.
pub(crate) enum Work {
    Batch(Box<Batch>),
    Job(Job, Option<Done>),
}

impl Work {
    /// Rows and jobs in it.
    pub(crate) fn length(&self) -> usize {
        match self {
            Work::Batch(batch) => batch.length(),
            Work::Job(..) => 1,
        }
    }

    /// Whether the transaction that has it must survive a power loss, guards apart.
    pub(crate) fn must_be_durable(&self) -> bool {
        match self {
            Work::Batch(batch) => batch.jobs.iter().any(|queued| queued.job.must_be_durable()),
            Work::Job(job, _) => job.must_be_durable(),
        }
    }

    /// Calls whose intents it holds: they are told when it is durable.
    pub(crate) fn guards(&self) -> impl Iterator<Item = CallNumber> {
        let rows = match self {
            Work::Batch(batch) => &batch.rows[..],
            Work::Job(..) => &[],
        };
        rows.iter().filter(|row| row.kind == Kind::Intent).map(|row| row.call)
    }
}
