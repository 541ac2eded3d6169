//! The log as the person's door shows it: opened for reading each time, so that nothing is held between two looks.

use contract::CallId;
use control::AuditSource;
use operator::words::{AuditAccepted, AuditFilter, AuditPage, AuditQuery, AuditReport, AuditRow, AuditTrail};
use operator::{Problem, code};
use serde_json::Value;
use std::path::PathBuf;
use store::{AuditRecord, CallNumber, Committer, Filter, Job, Kind, Outcome, ReadFault, Reader};

/// Where the log lies, and who writes it.
pub(super) struct Log {
    pub dir: PathBuf,
    pub committer: Committer,
}

fn unreadable(fault: &ReadFault) -> Problem {
    Problem::new(code::AUDIT_UNAVAILABLE, format!("the log cannot be read: {fault}")).next("callgate audit verify")
}

impl Log {
    fn reader(&self) -> Result<Reader, Problem> {
        Reader::open(&self.dir).map_err(|fault| unreadable(&fault))
    }
}

impl AuditSource for Log {
    fn page(&self, query: &AuditQuery) -> Result<AuditPage, Problem> {
        let filter = Filter { before: query.before, ..filter(&query.filter)? };
        let limit = query.limit.clamp(1, 1_000);
        let rows = self.reader()?.page(&filter, limit).map_err(|fault| unreadable(&fault))?;
        let is_full = rows.len() >= limit as usize;
        let before = rows.last().map(|row| row.seq).filter(|_| is_full);
        Ok(AuditPage { rows: rows.into_iter().map(row).collect(), before, blind: Vec::new() })
    }

    fn trail(&self, call: &str) -> Result<AuditTrail, Problem> {
        let rows = self.reader()?.call(number(call)?).map_err(|fault| unreadable(&fault))?;
        if rows.is_empty() {
            let message = format!("the log has no call {}", contract::visible::escape(call));
            return Err(Problem::new(code::UNKNOWN_CALL, message).next("callgate audit list"));
        }
        Ok(AuditTrail { call: call.to_owned(), rows: rows.into_iter().map(row).collect() })
    }

    fn newer(&self, wanted: &AuditFilter, after: u64, limit: u32) -> Result<Vec<AuditRow>, Problem> {
        let filter = Filter { after: Some(after), ..filter(wanted)? };
        let rows = self.reader()?.page(&filter, limit).map_err(|fault| unreadable(&fault))?;
        Ok(rows.into_iter().map(row).collect())
    }

    fn verify(&self) -> Result<AuditReport, Problem> {
        let found = self.reader()?.verify().map_err(|fault| unreadable(&fault))?;
        let accept = found.broken.as_ref().filter(|broken| broken.is_rollback()).map(|broken| broken.to_string());
        Ok(AuditReport {
            whole: found.broken.is_none(),
            broken: found.broken.as_ref().map(ToString::to_string),
            broken_row: found.broken.as_ref().and_then(store::Break::row),
            first: found.first,
            last: found.last,
            rows: found.rows,
            anchored: found.anchored,
            gaps: found.gaps,
            epochs: found.epochs,
            blind: found.blind,
            accept,
        })
    }

    fn accept(&self, what: &str) -> Result<AuditAccepted, Problem> {
        if self.verify()?.accept.as_deref() != Some(what) {
            let message = "the log is not as it was reported; check it again";
            return Err(Problem::new(code::HASH_CHANGED, message).next("callgate audit verify"));
        }
        let failed = |fault: store::JobFault| Problem::new(code::AUDIT_UNAVAILABLE, fault.to_string());
        self.committer.submit_and_wait(Job::AcceptEpoch).map_err(failed)?;
        let epochs = self.reader()?.verify().map_err(|fault| unreadable(&fault))?.epochs;
        Ok(AuditAccepted { epoch: epochs.last().copied().unwrap_or_default() })
    }

    fn export(&self, wanted: &AuditFilter, take: &mut dyn FnMut(AuditRow) -> bool) -> Result<(), Problem> {
        let reader = self.reader()?;
        for record in reader.stream(&filter(wanted)?).map_err(|fault| unreadable(&fault))? {
            if !take(row(record.map_err(|fault| unreadable(&fault))?)) {
                break;
            }
        }
        Ok(())
    }
}

fn filter(wanted: &AuditFilter) -> Result<Filter, Problem> {
    let unknown = |what: &str, word: &str| {
        let message = format!("there is no {what} `{}`", contract::visible::escape(word));
        Problem::new("bad_input", message)
    };
    let kinds = wanted.kinds.iter().map(|word| Kind::parse(word).ok_or_else(|| unknown("kind of row", word)));
    let outcomes = wanted.outcomes.iter().map(|word| Outcome::parse(word).ok_or_else(|| unknown("outcome", word)));
    Ok(Filter {
        client: wanted.client.clone(),
        server: wanted.server.clone(),
        item: wanted.tool.clone(),
        kinds: kinds.collect::<Result<_, _>>()?,
        outcomes: outcomes.collect::<Result<_, _>>()?,
        since_ms: wanted.since_ms,
        until_ms: wanted.until_ms,
        text: wanted.text.clone(),
        ..Filter::default()
    })
}

/// A call by the id that people and agents know, or by its number in the log.
fn number(call: &str) -> Result<CallNumber, Problem> {
    let known = call.parse::<CallId>().ok().map(|id| CallNumber(id.row())).or_else(|| CallNumber::parse(call));
    let message = format!("`{}` is no id of a call", contract::visible::escape(call));
    known.ok_or_else(|| Problem::new(code::UNKNOWN_CALL, message).next("callgate audit list"))
}

fn row(record: AuditRecord) -> AuditRow {
    let detail: Value = serde_json::from_str(&record.detail).unwrap_or_default();
    let part = |name: &str| detail.get(name).and_then(Value::as_str).map(str::to_owned);
    let call = CallNumber::parse(&record.call).map(|number| CallId::new(number.0).to_string());
    AuditRow {
        seq: record.seq,
        call: call.unwrap_or_default(),
        kind: record.kind,
        at_ms: record.at_ms,
        client: record.client,
        server: record.server,
        tool: record.item,
        definition: record.definition,
        method: record.method,
        effect: record.effect,
        outcome: record.outcome,
        rule: part("rule"),
        why: part("why"),
        by: part("by"),
        reason: part("reason"),
        arguments_bytes: record.args_bytes,
        result_bytes: record.result_bytes,
        checked_us: record.checked_us,
        held_us: record.held_us,
        queued_us: record.queued_us,
        ran_us: record.ran_us,
        answered_us: record.answered_us,
        arguments: record.arguments,
        detail: record.detail,
    }
}
