//! Full-text search over facets. They are few where rows are many, so the index stays small, and it is filled after
//! the rows are written, never with them.

use crate::stored::{FacetText, Facets};
use crate::{Kind, Method, Outcome, batch, kept};
use rusqlite::{Connection, params};

/// Facets that are taken in at once.
const STEP: usize = 32;

/// The newest facet.
pub(crate) fn newest(conn: &Connection) -> rusqlite::Result<i64> {
    conn.query_row("SELECT coalesce(max(id), 0) FROM facets", [], |row| row.get(0))
}

/// The last facet that words find.
pub(crate) fn worded(conn: &Connection) -> rusqlite::Result<i64> {
    Ok(kept::meta(conn, "worded")?.and_then(|worded| worded.parse().ok()).unwrap_or(0))
}

/// Takes in the next facets. Where it has come to; None: to the end.
pub(crate) fn step(conn: &Connection, worded: i64) -> rusqlite::Result<Option<i64>> {
    let mut select = conn.prepare_cached("SELECT id FROM facets WHERE id > ? ORDER BY id LIMIT ?")?;
    let ids = select.query_map([worded, STEP as i64], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
    let mut facets = Facets::default();
    let mut insert = conn.prepare_cached("INSERT OR REPLACE INTO facet_words(rowid, words) VALUES(?, ?)")?;
    for &id in &ids {
        insert.execute(params![id, words(&*facets.text(conn, id)?)])?;
    }
    let Some(&last) = ids.last() else { return Ok(None) };
    kept::set_meta(conn, "worded", &last.to_string())?;
    Ok((ids.len() == STEP).then_some(last))
}

fn words(it: &FacetText) -> String {
    let kind = Kind::from_code(it.kind).map_or("", Kind::as_str);
    let method = Method::from_code(it.method).map_or("", Method::as_str);
    let outcome = Outcome::from_code(it.outcome).map_or("", Outcome::as_str);
    let effect = batch::effect_word(it.effect);
    [kind, method, outcome, effect, &it.client, &it.server, &it.item, &it.detail, &it.fields].join(" ")
}
