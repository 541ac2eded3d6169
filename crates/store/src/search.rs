//! Finds audit rows: filters and words choose facets, facets choose blocks of rows, and only those are read. A rare
//! name costs no scan of the whole log; nothing is indexed row by row.

use crate::facets::{block_of, first_of};
use crate::{CallNumber, Kind, Method, Outcome, batch, kept};
use policy::Effect;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Which rows; an absent field is no condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Filter {
    /// Only rows before this one: the `seq` of the last row of the page before.
    pub before: Option<u64>,
    /// Only rows after this one, oldest first: for a live tail.
    pub after: Option<u64>,
    /// Rows of this call only.
    pub call: Option<CallNumber>,
    /// Exact name of the client.
    pub client: Option<String>,
    /// Exact name of the server.
    pub server: Option<String>,
    /// Exact name of the tool, prompt or resource.
    pub item: Option<String>,
    /// Hash of the definition.
    pub definition: Option<String>,
    /// Any of these.
    pub kinds: Vec<Kind>,
    /// Any of these.
    pub outcomes: Vec<Outcome>,
    /// Any of these.
    pub methods: Vec<Method>,
    /// Any of these.
    pub effects: Vec<Effect>,
    /// Words that must all begin a word of the client, server, item, kind, outcome, effect, detail (rule, why, reason)
    /// or an argument's name. What was written within the last moment may not be found by them yet.
    pub text: Option<String>,
    /// Milliseconds since 1970, inclusive.
    pub since_ms: Option<u64>,
    /// Milliseconds since 1970, exclusive.
    pub until_ms: Option<u64>,
}

/// Where the rows of a filter are.
pub(crate) struct Plan {
    /// None: any.
    facets: Option<FxHashSet<i64>>,
    call: Option<u64>,
    times: RangeInclusive<u64>,
    /// Rows to be looked at, in reading order; the next one last.
    ranges: Vec<RangeInclusive<u64>>,
    is_ascending: bool,
}

/// Which way rows are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Oldest,
    Newest,
}

impl Plan {
    pub(crate) fn of(conn: &Connection, filter: &Filter, order: Order) -> rusqlite::Result<Plan> {
        let base = kept::base(conn)?.map_or(0, |base| base.row);
        let last: Option<i64> = conn.query_row("SELECT max(seq) FROM audit", [], |row| row.get(0))?;
        let first = filter.after.unwrap_or(0).max(base).saturating_add(1);
        // Rows that come while we read are of no interest, but for those of the next call.
        let last = filter.before.map_or(u64::MAX, |before| before.saturating_sub(1)).min(last.unwrap_or(0) as u64);
        let mut plan = Plan {
            facets: facets(conn, filter)?,
            call: filter.call.map(|call| call.0),
            times: filter.since_ms.unwrap_or(0)..=filter.until_ms.map_or(u64::MAX, |until| until.saturating_sub(1)),
            ranges: Vec::new(),
            is_ascending: order == Order::Oldest,
        };
        let is_timed = filter.since_ms.is_some() || filter.until_ms.is_some();
        if filter.until_ms == Some(0) || first > last || plan.facets.as_ref().is_some_and(FxHashSet::is_empty) {
            return Ok(plan);
        }
        if plan.call.is_some() || (plan.facets.is_none() && !is_timed) {
            plan.ranges.push(first..=last);
        } else {
            for block in plan.blocks(conn, block_of(first)..=block_of(last))? {
                plan.ranges.push(first_of(block).max(first)..=(first_of(block + 1) - 1).min(last));
            }
        }
        if plan.is_ascending {
            plan.ranges.reverse();
        }
        Ok(plan)
    }

    /// Blocks that may hold such rows, oldest first: those that were filled and tell so, and the one that is not full.
    fn blocks(&self, conn: &Connection, within: RangeInclusive<u64>) -> rusqlite::Result<Vec<u64>> {
        let mut full = conn
            .prepare_cached("SELECT block, first_at, last_at FROM spans WHERE block BETWEEN ? AND ? ORDER BY block")?;
        let mut full = full.query([*within.start() as i64, *within.end() as i64])?;
        let holding = match &self.facets {
            None => None,
            Some(facets) => {
                let mut find =
                    conn.prepare_cached("SELECT block FROM blocks WHERE facet = ? AND block BETWEEN ? AND ?")?;
                let mut holding = FxHashSet::default();
                for &facet in facets {
                    let mut rows = find.query([facet, *within.start() as i64, *within.end() as i64])?;
                    while let Some(row) = rows.next()? {
                        holding.insert(row.get::<_, i64>(0)? as u64);
                    }
                }
                Some(holding)
            }
        };
        let mut all = Vec::new();
        let mut next = *within.start();
        while let Some(row) = full.next()? {
            let number = |at: usize| row.get::<_, i64>(at).map(|number| number as u64);
            let (block, first_at, last_at) = (number(0)?, number(1)?, number(2)?);
            // A block of which nothing is told is looked into.
            all.extend(next..block);
            next = block + 1;
            let is_in_time = first_at <= *self.times.end() && last_at >= *self.times.start();
            if is_in_time && holding.as_ref().is_none_or(|holding| holding.contains(&block)) {
                all.push(block);
            }
        }
        all.extend(next..=*within.end());
        Ok(all)
    }

    /// Numbers of the next rows, `most` at most; empty: there are no more.
    pub(crate) fn next(&mut self, conn: &Connection, most: usize) -> rusqlite::Result<Vec<u64>> {
        let order = if self.is_ascending { "ASC" } else { "DESC" };
        let by_call = if self.call.is_some() { "call = ?3 AND call > 0 AND" } else { "?3 IS NULL AND" };
        let sql =
            format!("SELECT seq, facet, at FROM audit WHERE {by_call} seq BETWEEN ?1 AND ?2 ORDER BY seq {order}");
        let mut statement = conn.prepare_cached(&sql)?;
        let mut found = Vec::new();
        while let Some(range) = self.ranges.pop() {
            let call = self.call.map(|call| call as i64);
            let mut rows = statement.query((*range.start() as i64, *range.end() as i64, call))?;
            while let Some(row) = rows.next()? {
                let number = |at: usize| row.get::<_, i64>(at).map(|number| number as u64);
                if self
                    .facets
                    .as_ref()
                    .is_some_and(|facets| !row.get(1).is_ok_and(|facet: i64| facets.contains(&facet)))
                    || !self.times.contains(&number(2)?)
                {
                    continue;
                }
                let seq = number(0)?;
                found.push(seq);
                if found.len() == most {
                    let rest = if self.is_ascending { seq + 1..=*range.end() } else { *range.start()..=seq - 1 };
                    if !rest.is_empty() {
                        self.ranges.push(rest);
                    }
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }
}

/// The facets of a filter; None: it says nothing of them.
fn facets(conn: &Connection, filter: &Filter) -> rusqlite::Result<Option<FxHashSet<i64>>> {
    let mut sql = "SELECT id FROM facets WHERE 1".to_owned();
    let mut values: Vec<Value> = Vec::new();
    let names = [
        ("client", &filter.client),
        ("server", &filter.server),
        ("item", &filter.item),
        ("definition", &filter.definition),
    ];
    for (column, name) in names {
        if let Some(name) = name {
            sql.push_str(&format!(" AND {column} = (SELECT id FROM names WHERE text = ?)"));
            values.push(Value::Text(name.clone()));
        }
    }
    let codes: [(&str, Vec<u64>); 4] = [
        ("kind", filter.kinds.iter().map(|kind| kind.code()).collect()),
        ("outcome", filter.outcomes.iter().map(|outcome| outcome.code()).collect()),
        ("method", filter.methods.iter().map(|method| method.code()).collect()),
        ("effect", filter.effects.iter().map(|&effect| u64::from(batch::effect_code(Some(effect)))).collect()),
    ];
    for (column, codes) in codes {
        if !codes.is_empty() {
            let list: Vec<String> = codes.iter().map(u64::to_string).collect();
            sql.push_str(&format!(" AND {column} IN ({})", list.join(",")));
        }
    }
    let words = filter.text.as_deref().map(words).filter(|words| !words.is_empty());
    if let Some(words) = words {
        sql.push_str(" AND id IN (SELECT rowid FROM facet_words WHERE facet_words MATCH ?)");
        values.push(Value::Text(words));
    }
    if sql.ends_with("WHERE 1") {
        return Ok(None);
    }
    let mut statement = conn.prepare_cached(&sql)?;
    let found = statement.query_map(params_from_iter(values), |row| row.get(0))?;
    found.collect::<rusqlite::Result<_>>().map(Some)
}

/// A search expression that means what was typed: each word a prefix, none of them an operator.
fn words(text: &str) -> String {
    let words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
    words.map(|word| format!("\"{}\"*", word.replace(['"', '\0'], " "))).collect::<Vec<_>>().join(" ")
}
