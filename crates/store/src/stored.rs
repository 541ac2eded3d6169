//! Audit rows as they are stored, facets and names resolved. Reads whatever stands there, also in a log that was
//! tampered with: it is the chain that has to say so.

use crate::chain::Link;
use crate::line::Line;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What many rows have in common, names resolved.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FacetText {
    pub kind: u64,
    pub client: String,
    pub server: String,
    pub item: String,
    pub definition: String,
    pub method: u64,
    pub effect: u64,
    pub outcome: u64,
    pub detail: String,
    pub fields: String,
}

/// A row.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub seq: u64,
    pub call: u64,
    pub facet: i64,
    pub text: Arc<FacetText>,
    pub at: u64,
    pub args_bytes: u64,
    pub result_bytes: u64,
    pub stages: [u64; 5],
    pub stranger: Vec<u8>,
    pub shape: Vec<u8>,
    pub chain: Vec<u8>,
}

/// A name whose number is not in `names`, or a facet that is not there, becomes a text no real name can be.
const MISSING: &str = "\u{0}missing";

/// Facets that are kept at hand.
const MOST_AT_HAND: usize = 16_384;

/// Reads rows; facets only once.
#[derive(Default)]
pub(crate) struct Facets(FxHashMap<i64, Arc<FacetText>>);

const SELECT: &str =
    "SELECT audit.seq, audit.call, facet, at, args_bytes, result_bytes, checked_us, held_us, queued_us,
    ran_us, answered_us, stranger, shape, chain FROM audit ";

impl Facets {
    /// The rows of a statement that goes on after `FROM audit`.
    pub(crate) fn rows(&mut self, conn: &Connection, rest: &str, values: &[Value]) -> rusqlite::Result<Vec<Stored>> {
        let mut statement = conn.prepare_cached(&format!("{SELECT}{rest}"))?;
        let mut rows = statement.query(rusqlite::params_from_iter(values))?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let number = |at: usize| row.get::<_, i64>(at).map(|number| number as u64);
            let facet = row.get(2)?;
            let mut stages = [0; 5];
            for (at, stage) in stages.iter_mut().enumerate() {
                *stage = number(6 + at)?;
            }
            all.push(Stored {
                seq: number(0)?,
                call: number(1)?,
                facet,
                text: self.text(conn, facet)?,
                at: number(3)?,
                args_bytes: number(4)?,
                result_bytes: number(5)?,
                stages,
                stranger: row.get(11)?,
                shape: row.get(12)?,
                chain: row.get(13)?,
            });
        }
        Ok(all)
    }

    /// One facet.
    pub(crate) fn text(&mut self, conn: &Connection, facet: i64) -> rusqlite::Result<Arc<FacetText>> {
        if let Some(text) = self.0.get(&facet) {
            return Ok(Arc::clone(text));
        }
        let text = Arc::new(read(conn, facet)?);
        if self.0.len() >= MOST_AT_HAND {
            self.0.clear();
        }
        self.0.insert(facet, Arc::clone(&text));
        Ok(text)
    }
}

fn read(conn: &Connection, facet: i64) -> rusqlite::Result<FacetText> {
    let mut find = conn.prepare_cached(
        "SELECT kind, method, effect, outcome,
            iif(client, (SELECT text FROM names WHERE id = client), ''),
            iif(server, (SELECT text FROM names WHERE id = server), ''),
            iif(item, (SELECT text FROM names WHERE id = item), ''),
            iif(definition, (SELECT text FROM names WHERE id = definition), ''),
            iif(detail, (SELECT text FROM names WHERE id = detail), ''), fields FROM facets WHERE id = ?",
    )?;
    let number = |row: &Row<'_>, at: usize| row.get::<_, i64>(at).map(|number| number as u64);
    let text = |row: &Row<'_>, at: usize| match row.get_ref(at)? {
        ValueRef::Text(text) => Ok::<_, rusqlite::Error>(String::from_utf8_lossy(text).into_owned()),
        _ => Ok(MISSING.to_owned()),
    };
    let found = find.query_row([facet], |row| {
        Ok(FacetText {
            kind: number(row, 0)?,
            method: number(row, 1)?,
            effect: number(row, 2)?,
            outcome: number(row, 3)?,
            client: text(row, 4)?,
            server: text(row, 5)?,
            item: text(row, 6)?,
            definition: text(row, 7)?,
            detail: text(row, 8)?,
            fields: text(row, 9)?,
        })
    });
    Ok(found.optional()?.unwrap_or_else(|| FacetText { detail: MISSING.to_owned(), ..FacetText::default() }))
}

impl Stored {
    pub(crate) fn line(&self) -> Line<'_> {
        let text = &*self.text;
        Line {
            seq: self.seq,
            call: self.call,
            kind: text.kind,
            at: self.at,
            client: &text.client,
            server: &text.server,
            item: &text.item,
            definition: &text.definition,
            method: text.method,
            effect: text.effect,
            outcome: text.outcome,
            args_bytes: self.args_bytes,
            result_bytes: self.result_bytes,
            stages: self.stages,
            stranger: &self.stranger,
            shape: &self.shape,
            detail: &text.detail,
        }
    }

    pub(crate) fn link(&self) -> Option<Link> {
        self.chain.as_slice().try_into().ok()
    }
}
