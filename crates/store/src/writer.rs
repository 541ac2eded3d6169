//! Writes rows, names and the chain through one connection. Everything in it is inside the caller's transaction;
//! after a rollback `forget` must be called.

use crate::batch::{Batch, Registration, Row};
use crate::chain::{Keys, Link};
use crate::flight::Slots;
use crate::line::Line;
use crate::{Kind, Outcome, args};
use rusqlite::{Connection, OptionalExtension, Statement, params};
use rustc_hash::FxHashMap;

/// The last row: what the next one is chained to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tip {
    pub seq: u64,
    pub link: Link,
}

/// State of a call record that has only its intent.
pub(crate) const INTENT: u8 = 1;

struct Slot {
    it: Registration,
    id: i64,
    definition: i64,
}

pub(crate) struct Writer {
    keys: Keys,
    pub tip: Tip,
    registered: FxHashMap<u32, Slot>,
    names: FxHashMap<Box<str>, i64>,
    shape: Vec<u8>,
    room: Vec<u8>,
}

/// Names that are not registered but come as text (notes) and are kept at hand.
const MOST_NAMES: usize = 4096;

const INSERT: &str = "INSERT INTO audit VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// Numbers of the names of a line.
#[derive(Clone, Copy, Default)]
struct Ids {
    client: i64,
    server: i64,
    item: i64,
    definition: i64,
}

impl Writer {
    pub(crate) fn new(keys: Keys, tip: Tip) -> Writer {
        Writer {
            keys,
            tip,
            registered: FxHashMap::default(),
            names: FxHashMap::default(),
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
        self.names.clear();
        for slot in self.registered.values_mut() {
            slot.id = 0;
            slot.definition = 0;
        }
    }

    /// Writes the rows of a batch.
    pub(crate) fn batch(&mut self, conn: &Connection, batch: &Batch) -> rusqlite::Result<()> {
        let mut insert = conn.prepare_cached(INSERT)?;
        for row in &batch.rows {
            let ids = self.ids(conn, row)?;
            let arguments = batch.arguments(row);
            let at = |id: u32| self.registered.get(&id).map(|slot| &slot.it);
            let (client, server, item) = (at(row.client), at(row.server), at(row.item));
            self.shape.clear();
            if !arguments.is_empty() {
                let known = item.map_or(&[][..], |item| &item.fields);
                args::shape(arguments, known, &self.keys, &mut self.shape);
            }
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
                detail: "",
            };
            let link = line.link(&self.keys.chain, &self.tip.link, &mut self.room);
            put(&mut insert, &line, ids, &link)?;
            self.tip = Tip { seq: line.seq, link };
            match row.kind {
                Kind::Intent => open_call(conn, row.call.0, self.tip.seq)?,
                Kind::End => close_call(conn, row.call.0)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes one row that comes as text.
    pub(crate) fn line(&mut self, conn: &Connection, line: Line<'_>) -> rusqlite::Result<()> {
        let ids = Ids {
            client: self.name(conn, line.client)?,
            server: self.name(conn, line.server)?,
            item: self.name(conn, line.item)?,
            definition: self.name(conn, line.definition)?,
        };
        let line = Line { seq: self.tip.seq + 1, ..line };
        let link = line.link(&self.keys.chain, &self.tip.link, &mut self.room);
        put(&mut *conn.prepare_cached(INSERT)?, &line, ids, &link)?;
        self.tip = Tip { seq: line.seq, link };
        Ok(())
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
        self.line(conn, Line { kind, at, outcome: end.code(), shape: &[], stranger: &[], ..intent.clone() })?;
        close_call(conn, intent.call)
    }

    fn ids(&mut self, conn: &Connection, row: &Row) -> rusqlite::Result<Ids> {
        let (client, _) = self.slot(conn, row.client)?;
        let (server, _) = self.slot(conn, row.server)?;
        let (item, definition) = self.slot(conn, row.item)?;
        Ok(Ids { client, server, item, definition })
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
        if self.names.len() >= MOST_NAMES {
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

fn open_call(conn: &Connection, call: u64, intent: u64) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO calls(call, state, intent) VALUES(?, ?, ?)")?
        .execute(params![call as i64, INTENT, intent as i64])
        .map(drop)
}

fn close_call(conn: &Connection, call: u64) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM calls WHERE call = ?")?.execute([call as i64]).map(drop)
}

fn put(insert: &mut Statement<'_>, line: &Line<'_>, ids: Ids, link: &Link) -> rusqlite::Result<()> {
    let numbers = [
        line.seq as i64,
        line.call as i64,
        line.kind as i64,
        line.at as i64,
        ids.client,
        ids.server,
        ids.item,
        ids.definition,
        line.method as i64,
        line.effect as i64,
        line.outcome as i64,
        line.args_bytes as i64,
        line.result_bytes as i64,
    ];
    let mut column = 0;
    for number in numbers.into_iter().chain(line.stages.into_iter().map(|stage| stage as i64)) {
        column += 1;
        insert.raw_bind_parameter(column, number)?;
    }
    insert.raw_bind_parameter(column + 1, line.stranger)?;
    insert.raw_bind_parameter(column + 2, line.shape)?;
    insert.raw_bind_parameter(column + 3, line.detail)?;
    insert.raw_bind_parameter(column + 4, &link[..])?;
    insert.raw_execute().map(drop)
}
