//! The committer thread: groups what waits into one transaction, keeps rows that could not be written, anchors the
//! log. Sleeps without a timer while nothing is to be done.

use crate::anchor::Anchor;
use crate::batch::{Batch, effect_code};
use crate::chain::hex;
use crate::committer::{AuditState, Cause, Done, Job, Listener, Message, Note, Settled, Shared, Told};
use crate::flight::Slots;
use crate::ledger::BATCH_ROWS;
use crate::line::Line;
use crate::writer::{Writer, free_slots};
use crate::{CallNumber, JobFault, Kind, StoreFault, kept};
use rusqlite::Connection;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

/// Batches that are kept while the database can't be written; older ones are lost, and counted.
const MOST_BACKLOG: usize = 32;
/// How long until kept rows are tried again.
const RETRY: Duration = Duration::from_secs(1);

/// How durable a transaction is; switched between transactions only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    /// Survives the death of the process.
    Normal,
    /// Survives a power loss.
    Full,
}

impl Sync {
    pub(crate) fn apply(self, conn: &Connection) -> rusqlite::Result<()> {
        conn.execute_batch(match self {
            Sync::Normal => "PRAGMA synchronous=NORMAL",
            Sync::Full => "PRAGMA synchronous=FULL",
        })
    }
}

/// How long the committer may sleep; None: until something comes, which is the rule.
fn limit(has_unwritten: bool, anchors: Option<&Anchors>, last_row: u64, now: Instant) -> Option<Duration> {
    if has_unwritten {
        return Some(RETRY);
    }
    let anchors = anchors.filter(|anchors| anchors.row < last_row)?;
    Some(anchors.every.saturating_sub(now.duration_since(anchors.at)))
}

enum Work {
    Batch(Box<Batch>),
    Job(Job, Option<Done>),
}

pub(crate) struct Engine {
    pub conn: Connection,
    pub writer: Writer,
    pub queue: Receiver<Message>,
    pub spare: SyncSender<Box<Batch>>,
    pub shared: Arc<Shared>,
    pub slots: Slots,
    pub listener: Listener,
    pub clock: fn() -> u64,
    pub path: PathBuf,
    pub sync: Sync,
    /// None while the log does not reach its old anchor and nobody accepted that.
    pub anchors: Option<Anchors>,
    pub backlog: VecDeque<Box<Batch>>,
    pub lost_rows: u64,
}

/// When and where the last anchor was set.
pub(crate) struct Anchors {
    pub at: Instant,
    pub row: u64,
    pub every: Duration,
}

impl Engine {
    /// Runs until it is closed or all handles are gone.
    pub(crate) fn run(mut self) -> Result<(), StoreFault> {
        loop {
            let first = match self.wait() {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => {
                    self.commit(Vec::new());
                    return Ok(());
                }
            };
            let (work, closes) = self.gather(first);
            if self.shared.waits.swap(false, Ordering::SeqCst) {
                (self.listener)(Told::Room);
            }
            self.commit(work);
            if closes {
                return self.close();
            }
        }
    }

    fn wait(&self) -> Result<Message, RecvTimeoutError> {
        let has_unwritten = !self.backlog.is_empty() || self.lost_rows > 0;
        match limit(has_unwritten, self.anchors.as_ref(), self.writer.tip.seq, Instant::now()) {
            Some(limit) => self.queue.recv_timeout(limit),
            None => self.queue.recv().map_err(RecvTimeoutError::from),
        }
    }

    /// Takes what else waits, up to a batch's size of rows.
    fn gather(&mut self, first: Option<Message>) -> (Vec<Work>, bool) {
        let mut work: Vec<Work> = self.backlog.drain(..).map(Work::Batch).collect();
        let mut rows = 0;
        let mut next = first;
        while let Some(message) = next {
            match message {
                Message::Batch(batch) => {
                    rows += batch.rows.len();
                    work.push(Work::Batch(batch));
                }
                Message::Job(
                    Job::PutCall { .. }
                    | Job::EndCall { .. }
                    | Job::DropCall(_)
                    | Job::PutPins { .. }
                    | Job::DropPins { .. }
                    | Job::Remember { .. }
                    | Job::ForgetGrants { .. }
                    | Job::Keep { .. },
                    done,
                ) => {
                    if let Some(done) = done {
                        done(Err(JobFault::Unavailable(Cause::Failing)));
                    }
                }
                Message::Job(job, done) => {
                    rows += 1;
                    work.push(Work::Job(job, done));
                }
                Message::Close => return (work, true),
            }
            next = if rows < BATCH_ROWS { self.queue.try_recv().ok() } else { None };
        }
        (work, false)
    }

    fn commit(&mut self, mut work: Vec<Work>) {
        let before = self.writer.tip;
        let anchor_is_due = self.anchors.as_ref().is_some_and(|anchors| {
            anchors.at.elapsed() >= anchors.every && (anchors.row < before.seq || !work.is_empty())
        });
        if work.is_empty() && !anchor_is_due && self.lost_rows == 0 {
            return;
        }
        let guards: Vec<CallNumber> = work.iter().flat_map(guards_of).collect();
        let is_durable = !guards.is_empty()
            || anchor_is_due
            || work.iter().any(|work| matches!(work, Work::Job(job, _) if job.must_be_durable()));
        let sync = if is_durable { Sync::Full } else { Sync::Normal };
        match self.transaction(&mut work, sync, anchor_is_due) {
            Ok(()) => {
                if !guards.is_empty() {
                    let settled = guards.into_iter().map(|call| Settled { call, result: Ok(()) }).collect();
                    (self.listener)(Told::Settled(settled));
                }
                self.lost_rows = 0;
                self.tell(AuditState::Ok);
                self.settle(work);
                if anchor_is_due {
                    self.set_anchor();
                }
            }
            Err(error) => {
                let cause = Cause::of(&error);
                tracing::error!(%error, "writing the store failed");
                if !self.conn.is_autocommit() {
                    // A failed ROLLBACK leaves nothing to do: the next BEGIN fails and is told.
                    let _ = self.conn.execute_batch("ROLLBACK");
                }
                self.writer.forget(before);
                if let Some(anchors) = self.anchors.as_mut().filter(|_| anchor_is_due) {
                    // Or else it would be due again at once.
                    anchors.at = Instant::now();
                }
                self.tell(AuditState::Unavailable(cause));
                if !guards.is_empty() {
                    let settled = guards.into_iter().map(|call| Settled { call, result: Err(cause) }).collect();
                    (self.listener)(Told::Settled(settled));
                }
                self.keep(work, cause);
            }
        }
    }

    fn transaction(&mut self, work: &mut [Work], sync: Sync, anchors: bool) -> rusqlite::Result<()> {
        if self.sync != sync {
            sync.apply(&self.conn)?;
            self.sync = sync;
        }
        // Names are taken in before anything can fail: kept rows refer to them later.
        for work in &mut *work {
            if let Work::Batch(batch) = work {
                self.writer.register(batch);
            }
        }
        #[cfg(test)]
        for work in &*work {
            if let Work::Job(Job::Pragma(sql), _) = work {
                self.conn.execute_batch(sql)?;
            }
        }
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        if self.lost_rows > 0 {
            let detail = format!("{{\"reason\":\"not written\",\"rows\":{}}}", self.lost_rows);
            let line = Line { kind: Kind::Gap.code(), at: (self.clock)(), detail: &detail, ..Line::default() };
            self.writer.line(&self.conn, line)?;
        }
        let mut accepts = false;
        for work in work {
            match work {
                Work::Batch(batch) => self.writer.batch(&self.conn, batch)?,
                Work::Job(job, _) => {
                    accepts |= matches!(job, Job::AcceptEpoch);
                    self.job(job)?;
                }
            }
        }
        if anchors {
            // Something has to be written, or else COMMIT syncs nothing.
            kept::set_meta(&self.conn, "anchored", &self.writer.tip.seq.to_string())?;
        }
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        if accepts {
            self.anchors.get_or_insert(Anchors { at: Instant::now(), row: 0, every: ANCHOR_EVERY });
            self.set_anchor();
        }
        Ok(())
    }

    fn job(&mut self, job: &Job) -> rusqlite::Result<()> {
        let conn = &self.conn;
        match job {
            Job::SaveSnapshot(snapshot) => kept::save_snapshot(conn, snapshot),
            Job::SaveEra(era) => kept::save_era(conn, era),
            Job::ForgetServer(server) => kept::forget_server(conn, server),
            Job::Set { key, value } => kept::save_setting(conn, key, value.as_deref()),
            Job::AcceptEpoch => {
                let old = self.path.parent().and_then(|dir| Anchor::read(dir).ok().flatten());
                let detail = match old {
                    Some(old) => format!("{{\"anchored\":{},\"hash\":\"{}\"}}", old.row, hex(&old.link)),
                    None => "{\"anchored\":null}".to_owned(),
                };
                let line = Line { kind: Kind::Epoch.code(), at: (self.clock)(), detail: &detail, ..Line::default() };
                self.writer.line(conn, line)
            }
            Job::Note(note) => self.writer.line(conn, note_line(note)),
            // Refused in `gather`: the tables for them come with the next schema step.
            Job::PutCall { .. }
            | Job::EndCall { .. }
            | Job::DropCall(_)
            | Job::PutPins { .. }
            | Job::DropPins { .. }
            | Job::Remember { .. }
            | Job::ForgetGrants { .. }
            | Job::Keep { .. } => Ok(()),
            #[cfg(test)]
            Job::Pragma(_) => Ok(()),
        }
    }

    /// After a commit: frees what the rows held, tells the jobs, gives the batches back.
    fn settle(&mut self, work: Vec<Work>) {
        for work in work {
            match work {
                Work::Batch(mut batch) => {
                    free_slots(&batch, &self.slots);
                    self.release(&batch);
                    batch.clear();
                    let _ = self.spare.try_send(batch);
                }
                Work::Job(_, Some(done)) => done(Ok(())),
                Work::Job(_, None) => {}
            }
        }
    }

    fn release(&mut self, batch: &Batch) {
        self.writer.release(batch);
        self.shared.weight.fetch_sub(batch.weight, Ordering::Relaxed);
    }

    /// After a failure: guards are void, other rows are kept as long as there is room.
    fn keep(&mut self, work: Vec<Work>, cause: Cause) {
        for work in work {
            match work {
                Work::Batch(mut batch) => {
                    batch.rows.retain(|row| row.kind != Kind::Intent);
                    self.backlog.push_back(batch);
                }
                Work::Job(_, done) => {
                    if let Some(done) = done {
                        done(Err(JobFault::Unavailable(cause)));
                    }
                }
            }
        }
        while self.backlog.len() > MOST_BACKLOG {
            let Some(batch) = self.backlog.pop_front() else { break };
            // Their flight slots stay taken: after a crash such a call is unknown, which is the truth.
            self.lost_rows += batch.rows.len() as u64;
            self.release(&batch);
        }
    }

    fn tell(&mut self, state: AuditState) {
        if self.shared.set_state(state) {
            (self.listener)(Told::State(state));
        }
    }

    /// Only after a FULL commit that covers the tip.
    fn set_anchor(&mut self) {
        let (Some(anchors), Some(dir)) = (&mut self.anchors, self.path.parent()) else { return };
        let tip = self.writer.tip;
        anchors.at = Instant::now();
        match (Anchor { row: tip.seq, link: tip.link }).write(dir) {
            Ok(()) => anchors.row = tip.seq,
            Err(error) => tracing::error!(%error, "writing the audit anchor failed"),
        }
    }

    fn close(mut self) -> Result<(), StoreFault> {
        let path = self.path.clone();
        let failed = |doing| StoreFault::sql(&path, doing);
        let stop = Line { kind: Kind::Stop.code(), at: (self.clock)(), ..Line::default() };
        Sync::Full.apply(&self.conn).map_err(failed("switching to full sync"))?;
        // With rows still unwritten this was no stop in order: the next start says so.
        if self.backlog.is_empty() {
            self.writer.line(&self.conn, stop).map_err(failed("writing the stop row"))?;
            self.set_anchor();
        }
        let checkpoint = self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        checkpoint.map_err(failed("checkpointing"))?;
        self.conn.close().map_err(|(_, error)| failed("closing")(error))
    }
}

/// Longest time that rows go without an anchor.
pub(crate) const ANCHOR_EVERY: Duration = Duration::from_secs(10);

fn guards_of(work: &Work) -> impl Iterator<Item = CallNumber> {
    let rows = match work {
        Work::Batch(batch) => &batch.rows[..],
        Work::Job(..) => &[],
    };
    rows.iter().filter(|row| row.kind == Kind::Intent).map(|row| row.call)
}

fn note_line(note: &Note) -> Line<'_> {
    Line {
        call: note.call.0,
        kind: note.kind.code(),
        method: note.method.code(),
        effect: u64::from(effect_code(note.effect)),
        outcome: note.outcome.code(),
        at: note.at_ms,
        client: &note.client,
        server: &note.server,
        item: &note.item,
        definition: &note.definition,
        detail: &note.detail,
        ..Line::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sleeps_without_a_timer_unless_something_is_left_to_do() {
        let now = Instant::now();
        let anchors = |row, ago| Anchors { at: now - Duration::from_secs(ago), row, every: ANCHOR_EVERY };
        let check = |unwritten, anchors: Option<Anchors>, expect: Option<u64>| {
            let got = limit(unwritten, anchors.as_ref(), 7, now);
            assert_eq!(got, expect.map(Duration::from_secs));
        };
        check(false, None, None);
        check(false, Some(anchors(7, 60)), None);
        check(false, Some(anchors(6, 3)), Some(7));
        check(false, Some(anchors(6, 60)), Some(0));
        check(true, Some(anchors(7, 3)), Some(1));
    }
}
