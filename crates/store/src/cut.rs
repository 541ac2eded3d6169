//! Retention of the audit log: whole blocks of old rows go, the rest stays verifiable from a base. Rows are removed
//! behind the base in small steps; readers look at nothing before it.

use crate::Kind;
use crate::anchor::Anchor;
use crate::blocks::{Told, block_of, first_of, last_of};
use crate::chain::Keys;
use crate::kept;
use crate::line::Line;
use crate::stored;
use rusqlite::Connection;
use rusqlite::types::Value;
use rustc_hash::FxHashSet;

type Sql<T> = rusqlite::Result<T>;

/// Rows removed at once.
const ROWS: u64 = 512;
/// Facets and names looked at at once.
const STEP: usize = 128;

/// Which rows may go: whole blocks that were written before a moment, and that are what was written. Looks at the rows
/// themselves, block by block. Rows from the future (a clock that was wrong) are as old as those around them. Never the
/// last row, nor one whose call is still open; and nothing from a log that is broken: it is evidence.
pub(crate) struct Choice {
    base: u64,
    /// The end of the last block that was looked at.
    walked: Anchor,
    /// The last row that may go.
    last: Anchor,
    bound: u64,
}

/// What a step of the choice came to.
pub(crate) enum Chosen {
    /// Not at the end yet.
    Open(Choice),
    /// These rows up to here may go; None: none.
    Done(Option<Anchor>),
}

impl Choice {
    pub(crate) fn begin(conn: &Connection, tip: u64) -> Sql<Choice> {
        let base = kept::base(conn)?.unwrap_or(Anchor { row: 0, link: [0; 32] });
        // What has ended without a record, and of which only the answer was not seen to leave, holds nothing back.
        let open = "SELECT min(intent) FROM calls WHERE intent > 0 AND (client IS NOT NULL OR state <> 5)";
        let open = conn.query_row(open, [], |row| row.get::<_, Option<i64>>(0))?;
        let bound = open.map_or(tip, |open| tip.min(open as u64));
        Ok(Choice { base: base.row, walked: base, last: base, bound })
    }

    /// Looks at one block.
    pub(crate) fn step(mut self, conn: &Connection, keys: &Keys, before: u64, now: u64) -> Sql<Chosen> {
        let end = last_of(block_of(self.walked.row + 1));
        let from_to = [Value::Integer(self.walked.row as i64), Value::Integer(end as i64)];
        let rows = match end < self.bound {
            true => stored::Facets::default().rows(conn, "WHERE seq > ? AND seq <= ? ORDER BY seq", &from_to)?,
            false => Vec::new(),
        };
        let mut walked = self.walked;
        let (mut first_at, mut last_at, mut room) = (u64::MAX, 0, Vec::new());
        for row in &rows {
            let link = row.line().link(&keys.chain, &walked.link, &mut room);
            if row.seq != walked.row + 1 || row.link() != Some(link) {
                break;
            }
            walked = Anchor { row: row.seq, link };
            (first_at, last_at) = (first_at.min(row.at), last_at.max(row.at));
        }
        let is_wrong = first_at > now;
        let is_old = is_wrong || (first_at < before && (last_at < before || last_at > now));
        if walked.row != end || !is_old {
            return Ok(Chosen::Done((self.last.row != self.base).then_some(self.last)));
        }
        self.walked = walked;
        if !is_wrong {
            self.last = walked;
        }
        Ok(Chosen::Open(self))
    }
}

/// What the row of a cut says.
pub(crate) fn detail(base: &Anchor, days: u64) -> String {
    format!("{{\"row\":{},\"hash\":\"{}\",\"days\":{days}}}", base.row, crate::chain::hex(&base.link))
}

/// Reads it.
pub(crate) fn named(detail: &str) -> Option<Anchor> {
    let (row, rest) = detail.strip_prefix("{\"row\":")?.split_once(",\"hash\":\"")?;
    let (link, rest) = rest.split_once('"')?;
    // Rows of earlier versions do not say for how many days rows were kept.
    let days =
        rest.strip_prefix(",\"days\":").map_or(rest, |days| days.trim_start_matches(|c: char| c.is_ascii_digit()));
    if days != "}" {
        return None;
    }
    Anchor::parse(&format!("{row} {link}"))
}

/// The row of a cut.
pub(crate) fn line(at: u64, detail: &str) -> Line<'_> {
    Line { kind: Kind::Cut.code(), at, detail, ..Line::default() }
}

/// Whether rows that were cut are still there.
pub(crate) fn has_rows(conn: &Connection) -> Sql<bool> {
    let first: Option<i64> = conn.query_row("SELECT min(seq) FROM audit", [], |row| row.get(0))?;
    Ok(kept::base(conn)?.is_some_and(|base| first.is_some_and(|first| first as u64 <= base.row)))
}

/// Removes some of the rows that were cut. False: there were none.
pub(crate) fn remove_rows(conn: &Connection) -> Sql<bool> {
    let first: Option<i64> = conn.query_row("SELECT min(seq) FROM audit", [], |row| row.get(0))?;
    let (Some(base), Some(first)) = (kept::base(conn)?, first) else { return Ok(false) };
    let last = (first as u64 + ROWS - 1).min(base.row);
    let removed = conn.prepare_cached("DELETE FROM audit WHERE seq <= ?")?.execute([last as i64])?;
    conn.prepare_cached("DELETE FROM payloads WHERE seq <= ?")?.execute([last as i64])?;
    conn.prepare_cached("DELETE FROM blocks WHERE block < ?")?.execute([block_of(last + 1) as i64])?;
    Ok(removed > 0)
}

/// Forgets facets that no row has: first all blocks are looked at, then all facets.
#[derive(Default)]
pub(crate) struct Facets {
    used: FxHashSet<i64>,
    block: u64,
    facet: i64,
}

impl Facets {
    /// Goes on; None: at the end. Something must be told of every full block.
    pub(crate) fn step(mut self, conn: &Connection, tip: u64) -> Sql<Option<Facets>> {
        let base = kept::base(conn)?.map_or(0, |base| base.row);
        self.block = self.block.max(block_of(base + 1));
        let end = block_of(tip + 1);
        for _ in 0..STEP {
            if self.block >= end {
                break;
            }
            let told = Told::of(conn, self.block)?;
            self.used.extend(told.iter().flat_map(Told::facets).map(|(facet, _)| facet));
            self.block += 1;
        }
        // Blocks that were filled since are looked at too, and rows after them: what is removed now, none has.
        if self.block < end {
            return Ok(Some(self));
        }
        let mut select = conn.prepare_cached("SELECT facet FROM audit WHERE seq >= ?")?;
        for facet in select.query_map([first_of(end) as i64], |row| row.get(0))? {
            self.used.insert(facet?);
        }
        let mut select = conn.prepare_cached("SELECT id FROM facets WHERE id > ? ORDER BY id LIMIT ?")?;
        let ids = select.query_map([self.facet, STEP as i64], |row| row.get(0))?.collect::<Sql<Vec<i64>>>()?;
        for id in ids.iter().filter(|id| !self.used.contains(id)) {
            conn.prepare_cached("DELETE FROM facet_words WHERE rowid = ?")?.execute([id])?;
            conn.prepare_cached("DELETE FROM facets WHERE id = ?")?.execute([id])?;
        }
        self.facet = ids.last().copied().unwrap_or(self.facet);
        Ok((ids.len() == STEP).then_some(self))
    }
}

/// Forgets names that no facet has: first all facets are looked at, then all names.
#[derive(Default)]
pub(crate) struct Names {
    used: FxHashSet<i64>,
    facet: i64,
    name: i64,
}

impl Names {
    /// Goes on; None: at the end.
    pub(crate) fn step(mut self, conn: &Connection) -> Sql<Option<Names>> {
        // Facets that came since are looked at too: what is removed now is used by none.
        let seen = self.look_at_facets(conn)?;
        if seen == STEP {
            return Ok(Some(self));
        }
        let mut select = conn.prepare_cached("SELECT id FROM names WHERE id > ? ORDER BY id LIMIT ?")?;
        let ids = select.query_map([self.name, STEP as i64], |row| row.get(0))?.collect::<Sql<Vec<i64>>>()?;
        for id in ids.iter().filter(|id| !self.used.contains(id)) {
            conn.prepare_cached("DELETE FROM names WHERE id = ?")?.execute([id])?;
        }
        self.name = ids.last().copied().unwrap_or(self.name);
        Ok((ids.len() == STEP).then_some(self))
    }

    fn look_at_facets(&mut self, conn: &Connection) -> Sql<usize> {
        let mut select = conn.prepare_cached(
            "SELECT id, client, server, item, definition, detail FROM facets WHERE id > ? ORDER BY id LIMIT ?",
        )?;
        let mut rows = select.query([self.facet, STEP as i64])?;
        let mut seen = 0;
        while let Some(row) = rows.next()? {
            self.facet = row.get(0)?;
            for column in 1..=5 {
                self.used.insert(row.get(column)?);
            }
            seen += 1;
        }
        Ok(seen)
    }
}
