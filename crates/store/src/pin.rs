//! What a person, or the first use, held fast: definitions and remembered approvals. Plain rows, read at start; the
//! texts stay in the database until somebody asks for one.

use crate::batch::{effect_code, effect_of};
use crate::calls::known;
use crate::{CallNumber, PinHow, PinKind};
use contract::{CallId, Hash};
use policy::{Effect, Grant};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

/// So many approved texts of one entry are kept: enough for what varies by itself, and few to read through.
pub const MOST_TEXTS: usize = 8;

type Sql<T> = rusqlite::Result<T>;

/// An approved text: a definition, a server's instructions, its launch command. One entry has several of them, the
/// newest last, where it was approved more than once: at most [`MOST_TEXTS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The server's key in the config.
    pub server: String,
    /// Hash of how the server is launched.
    pub launch: String,
    /// What it holds fast.
    pub kind: PinKind,
    /// The own name or URI; empty for instructions and launch.
    pub name: String,
    /// Hash of the text.
    pub hash: Hash,
    /// Effect class that was approved, for tools.
    pub effect: Option<Effect>,
    /// The approved text, for diffs and for checking calls by the approved schema; saved as None, the text of that hash
    /// that is there already stays. None in [`Kept`](crate::Kept), so that a start need not read megabytes:
    /// [`Vault::approved`](crate::Vault::approved) has it.
    pub raw: Option<String>,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// How it came to be.
    pub how: PinHow,
}

/// Which remembered approvals; an absent field is no condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Of this client.
    pub client: Option<String>,
    /// For this server.
    pub server: Option<String>,
    /// For this tool, by its own name.
    pub tool: Option<String>,
    /// Only those of this session.
    pub session: Option<String>,
    /// Only those that were given with the approval of this call; 0: those of which that is not known.
    pub call: Option<CallNumber>,
}

/// The newest of the approved texts of its entry from now on. Of the others so many stay that there are
/// [`MOST_TEXTS`].
pub(crate) fn save(conn: &Connection, it: &Pin) -> Sql<()> {
    let old: Option<(i64, Option<String>)> = conn
        .prepare_cached(
            "SELECT id, text FROM pins LEFT JOIN pin_texts USING(id)
                WHERE server = ? AND launch = ? AND kind = ? AND name = ? AND hash = ?",
        )?
        .query_row(params![it.server, it.launch, it.kind.code() as i64, it.name, it.hash.as_bytes()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    if let Some((id, _)) = &old {
        drop_one(conn, *id)?;
    }
    let id: i64 = conn
        .prepare_cached(
            "INSERT INTO pins(server, launch, kind, name, hash, effect, at, how)
                VALUES(?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        )?
        .query_row(
            params![
                it.server,
                it.launch,
                it.kind.code() as i64,
                it.name,
                it.hash.as_bytes(),
                effect_code(it.effect),
                it.at_ms as i64,
                it.how.code() as i64
            ],
            |row| row.get(0),
        )?;
    if let Some(text) = it.raw.clone().or(old.and_then(|(_, text)| text)) {
        conn.prepare_cached("INSERT INTO pin_texts(id, text) VALUES(?, ?)")?.execute(params![id, text])?;
    }
    let too_many: Vec<i64> = conn
        .prepare_cached(
            "SELECT id FROM pins WHERE server = ? AND launch = ? AND kind = ? AND name = ? ORDER BY id DESC
                LIMIT -1 OFFSET ?",
        )?
        .query_map(params![it.server, it.launch, it.kind.code() as i64, it.name, MOST_TEXTS as i64], |row| row.get(0))?
        .collect::<Sql<_>>()?;
    too_many.into_iter().try_for_each(|id| drop_one(conn, id))
}

fn drop_one(conn: &Connection, id: i64) -> Sql<()> {
    conn.prepare_cached("DELETE FROM pin_texts WHERE id = ?")?.execute([id])?;
    conn.prepare_cached("DELETE FROM pins WHERE id = ?")?.execute([id]).map(drop)
}

pub(crate) fn drop_all(conn: &Connection, server: &str) -> Sql<()> {
    conn.execute("DELETE FROM pin_texts WHERE id IN (SELECT id FROM pins WHERE server = ?)", [server])?;
    conn.execute("DELETE FROM pins WHERE server = ?", [server]).map(drop)
}

pub(crate) fn read(conn: &Connection) -> Sql<Vec<Pin>> {
    let mut select = conn.prepare(
        "SELECT server, launch, kind, name, hash, effect, at, how FROM pins ORDER BY server, launch, kind, name, id",
    )?;
    let rows = select.query_map([], |row| {
        let (kind, effect, how) = (row.get::<_, i64>(2)?, row.get::<_, i64>(5)?, row.get::<_, i64>(7)?);
        Ok(Pin {
            server: row.get(0)?,
            launch: row.get(1)?,
            kind: known(PinKind::from_code(kind as u64), kind)?,
            name: row.get(3)?,
            hash: hash(row, 4)?,
            effect: effect_or_none(effect)?,
            raw: None,
            at_ms: row.get::<_, i64>(6)? as u64,
            how: known(PinHow::from_code(how as u64), how)?,
        })
    })?;
    rows.collect()
}

pub(crate) fn texts(
    conn: &Connection,
    server: &str,
    launch: &str,
    kind: PinKind,
    name: &str,
) -> Sql<Vec<(Hash, String)>> {
    conn.prepare_cached(
        "SELECT hash, text FROM pins JOIN pin_texts USING(id)
            WHERE server = ? AND launch = ? AND kind = ? AND name = ? ORDER BY id",
    )?
    .query_map(params![server, launch, kind.code() as i64, name], |row| Ok((hash(row, 0)?, row.get(1)?)))?
    .collect()
}

/// Beside those for other approved definitions of the same; of those of another launch none stays.
pub(crate) fn remember(conn: &Connection, it: &Grant) -> Sql<()> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO grants(client, server, launch, tool, session, definition, effect, at, by, call)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        it.client,
        it.server,
        it.launch,
        it.tool,
        it.session.as_deref().unwrap_or(""),
        it.definition.as_bytes(),
        effect_code(Some(it.effect)),
        it.at_ms as i64,
        it.by,
        it.call.map_or(0, |call| call.row() as i64),
    ])?;
    conn.prepare_cached(
        "DELETE FROM grants WHERE client = ?1 AND server = ?2 AND tool = ?3 AND session = ?4 AND (launch <> ?5
            OR definition NOT IN (SELECT definition FROM grants WHERE client = ?1 AND server = ?2 AND tool = ?3
                AND session = ?4 AND launch = ?5 ORDER BY at DESC LIMIT ?6))",
    )?
    .execute(params![it.client, it.server, it.tool, it.session.as_deref().unwrap_or(""), it.launch, MOST_TEXTS as i64])
    .map(drop)
}

pub(crate) fn forget(conn: &Connection, which: &Grants) -> Sql<()> {
    conn.prepare_cached(
        "DELETE FROM grants WHERE (?1 IS NULL OR client = ?1) AND (?2 IS NULL OR server = ?2)
            AND (?3 IS NULL OR tool = ?3) AND (?4 IS NULL OR (session = ?4 AND session <> ''))
            AND (?5 IS NULL OR call = ?5)",
    )?
    .execute(params![which.client, which.server, which.tool, which.session, which.call.map(|call| call.0 as i64)])
    .map(drop)
}

pub(crate) fn grants(conn: &Connection) -> Sql<Vec<Grant>> {
    let mut select = conn.prepare(
        "SELECT client, server, launch, tool, session, definition, effect, at, by, call FROM grants
            ORDER BY client, server, launch, tool, session, at",
    )?;
    let rows = select.query_map([], |row| {
        let text = |at: usize| row.get::<_, String>(at).map(String::into_boxed_str);
        let effect = row.get::<_, i64>(6)?;
        Ok(Grant {
            client: text(0)?,
            server: text(1)?,
            launch: text(2)?,
            tool: text(3)?,
            session: Some(text(4)?).filter(|session| !session.is_empty()),
            definition: hash(row, 5)?,
            effect: known(effect_of(effect), effect)?,
            at_ms: row.get::<_, i64>(7)? as u64,
            by: text(8)?,
            call: Some(row.get::<_, i64>(9)? as u64).filter(|call| *call > 0).map(CallId::new),
        })
    })?;
    rows.collect()
}

/// 32 bytes, or damage.
pub(crate) fn hash(row: &Row<'_>, at: usize) -> Sql<Hash> {
    match <[u8; 32]>::try_from(row.get_ref(at)?.as_blob()?) {
        Ok(bytes) => Ok(Hash::from_bytes(bytes)),
        Err(_) => Err(rusqlite::Error::InvalidColumnType(at, "a hash".into(), Type::Blob)),
    }
}

fn effect_or_none(code: i64) -> Sql<Option<Effect>> {
    if code == 0 { Ok(None) } else { known(effect_of(code), code).map(Some) }
}
