//! What the committer does while nothing waits for it, in steps of about a millisecond: makes new facets findable by
//! words, lets go of old call records, removes old audit rows. An idle process is not woken for any of it.

use crate::anchor::Anchor;
use crate::engine::{Engine, Parts, Sync};
use crate::open::BUSY;
use crate::writer::Writer;
use crate::{blocks, cut, kept, words};
use rusqlite::Connection;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How often old things are looked for, if anything is written at all.
const PACE: Duration = Duration::from_secs(60 * 60);
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// One kind of step; some know where they are.
pub(crate) enum Chore {
    /// Let go of old call records after this one.
    Calls { after: i64 },
    /// Choose which audit rows are old.
    Cut,
    /// The same, begun.
    Choose(cut::Choice),
    /// Write that they are cut, up to here.
    CutTo(Anchor),
    /// Remove rows that were cut.
    Rows,
    /// Tell of full blocks of rows of which nothing is told: those of an older version.
    Blocks,
    /// Forget facets that no row has any more.
    Facets(cut::Facets),
    /// Forget names that no facet has any more.
    Names(cut::Names),
}

/// What is to be done.
pub(crate) struct Chores {
    plan: VecDeque<Chore>,
    planned: Instant,
    /// How long audit rows are kept; None: for ever.
    keep_ms: Option<u64>,
    /// The last facet that was there at start, and the last that words find.
    newest: i64,
    worded: i64,
    /// A step failed: wait until something else could be written.
    is_stalled: bool,
}

impl Chores {
    pub(crate) fn at_start(conn: &Connection) -> rusqlite::Result<Chores> {
        let mut chores = Chores {
            plan: VecDeque::from([Chore::Blocks, Chore::Calls { after: 0 }]),
            planned: Instant::now(),
            keep_ms: None,
            newest: words::newest(conn)?,
            worded: words::worded(conn)?,
            is_stalled: false,
        };
        if cut::has_rows(conn)? {
            chores.plan.push_back(Chore::Rows);
        }
        Ok(chores)
    }

    /// From now on rows are kept for so many days.
    pub(crate) fn keep(&mut self, days: u32) {
        self.keep_ms = Some(u64::from(days.max(1)) * DAY_MS);
        self.plan.extend([Chore::Blocks, Chore::Cut]);
    }

    /// To be called when something was written.
    pub(crate) fn plan_now_and_then(&mut self) {
        self.is_stalled = false;
        if self.planned.elapsed() >= PACE && self.plan.is_empty() {
            self.plan_all();
        }
    }

    pub(crate) fn plan_all(&mut self) {
        self.planned = Instant::now();
        self.plan.extend([Chore::Blocks, Chore::Calls { after: 0 }, Chore::Cut]);
    }

    pub(crate) fn has_any(&self, writer: &Writer) -> bool {
        !self.is_stalled && (!self.plan.is_empty() || self.worded < self.newest.max(writer.newest_facet))
    }
}

impl Engine {
    /// One step, in a transaction of its own.
    pub(crate) fn chore(&mut self) {
        let before = self.parts.writer.tip;
        if let Err(error) = self.step() {
            tracing::warn!(%error, "a chore of the store failed");
            self.roll_back(before);
            self.chores.is_stalled = true;
        }
    }

    /// Moves the write-ahead log into the database, if nobody reads there just now. The file keeps its size: what is
    /// written over is on the disk sooner than what makes a file longer.
    pub(crate) fn empty_log(&mut self) {
        self.transactions = 0;
        let before = self.parts.writer.tip;
        let conn = &self.parts.conn;
        let emptied = conn
            .busy_timeout(Duration::ZERO)
            .and_then(|()| conn.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get::<_, bool>(0)));
        let emptied = emptied.and_then(|is_busy| conn.busy_timeout(BUSY).map(|()| !is_busy));
        // The next write begins the log anew; until then a start would read the old one.
        let begun = emptied.and_then(|is_empty| match is_empty {
            true => self.within(Sync::Normal, |conn| kept::set_meta(conn, "rested", &before.seq.to_string())),
            false => Ok(()),
        });
        if let Err(error) = begun {
            tracing::warn!(%error, "the write-ahead log could not be emptied");
            self.roll_back(before);
        }
    }

    fn step(&mut self) -> rusqlite::Result<()> {
        let Some(chore) = self.chores.plan.pop_front() else {
            let worded = self.chores.worded;
            let newest = self.chores.newest.max(self.parts.writer.newest_facet);
            self.chores.worded = self.within(Sync::Normal, |conn| words::step(conn, worded))?.unwrap_or(newest);
            return Ok(());
        };
        let next = match chore {
            Chore::Calls { after } => self.sweep(after)?.map(|after| Chore::Calls { after }),
            Chore::Cut => {
                let is_to_be = self.chores.keep_ms.is_some() && self.anchors.is_some();
                let tip = self.parts.writer.tip.seq;
                is_to_be.then(|| cut::Choice::begin(&self.parts.conn, tip)).transpose()?.map(Chore::Choose)
            }
            Chore::Choose(choice) => self.choose(choice)?,
            Chore::CutTo(base) => self.cut(base)?.then_some(Chore::Rows),
            Chore::Rows => match self.within(Sync::Normal, cut::remove_rows)? {
                true => Some(Chore::Rows),
                false => Some(Chore::Facets(cut::Facets::default())),
            },
            Chore::Blocks => self.tell_of_a_block()?.then_some(Chore::Blocks),
            Chore::Facets(facets) => {
                let tip = self.parts.writer.tip.seq;
                let next = self.within(Sync::Normal, |conn| facets.step(conn, tip))?;
                self.parts.writer.forget_numbers();
                Some(next.map_or_else(|| Chore::Names(cut::Names::default()), Chore::Facets))
            }
            Chore::Names(names) => {
                let next = self.within(Sync::Normal, |conn| names.step(conn))?;
                self.parts.writer.forget_numbers();
                next.map(Chore::Names)
            }
        };
        if let Some(next) = next {
            self.chores.plan.push_front(next);
        }
        Ok(())
    }

    fn within<T>(&mut self, sync: Sync, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        self.begin(sync)?;
        let done = work(&self.parts.conn)?;
        self.parts.conn.prepare_cached("COMMIT")?.execute([])?;
        Ok(done)
    }

    /// Lets go of call records whose time is over, some at a time. Where to go on; None: at the end.
    fn sweep(&mut self, after: i64) -> rusqlite::Result<Option<i64>> {
        let now = self.parts.sober.now_ms();
        let old = crate::calls::old(&self.parts.conn, after, now)?;
        if !old.calls.is_empty() {
            self.begin(Sync::Normal)?;
            for call in old.calls {
                self.results.remove(&self.parts.conn, call)?;
                crate::calls::forget(&self.parts.conn, call)?;
            }
            self.parts.conn.prepare_cached("COMMIT")?.execute([])?;
        }
        Ok(old.next)
    }

    fn is_anchored_after(&self, row: u64) -> bool {
        self.anchors.as_ref().is_some_and(|anchors| anchors.row > row)
    }

    fn tell_of_a_block(&mut self) -> rusqlite::Result<bool> {
        let base = kept::base(&self.parts.conn)?.map_or(0, |base| base.row);
        let tip = self.parts.writer.tip.seq;
        let Some(block) = blocks::untold(&self.parts.conn, blocks::block_of(base + 1), tip)? else { return Ok(false) };
        self.within(Sync::Normal, |conn| blocks::tell(conn, block))?;
        Ok(true)
    }

    fn choose(&self, choice: cut::Choice) -> rusqlite::Result<Option<Chore>> {
        let (Some(keep), now) = (self.chores.keep_ms, self.parts.sober.now_ms()) else { return Ok(None) };
        let keys = self.parts.writer.keys();
        Ok(match choice.step(&self.parts.conn, keys, now.saturating_sub(keep), now)? {
            cut::Chosen::Open(choice) => Some(Chore::Choose(choice)),
            cut::Chosen::Done(base) => base.map(Chore::CutTo),
        })
    }

    /// Cuts whole blocks of old rows off the log: one row that says so, and a base from which the rest is verified.
    /// Nothing is cut from a log that does not reach its anchor: it is evidence.
    fn cut(&mut self, base: Anchor) -> rusqlite::Result<bool> {
        let (now, tip) = ((self.parts.clock)(), self.parts.writer.tip.seq);
        let days = self.chores.keep_ms.unwrap_or_default() / DAY_MS;
        // The anchored row must not be among them.
        if !self.is_anchored_after(base.row) {
            self.within(Sync::Full, |conn| kept::set_meta(conn, "anchored", &tip.to_string()))?;
            self.set_anchor();
            if !self.is_anchored_after(base.row) {
                return Ok(false);
            }
        }
        self.begin(Sync::Full)?;
        let Parts { conn, writer, .. } = &mut self.parts;
        writer.line(conn, cut::line(now, &cut::detail(&base, days)))?;
        kept::set_base(conn, &base)?;
        kept::set_meta(conn, "anchored", &writer.tip.seq.to_string())?;
        conn.prepare_cached("COMMIT")?.execute([])?;
        self.set_anchor();
        Ok(true)
    }
}
