//! The committer thread: groups what waits into one transaction, keeps rows that could not be written, anchors the
//! log. Sleeps without a timer while nothing is to be done.

use crate::anchor::Anchor;
use crate::batch::Batch;
use crate::chores::Chores;
use crate::committer::{AuditState, Cause, Job, Listener, Message, Settled, Shared, Told};
use crate::flight::Slots;
use crate::ledger::BATCH_ROWS;
use crate::line::Line;
use crate::nap::{self, ANCHOR_EVERY, Anchors, LONG_LOG};
use crate::places::Place;
use crate::results::Results;
use crate::seal::Seal;
use crate::sober::Sober;
use crate::unwritten::Unwritten;
use crate::work::Work;
use crate::writer::{Tip, Writer, free_slots};
use crate::{CallNumber, Durability, JobFault, Kind, StoreFault, kept};
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::time::Instant;

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

/// What the engine is made of.
pub(crate) struct Parts {
    pub conn: Connection,
    pub writer: Writer,
    pub seal: Seal,
    pub queue: Receiver<Message>,
    pub spare: SyncSender<Box<Batch>>,
    pub shared: Arc<Shared>,
    pub slots: Slots,
    pub listener: Listener,
    pub clock: fn() -> u64,
    pub sober: Sober,
    pub path: PathBuf,
    pub place: Place,
}

pub(crate) struct Engine {
    pub parts: Parts,
    /// None while the log does not reach its old anchor and nobody accepted that.
    pub anchors: Option<Anchors>,
    pub chores: Chores,
    pub results: Results,
    /// What the connection was told last; None: to be told before the next transaction.
    sync: Option<Sync>,
    /// Transactions since the write-ahead log was emptied.
    pub transactions: u32,
    unwritten: Unwritten,
}

impl Engine {
    /// Cannot fail: with the parts goes the listener, whose end tells that nobody writes any more.
    pub(crate) fn new(parts: Parts, chores: Chores, anchors: Option<Anchors>) -> Engine {
        Engine {
            chores,
            parts,
            anchors,
            results: Results::default(),
            sync: Some(Sync::Full),
            // What beginning the run has written, and what the last run left.
            transactions: LONG_LOG,
            unwritten: Unwritten::default(),
        }
    }

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
            if self.parts.shared.waits.swap(false, Ordering::SeqCst) {
                (self.parts.listener)(Told::Room);
            }
            self.commit(work);
            if closes {
                return self.close();
            }
        }
    }

    /// Waits for the next message; chores are done as long as there is none.
    fn wait(&mut self) -> Result<Message, RecvTimeoutError> {
        let has_unwritten = self.unwritten.is_any();
        while !has_unwritten && self.chores.has_any(&self.parts.writer) {
            match self.parts.queue.try_recv() {
                Ok(message) => return Ok(message),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) => self.chore(),
            }
        }
        let tip = self.parts.writer.tip.seq;
        match nap::limit(has_unwritten, self.transactions, self.anchors.as_ref(), tip, Instant::now()) {
            Some(limit) => {
                let came = self.parts.queue.recv_timeout(limit);
                if let (Err(RecvTimeoutError::Timeout), false, LONG_LOG..) = (&came, has_unwritten, self.transactions) {
                    self.empty_log();
                }
                came
            }
            None => self.parts.queue.recv().map_err(RecvTimeoutError::from),
        }
    }

    /// Takes what else waits, up to a batch's size of rows.
    fn gather(&mut self, first: Option<Message>) -> (Vec<Work>, bool) {
        let mut work = self.unwritten.take();
        let mut rows = 0;
        let mut next = first;
        while let Some(message) = next {
            work.push(match message {
                Message::Batch(batch) => Work::Batch(batch),
                Message::Job(job, done) => Work::Job(job, done),
                Message::Close => return (work, true),
            });
            rows += work.last().map_or(0, Work::length);
            next = if rows < BATCH_ROWS { self.parts.queue.try_recv().ok() } else { None };
        }
        (work, false)
    }

    fn commit(&mut self, mut work: Vec<Work>) {
        let before = self.parts.writer.tip;
        let anchor_is_due = self.anchors.as_ref().is_some_and(|anchors| {
            anchors.at.elapsed() >= anchors.every && (anchors.row < before.seq || !work.is_empty())
        });
        if work.is_empty() && !anchor_is_due && !self.unwritten.is_any() {
            return;
        }
        let guards: Vec<CallNumber> = work.iter().flat_map(Work::guards).collect();
        let is_durable = !guards.is_empty() || anchor_is_due || work.iter().any(Work::must_be_durable);
        let sync = if is_durable { Sync::Full } else { Sync::Normal };
        match self.transaction(&mut work, sync, anchor_is_due) {
            Ok(()) => {
                if !guards.is_empty() {
                    let settled = guards.into_iter().map(|call| Settled { call, result: Ok(()) }).collect();
                    (self.parts.listener)(Told::Settled(settled));
                }
                self.unwritten.told();
                self.tell(AuditState::Ok);
                #[cfg(test)]
                if work.iter().any(|work| matches!(work, Work::Job(Job::Chores, _))) {
                    self.chores.plan_all();
                    while self.chores.has_any(&self.parts.writer) {
                        self.chore();
                    }
                }
                self.settle(work);
                if anchor_is_due {
                    self.set_anchor();
                }
                self.chores.plan_now_and_then();
            }
            Err(error) => {
                let cause = Cause::of(&error);
                tracing::error!(%error, "writing the store failed");
                self.roll_back(before);
                if let Some(anchors) = self.anchors.as_mut().filter(|_| anchor_is_due) {
                    // Or else it would be due again at once.
                    anchors.at = Instant::now();
                }
                self.tell(AuditState::Unavailable(cause));
                if !guards.is_empty() {
                    let settled = guards.into_iter().map(|call| Settled { call, result: Err(cause) }).collect();
                    (self.parts.listener)(Told::Settled(settled));
                }
                let Engine { unwritten, parts, .. } = self;
                unwritten.keep(work, cause, |lost| release(parts, lost));
            }
        }
    }

    /// After a failure: nothing since `before` is there.
    pub(crate) fn roll_back(&mut self, before: Tip) {
        if !self.parts.conn.is_autocommit() {
            // A failed ROLLBACK leaves nothing to do: the next BEGIN fails and is told.
            let _ = self.parts.conn.execute_batch("ROLLBACK");
        }
        self.parts.writer.forget(before);
        self.results.forget();
    }

    pub(crate) fn begin(&mut self, sync: Sync) -> rusqlite::Result<()> {
        if self.sync != Some(sync) {
            sync.apply(&self.parts.conn)?;
            self.sync = Some(sync);
        }
        self.transactions = self.transactions.saturating_add(1);
        self.parts.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([]).map(drop)
    }

    /// From the next transaction on what is durable survives this.
    pub(crate) fn survive(&mut self, durability: Durability) -> rusqlite::Result<()> {
        self.sync = None;
        durability.apply(&self.parts.conn)
    }

    fn transaction(&mut self, work: &mut [Work], sync: Sync, anchors: bool) -> rusqlite::Result<()> {
        // Names are taken in before anything can fail: kept rows refer to them later.
        for work in &mut *work {
            if let Work::Batch(batch) = work {
                self.parts.writer.register(batch);
            }
        }
        #[cfg(test)]
        for work in &*work {
            if let Work::Job(Job::Pragma(sql), _) = work {
                self.parts.conn.execute_batch(sql)?;
            }
        }
        if !self.parts.place.holds(&self.parts.path) {
            return Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY_DBMOVED),
                None,
            ));
        }
        self.begin(sync)?;
        if let Some(detail) = self.unwritten.gap() {
            let line = Line { kind: Kind::Gap.code(), at: (self.parts.clock)(), detail: &detail, ..Line::default() };
            self.parts.writer.line(&self.parts.conn, line)?;
        }
        let mut accepts = false;
        for work in work {
            match work {
                Work::Batch(batch) => {
                    let mut written = 0;
                    for queued in &batch.jobs {
                        self.parts.writer.rows(&self.parts.conn, batch, written..queued.after)?;
                        written = queued.after;
                        accepts |= matches!(queued.job, Job::AcceptEpoch);
                        self.job(&queued.job)?;
                    }
                    self.parts.writer.rows(&self.parts.conn, batch, written..batch.rows.len())?;
                }
                Work::Job(job, _) => {
                    accepts |= matches!(job, Job::AcceptEpoch);
                    self.job(job)?;
                }
            }
        }
        let conn = &self.parts.conn;
        if anchors || accepts {
            // Something has to be written, or else COMMIT syncs nothing.
            kept::set_meta(conn, "anchored", &self.parts.writer.tip.seq.to_string())?;
        }
        conn.prepare_cached("COMMIT")?.execute([])?;
        if accepts {
            self.anchors.get_or_insert(Anchors { at: Instant::now(), row: 0, every: ANCHOR_EVERY });
            self.set_anchor();
        }
        Ok(())
    }

    /// After a commit: frees what the rows held, tells the jobs, gives the batches back.
    fn settle(&mut self, work: Vec<Work>) {
        for work in work {
            match work {
                Work::Batch(mut batch) => {
                    free_slots(&batch, &self.parts.slots);
                    release(&mut self.parts, &batch);
                    for done in batch.jobs.drain(..).filter_map(|queued| queued.done) {
                        done(Ok(()));
                    }
                    batch.clear();
                    let _ = self.parts.spare.try_send(batch);
                }
                Work::Job(_, Some(done)) => done(Ok(())),
                Work::Job(_, None) => {}
            }
        }
    }

    fn tell(&mut self, state: AuditState) {
        if self.parts.shared.set_state(state) {
            (self.parts.listener)(Told::State(state));
        }
    }

    /// Only after a FULL commit that covers the tip.
    pub(crate) fn set_anchor(&mut self) {
        let (Some(anchors), Some(dir)) = (&mut self.anchors, self.parts.path.parent()) else { return };
        let tip = self.parts.writer.tip;
        anchors.at = Instant::now();
        match (Anchor { row: tip.seq, link: tip.link }).write(dir) {
            Ok(()) => anchors.row = tip.seq,
            Err(error) => tracing::error!(%error, "writing the audit anchor failed"),
        }
    }

    fn close(mut self) -> Result<(), StoreFault> {
        let path = self.parts.path.clone();
        let failed = |doing| StoreFault::sql(&path, doing);
        let stop = Line { kind: Kind::Stop.code(), at: (self.parts.clock)(), ..Line::default() };
        // With rows still unwritten this was no stop in order: the next start says so.
        if !self.unwritten.is_any() {
            self.begin(Sync::Full).map_err(failed("switching to full sync"))?;
            let Parts { conn, writer, .. } = &mut self.parts;
            let written = writer.line(conn, stop).and_then(|()| {
                if self.anchors.is_some() {
                    kept::set_meta(conn, "anchored", &writer.tip.seq.to_string())?;
                }
                conn.execute_batch("COMMIT")
            });
            written.map_err(failed("writing the stop row"))?;
            self.set_anchor();
        }
        let Parts { conn, queue, .. } = self.parts;
        // Nothing that comes now will be written.
        while let Ok(message) = queue.try_recv() {
            match message {
                Message::Batch(mut batch) => batch.refuse(JobFault::Stopped),
                Message::Job(_, Some(done)) => done(Err(JobFault::Stopped)),
                Message::Job(_, None) | Message::Close => {}
            }
        }
        let checkpoint = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        checkpoint.map_err(failed("checkpointing"))?;
        conn.close().map_err(|(_, error)| failed("closing")(error))
    }
}

/// What a batch held is free again.
fn release(parts: &mut Parts, batch: &Batch) {
    parts.writer.release(batch);
    parts.shared.weight.fetch_sub(batch.weight, Ordering::Relaxed);
}
