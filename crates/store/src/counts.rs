//! How many calls there were, and how they ended. A call counts once, by the row that closed it: waiting, decision and
//! sending are steps of one call. Full blocks of rows are not read, only what is told of them.

use crate::search::{Order, Plan};
use crate::{Filter, Kind, Outcome, ReadFault, Reader};
use rusqlite::Connection;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

/// Calls by their ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All that have ended.
    pub calls: u64,
    /// How often each outcome, most frequent first. A denied, an expired and an unknown call are three things.
    pub outcomes: Vec<(String, u64)>,
}

/// One client's calls of one tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// Who asks.
    pub client: String,
    /// Key of the server.
    pub server: String,
    /// The tool's name in the aggregate.
    pub item: String,
}

/// How often a person was asked about such calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Decided and expired ones.
    pub times: u64,
    /// Those of them that were no approval.
    pub denied: u64,
}

/// Rows that close a call; a decision does when it is no.
const CLOSING: [Kind; 6] = [Kind::Read, Kind::End, Kind::Refused, Kind::Replayed, Kind::Expired, Kind::Decision];

impl Reader {
    /// Counts the calls of a filter. Its `kinds` are of no concern.
    pub fn counts(&self, filter: &Filter) -> Result<Counts, ReadFault> {
        let closing = Filter { kinds: CLOSING.to_vec(), ..filter.clone() };
        let mut plan = Plan::of(&self.conn, &closing, Order::Oldest)?;
        plan.leave_out(&other_decisions(&self.conn)?);
        let mut outcomes: FxHashMap<u64, u64> = FxHashMap::default();
        for (facet, rows) in plan.counts(&self.conn)? {
            let outcome = self.facets.borrow_mut().text(&self.conn, facet)?.outcome;
            *outcomes.entry(outcome).or_default() += rows;
        }
        let word = |code: u64| match Outcome::from_code(code) {
            Some(outcome) => outcome.as_str().to_owned(),
            None => format!("outcome {code}"),
        };
        let mut outcomes: Vec<(String, u64)> = outcomes.into_iter().map(|(code, rows)| (word(code), rows)).collect();
        outcomes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Ok(Counts { calls: outcomes.iter().map(|(_, rows)| rows).sum(), outcomes })
    }
}

impl Reader {
    /// How often a person was asked about each of these; one pass over what is told of the blocks for all of them.
    pub fn asked(&self, of: &[Pair]) -> Result<Vec<Asked>, ReadFault> {
        let mut asked = vec![Asked::default(); of.len()];
        let mut places: FxHashMap<i64, (usize, bool)> = FxHashMap::default();
        let id = "(SELECT id FROM names WHERE text = ?)";
        let mut select = self.conn.prepare_cached(&format!(
            "SELECT id, outcome FROM facets WHERE kind IN ({}, {}) AND client = {id} AND server = {id} AND item = {id}",
            Kind::Decision.code(),
            Kind::Expired.code()
        ))?;
        for (place, pair) in of.iter().enumerate() {
            let mut rows = select.query([&pair.client, &pair.server, &pair.item])?;
            while let Some(row) = rows.next()? {
                let is_denied = row.get::<_, i64>(1)? != Outcome::Approved.code() as i64;
                places.insert(row.get(0)?, (place, is_denied));
            }
        }
        if places.is_empty() {
            return Ok(asked);
        }
        let plan = Plan::over(&self.conn, places.keys().copied().collect())?;
        for (facet, rows) in plan.counts(&self.conn)? {
            let Some(&(place, is_denied)) = places.get(&facet) else { continue };
            asked[place].times += rows;
            asked[place].denied += if is_denied { rows } else { 0 };
        }
        Ok(asked)
    }
}

fn other_decisions(conn: &Connection) -> rusqlite::Result<FxHashSet<i64>> {
    let mut select = conn.prepare_cached("SELECT id FROM facets WHERE kind = ? AND outcome <> ?")?;
    let codes = [Kind::Decision.code() as i64, Outcome::Denied.code() as i64];
    select.query_map(codes, |row| row.get(0))?.collect()
}
