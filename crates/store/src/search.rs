//! Finds audit rows: filters and words choose facets, facets choose blocks of rows, and only those are read. A rare
//! name costs no scan of the whole log; nothing is indexed row by row.

use crate::blocks::{Told, block_of, first_of, last_of};
use crate::{CallNumber, Kind, Method, Outcome, batch, kept};
use policy::Effect;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use rustc_hash::{FxHashMap, FxHashSet};
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
    /// Rows that were not looked at.
    left: RangeInclusive<u64>,
    order: Order,
    /// Whether what is told of blocks can help.
    skips: bool,
}

/// Which way rows are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Oldest,
    Newest,
}

/// Rows that come next.
struct Part {
    rows: RangeInclusive<u64>,
    /// What is told of them, if they are a whole block.
    told: Option<Told>,
}

impl Plan {
    pub(crate) fn of(conn: &Connection, filter: &Filter, order: Order) -> rusqlite::Result<Plan> {
        let base = kept::base(conn)?.map_or(0, |base| base.row);
        let last: Option<i64> = conn.query_row("SELECT max(seq) FROM audit", [], |row| row.get(0))?;
        let first = filter.after.unwrap_or(0).max(base).saturating_add(1);
        // Rows that come while we read are of no interest.
        let last = filter.before.map_or(u64::MAX, |before| before.saturating_sub(1)).min(last.unwrap_or(0) as u64);
        let facets = facets(conn, filter)?;
        let is_timed = filter.since_ms.is_some() || filter.until_ms.is_some();
        let is_nothing = filter.until_ms == Some(0) || facets.as_ref().is_some_and(FxHashSet::is_empty);
        Ok(Plan {
            call: filter.call.map(|call| call.0),
            times: filter.since_ms.unwrap_or(0)..=filter.until_ms.map_or(u64::MAX, |until| until.saturating_sub(1)),
            left: if is_nothing { last + 1..=last } else { first..=last },
            order,
            skips: filter.call.is_none() && (is_timed || facets.is_some()),
            facets,
        })
    }

    /// All rows of these facets.
    pub(crate) fn over(conn: &Connection, facets: FxHashSet<i64>) -> rusqlite::Result<Plan> {
        Ok(Plan { facets: Some(facets), skips: true, ..Plan::of(conn, &Filter::default(), Order::Oldest)? })
    }

    /// Takes the rows that come next: all that are left, or those of one block.
    fn part(&mut self, conn: &Connection) -> rusqlite::Result<Option<Part>> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let (first, last) = (*self.left.start(), *self.left.end());
        let block = block_of(if self.order == Order::Oldest { first } else { last });
        let whole = if self.skips { first_of(block).max(1)..=last_of(block) } else { first..=last };
        let rows = first.max(*whole.start())..=last.min(*whole.end());
        self.left = match self.order {
            Order::Oldest => rows.end() + 1..=last,
            Order::Newest => first..=rows.start() - 1,
        };
        let told = if self.skips && rows == whole { Told::of(conn, block)? } else { None };
        if self.skips && told.is_none() && !self.left.is_empty() {
            self.pass_holes(conn)?;
        }
        Ok(Some(Part { rows, told }))
    }

    /// Goes on at a row that is there: a number that somebody put in must not make us look at each before it.
    fn pass_holes(&mut self, conn: &Connection) -> rusqlite::Result<()> {
        let (first, last) = (*self.left.start() as i64, *self.left.end() as i64);
        let (sql, is_oldest) = match self.order {
            Order::Oldest => ("SELECT min(seq) FROM audit WHERE seq BETWEEN ? AND ?", true),
            Order::Newest => ("SELECT max(seq) FROM audit WHERE seq BETWEEN ? AND ?", false),
        };
        let next: Option<i64> = conn.prepare_cached(sql)?.query_row([first, last], |row| row.get(0))?;
        self.left = match next.map(|next| next as u64) {
            Some(next) if is_oldest => next..=*self.left.end(),
            Some(next) => *self.left.start()..=next,
            None => first as u64..=first as u64 - 1,
        };
        Ok(())
    }

    /// Whether a block may hold rows of the filter.
    fn may_be_in(&self, told: &Told) -> bool {
        told.first_at <= *self.times.end()
            && told.last_at >= *self.times.start()
            && self.facets.as_ref().is_none_or(|facets| told.holds_any(facets))
    }

    /// Numbers of the next rows, `most` at most; empty: there are no more.
    pub(crate) fn next(&mut self, conn: &Connection, most: usize) -> rusqlite::Result<Vec<u64>> {
        let mut found = Vec::new();
        while found.len() < most {
            let Some(part) = self.part(conn)? else { break };
            if part.told.is_none_or(|told| self.may_be_in(&told)) {
                self.scan(conn, part.rows, most - found.len(), |seq, _| found.push(seq))?;
            }
        }
        Ok(found)
    }

    /// Reads rows and tells those of the filter, `most` at most; what was not read is left.
    fn scan(
        &mut self,
        conn: &Connection,
        rows: RangeInclusive<u64>,
        most: usize,
        mut tell: impl FnMut(u64, i64),
    ) -> rusqlite::Result<()> {
        let order = if self.order == Order::Oldest { "ASC" } else { "DESC" };
        let by_call = if self.call.is_some() { "call = ?3 AND call > 0 AND" } else { "?3 IS NULL AND" };
        let sql =
            format!("SELECT seq, facet, at FROM audit WHERE {by_call} seq BETWEEN ?1 AND ?2 ORDER BY seq {order}");
        let mut statement = conn.prepare_cached(&sql)?;
        let call = self.call.map(|call| call as i64);
        let mut found = statement.query((*rows.start() as i64, *rows.end() as i64, call))?;
        let mut told = 0;
        while let Some(row) = found.next()? {
            let facet: i64 = row.get(1)?;
            let at = row.get::<_, i64>(2)? as u64;
            if !self.times.contains(&at) || self.facets.as_ref().is_some_and(|facets| !facets.contains(&facet)) {
                continue;
            }
            let seq = row.get::<_, i64>(0)? as u64;
            tell(seq, facet);
            told += 1;
            if told == most {
                self.left = match self.order {
                    Order::Oldest => seq + 1..=*self.left.end(),
                    Order::Newest => *self.left.start()..=seq - 1,
                };
                break;
            }
        }
        Ok(())
    }

    /// These facets do not count.
    pub(crate) fn leave_out(&mut self, out: &FxHashSet<i64>) {
        if let Some(facets) = &mut self.facets {
            facets.retain(|facet| !out.contains(facet));
        }
    }

    /// How often each facet is in the rows of the plan. Full blocks are not read, only what is told of them.
    pub(crate) fn counts(mut self, conn: &Connection) -> rusqlite::Result<FxHashMap<i64, u64>> {
        let mut counts: FxHashMap<i64, u64> = FxHashMap::default();
        let is_wanted = |plan: &Plan, facet: i64| plan.facets.as_ref().is_none_or(|facets| facets.contains(&facet));
        while let Some(part) = self.part(conn)? {
            match part.told {
                Some(told) if !self.may_be_in(&told) => {}
                Some(told) if self.times.contains(&told.first_at) && self.times.contains(&told.last_at) => {
                    for (facet, rows) in told.facets().filter(|(facet, _)| is_wanted(&self, *facet)) {
                        *counts.entry(facet).or_default() += rows;
                    }
                }
                _ => self.scan(conn, part.rows, usize::MAX, |_, facet| *counts.entry(facet).or_default() += 1)?,
            }
        }
        Ok(counts)
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
    if let Some(text) = filter.text.as_deref().filter(|text| !text.trim().is_empty()) {
        let words = words(text);
        if words.is_empty() {
            // Nothing of it can be in the index.
            return Ok(Some(FxHashSet::default()));
        }
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
