//! What could not be written and is tried again, as long as there is room; what falls off is counted and told by a row
//! of its own, never silently lost.

use crate::JobFault;
use crate::batch::Batch;
use crate::committer::Cause;
use crate::work::Work;
use std::collections::VecDeque;

/// Batches that are kept while the database can't be written; older ones are lost, and counted.
const MOST: usize = 32;

/// Work that waits for another try.
#[derive(Default)]
pub(crate) struct Unwritten {
    backlog: VecDeque<Work>,
    rows: u64,
    jobs: u64,
}

impl Unwritten {
    /// Whether anything waits, or was lost and is not told yet.
    pub(crate) fn is_any(&self) -> bool {
        !self.backlog.is_empty() || self.has_lost()
    }
    /// What waits, oldest first.
    pub(crate) fn take(&mut self) -> Vec<Work> {
        self.backlog.drain(..).collect()
    }
    fn has_lost(&self) -> bool {
        self.rows > 0 || self.jobs > 0
    }
    /// The detail of the row that tells what was lost.
    pub(crate) fn gap(&self) -> Option<String> {
        let (rows, jobs) = (self.rows, self.jobs);
        self.has_lost().then(|| format!("{{\"reason\":\"not written\",\"rows\":{rows},\"jobs\":{jobs}}}"))
    }
    /// It was told.
    pub(crate) fn told(&mut self) {
        (self.rows, self.jobs) = (0, 0);
    }

    /// After a failure: guards are void and who waits is told; other rows and jobs are kept as long as there is room.
    /// `falls` is given each batch for which there is none.
    pub(crate) fn keep(&mut self, work: Vec<Work>, cause: Cause, mut falls: impl FnMut(&Batch)) {
        for work in work {
            match work {
                Work::Batch(mut batch) => {
                    batch.void(JobFault::Unavailable(cause));
                    self.backlog.push_back(Work::Batch(batch));
                }
                Work::Job(_, Some(done)) => done(Err(JobFault::Unavailable(cause))),
                Work::Job(job, None) => self.backlog.push_back(Work::Job(job, None)),
            }
        }
        while self.backlog.len() > MOST {
            match self.backlog.pop_front() {
                Some(Work::Batch(batch)) => {
                    // Their flight slots stay taken: after a crash such a call is unknown, which is the truth.
                    self.rows += batch.rows.len() as u64;
                    self.jobs += batch.jobs.len() as u64;
                    falls(&batch);
                }
                Some(Work::Job(..)) => self.jobs += 1,
                None => break,
            }
        }
    }
}
