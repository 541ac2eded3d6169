//! What many audit rows have in common, stored once: rows refer to it, filters and full-text search look in it. Also
//! counts which facets are in which block of rows, written once per block. Inside the caller's transaction.

use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;

/// Rows per block, as a power of two.
pub(crate) const BLOCK_BITS: u32 = 9;

/// The block in which a row is.
pub(crate) const fn block_of(seq: u64) -> u64 {
    seq >> BLOCK_BITS
}

/// The first row of a block.
pub(crate) const fn first_of(block: u64) -> u64 {
    block << BLOCK_BITS
}

/// A facet with its names as their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facet<'a> {
    pub kind: u64,
    pub client: i64,
    pub server: i64,
    pub item: i64,
    pub definition: i64,
    pub method: u64,
    pub effect: u64,
    pub outcome: u64,
    pub detail: i64,
    /// Names of arguments that the schema knows, with spaces between.
    pub fields: &'a str,
}

impl Facet<'_> {
    /// Its number; a new one where there is none yet.
    pub(crate) fn id(&self, conn: &Connection) -> rusqlite::Result<i64> {
        let values = params![
            self.kind as i64,
            self.client,
            self.server,
            self.item,
            self.definition,
            self.method as i64,
            self.effect as i64,
            self.outcome as i64,
            self.detail,
            self.fields
        ];
        let mut find = conn.prepare_cached(
            "SELECT id FROM facets WHERE kind = ? AND client = ? AND server = ? AND item = ? AND definition = ?
                AND method = ? AND effect = ? AND outcome = ? AND detail = ? AND fields = ?",
        )?;
        if let Some(id) = find.query_row(values, |row| row.get(0)).optional()? {
            return Ok(id);
        }
        conn.prepare_cached(
            "INSERT INTO facets(kind, client, server, item, definition, method, effect, outcome, detail, fields)
                VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .insert(values)
    }
}

/// The block that is being filled. Readers scan its rows; a full one is told in `blocks` and `spans`.
pub(crate) struct Block {
    number: u64,
    rows: FxHashMap<i64, u32>,
    first_at: u64,
    last_at: u64,
}

impl Block {
    fn new(number: u64) -> Block {
        Block { number, rows: FxHashMap::default(), first_at: u64::MAX, last_at: 0 }
    }

    /// The block in which row `next` will be, with what is in it already.
    pub(crate) fn read(conn: &Connection, next: u64) -> rusqlite::Result<Block> {
        let mut block = Block::new(block_of(next));
        let mut rows = conn.prepare_cached("SELECT facet, at FROM audit WHERE seq >= ? AND seq < ?")?;
        let mut rows = rows.query([first_of(block.number) as i64, next as i64])?;
        while let Some(row) = rows.next()? {
            block.count(row.get(0)?, row.get::<_, i64>(1)? as u64);
        }
        Ok(block)
    }

    fn count(&mut self, facet: i64, at: u64) {
        *self.rows.entry(facet).or_default() += 1;
        self.first_at = self.first_at.min(at);
        self.last_at = self.last_at.max(at);
    }

    /// Counts a row, and writes down the block if that was its last one.
    pub(crate) fn add(&mut self, conn: &Connection, seq: u64, facet: i64, at: u64) -> rusqlite::Result<()> {
        self.count(facet, at);
        if block_of(seq + 1) == self.number {
            return Ok(());
        }
        let number = self.number as i64;
        let mut insert = conn.prepare_cached("INSERT OR REPLACE INTO blocks(facet, block, rows) VALUES(?, ?, ?)")?;
        for (facet, rows) in self.rows.drain() {
            insert.execute(params![facet, number, rows])?;
        }
        conn.prepare_cached("INSERT OR REPLACE INTO spans(block, first_at, last_at) VALUES(?, ?, ?)")?.execute([
            number,
            self.first_at as i64,
            self.last_at as i64,
        ])?;
        *self = Block::new(block_of(seq + 1));
        Ok(())
    }
}
