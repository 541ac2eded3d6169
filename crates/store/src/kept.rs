//! What is remembered of servers and settings from one run to the next. Plain rows, read at start.

use crate::anchor::Anchor;
use crate::seal::Seal;
use crate::{CallRecord, Pin, calls, pin};
use bytes::Bytes;
use policy::Grant;
use rusqlite::{Connection, OptionalExtension, Row, params};

/// The lists of one server as it last gave them, so that it needs not run to be listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Its key in the config.
    pub server: String,
    /// Hash of how it is launched: other launch, other server.
    pub launch: String,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Protocol revision spoken with it.
    pub version: String,
    /// Its `serverInfo` object.
    pub server_info: String,
    /// Its capabilities object.
    pub capabilities: String,
    /// Its instructions.
    pub instructions: Option<String>,
    /// The JSON array of its tools as it sent it, text; None where it has no such list. So the next three.
    pub tools: Option<Bytes>,
    /// Prompts.
    pub prompts: Option<Bytes>,
    /// Resources.
    pub resources: Option<Bytes>,
    /// Resource templates.
    pub templates: Option<Bytes>,
    /// What was read of the tools, in a form that only its reader knows.
    pub facts: Option<Vec<u8>>,
}

/// Which revision a server was found to speak, known even before it ever gave a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EraMemory {
    /// Its key in the config.
    pub server: String,
    /// Hash of how it is launched.
    pub launch: String,
    /// Protocol revision.
    pub version: String,
    /// Milliseconds since 1970.
    pub at_ms: u64,
}

/// Everything that is read at start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Per server and launch.
    pub catalogs: Vec<Snapshot>,
    /// Per server and launch.
    pub eras: Vec<EraMemory>,
    /// Key and value, by key.
    pub settings: Vec<(String, String)>,
    /// Records of calls, oldest first, as they stand after what the last run left open was judged: those that wait or
    /// were approved, unknown ones, and ended ones for at least [`KEYS_KEPT_MS`](crate::KEYS_KEPT_MS). Of settled ones
    /// only what a retry needs: call, key, digest as asked, outcome, when it ended, whether there is a result.
    pub calls: Vec<CallRecord>,
    /// What is held fast, without the texts.
    pub pins: Vec<Pin>,
    /// Remembered approvals.
    pub grants: Vec<Grant>,
}

/// Launches of one server that are remembered.
const LAUNCHES: u32 = 8;

type Sql<T> = rusqlite::Result<T>;

fn all<T>(conn: &Connection, sql: &str, read: fn(&Row<'_>) -> Sql<T>) -> Sql<Vec<T>> {
    conn.prepare(sql)?.query_map([], read)?.collect()
}

/// What is shown of a list is cut from it: it is copied no more.
fn list(row: &Row<'_>, column: usize) -> Sql<Option<Bytes>> {
    Ok(row.get::<_, Option<String>>(column)?.map(Bytes::from))
}

fn text(list: &Option<Bytes>) -> Sql<Option<&str>> {
    let text = list.as_deref().map(str::from_utf8).transpose();
    text.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

impl Kept {
    pub(crate) fn read(conn: &Connection, seal: Option<&Seal>) -> Sql<Kept> {
        Ok(Kept {
            catalogs: all(
                conn,
                "SELECT server, launch, at, version, server_info, capabilities, instructions, tools, prompts,
                        resources, templates, hashes FROM catalogs ORDER BY server, at",
                |row| {
                    Ok(Snapshot {
                        server: row.get(0)?,
                        launch: row.get(1)?,
                        at_ms: row.get::<_, i64>(2)? as u64,
                        version: row.get(3)?,
                        server_info: row.get(4)?,
                        capabilities: row.get(5)?,
                        instructions: row.get(6)?,
                        tools: list(row, 7)?,
                        prompts: list(row, 8)?,
                        resources: list(row, 9)?,
                        templates: list(row, 10)?,
                        facts: row.get(11)?,
                    })
                },
            )?,
            eras: all(conn, "SELECT server, launch, version, at FROM eras ORDER BY server, at", |row| {
                Ok(EraMemory {
                    server: row.get(0)?,
                    launch: row.get(1)?,
                    version: row.get(2)?,
                    at_ms: row.get::<_, i64>(3)? as u64,
                })
            })?,
            settings: all(conn, "SELECT key, value FROM settings ORDER BY key", |row| Ok((row.get(0)?, row.get(1)?)))?,
            calls: calls::read(conn, seal)?,
            pins: pin::read(conn)?,
            grants: pin::grants(conn)?,
        })
    }
}

pub(crate) fn save_snapshot(conn: &Connection, it: &Snapshot) -> Sql<()> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO catalogs(server, launch, at, version, server_info, capabilities, instructions,
            tools, prompts, resources, templates, hashes) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        it.server,
        it.launch,
        it.at_ms as i64,
        it.version,
        it.server_info,
        it.capabilities,
        it.instructions,
        text(&it.tools)?,
        text(&it.prompts)?,
        text(&it.resources)?,
        text(&it.templates)?,
        it.facts
    ])?;
    forget_old_launches(conn, "catalogs", &it.server)
}

pub(crate) fn save_era(conn: &Connection, it: &EraMemory) -> Sql<()> {
    conn.prepare_cached("INSERT OR REPLACE INTO eras(server, launch, version, at) VALUES(?, ?, ?, ?)")?
        .execute(params![it.server, it.launch, it.version, it.at_ms as i64])?;
    forget_old_launches(conn, "eras", &it.server)
}

fn forget_old_launches(conn: &Connection, table: &str, server: &str) -> Sql<()> {
    let sql = format!(
        "DELETE FROM {table} WHERE server = ?1 AND launch NOT IN
            (SELECT launch FROM {table} WHERE server = ?1 ORDER BY at DESC LIMIT {LAUNCHES})"
    );
    conn.prepare_cached(&sql)?.execute([server]).map(drop)
}

pub(crate) fn forget_server(conn: &Connection, server: &str) -> Sql<()> {
    conn.execute("DELETE FROM catalogs WHERE server = ?", [server])?;
    conn.execute("DELETE FROM eras WHERE server = ?", [server]).map(drop)
}

pub(crate) fn save_setting(conn: &Connection, key: &str, value: Option<&str>) -> Sql<()> {
    match value {
        Some(value) => conn.execute("INSERT OR REPLACE INTO settings(key, value) VALUES(?, ?)", [key, value]),
        None => conn.execute("DELETE FROM settings WHERE key = ?", [key]),
    }
    .map(drop)
}

/// The last row that was removed because it was old, and its link; None: none ever was.
pub(crate) fn base(conn: &Connection) -> Sql<Option<Anchor>> {
    let Some(text) = meta(conn, "base")? else { return Ok(None) };
    // Whatever else stands there fits no cut row, and that is found.
    Ok(Some(Anchor::parse(&text).unwrap_or(Anchor { row: 0, link: [0; 32] })))
}

pub(crate) fn set_base(conn: &Connection, base: &Anchor) -> Sql<()> {
    set_meta(conn, "base", &base.to_string())
}

pub(crate) fn meta(conn: &Connection, key: &str) -> Sql<Option<String>> {
    conn.query_row("SELECT value FROM meta WHERE key = ?", [key], |row| row.get(0)).optional()
}

pub(crate) fn set_meta(conn: &Connection, key: &str, value: &str) -> Sql<()> {
    conn.execute("INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)", [key, value]).map(drop)
}
