//! What is told of each full block of audit rows: its times, and which facets are in it how often. Written once per
//! block, so that a search can pass over blocks without reading their rows. It only helps searching: the chain does
//! not cover it, and a block of which nothing is told is read row by row.

use crate::line::put;
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::{FxHashMap, FxHashSet};

type Sql<T> = rusqlite::Result<T>;

/// Rows per block, as a power of two.
const BITS: u32 = 9;

/// The block in which a row is.
pub(crate) const fn block_of(seq: u64) -> u64 {
    seq >> BITS
}

/// The first row of a block.
pub(crate) const fn first_of(block: u64) -> u64 {
    block << BITS
}

/// The last row of a block.
pub(crate) const fn last_of(block: u64) -> u64 {
    first_of(block + 1) - 1
}

/// A block, full or being filled.
pub(crate) struct Block {
    number: u64,
    rows: FxHashMap<i64, u64>,
    first_at: u64,
    last_at: u64,
}

impl Block {
    fn new(number: u64) -> Block {
        Block { number, rows: FxHashMap::default(), first_at: u64::MAX, last_at: 0 }
    }

    /// The block in which row `next` will be, with the rows of it that are before that.
    pub(crate) fn read(conn: &Connection, next: u64) -> Sql<Block> {
        Block::up_to(conn, block_of(next), next)
    }

    fn up_to(conn: &Connection, number: u64, next: u64) -> Sql<Block> {
        let mut block = Block::new(number);
        let mut rows = conn.prepare_cached("SELECT facet, at FROM audit WHERE seq >= ? AND seq < ?")?;
        let mut rows = rows.query([first_of(number) as i64, next as i64])?;
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

    /// Counts a row, and tells of the block if that was its last one.
    pub(crate) fn add(&mut self, conn: &Connection, seq: u64, facet: i64, at: u64) -> Sql<()> {
        self.count(facet, at);
        if block_of(seq + 1) == self.number {
            return Ok(());
        }
        self.tell(conn)?;
        *self = Block::new(block_of(seq + 1));
        Ok(())
    }

    fn tell(&self, conn: &Connection) -> Sql<()> {
        let mut facets: Vec<(i64, u64)> = self.rows.iter().map(|(&facet, &rows)| (facet, rows)).collect();
        facets.sort_unstable();
        let (mut packed, mut before) = (Vec::with_capacity(facets.len() * 2), 0);
        for (facet, rows) in facets {
            put(&mut packed, facet.wrapping_sub(before) as u64);
            put(&mut packed, rows);
            before = facet;
        }
        conn.prepare_cached("INSERT OR REPLACE INTO blocks(block, first_at, last_at, facets) VALUES(?, ?, ?, ?)")?
            .execute(params![self.number as i64, self.first_at as i64, self.last_at as i64, packed])
            .map(drop)
    }
}

/// What is told of a full block.
pub(crate) struct Told {
    pub first_at: u64,
    pub last_at: u64,
    packed: Vec<u8>,
}

impl Told {
    /// None: nothing is.
    pub(crate) fn of(conn: &Connection, block: u64) -> Sql<Option<Told>> {
        let mut find = conn.prepare_cached("SELECT first_at, last_at, facets FROM blocks WHERE block = ?")?;
        find.query_row([block as i64], |row| {
            let number = |at: usize| row.get::<_, i64>(at).map(|number| number as u64);
            Ok(Told { first_at: number(0)?, last_at: number(1)?, packed: row.get(2)? })
        })
        .optional()
    }

    /// Facets and how many rows have each.
    pub(crate) fn facets(&self) -> impl Iterator<Item = (i64, u64)> {
        let (mut rest, mut facet) = (&self.packed[..], 0_i64);
        std::iter::from_fn(move || {
            facet = facet.wrapping_add(take(&mut rest)? as i64);
            Some((facet, take(&mut rest)?))
        })
    }

    pub(crate) fn holds_any(&self, facets: &FxHashSet<i64>) -> bool {
        self.facets().any(|(facet, _)| facets.contains(&facet))
    }
}

/// Unsigned LEB128.
fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let &byte = rest.split_off_first()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// The first full block of which nothing is told, from `from` on, below the block of row `tip + 1`.
pub(crate) fn untold(conn: &Connection, from: u64, tip: u64) -> Sql<Option<u64>> {
    let end = block_of(tip + 1);
    let told: i64 = conn.query_row(
        "SELECT count(*) FROM blocks WHERE block >= ? AND block < ?",
        [from as i64, end as i64],
        |row| row.get(0),
    )?;
    if from + told as u64 >= end {
        return Ok(None);
    }
    let mut next = from;
    let mut select = conn.prepare_cached("SELECT block FROM blocks WHERE block >= ? AND block < ? ORDER BY block")?;
    let mut rows = select.query([from as i64, end as i64])?;
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(0)? as u64 != next {
            break;
        }
        next += 1;
    }
    Ok(Some(next))
}

/// Tells of a full block that is there already.
pub(crate) fn tell(conn: &Connection, block: u64) -> Sql<()> {
    Block::up_to(conn, block, first_of(block + 1))?.tell(conn)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_told_of_a_block_is_what_was_counted() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(
            "CREATE TABLE blocks(block INTEGER PRIMARY KEY, first_at INTEGER, last_at INTEGER, facets BLOB)",
        )
        .unwrap();
        let mut block = Block::new(3);
        let facets = [1, 1, 7, 70_000, i64::MAX, 1, -5];
        for (place, facet) in facets.into_iter().enumerate() {
            block.add(&conn, first_of(3) + place as u64, facet, 1000 - place as u64).unwrap();
        }
        assert!(Told::of(&conn, 3).unwrap().is_none(), "it is not full");
        for seq in first_of(3) + 7..first_of(4) {
            block.add(&conn, seq, 2, 500).unwrap();
        }
        let told = Told::of(&conn, 3).unwrap().unwrap();
        let mut counts: Vec<(i64, u64)> = told.facets().collect();
        counts.sort_unstable();
        assert_eq!(counts, [(-5, 1), (1, 3), (2, 505), (7, 1), (70_000, 1), (i64::MAX, 1)]);
        assert_eq!((told.first_at, told.last_at), (500, 1000));
        assert!(told.holds_any(&FxHashSet::from_iter([9, 7])) && !told.holds_any(&FxHashSet::from_iter([9])));
        assert_eq!(block.number, 4);
    }
}
