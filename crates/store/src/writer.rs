//! Writes rows, names and the chain through one connection. Everything in it is inside the caller's transaction;
//! after a rollback `forget` must be called.

use crate::batch::{Batch, Registration, Row, RowDetail};
use crate::blocks::Block;
use crate::chain::{Keys, Link};
use crate::facets::Facet;
use crate::flight::Slots;
use crate::line::Line;
use crate::{Kind, Method, Outcome, args, calls};
use rusqlite::{Connection, OptionalExtension, Statement};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The last row: what the next one is chained to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tip {
    pub seq: u64,
    pub link: Link,
}

struct Slot {
    it: Registration,
    id: i64,
    definition: i64,
}

/// What rows of one facet have in common, by registered names.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Common {
    client: u32,
    server: u32,
    item: u32,
    detail: u32,
    kind: Kind,
    method: Method,
    effect: u8,
    outcome: Outcome,
    fields: u64,
}

pub(crate) struct Writer {
    keys: Keys,
    pub tip: Tip,
    /// The newest facet that a row was given.
    pub newest_facet: i64,
    registered: FxHashMap<u32, Slot>,
    names: FxHashMap<Box<str>, i64>,
    facets: FxHashMap<Common, i64>,
    /// None: to be read.
    block: Option<Block>,
    shape: Vec<u8>,
    room: Vec<u8>,
}

/// Names that are not registered but come as text (notes) and are kept at hand; facets alike.
const MOST_AT_HAND: usize = 4096;

const INSERT: &str = "INSERT INTO audit VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

impl Writer {
    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(crate) fn new(keys: Keys, tip: Tip) -> Writer {
        Writer {
            keys,
            tip,
            newest_facet: 0,
            registered: FxHashMap::default(),
            names: FxHashMap::default(),
            facets: FxHashMap::default(),
            block: None,
            shape: Vec::new(),
            room: Vec::new(),
        }
    }

    /// Takes in the names of a batch. May be called again for the same batch.
    pub(crate) fn register(&mut self, batch: &mut Batch) {
        for it in batch.registrations.drain(..) {
            self.registered.insert(it.id, Slot { it, id: 0, definition: 0 });
        }
    }

    /// Lets go of names that no later row uses. After the batch is settled, one way or the other.
    pub(crate) fn release(&mut self, batch: &Batch) {
        for id in &batch.gone {
            self.registered.remove(id);
        }
    }

    /// After a rollback: numbers given since may be void, the tip is `tip` again.
    pub(crate) fn forget(&mut self, tip: Tip) {
        self.tip = tip;
        self.forget_numbers();
        self.block = None;
    }

    /// Numbers of names and facets may have become void.
    pub(crate) fn forget_numbers(&mut self) {
        self.names.clear();
        self.facets.clear();
        for slot in self.registered.values_mut() {
            slot.id = 0;
            slot.definition = 0;
        }
    }

    /// Writes some of the rows of a batch.
    pub(crate) fn rows(&mut self, conn: &Connection, batch: &Batch, which: Range<usize>) -> rusqlite::Result<()> {
        let mut insert = conn.prepare_cached(INSERT)?;
        for row in &batch.rows[which] {
            let arguments = batch.arguments(row);
            self.shape.clear();
            let mut fields = 0;
            if !arguments.is_empty() {
                let item = self.registered.get(&row.item);
                let known = item.map_or(&[][..], |item| &item.it.fields);
                fields = args::shape(arguments, known, &self.keys, &mut self.shape);
            }
            let text = match row.detail {
                RowDetail::Text { start, length } => String::from_utf8_lossy(batch.text(start, length)),
                RowDetail::None | RowDetail::Known(_) => "".into(),
            };
            let facet = self.facet(conn, row, &text, fields)?;
            let at = |id: u32| self.registered.get(&id).map(|slot| &slot.it);
            let (client, server, item) = (at(row.client), at(row.server), at(row.item));
            let detail = match row.detail {
                RowDetail::Known(id) => at(id).map_or("", |it| &it.text),
                RowDetail::None | RowDetail::Text { .. } => &text,
            };
            let stages = row.stages;
            let line = Line {
                seq: self.tip.seq + 1,
                call: row.call.0,
                kind: row.kind.code(),
                at: row.at,
                client: client.map_or("", |it| &it.text),
                server: server.map_or("", |it| &it.text),
                item: item.map_or("", |it| &it.text),
                definition: item.map_or("", |it| &it.definition),
                method: row.method.code(),
                effect: u64::from(row.effect),
                outcome: row.outcome.code(),
                args_bytes: arguments.len() as u64,
                result_bytes: row.result_bytes,
                stages: [stages.checked, stages.held, stages.queued, stages.ran, stages.answered].map(u64::from),
                stranger: row.stranger.as_ref().map_or(&[], |stranger| stranger),
                shape: &self.shape,
                detail,
            };
            let link = line.link(&self.keys.chain, &self.tip.link, &mut self.room);
            put(&mut insert, &line, facet, &link)?;
            self.tip = Tip { seq: line.seq, link };
            self.newest_facet = self.newest_facet.max(facet);
            count(&mut self.block, conn, self.tip.seq, facet, row.at)?;
            match row.kind {
                Kind::Intent => calls::intend(conn, row.call, self.tip.seq, batch.repetition(row))?,
                Kind::End => calls::end(conn, row.call, row.outcome, row.slot.is_some(), row.at)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The shape of arguments of a tool that is registered; names that it does not know are hashed.
    pub(crate) fn shape(&self, item: &str, definition: &str, arguments: &[u8]) -> Vec<u8> {
        let mut shape = Vec::new();
        if !arguments.is_empty() {
            let is_it = |slot: &&Slot| *slot.it.text == *item && *slot.it.definition == *definition;
            let known = self.registered.values().find(is_it).map_or(&[][..], |slot| &slot.it.fields);
            args::shape(arguments, known, &self.keys, &mut shape);
        }
        shape
    }

    /// Writes one row that comes as text.
    pub(crate) fn line(&mut self, conn: &Connection, line: Line<'_>) -> rusqlite::Result<()> {
        let facet = Facet {
            kind: line.kind,
            client: self.name(conn, line.client)?,
            server: self.name(conn, line.server)?,
            item: self.name(conn, line.item)?,
            definition: self.name(conn, line.definition)?,
            method: line.method,
            effect: line.effect,
            outcome: line.outcome,
            detail: self.name(conn, line.detail)?,
            fields: "",
        };
        let facet = facet.id(conn)?;
        let line = Line { seq: self.tip.seq + 1, ..line };
        let link = line.link(&self.keys.chain, &self.tip.link, &mut self.room);
        put(&mut *conn.prepare_cached(INSERT)?, &line, facet, &link)?;
        self.tip = Tip { seq: line.seq, link };
        self.newest_facet = self.newest_facet.max(facet);
        count(&mut self.block, conn, line.seq, facet, line.at)
    }

    /// Writes the end of a call that was open when the last run ended.
    pub(crate) fn recovered(
        &mut self,
        conn: &Connection,
        intent: &Line<'_>,
        end: Outcome,
        at: u64,
    ) -> rusqlite::Result<()> {
        let kind = Kind::End.code();
        self.line(conn, Line { kind, at, outcome: end.code(), shape: &[], stranger: &[], ..intent.clone() })
    }

    fn facet(&mut self, conn: &Connection, row: &Row, text: &str, fields: u64) -> rusqlite::Result<i64> {
        let detail = match row.detail {
            RowDetail::Known(id) => id,
            RowDetail::None | RowDetail::Text { .. } => 0,
        };
        let common = Common {
            client: row.client,
            server: row.server,
            item: row.item,
            detail,
            kind: row.kind,
            method: row.method,
            effect: row.effect,
            outcome: row.outcome,
            fields,
        };
        if text.is_empty()
            && let Some(&facet) = self.facets.get(&common)
        {
            return Ok(facet);
        }
        let (client, _) = self.slot(conn, row.client)?;
        let (server, _) = self.slot(conn, row.server)?;
        let (item, definition) = self.slot(conn, row.item)?;
        let detail = if text.is_empty() { self.slot(conn, detail)?.0 } else { name_id(conn, text)? };
        let facet = Facet {
            kind: row.kind.code(),
            client,
            server,
            item,
            definition,
            method: row.method.code(),
            effect: u64::from(row.effect),
            outcome: row.outcome.code(),
            detail,
            fields: &self.fields(row.item, fields),
        };
        let facet = facet.id(conn)?;
        if text.is_empty() {
            if self.facets.len() >= MOST_AT_HAND {
                self.facets.clear();
            }
            self.facets.insert(common, facet);
        }
        Ok(facet)
    }

    /// The names that the bits stand for.
    fn fields(&self, item: u32, present: u64) -> String {
        let known = self.registered.get(&item).map_or(&[][..], |slot| &slot.it.fields);
        let mut names = String::new();
        for (_, name) in known.iter().take(64).enumerate().filter(|(place, _)| present >> place & 1 == 1) {
            if !names.is_empty() {
                names.push(' ');
            }
            names.push_str(name);
        }
        names
    }

    fn slot(&mut self, conn: &Connection, id: u32) -> rusqlite::Result<(i64, i64)> {
        match self.registered.get(&id) {
            None => return Ok((0, 0)),
            Some(slot) if slot.id != 0 => return Ok((slot.id, slot.definition)),
            Some(_) => {}
        }
        let Some(mut slot) = self.registered.remove(&id) else { return Ok((0, 0)) };
        let found = name_id(conn, &slot.it.text).and_then(|id| Ok((id, name_id(conn, &slot.it.definition)?)));
        if let Ok((id, definition)) = found {
            // 0 is the number of the empty name; such a subject is looked up each time, which costs nothing.
            slot.id = id;
            slot.definition = definition;
        }
        self.registered.insert(id, slot);
        found
    }

    fn name(&mut self, conn: &Connection, text: &str) -> rusqlite::Result<i64> {
        if let Some(&id) = self.names.get(text) {
            return Ok(id);
        }
        let id = name_id(conn, text)?;
        if self.names.len() >= MOST_AT_HAND {
            self.names.clear();
        }
        self.names.insert(text.into(), id);
        Ok(id)
    }
}

/// Frees the flight slots of rows that are committed.
pub(crate) fn free_slots(batch: &Batch, slots: &Slots) {
    for slot in batch.rows.iter().filter_map(|row| row.slot) {
        slots.give_back(slot);
    }
}

fn count(block: &mut Option<Block>, conn: &Connection, seq: u64, facet: i64, at: u64) -> rusqlite::Result<()> {
    let block = match block {
        Some(block) => block,
        None => block.insert(Block::read(conn, seq)?),
    };
    block.add(conn, seq, facet, at)
}

fn name_id(conn: &Connection, text: &str) -> rusqlite::Result<i64> {
    if text.is_empty() {
        return Ok(0);
    }
    let mut find = conn.prepare_cached("SELECT id FROM names WHERE text = ?")?;
    if let Some(id) = find.query_row([text], |row| row.get(0)).optional()? {
        return Ok(id);
    }
    conn.prepare_cached("INSERT INTO names(text) VALUES(?)")?.insert([text])
}

fn put(insert: &mut Statement<'_>, line: &Line<'_>, facet: i64, link: &Link) -> rusqlite::Result<()> {
    let numbers =
        [line.seq as i64, line.call as i64, facet, line.at as i64, line.args_bytes as i64, line.result_bytes as i64];
    let mut column = 0;
    for number in numbers.into_iter().chain(line.stages.into_iter().map(|stage| stage as i64)) {
        column += 1;
        insert.raw_bind_parameter(column, number)?;
    }
    insert.raw_bind_parameter(column + 1, line.stranger)?;
    insert.raw_bind_parameter(column + 2, line.shape)?;
    insert.raw_bind_parameter(column + 3, &link[..])?;
    insert.raw_execute().map(drop)
}
