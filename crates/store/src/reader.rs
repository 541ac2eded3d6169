//! Reading the audit beside the committer, for the person's door. Its connection can't write.

use crate::chain::Link;
use crate::line::Line;
use crate::{CallNumber, Kind, Method, Outcome, ReadFault, args, batch, open};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OpenFlags, Row};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A row as it is stored, names resolved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stored {
    pub seq: u64,
    pub call: u64,
    pub kind: u64,
    pub at: u64,
    pub client: String,
    pub server: String,
    pub item: String,
    pub definition: String,
    pub method: u64,
    pub effect: u64,
    pub outcome: u64,
    pub args_bytes: u64,
    pub result_bytes: u64,
    pub stages: [u64; 5],
    pub stranger: Vec<u8>,
    pub shape: Vec<u8>,
    pub detail: String,
    pub chain: Vec<u8>,
}

/// A name whose number is not in `names` becomes NULL, and that becomes a text no real name can be.
const MISSING: &str = "\u{0}missing";

const SELECT: &str = "SELECT audit.seq, audit.call, kind, at,
    iif(client, (SELECT text FROM names WHERE id = client), ''),
    iif(server, (SELECT text FROM names WHERE id = server), ''),
    iif(item, (SELECT text FROM names WHERE id = item), ''),
    iif(definition, (SELECT text FROM names WHERE id = definition), ''),
    method, effect, outcome, args_bytes, result_bytes, checked_us, held_us, queued_us, ran_us, answered_us,
    stranger, shape, detail, chain FROM audit ";

pub(crate) fn read_lines(conn: &Connection, rest: &str, values: &[Value]) -> rusqlite::Result<Vec<Stored>> {
    let mut statement = conn.prepare_cached(&format!("{SELECT}{rest}"))?;
    let rows = statement.query_map(rusqlite::params_from_iter(values), Stored::read)?;
    rows.collect()
}

impl Stored {
    fn read(row: &Row<'_>) -> rusqlite::Result<Stored> {
        let number = |at: usize| row.get::<_, i64>(at).map(|number| number as u64);
        // Whatever stands in a row that was tampered with is read: it is the chain that has to say so.
        let text = |at: usize| match row.get_ref(at)? {
            ValueRef::Text(text) => Ok::<_, rusqlite::Error>(String::from_utf8_lossy(text).into_owned()),
            _ => Ok(MISSING.to_owned()),
        };
        let mut stages = [0; 5];
        for (at, stage) in stages.iter_mut().enumerate() {
            *stage = number(13 + at)?;
        }
        Ok(Stored {
            seq: number(0)?,
            call: number(1)?,
            kind: number(2)?,
            at: number(3)?,
            client: text(4)?,
            server: text(5)?,
            item: text(6)?,
            definition: text(7)?,
            method: number(8)?,
            effect: number(9)?,
            outcome: number(10)?,
            args_bytes: number(11)?,
            result_bytes: number(12)?,
            stages,
            stranger: row.get(18)?,
            shape: row.get(19)?,
            detail: text(20)?,
            chain: row.get(21)?,
        })
    }

    pub(crate) fn line(&self) -> Line<'_> {
        Line {
            seq: self.seq,
            call: self.call,
            kind: self.kind,
            at: self.at,
            client: &self.client,
            server: &self.server,
            item: &self.item,
            definition: &self.definition,
            method: self.method,
            effect: self.effect,
            outcome: self.outcome,
            args_bytes: self.args_bytes,
            result_bytes: self.result_bytes,
            stages: self.stages,
            stranger: &self.stranger,
            shape: &self.shape,
            detail: &self.detail,
        }
    }

    pub(crate) fn link(&self) -> Option<Link> {
        self.chain.as_slice().try_into().ok()
    }
}

/// One audit row for a person's eyes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// Its place in the log.
    pub seq: u64,
    /// The call it belongs to (`c3-17`), or empty.
    pub call: String,
    /// What is told; `kind 99` where a newer version wrote it.
    pub kind: String,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Who asked.
    pub client: String,
    /// Which server.
    pub server: String,
    /// Which tool, prompt or resource; `(12 B #0a1b…)` for a name that matched nothing.
    pub item: String,
    /// Hash of the tool's definition.
    pub definition: String,
    /// How it was asked.
    pub method: String,
    /// `read`, `write`, `destructive`, or empty.
    pub effect: String,
    /// How it ended, or empty.
    pub outcome: String,
    /// Bytes of the arguments.
    pub args_bytes: u64,
    /// Bytes of the result.
    pub result_bytes: u64,
    /// µs until the verdict.
    pub checked_us: u64,
    /// µs of waiting for a person.
    pub held_us: u64,
    /// µs of waiting for the server, its lane, the intent.
    pub queued_us: u64,
    /// µs at the server.
    pub ran_us: u64,
    /// µs until the client had the answer.
    pub answered_us: u64,
    /// Each argument: name, type, size, keyed hash.
    pub arguments: Vec<String>,
    /// More, as JSON text, or empty.
    pub detail: String,
}

impl From<Stored> for AuditRecord {
    fn from(row: Stored) -> AuditRecord {
        let word = |known: Option<&'static str>, what: &str, code: u64| match known {
            Some(known) => known.to_owned(),
            None => format!("{what} {code}"),
        };
        let item = match row.stranger.split_first_chunk::<4>() {
            Some((length, tag)) => format!("({} B #{})", u32::from_le_bytes(*length), crate::chain::hex(tag)),
            None => row.item,
        };
        let [checked_us, held_us, queued_us, ran_us, answered_us] = row.stages;
        AuditRecord {
            seq: row.seq,
            call: if row.call == 0 { String::new() } else { CallNumber(row.call).to_string() },
            kind: word(Kind::from_code(row.kind).map(Kind::as_str), "kind", row.kind),
            at_ms: row.at,
            client: row.client,
            server: row.server,
            item,
            definition: row.definition,
            method: word(Method::from_code(row.method).map(Method::as_str), "method", row.method),
            effect: batch::effect_word(row.effect).to_owned(),
            outcome: word(Outcome::from_code(row.outcome).map(Outcome::as_str), "outcome", row.outcome),
            args_bytes: row.args_bytes,
            result_bytes: row.result_bytes,
            checked_us,
            held_us,
            queued_us,
            ran_us,
            answered_us,
            arguments: args::describe(&row.shape),
            detail: row.detail,
        }
    }
}

/// Which rows; an absent field is no condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Filter {
    /// Only rows before this one: the `seq` of the last row of the page before.
    pub before: Option<u64>,
    /// Only rows after this one, oldest first: for a live tail.
    pub after: Option<u64>,
    /// Exact name of the client.
    pub client: Option<String>,
    /// Exact name of the server.
    pub server: Option<String>,
    /// Exact name of the tool, prompt or resource.
    pub item: Option<String>,
    /// Any of these.
    pub kinds: Vec<Kind>,
    /// Any of these.
    pub outcomes: Vec<Outcome>,
    /// Milliseconds since 1970, inclusive.
    pub since_ms: Option<u64>,
    /// Milliseconds since 1970, exclusive.
    pub until_ms: Option<u64>,
}

/// A read-only look at the store.
pub struct Reader {
    pub(crate) conn: Connection,
    pub(crate) dir: PathBuf,
}

impl Reader {
    /// Opens a store that a hub has opened before. Never makes or changes a file.
    pub fn open(dir: &Path) -> Result<Reader, ReadFault> {
        let path = open::database(dir);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&path, flags)?;
        conn.busy_timeout(Duration::from_secs(2))?;
        conn.execute_batch("PRAGMA query_only=1; PRAGMA cache_size=-512; PRAGMA trusted_schema=0;")?;
        Ok(Reader { conn, dir: dir.to_owned() })
    }

    /// Up to `limit` rows (1,000 at most), newest first unless `after` is given.
    pub fn page(&self, filter: &Filter, limit: u32) -> Result<Vec<AuditRecord>, ReadFault> {
        let mut sql = "WHERE 1".to_owned();
        let mut values: Vec<Value> = Vec::new();
        let mut add = |condition: &str, value: Value| {
            sql.push_str(condition);
            values.push(value);
        };
        let numbers = [
            (" AND audit.seq < ?", filter.before),
            (" AND audit.seq > ?", filter.after),
            (" AND at >= ?", filter.since_ms),
            (" AND at < ?", filter.until_ms),
        ];
        for (condition, number) in numbers {
            if let Some(number) = number {
                add(condition, Value::Integer(i64::try_from(number).unwrap_or(i64::MAX)));
            }
        }
        let names = [("client", &filter.client), ("server", &filter.server), ("item", &filter.item)];
        for (column, name) in names {
            if let Some(name) = name {
                let is_it = format!(" AND {column} = (SELECT id FROM names WHERE text = ?)");
                add(&is_it, Value::Text(name.clone()));
            }
        }
        let kinds: Vec<u64> = filter.kinds.iter().map(|kind| kind.code()).collect();
        let outcomes: Vec<u64> = filter.outcomes.iter().map(|outcome| outcome.code()).collect();
        for (column, codes) in [("kind", kinds), ("outcome", outcomes)] {
            if !codes.is_empty() {
                let list: Vec<String> = codes.iter().map(u64::to_string).collect();
                sql.push_str(&format!(" AND {column} IN ({})", list.join(",")));
            }
        }
        let order = if filter.after.is_some() { "ASC" } else { "DESC" };
        sql.push_str(&format!(" ORDER BY audit.seq {order} LIMIT {}", limit.min(1000)));
        Ok(read_lines(&self.conn, &sql, &values)?.into_iter().map(AuditRecord::from).collect())
    }

    /// All rows of one call, oldest first.
    pub fn call(&self, call: CallNumber) -> Result<Vec<AuditRecord>, ReadFault> {
        let value = Value::Integer(i64::try_from(call.0).unwrap_or(0));
        let rows = read_lines(&self.conn, "WHERE call = ? AND call > 0 ORDER BY audit.seq", &[value])?;
        Ok(rows.into_iter().map(AuditRecord::from).collect())
    }
}
