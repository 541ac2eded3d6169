//! What many audit rows have in common, stored once: rows refer to it, filters and full-text search look in it.
//! Inside the caller's transaction.

use rusqlite::{Connection, OptionalExtension, params};

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
