//! Does jobs inside the transaction that the engine has begun.

use crate::anchor::Anchor;
use crate::batch::effect_code;
use crate::chain::hex;
use crate::committer::{Job, Note};
use crate::engine::{Engine, Parts};
use crate::line::Line;
use crate::{Kind, calls, kept, payload, pin};
use policy::CallState;

impl Engine {
    pub(crate) fn job(&mut self, job: &Job) -> rusqlite::Result<()> {
        let Parts { conn, writer, seal, clock, path, .. } = &mut self.parts;
        let note = match job {
            Job::SaveSnapshot(snapshot) => return kept::save_snapshot(conn, snapshot),
            Job::SaveEra(era) => return kept::save_era(conn, era),
            Job::ForgetServer(server) => return kept::forget_server(conn, server),
            Job::Set { key, value, note } => {
                kept::save_setting(conn, key, value.as_deref())?;
                note.as_ref()
            }
            Job::AcceptEpoch => {
                let old = path.parent().and_then(|dir| Anchor::read(dir).ok().flatten());
                let detail = match old {
                    Some(old) => format!("{{\"anchored\":{},\"hash\":\"{}\"}}", old.row, hex(&old.link)),
                    None => "{\"anchored\":null}".to_owned(),
                };
                let line = Line { kind: Kind::Epoch.code(), at: clock(), detail: &detail, ..Line::default() };
                return writer.line(conn, line);
            }
            Job::Note(note) | Job::Deed(note) => Some(note),
            Job::Values(values) => return payload::save(conn, writer, seal, values),
            Job::PutCall { record, note } => {
                if record.state == CallState::Freed {
                    self.results.remove(conn, record.call)?;
                }
                calls::put(conn, seal, record)?;
                note.as_ref()
            }
            Job::EndCall { call, outcome, ended_ms, result } => {
                let is_kept = calls::settle(conn, *call, *outcome, *ended_ms)?;
                match result {
                    Some(result) if is_kept => return self.results.save(conn, seal, *call, result),
                    _ => return Ok(()),
                }
            }
            Job::DropCall(call) => {
                self.results.remove(conn, *call)?;
                return calls::forget(conn, *call);
            }
            Job::Heard(call) => return calls::heard(conn, *call),
            Job::PutPins { pins, note } => {
                pins.iter().try_for_each(|it| pin::save(conn, it))?;
                note.as_ref()
            }
            Job::DropPins { server } => return pin::drop_all(conn, server),
            Job::Remember { grant, note } => {
                pin::remember(conn, grant)?;
                note.as_ref()
            }
            Job::ForgetGrants { which, note } => {
                pin::forget(conn, which)?;
                note.as_ref()
            }
            Job::Keep { days } => {
                self.chores.keep(*days);
                return Ok(());
            }
            Job::Survive(durability) => return self.survive(*durability),
            #[cfg(test)]
            Job::Pragma(_) | Job::Chores => None,
            #[cfg(test)]
            Job::MostResults(most) => {
                self.results.limit(*most);
                None
            }
        };
        let Some(note) = note else { return Ok(()) };
        let arguments = note.arguments.0.as_deref().unwrap_or_default();
        let shape = writer.shape(&note.item, &note.definition, arguments);
        let line = Line { args_bytes: arguments.len() as u64, shape: &shape, ..note_line(note) };
        writer.line(conn, line)
    }
}

/// The row of a note.
pub(crate) fn note_line(note: &Note) -> Line<'_> {
    Line {
        call: note.call.0,
        kind: note.kind.code(),
        method: note.method.code(),
        effect: u64::from(effect_code(note.effect)),
        outcome: note.outcome.code(),
        at: note.at_ms,
        client: &note.client,
        server: &note.server,
        item: &note.item,
        definition: &note.definition,
        detail: &note.detail,
        ..Line::default()
    }
}
