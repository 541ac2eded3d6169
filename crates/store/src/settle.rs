//! Settles what the last run left open: judged while the store is opened, so that what is remembered is told as it
//! stands now; written as the committer's first work.

use crate::anchor::{Anchor, Trust};
use crate::calls::{self, state_of};
use crate::chain::{Keys, Link, hex};
use crate::flight::{FlightId, Marks};
use crate::kept::{self, Kept};
use crate::line::Line;
use crate::own_keys::{self, Sealed};
use crate::recover::{Boot, Close, Fate, Recovered, Standing, after, fate};
use crate::seal::Seal;
use crate::stored::{Facets, Stored};
use crate::writer::{Tip, Writer};
use crate::{BootId, CallNumber, CallRecord, Kind, Options, Outcome, batch};
use policy::{CallState, Effect};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

/// A call whose intent had no end.
struct Open {
    call: CallNumber,
    /// Its intent row, if it was written.
    intent: Option<Stored>,
    /// How the row of its end tells it.
    outcome: Outcome,
    /// What became of it, where that was not known before.
    fate: Option<Fate>,
    /// How its record stands now.
    state: CallState,
    /// The record of an unknown call that had none.
    record: Option<Box<CallRecord>>,
}

/// Whether a call was announced that has no end: only of those the flight marks tell anything.
pub(crate) fn has_intents(conn: &Connection) -> rusqlite::Result<bool> {
    conn.query_row("SELECT EXISTS(SELECT 1 FROM calls WHERE intent > 0)", [], |row| row.get(0))
}

/// All that was open.
#[derive(Default)]
pub(crate) struct Left {
    open: Vec<Open>,
    /// Ran without a record, and perhaps nobody has had the answer.
    unheard: Vec<CallRecord>,
}

impl Left {
    /// Judges what is open by the boot and the flight marks of the last run. Reads only.
    pub(crate) fn judge(conn: &Connection, marks: Option<&Marks>, boot: BootId, now: u64) -> rusqlite::Result<Left> {
        let same_boot = kept::meta(conn, "boot")?.is_some_and(|then| then == boot.to_hex());
        let flight = kept::meta(conn, "flight")?;
        let expected = marks.map(|marks| marks.id).filter(|id| Some(hex(id)) == flight);
        let mut facets = Facets::default();
        let mut select = conn.prepare(
            "SELECT call, intent, state, client IS NOT NULL, key IS NOT NULL OR task IS NOT NULL, coalesce(scope, 0) > 0,
                coalesce(expires_at, 0), coalesce(outcome, 0), session, asked FROM calls
                WHERE (intent > 0 OR state = 1) AND (client IS NOT NULL OR state <> 5) ORDER BY intent, call",
        )?;
        let mut rows = select.query([])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let call = CallNumber(row.get::<_, i64>(0)? as u64);
            let seq: i64 = row.get(1)?;
            let has_record: bool = row.get(3)?;
            let standing = Standing {
                state: state_of(row.get(2)?)?,
                keeps_end: row.get(4)?,
                was_approved: row.get(5)?,
                expires_ms: row.get::<_, i64>(6)? as u64,
            };
            let intent = facets.rows(conn, "WHERE seq = ?", &[Value::Integer(seq)])?.pop();
            let evidence = Marks::evidence(marks, expected, call, boot);
            // Without an intent row it was not even announced.
            let judged = match seq {
                0 => Fate::NotSent,
                _ => fate(if same_boot { Boot::Same } else { Boot::Other }, evidence),
            };
            let close = match judged {
                Fate::NotSent => Close::NotSent,
                Fate::OutcomeUnknown => Close::Unknown,
            };
            let outcome = match (standing.state, judged) {
                (_, Fate::OutcomeUnknown) if standing.is_running() => Outcome::OutcomeUnknown,
                (CallState::Unknown, _) => Outcome::OutcomeUnknown,
                (CallState::Settled, _) => Outcome::from_code(row.get::<_, i64>(7)? as u64).unwrap_or(Outcome::None),
                _ => Outcome::NotSent,
            };
            let state = after(standing, close, now);
            let record = match state == CallState::Unknown && !has_record {
                true => Some(Box::new(CallRecord {
                    session: row.get::<_, Option<String>>(8)?.unwrap_or_default(),
                    asked: calls::hash_or_none(row, 9)?,
                    ..unknown(call, intent.as_ref().map(Stored::line).unwrap_or_default(), now)
                })),
                false => None,
            };
            let fate = standing.is_running().then_some(judged);
            all.push(Open { call, intent: intent.filter(|_| seq > 0), outcome, fate, state, record });
        }
        Ok(Left { open: all, unheard: unheard(conn, &mut facets)? })
    }

    /// Brings what was read to how it stands now.
    pub(crate) fn bring(&self, kept: &mut Kept, now: u64) {
        kept.calls.extend(self.unheard.iter().cloned());
        for open in &self.open {
            if let Some(record) = &open.record {
                kept.calls.push((**record).clone());
            }
            let Some(at) = kept.calls.iter().position(|record| record.call == open.call) else { continue };
            let record = &mut kept.calls[at];
            if open.state == CallState::Freed {
                kept.calls.remove(at);
                continue;
            }
            if open.fate.is_some() && open.state == CallState::Unknown {
                record.outcome = open.outcome;
                record.ended_ms = now;
            }
            record.state = open.state;
            if !calls::keeps_values(open.state) {
                record.arguments = None;
                record.edited = None;
            }
        }
        kept.calls.sort_by_key(|record| record.call);
    }

    /// Writes the ends, and how the records stand.
    fn write(&self, conn: &Connection, writer: &mut Writer, seal: &Seal, now: u64) -> rusqlite::Result<Vec<Recovered>> {
        let mut recovered = Vec::new();
        for open in &self.open {
            let line = open.intent.as_ref().map(Stored::line);
            if let Some(line) = &line {
                writer.recovered(conn, line, open.outcome, now)?;
            }
            if let Some(record) = &open.record {
                calls::put(conn, seal, record)?;
            }
            let outcome = (open.state == CallState::Unknown && open.fate.is_some()).then_some(open.outcome);
            calls::move_to(conn, open.call.0 as i64, open.state, outcome, now)?;
            if let Some(fate) = open.fate {
                let text = |part: Option<&str>| part.unwrap_or_default().to_owned();
                recovered.push(Recovered {
                    call: open.call,
                    fate,
                    state: open.state,
                    client: text(line.as_ref().map(|line| line.client)),
                    server: text(line.as_ref().map(|line| line.server)),
                    item: text(line.as_ref().map(|line| line.item)),
                });
            }
        }
        Ok(recovered)
    }
}

/// Calls without a record that ran and whose answers are not known to have left, as far as their intents tell.
fn unheard(conn: &Connection, facets: &mut Facets) -> rusqlite::Result<Vec<CallRecord>> {
    let mut select = conn.prepare(
        "SELECT call, intent, session, asked, outcome, ended_at FROM calls WHERE state = 5 AND client IS NULL ORDER BY call",
    )?;
    let mut rows = select.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let intent = facets.rows(conn, "WHERE seq = ?", &[Value::Integer(row.get(1)?)])?.pop();
        let Some(intent) = intent else { continue };
        let (intent, outcome) = (intent.line(), row.get::<_, i64>(4)?);
        all.push(CallRecord {
            state: CallState::Settled,
            session: row.get(2)?,
            name: intent.item.to_owned(),
            asked: calls::hash_or_none(row, 3)?,
            outcome: Outcome::from_code(outcome as u64).unwrap_or(Outcome::None),
            ended_ms: row.get::<_, i64>(5)? as u64,
            ..CallRecord::new(
                CallNumber(row.get::<_, i64>(0)? as u64),
                intent.client,
                intent.server,
                intent.item,
                intent.at,
            )
        });
    }
    Ok(all)
}

/// The record of a call that had none, as far as its intent tells.
fn unknown(call: CallNumber, intent: Line<'_>, now: u64) -> CallRecord {
    CallRecord {
        state: CallState::Unknown,
        name: intent.item.to_owned(),
        definition: intent.definition.parse().ok(),
        effect: batch::effect_of(intent.effect as i64).unwrap_or(Effect::Destructive),
        outcome: Outcome::OutcomeUnknown,
        ended_ms: now,
        ..CallRecord::new(call, intent.client, intent.server, intent.item, intent.at)
    }
}

/// What the beginning of a run found, and its end of the log.
pub(crate) struct Begun {
    pub trust: Trust,
    pub has_gap: bool,
    pub recovered: Vec<Recovered>,
    pub writer: Writer,
}

/// One FULL transaction: ends of open calls, gap row, start row, number of the run.
pub(crate) fn begin(
    conn: &mut Connection,
    options: &Options,
    (keys, seal, sealed): (&Keys, &Seal, &Sealed),
    anchor: Option<Anchor>,
    (flight, boot): (FlightId, BootId),
    left: &Left,
) -> rusqlite::Result<Begun> {
    let at = (options.clock)();
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let tip = tip(&transaction)?;
    let anchored = match anchor {
        Some(anchor) => link_of(&transaction, anchor.row)?,
        None => None,
    };
    let trust = Trust::judge(anchor, tip.map_or(0, |(tip, _)| tip.seq), anchored);
    let has_gap = tip.is_some_and(|(_, kind)| kind != Some(Kind::Stop.code()));
    let mut writer = Writer::new(keys.clone(), tip.map(|(tip, _)| tip).unwrap_or_default());
    let recovered = left.write(&transaction, &mut writer, seal, at)?;
    calls::tidy(&transaction, at)?;
    if has_gap {
        let detail = "{\"reason\":\"the last run did not stop in order\"}";
        writer.line(&transaction, Line { kind: Kind::Gap.code(), at, detail, ..Line::default() })?;
    }
    if !sealed.is_whole() {
        let detail = sealed.detail();
        writer.line(&transaction, Line { kind: Kind::Seal.code(), at, detail: &detail, ..Line::default() })?;
    }
    own_keys::note(&transaction, keys, seal)?;
    let run = next_run(&transaction)?;
    let detail = serde_json::json!({"run": run, "version": options.version, "boot": boot.to_hex()}).to_string();
    writer.line(&transaction, Line { kind: Kind::Start.code(), at, detail: &detail, ..Line::default() })?;
    if trust == Trust::Whole {
        // This row is anchored next.
        kept::set_meta(&transaction, "anchored", &writer.tip.seq.to_string())?;
    }
    kept::set_meta(&transaction, "run", &run.to_string())?;
    kept::set_meta(&transaction, "boot", &boot.to_hex())?;
    kept::set_meta(&transaction, "flight", &hex(&flight))?;
    transaction.commit()?;
    Ok(Begun { trust, has_gap, recovered, writer })
}

/// When the last row was written, in milliseconds since 1970.
pub(crate) fn last_at(conn: &Connection) -> rusqlite::Result<Option<u64>> {
    let mut select = conn.prepare("SELECT at FROM audit ORDER BY seq DESC LIMIT 1")?;
    Ok(select.query_row([], |row| row.get::<_, i64>(0)).optional()?.map(|at| at as u64))
}

/// The number of the run that begins. The same until that has been committed.
pub(crate) fn next_run(conn: &Connection) -> rusqlite::Result<u64> {
    Ok(kept::meta(conn, "run")?.and_then(|run| run.parse::<u64>().ok()).unwrap_or(0) + 1)
}

/// The last row, and what it tells; None: its facet is not there.
fn tip(conn: &Connection) -> rusqlite::Result<Option<(Tip, Option<u64>)>> {
    let last = "SELECT seq, chain, (SELECT kind FROM facets WHERE id = facet) FROM audit ORDER BY seq DESC LIMIT 1";
    conn.query_row(last, [], |row| {
        let kind = row.get::<_, Option<i64>>(2)?.map(|kind| kind as u64);
        Ok((Tip { seq: row.get::<_, i64>(0)? as u64, link: row.get(1)? }, kind))
    })
    .optional()
}

fn link_of(conn: &Connection, row: u64) -> rusqlite::Result<Option<Link>> {
    conn.query_row("SELECT chain FROM audit WHERE seq = ?", [row as i64], |row| row.get(0)).optional()
}
