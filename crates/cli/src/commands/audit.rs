//! `callgate audit …`

use super::fault::{Exit, Fault};
use super::out::{Form, Out};
use super::pin;
use crate::args::{Audit, ExportForm, Filter};
use crate::show::{audit as show, trail};
use operator::client::blocking::Client;
use operator::op;
use operator::words::{
    AuditAccept, AuditCall, AuditExport, AuditFilter, AuditOpen, AuditQuery, AuditTail, AuditTake, Nothing, Tail,
};

/// Does one of them.
pub fn audit(command: Audit, hub: &Client, out: &Out) -> Result<Exit, Fault> {
    match command {
        Audit::List { filter, before, limit } => {
            let asked = AuditQuery { filter: words(filter, out), before, limit };
            let page = hub.call::<op::AuditList>(&asked)?;
            out.document(&page, |screen| show::list(&page, screen))
        }
        Audit::Show { call, values: true } => {
            let opened = pin::decide::<op::AuditValues>(hub, |pin| AuditOpen { call: call.clone(), pin })?;
            out.document(&opened, |screen| trail::values(&opened, screen))?;
            Ok(if opened.values.is_empty() { Exit::Failed } else { Exit::Done })
        }
        Audit::Show { call, values: false } => {
            let found = hub.call::<op::AuditShow>(&AuditCall { call })?;
            out.document(&found, |screen| trail::trail(&found, screen))?;
            Ok(if found.rows.is_empty() { Exit::Failed } else { Exit::Done })
        }
        Audit::Tail { filter, lines } => {
            let asked = AuditTail { filter: words(filter, out), lines, tail: Tail::Follow };
            for row in hub.lines::<op::AuditTail>(&asked)? {
                let row = row?;
                out.line(&row, |screen| show::line(&row, screen))?;
            }
            Ok(Exit::Done)
        }
        Audit::Verify { accept: None } => {
            let report = hub.call::<op::AuditVerify>(&Nothing {})?;
            out.document(&report, |screen| show::report(&report, screen))?;
            Ok(if report.whole { Exit::Done } else { Exit::Failed })
        }
        Audit::Verify { accept: Some(accept) } => {
            let accepted = pin::decide::<op::AuditAccept>(hub, |pin| AuditAccept { accept: accept.clone(), pin })?;
            out.document(&accepted, |_| format!("Accepted: the log goes on from row {}.\n", accepted.epoch))
        }
        Audit::Export { filter, format, values } => export(filter, (format, values), hub, out),
    }
}

/// Rows go out one by one: a log may be larger than memory.
fn export(filter: Filter, (format, values): (ExportForm, bool), hub: &Client, out: &Out) -> Result<Exit, Fault> {
    let filter = words(filter, out);
    if values && format == ExportForm::Csv {
        return Err(Fault::Usage("values are given as JSON lines only".into()));
    }
    let rows = match values {
        true => pin::attempt(|pin| hub.lines::<op::AuditTake>(&AuditTake { filter: filter.clone(), pin }))?,
        false => hub.lines::<op::AuditExport>(&AuditExport { filter })?,
    };
    let json = out.form() == Form::Json || format == ExportForm::Jsonl;
    if !json {
        out.text(show::CSV_HEAD)?;
    }
    for row in rows {
        let row = row?;
        if json { out.json_line(&row)? } else { out.text(&show::csv(&row))? }
    }
    Ok(Exit::Done)
}

fn words(filter: Filter, out: &Out) -> AuditFilter {
    let Filter { client, server, tool, outcome, kind, since, until, text } = filter;
    let now = out.now_ms();
    AuditFilter {
        client,
        server,
        tool,
        outcomes: outcome,
        kinds: kind,
        since_ms: since.map(|moment| moment.at(now)),
        until_ms: until.map(|moment| moment.at(now)),
        text,
    }
}
