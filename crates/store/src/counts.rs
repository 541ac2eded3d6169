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

fn other_decisions(conn: &Connection) -> rusqlite::Result<FxHashSet<i64>> {
    let mut select = conn.prepare_cached("SELECT id FROM facets WHERE kind = ? AND outcome <> ?")?;
    let codes = [Kind::Decision.code() as i64, Outcome::Denied.code() as i64];
    select.query_map(codes, |row| row.get(0))?.collect()
}
