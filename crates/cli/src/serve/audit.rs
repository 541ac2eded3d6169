//! The log as the person's door shows it: opened for reading each time, so that nothing is held between two looks.

use contract::CallId;
use control::{AuditSource, Decided, Deed, With};
use operator::words::{
    AuditAccepted, AuditFilter, AuditPage, AuditQuery, AuditReport, AuditRow, AuditTrail, AuditValue, AuditValues,
};
use operator::{Name, Problem, code};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};
use store::{
    AuditRecord, CallNumber, Committer, Done, Filter, Job, Kind, Note, OpenedValues, Outcome, Pair, ReadFault, Reader,
};

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

    fn values(&self, call: &str) -> Result<AuditValues, Problem> {
        let opened = self.reader()?.values(number(call)?).map_err(|fault| unreadable(&fault))?;
        Ok(AuditValues { call: call.to_owned(), values: opened.into_iter().map(value).collect() })
    }

    fn decided(&self, wanted: &AuditFilter, before: Option<u64>, limit: u32) -> Result<Decided, Problem> {
        let decisions = vec![Kind::Decision, Kind::Expired];
        let filter = Filter { before, kinds: decisions, ..filter(wanted)? };
        let reader = self.reader()?;
        let read = || -> Result<Decided, ReadFault> {
            let page = reader.page(&filter, limit)?;
            let before = page.last().map(|row| row.seq).filter(|_| page.len() >= limit as usize);
            let mut calls = Vec::new();
            for last in page {
                let Some(number) = CallNumber::parse(&last.call) else { continue };
                let rows: Vec<AuditRow> = reader.call(number)?.into_iter().map(row).collect();
                let is_verdict = |row: &&AuditRow| row.kind == "decision" || row.kind == "expired";
                // One that was approved and expired later stands where it expired.
                if rows.iter().rev().find(is_verdict).is_some_and(|verdict| verdict.seq == last.seq) {
                    calls.push(AuditTrail { call: CallId::new(number.0).to_string(), rows });
                }
            }
            Ok(Decided { calls, before })
        };
        read().map_err(|fault| unreadable(&fault))
    }

    fn asked(&self, of: &[[String; 3]]) -> Result<Vec<(u32, u32)>, Problem> {
        let pair = |[client, server, item]: &[String; 3]| Pair {
            client: client.clone(),
            server: server.clone(),
            item: item.clone(),
        };
        let pairs: Vec<Pair> = of.iter().map(pair).collect();
        let asked = self.reader()?.asked(&pairs).map_err(|fault| unreadable(&fault))?;
        let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Ok(asked.into_iter().map(|it| (number(it.times), number(it.denied))).collect())
    }

    fn newer(&self, wanted: &AuditFilter, after: u64, limit: u32) -> Result<Vec<AuditRow>, Problem> {
        let filter = Filter { after: Some(after), ..filter(wanted)? };
        let rows = self.reader()?.page(&filter, limit).map_err(|fault| unreadable(&fault))?;
        Ok(rows.into_iter().map(row).collect())
    }

    fn verify(&self) -> Result<AuditReport, Problem> {
        let found = self.reader()?.verify().map_err(|fault| unreadable(&fault))?;
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
            accept: found.accept,
        })
    }

    fn deed(&self, deed: &Deed) {
        let (note, committer) = (note(deed), self.committer.clone());
        let again = note.clone();
        let done: Done = Box::new(move |written| {
            if let Err(fault) = written {
                tracing::error!(%fault, "what was done for a person could not be written down yet");
                // What nobody waits for is kept until it can be.
                committer.submit(Job::Note(again), None);
            }
        });
        self.committer.submit(Job::Note(note), Some(done));
    }

    fn write(&self, deed: &Deed) -> Result<(), Problem> {
        let failed = |fault| {
            let message = format!("it could not be written down: {fault}");
            Problem::new(code::AUDIT_UNAVAILABLE, message).next("callgate status")
        };
        self.committer.submit_and_wait(Job::Deed(note(deed))).map_err(failed)
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

    fn export(&self, wanted: &AuditFilter, with: With, take: &mut dyn FnMut(AuditRow) -> bool) -> Result<(), Problem> {
        let (reader, opener) = (self.reader()?, self.reader()?);
        for record in reader.stream(&filter(wanted)?).map_err(|fault| unreadable(&fault))? {
            let record = record.map_err(|fault| unreadable(&fault))?;
            let kept = (with == With::Values && record.kind == Kind::Values.as_str()).then(|| opener.value(&record));
            let mut row = row(record);
            match kept {
                None | Some(Ok(None)) => {}
                Some(Ok(Some(opened))) => row.values = Some(value(opened)),
                // The others are not lost with it.
                Some(Err(fault)) => row.why = Some(format!("its values cannot be opened: {fault}")),
            }
            if !take(row) {
                break;
            }
        }
        Ok(())
    }
}

fn value(it: OpenedValues) -> AuditValue {
    let text = |text: Option<Vec<u8>>| text.map(|text| String::from_utf8_lossy(&text).into_owned());
    AuditValue { seq: it.seq, arguments: text(it.arguments), result: text(it.result) }
}

/// The row of a deed.
fn note(deed: &Deed) -> Note {
    let about = deed.about.clone().unwrap_or_default();
    let operation = deed.operation.as_str();
    let (kind, outcome, item, why) = match (&deed.refused, deed.operation) {
        (Some((code, message)), _) => {
            let why = match deed.times {
                1 => format!("{code}: {message}"),
                times => format!("{times} attempts within a minute, the gravest one {code}: {message}"),
            };
            (Kind::Person, Outcome::Denied, operation.to_owned(), why)
        }
        (None, Name::TokenAdd) => (Kind::Token, Outcome::Ok, about, "added".to_owned()),
        (None, Name::TokenRemove) => (Kind::Token, Outcome::Ok, about, "removed".to_owned()),
        (None, Name::ApprovalPin) => (Kind::Setting, Outcome::Ok, "pin".to_owned(), about),
        (None, Name::AuditValues) => (Kind::Person, Outcome::Ok, operation.to_owned(), format!("of call {about}")),
        (None, Name::AuditTake) => {
            (Kind::Person, Outcome::Ok, operation.to_owned(), format!("of all calls under the filter {about}"))
        }
        (None, _) => (Kind::Setting, Outcome::Ok, operation.to_owned(), "done".to_owned()),
    };
    let detail = json!({
        "by": deed.by,
        "why": why,
        "pid": deed.pid,
        "program": deed.program.as_ref().map(|file| file.display().to_string()),
        "times": deed.times,
    });
    let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64);
    Note { outcome, item, detail: detail.to_string(), ..Note::new(kind, at_ms) }
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
    let number = |name: &str| detail.get(name).and_then(Value::as_u64);
    let cut = || Some(format!("rows up to {} are older than {} days and go", number("row")?, number("days")?));
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
        why: part("why").or_else(|| part("change")).or_else(cut),
        by: part("by").filter(|by| !by.is_empty()),
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
        values: None,
    }
}
