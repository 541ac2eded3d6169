//! The table of open intents and call records. A row without a client is an intent and nothing else. Argument values
//! go through the seal; they are gone when a call is settled, denied or expired. Inside the caller's transaction.

use crate::batch::{effect_code, effect_of};
use crate::pin::hash;
use crate::recover::{Close, Standing, after, close};
use crate::seal::{Column, Seal};
use crate::{CallNumber, CallRecord, KEYS_KEPT_MS, Method, Outcome, REFUSALS_KEPT_MS};
use bytes::Bytes;
use contract::Hash;
use policy::{CallState, Scope, Tier};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

type Sql<T> = rusqlite::Result<T>;

/// Numbers of states; never given a second meaning. 1 is the oldest: an intent.
const STATES: [(i64, CallState); 8] = [
    (1, CallState::Intent),
    (2, CallState::Reserved),
    (3, CallState::Waiting),
    (4, CallState::Approved),
    (5, CallState::Settled),
    (6, CallState::Denied),
    (7, CallState::Expired),
    (8, CallState::Unknown),
];

/// The number of a state; 0 for freed, which no row has.
pub(crate) fn state_code(state: CallState) -> i64 {
    STATES.iter().find(|(_, it)| *it == state).map_or(0, |(code, _)| *code)
}

pub(crate) fn state_of(code: i64) -> Sql<CallState> {
    known(STATES.iter().find(|(it, _)| *it == code).map(|(_, state)| *state), code)
}

const fn tier_code(tier: Tier) -> i64 {
    match tier {
        Tier::Quiet => 1,
        Tier::Once => 2,
        Tier::Each => 3,
    }
}

fn tier_of(code: i64) -> Sql<Tier> {
    known([Tier::Quiet, Tier::Once, Tier::Each].into_iter().find(|tier| tier_code(*tier) == code), code)
}

const fn scope_code(scope: Scope) -> i64 {
    match scope {
        Scope::Once => 1,
        Scope::Session => 2,
        Scope::Tool => 3,
    }
}

fn scope_of(code: i64) -> Sql<Option<Scope>> {
    let scopes = [Scope::Once, Scope::Session, Scope::Tool];
    match code {
        0 => Ok(None),
        _ => known(scopes.into_iter().find(|scope| scope_code(*scope) == code), code).map(Some),
    }
}

/// A number that this version doesn't know is damage, never "nothing".
pub(crate) fn known<T>(meaning: Option<T>, code: i64) -> Sql<T> {
    meaning.ok_or(rusqlite::Error::IntegralValueOutOfRange(0, code))
}

/// A call is announced in row `seq`; its record, if it has one, goes on. Where it has none, digest and session by which a
/// repetition of it is known are kept until its answer has left, or it surely did not run.
pub(crate) fn intend(conn: &Connection, call: CallNumber, seq: u64, repetition: Option<(&[u8; 32], &str)>) -> Sql<()> {
    let (asked, session) = repetition.unzip();
    conn.prepare_cached(
        "INSERT INTO calls(call, state, intent, session, asked) VALUES(?, 1, ?, ?, ?)
            ON CONFLICT(call) DO UPDATE SET state = 1, intent = excluded.intent",
    )?
    .execute(params![call.0 as i64, seq as i64, session, asked])
    .map(drop)
}

/// The end row of an announced call is written.
pub(crate) fn end(conn: &Connection, call: CallNumber, outcome: Outcome, was_marked: bool, at: u64) -> Sql<()> {
    let (call, close) = (call.0 as i64, close(outcome, was_marked));
    let unheard = "UPDATE calls SET state = 5, outcome = ?, ended_at = ?
        WHERE call = ? AND client IS NULL AND asked IS NOT NULL";
    if close == Close::Ran && conn.prepare_cached(unheard)?.execute([outcome.code() as i64, at as i64, call])? > 0 {
        return Ok(());
    }
    if conn.prepare_cached("DELETE FROM calls WHERE call = ? AND client IS NULL")?.execute([call])? > 0 {
        return Ok(());
    }
    let mut find = conn.prepare_cached(
        "SELECT state, key IS NOT NULL OR task IS NOT NULL, scope > 0, expires_at FROM calls
            WHERE call = ? AND intent > 0",
    )?;
    let standing = find.query_row([call], |row| {
        Ok(Standing {
            state: state_of(row.get(0)?)?,
            keeps_end: row.get(1)?,
            was_approved: row.get(2)?,
            expires_ms: row.get::<_, i64>(3)? as u64,
        })
    });
    let Some(standing) = standing.optional()? else { return Ok(()) };
    let state = after(standing, close, at);
    // The hub may have been quicker with what it knows.
    let outcome = (standing.is_running() && state != CallState::Approved).then_some(outcome);
    move_to(conn, call, state, outcome, at)
}

/// The answer of a call without a record has left, or its client was told that it ran.
pub(crate) fn heard(conn: &Connection, call: CallNumber) -> Sql<()> {
    let gone = "DELETE FROM calls WHERE call = ? AND state = 5 AND client IS NULL";
    conn.prepare_cached(gone)?.execute([call.0 as i64]).map(drop)
}

/// After the end of an intent.
pub(crate) fn move_to(conn: &Connection, call: i64, state: CallState, outcome: Option<Outcome>, at: u64) -> Sql<()> {
    if state == CallState::Freed {
        conn.prepare_cached("DELETE FROM results WHERE call = ?")?.execute([call])?;
        return conn.prepare_cached("DELETE FROM calls WHERE call = ?")?.execute([call]).map(drop);
    }
    if let Some(outcome) = outcome {
        conn.prepare_cached("UPDATE calls SET outcome = ?, ended_at = ? WHERE call = ?")?.execute([
            outcome.code() as i64,
            at as i64,
            call,
        ])?;
    }
    conn.prepare_cached("UPDATE calls SET state = ?, intent = 0 WHERE call = ?")?.execute([state_code(state), call])?;
    if !keeps_values(state) {
        conn.prepare_cached("UPDATE calls SET arguments = NULL, edited = NULL WHERE call = ?")?.execute([call])?;
    }
    Ok(())
}

/// Whether argument values are still needed.
pub(crate) const fn keeps_values(state: CallState) -> bool {
    match state {
        CallState::Reserved | CallState::Waiting | CallState::Approved | CallState::Intent | CallState::Unknown => true,
        CallState::Settled | CallState::Denied | CallState::Expired | CallState::Freed => false,
    }
}

/// Puts a record in place of what is known of its call; an open intent stays open, one that has ended is closed.
pub(crate) fn put(conn: &Connection, seal: &Seal, it: &CallRecord) -> Sql<()> {
    if it.state == CallState::Freed {
        return forget(conn, it.call);
    }
    let sealed = |column: Column, value: &Option<Bytes>| match value {
        Some(value) if keeps_values(it.state) => seal.seal(it.call, column, value).map(Some),
        _ => Ok(None),
    };
    let bytes = |hash: &Option<Hash>| hash.map(|hash| *hash.as_bytes());
    // What could not be unsealed stays as it is: the hub has no values to put in its place.
    let (arguments, edited) = match it.is_unreadable && keeps_values(it.state) {
        true => ("arguments", "edited"),
        false => ("excluded.arguments", "excluded.edited"),
    };
    conn.prepare_cached(&format!(
        "INSERT INTO calls VALUES(?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
                ?, ?)
            ON CONFLICT(call) DO UPDATE SET intent = iif(state = 5 AND client IS NULL, 0, intent),
            state = excluded.state, client = excluded.client,
            session = excluded.session, server = excluded.server, launch = excluded.launch, tool = excluded.tool,
            name = excluded.name, definition = excluded.definition, asked = excluded.asked, sent = excluded.sent,
            key = excluded.key, policy = excluded.policy, effect = excluded.effect, tier = excluded.tier,
            rule = excluded.rule, why = excluded.why, asked_at = excluded.asked_at, expires_at = excluded.expires_at,
            decided_at = excluded.decided_at, decided_by = excluded.decided_by, reason = excluded.reason,
            scope = excluded.scope, outcome = excluded.outcome, ended_at = excluded.ended_at,
            arguments = {arguments}, edited = {edited}, method = excluded.method, task = excluded.task"
    ))?
    .execute(params![
        it.call.0 as i64,
        state_code(it.state),
        it.client,
        it.session,
        it.server,
        it.launch,
        it.tool,
        it.name,
        bytes(&it.definition),
        bytes(&it.asked),
        bytes(&it.sent),
        bytes(&it.key),
        bytes(&it.policy),
        effect_code(Some(it.effect)),
        tier_code(it.tier),
        it.rule,
        it.why,
        it.asked_ms as i64,
        it.expires_ms as i64,
        it.decided_ms as i64,
        it.decided_by,
        it.reason,
        it.scope.map_or(0, scope_code),
        it.outcome.code() as i64,
        it.ended_ms as i64,
        sealed(Column::Arguments, &it.arguments)?,
        sealed(Column::Edited, &it.edited)?,
        it.method.code() as i64,
        it.task,
    ])
    .map(drop)
}

/// A call with a record has run to its end. Whether a result is to be kept for it.
pub(crate) fn settle(conn: &Connection, call: CallNumber, outcome: Outcome, ended_ms: u64) -> Sql<bool> {
    let call = call.0 as i64;
    let gone =
        "DELETE FROM calls WHERE call = ? AND client IS NOT NULL AND key IS NULL AND task IS NULL AND intent = 0";
    if conn.prepare_cached(gone)?.execute([call])? > 0 {
        return Ok(false);
    }
    conn.prepare_cached(
        "UPDATE calls SET state = 5, outcome = ?, ended_at = ?, arguments = NULL, edited = NULL
            WHERE call = ? AND client IS NOT NULL",
    )?
    .execute([outcome.code() as i64, ended_ms as i64, call])?;
    let mut is_kept = conn.prepare_cached("SELECT key IS NOT NULL OR task IS NOT NULL FROM calls WHERE call = ?")?;
    Ok(is_kept.query_row([call], |row| row.get(0)).optional()?.unwrap_or(false))
}

/// Nothing is left to remember of a call, but for an intent that is still open: its end row will take that away.
pub(crate) fn forget(conn: &Connection, call: CallNumber) -> Sql<()> {
    let call = call.0 as i64;
    if conn.prepare_cached("DELETE FROM calls WHERE call = ? AND intent = 0")?.execute([call])? == 0 {
        conn.prepare_cached(
            "UPDATE calls SET state = 1, client = NULL, session = NULL, server = NULL, launch = NULL, tool = NULL,
                name = NULL, definition = NULL, asked = NULL, sent = NULL, key = NULL, policy = NULL, effect = NULL,
                tier = NULL, rule = NULL, why = NULL, asked_at = NULL, expires_at = NULL, decided_at = NULL,
                decided_by = NULL, reason = NULL, scope = NULL, outcome = NULL, ended_at = NULL, arguments = NULL,
                edited = NULL, method = NULL, task = NULL WHERE call = ?",
        )?
        .execute([call])?;
    }
    Ok(())
}

/// Records whose time is over, and where to go on; None: at the end.
pub(crate) struct Old {
    pub calls: Vec<CallNumber>,
    pub next: Option<i64>,
}

/// Looks through some of the records.
pub(crate) fn old(conn: &Connection, after: i64, now: u64) -> Sql<Old> {
    const STEP: usize = 1024;
    let mut select = conn.prepare_cached(
        "SELECT call, state, max(ended_at, decided_at) FROM calls WHERE call > ? AND client IS NOT NULL AND intent = 0
            ORDER BY call LIMIT ?",
    )?;
    let mut rows = select.query([after, STEP as i64])?;
    let (mut calls, mut seen, mut next) = (Vec::new(), 0, None);
    while let Some(row) = rows.next()? {
        let (call, since): (i64, i64) = (row.get(0)?, row.get(2)?);
        let kept = match state_of(row.get(1)?)? {
            CallState::Settled => KEYS_KEPT_MS,
            CallState::Denied | CallState::Expired => REFUSALS_KEPT_MS,
            _ => u64::MAX,
        };
        if now.saturating_sub(since as u64) > kept {
            calls.push(CallNumber(call as u64));
        }
        seen += 1;
        next = Some(call);
    }
    Ok(Old { calls, next: next.filter(|_| seen == STEP) })
}

/// A call that was only reserved when the last run ended was never sent, and nobody waits for it any more. Nobody asks
/// for an answer of long ago.
pub(crate) fn tidy(conn: &Connection, now: u64) -> Sql<()> {
    conn.execute("DELETE FROM calls WHERE state = 2 AND intent = 0", [])?;
    let long_ago = now.saturating_sub(KEYS_KEPT_MS) as i64;
    conn.execute("DELETE FROM calls WHERE state = 5 AND client IS NULL AND ended_at < ?", [long_ago])?;
    conn.execute("DELETE FROM results WHERE call NOT IN (SELECT call FROM calls)", []).map(drop)
}

/// All records, oldest first; of settled ones that are no tasks only what a retry needs, since they may be many. Without a key nothing
/// can be unsealed.
pub(crate) fn read(conn: &Connection, seal: Option<&Seal>) -> Sql<Vec<CallRecord>> {
    let mut all = settled(conn)?;
    let mut select = conn.prepare(
        "SELECT call, state, client, session, server, launch, tool, name, definition, asked, sent, key, policy,
            effect, tier, rule, why, asked_at, expires_at, decided_at, decided_by, reason, scope, outcome, ended_at,
            arguments, edited, EXISTS(SELECT 1 FROM results WHERE results.call = calls.call), method, task
            FROM calls WHERE client IS NOT NULL AND (state <> 5 OR task IS NOT NULL) AND (state <> 2 OR intent > 0)",
    )?;
    for record in select.query_map([], |row| read_one(row, seal))? {
        all.push(record?);
    }
    all.sort_by_key(|record| record.call);
    Ok(all)
}

fn settled(conn: &Connection) -> Sql<Vec<CallRecord>> {
    let mut select = conn.prepare(
        "SELECT calls.call, outcome, asked, key, ended_at, results.id IS NOT NULL FROM calls
            LEFT JOIN results ON results.call = calls.call
            WHERE state = 5 AND client IS NOT NULL AND task IS NULL",
    )?;
    let rows = select.query_map([], |row| {
        let outcome = row.get::<_, i64>(1)?;
        Ok(CallRecord {
            state: CallState::Settled,
            outcome: known(Outcome::from_code(outcome as u64), outcome)?,
            asked: hash_or_none(row, 2)?,
            key: hash_or_none(row, 3)?,
            ended_ms: row.get::<_, i64>(4)? as u64,
            has_result: row.get(5)?,
            ..CallRecord::new(CallNumber(row.get::<_, i64>(0)? as u64), "", "", "", 0)
        })
    })?;
    rows.collect()
}

pub(crate) fn hash_or_none(row: &Row<'_>, at: usize) -> Sql<Option<Hash>> {
    match row.get_ref(at)? {
        ValueRef::Null => Ok(None),
        _ => hash(row, at).map(Some),
    }
}

fn read_one(row: &Row<'_>, seal: Option<&Seal>) -> Sql<CallRecord> {
    let number = |at: usize| row.get::<_, i64>(at);
    let time = |at: usize| number(at).map(|time| time as u64);
    let hash = |at: usize| hash_or_none(row, at);
    let call = CallNumber(time(0)?);
    let mut is_unreadable = false;
    let mut open = |at: usize, column: Column| {
        let Some(sealed) = row.get::<_, Option<Vec<u8>>>(at)? else { return Ok(None) };
        let plain = seal.and_then(|seal| seal.open(call, column, &sealed));
        is_unreadable |= plain.is_none();
        Ok::<_, rusqlite::Error>(plain.map(Bytes::from))
    };
    let (arguments, edited) = (open(25, Column::Arguments)?, open(26, Column::Edited)?);
    let effect = number(13)?;
    let outcome = number(23)?;
    let method = number(28)?;
    Ok(CallRecord {
        call,
        state: state_of(number(1)?)?,
        client: row.get(2)?,
        session: row.get(3)?,
        server: row.get(4)?,
        launch: row.get(5)?,
        tool: row.get(6)?,
        name: row.get(7)?,
        definition: hash(8)?,
        asked: hash(9)?,
        sent: hash(10)?,
        key: hash(11)?,
        policy: hash(12)?,
        effect: known(effect_of(effect), effect)?,
        tier: tier_of(number(14)?)?,
        rule: row.get(15)?,
        why: row.get(16)?,
        asked_ms: time(17)?,
        expires_ms: time(18)?,
        decided_ms: time(19)?,
        decided_by: row.get(20)?,
        reason: row.get(21)?,
        scope: scope_of(number(22)?)?,
        outcome: known(Outcome::from_code(outcome as u64), outcome)?,
        ended_ms: time(24)?,
        arguments,
        edited,
        has_result: row.get(27)?,
        method: known(Method::from_code(method as u64), method)?,
        task: row.get(29)?,
        is_unreadable,
    })
}
